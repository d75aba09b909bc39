//! The searched fields of a pattern, and their weights.

use crate::pattern::Pattern;

/// A field. Stories, mitigations and code are not searched, because they mention everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// The title.
    Name,
    /// The triggers, each as a whole.
    Keywords,
    /// The actions that lead to the threat.
    Actions,
    /// The three sentences for agents.
    Summary,
    /// The trust boundary.
    Boundary,
    /// Signs in a diff.
    Signals,
    /// Typical slips.
    Blindspots,
    /// The prose.
    Description,
    /// The narrower area.
    Subcategory,
    /// Acceptance criteria.
    Criteria,
    /// Example sentences for the keywords.
    Examples,
    /// Other expressions for the keywords.
    Expressions,
}

impl Field {
    /// Every field, in the order of the declaration.
    pub const ALL: [Field; 12] = [
        Field::Name,
        Field::Keywords,
        Field::Actions,
        Field::Summary,
        Field::Boundary,
        Field::Signals,
        Field::Blindspots,
        Field::Description,
        Field::Subcategory,
        Field::Criteria,
        Field::Examples,
        Field::Expressions,
    ];

    /// Returns whether its texts are not the pattern's own.
    pub fn is_learned(self) -> bool {
        matches!(self, Field::Examples | Field::Expressions)
    }

    /// The weight of an occurrence.
    pub fn weight(self) -> f32 {
        match self {
            Field::Actions => 3.0,
            Field::Name | Field::Keywords => 2.0,
            Field::Expressions => 1.5,
            Field::Summary | Field::Boundary | Field::Signals | Field::Blindspots | Field::Examples => 1.0,
            Field::Description | Field::Subcategory | Field::Criteria => 0.5,
        }
    }
}

/// Lists the texts of a pattern by their fields; examples and expressions are not its own.
pub fn texts(pattern: &Pattern) -> Vec<(Field, &str)> {
    let summary = &pattern.agent_summary;
    let mut texts: Vec<(Field, &str)> = vec![
        (Field::Name, &pattern.name),
        (Field::Subcategory, &pattern.subcategory),
        (Field::Description, &pattern.description),
        (Field::Summary, &summary.threat),
        (Field::Summary, &summary.check),
        (Field::Summary, &summary.fix),
        (Field::Boundary, &pattern.boundary),
    ];
    for (field, list) in [
        (Field::Keywords, &*pattern.triggers.keywords),
        (Field::Actions, &*pattern.triggers.actions),
        (Field::Signals, &*pattern.signals),
        (Field::Blindspots, &*pattern.differentiation.llm_blindspots),
        (Field::Criteria, &*pattern.acceptance_criteria),
    ] {
        texts.extend(list.iter().map(|text| (field, text.as_str())));
    }
    texts.retain(|(_, text)| !text.is_empty());
    texts
}

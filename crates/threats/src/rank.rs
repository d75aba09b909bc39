//! BM25F: how much each word speaks for each pattern, weighed by the field it stands in.

use std::collections::HashMap;
use std::fmt;

use crate::examples;
use crate::pattern::{Pattern, Principle};
use crate::text;

/// A part of a pattern that is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Field {
    /// Its title.
    Name,
    /// Its keywords.
    Keywords,
    /// Its actions.
    Actions,
    /// Its narrower area.
    Subcategory,
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
    /// Acceptance criteria.
    Criteria,
    /// Mitigations, without their code.
    Mitigations,
    /// Other stacks.
    Stacks,
    /// The attack.
    Scenario,
    /// Principles.
    Principles,
    /// Code examples.
    Code,
    /// How people ask for what its keywords say.
    Examples,
}

impl Field {
    const ALL: [Field; 16] = [
        Field::Name,
        Field::Keywords,
        Field::Actions,
        Field::Subcategory,
        Field::Summary,
        Field::Boundary,
        Field::Signals,
        Field::Blindspots,
        Field::Description,
        Field::Criteria,
        Field::Mitigations,
        Field::Stacks,
        Field::Scenario,
        Field::Principles,
        Field::Code,
        Field::Examples,
    ];

    /// How much an occurrence counts.
    fn weight(self) -> f32 {
        match self {
            Field::Name | Field::Keywords => 4.0,
            Field::Actions | Field::Subcategory | Field::Boundary => 2.5,
            Field::Summary | Field::Signals => 2.0,
            Field::Blindspots | Field::Description | Field::Criteria => 1.0,
            Field::Mitigations | Field::Stacks => 0.7,
            Field::Scenario | Field::Principles => 0.8,
            Field::Code => 0.15,
            Field::Examples => 0.9,
        }
    }

    /// Whether a word in it makes the word common. Stories and code mention everything.
    fn counts_as_mention(self) -> bool {
        self.weight() >= 1.0
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Field::Name => "name",
            Field::Keywords => "keywords",
            Field::Actions => "actions",
            Field::Subcategory => "subcategory",
            Field::Summary => "agent summary",
            Field::Boundary => "boundary",
            Field::Signals => "signals",
            Field::Blindspots => "blindspots",
            Field::Description => "description",
            Field::Criteria => "acceptance criteria",
            Field::Mitigations => "mitigations",
            Field::Stacks => "other stacks",
            Field::Scenario => "attack scenario",
            Field::Principles => "principles",
            Field::Code => "code",
            Field::Examples => "examples",
        })
    }
}

/// How soon more occurrences of a word stop to matter.
const SATURATION: f32 = 1.2;
/// How much a long field is held against its words.
const LENGTH_PENALTY: f32 = 0.4;

/// Every word of every pattern, weighed.
#[derive(Debug)]
pub struct Ranking {
    terms: HashMap<String, usize>,
    postings: Vec<Vec<Posting>>,
    rarity: Vec<f32>,
    rarity_unknown: f32,
}

/// What a word says for a pattern.
#[derive(Clone, Copy, Debug)]
pub struct Posting {
    /// The index of the pattern.
    pub pattern: usize,
    /// Its score.
    pub score: f32,
    /// The weightiest field it stands in.
    pub field: Field,
}

impl Ranking {
    /// Weighs the words of some patterns.
    pub fn new(patterns: &[Pattern]) -> Ranking {
        let mut terms: HashMap<String, usize> = HashMap::new();
        let mut counts: Vec<Vec<(usize, Field, f32)>> = Vec::new();
        let mut lengths = vec![[0.0_f32; Field::ALL.len()]; patterns.len()];

        for (pattern, content) in patterns.iter().enumerate() {
            for field in Field::ALL {
                for stem in stems(content, field) {
                    let next = terms.len();
                    let term = *terms.entry(stem).or_insert(next);
                    if term == next {
                        counts.push(Vec::new());
                    }
                    match counts[term].last_mut() {
                        Some((last, in_field, count)) if *last == pattern && *in_field == field => {
                            *count += 1.0
                        }
                        _ => counts[term].push((pattern, field, 1.0)),
                    }
                    lengths[pattern][field as usize] += 1.0;
                }
            }
        }

        let n = patterns.len() as f32;
        let mean =
            Field::ALL.map(|field| lengths.iter().map(|row| row[field as usize]).sum::<f32>() / n.max(1.0));
        let mut ranking =
            Ranking { terms, postings: Vec::new(), rarity: Vec::new(), rarity_unknown: rarity(n, 0.0) };
        for counts in &counts {
            let mut mentions: Vec<usize> = counts
                .iter()
                .filter(|(_, field, _)| field.counts_as_mention())
                .map(|(pattern, ..)| *pattern)
                .collect();
            mentions.dedup();
            let rarity = rarity(n, mentions.len() as f32);
            let frequency = |(pattern, field, count): &(usize, Field, f32)| {
                let relative = lengths[*pattern][*field as usize] / mean[*field as usize].max(1.0);
                field.weight() * count / (1.0 - LENGTH_PENALTY + LENGTH_PENALTY * relative)
            };
            let postings = counts.chunk_by(|first, second| first.0 == second.0).map(|counts| {
                let frequency: f32 = counts.iter().map(frequency).sum();
                Posting {
                    pattern: counts[0].0,
                    score: rarity * frequency / (SATURATION + frequency),
                    // Fields are in the order of their weights.
                    field: counts[0].1,
                }
            });
            ranking.postings.push(postings.collect());
            ranking.rarity.push(rarity);
        }
        ranking
    }

    /// Tells whether a pattern has a stem.
    pub fn knows(&self, stem: &str) -> bool {
        self.terms.contains_key(stem)
    }

    /// Lists what a stem says for the patterns that have it.
    pub fn postings(&self, stem: &str) -> &[Posting] {
        self.terms.get(stem).map_or(&[], |term| &self.postings[*term])
    }

    /// Returns how much a stem tells patterns apart.
    pub fn rarity(&self, stem: &str) -> f32 {
        self.terms.get(stem).map_or(self.rarity_unknown, |term| self.rarity[*term])
    }
}

fn rarity(n_patterns: f32, n_mentions: f32) -> f32 {
    (1.0 + (n_patterns - n_mentions + 0.5) / (n_mentions + 0.5)).ln()
}

fn stems(pattern: &Pattern, field: Field) -> Vec<String> {
    let mut stems = Vec::new();
    for part in parts(pattern, field) {
        let found = text::words(part);
        stems.extend(found.words.into_iter().map(|word| word.stem).filter(|stem| !text::is_stop_word(stem)));
        stems.extend(found.compounds.into_iter().map(|compound| compound.stem));
    }
    stems
}

fn parts(pattern: &Pattern, field: Field) -> Vec<&str> {
    fn all(texts: &[String]) -> Vec<&str> {
        texts.iter().map(String::as_str).collect()
    }
    let code_examples = || pattern.mitigations.iter().flat_map(|mitigation| &mitigation.code_examples);
    match field {
        Field::Name => vec![&pattern.name],
        Field::Keywords => all(&pattern.triggers.keywords),
        Field::Actions => all(&pattern.triggers.actions),
        Field::Subcategory => vec![&pattern.subcategory],
        Field::Summary => {
            let summary = &pattern.agent_summary;
            vec![&summary.threat, &summary.check, &summary.fix]
        }
        Field::Boundary => vec![&pattern.boundary],
        Field::Signals => all(&pattern.signals),
        Field::Blindspots => all(&pattern.differentiation.llm_blindspots),
        Field::Description => vec![&pattern.description],
        Field::Criteria => all(&pattern.acceptance_criteria),
        Field::Mitigations => pattern
            .mitigations
            .iter()
            .flat_map(|mitigation| [&*mitigation.name, &*mitigation.description])
            .collect(),
        Field::Stacks => all(&pattern.generalizes_to),
        Field::Scenario => match &pattern.attack_scenario {
            Some(scenario) => [&[scenario.narrative.as_str()][..], &all(&scenario.preconditions)].concat(),
            None => Vec::new(),
        },
        Field::Examples => examples::lines(&pattern.triggers.keywords),
        Field::Principles => pattern.security_principles.iter().flat_map(sentences).collect(),
        Field::Code => {
            code_examples().flat_map(|example| [&*example.vulnerable_code, &*example.secure_code]).collect()
        }
    }
}

fn sentences(principle: &Principle) -> Vec<&str> {
    match principle {
        Principle::Sentence(sentence) => vec![sentence],
        Principle::Mapping(mapping) => mapping.values().filter_map(|value| value.as_str()).collect(),
    }
}

//! The meaning of a table's columns: given by the caller, or guessed from the names that tools and people use.

use std::fmt::Write as _;

use crate::kind::plain_name;

/// The meaning of a column of another tool's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the names are the fields'")]
pub enum Target {
    Title,
    Description,
    Rationale,
    Labels,
    Priority,
    Status,
    Assignee,
    /// What a row is (an epic, a story, anything else), or a requirement's type.
    Type,
    /// The row's id in the other tool. It is stored and matched by the next import.
    ExternalId,
    /// Another id of the row, by which other rows may refer to it.
    OtherId,
    /// The external id or the title of the row's parent.
    Parent,
    /// The title of the row's epic. A missing epic is created.
    Epic,
    /// The title of the row's user story. A missing story is created.
    UserStory,
}

impl Target {
    /// Every target.
    pub const ALL: [Target; 13] = [
        Target::Title,
        Target::Description,
        Target::Rationale,
        Target::Labels,
        Target::Priority,
        Target::Status,
        Target::Assignee,
        Target::Type,
        Target::ExternalId,
        Target::OtherId,
        Target::Parent,
        Target::Epic,
        Target::UserStory,
    ];

    /// Its name in a mapping.
    pub fn name(self) -> &'static str {
        match self {
            Target::Title => "title",
            Target::Description => "description",
            Target::Rationale => "rationale",
            Target::Labels => "labels",
            Target::Priority => "priority",
            Target::Status => "status",
            Target::Assignee => "assignee",
            Target::Type => "type",
            Target::ExternalId => "external_id",
            Target::OtherId => "other_id",
            Target::Parent => "parent",
            Target::Epic => "epic",
            Target::UserStory => "user_story",
        }
    }

    /// The field in problems about it, if its name differs.
    pub(super) fn field(self) -> &'static str {
        match self {
            Target::ExternalId => "aliases",
            other => other.name(),
        }
    }

    /// Whether several columns may have it.
    fn may_repeat(self) -> bool {
        matches!(
            self,
            Target::Title
                | Target::Description
                | Target::Labels
                | Target::OtherId
                | Target::Parent
                | Target::Type
        )
    }
}

/// The names of columns, the best first.
const VOCABULARY: [(Target, &[&str]); 13] = [
    (
        Target::Title,
        &[
            "summary",
            "title",
            "name",
            "subject",
            "headline",
            "requirement",
            "title_1",
            "title_2",
            "title_3",
            "title_4",
        ],
    ),
    (
        Target::Description,
        &[
            "description",
            "details",
            "body",
            "text",
            "detail",
            "long_description",
            "acceptance_criteria",
            "custom_field_(acceptance_criteria)",
            "repro_steps",
            "notes",
            "note",
        ],
    ),
    (Target::Rationale, &["rationale", "reason", "why", "justification", "business_value"]),
    (
        Target::Labels,
        &[
            "labels",
            "label",
            "tags",
            "tag",
            "components",
            "component",
            "component/s",
            "categories",
            "category",
        ],
    ),
    (Target::Priority, &["priority", "prio", "severity", "importance", "urgency", "moscow"]),
    (Target::Status, &["status", "state", "workflow_state", "progress"]),
    (
        Target::Assignee,
        &[
            "assignee",
            "assigned_to",
            "owner",
            "assignees",
            "responsible",
            "assigned",
            "person_responsible",
            "assignee_name",
        ],
    ),
    (
        Target::Type,
        &[
            "issue_type",
            "issuetype",
            "work_item_type",
            "type",
            "tracker",
            "kind",
            "item_type",
            "requirement_type",
        ],
    ),
    (
        Target::ExternalId,
        &[
            "issue_key",
            "key",
            "identifier",
            "number",
            "id",
            "uid",
            "req_id",
            "requirement_id",
            "issue_number",
            "reference",
            "ref",
            "nr",
            "no",
            "#",
            "issue_id",
            "url",
            "html_url",
            "link",
            "uuid",
        ],
    ),
    (Target::OtherId, &["other_id"]),
    (
        Target::Parent,
        &[
            "parent_key",
            "parent",
            "parent_issue",
            "parent_id",
            "parent_link",
            "epic_link",
            "custom_field_(epic_link)",
            "custom_field_(parent_link)",
            "parent_item",
            "parent_summary",
        ],
    ),
    (Target::Epic, &["epic", "module", "feature", "chapter", "section", "capability"]),
    (Target::UserStory, &["user_story", "story", "use_case"]),
];

/// The meaning of a name, and its rank: the lowest is the best.
fn guess(name: &str) -> Option<(Target, usize)> {
    let name = plain_name(name);
    VOCABULARY
        .iter()
        .find_map(|(target, names)| Some((*target, names.iter().position(|known| *known == name)?)))
}

/// How many names of columns are known.
pub(super) fn recognised<'a>(names: impl Iterator<Item = &'a str>) -> usize {
    let ours = crate::csv::columns();
    names.filter(|name| guess(name).is_some() || ours.contains(&&*plain_name(name))).count()
}

/// Whether a table is one of our exports: it has a column `kind`.
pub(super) fn is_ours<'a>(names: impl Iterator<Item = &'a str>) -> bool {
    names.into_iter().any(|name| plain_name(name) == "kind")
}

/// The caller's mapping of columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mapping(Vec<(String, Option<Target>)>);

impl Mapping {
    /// Parses `Summary=title,Prio=priority`. A column is left out with `Created=-`; a name with a comma or an equals
    /// sign is in double quotes.
    pub fn parse(text: &str) -> Result<Mapping, String> {
        let mut mapping = Mapping::default();
        for pair in split(text, ',')? {
            if pair.trim().is_empty() {
                continue;
            }
            let parts = split(&pair, '=')?;
            let [column, target] = parts.as_slice() else {
                return Err(format!(
                    "expected COLUMN=FIELD, found {pair:?}; quote a name with a comma or an equals sign"
                ));
            };
            let column = unquoted(column);
            let target = target_named(target.trim())?;
            if mapping.0.iter().any(|(known, _)| *known == column) {
                return Err(format!("the column {column:?} is given twice"));
            }
            mapping.0.push((column, target));
        }
        Ok(mapping)
    }

    /// The same as text.
    pub fn text<'a>(columns: impl Iterator<Item = (&'a str, &'a str)>) -> String {
        let mut text = String::new();
        for (column, target) in columns {
            let separator = if text.is_empty() { "" } else { "," };
            _ = write!(text, "{separator}\"{}\"={target}", column.replace('"', "\"\""));
        }
        text
    }
}

fn target_named(name: &str) -> Result<Option<Target>, String> {
    if matches!(name, "" | "-" | "ignore") {
        return Ok(None);
    }
    let plain = plain_name(name);
    if let Some(target) = Target::ALL.into_iter().find(|target| target.name() == plain) {
        return Ok(Some(target));
    }
    // A field may have any of the names of its columns.
    if let Some((target, _)) = guess(name) {
        return Ok(Some(target));
    }
    let names = Target::ALL.map(Target::name);
    Err(match nearest::nearest(name, names) {
        Some(right) => format!("unknown field {name:?}; did you mean `{right}`?"),
        None => format!(
            "unknown field {name:?}; expected one of {}, or - to leave the column out",
            names.join(", ")
        ),
    })
}

/// Splits a text at separators outside of quotes.
fn split(text: &str, separator: char) -> Result<Vec<String>, String> {
    let (mut parts, mut is_quoted) = (vec![String::new()], false);
    for char in text.chars() {
        is_quoted ^= char == '"';
        match parts.last_mut() {
            Some(part) if is_quoted || char != separator => part.push(char),
            _ => parts.push(String::new()),
        }
    }
    if is_quoted { Err("a quote (\") opens and is never closed".to_owned()) } else { Ok(parts) }
}

fn unquoted(name: &str) -> String {
    let name = name.trim();
    match name.strip_prefix('"').and_then(|name| name.strip_suffix('"')) {
        Some(inner) => inner.replace("\"\"", "\""),
        None => name.to_owned(),
    }
}

/// The columns of a table with their meanings.
#[derive(Debug, Default)]
pub(super) struct Columns {
    names: Vec<String>,
    targets: Vec<Option<Target>>,
}

impl Columns {
    /// Recognises the names of columns. Reports names in the mapping that do not exist.
    pub fn new(names: Vec<String>, mapping: &Mapping, needs_title: bool) -> Result<Columns, Vec<String>> {
        let mut problems = Vec::new();
        let is_there = |column: &str| names.iter().any(|name| is_named(name, column));
        for (column, _) in mapping.0.iter().filter(|(column, _)| !is_there(column)) {
            let near = nearest::nearest(column, names.iter().map(String::as_str));
            problems.push(match near {
                Some(right) => format!("there is no column {column:?}; did you mean {right:?}?"),
                None => format!("there is no column {column:?}; the columns are {}", listed(&names)),
            });
        }
        let said = |name: &str| {
            mapping.0.iter().find(|(column, _)| is_named(name, column)).map(|(_, target)| *target)
        };
        let mut targets: Vec<Option<Target>> = names.iter().map(|name| said(name).flatten()).collect();
        let mut guesses: Vec<(usize, Target, usize)> = Vec::new();
        for (index, name) in names.iter().enumerate().filter(|(_, name)| said(name).is_none()) {
            guesses.extend(guess(name).map(|(target, rank)| (rank, target, index)));
        }
        guesses.sort();
        for (_, target, index) in guesses {
            let is_taken = targets.contains(&Some(target));
            targets[index] = match target {
                Target::ExternalId if is_taken => Some(Target::OtherId),
                // A second title is a separate text; only levels of a tree have several columns.
                Target::Title if is_taken && !names[index].ends_with(|last: char| last.is_ascii_digit()) => {
                    None
                }
                target if is_taken && !target.may_repeat() => None,
                target => Some(target),
            };
        }
        if needs_title && !targets.contains(&Some(Target::Title)) && problems.is_empty() {
            let message =
                "no column is the title; say which one is, such as --map \"NAME=title\"; the columns are ";
            problems.push(format!("{message}{}", listed(&names)));
        }
        if problems.is_empty() { Ok(Columns { names, targets }) } else { Err(problems) }
    }

    /// How many names in a row are known, and whether one of them is a title.
    pub fn sense(names: &[String], mapping: &Mapping) -> (bool, usize) {
        let is_mapped = |name: &String| mapping.0.iter().any(|(column, _)| is_named(name, column));
        let known = names.iter().filter(|name| is_mapped(name) || guess(name).is_some()).count();
        let has_title =
            names.iter().any(|name| is_mapped(name) || matches!(guess(name), Some((Target::Title, _))));
        (has_title, known)
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    pub fn targets(&self) -> impl Iterator<Item = Option<Target>> {
        self.targets.iter().copied()
    }

    pub fn name(&self, index: usize) -> &str {
        &self.names[index]
    }

    /// The fields and the columns that they come from, the first column of each.
    pub fn used(&self) -> Vec<(&'static str, String)> {
        let mut used: Vec<(&'static str, String)> = Vec::new();
        for (name, target) in self.names.iter().zip(&self.targets) {
            if let Some(target) = target
                && used.iter().all(|(field, _)| *field != target.field())
            {
                used.push((target.field(), name.clone()));
            }
        }
        used
    }

    /// The tool that uses these names of columns.
    pub fn scheme(&self) -> &'static str {
        let has = |name: &str| self.names.iter().any(|known| plain_name(known) == name);
        match () {
            () if has("issue_key") || has("issue_type") && has("issue_id") => "jira",
            () if has("work_item_type") => "azure",
            () if has("parent_issue") || has("team") && has("estimate") => "linear",
            () if has("number") && (has("body") || has("state") || has("url")) || has("html_url") => "github",
            () => "sheet",
        }
    }
}

fn is_named(name: &str, column: &str) -> bool {
    plain_name(name) == plain_name(column)
}

fn listed(names: &[String]) -> String {
    let named = names.iter().filter(|name| !name.trim().is_empty()).take(LISTED_MAX);
    named.map(|name| format!("{:?}", crate::reading::shortened(name))).collect::<Vec<_>>().join(", ")
}

/// How many names of columns a message lists.
const LISTED_MAX: usize = 30;

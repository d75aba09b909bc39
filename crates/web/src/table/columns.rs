//! The columns of a table. Those for fields that people fill in follow from the table of fields, so that a new field has one.

use maud::{Markup, html};
use store::entity::FIELDS;
use store::model::Kind;

use super::{Table, address};
use crate::page::Asked;
use crate::pages::has_status;
use crate::parts::{hidden, sentence};

/// A column: the member of an entity that it shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column(pub &'static str);

/// How many columns an address may ask for.
const COLUMNS_MAX: usize = 20;
/// The columns of somebody who has not chosen any, as far as the kind has them.
const DEFAULT: [&str; 5] = ["title", "status", "priority", "assignee", "updated_at"];
/// The same for a kind without a status.
const DEFAULT_PLAIN: [&str; 5] = ["title", "labels", "user_story", "creator", "updated_at"];
/// Orders of the list operation that show in a column's heading: the order, and the one that turns it around.
const ORDERS: [(&str, &str, Option<&str>); 5] = [
    ("reference_id", "number", Some("number_descending")),
    ("title", "title", None),
    ("priority", "priority", None),
    ("created_at", "created", None),
    ("updated_at", "updated", None),
];
/// Orders in which what is last or highest comes first.
const DESCENDING: [&str; 3] = ["number_descending", "created", "updated"];

/// All columns of a kind but the reference, which every table begins with.
pub fn of(kind: Kind) -> Vec<Column> {
    let mut names = vec!["title"];
    if has_status(kind) {
        names.extend(["status", "assignee"]);
    }
    // A kind without titles is shown by the beginning of its text.
    let fields = FIELDS.iter().filter(|field| field.is_needed(kind).is_some());
    names.extend(fields.map(|field| field.name).filter(|name| *name != "title"));
    names.extend(match kind {
        Kind::UserStory => &["epic"][..],
        Kind::AcceptanceCriteria => &["user_story"],
        Kind::Requirement => &["type", "user_story", "acceptance_criteria"],
        _ => &[],
    });
    names.extend(["creator", "created_at", "updated_at", "version"]);
    names.into_iter().map(Column).collect()
}

/// The columns that an address asks for, and what it asks for that there is not.
pub fn chosen(asked: &Asked, kind: Kind) -> (Vec<Column>, Vec<String>) {
    let all = of(kind);
    let wanted: Vec<&str> = asked.all("columns").flat_map(|names| names.split(',')).map(str::trim).collect();
    let (mut found, mut unknown) = (Vec::new(), Vec::new());
    for name in wanted.into_iter().filter(|name| !name.is_empty()).take(COLUMNS_MAX) {
        match all.iter().find(|column| column.0 == name) {
            Some(column) if !found.contains(column) => found.push(*column),
            Some(_) => {}
            None => unknown.push(name.to_owned()),
        }
    }
    if found.is_empty() {
        let default = if has_status(kind) { DEFAULT } else { DEFAULT_PLAIN };
        found.extend(default.into_iter().filter_map(|name| all.iter().find(|column| column.0 == name)));
    }
    (found, unknown)
}

impl Column {
    /// What stands above it.
    pub fn heading(self) -> String {
        match self.0 {
            "reference_id" => "Reference".to_owned(),
            "created_at" => "Created".to_owned(),
            "updated_at" => "Changed".to_owned(),
            "acceptance_criteria" => "Criterion".to_owned(),
            name => sentence(name),
        }
    }
}

impl Table<'_> {
    /// The heading of a column, which sorts by it where the list can.
    pub fn heading(&self, column: Column) -> Markup {
        let asked = self.view.asked;
        // What was searched for comes in the order of how well it fits.
        let is_sorted = asked.first("query").is_none();
        let order = ORDERS.iter().find(|(name, ..)| *name == column.0 && is_sorted);
        let Some((_, order, turned)) = order else {
            return html! { th scope="col" { (column.heading()) } };
        };
        let current = asked.first("sort").unwrap_or("number");
        let is_current = current == *order || Some(current) == *turned;
        let next = if current == *order { turned.unwrap_or(order) } else { order };
        let is_descending = DESCENDING.contains(&current);
        html! {
            th scope="col" aria-sort=[is_current.then_some(if is_descending { "descending" } else { "ascending" })] {
                a.sort href=(address::with(asked, "sort", next)) {
                    (column.heading())
                    @if is_current { span.direction aria-hidden="true" { @if is_descending { "↓" } @else { "↑" } } }
                }
            }
        }
    }

    /// The columns to choose from.
    pub fn column_menu(&self) -> Markup {
        let asked = self.view.asked;
        html! {
            details.menu.choose {
                summary { "Columns" }
                form.sheet method="get" action=(asked.path) {
                    @for (name, value) in address::lasting(asked).filter(|(name, _)| *name != "columns") { (hidden(name, value)) }
                    @for column in of(self.kind) {
                        label.check {
                            input type="checkbox" name="columns" value=(column.0) checked[self.columns.contains(&column)];
                            " " (column.heading())
                        }
                    }
                    button { "Show these" }
                }
            }
        }
    }
}

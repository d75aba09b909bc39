//! The rows of a table. A row is one form: what is changed in a cell is saved with the version that was shown.

use maud::{Markup, html};
use serde_json::{Value, json};
use store::entity::FIELDS;

use super::columns::Column;
use super::{Table, address};
use crate::conflict::BASE;
use crate::pages::statuses;
use crate::parts::{NEXT, PRIORITIES, hidden, link, priority, status, text, title};
use crate::time::ago;

/// Cells that are edited where they are: the column, the argument of the update, and whether only after asking for it, since the
/// cell is a link or has more than one value.
const EDITED: [(&str, &str, bool); 5] = [
    ("status", "status", false),
    ("priority", "priority", false),
    ("assignee", "assignee_id", false),
    ("title", "title", true),
    ("labels", "labels", true),
];

/// How many characters of a long text a cell shows.
const CELL_CHARS: usize = 120;

impl Table<'_> {
    /// The table itself.
    pub fn rows(&self, rows: &[&Value]) -> Markup {
        let model = self.view.answers.get("statuses");
        let statuses = statuses(self.view);
        html! {
            // The row alone is swapped. What is refused is told beside it, and what was typed stays.
            table.entities "hx-target:inherited"="closest tr" "hx-select:inherited"="tr[data-reference]" "hx-swap:inherited"="outerHTML"
                "hx-status:4xx:inherited"="swap:none" "hx-status:5xx:inherited"="swap:none" {
                thead { tr {
                    @if self.update.is_some() {
                        td.pick { input.pick-all type="checkbox" aria-label="Select all rows"; }
                    }
                    (self.heading(Column("reference_id")))
                    @for column in &self.columns { (self.heading(*column)) }
                } }
                tbody { @for row in rows { (self.row(row, &Statuses { model, all: &statuses })) } }
            }
        }
    }

    fn row(&self, row: &Value, statuses: &Statuses<'_>) -> Markup {
        let reference = text(row, "reference_id");
        let form = format!("edit-{reference}");
        let is_open = self.view.asked.first(address::EDIT) == Some(reference);
        let is_live = text(row, "deleted_at").is_empty();
        let is_edited = |column: &Column| {
            let known =
                EDITED.iter().find(|(name, _, needs_asking)| *name == column.0 && (is_open || !needs_asking));
            // Somebody who has no status or title in this kind cannot change it either.
            known
                .filter(|_| self.update.is_some() && is_live && self.has(column.0))
                .map(|(_, argument, _)| *argument)
        };
        let edited: Vec<(Column, &str)> =
            self.columns.iter().filter_map(|column| Some((*column, is_edited(column)?))).collect();
        html! {
            tr #{ "row-" (reference) } data-reference=(reference) data-version={ (reference) "@" (row["version"]) } .open[is_open] .deleted[!is_live] {
                @if self.update.is_some() {
                    td.pick { input type="checkbox" name="row" form="selected" value={ (reference) "@" (row["version"]) } aria-label={ "Select " (reference) } autocomplete="off"; }
                }
                td.id {
                    (link(reference))
                    @if let Some(update) = self.update.filter(|_| !edited.is_empty()) {
                        form.row-edit id=(form) method="post" action={ "/do/" (update.name) } hx-post={ "/do/" (update.name) }
                            hx-vals=(json!({NEXT: address::with(self.view.asked, address::ROW, reference)})) hx-push-url="false" {
                            (hidden(NEXT, &address::here(self.view.asked)))
                            (hidden(&format!("{}_id", self.kind.name()), reference))
                            (hidden("expected_version", &row["version"].to_string()))
                            @for (column, argument) in &edited { (hidden(&format!("{BASE}{argument}"), &written(&row[column.0]))) }
                            button.quiet.no-script { "Save" }
                        }
                    }
                }
                @for column in &self.columns {
                    td.{ "col-" (column.0) } {
                        @if edited.iter().any(|(known, _)| known == column) {
                            (self.editor(*column, row, &form, statuses))
                        } @else {
                            (self.cell(*column, row))
                        }
                    }
                }
            }
        }
    }

    /// Whether the kind has what a column shows as a field of its own, and not as the beginning of another.
    fn has(&self, name: &str) -> bool {
        FIELDS
            .iter()
            .find(|field| field.name == name)
            .is_none_or(|field| field.is_needed(self.kind).is_some())
    }

    /// A cell that can be changed.
    fn editor(&self, column: Column, row: &Value, form: &str, statuses: &Statuses<'_>) -> Markup {
        let label = format!("{} of {}", column.heading(), text(row, "reference_id"));
        match column.0 {
            "status" => html! {
                span.status-cell {
                    i.mark.{ (crate::parts::state_class(text(row, "status"))) } aria-hidden="true" {}
                    select.bare name="status" form=(form) aria-label=(label) data-submit data-key="s" autocomplete="off" {
                        @for choice in statuses.after(text(row, "status")) {
                            option value=(choice) selected[choice == text(row, "status")] { (choice) }
                        }
                    }
                }
            },
            "priority" => html! {
                select.bare.{ "p" (row["priority"]) } name="priority" form=(form) aria-label=(label) data-submit data-key="p" autocomplete="off" {
                    @for (number, name) in (1..).zip(PRIORITIES) { option value=(number) selected[row["priority"] == number] { (name) } }
                }
            },
            "assignee" => html! {
                input.bare type="text" name="assignee_id" form=(form) value=(text(row, "assignee")) list="people" aria-label=(label)
                    placeholder="–" data-key="a" autocomplete="off";
            },
            "labels" => html! {
                input.bare type="text" name="labels" form=(form) value=(written(&row["labels"])) aria-label=(label) placeholder="security, cards" autocomplete="off";
            },
            _ => html! {
                input.bare type="text" name=(column.0) form=(form) value=(written(&row[column.0])) aria-label=(label) required maxlength="500" autocomplete="off" autofocus;
            },
        }
    }

    /// A cell that is only read.
    fn cell(&self, column: Column, row: &Value) -> Markup {
        let reference = text(row, "reference_id");
        match column.0 {
            "title" => html! {
                a.name href={ "/r/" (reference) } { (title(row)) }
                @if self.update.is_some() {
                    a.pencil href=(address::with(self.view.asked, address::EDIT, reference)) data-key="e" aria-label={ "Edit " (reference) " here" } { span aria-hidden="true" { "✎" } }
                }
            },
            "status" => status(text(row, "status")),
            "priority" => priority(&row["priority"]),
            "labels" => {
                html! { @for label in row["labels"].as_array().into_iter().flatten() { span.label { (label.as_str().unwrap_or_default()) } " " } }
            }
            "epic" | "user_story" | "acceptance_criteria" => html! {
                @if !text(row, column.0).is_empty() { (link(text(row, column.0))) }
            },
            "created_at" | "updated_at" => html! {
                @if !text(row, column.0).is_empty() { (ago(text(row, column.0), self.view.now)) }
            },
            name => {
                let shown = written(&row[name]);
                let cut = shown.char_indices().nth(CELL_CHARS).map(|(end, _)| format!("{}…", &shown[..end]));
                html! { (cut.unwrap_or(shown)) }
            }
        }
    }
}

/// The statuses of a kind, and which may follow which.
struct Statuses<'a> {
    model: Option<&'a Value>,
    all: &'a [String],
}

impl Statuses<'_> {
    /// A status and those that may follow it. Where the model says nothing, all may.
    fn after(&self, current: &str) -> Vec<&str> {
        let transitions = self.model.and_then(|model| model["transitions"].as_array());
        let transitions = transitions.filter(|known| !known.is_empty());
        let follows = |status: &str| {
            transitions.is_none_or(|known| {
                known.iter().any(|one| text(one, "from") == current && text(one, "to") == status)
            })
        };
        self.all.iter().map(String::as_str).filter(|status| *status == current || follows(status)).collect()
    }
}

/// A value as it stands in a field.
pub fn written(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(written).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

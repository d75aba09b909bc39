//! Many rows that are changed at once: what a form says of them becomes operations, which are tried, and shown row by row before they
//! are done.

use maud::{Markup, html};
use ops::{Arguments, known};
use serde_json::{Map, Value, json};
use store::model::Kind;

use super::address::DONE;
use super::rows::written;
use crate::page::{Problem, Shown};
use crate::parts::{NEXT, PRIORITIES, hidden, kind_of, kind_plural, link, post, sentence, text, title};

/// How many rows can be changed at once, as many as the operation takes.
const ROWS_MAX: usize = 500;
/// What stands for nobody in a field that otherwise names somebody.
const NOBODY: &str = "-";
/// Members of an entity that change with every change, or name something twice.
const SILENT: [&str; 4] = ["version", "updated_at", "assignee_id", "type_id"];

/// What a form says of selected rows.
pub struct Selection {
    /// The project that the table is of.
    key: String,
    kind: Kind,
    /// The rows, each with the version that was shown.
    rows: Vec<(String, Option<i64>)>,
    /// Arguments for all of them.
    set: Map<String, Value>,
    add_label: Option<String>,
    remove_label: Option<String>,
    is_delete: bool,
    /// Also what depends on them.
    is_forced: bool,
    /// The table that the form was on.
    next: String,
}

impl Selection {
    /// Understands the fields of a form.
    pub fn read(key: &str, kind: &str, fields: &[(String, String)]) -> Result<Selection, Problem> {
        let wrong = |field: &str, message: String| Problem {
            status: 400,
            message: format!("{field}: {message}"),
            fields: vec![(field.to_owned(), message)],
            retry_after_s: None,
        };
        let writes = known::WRITES.iter().find(|(known, ..)| known.name() == kind);
        let Some((kind, _, update)) = writes else {
            return Err(wrong("kind", format!("there is no table of {kind:?}")));
        };
        let schema = Arguments::new(update.input_schema());
        let mut selection = Selection {
            key: key.to_owned(),
            kind: *kind,
            rows: Vec::new(),
            set: Map::new(),
            add_label: None,
            remove_label: None,
            is_delete: false,
            is_forced: false,
            next: format!("/p/{key}/list/{}", kind.name()),
        };
        for (name, value) in fields.iter().filter(|(_, value)| !value.trim().is_empty()) {
            let value = value.trim();
            match name.as_str() {
                "row" => {
                    let (reference, version) = value.split_once('@').unwrap_or((value, ""));
                    if kind_of(reference) != Some(*kind) {
                        let expected = kind.with_article();
                        return Err(wrong(
                            "row",
                            format!("expected the reference of {expected}, found {reference:?}"),
                        ));
                    }
                    if selection.rows.iter().all(|(known, _)| known != reference) {
                        selection.rows.push((reference.to_owned(), version.parse().ok()));
                    }
                }
                "add_label" => selection.add_label = Some(value.to_owned()),
                "remove_label" => selection.remove_label = Some(value.to_owned()),
                "delete" => selection.is_delete = value == "true",
                "force" => selection.is_forced = value == "true",
                "assignee_id" if value == NOBODY => _ = selection.set.insert(name.clone(), Value::Null),
                NEXT => selection.next = value.to_owned(),
                name if !name.starts_with('_') => schema.add(&mut selection.set, name, value),
                _ => {}
            }
        }
        let n_rows = selection.rows.len();
        if n_rows == 0 || n_rows > ROWS_MAX {
            return Err(wrong("row", format!("expected 1 to {ROWS_MAX} selected rows, found {n_rows}")));
        }
        let says_nothing =
            selection.set.is_empty() && selection.add_label.is_none() && selection.remove_label.is_none();
        if says_nothing && !selection.is_delete {
            return Err(wrong(
                "status",
                "choose what to change: a status, a priority, an assignee or a label".to_owned(),
            ));
        }
        Ok(selection)
    }

    /// Where the form came from.
    pub fn next(&self) -> &str {
        &self.next
    }

    /// Where the form came from, once that is known to be a path of our own.
    #[must_use]
    pub fn going_to(mut self, next: &str) -> Selection {
        next.clone_into(&mut self.next);
        self
    }

    /// What asks for the rows as they are now.
    pub fn looks(&self) -> Value {
        let look = |(reference, _): &(String, Option<i64>)| json!({"operation": known::GET_ENTITY.name, "arguments": {"reference": reference}});
        json!({"operations": self.rows.iter().map(look).collect::<Vec<_>>(), "dry_run": true})
    }

    /// What is to be done with each row, given the rows as they are now.
    pub fn operations(&self, before: &Value) -> Vec<Value> {
        let update =
            known::WRITES.iter().find(|(known, ..)| *known == self.kind).map(|(_, _, update)| update.name);
        let operation = |(index, (reference, version)): (usize, &(String, Option<i64>))| {
            let mut arguments = Map::new();
            arguments.extend(version.map(|version| ("expected_version".to_owned(), json!(version))));
            if self.is_delete {
                arguments.insert("reference".into(), json!(reference));
                if self.is_forced {
                    arguments.insert("force".into(), json!(true));
                }
                return json!({"operation": known::DELETE_ENTITY.name, "arguments": arguments});
            }
            arguments.insert(format!("{}_id", self.kind.name()), json!(reference));
            arguments.extend(self.set.clone());
            if self.add_label.is_some() || self.remove_label.is_some() {
                arguments.insert("labels".into(), json!(self.labels(&before["results"][index]["answer"])));
            }
            json!({"operation": update, "arguments": arguments})
        };
        self.rows.iter().enumerate().map(operation).collect()
    }

    /// The labels that a row gets.
    fn labels(&self, row: &Value) -> Vec<String> {
        let known = row["labels"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let is = |wanted: &Option<String>, label: &str| {
            wanted.as_ref().is_some_and(|wanted| wanted.eq_ignore_ascii_case(label))
        };
        let mut labels: Vec<String> =
            known.filter(|label| !is(&self.remove_label, label)).map(str::to_owned).collect();
        if let Some(label) =
            self.add_label.as_ref().filter(|new| !labels.iter().any(|known| known.eq_ignore_ascii_case(new)))
        {
            labels.push(label.clone());
        }
        labels
    }

    /// What would happen, row by row, with a button that does it for those rows that can be changed.
    pub fn show(&self, before: &Value, operations: &[Value], tried: &Value) -> Shown {
        let outcomes: Vec<Outcome> =
            (0..self.rows.len()).map(|index| self.outcome(index, before, tried)).collect();
        let count = |wanted: fn(&Outcome) -> bool| outcomes.iter().filter(|outcome| wanted(outcome)).count();
        let n_changed = count(|outcome| matches!(outcome, Outcome::Changes(_) | Outcome::Goes(_)));
        let (n_same, n_refused) = (
            count(|outcome| matches!(outcome, Outcome::Same)),
            count(|outcome| matches!(outcome, Outcome::Refused(_))),
        );
        let done: Vec<&Value> = operations
            .iter()
            .zip(&outcomes)
            .filter(|(_, outcome)| outcome.is_change())
            .map(|(operation, _)| operation)
            .collect();
        let verb = if self.is_delete { "Delete" } else { "Change" };
        let heading = format!("{verb} {} {}", self.rows.len(), self.words());
        let next =
            format!("{}{}{DONE}={n_changed}", self.next, if self.next.contains('?') { '&' } else { '?' });
        let body = html! {
            div.page.wide {
                h1 { (heading) }
                p { "Nothing was changed yet. " (told(n_changed, "would change", "would change"))
                    @if n_same > 0 { ", " (told(n_same, "stays as it is", "stay as they are")) }
                    @if n_refused > 0 { ", " (told(n_refused, "is refused", "are refused")) } "." }
                table.entities.plan {
                    thead { tr { th scope="col" { "Reference" } th scope="col" { "Title" } th scope="col" { "What happens" } } }
                    tbody {
                        @for ((index, (reference, _)), outcome) in self.rows.iter().enumerate().zip(&outcomes) {
                            tr.{ (outcome.class()) } data-reference=(reference) {
                                td { (link(reference)) }
                                td.title { (title(&before["results"][index]["answer"])) }
                                td { (outcome.show()) }
                            }
                        }
                    }
                }
                div.actions {
                    @if n_changed > 0 {
                        (post(known::BULK_UPDATE, &next, html! {
                            (hidden("operations", &json!(done).to_string()))
                            button.primary.danger-button[self.is_delete] { "Apply to " (n_changed) }
                        }))
                    }
                    @if self.is_delete && !self.is_forced && n_refused > 0 { (self.force()) }
                    a.quiet href=(self.next) { "Cancel" }
                }
            }
        };
        Shown { title: heading, project: Some(self.key.clone()), body }
    }

    /// Tries again, with everything that depends on the rows.
    fn force(&self) -> Markup {
        html! {
            form method="post" action={ "/p/" (self.key) "/list/" (self.kind.name()) "/change" } {
                (hidden(NEXT, &self.next)) (hidden("delete", "true")) (hidden("force", "true"))
                @for (reference, version) in &self.rows {
                    (hidden("row", &version.map_or_else(|| reference.clone(), |version| format!("{reference}@{version}"))))
                }
                button { "Try with everything that depends on them…" }
            }
        }
    }

    fn words(&self) -> String {
        match self.rows.len() {
            1 => self.kind.words().to_owned(),
            _ => kind_plural(self.kind.name()).to_lowercase(),
        }
    }

    /// What would come of a row.
    fn outcome(&self, index: usize, before: &Value, tried: &Value) -> Outcome {
        let (before, tried) = (&before["results"][index], &tried["results"][index]);
        let error = [tried, before].into_iter().find(|result| result["error"].is_object());
        if let Some(error) = error.map(|result| text(&result["error"], "message")) {
            let place = format!("operations[{index}]: ");
            return Outcome::Refused(error.strip_prefix(&place).unwrap_or(error).to_owned());
        }
        if self.is_delete {
            let references =
                tried["answer"]["references"].as_array().into_iter().flatten().filter_map(Value::as_str);
            return Outcome::Goes(
                references.filter(|one| *one != self.rows[index].0).map(str::to_owned).collect(),
            );
        }
        let changes = changes(&before["answer"], &tried["answer"]);
        if changes.is_empty() { Outcome::Same } else { Outcome::Changes(changes) }
    }
}

/// What would come of a row.
enum Outcome {
    /// Members, each with its value before and after.
    Changes(Vec<(String, String, String)>),
    /// It is deleted, and these go with it.
    Goes(Vec<String>),
    Same,
    /// It cannot be done, and why.
    Refused(String),
}

impl Outcome {
    fn is_change(&self) -> bool {
        matches!(self, Outcome::Changes(_) | Outcome::Goes(_))
    }

    fn class(&self) -> &'static str {
        match self {
            Outcome::Changes(_) | Outcome::Goes(_) => "changes",
            Outcome::Same => "same",
            Outcome::Refused(_) => "refused",
        }
    }

    fn show(&self) -> Markup {
        match self {
            Outcome::Changes(changes) => html! {
                @for (name, before, after) in changes {
                    p { span.muted { (sentence(name)) } " " del { (before) } " → " ins { (after) } }
                }
            },
            Outcome::Goes(others) if others.is_empty() => html! { "is deleted" },
            Outcome::Goes(others) => html! { "is deleted, with " (others.join(", ")) },
            Outcome::Same => html! { span.muted { "stays as it is" } },
            Outcome::Refused(why) => html! { p.error { "refused: " (why) } },
        }
    }
}

/// The members in which two states of an entity differ.
fn changes(before: &Value, after: &Value) -> Vec<(String, String, String)> {
    let names = [before, after].into_iter().filter_map(Value::as_object).flat_map(Map::keys);
    let mut changes: Vec<(String, String, String)> = Vec::new();
    for name in names.filter(|name| !SILENT.contains(&name.as_str())) {
        let is_new = changes.iter().all(|(known, ..)| known != name);
        if before[name] != after[name] && is_new {
            changes.push((name.clone(), shown(name, &before[name]), shown(name, &after[name])));
        }
    }
    changes
}

fn shown(name: &str, value: &Value) -> String {
    let priority =
        value.as_u64().filter(|_| name == "priority").and_then(|number| PRIORITIES.get(number as usize - 1));
    match priority {
        Some(name) => (*name).to_owned(),
        None if value.is_null() => "nothing".to_owned(),
        None => written(value),
    }
}

fn told(count: usize, one: &str, several: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { several })
}

/// What is said when the rows could not be changed after all: somebody was faster, so that all are as they were.
pub fn failed(problem: &Problem, next: &str) -> Shown {
    let body = html! {
        section.message {
            h1 { "Nothing was changed" }
            p.error role="alert" { (problem.message) }
            p.muted { "All rows are changed together, or none. Select them again to see what would happen now." }
            p { a.button href=(next) { "Back to the table" } }
        }
    };
    Shown { title: "Nothing was changed".to_owned(), project: None, body }
}

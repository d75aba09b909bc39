//! Status, priority and the other fields of one item, each changed in its place, and its last changes.

use maud::{Markup, html};
use ops::known;
use serde_json::{Map, Value};

use super::{by, update_of};
use crate::conflict::base;
use crate::page::View;
use crate::pages::{chosen, statuses};
use crate::parts::{Combobox, PRIORITIES, combobox, hidden, post, priority, status, text};
use crate::time::ago;

/// What stands beside the text.
pub fn facts(view: &View<'_>, entity: &Value) -> Markup {
    let reference = text(entity, "reference_id");
    let is_live = text(entity, "deleted_at").is_empty();
    let fact = Fact { view, entity, reference };
    html! {
        aside.facts #facts aria-label="Fields" {
            dl {
                (fact.status())
                (fact.priority())
                (fact.requirement_type())
                (fact.assignee())
                (fact.labels())
                @for alias in entity["aliases"].as_array().into_iter().flatten() {
                    dt { (text(alias, "scheme")) } dd { (text(alias, "external_id")) }
                }
                dt.origin { "Version" } dd.origin { (entity["version"]) }
                dt.origin { "Created" } dd.origin { (text(entity, "creator")) " " (ago(text(entity, "created_at"), view.now)) }
                dt.origin { "Changed" } dd.origin { (ago(text(entity, "updated_at"), view.now)) }
            }
            (recent(view, reference))
            @if view.me.may(known::DELETE_ENTITY) && is_live {
                // What would go with it is shown first.
                (post(known::DELETE_ENTITY, &super::back(view, reference), html! {
                    (hidden("reference", reference)) (hidden("dry_run", "true")) button.quiet.danger.delete { "Delete…" }
                }))
            }
        }
    }
}

/// One field after the other, of one item.
struct Fact<'a> {
    view: &'a View<'a>,
    entity: &'a Value,
    reference: &'a str,
}

impl Fact<'_> {
    /// A field with its name: a form for whoever may change it, otherwise what it is. The form says what was there, so that two who
    /// change different fields do not disturb each other.
    fn changed(&self, name: &str, (argument, field): (&str, &str), inside: Markup, shown: Markup) -> Markup {
        let update = update_of(self.view, self.entity);
        let id = format!("{}_id", text(self.entity, "kind"));
        let before = Map::from_iter([(argument.to_owned(), self.entity[field].clone())]);
        html! {
            dt { (name) }
            dd {
                @match update {
                    Some(update) => (post(update, &super::back(self.view, self.reference), html! {
                        (hidden(&id, self.reference))
                        (hidden("expected_version", &self.entity["version"].to_string()))
                        (base(&before)) (inside)
                    })),
                    None => (shown),
                }
            }
        }
    }

    fn status(&self) -> Markup {
        let current = text(self.entity, "status");
        if current.is_empty() {
            return html! {};
        }
        let select = chosen("status", &statuses(self.view), current, "Status");
        self.changed(
            "Status",
            ("status", "status"),
            html! { span data-key="s" { (select) } },
            status(current),
        )
    }

    fn priority(&self) -> Markup {
        let Some(current) = self.entity["priority"].as_u64() else { return html! {} };
        let select = html! {
            select.bare name="priority" aria-label="Priority" data-submit data-key="p" {
                @for (name, number) in PRIORITIES.iter().zip(1..) { option value=(number) selected[number == current] { (name) } }
            }
            button.quiet.no-script { "Set" }
        };
        self.changed("Priority", ("priority", "priority"), select, priority(&self.entity["priority"]))
    }

    fn requirement_type(&self) -> Markup {
        let current = text(self.entity, "type");
        if current.is_empty() {
            return html! {};
        }
        let types = crate::pages::types(self.view).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
        self.changed(
            "Type",
            ("type_id", "type"),
            chosen("type_id", &types, current, "Type"),
            html! { (current) },
        )
    }

    fn assignee(&self) -> Markup {
        if text(self.entity, "status").is_empty() {
            return html! {};
        }
        let current = text(self.entity, "assignee");
        let field = Combobox {
            name: "assignee_id",
            what: "user",
            label: "Assignee",
            value: current,
            hint: "nobody",
            key: Some('a'),
            is_sent_at_once: true,
            is_required: false,
        };
        self.changed(
            "Assignee",
            ("assignee_id", "assignee"),
            html! { (combobox(&field)) button.quiet.no-script { "Set" } },
            html! { (current) },
        )
    }

    fn labels(&self) -> Markup {
        let labels = self.entity["labels"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let labels: Vec<&str> = labels.collect();
        if labels.is_empty() && update_of(self.view, self.entity).is_none() {
            return html! {};
        }
        let field = html! {
            input type="text" name="labels" value=(labels.join(", ")) placeholder="none" aria-label="Labels, separated by commas" autocomplete="off" data-submit;
            button.quiet.no-script { "Set" }
        };
        self.changed(
            "Labels",
            ("labels", "labels"),
            field,
            html! { @for label in &labels { span.label { (label) } " " } },
        )
    }
}

/// The last changes.
fn recent(view: &View<'_>, reference: &str) -> Markup {
    html! {
        h2 { a href={ "/r/" (reference) "/history" } { "History" } }
        ul.history {
            @for revision in view.answers.list("history") {
                li {
                    (text(revision, "actor")) " " (by(revision)) " "
                    span.muted { (told(&revision["changes"])) " " }
                    (ago(text(revision, "created_at"), view.now))
                }
            }
        }
    }
}

/// What a change did to an item, in a few words.
fn told(changes: &Value) -> String {
    let deleted = &changes["deleted_at"];
    if !changes["id"].is_null() {
        return "created it".to_owned();
    }
    if deleted.is_array() {
        return if deleted[0].is_null() { "deleted it" } else { "restored it" }.to_owned();
    }
    let names = changes.as_object().into_iter().flatten().map(|(name, _)| name.as_str());
    let names = names.filter(|name| !name.ends_with("id")).map(|name| name.replace('_', " "));
    format!("changed {}", names.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn a_link_of_the_first_version_is_not_its_creation() {
        assert_eq!(super::told(&json!({"id": [null, "x"], "title": [null, "T"]})), "created it");
        let linked = json!({"steering_document": [null, "STD-001"], "steering_document_id": [null, "x"]});
        assert_eq!(super::told(&linked), "changed steering document");
        assert_eq!(super::told(&json!({"deleted_at": ["2026", null], "version": [1, 2]})), "restored it");
    }
}

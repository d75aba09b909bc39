//! Two people who change one thing: what each changed is looked at field by field.

use maud::{Markup, html};
use ops::Entry;
use serde_json::{Map, Value};

use crate::diff;
use crate::page::{Problem, Shown};
use crate::parts::{PRIORITIES, hidden, link, post};

/// What a form sends along for each field: what it was when the form was made.
pub const BASE: &str = "_base_";

/// The fields that a form sends along as they were.
pub fn base(values: &Map<String, Value>) -> Markup {
    html! { @for (name, value) in values { (hidden(&format!("{BASE}{name}"), &written(value))) } }
}

/// What is to be done about a change that came too late.
pub enum Resolution {
    /// Nobody else touched what was changed here: send this.
    Send(Map<String, Value>),
    /// Both changed the same: the fields, each with theirs and mine.
    Ask(Vec<Clash>),
}

/// A field that both changed.
pub struct Clash {
    /// The argument.
    pub name: String,
    /// What it is now.
    pub theirs: String,
    /// What was typed.
    pub mine: String,
    /// Both changes in one text, where they are in different lines.
    pub merged: Option<String>,
}

/// Compares what was typed with what the form began with and with what is there now.
pub fn resolve(
    mine: &Map<String, Value>,
    base: &Map<String, Value>,
    theirs: &Map<String, Value>,
) -> Resolution {
    let mut send = Map::new();
    let mut clashes = Vec::new();
    for (name, value) in mine {
        let (Some(base), Some(theirs)) = (base.get(name), theirs.get(name)) else {
            send.insert(name.clone(), value.clone());
            continue;
        };
        let (own, before, now) = (written(value), written(base), written(theirs));
        if own == before || own == now {
            continue;
        }
        if before != now {
            let merged = diffy::merge(&before, &own, &now).ok();
            clashes.push(Clash { name: name.clone(), theirs: now, mine: own, merged });
        }
        send.insert(name.clone(), value.clone());
    }
    if clashes.is_empty() { Resolution::Send(send) } else { Resolution::Ask(clashes) }
}

/// Fields whose clashes can be read side by side and put together.
const TEXTS: [&str; 4] = ["title", "description", "rationale", "content"];

/// What is said beside choices that somebody else has made differently, unless there is a text to put together.
pub fn told(clashes: &[Clash]) -> Option<Problem> {
    if clashes.iter().any(|clash| TEXTS.contains(&clash.name.as_str())) {
        return None;
    }
    let now = |clash: &Clash| match (clash.theirs.as_str(), clash.theirs.parse::<usize>()) {
        ("", _) => "nothing".to_owned(),
        (number, Ok(place)) if clash.name == "priority" => {
            PRIORITIES.get(place.wrapping_sub(1)).map_or(number, |name| name).to_owned()
        }
        (theirs, _) => theirs.to_owned(),
    };
    let said = |clash: &Clash| format!("somebody else has changed this to {} meanwhile", now(clash));
    let fields = clashes.iter().map(|clash| (clash.name.clone(), said(clash))).collect();
    let message = "somebody else has changed the same meanwhile".to_owned();
    Some(Problem { status: 409, message, fields, retry_after_s: None })
}

/// A page that shows both, with the own text to go on with.
pub fn ask(
    entry: &Entry,
    (id, reference): (&str, &str),
    version: i64,
    clashes: &[Clash],
    next: &str,
) -> Shown {
    let body = html! {
        div.page {
            h1 { "Somebody else changed " (link(reference)) " meanwhile" }
            p { "Nothing of yours is lost. Look at what differs, change your text where it should follow theirs, and save." }
            (post(entry, next, html! {
                (hidden(id, reference))
                (hidden("expected_version", &version.to_string()))
                @for clash in clashes { (both(clash)) }
                p.actions { button.primary { "Save" } a.quiet href=(next) { "Drop mine" } }
            }))
        }
    };
    Shown { title: format!("{reference} has changed"), project: None, body }
}

/// A field that both changed: what differs, and the text to go on with.
fn both(clash: &Clash) -> Markup {
    let id = format!("mine-{}", clash.name);
    let together = format!("{}\n\n{}", clash.theirs, clash.mine);
    let fills = [("Keep mine", &clash.mine), ("Take theirs", &clash.theirs), ("Both", &together)];
    html! {
        h2 { (clash.name.replace('_', " ")) }
        @match &clash.merged {
            Some(merged) => {
                p.muted { "Both changes fit together. This is what they add to theirs:" }
                p { (diff::words(&clash.theirs, merged)) }
            }
            None => {
                p.muted { "From theirs to yours:" }
                p { (diff::words(&clash.theirs, &clash.mine)) }
            }
        }
        textarea id=(id) name=(clash.name) rows="6" aria-label={ "Your " (clash.name) } { (clash.merged.as_ref().unwrap_or(&clash.mine)) }
        p.actions.scripted-only {
            @for (words, text) in fills { button.quiet type="button" data-fill={ "#" (id) } value=(text) { (words) } }
        }
        (hidden(&format!("{BASE}{}", clash.name), &clash.theirs))
    }
}

/// A value as a form has it.
fn written(value: &Value) -> String {
    match value {
        Value::String(text) => text.replace("\r\n", "\n"),
        Value::Null => String::new(),
        Value::Array(items) => items.iter().map(written).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(value: Value) -> Map<String, Value> {
        match value {
            Value::Object(object) => object,
            _ => Map::new(),
        }
    }

    #[test]
    fn changes_of_other_fields_go_together() {
        let mine =
            object(json!({"title": "New", "description": "text", "priority": 2, "requirement_id": "REQ-1"}));
        let base = object(json!({"title": "Old", "description": "text", "priority": 2}));
        let theirs = object(json!({"title": "Old", "description": "better text", "priority": 2}));
        let Resolution::Send(send) = resolve(&mine, &base, &theirs) else { panic!("both can be had") };
        assert_eq!(Value::Object(send), json!({"title": "New", "requirement_id": "REQ-1"}));
    }

    #[test]
    fn changes_of_different_lines_are_merged() {
        let base = object(json!({"description": "first\n\nsecond\n\nthird"}));
        let mine = object(json!({"description": "FIRST\n\nsecond\n\nthird"}));
        let theirs = object(json!({"description": "first\n\nsecond\n\nTHIRD"}));
        let Resolution::Ask(clashes) = resolve(&mine, &base, &theirs) else {
            panic!("it is shown once more")
        };
        assert_eq!(clashes[0].merged.as_deref(), Some("FIRST\n\nsecond\n\nTHIRD"));
    }

    #[test]
    fn a_choice_that_somebody_else_made_is_told_by_its_name() {
        let clash = |name: &str, theirs: &str| Clash {
            name: name.to_owned(),
            theirs: theirs.to_owned(),
            mine: "x".to_owned(),
            merged: None,
        };
        let told_of =
            |name: &str, theirs: &str| told(&[clash(name, theirs)]).map(|told| told.fields[0].1.clone());
        for (name, theirs, expected) in [
            ("status", "Done", "to Done"),
            ("priority", "1", "to Critical"),
            ("assignee_id", "", "to nothing"),
        ] {
            let said = told_of(name, theirs).expect("a choice");
            assert!(said.contains(&format!("{expected} meanwhile")), "{said}");
        }
        assert_eq!(told_of("title", "Theirs"), None);
    }

    #[test]
    fn changes_of_the_same_field_are_shown() {
        let mine = object(json!({"title": "Mine"}));
        let base = object(json!({"title": "Old"}));
        let Resolution::Ask(clashes) = resolve(&mine, &base, &object(json!({"title": "Theirs"}))) else {
            panic!()
        };
        assert_eq!((clashes[0].theirs.as_str(), clashes[0].mine.as_str()), ("Theirs", "Mine"));
        assert_eq!(clashes[0].merged, None);
        // Both meant the same.
        let Resolution::Send(send) = resolve(&mine, &base, &object(json!({"title": "Mine"}))) else {
            panic!()
        };
        assert!(send.is_empty());
    }
}

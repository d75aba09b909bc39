//! The answer of the operation that reads cited texts, as texts.

use ops::known;
use serde::Deserialize;
use serde_json::{Value, json};
use trace::managed::{Gone, Lookup, ManagedKind, ManagedName, ManagedText, text_of};

/// References that are asked for at once.
const REFERENCES_AT_ONCE: usize = 100;

#[derive(Deserialize)]
struct Answer {
    items: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    text: Option<Text>,
    last: Option<String>,
}

#[derive(Deserialize)]
struct Text {
    project: String,
    title: String,
    description: String,
    content_version: u64,
    version: u64,
    gone: Option<String>,
    earlier: Vec<Wording>,
}

#[derive(Deserialize)]
struct Wording {
    version: u64,
    title: String,
    description: String,
}

/// Asks for requirements, some at a time.
pub fn ask(
    names: &[ManagedName],
    call: &dyn Fn(&'static ops::Entry, Value) -> Result<Value, String>,
) -> Result<Vec<Lookup>, String> {
    let mut found = Vec::with_capacity(names.len());
    for names in names.chunks(REFERENCES_AT_ONCE) {
        let references: Vec<String> = names.iter().map(ManagedName::reference_id).collect();
        let answer = call(known::CITED_TEXTS, json!({"references": references}))?;
        let answer: Answer =
            serde_json::from_value(answer).map_err(|error| format!("its answer cannot be read: {error}"))?;
        if answer.items.len() != names.len() {
            return Err("its answer has another number of texts than it was asked for".to_owned());
        }
        found.extend(names.iter().zip(answer.items).map(|(name, item)| item.lookup(name)));
    }
    Ok(found)
}

impl Item {
    fn lookup(self, name: &ManagedName) -> Lookup {
        let (Some(text), Some(kind)) = (self.text, ManagedKind::of(&name.reference)) else {
            return Lookup::Unknown { nearest: self.last };
        };
        let mut earlier: Vec<(u64, String)> = Vec::new();
        for wording in &text.earlier {
            let said = text_of(&wording.title, &wording.description);
            // A change of the title alone changes nothing that can be quoted.
            if earlier.last().is_none_or(|(_, before)| before != said) {
                earlier.push((wording.version, said.to_owned()));
            }
        }
        let now = text_of(&text.title, &text.description).to_owned();
        if earlier.last().is_some_and(|(_, last)| *last == now) {
            earlier.pop();
        }
        Lookup::Found(ManagedText {
            project: text.project,
            reference: name.reference.clone(),
            kind,
            text: now,
            title: text.title,
            content_version: text.content_version,
            version: text.version,
            gone: text.gone.as_deref().map(|gone| Gone::from_name(gone).unwrap_or(Gone::Obsolete)),
            earlier,
        })
    }
}

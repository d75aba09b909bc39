//! The writing tools. Each returns what an agent needs to continue: the reference, the version and the status.

use mcp::{Failure, FailureKind};
use ops::{Entry, known};
use serde_json::{Value, json};
use store::model::Kind as EntityKind;

use super::read::id_of;
use super::{Arguments, Daily};

/// The names of operations' arguments in these tools.
const NAMES: [(&str, &str); 2] = [("type", "type_id"), ("assignee", "assignee_id")];

impl Daily<'_> {
    pub fn create(&self, mut arguments: Arguments) -> Result<String, Failure> {
        let name = arguments.shift_remove("kind");
        let is_named = |(kind, ..): &&(EntityKind, &Entry, &Entry)| name == Some(json!(kind.name()));
        let Some((kind, create, _)) = known::WRITES.iter().find(is_named) else {
            return Err(Failure::internal());
        };
        if *kind == EntityKind::AcceptanceCriteria {
            // A criterion is a single text.
            let title = arguments.shift_remove("title");
            if let (Some(title), false) = (title, arguments.contains_key("description")) {
                arguments.insert("description".into(), title);
            }
        }
        let parent = arguments.shift_remove("parent");
        let above = match kind {
            EntityKind::Epic | EntityKind::SteeringDocument if parent.is_some() => {
                let problem = format!("unknown here: a {} has none", kind.words());
                return Err(Failure::invalid_argument("parent", &problem));
            }
            EntityKind::UserStory => Some(EntityKind::Epic),
            EntityKind::AcceptanceCriteria | EntityKind::Requirement => Some(EntityKind::UserStory),
            _ => None,
        };
        if let (Some(above), None) = (above, &parent) {
            let problem = format!("is required: the {} that the {} belongs to", above.words(), kind.words());
            return Err(Failure::invalid_argument("parent", &problem));
        }
        let mut renamed = Vec::new();
        if let Some(parent) = parent.as_ref().and_then(Value::as_str) {
            self.managed("parent", parent)?;
            renamed = self.place(*kind, parent, &mut arguments)?;
        }
        self.write(create, arguments, &renamed)
    }

    pub fn update(&self, mut arguments: Arguments) -> Result<String, Failure> {
        let reference = self.reference(&mut arguments)?;
        let kind = self.kind_of(&reference)?;
        let Some((_, _, update)) = known::WRITES.iter().find(|(known, ..)| *known == kind) else {
            let problem = format!("{reference} is a {}, which cannot be changed here", kind.words());
            return Err(Failure::invalid_argument("reference", &problem));
        };
        let mut renamed = Vec::new();
        if let Some(parent) = arguments.shift_remove("parent").as_ref().and_then(Value::as_str) {
            self.managed("parent", parent)?;
            renamed = self.place(kind, parent, &mut arguments)?;
        }
        arguments.insert(id_of(kind), json!(reference));
        renamed.push(("reference", id_of(kind)));
        self.write(update, arguments, &renamed)
    }

    pub fn relate(&self, mut arguments: Arguments) -> Result<String, Failure> {
        let reference = self.reference(&mut arguments)?;
        let text = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (to, kind) = (text("to"), text("type"));
        self.managed("to", &to)?;
        let store = self.store()?;
        if arguments.get("remove") == Some(&json!(true)) {
            let about = json!({ "requirement_id": reference, "limit": 100 });
            let page = store.call(known::LIST_RELATIONSHIPS, about, self.context)?;
            let is_it = |one: &&Value| {
                let is = |name: &str, value: &str| {
                    one[name].as_str().is_some_and(|found| found.eq_ignore_ascii_case(value))
                };
                is("source", &reference) && is("target", &to) && is("type", &kind)
            };
            let found = page["data"].as_array().into_iter().flatten().find(is_it);
            let Some(found) = found else {
                let message = format!("there is no relationship {reference} {kind} {to}");
                return Err(Failure::new(FailureKind::NotFound, message));
            };
            store.call(known::DELETE_RELATIONSHIP, json!({ "id": found["id"] }), self.context)?;
            return Ok(format!("removed {reference} {kind} {to}"));
        }
        let names = [
            ("reference", "source_requirement_id".to_owned()),
            ("to", "target_requirement_id".to_owned()),
            ("type", "relationship_type_id".to_owned()),
        ];
        let about = json!({ "source_requirement_id": reference, "target_requirement_id": to, "relationship_type_id": kind });
        let made = store.call(known::CREATE_RELATIONSHIP, about, self.context);
        let made = made.map_err(|failure| in_our_words(failure, &names))?;
        let field = |name: &str| made[name].as_str().unwrap_or_default().to_owned();
        Ok(format!("{} {} {}", field("source"), field("type"), field("target")))
    }

    pub fn comment(&self, mut arguments: Arguments) -> Result<String, Failure> {
        let reference = self.reference(&mut arguments)?;
        let mut about = json!({ "reference": reference, "content": arguments.get("text") });
        if let Some(quote) = arguments.get("quote") {
            about["quote"] = quote.clone();
        }
        let made = self.store()?.call(known::ADD_COMMENT, about, self.context);
        made.map_err(|failure| in_our_words(failure, &[("text", "content".to_owned())]))?;
        Ok(format!("commented on {reference}"))
    }

    pub fn delete(&self, mut arguments: Arguments) -> Result<String, Failure> {
        let reference = self.reference(&mut arguments)?;
        arguments.insert("reference".into(), json!(reference));
        let gone = self.store()?.call(known::DELETE_ENTITY, Value::Object(arguments), self.context)?;
        let with_it = gone["with_it"].as_object().into_iter().flatten();
        let with_it: Vec<String> = with_it
            .filter(|(_, count)| **count != json!(0))
            .map(|(name, count)| format!("{count} {}", name.replace('_', " ")))
            .collect();
        let verb = if gone["deleted"] == true { "deleted" } else { "would delete" };
        Ok(match with_it.is_empty() {
            true => format!("{verb} {reference}"),
            false => format!("{verb} {reference} with {}", with_it.join(", ")),
        })
    }

    /// Takes the reference to an entity in the store out of the arguments.
    fn reference(&self, arguments: &mut Arguments) -> Result<String, Failure> {
        let Some(Value::String(reference)) = arguments.shift_remove("reference") else {
            return Err(Failure::internal());
        };
        self.managed("reference", &reference)?;
        Ok(reference)
    }

    /// Rejects requirements of specifications, which are not in the store.
    fn managed(&self, argument: &str, reference: &str) -> Result<(), Failure> {
        let Ok(model) = self.model() else { return Ok(()) };
        match self.named(&model, reference) {
            Some(_) => {
                let problem = "names something in a specification or in code, which is changed in its file; \
                               expected a reference such as REQ-027";
                Err(Failure::invalid_argument(argument, problem))
            }
            None => Ok(()),
        }
    }

    /// Sets the parent. Returns the argument's name for errors.
    fn place(
        &self,
        kind: EntityKind,
        parent: &str,
        arguments: &mut Arguments,
    ) -> Result<Vec<(&'static str, String)>, Failure> {
        let above = self.kind_of(parent)?;
        arguments.insert(id_of(above), json!(parent));
        if (kind, above) == (EntityKind::Requirement, EntityKind::AcceptanceCriteria) {
            // It belongs to the story of the criterion.
            let criterion =
                self.store()?.call(known::GET_ENTITY, json!({ "reference": parent }), self.context)?;
            arguments.insert(id_of(EntityKind::UserStory), criterion["user_story"].clone());
        }
        Ok(vec![("parent", id_of(above))])
    }

    /// Runs a writing operation, and reports the result.
    fn write(
        &self,
        entry: &'static Entry,
        mut arguments: Arguments,
        renamed: &[(&'static str, String)],
    ) -> Result<String, Failure> {
        for (ours, theirs) in NAMES {
            if let Some(value) = arguments.shift_remove(ours) {
                arguments.insert(theirs.to_owned(), value);
            }
        }
        let mut names: Vec<(&'static str, String)> =
            NAMES.iter().map(|(ours, theirs)| (*ours, (*theirs).to_owned())).collect();
        names.extend(renamed.iter().cloned());
        let written = self.store()?.call(entry, Value::Object(arguments), self.context);
        let written = written.map_err(|failure| in_our_words(explained(entry, failure), &names))?;
        let mut words = vec![written["reference_id"].as_str().unwrap_or_default().to_owned()];
        words.push(format!("v{}", written["version"]));
        words.extend(written["status"].as_str().map(str::to_owned));
        Ok(words.join(" "))
    }
}

/// Describes a missing argument in its error.
fn explained(entry: &Entry, mut failure: Failure) -> Failure {
    let known = ops::Arguments::new(entry.input_schema());
    for error in failure.errors.iter_mut().filter(|error| error.message == "is required") {
        let Some(property) = known.property(&error.field) else { continue };
        let range = match (&property["minimum"], &property["maximum"]) {
            (Value::Number(minimum), Value::Number(maximum)) => {
                format!(" (an integer from {minimum} to {maximum})")
            }
            _ => String::new(),
        };
        let about = property["description"].as_str().unwrap_or_default().replace('\n', " ");
        error.message = format!("is required{range}. {about}").trim_end().to_owned();
        failure.message = format!("{}: {}", error.field, error.message);
    }
    failure
}

/// An error with the names of arguments in these tools.
fn in_our_words(mut failure: Failure, names: &[(&str, String)]) -> Failure {
    for (ours, theirs) in names {
        failure.message = failure.message.replace(theirs.as_str(), ours);
        for error in &mut failure.errors {
            if error.field == *theirs {
                error.field = (*ours).to_owned();
            }
            error.message = error.message.replace(theirs.as_str(), ours);
        }
    }
    failure
}

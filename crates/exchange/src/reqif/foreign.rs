//! Requirements from other tools. A specification becomes an epic, a chapter a user story, and everything else
//! a requirement of the story above it; unsupported contents are counted and reported.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::read::{File, Identifiers, place};
use super::xml::{Element, Node};
use crate::kind::{RecordKind, plain_name};
use crate::reading::{Draft, Gathering, Given, Value, shown};
use crate::record::Place;

/// How much of a text becomes the title of an object without one.
const TITLE_MAX_CHARS: usize = 100;
/// The fields that an attribute of the same name has in any tool.
const TAKEN_BY_NAME: [&str; 5] = ["title", "description", "priority", "status", "type"];

/// Objects of other tools, before the outline assigns them.
#[derive(Default)]
pub struct Foreign<'a> {
    objects: Vec<Object<'a>>,
    by_identifier: HashMap<&'a str, usize>,
    /// The references of requirements by identifier, for relations.
    requirements: HashMap<&'a str, String>,
    /// How many objects have each unsupported attribute.
    left_out: BTreeMap<String, usize>,
}

struct Object<'a> {
    identifier: &'a str,
    place: Place,
    is_chapter: bool,
    /// By the field that they become; never the reference.
    values: BTreeMap<&'static str, String>,
    foreign_id: Option<String>,
    is_used: bool,
}

/// The story for requirements below, and the epic for stories.
struct Position {
    title: String,
    epic: String,
    story: Option<String>,
}

impl<'a> Foreign<'a> {
    pub fn add_object(&mut self, file: &File<'a>, element: &'a Element) {
        let mut object = Object {
            identifier: element.attribute("IDENTIFIER").unwrap_or_default(),
            place: place(element),
            is_chapter: false,
            values: BTreeMap::new(),
            foreign_id: None,
            is_used: false,
        };
        for value in element.child("VALUES").into_iter().flat_map(Element::elements) {
            let definition = value.referred("DEFINITION").unwrap_or_default();
            let name = file.name(definition).unwrap_or(definition);
            if has_attachment(value) {
                *self.left_out.entry("picture or attached file".to_owned()).or_default() += 1;
            }
            let Some(text) = file.value(value).filter(|text| !text.trim().is_empty()) else {
                continue;
            };
            match name {
                "ReqIF.ForeignID" => object.foreign_id = Some(text),
                "ReqIF.ChapterName" => {
                    object.is_chapter = true;
                    object.values.insert("title", text);
                }
                "ReqIF.Name" => _ = object.values.entry("title").or_insert(text),
                "ReqIF.Text" => _ = object.values.insert("description", text),
                _ => self.take_by_name(name, text, &mut object),
            }
        }
        if let Some(name) = element.attribute("LONG-NAME").filter(|name| !name.trim().is_empty()) {
            object.values.entry("title").or_insert(name.to_owned());
        }
        self.by_identifier.insert(object.identifier, self.objects.len());
        self.objects.push(object);
    }

    /// Uses `Status` as the status if it can be one.
    fn take_by_name(&mut self, name: &str, text: String, object: &mut Object<'a>) {
        let field = RecordKind::Requirement
            .shape()
            .field(&plain_name(name))
            .filter(|field| TAKEN_BY_NAME.contains(&field.name) && !object.values.contains_key(field.name));
        match field {
            Some(field) if crate::Field::parse(field.form, text.clone()).is_ok() => {
                object.values.insert(field.name, text);
            }
            _ => *self.left_out.entry(name.to_owned()).or_default() += 1,
        }
    }

    /// Creates records from all objects, in the order of the specifications.
    pub fn read_outline(
        &mut self,
        file: &File<'a>,
        root: &'a Element,
        identifiers: &Identifiers<'_>,
        reading: &mut Gathering<'_>,
    ) {
        self.forget_ambiguous_ids();
        for specification in file.section("SPECIFICATIONS") {
            let title = specification.attribute("LONG-NAME").or_else(|| header_title(root));
            let identifier = specification.attribute("IDENTIFIER").unwrap_or("specification");
            let mut position = None;
            // In the order of the outline; deeper levels are on top of the stack.
            let mut waiting: Vec<(&Element, Option<String>)> = children(specification, None);
            while let Some((node, story)) = waiting.pop() {
                let named = node.referred("OBJECT");
                if let Some(missing) = named.filter(|named| !identifiers.contains(named)) {
                    let message = format!("it shows {}, which is not in the file", shown(missing));
                    reading.note(&place(node), None, message);
                }
                let object = named.and_then(|object| self.by_identifier.get(object).copied());
                let story = match object.filter(|index| !self.objects[*index].is_used) {
                    Some(index) => {
                        let position = position.get_or_insert_with(|| {
                            start_epic(title, identifier, &place(specification), reading)
                        });
                        self.read_object(index, story, position, reading)
                    }
                    None => story,
                };
                waiting.extend(children(node, story));
            }
        }
        // Objects that no specification contains.
        let mut position = None;
        for index in 0..self.objects.len() {
            if !self.objects[index].is_used {
                let position = position.get_or_insert_with(|| {
                    start_epic(header_title(root), "objects", &Place::line(root.line), reading)
                });
                self.read_object(index, None, position, reading);
            }
        }
    }

    /// Creates a record from an object and returns the story for objects below it.
    fn read_object(
        &mut self,
        index: usize,
        story: Option<String>,
        position: &mut Position,
        reading: &mut Gathering<'_>,
    ) -> Option<String> {
        let object = &mut self.objects[index];
        object.is_used = true;
        if let (None, Some(text)) = (object.values.get("title"), object.values.get("description")) {
            let line = text.lines().next().unwrap_or_default();
            object.values.insert("title", words::cut(line, TITLE_MAX_CHARS).to_owned());
        }
        if !object.values.contains_key("title") {
            reading.note(&object.place, None, "this object was left out: it has neither a name nor a text");
            return story;
        }
        let reference = object.foreign_id.clone().unwrap_or_else(|| object.identifier.to_owned());
        let values = std::mem::take(&mut object.values);
        let mut values: Vec<(&str, String)> = values.into_iter().collect();
        values.push(("reference_id", reference.clone()));
        if object.is_chapter {
            values.retain(|(name, _)| *name != "type");
            values.push(("epic", position.epic.clone()));
            check(RecordKind::UserStory, &object.place, values, reading);
            return Some(reference);
        }
        let story = story.unwrap_or_else(|| position.default_story(&object.place, reading));
        values.push(("user_story", story.clone()));
        check(RecordKind::Requirement, &object.place, values, reading);
        self.requirements.insert(object.identifier, reference);
        Some(story)
    }

    pub fn read_relation(&self, file: &File<'a>, relation: &'a Element, reading: &mut Gathering<'_>) {
        let place = place(relation);
        let end = |tag| relation.referred(tag).and_then(|identifier| self.requirements.get(identifier));
        let (Some(source), Some(target)) = (end("SOURCE"), end("TARGET")) else {
            let message = "this relation was left out: it does not join two requirements of this file";
            return reading.note(&place, None, message);
        };
        let name = relation.referred("TYPE").and_then(|identifier| file.name(identifier));
        let kind = name.map(plain_name).filter(|name| !name.is_empty()).unwrap_or("relates_to".to_owned());
        let values = vec![("source", source.clone()), ("target", target.clone()), ("type", kind)];
        check(RecordKind::Relationship, &place, values, reading);
    }

    pub fn say_what_was_left_out(self, reading: &mut Gathering<'_>) {
        for (name, n_objects) in self.left_out {
            let message = format!("left out (objects that have it: {n_objects}); nothing matches");
            reading.note(&Place::default(), Some(&name), message);
        }
    }

    /// Some tools count from 1 in every document: a duplicate id identifies nothing.
    fn forget_ambiguous_ids(&mut self) {
        let mut seen = HashSet::new();
        let ids = self.objects.iter().filter_map(|object| object.foreign_id.clone());
        let ambiguous: HashSet<String> = ids.filter(|id| !seen.insert(id.clone())).collect();
        for object in &mut self.objects {
            object.foreign_id = object.foreign_id.take().filter(|id| !ambiguous.contains(id));
        }
    }
}

impl Position {
    /// The story for requirements outside of any chapter.
    fn default_story(&mut self, place: &Place, reading: &mut Gathering<'_>) -> String {
        if let Some(story) = &self.story {
            return story.clone();
        }
        let story = format!("{}.story", self.epic);
        let values =
            vec![("reference_id", story.clone()), ("epic", self.epic.clone()), ("title", self.title.clone())];
        check(RecordKind::UserStory, place, values, reading);
        self.story = Some(story.clone());
        story
    }
}

/// Whether XHTML has an `object`, its element for everything that is not text.
fn has_attachment(element: &Element) -> bool {
    element.name == "object" || element.elements().any(has_attachment)
}

fn start_epic(title: Option<&str>, identifier: &str, place: &Place, reading: &mut Gathering<'_>) -> Position {
    let title = title.filter(|title| !title.trim().is_empty()).unwrap_or("Imported requirements").to_owned();
    let values = vec![("reference_id", identifier.to_owned()), ("title", title.clone())];
    check(RecordKind::Epic, place, values, reading);
    Position { title, epic: identifier.to_owned(), story: None }
}

fn check(kind: RecordKind, place: &Place, values: Vec<(&str, String)>, reading: &mut Gathering<'_>) {
    let values = values.into_iter().map(|(name, text)| {
        let value = Value::Spelled(text);
        Given { name: name.to_owned(), value, line: None }
    });
    reading.check(Draft { values: values.collect(), ..Draft::new(place.clone(), kind.name()) });
}

/// The children, the first on top.
fn children(node: &Element, story: Option<String>) -> Vec<(&Element, Option<String>)> {
    let mut below: Vec<_> = node
        .child("CHILDREN")
        .into_iter()
        .flat_map(Element::elements)
        .map(|child| (child, story.clone()))
        .collect();
    below.reverse();
    below
}

fn header_title(root: &Element) -> Option<&str> {
    root.child("THE-HEADER")?.child("REQ-IF-HEADER")?.child("TITLE")?.nodes.iter().find_map(|node| match node
    {
        Node::Text(title) => Some(title.trim()),
        Node::Element(_) => None,
    })
}

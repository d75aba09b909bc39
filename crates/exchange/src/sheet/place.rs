//! Places the rows of a table below epics and user stories: existing ones that they name, or new ones.

use std::collections::{HashMap, HashSet};
use std::io;

use super::Known;
use super::rows::{Item, id_of};
use crate::kind::RecordKind;
use crate::reading::{Draft, Gathering, Given, Value, shown};
use crate::record::Place;

/// The maximal number of steps from a row to its topmost parent. More of them are a cycle.
const STEPS_MAX: usize = 20;
/// The external ids of the parents of rows without one.
const DEFAULT_EPIC: &str = "imported";
const DEFAULT_STORY: &str = "imported.story";

/// Turns rows into records.
pub(super) fn file(
    mut items: Vec<Item>,
    scheme: &str,
    known: Known<'_>,
    reading: &mut Gathering<'_>,
) -> io::Result<()> {
    name_the_nameless(&mut items);
    let names = names(&items);
    let parents: Vec<Option<usize>> =
        (0..items.len()).map(|index| parent_row(&items, &names, index)).collect();
    let stored = stored(&items, &parents, scheme, known)?;
    let kinds = kinds(&items, &parents, &stored);
    let mut filing = Filing { items: &items, parents, kinds, stored, scheme, made: HashSet::new() };
    for index in 0..items.len() {
        if reading.has_failed() {
            break;
        }
        filing.add(index, reading);
    }
    Ok(())
}

/// A row without an id is identified by its title, so that importing the table again finds it.
fn name_the_nameless(items: &mut [Item]) {
    let mut seen: HashMap<String, usize> = HashMap::new();
    for item in items.iter_mut().filter(|item| item.external_id.is_none() && !item.title.is_empty()) {
        let n_before = seen.entry(item.title.clone()).or_default();
        *n_before += 1;
        let number = if *n_before > 1 { format!(" ({n_before})") } else { String::new() };
        item.external_id = Some(id_of(&item.title) + &number);
    }
}

/// The possible names of rows, and their places: external ids, other ids, and titles.
fn names(items: &[Item]) -> [HashMap<String, usize>; 3] {
    let mut names = [HashMap::new(), HashMap::new(), HashMap::new()];
    for (index, item) in items.iter().enumerate() {
        if let Some(id) = &item.external_id {
            names[0].entry(id.clone()).or_insert(index);
        }
        for id in &item.other_ids {
            names[1].entry(id.clone()).or_insert(index);
        }
        names[2].entry(item.title.to_lowercase()).or_insert(index);
    }
    names
}

fn parent_row(items: &[Item], names: &[HashMap<String, usize>; 3], index: usize) -> Option<usize> {
    let find = |name: &String| {
        let by_id = names[0].get(name).or_else(|| names[1].get(name));
        // GitHub and Azure write `#12`.
        let by_number = || name.strip_prefix('#').and_then(|number| names[0].get(number));
        by_id.or_else(by_number).or_else(|| names[2].get(&name.to_lowercase())).copied()
    };
    items[index].parents.iter().find_map(find).filter(|parent| *parent != index)
}

/// The stored entities that the table may refer to.
fn stored(
    items: &[Item],
    parents: &[Option<usize>],
    scheme: &str,
    known: Known<'_>,
) -> io::Result<HashMap<String, RecordKind>> {
    let mut wanted: HashSet<String> = [DEFAULT_EPIC, DEFAULT_STORY].map(str::to_owned).into();
    for (item, parent) in items.iter().zip(parents) {
        wanted.extend(item.external_id.iter().filter(|_| item.kind.is_none()).cloned());
        wanted.extend(
            item.external_id.iter().filter(|_| item.kind == Some(RecordKind::Epic)).map(|id| story_of(id)),
        );
        if parent.is_none() {
            wanted.extend(item.parents.iter().flat_map(|name| [name.clone(), story_of(name)]));
        }
        wanted.extend(item.epic.iter().flat_map(|title| [named_epic(title), story_of(&named_epic(title))]));
        wanted.extend(item.user_story.as_deref().map(named_story));
    }
    let mut wanted: Vec<String> = wanted.into_iter().collect();
    wanted.sort();
    let found = known(scheme, &wanted)?;
    Ok(wanted.into_iter().zip(found).filter_map(|(id, kind)| Some((id, kind?))).collect())
}

/// The kind of each row: by its type, by the stored entity, or by its children.
fn kinds(items: &[Item], parents: &[Option<usize>], stored: &HashMap<String, RecordKind>) -> Vec<RecordKind> {
    let mut heights = vec![0_usize; items.len()];
    for index in 0..items.len() {
        let (mut at, mut height) = (index, 0);
        while let Some(parent) = parents[at].filter(|_| height < STEPS_MAX) {
            height += 1;
            heights[parent] = heights[parent].max(height);
            at = parent;
        }
    }
    let by_height = |height: usize| match height {
        0 => RecordKind::Requirement,
        1 => RecordKind::UserStory,
        _ => RecordKind::Epic,
    };
    let kind = |(item, height): (&Item, &usize)| {
        let stored = item.external_id.as_ref().and_then(|id| stored.get(id));
        // A type that is not the name of a kind is a requirement's type.
        let has_type = item.fields.iter().any(|(name, _)| *name == "type");
        let guessed = if has_type { RecordKind::Requirement } else { by_height(*height) };
        item.kind.or(stored.copied()).unwrap_or(guessed)
    };
    items.iter().zip(&heights).map(kind).collect()
}

/// The story for requirements that belong to an epic.
fn story_of(epic: &str) -> String {
    format!("{epic}.story")
}

/// The epic that a column names by its title.
fn named_epic(title: &str) -> String {
    id_of(&format!("epic: {title}"))
}

/// The story that a column names by its title.
fn named_story(title: &str) -> String {
    id_of(&format!("story: {title}"))
}

struct Filing<'a> {
    items: &'a [Item],
    parents: Vec<Option<usize>>,
    kinds: Vec<RecordKind>,
    stored: HashMap<String, RecordKind>,
    scheme: &'a str,
    /// The epics and stories that were created for rows.
    made: HashSet<String>,
}

/// The parent of a row.
enum Above {
    Epic { id: String, title: String },
    Story(String),
    Nothing,
}

impl Filing<'_> {
    fn add(&mut self, index: usize, reading: &mut Gathering<'_>) {
        let (item, kind) = (&self.items[index], self.kinds[index]);
        let mut values: Vec<(&str, String)> = item.fields.clone();
        if kind != RecordKind::Requirement {
            values.retain(|(name, _)| *name != "type");
        }
        let above = self.above(index, reading);
        match kind {
            RecordKind::UserStory => values.push(("epic", self.epic(above, item, reading))),
            RecordKind::Requirement | RecordKind::AcceptanceCriteria => {
                values.push(("user_story", self.story(above, item, reading)));
            }
            _ => {}
        }
        if kind == RecordKind::AcceptanceCriteria {
            values.retain(|(name, _)| matches!(*name, "description" | "rationale" | "labels" | "user_story"));
            if !values.iter().any(|(name, _)| *name == "description") && !item.title.is_empty() {
                values.push(("description", item.title.clone()));
            }
        } else if !item.title.is_empty() {
            values.push(("title", item.title.clone()));
        }
        if kind == RecordKind::SteeringDocument {
            values.retain(|(name, _)| matches!(*name, "title" | "description" | "labels"));
        }
        values.extend(item.external_id.iter().map(|id| ("aliases", self.name(id))));
        check(kind, &item.place, item.is_sound, values, reading);
    }

    /// The parent of a row, if the table or the store has it.
    fn above(&self, index: usize, reading: &mut Gathering<'_>) -> Above {
        let item = &self.items[index];
        let mut at = index;
        for _ in 0..STEPS_MAX {
            let Some(parent) = self.parents[at] else { break };
            let found = &self.items[parent];
            match (self.kinds[parent], &found.external_id) {
                (RecordKind::Epic, Some(id)) => {
                    return Above::Epic { id: id.clone(), title: found.title.clone() };
                }
                (RecordKind::UserStory, Some(id)) if self.kinds[index] != RecordKind::UserStory => {
                    return Above::Story(id.clone());
                }
                _ => at = parent,
            }
        }
        for name in &self.items[at].parents {
            match self.stored.get(name) {
                Some(RecordKind::Epic) => return Above::Epic { id: name.clone(), title: name.clone() },
                Some(RecordKind::UserStory) if self.kinds[index] != RecordKind::UserStory => {
                    return Above::Story(name.clone());
                }
                _ => {}
            }
        }
        if let Some(name) = item
            .parents
            .first()
            .filter(|_| self.parents[index].is_none() && self.kinds[index] != RecordKind::Epic)
        {
            let message =
                format!("{} is neither in the table nor here, so the row is filed without it", shown(name));
            reading.note(&item.place, Some("parent"), message);
        }
        let named = |title: &Option<String>| title.clone().filter(|title| !title.is_empty());
        match (named(&item.epic), named(&item.user_story)) {
            (_, Some(story)) if self.kinds[index] != RecordKind::UserStory => {
                Above::Story(named_story(&story))
            }
            (Some(epic), _) => Above::Epic { id: named_epic(&epic), title: epic },
            _ => Above::Nothing,
        }
    }

    /// The epic of a row, created if it is missing.
    fn epic(&mut self, above: Above, item: &Item, reading: &mut Gathering<'_>) -> String {
        match above {
            Above::Epic { id, title } => {
                if item.epic.as_ref().is_some_and(|epic| named_epic(epic) == id) {
                    self.make(RecordKind::Epic, &id, &title, None, item, reading);
                }
                self.name(&id)
            }
            _ => {
                let title = self.default_title();
                self.make(RecordKind::Epic, DEFAULT_EPIC, &title, None, item, reading);
                self.name(DEFAULT_EPIC)
            }
        }
    }

    /// The user story of a row, created if it is missing.
    fn story(&mut self, above: Above, item: &Item, reading: &mut Gathering<'_>) -> String {
        let (id, title) = match &above {
            Above::Story(id) => match &item.user_story {
                Some(title) if named_story(title) == *id => (id.clone(), title.clone()),
                _ => return self.name(id),
            },
            Above::Epic { id, title } => (story_of(id), title.clone()),
            Above::Nothing => (DEFAULT_STORY.to_owned(), self.default_title()),
        };
        if !self.is_there(&id) {
            let of_story = || item.epic.clone().map(|title| Above::Epic { id: named_epic(&title), title });
            let above =
                if let Above::Story(_) = above { of_story().unwrap_or(Above::Nothing) } else { above };
            let epic = self.epic(above, item, reading);
            self.make(RecordKind::UserStory, &id, &title, Some(epic), item, reading);
        }
        self.name(&id)
    }

    fn is_there(&self, id: &str) -> bool {
        self.made.contains(id) || self.stored.contains_key(id)
    }

    fn make(
        &mut self,
        kind: RecordKind,
        id: &str,
        title: &str,
        epic: Option<String>,
        item: &Item,
        reading: &mut Gathering<'_>,
    ) {
        if self.is_there(id) {
            return;
        }
        self.made.insert(id.to_owned());
        let mut values = vec![("title", title.to_owned()), ("aliases", self.name(id))];
        values.extend(epic.map(|epic| ("epic", epic)));
        let what = if kind == RecordKind::Epic { "epic" } else { "user story" };
        let place = Place {
            item: Some(format!("{what} of {}", item.place.item.as_deref().unwrap_or("the table"))),
            ..item.place
        };
        check(kind, &place, true, values, reading);
    }

    fn default_title(&self) -> String {
        format!("Imported from {}", self.scheme)
    }

    fn name(&self, id: &str) -> String {
        format!("{}:{id}", self.scheme)
    }
}

fn check(
    kind: RecordKind,
    place: &Place,
    is_sound: bool,
    values: Vec<(&str, String)>,
    reading: &mut Gathering<'_>,
) {
    let given = |(name, text): (&str, String)| Given {
        name: name.to_owned(),
        value: Value::Spelled(text),
        line: None,
    };
    let draft = Draft {
        values: values.into_iter().map(given).collect(),
        is_sound,
        ..Draft::new(place.clone(), kind.name())
    };
    reading.check(draft);
}

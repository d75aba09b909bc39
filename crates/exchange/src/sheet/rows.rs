//! The rows of a table, read by its columns.

use std::collections::BTreeMap;

use super::cells::HEADER_ROWS_MAX;
use super::guess::{Columns, Mapping, Target};
use super::values::{self, Understood};
use crate::csv::COLUMNS_MAX;
use crate::kind::RecordKind;
use crate::reading::{Gathering, shown};
use crate::record::Place;

/// A row, read as far as possible without the other rows.
#[derive(Debug, Default)]
pub(super) struct Item {
    pub place: Place,
    pub is_sound: bool,
    /// What its type says it is.
    pub kind: Option<RecordKind>,
    pub title: String,
    pub external_id: Option<String>,
    pub other_ids: Vec<String>,
    /// Its possible parents, the best first.
    pub parents: Vec<String>,
    pub epic: Option<String>,
    pub user_story: Option<String>,
    /// The other fields of the record.
    pub fields: Vec<(&'static str, String)>,
    /// The cells of the first rows, for a preview.
    pub cells: Vec<String>,
}

/// Collects rows.
pub(super) struct Rows<'m> {
    mapping: &'m Mapping,
    /// Rows before the names of the columns were found.
    waiting: Vec<(Place, Vec<String>, bool)>,
    columns: Option<Columns>,
    items: Vec<Item>,
    /// How many rows have a value in each column that is left out.
    left_out: BTreeMap<usize, usize>,
    is_refused: bool,
    /// Whether a title column is required. A preview works without one, so that it can be chosen.
    needs_title: bool,
}

impl<'m> Rows<'m> {
    pub fn new(mapping: &'m Mapping, needs_title: bool) -> Rows<'m> {
        let (waiting, items, left_out) = (Vec::new(), Vec::new(), BTreeMap::new());
        Rows { mapping, waiting, columns: None, items, left_out, is_refused: false, needs_title }
    }

    pub fn has_header(&self) -> bool {
        self.columns.is_some()
    }

    /// Takes a row. Returns whether to continue.
    pub fn add(
        &mut self,
        reading: &mut Gathering<'_>,
        place: Place,
        cells: Vec<String>,
        is_sound: bool,
    ) -> bool {
        if cells.iter().all(|cell| cell.trim().is_empty()) {
            return true;
        }
        if self.columns.is_some() {
            self.read(reading, place, cells, is_sound);
            return true;
        }
        let (has_title, n_known) = Columns::sense(&cells, self.mapping);
        self.waiting.push((place, cells, is_sound));
        if has_title && (n_known > 1 || self.waiting.len() == 1) || self.waiting.len() == HEADER_ROWS_MAX {
            self.begin(reading);
        }
        !self.is_refused
    }

    /// Chooses the row that fits best as the names of the columns.
    fn begin(&mut self, reading: &mut Gathering<'_>) {
        let sense = |index: &usize| {
            let (_, cells, _) = &self.waiting[*index];
            (Columns::sense(cells, self.mapping), std::cmp::Reverse(*index))
        };
        let Some(header) = (0..self.waiting.len()).max_by_key(sense) else { return };
        let mut rest = self.waiting.split_off(header);
        let below = rest.split_off(1);
        let Some((place, names, _)) = rest.pop() else { return };
        for (place, cells, _) in std::mem::take(&mut self.waiting) {
            let text = cells.into_iter().find(|cell| !cell.trim().is_empty()).unwrap_or_default();
            reading.note(
                &place,
                None,
                format!("left out: {} is above the names of the columns", shown(&text)),
            );
        }
        if names.len() > COLUMNS_MAX {
            let message = format!("expected at most {COLUMNS_MAX} columns, found {}", names.len());
            reading.problem(&place, None, message);
            self.is_refused = true;
            return;
        }
        match Columns::new(names, self.mapping, self.needs_title) {
            Ok(columns) => self.columns = Some(columns),
            Err(problems) => {
                problems.into_iter().for_each(|problem| reading.problem(&place, None, problem));
                self.is_refused = true;
                return;
            }
        }
        for (place, cells, is_sound) in below {
            self.read(reading, place, cells, is_sound);
        }
    }

    fn read(&mut self, reading: &mut Gathering<'_>, place: Place, cells: Vec<String>, is_sound: bool) {
        let Some(columns) = &self.columns else { return };
        let shown_cells = if self.items.len() < HEADER_ROWS_MAX { cells.clone() } else { Vec::new() };
        let mut item = Item { place, is_sound, cells: shown_cells, ..Item::default() };
        let mut texts: BTreeMap<Target, Vec<(usize, &str)>> = BTreeMap::new();
        for (index, target) in columns.targets().enumerate() {
            let text = cells.get(index).map_or("", |cell| cell.trim());
            match target {
                _ if text.is_empty() => {}
                Some(target) => texts.entry(target).or_default().push((index, text)),
                None => *self.left_out.entry(index).or_default() += 1,
            }
        }
        for (target, texts) in texts {
            let first = texts[0];
            match target {
                Target::Title => item.title = words_of(first.1),
                Target::Description => {
                    let texts: Vec<&str> = texts.iter().map(|(_, text)| *text).collect();
                    item.fields.push(("description", texts.join("\n\n")));
                }
                Target::Labels => {
                    let labels = texts.iter().flat_map(|(_, text)| text.split([',', ';']));
                    let mut seen: Vec<&str> = Vec::new();
                    for label in labels.map(str::trim).filter(|label| !label.is_empty()) {
                        if !seen.contains(&label) {
                            seen.push(label);
                        }
                    }
                    item.fields.push(("labels", seen.join(", ")));
                }
                Target::Priority => {
                    let number = read_priority(columns.name(first.0), first.1, &item.place, reading);
                    item.fields.extend(number.map(|number| ("priority", number.to_string())));
                }
                Target::Type => {
                    item.kind = texts.iter().find_map(|(_, text)| values::kind(text));
                    let other = texts.iter().find(|(_, text)| values::kind(text).is_none());
                    item.fields.extend(other.map(|(_, text)| ("type", (*text).to_owned())));
                }
                Target::Rationale | Target::Status | Target::Assignee => {
                    item.fields.push((target.name(), first.1.to_owned()));
                }
                Target::ExternalId => item.external_id = Some(id_of(first.1)),
                Target::OtherId => item.other_ids = texts.iter().map(|(_, text)| id_of(text)).collect(),
                Target::Parent => item.parents = texts.iter().map(|(_, text)| id_of(text)).collect(),
                Target::Epic => item.epic = Some(words_of(first.1)),
                Target::UserStory => item.user_story = Some(words_of(first.1)),
            }
        }
        if let Some(text) =
            cells.get(columns.names().count()..).into_iter().flatten().find(|cell| !cell.trim().is_empty())
        {
            let message =
                format!("expected {} cells, found one more: {}", columns.names().count(), shown(text));
            reading.problem(&item.place, None, message);
            item.is_sound = false;
        }
        self.items.push(item);
    }

    /// The columns and the rows; none if it is not a table.
    pub fn finish(mut self, reading: &mut Gathering<'_>) -> Option<(Columns, Vec<Item>)> {
        if self.columns.is_none() && !self.is_refused {
            self.begin(reading);
        }
        let columns = self.columns?;
        for (index, n_rows) in self.left_out {
            let message = format!("left out (rows that have it: {n_rows}); no field matches");
            reading.note(&Place::default(), Some(columns.name(index)), message);
        }
        Some((columns, self.items))
    }
}

fn read_priority(column: &str, text: &str, place: &Place, reading: &mut Gathering<'_>) -> Option<i64> {
    match values::priority(text) {
        Understood::As(number) => Some(number),
        Understood::Nearly(number, word) => {
            reading.note(place, Some(column), format!("{} was taken for {word:?}", shown(text)));
            Some(number)
        }
        Understood::Nothing => None,
        Understood::Unknown => {
            let expected = "expected 1 to 4, or a word such as Critical, High, Medium, Low";
            reading.note(place, Some(column), format!("left out: {expected}, found {}", shown(text)));
            None
        }
    }
}

/// A text on one line.
pub(super) fn words_of(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The longest external id.
const ID_MAX_CHARS: usize = 200;

/// A text as the name of something.
pub(super) fn id_of(text: &str) -> String {
    words::cut(&words_of(text), ID_MAX_CHARS).to_owned()
}

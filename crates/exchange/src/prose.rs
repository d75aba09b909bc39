//! Plain Markdown written without a tool: headings become epics and user stories, list items and sentences with
//! keywords become requirements, and the rest describes the heading above it.

use std::collections::HashSet;
use std::io::{self, Read};

use crate::kind::RecordKind;
use crate::markdown::has_records;
use crate::reading::{Draft, Gathering, Given, Reading, Value};
use crate::record::{Place, Record};
use crate::text;

/// The longest title made from a text.
const TITLE_MAX_CHARS: usize = 200;
/// How much of a title is part of an external id.
const SLUG_MAX_CHARS: usize = 60;
/// The keywords of RFC 2119 that state a requirement.
const DEMANDS: [&str; 3] = ["MUST", "SHALL", "REQUIRED"];

/// Whether a text is plain Markdown, not one of our exports.
pub fn is_prose(text: &str) -> bool {
    !has_records(text)
}

/// Reads plain Markdown. `scheme` is the scheme of the external ids by which items are matched again.
pub fn read_prose(
    input: &mut dyn Read,
    scheme: &str,
    each: &mut dyn FnMut(Record, bool) -> io::Result<()>,
) -> io::Result<Reading> {
    let mut reading = Gathering::new(each);
    let mut bytes = Vec::new();
    input.read_to_end(&mut bytes)?;
    match text::text(&bytes) {
        Ok(text) => {
            let blocks = blocks(&text.replace("\r\n", "\n"));
            let mut outline = Outline::new(scheme, &blocks);
            blocks.into_iter().for_each(|block| outline.add(block));
            outline.finish(&mut reading);
        }
        Err((line, message)) => reading.problem(&Place::line(line), None, message),
    }
    reading.finish()
}

/// A part of a text.
struct Block {
    line: u64,
    what: What,
    text: String,
}

#[derive(Clone, Copy, PartialEq)]
enum What {
    Heading(usize),
    Item,
    Paragraph,
}

/// The parts of a text. Fenced code belongs to the paragraph or list item that contains it.
fn blocks(text: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut is_open = false;
    let mut fence: Option<&str> = None;
    let lines: Vec<&str> = text.split('\n').collect();
    let mut index = front_matter(&lines);
    while index < lines.len() {
        let (line, number) = (lines[index], index as u64 + 1);
        index += 1;
        let trimmed = line.trim();
        let is_within_item =
            line.starts_with([' ', '\t']) && matches!(blocks.last(), Some(Block { what: What::Item, .. }));
        let marker = ["```", "~~~"].into_iter().find(|marker| trimmed.starts_with(marker));
        if fence.is_some() || marker.is_some() {
            let is_end = fence.is_some_and(|fence| trimmed.starts_with(fence));
            if fence.is_none() && !is_open && !is_within_item {
                blocks.push(Block { line: number, what: What::Paragraph, text: String::new() });
            }
            (fence, is_open) = (if fence.is_some() { fence.filter(|_| !is_end) } else { marker }, true);
            append(&mut blocks, line);
        } else if trimmed.is_empty() {
            is_open = false;
            if let Some(Block { what: What::Item, text, .. }) = blocks.last_mut() {
                text.push('\n');
            }
        } else if let Some((level, title)) = heading(trimmed).filter(|_| !line.starts_with("    ")) {
            is_open = false;
            blocks.push(Block { line: number, what: What::Heading(level), text: title.to_owned() });
        } else if let (Some(level), true) =
            (lines.get(index).and_then(|next| underline(next)), !is_open && item(trimmed).is_none())
        {
            blocks.push(Block { line: number, what: What::Heading(level), text: trimmed.to_owned() });
            index += 1;
        } else if let (Some(text), false) = (item(trimmed), is_within_item) {
            is_open = true;
            blocks.push(Block { line: number, what: What::Item, text: text.to_owned() });
        } else if is_open || is_within_item {
            append(&mut blocks, line);
        } else if !is_rule(trimmed) {
            is_open = true;
            blocks.push(Block { line: number, what: What::Paragraph, text: line.to_owned() });
        }
    }
    blocks
}

/// The number of lines at the beginning that are front matter.
fn front_matter(lines: &[&str]) -> usize {
    match lines.first() {
        Some(&"---") => lines.iter().skip(1).position(|line| *line == "---").map_or(0, |end| end + 2),
        _ => 0,
    }
}

fn append(blocks: &mut [Block], line: &str) {
    if let Some(block) = blocks.last_mut() {
        if !block.text.is_empty() {
            block.text.push('\n');
        }
        block.text.push_str(line);
    }
}

fn heading(line: &str) -> Option<(usize, &str)> {
    let level = line.bytes().take_while(|byte| *byte == b'#').count();
    let rest = &line[level..];
    let title = rest.trim().trim_end_matches('#').trim();
    ((1..=6).contains(&level) && rest.starts_with([' ', '\t']) && !title.is_empty()).then_some((level, title))
}

/// The level of the heading that a line of `===` or `---` makes from the line above it.
fn underline(line: &str) -> Option<usize> {
    let line = line.trim_end();
    let is_all = |mark: char| line.len() >= 3 && line.chars().all(|char| char == mark);
    if is_all('=') { Some(1) } else { is_all('-').then_some(2) }
}

fn is_rule(line: &str) -> bool {
    let mut marks = line.chars().filter(|char| !char.is_whitespace());
    let first = marks.next();
    first.is_some_and(|first| "-*_".contains(first))
        && marks.clone().count() >= 2
        && marks.all(|mark| Some(mark) == first)
}

/// The text of a list item, without its marker and checkbox.
fn item(line: &str) -> Option<&str> {
    let rest = line.strip_prefix(['-', '*', '+']).or_else(|| {
        let digits = line.bytes().take_while(u8::is_ascii_digit).count();
        (1..=9).contains(&digits).then(|| line[digits..].strip_prefix(['.', ')'])).flatten()
    })?;
    let text = rest.strip_prefix([' ', '\t']).filter(|_| !is_rule(line))?.trim();
    let text = ["[ ] ", "[x] ", "[X] "].into_iter().find_map(|mark| text.strip_prefix(mark)).unwrap_or(text);
    (!text.is_empty()).then_some(text)
}

/// An item under construction.
struct Node {
    kind: RecordKind,
    place: Place,
    title: String,
    /// The text below its title.
    text: String,
    external_id: String,
    above: Option<usize>,
}

/// Headings and the items found below them.
struct Outline<'s> {
    scheme: &'s str,
    /// The level of the headings that are epics. Headings above it are titles of the document.
    epic_level: usize,
    nodes: Vec<Node>,
    epic: Option<usize>,
    story: Option<usize>,
    /// The heading that gave the story its title, if it is not deeper than those of stories.
    story_title: Option<String>,
    /// Whether list items are criteria now.
    lists_criteria: bool,
    taken: HashSet<String>,
    left_out: Vec<Place>,
}

impl<'s> Outline<'s> {
    fn new(scheme: &'s str, blocks: &[Block]) -> Outline<'s> {
        let levels: Vec<usize> = blocks
            .iter()
            .filter_map(|block| match block.what {
                What::Heading(level) if !is_about_criteria(&block.text) => Some(level),
                _ => None,
            })
            .collect();
        let mut used: Vec<usize> = levels.clone();
        used.sort_unstable();
        used.dedup();
        // A single heading above two levels of others is the title of the document.
        let has_title = used.len() > 2 && levels.iter().filter(|level| **level == used[0]).count() == 1;
        let epic_level = used.get(usize::from(has_title)).copied().unwrap_or(1);
        let (nodes, taken, left_out) = (Vec::new(), HashSet::new(), Vec::new());
        Outline {
            scheme,
            epic_level,
            nodes,
            epic: None,
            story: None,
            story_title: None,
            lists_criteria: false,
            taken,
            left_out,
        }
    }

    fn add(&mut self, block: Block) {
        let place = Place::line(block.line);
        match block.what {
            What::Heading(_) if is_about_criteria(&block.text) => self.lists_criteria = true,
            What::Heading(level) => {
                self.lists_criteria = false;
                self.add_heading(level, &block.text, place);
            }
            What::Paragraph if is_about_criteria(block.text.trim_end_matches(':')) => {
                self.lists_criteria = true
            }
            What::Item if self.lists_criteria => {
                self.add_demand(RecordKind::AcceptanceCriteria, &block.text, place)
            }
            What::Item => self.add_demand(RecordKind::Requirement, &block.text, place),
            What::Paragraph if demands(&block.text) => {
                self.add_demand(RecordKind::Requirement, &block.text, place)
            }
            What::Paragraph => match self.story.or(self.epic) {
                Some(node) => {
                    let text = &mut self.nodes[node].text;
                    *text = if text.is_empty() { block.text } else { format!("{text}\n\n{}", block.text) };
                }
                None => self.left_out.push(place),
            },
        }
    }

    fn add_heading(&mut self, level: usize, title: &str, place: Place) {
        if level < self.epic_level {
            (self.epic, self.story) = (None, None);
        } else if level == self.epic_level {
            self.epic = Some(self.push(RecordKind::Epic, title, None, place));
            self.story = None;
        } else {
            let epic = self.some_epic(&place);
            let is_deeper = level > self.epic_level + 1;
            // A deeper heading is a separate story, which records its parents.
            let title = match self.story_title.as_ref().filter(|_| is_deeper && self.story.is_some()) {
                Some(above) => format!("{above}: {title}"),
                None => {
                    self.story_title = Some(title.to_owned());
                    title.to_owned()
                }
            };
            self.story = Some(self.push(RecordKind::UserStory, &title, Some(epic), place));
        }
    }

    fn some_epic(&mut self, place: &Place) -> usize {
        match self.epic {
            Some(epic) => epic,
            None => {
                let epic = self.push(RecordKind::Epic, "Imported requirements", None, place.clone());
                self.epic = Some(epic);
                epic
            }
        }
    }

    /// Adds a requirement or a criterion.
    fn add_demand(&mut self, kind: RecordKind, text: &str, place: Place) {
        let story = match self.story {
            Some(story) => story,
            None => {
                let epic = self.some_epic(&place);
                let title = self.nodes[epic].title.clone();
                let story = self.push(RecordKind::UserStory, &title, Some(epic), place.clone());
                (self.story, self.story_title) = (Some(story), None);
                story
            }
        };
        let (id, text) = own_id(text);
        let title = first_sentence(text);
        let node = self.push(kind, &title, Some(story), place);
        if let Some(id) = id.filter(|id| self.taken.insert(id.clone())) {
            self.nodes[node].external_id = id;
        }
        if text.trim() != title || kind == RecordKind::AcceptanceCriteria {
            self.nodes[node].text = text.trim().to_owned();
        }
    }

    fn push(&mut self, kind: RecordKind, title: &str, above: Option<usize>, place: Place) -> usize {
        let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
        let path = above.map(|above| self.nodes[above].external_id.clone() + "/").unwrap_or_default();
        let name = format!("{path}{}", slug(&title));
        let numbered = (2..).map(|number| format!("{name}-{number}"));
        let mut names = std::iter::once(name.clone()).chain(numbered);
        let external_id = names.find(|name| !self.taken.contains(name)).unwrap_or(name);
        self.taken.insert(external_id.clone());
        self.nodes.push(Node { kind, place, title, text: String::new(), external_id, above });
        self.nodes.len() - 1
    }

    fn finish(self, reading: &mut Gathering<'_>) {
        if self.nodes.is_empty() {
            reading.problem(&Place::line(1), None, "expected headings and lists, found neither");
        }
        for place in &self.left_out {
            reading.note(place, None, "this paragraph was left out: it is below neither an epic nor a story");
        }
        let name = |id: &str| format!("{}:{id}", self.scheme);
        for node in &self.nodes {
            let mut values = vec![("aliases", name(&node.external_id))];
            if node.kind != RecordKind::AcceptanceCriteria {
                values.push(("title", words::cut(&node.title, TITLE_MAX_CHARS).to_owned()));
            }
            if !node.text.is_empty() {
                values.push(("description", node.text.clone()));
            }
            let field = if node.kind == RecordKind::UserStory { "epic" } else { "user_story" };
            values.extend(node.above.map(|above| (field, name(&self.nodes[above].external_id))));
            let given = values.into_iter().map(|(name, text)| Given {
                name: name.to_owned(),
                value: Value::Spelled(text),
                line: None,
            });
            reading
                .check(Draft { values: given.collect(), ..Draft::new(node.place.clone(), node.kind.name()) });
        }
    }
}

fn is_about_criteria(text: &str) -> bool {
    matches!(
        crate::kind::plain_name(text).as_str(),
        "acceptance_criteria" | "acceptance_criterion" | "acceptance"
    )
}

fn demands(text: &str) -> bool {
    text.split(|char: char| !char.is_alphabetic()).any(|word| DEMANDS.contains(&word))
}

/// The id at the start of a text, such as `SYS-12: …` or `**[SYS-12]** …`, and the rest.
fn own_id(text: &str) -> (Option<String>, &str) {
    let inner = text.trim_start_matches(['*', '[', '_', '`']);
    let end = inner
        .find(|char: char| !(char.is_ascii_alphanumeric() || "-_.".contains(char)))
        .unwrap_or(inner.len());
    let id = inner[..end].trim_end_matches('.');
    let rest = inner[id.len()..].trim_start_matches(['*', ']', '_', '`', ':', ' ', '.', '–', '—']);
    let is_marked = inner.len() < text.len() || inner[id.len()..].starts_with(':');
    let is_id = id.starts_with(|first: char| first.is_ascii_uppercase())
        && id.rsplit_once(['-', '_']).is_some_and(|(_, number)| {
            number.bytes().all(|byte| byte.is_ascii_digit()) && !number.is_empty()
        });
    if is_marked && is_id && !rest.is_empty() { (Some(id.to_owned()), rest) } else { (None, text) }
}

/// The first sentence of the first line, for use as a title.
fn first_sentence(text: &str) -> String {
    let paragraph = text.split("\n\n").next().unwrap_or_default();
    let lines = paragraph.lines().take_while(|line| item(line.trim()).is_none());
    let line = lines.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ");
    let line = if line.is_empty() { text.split_whitespace().collect::<Vec<_>>().join(" ") } else { line };
    let end = line.find(". ").map_or(line.len(), |end| end + 1);
    words::cut(&line[..end], TITLE_MAX_CHARS).to_owned()
}

/// A title as part of an external id.
fn slug(title: &str) -> String {
    let folded = words::name::fold(title);
    let words = folded.split(|char: char| !char.is_alphanumeric()).filter(|word| !word.is_empty());
    let slug = words.collect::<Vec<_>>().join("-");
    let slug = words::cut(&slug, SLUG_MAX_CHARS).trim_end_matches('-').to_owned();
    if slug.is_empty() { "untitled".to_owned() } else { slug }
}

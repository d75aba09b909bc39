//! Finds the requirements of a specification: the sentences with MUST, SHOULD, MAY and their like.

use std::collections::HashMap;
use std::fmt::Write as _;

use crate::annotation::Level;
use crate::quote::normalize;
use crate::specification::{Line, Section, Specification};

/// A sentence that requires something.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Requirement<'a> {
    /// The line of the section, and the byte in it, where the sentence starts.
    start: (usize, usize),
    /// How binding it is.
    pub level: Level,
    /// Its lines, without the blanks around them.
    pub lines: Vec<&'a str>,
}

/// The keywords, and what may stand before or after them.
const KEYWORDS: &[(&str, &str, &str, Level)] = &[
    ("", "MUST", " NOT", Level::Must),
    ("", "SHALL", " NOT", Level::Must),
    ("", "REQUIRED", "", Level::Must),
    ("", "SHOULD", " NOT", Level::Should),
    ("NOT ", "RECOMMENDED", "", Level::Should),
    ("", "MAY", "", Level::May),
    ("", "OPTIONAL", "", Level::May),
];

/// Finds the requirements of a section, in its order. The same sentence twice is one, of the higher level.
pub fn requirements<'a>(spec: &'a Specification, section: &Section) -> Vec<Requirement<'a>> {
    let lines: Vec<Option<&str>> = section
        .lines
        .iter()
        .map(|line| match line {
            Line::Text(span) => Some(span.of_text(&spec.text)),
            Line::Break => None,
        })
        .collect();
    let mut found: HashMap<String, Requirement<'a>> = HashMap::new();
    for (number, line) in lines.iter().enumerate() {
        let Some(line) = line.filter(|line| may_require(line)) else {
            continue;
        };
        for (before, word, after, level) in KEYWORDS {
            for (start, end) in occurrences(line, before, word, after) {
                // A keyword right before a quotation mark is being defined.
                if line[end..].starts_with('"') {
                    continue;
                }
                let from = open(&lines, number, start);
                let quote = between(&lines, from, close(&lines, number, end));
                let new = Requirement { start: from, level: *level, lines: quote };
                found
                    .entry(normalize::normalize(&new.lines.join("\n")))
                    .and_modify(|known| known.level = known.level.max(*level))
                    .or_insert(new);
            }
        }
    }
    let mut found: Vec<Requirement<'_>> = found.into_values().collect();
    found.sort();
    found
}

/// A quick look: each keyword has one of these.
fn may_require(line: &str) -> bool {
    let bytes = line.as_bytes();
    bytes.iter().any(|byte| matches!(byte, b'M' | b'S' | b'R' | b'O'))
        && bytes.windows(2).any(|pair| matches!(pair, b"MU" | b"SH" | b"RE" | b"MA" | b"OP"))
}

fn occurrences<'a>(
    line: &'a str,
    before: &'static str,
    word: &'static str,
    after: &'static str,
) -> impl Iterator<Item = (usize, usize)> + 'a {
    let mut position = 0;
    std::iter::from_fn(move || {
        loop {
            let start = position + line[position..].find(word)?;
            let end = start + word.len();
            position = end;
            if !is_edge(line, end) {
                continue;
            }
            let long_end = end + after.len();
            let is_long = !after.is_empty() && line[end..].starts_with(after) && is_edge(line, long_end);
            let end = if is_long { long_end } else { end };
            let long_start = start.checked_sub(before.len());
            let long_start = long_start.filter(|long| {
                !before.is_empty() && line.get(*long..start) == Some(before) && is_edge(line, *long)
            });
            match long_start {
                Some(start) => return Some((start, end)),
                None if is_edge(line, start) => return Some((start, end)),
                None => {}
            }
        }
    })
}

/// Tells whether a word ends or starts at a position.
fn is_edge(line: &str, position: usize) -> bool {
    let is_word = |character: char| {
        if character.is_ascii() {
            character.is_ascii_alphanumeric() || character == '_'
        } else {
            regex_syntax::is_word_character(character)
        }
    };
    let before = line[..position].chars().next_back().is_some_and(is_word);
    let after = line[position..].chars().next().is_some_and(is_word);
    before != after
}

/// Finds where the sentence starts that has something at a place: after a full stop, or where its paragraph does.
fn open(lines: &[Option<&str>], number: usize, start: usize) -> (usize, usize) {
    if let Some(offset) = lines[number].and_then(|line| last_stop(&line[..start])) {
        return (number, offset);
    }
    if number == 0 {
        return (0, 0);
    }
    let mut open = (number - 1, 0);
    for before in (0..number).rev() {
        match lines[before] {
            None | Some("") => return open,
            Some(line) => {
                if let Some(offset) = last_stop(line) {
                    return (before, offset);
                }
                open = (before, 0);
            }
        }
    }
    open
}

/// Finds where the sentence ends.
fn close(lines: &[Option<&str>], number: usize, end: usize) -> (usize, usize) {
    if let Some(offset) = lines[number].and_then(|line| first_stop(&line[end..])) {
        return (number, end + offset);
    }
    let mut close = (number + 1, 0);
    for (after, line) in lines.iter().enumerate().skip(number + 1) {
        match line {
            None | Some("") => return (after, 0),
            Some(line) => {
                if let Some(offset) = first_stop(line) {
                    return (after, offset);
                }
                close = (after, line.len());
            }
        }
    }
    close
}

/// Returns the position after the last full stop that ends a sentence.
fn last_stop(line: &str) -> Option<usize> {
    let end = line.rfind('.')? + 1;
    match line[end..].chars().next() {
        None | Some(' ' | '\t') => Some(end),
        // A point inside of something, such as `2.1`: then the first stop counts, as it always has.
        Some(_) => first_stop(&line[..end - 1]),
    }
}

/// Returns the position after the first full stop that ends a sentence.
fn first_stop(line: &str) -> Option<usize> {
    let mut position = 0;
    loop {
        let end = position + line[position..].find('.')? + 1;
        match line[end..].chars().next() {
            None | Some(' ' | '\t') => return Some(end),
            Some(next) => position = end + next.len_utf8(),
        }
    }
}

fn between<'a>(lines: &[Option<&'a str>], start: (usize, usize), end: (usize, usize)) -> Vec<&'a str> {
    let mut quote = Vec::new();
    let last = end.0.min(lines.len().saturating_sub(1));
    for (number, line) in lines.iter().enumerate().take(last + 1).skip(start.0) {
        let Some(mut line) = *line else {
            continue;
        };
        if number == end.0 {
            line = &line[..end.1];
        }
        if number == start.0 {
            line = line.get(start.1..).unwrap_or_default();
        }
        let line = line.trim();
        if !line.is_empty() {
            quote.push(line);
        }
    }
    quote
}

/// The text of a requirement file, and the line at which each of its requirements starts.
#[derive(Debug)]
pub struct RequirementFile {
    /// Its text.
    pub text: String,
    /// For each requirement the line of its table.
    pub lines: Vec<u32>,
}

/// Writes the requirements of a section as TOML.
pub fn write_toml(
    target: &str,
    spec: &Specification,
    section: &Section,
    requirements: &[Requirement<'_>],
) -> RequirementFile {
    let title = section.title_span.of_text(&spec.text);
    let mut text = format!("target = \"{target}#{}\"\n\n# {title}\n#\n", section.id);
    for span in section.spans() {
        let _ = writeln!(text, "# {}", span.of_text(&spec.text));
    }
    text.push('\n');
    let mut lines = Vec::with_capacity(requirements.len());
    let mut next_line = text.matches('\n').count() as u32 + 1;
    for requirement in requirements {
        lines.push(next_line);
        let _ = writeln!(text, "[[spec]]\nlevel = \"{}\"\nquote = '''", requirement.level);
        for line in &requirement.lines {
            text.push_str(line);
            text.push('\n');
        }
        text.push_str("'''\n\n");
        next_line += requirement.lines.len() as u32 + 5;
    }
    RequirementFile { text, lines }
}

/// Writes the requirements of a section as Rust comments.
pub fn write_rust(
    target: &str,
    spec: &Specification,
    section: &Section,
    requirements: &[Requirement<'_>],
) -> String {
    let title = section.title_span.of_text(&spec.text);
    let mut text = format!("//! {target}#{}\n//!\n//! {title}\n//!\n", section.id);
    for span in section.spans() {
        let _ = writeln!(text, "//! {}", span.of_text(&spec.text));
    }
    text.push('\n');
    for requirement in requirements {
        let _ = writeln!(text, "//= {target}#{}\n//= type=spec\n//= level={}", section.id, requirement.level);
        for line in &requirement.lines {
            let _ = writeln!(text, "//# {line}");
        }
        text.push('\n');
    }
    text
}

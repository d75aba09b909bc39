//! The implementable parts of a specification: sentences without list markers, and cells of tables.
//!
//! Views by meaning use this; literal views use the text as Duvet does.

use std::sync::Arc;

use crate::annotation::Level;
use crate::extract;
use crate::specification::{Section, Specification};
use crate::text::Span;

mod table;

/// How far from the start of its line a list marker may end.
const LEAD_SIZE_MAX_BYTES: usize = 200;

/// Returns the position of the list marker in a line, if it starts with one: `*`, `-`, `o`, `2)`.
pub fn list_mark(document: &str, position: u32) -> Option<Span> {
    let bytes = document.as_bytes();
    let position = (position as usize).min(bytes.len());
    let earliest = position.saturating_sub(LEAD_SIZE_MAX_BYTES);
    let start = match memchr::memrchr(b'\n', &bytes[earliest..position]) {
        Some(end) => earliest + end + 1,
        None if earliest == 0 => 0,
        None => return None,
    };
    let is_blank = |byte: &&u8| matches!(byte, b' ' | b'\t');
    let n_blanks = bytes[start..].iter().take(LEAD_SIZE_MAX_BYTES).take_while(is_blank).count();
    let line = &document[start + n_blanks..];
    let length = mark_length(line)?;
    Some(Span::new(start + n_blanks, start + n_blanks + length))
}

/// Returns the length of the list marker at the start of a line.
fn mark_length(line: &str) -> Option<usize> {
    const SIGNS: &[char] = &['*', '-', '+', 'o', '•', '◦', '▪', '‣', '·', '–', '—'];
    let first = line.chars().next()?;
    let is_followed = |length: usize| line[length..].starts_with([' ', '\t', '\u{a0}']);
    if SIGNS.contains(&first) && is_followed(first.len_utf8()) {
        let length = first.len_utf8();
        // The checkbox of a task list belongs to the marker.
        let boxes = [" [ ]", " [x]", " [X]"];
        let is_task = |mark: &&&str| line[length..].starts_with(**mark) && is_followed(length + mark.len());
        return Some(length + boxes.iter().find(is_task).map_or(0, |mark| mark.len()));
    }
    let open = usize::from(first == '(');
    let n_characters = line[open..].bytes().take_while(u8::is_ascii_alphanumeric).take(4).count();
    let number = &line[open..open + n_characters];
    let is_number = number.len() <= 3 && number.bytes().all(|byte| byte.is_ascii_digit());
    let is_roman = number.bytes().all(|byte| b"ivxIVX".contains(&byte));
    let length = open + n_characters + 1;
    let is_closed = match line.as_bytes().get(length - 1) {
        Some(b')') => true,
        Some(b'.') => open == 0,
        _ => false,
    };
    let is_mark = !number.is_empty() && (is_number || is_roman || number.len() == 1);
    (is_mark && is_closed && is_followed(length)).then_some(length)
}

/// Returns a piece of a document without its list marker.
pub fn unmarked(document: &str, span: Span) -> Span {
    let Some(mark) = list_mark(document, span.start).filter(|mark| span.start <= mark.end) else {
        return span;
    };
    // A match of bytes may end within a character.
    let after = document.get(mark.end.min(span.end) as usize..span.end as usize);
    after.map_or(span, |after| Span { start: span.end - after.trim_start().len() as u32, ..span })
}

/// A requirement by meaning: its position and level.
pub type Meant = (Arc<[Span]>, Level);

/// Determines a requirement by meaning. A row of a table becomes its cells with keywords.
pub fn requirements(
    specification: &Specification,
    section: &Section,
    spans: &Arc<[Span]>,
    level: Level,
) -> Vec<Meant> {
    let text = &specification.text;
    let cells = table::cells(specification, section, spans);
    if cells.len() > 1 {
        let read = |cell: &Vec<Span>| {
            let pieces: Vec<&str> = cell.iter().map(|span| span.of_text(text)).collect();
            extract::level(&pieces.join(" ")).map(|level| (without_mark(text, cell), level))
        };
        let found: Vec<Meant> = cells.iter().filter_map(read).collect();
        if !found.is_empty() {
            return found;
        }
    }
    match cells.first() {
        Some(cell) if cells.len() == 1 => vec![(without_mark(text, cell), level)],
        _ => vec![(without_mark(text, spans), level)],
    }
}

fn without_mark(text: &str, spans: &[Span]) -> Arc<[Span]> {
    match spans {
        [first, rest @ ..] => {
            let first = Some(unmarked(text, *first)).filter(|span| !span.is_empty());
            first.into_iter().chain(rest.iter().copied()).collect()
        }
        [] => Arc::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_marks_of_lists_are_known() {
        for (line, mark) in [
            ("* A pot", Some("*")),
            ("  - [x] A pot", Some("- [x]")),
            ("   o  A pot", Some("o")),
            ("\t+\tA pot", Some("+")),
            ("• A pot", Some("•")),
            ("12. A pot", Some("12.")),
            ("a) A pot", Some("a)")),
            ("(iv) A pot", Some("(iv)")),
            ("1234. A pot", None),
            ("*A pot* boils", None),
            ("--- A pot", None),
            ("only a pot", None),
            ("(RFC) A pot", None),
            ("A pot", None),
            ("", None),
        ] {
            let text = format!("before\n{line}\n- after");
            let found = list_mark(&text, 7).map(|span| span.of_text(&text));
            assert_eq!(found, mark, "{line}");
            // Wherever in the line somebody asks.
            let found = list_mark(&text, 7 + line.len() as u32).map(|span| span.of_text(&text));
            assert_eq!(found, mark, "{line}");
        }
        assert_eq!(list_mark("* x", 0), Some(Span::new(0, 1)));
    }

    #[test]
    fn a_piece_loses_its_mark_alone() {
        let text = "* A pot\n  * B";
        let check = |start, end, expected| {
            assert_eq!(unmarked(text, Span::new(start, end)).of_text(text), expected);
        };
        check(0, 7, "A pot");
        check(2, 7, "A pot");
        check(4, 7, "pot");
        check(0, 1, "");
        check(10, 13, "B");
    }
}

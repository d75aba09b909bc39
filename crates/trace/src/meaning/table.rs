//! Tables of Markdown, cut into cells.

use std::collections::BTreeMap;

use crate::specification::{Format, Line, Section, Specification};
use crate::text::Span;

/// Cuts a text into the cells of the rows it touches, and what stands between tables. One group if it touches no
/// table.
pub fn cells(specification: &Specification, section: &Section, spans: &[Span]) -> Vec<Vec<Span>> {
    let text = &specification.text;
    let has_bar = |span: &Span| memchr::memchr(b'|', &text.as_bytes()[span.range()]).is_some();
    if specification.format != Format::Markdown || !spans.iter().any(has_bar) {
        return vec![spans.to_vec()];
    }
    let rows = rows(text, section);
    let mut groups: Vec<Vec<Span>> = Vec::new();
    let mut plain: Vec<Span> = Vec::new();
    for span in spans {
        let row = rows.range(..=span.start).next_back().filter(|(_, row)| span.start < row.end);
        let Some((_, row)) = row else {
            plain.push(*span);
            continue;
        };
        if !plain.is_empty() {
            groups.push(std::mem::take(&mut plain));
        }
        let shared = |cell: &Span| {
            let (start, end) = (cell.start.max(span.start), cell.end.min(span.end));
            (start < end).then(|| trim(text, Span { start, end })).filter(|span| !span.is_empty())
        };
        groups.extend(row.cells.iter().filter_map(shared).map(|span| vec![span]));
    }
    if !plain.is_empty() {
        groups.push(plain);
    }
    groups
}

struct Row {
    end: u32,
    /// Without the blanks around them; none in the line between head and body.
    cells: Vec<Span>,
}

/// Lists the rows of a section's tables by where their lines start.
fn rows(text: &str, section: &Section) -> BTreeMap<u32, Row> {
    let mut rows = BTreeMap::new();
    let mut head: Option<Span> = None;
    let mut is_table = false;
    for line in &section.lines {
        let span = match line {
            Line::Text(span) if span.of_text(text).contains('|') => *span,
            _ => {
                (head, is_table) = (None, false);
                continue;
            }
        };
        let n_columns = delimiters(span.of_text(text));
        let is_start = |head: Span| n_columns.is_some_and(|count| split(text, head).len() == count);
        if is_table {
            rows.insert(span.start, Row { end: span.end, cells: split(text, span) });
        } else if let Some(head) = head.filter(|head| is_start(*head)) {
            is_table = true;
            rows.insert(head.start, Row { end: head.end, cells: split(text, head) });
            rows.insert(span.start, Row { end: span.end, cells: Vec::new() });
        }
        head = Some(span);
    }
    rows
}

/// Counts the columns of the line between the head and the body of a table: `|---|:-:|`.
fn delimiters(line: &str) -> Option<usize> {
    let line = line.trim();
    let line = line.strip_prefix('|').unwrap_or(line);
    let line = line.strip_suffix('|').unwrap_or(line);
    let mut cells = line.split('|').map(str::trim);
    let is_rule = |cell: &str| {
        let cell = cell.strip_prefix(':').unwrap_or(cell);
        let cell = cell.strip_suffix(':').unwrap_or(cell);
        !cell.is_empty() && cell.bytes().all(|byte| byte == b'-')
    };
    cells.all(is_rule).then(|| line.split('|').count())
}

/// Cuts a row at its bars. A bar after a backslash is text.
fn split(text: &str, row: Span) -> Vec<Span> {
    let row = trim(text, row);
    let line = row.of_text(text);
    let mut cells = Vec::new();
    let mut start = usize::from(line.starts_with('|'));
    let bars = line.match_indices('|').map(|(at, _)| at).filter(|at| !line[..*at].ends_with('\\'));
    for bar in bars.chain([line.len()]).skip(start) {
        if bar >= start && (bar < line.len() || start < line.len()) {
            let offset = row.start as usize;
            cells.push(trim(text, Span::new(offset + start, offset + bar)));
        }
        start = bar + 1;
    }
    cells
}

fn trim(text: &str, span: Span) -> Span {
    let whole = span.of_text(text);
    let start = span.start as usize + whole.len() - whole.trim_start().len();
    Span::new(start, start + whole.trim().len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_cut_at_bars() {
        for (row, cells) in [
            ("| a | b c |", vec!["a", "b c"]),
            ("a|b", vec!["a", "b"]),
            ("  | a \\| b |  ", vec!["a \\| b"]),
            ("| | b", vec!["", "b"]),
        ] {
            let span = Span::new(0, row.len());
            let found: Vec<&str> = split(row, span).into_iter().map(|span| span.of_text(row)).collect();
            assert_eq!(found, cells, "{row}");
        }
        assert_eq!(delimiters("|---|:-:|"), Some(2));
        assert_eq!(delimiters("--|--"), Some(2));
        assert_eq!(delimiters("| a |"), None);
        assert_eq!(delimiters("||"), None);
    }
}

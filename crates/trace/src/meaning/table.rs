//! Tables of Markdown, and those drawn with `+---+` and `|` in plain text, cut into cells.

use std::collections::BTreeMap;

use crate::specification::{Format, Line, Section, Specification};
use crate::text::Span;

/// Cuts a text into the cells of the rows it touches, and what stands between tables. One group if it touches no
/// table.
pub fn cells(specification: &Specification, section: &Section, spans: &[Span]) -> Vec<Vec<Span>> {
    let text = &specification.text;
    let has_bar = |span: &Span| memchr::memchr(b'|', &text.as_bytes()[span.range()]).is_some();
    if !spans.iter().any(has_bar) {
        return vec![spans.to_vec()];
    }
    let rows = match specification.format {
        Format::Markdown => rows(text, section),
        _ => drawn_rows(text, section),
    };
    let mut groups: Vec<(Option<CellPlace>, Vec<Span>)> = Vec::new();
    for span in spans {
        let row = rows.range(..=span.start).next_back().filter(|(_, row)| span.start < row.end);
        let Some((_, row)) = row else {
            match groups.last_mut() {
                Some((None, plain)) => plain.push(*span),
                _ => groups.push((None, vec![*span])),
            }
            continue;
        };
        for (column, cell) in row.cells.iter().enumerate() {
            let (start, end) = (cell.start.max(span.start), cell.end.min(span.end));
            let shared = (start < end).then(|| trim(text, Span { start, end }));
            let Some(shared) = shared.filter(|span| !span.is_empty()) else { continue };
            let place = Some((row.number, column));
            let of_row = |group: &&mut (Option<CellPlace>, Vec<Span>)| {
                group.0.is_some_and(|(number, _)| number == row.number)
            };
            let mut known = groups.iter_mut().rev().take_while(of_row);
            match known.find(|group| group.0 == place) {
                Some((_, pieces)) => pieces.push(shared),
                None => groups.push((place, vec![shared])),
            }
        }
    }
    groups.into_iter().map(|(_, pieces)| pieces).collect()
}

/// The number of a row, and of a column.
type CellPlace = (u32, usize);

/// A line of a row.
struct Row {
    end: u32,
    /// Without the blanks around them; none in a line that only draws.
    cells: Vec<Span>,
    /// The same for lines that continue the cells of the one before.
    number: u32,
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
            rows.insert(span.start, Row { end: span.end, cells: split(text, span), number: span.start });
        } else if let Some(head) = head.filter(|head| is_start(*head)) {
            is_table = true;
            rows.insert(head.start, Row { end: head.end, cells: split(text, head), number: head.start });
            rows.insert(span.start, Row { end: span.end, cells: Vec::new(), number: span.start });
        }
        head = Some(span);
    }
    rows
}

/// Lists the lines of a section's drawn tables by where they start. A row goes from rule to rule. What has other columns
/// than the rule above it is a picture.
fn drawn_rows(text: &str, section: &Section) -> BTreeMap<u32, Row> {
    let mut rows = BTreeMap::new();
    let drawing = |rule: Span| Row { end: rule.end, cells: Vec::new(), number: rule.start };
    let mut rule: Option<(Span, usize)> = None;
    let mut is_row = false;
    for span in section.spans() {
        let line = span.of_text(text).trim();
        if let Some(n_columns) = columns(line) {
            if std::mem::take(&mut is_row) {
                rows.insert(span.start, drawing(span));
            }
            rule = Some((span, n_columns));
        } else if let Some((above, n_columns)) = rule {
            let is_drawn = line.len() > 1 && line.starts_with('|') && line.ends_with('|');
            let cells = if is_drawn { split(text, span) } else { Vec::new() };
            if cells.len() == n_columns {
                rows.insert(above.start, drawing(above));
                rows.insert(span.start, Row { end: span.end, cells, number: above.start });
                is_row = true;
            } else if !line.is_empty() {
                (rule, is_row) = (None, false);
            }
        }
    }
    rows
}

/// Counts the columns of a rule: `+---+===+`.
fn columns(line: &str) -> Option<usize> {
    let parts = line.strip_prefix('+')?.strip_suffix('+')?.split('+');
    let is_drawn = |part: &str| !part.is_empty() && part.bytes().all(|byte| matches!(byte, b'-' | b'='));
    parts.clone().all(is_drawn).then(|| parts.count())
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
        assert_eq!(columns("+---+=====+"), Some(2));
        assert_eq!(columns("+---"), None);
        assert_eq!(columns("++"), None);
    }
}

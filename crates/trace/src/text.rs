//! Positions in a text: byte ranges, lines and columns.

use std::ops::Range;

/// A range of bytes in a text. Texts are smaller than 4 GiB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// Its first byte.
    pub start: u32,
    /// The byte after its last.
    pub end: u32,
}

impl Span {
    /// Makes a span.
    pub fn new(start: usize, end: usize) -> Span {
        Span { start: start as u32, end: end as u32 }
    }

    /// Locates a slice of a text in it.
    pub fn of(part: &str, text: &str) -> Span {
        let start = (part.as_ptr() as usize).wrapping_sub(text.as_ptr() as usize);
        debug_assert!(start + part.len() <= text.len(), "a part of another text");
        Span::new(start, start + part.len())
    }

    /// Locates a slice in a text, if it is a slice of it.
    pub fn of_slice(part: &str, text: &str) -> Option<Span> {
        let start = (part.as_ptr() as usize).checked_sub(text.as_ptr() as usize)?;
        (start + part.len() <= text.len()).then(|| Span::new(start, start + part.len()))
    }

    /// The same as a range.
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// Returns what stands there.
    pub fn of_text(self, text: &str) -> &str {
        &text[self.range()]
    }

    /// The number of bytes.
    pub fn len(self) -> usize {
        (self.end - self.start) as usize
    }

    /// Whether it is only a position.
    pub fn is_empty(self) -> bool {
        self.start == self.end
    }
}

/// Lists the lines of a text without their ends, as [`str::lines`] does, but quickly.
pub fn lines(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (line, after) = match memchr::memchr(b'\n', rest.as_bytes()) {
            Some(end) => {
                let line = &rest[..end];
                (line.strip_suffix('\r').unwrap_or(line), &rest[end + 1..])
            }
            None => (rest, ""),
        };
        rest = after;
        Some(line)
    })
}

/// A short id of a text: 32 hexadecimal digits of BLAKE3.
pub fn fingerprint(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex()[..32].to_owned()
}

/// Where each line of a text starts.
#[derive(Clone, Debug, Default)]
pub struct Lines {
    starts: Vec<u32>,
}

impl Lines {
    /// Finds the lines of a text.
    pub fn new(text: &str) -> Lines {
        let mut starts = Vec::with_capacity(text.len() / 40 + 1);
        if !text.is_empty() {
            starts.push(0);
        }
        let after = memchr::memchr_iter(b'\n', text.as_bytes()).map(|end| end as u32 + 1);
        starts.extend(after.filter(|start| (*start as usize) < text.len()));
        Lines { starts }
    }

    /// How many lines there are.
    pub fn count(&self) -> usize {
        self.starts.len()
    }

    /// Lists the lines of the text without their ends, as [`str::lines`] does.
    pub fn each<'t>(&self, text: &'t str) -> impl Iterator<Item = &'t str> {
        let ends = self.starts.iter().skip(1).map(|next| *next as usize).chain([text.len()]);
        self.starts.iter().zip(ends).map(|(start, end)| {
            let line = &text[*start as usize..end];
            line.strip_suffix('\n').map_or(line, |line| line.strip_suffix('\r').unwrap_or(line))
        })
    }

    /// Returns the line of a position, from 1 on. The end of a line belongs to it.
    pub fn line(&self, offset: u32) -> u32 {
        self.starts.partition_point(|start| *start <= offset) as u32
    }

    /// The same, quickly if it is the given line or one soon after it.
    pub fn line_near(&self, offset: u32, line: u32) -> u32 {
        let before = line.saturating_sub(1) as usize;
        match self.starts.get(before).is_some_and(|start| *start <= offset) {
            true => {
                before as u32
                    + self.starts[before..].iter().take_while(|start| **start <= offset).count() as u32
            }
            false => self.line(offset),
        }
    }

    /// Tells the first and the last line of a span.
    pub fn lines(&self, span: Span) -> (u32, u32) {
        let first = self.line(span.start);
        let next = self.starts.get(first as usize);
        // Nearly everything stands in one line.
        let last = if next.is_none_or(|next| *next > span.end) { first } else { self.line(span.end) };
        (first, last)
    }

    /// Returns where a line stands in its text, without its end.
    pub fn span(&self, line: u32, text: &str) -> Option<Span> {
        let index = (line as usize).checked_sub(1)?;
        let start = *self.starts.get(index)? as usize;
        let end = self.starts.get(index + 1).map_or(text.len(), |next| *next as usize);
        Some(Span::new(start, start + text[start..end].trim_end_matches(['\n', '\r']).len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_position_has_a_line() {
        let text = "one\r\n\nthree";
        let lines = Lines::new(text);
        let found: Vec<u32> = (0..=text.len() as u32).map(|offset| lines.line(offset)).collect();
        assert_eq!(found, [1, 1, 1, 1, 1, 2, 3, 3, 3, 3, 3, 3]);
        for line in 0..=4 {
            let near = (0..=text.len() as u32).map(|offset| lines.line_near(offset, line));
            assert!(near.eq(found.iter().copied()), "from line {line}");
        }
        assert_eq!(lines.count(), 3);
        assert_eq!(lines.span(1, text).map(|span| span.of_text(text)), Some("one"));
        assert_eq!(lines.span(2, text).map(|span| span.of_text(text)), Some(""));
        assert_eq!(lines.span(3, text).map(|span| span.of_text(text)), Some("three"));
        assert_eq!(lines.span(4, text), None);
        assert_eq!(lines.span(0, text), None);
        assert_eq!(Lines::new("a\n").count(), 1);
        assert_eq!(Lines::new("").count(), 0);
        for text in ["", "a", "a\n", "a\r\n\n\r\nb\r", "\n", "\r"] {
            let expected = Vec::from_iter(text.lines());
            assert_eq!(Vec::from_iter(super::lines(text)), expected, "{text:?}");
            assert_eq!(Vec::from_iter(Lines::new(text).each(text)), expected, "{text:?}");
        }
    }
}

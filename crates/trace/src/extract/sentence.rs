//! Finds where sentences start and end.

/// Where a sentence starts or ends: a line, and a byte in it.
pub type SentenceBound = (usize, usize);

/// Finds the ends of sentences. Positions are requested in order, so the previous result is reused:
/// sentences of many lines, and lines with many keywords, would take quadratic time otherwise.
pub struct Sentences<'a> {
    lines: &'a [Option<&'a str>],
    stops: Stops<'a>,
    /// The last requested line, and where its sentence starts in the lines before it.
    before: Option<(usize, SentenceBound)>,
    /// The same for where its sentence ends in the lines after it.
    after: Option<(usize, SentenceBound)>,
}

impl<'a> Sentences<'a> {
    /// Starts before the first of some lines; `None` is where a sentence ends without a full stop.
    pub fn new(lines: &'a [Option<&'a str>]) -> Sentences<'a> {
        Sentences { lines, stops: Stops::default(), before: None, after: None }
    }

    /// Finds where the sentence starts that has something at a place: after a full stop, or where its paragraph does.
    pub fn open(&mut self, number: usize, start: usize) -> SentenceBound {
        if let Some(offset) = self.lines[number].and_then(|line| self.stops.last_before(line, start)) {
            return (number, offset);
        }
        let open = self.open_before(number);
        self.before = Some((number, open));
        open
    }

    fn open_before(&self, number: usize) -> SentenceBound {
        if number == 0 {
            return (0, 0);
        }
        let mut open = (number - 1, 0);
        for before in (0..number).rev() {
            let known = self.before.filter(|(line, _)| *line == before + 1).map(|(_, open)| open);
            match (self.lines[before], known) {
                (None | Some(""), _) => return open,
                (Some(_), Some(known)) => return known,
                (Some(line), None) => {
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
    pub fn close(&mut self, number: usize, end: usize) -> SentenceBound {
        if let Some(offset) = self.lines[number].and_then(|line| self.stops.first_after(line, end)) {
            return (number, offset);
        }
        let known = self.after.filter(|(line, close)| (*line..close.0).contains(&number));
        let close = known.map_or_else(|| self.close_after(number), |(_, close)| close);
        self.after = Some((number, close));
        close
    }

    fn close_after(&self, number: usize) -> SentenceBound {
        let mut close = (number + 1, 0);
        for (after, line) in self.lines.iter().enumerate().skip(number + 1) {
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
}

/// The full stops in a line. [`last_stop`] and [`first_stop`] find the same without the cache.
#[derive(Default)]
struct Stops<'a> {
    line: &'a str,
    /// How far dots were looked for, and the last one.
    last_dot: (usize, Option<usize>),
    /// The first stop of the whole line.
    first: Option<Option<usize>>,
    /// The first stop after a place.
    next: Option<(usize, Option<usize>)>,
}

impl<'a> Stops<'a> {
    fn of(&mut self, line: &'a str) -> &mut Stops<'a> {
        if !std::ptr::eq(self.line, line) {
            *self = Stops { line, ..Stops::default() };
        }
        self
    }

    /// Returns the last stop before a position.
    fn last_before(&mut self, line: &'a str, start: usize) -> Option<usize> {
        let stops = self.of(line);
        let (from, known) = if stops.last_dot.0 <= start { stops.last_dot } else { (0, None) };
        let dot = line[from..start].rfind('.').map(|dot| from + dot).or(known);
        stops.last_dot = (start, dot);
        let dot = dot?;
        if matches!(line[dot + 1..start].chars().next(), None | Some(' ' | '\t')) {
            return Some(dot + 1);
        }
        // A point inside of something: then the first stop of what is before it counts.
        match *stops.first.get_or_insert_with(|| first_stop(line)) {
            Some(first) if first <= dot => Some(first),
            // The text before it may end with dots. Of consecutive dots every second one is skipped.
            _ => {
                let n_dots = line[..dot].bytes().rev().take_while(|byte| *byte == b'.').count();
                (n_dots % 2 == 1).then_some(dot)
            }
        }
    }

    /// Returns the first stop after the end of a word.
    fn first_after(&mut self, line: &'a str, end: usize) -> Option<usize> {
        let stops = self.of(line);
        match stops.next {
            Some((from, next)) if from <= end && next.is_none_or(|next| next > end) => next,
            _ => {
                let next = first_stop(&line[end..]).map(|offset| end + offset);
                stops.next = Some((end, next));
                next
            }
        }
    }
}

/// Returns the position after the last full stop that ends a sentence.
fn last_stop(line: &str) -> Option<usize> {
    let end = line.rfind('.')? + 1;
    match line[end..].chars().next() {
        None | Some(' ' | '\t') => Some(end),
        // A point inside of a word, such as `2.1`: then the first stop counts, for compatibility.
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(5_000))]

        #[test]
        fn stops_are_the_same_whatever_is_known_already(parts in prop::collection::vec("[. \\tab]{0,4}", 1..8)) {
            let line = parts.join("MUST");
            let mut stops = Stops::default();
            // Each keyword goes through the line from its start.
            for _ in 0..2 {
                for (start, word) in line.match_indices("MUST") {
                    let end = start + word.len();
                    prop_assert_eq!(stops.last_before(&line, start), last_stop(&line[..start]), "{}", line);
                    let expected = first_stop(&line[end..]).map(|offset| end + offset);
                    prop_assert_eq!(stops.first_after(&line, end), expected, "{}", line);
                }
            }
        }

        #[test]
        fn sentences_are_the_same_whatever_is_known_already(lines in prop::collection::vec("([. a]|M){0,5}", 1..8)) {
            let lines: Vec<Option<&str>> = lines.iter().map(|line| (line != "a").then_some(&**line)).collect();
            let mut sentences = Sentences::new(&lines);
            for (number, line) in lines.iter().enumerate() {
                for (start, _) in line.iter().flat_map(|line| line.match_indices('M')) {
                    let mut fresh = Sentences::new(&lines);
                    prop_assert_eq!(sentences.open(number, start), fresh.open(number, start), "{:?}", lines);
                    prop_assert_eq!(sentences.close(number, start + 1), fresh.close(number, start + 1), "{:?}", lines);
                }
            }
        }
    }
}

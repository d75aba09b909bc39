//! Distinguishes numbered headings (`2.1.  Title`, `Appendix A.  Title`) from lists, tables and entries of contents.

/// A numbered heading.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NumberedHeading<'a> {
    /// `2.1`, `A`, `A.1`.
    pub id: &'a str,
    /// The text after the number.
    pub title: &'a str,
    is_appendix: bool,
}

impl NumberedHeading<'_> {
    /// The id of the section.
    pub fn section_id(&self) -> String {
        format!("{}-{}", if self.is_appendix { "appendix" } else { "section" }, self.id)
    }
}

/// Tracks which number may come next.
#[derive(Debug, Default)]
pub struct Headings<'a> {
    /// Whether the line before was blank.
    pub after_break: bool,
    last: Option<&'a str>,
}

impl<'a> Headings<'a> {
    /// Reads a line as a heading, if it is one.
    pub fn read(&mut self, line: &'a str) -> Option<NumberedHeading<'a>> {
        // Only these can start a heading.
        if !line.starts_with(|character: char| character.is_ascii_uppercase() || character.is_ascii_digit())
            && !line.starts_with('.')
        {
            return None;
        }
        let found = self.find(line)?;
        self.last = Some(found.id);
        Some(found)
    }

    fn find(&self, line: &'a str) -> Option<NumberedHeading<'a>> {
        let rest = ["Appendix ", "APPENDIX ", "Annex "].iter().find_map(|prefix| line.strip_prefix(prefix));
        if let Some(rest) = rest {
            let found = lettered(rest).find(|(id, title)| self.accepts(id, title));
            if let Some((id, title)) = found {
                return Some(NumberedHeading { id, title, is_appendix: true });
            }
        }
        let (id, title) = numbered(rest.unwrap_or(line))?;
        let is_appendix = rest.is_some() || !id.starts_with(char::is_numeric);
        self.accepts(id, title).then_some(NumberedHeading { id, title, is_appendix })
    }

    fn accepts(&self, id: &str, title: &str) -> bool {
        let is_entry_of_contents =
            title.contains(".....") || title.contains(". . .") || title.contains(" . . ");
        let is_code = title.starts_with(';') || title.ends_with(['{', '[', '(', ';']);
        if is_entry_of_contents || is_code || title.contains("     ") || !parts(id).all(|part| part.is_some())
        {
            return false;
        }
        // In what may be a table, only the next number counts.
        let is_table = title.trim_end_matches('|').contains('|');
        if self.after_break && !is_table {
            return true;
        }
        match self.last {
            None => id == "1" || id == "1.0",
            Some(last) => follows(last, id),
        }
    }
}

/// Reads `A`, `A.`, `A.  Title`, `A:  Title`, `A : Title`, `A - Title`, `A -- Title`, `A  Title` in these ways, in turn.
fn lettered(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let is_letter = text.starts_with(|character: char| character.is_ascii_uppercase());
    let (id, rest) = if is_letter { text.split_at(1) } else { ("", "") };
    let alone = (is_letter && (rest.is_empty() || rest == ".")).then_some((id, &id[1.min(id.len())..]));
    let separated = [".", ":", " :", " -", " --", ""].into_iter().filter_map(move |separator| {
        let rest = rest.strip_prefix(separator)?;
        rest.starts_with(char::is_whitespace).then(|| (id, rest.trim()))
    });
    alone.into_iter().chain(separated.filter(move |_| is_letter))
}

/// Reads `2.1  Title`, `2.1.  Title`, `2.1: Title`, `A.1.  Title`, `A.  Title`, or a number alone.
fn numbered(text: &str) -> Option<(&str, &str)> {
    let letter = usize::from(text.starts_with(|character: char| character.is_ascii_uppercase()));
    let is_number = |byte: u8| byte.is_ascii_digit() || byte == b'.';
    let end = text.bytes().skip(letter).position(|byte| !is_number(byte));
    let end = end.map_or(text.len(), |length| letter + length);
    if end == letter {
        return None;
    }
    let id = text[..end].trim_end_matches('.');
    let rest = &text[end..];
    if rest.is_empty() {
        // Here, unlike before a title, a letter needs its point.
        let is_pointed = letter == 0 || text[letter..].starts_with('.') && end > letter + 1;
        return is_pointed.then(|| (id, &id[id.len()..]));
    }
    let rest = rest.strip_prefix(':').unwrap_or(rest);
    rest.starts_with(char::is_whitespace).then(|| (id, rest.trim()))
}

/// A part of the number of a section.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Part {
    Number(u8),
    Letter(u8),
}

impl Part {
    fn parse(text: &str) -> Option<Part> {
        if let Ok(number) = text.parse::<u8>() {
            // No document has more sections, but years and codes are higher.
            return (number <= 199).then_some(Part::Number(number));
        }
        match text.as_bytes() {
            [letter] if letter.is_ascii_uppercase() => Some(Part::Letter(*letter)),
            _ => None,
        }
    }

    fn is_before(self, next: Part) -> bool {
        match (self, next) {
            (Part::Number(first), Part::Number(second)) => u16::from(first) + 1 == u16::from(second),
            (Part::Number(_), Part::Letter(letter)) => letter == b'A',
            (Part::Letter(_), Part::Number(_)) => false,
            (Part::Letter(first), Part::Letter(second)) => first + 1 == second,
        }
    }
}

/// Splits a number into its parts; `None` if it is not one.
fn parts(id: &str) -> impl Iterator<Item = Option<Part>> {
    let first_digit = id.bytes().position(|byte| byte.is_ascii_digit()).unwrap_or(0);
    let (letter, digits) = id.split_at(first_digit);
    let letter = (!letter.is_empty()).then(|| letter.trim_end_matches('.'));
    letter.into_iter().chain(digits.split('.')).enumerate().map(|(index, part)| {
        let part = Part::parse(part)?;
        let is_right = if index == 0 { part != Part::Number(0) } else { matches!(part, Part::Number(_)) };
        is_right.then_some(part)
    })
}

/// Returns whether a number may follow another.
fn follows(last: &str, id: &str) -> bool {
    if last == id {
        return false;
    }
    for pair in parts(last).zip(parts(id)) {
        let (Some(last), Some(this)) = pair else {
            return false;
        };
        if last.is_before(this) {
            return true;
        }
        if last != this {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_are_told_from_other_lines() {
        check("1.  Introduction", true, None, "section-1 Introduction");
        check("2.1.  Title here", true, Some("2"), "section-2.1 Title here");
        check("2.1: Title", true, Some("2"), "section-2.1 Title");
        check("A.  Grammar", true, Some("9"), "appendix-A Grammar");
        check("A.1.  Rules", true, Some("A"), "appendix-A.1 Rules");
        check("Appendix B: More", true, Some("A"), "appendix-B More");
        check("Appendix B -- More", true, Some("A"), "appendix-B More");
        check("APPENDIX C", true, Some("B"), "appendix-C ");
        check("7.", true, Some("6"), "section-7 ");
        check("1.  Introduction ........ 3", true, None, "");
        check("2024 was a year", true, Some("3"), "");
        check("3.  if (x) {", true, Some("2"), "");
        check("5 apples", false, Some("2"), "");
        check("3 apples", false, Some("2"), "section-3 apples");
        check("4 | a | b", true, Some("2"), "");
        check("A", true, Some("2"), "");
        check("text", true, Some("2"), "");
    }

    #[track_caller]
    fn check(line: &str, after_break: bool, last: Option<&'static str>, expected: &str) {
        let mut headings = Headings { after_break, last };
        let found = headings.read(line);
        let found = found.map(|found| format!("{} {}", found.section_id(), found.title));
        assert_eq!(found.unwrap_or_default(), expected, "{line}");
    }
}

//! Writes requirements as TOML or as Rust comments, and determines the position of each in such a file.

use std::borrow::Cow;
use std::fmt::Write as _;

use super::ExtractedRequirement;
use crate::annotation::Places;
use crate::specification::{Section, Specification};
use crate::text::Span;

/// Writes the requirements of a section as a requirement file.
pub fn toml(
    target: &str,
    spec: &Specification,
    section: &Section,
    requirements: &[ExtractedRequirement],
) -> String {
    let target = string(&format!("{target}#{}", section.id));
    let mut text = format!("target = {target}\n\n# {}\n#\n", title(spec, section, "# "));
    for span in section.spans() {
        let _ = writeln!(text, "# {}", printable(span.of_text(&spec.text)));
    }
    text.push('\n');
    for requirement in requirements {
        let _ = write!(text, "{TABLE}\nlevel = \"{}\"\nquote = ", requirement.level);
        match escaped_quote(spec, requirement) {
            Some(quote) => text.push_str(&quote),
            None => {
                text.push_str("'''\n");
                for line in requirement.lines(&spec.text) {
                    text.push_str(line);
                    text.push('\n');
                }
                text.push_str("'''");
            }
        }
        text.push_str("\n\n");
    }
    text
}

const TABLE: &str = "[[spec]]";

/// Writes a text as a string of TOML.
pub fn string(text: &str) -> String {
    // Nearly all are so.
    let is_plain = |byte: u8| (b' '..=b'~').contains(&byte) && byte != b'"' && byte != b'\\';
    match text.bytes().all(is_plain) {
        true => format!("\"{text}\""),
        false => toml::Value::from(text).to_string(),
    }
}

/// Whether a character is allowed neither in a comment nor in a literal string of TOML.
fn is_forbidden(byte: u8) -> bool {
    byte < b' ' && byte != b'\t' || byte == 0x7f
}

/// Checks quickly that nothing in the text of a section needs replacing or escaping.
fn is_plain(spec: &Specification, section: &Section) -> bool {
    let (first, last) = (section.spans().next(), section.spans().last());
    let Some((first, last)) = first.zip(last).filter(|(first, last)| first.start <= last.end) else {
        return false;
    };
    let text = &spec.text.as_bytes()[first.start as usize..last.end as usize];
    let is_odd = |odd: bool, byte: &u8| odd | (is_forbidden(*byte) & (*byte != b'\n'));
    !text.iter().fold(false, is_odd) && memchr::memmem::find(text, b"'''").is_none()
}

/// Replaces characters that are not allowed in a comment.
fn printable(line: &str) -> Cow<'_, str> {
    if !line.bytes().any(is_forbidden) {
        return Cow::Borrowed(line);
    }
    let shown = |character: char| match u8::try_from(character) {
        Ok(byte) if is_forbidden(byte) => '\u{fffd}',
        _ => character,
    };
    Cow::Owned(line.chars().map(shown).collect())
}

/// Returns the title of a section for a comment. A title of several lines must not end the comment.
fn title<'a>(spec: &'a Specification, section: &Section, mark: &str) -> Cow<'a, str> {
    let title = section.title_span.of_text(&spec.text);
    if !title.contains('\n') {
        return printable(title);
    }
    let lines: Vec<Cow<'_, str>> = title.lines().map(printable).collect();
    Cow::Owned(lines.join(&format!("\n{mark}")))
}

/// Returns the quote of a requirement as a string with escapes, if a literal one cannot hold it.
fn escaped_quote(spec: &Specification, requirement: &ExtractedRequirement) -> Option<String> {
    let is_literal = |line: &str| !line.contains("'''") && !line.bytes().any(is_forbidden);
    if requirement.lines(&spec.text).all(is_literal) {
        return None;
    }
    let lines: String = requirement.lines(&spec.text).flat_map(|line| [line, "\n"]).collect();
    Some(string(&lines))
}

/// Determines for each requirement the line of its table in such a file, and the positions of its parts, without writing one.
/// Reports name these places, because Duvet writes the files.
pub fn places(
    target: &str,
    spec: &Specification,
    section: &Section,
    requirements: &[ExtractedRequirement],
) -> Vec<(u32, Places)> {
    let title = title(spec, section, "# ");
    let n_title_lines = memchr::memchr_iter(b'\n', title.as_bytes()).count();
    let target_start = "target = ".len();
    let target_end = target_start + string(&format!("{target}#{}", section.id)).len();
    let is_plain = is_plain(spec, section);
    let (mut n_lines, mut size) = (0, 0);
    for span in section.spans() {
        n_lines += 1;
        let text = || printable(span.of_text(&spec.text)).len();
        size += "# \n".len() + if is_plain { span.len() } else { text() };
    }
    let mut line = 6 + n_title_lines + n_lines;
    let mut start = target_end + "\n\n# \n#\n\n".len() + title.len() + size;
    let mut places = Vec::with_capacity(requirements.len());
    for requirement in requirements {
        let head = TABLE.len() + "\nlevel = \"\"\nquote = ".len() + requirement.level.name().len();
        let quote = start + head;
        let escaped = if is_plain { None } else { escaped_quote(spec, requirement) };
        let (size, n_breaks) = match escaped {
            Some(text) => (text.len(), memchr::memchr_iter(b'\n', text.as_bytes()).count()),
            None => {
                let lines: usize = requirement.spans.iter().map(|span| span.len() + 1).sum();
                ("'''\n'''".len() + lines, 1 + requirement.spans.len())
            }
        };
        let end = quote + size;
        places.push((
            line as u32,
            Places {
                target: Span::new(target_start, target_end),
                text: Span::new(start, start + TABLE.len()),
                quote: Span::new(quote, end),
            },
        ));
        line += 4 + n_breaks;
        start = end + "\n\n".len();
    }
    places
}

/// Writes the requirements of a section as Rust comments.
pub fn rust(
    target: &str,
    spec: &Specification,
    section: &Section,
    requirements: &[ExtractedRequirement],
) -> String {
    let title = title(spec, section, "//! ");
    let mut text = format!("//! {target}#{}\n//!\n//! {title}\n//!\n", section.id);
    for span in section.spans() {
        let _ = writeln!(text, "//! {}", printable(span.of_text(&spec.text)));
    }
    text.push('\n');
    for requirement in requirements {
        let _ = writeln!(text, "//= {target}#{}\n//= type=spec\n//= level={}", section.id, requirement.level);
        for line in requirement.lines(&spec.text) {
            let _ = writeln!(text, "//# {}", printable(line));
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interner::Interner;
    use crate::specification::Format;
    use crate::{extract, requirement_file};

    #[test]
    fn places_are_those_of_the_written_file() {
        let text = "# A\n\nIt MUST be.\nIt SHOULD\nwrap, and\nMAY end. No.\n\nWide\ntitle = 1\n===\n\nÜ MUST\n\n- x MAY y\n\n\
            # B {#a\u{200b}\"\\b}\n\nIt MUST\u{1} not '''break\nout. It MAY ''' end. It MUST be.\n\n# C\u{7}\n\nA\u{c}\nMUST b.\n";
        let spec = Specification::parse(text.into(), "a.md", Format::Auto);
        for section in &spec.sections {
            let requirements = extract::requirements(&spec, section);
            let written = toml("ä/a.md", &spec, section, &requirements);
            let (read, problems) = requirement_file::read(&"a.toml".into(), &written, &Interner::default());
            assert!(problems.is_empty(), "{problems:?}\n{written}");
            let read: Vec<(u32, Places)> = read.iter().map(|one| (one.line, one.places)).collect();
            assert!(!read.is_empty());
            assert_eq!(places("ä/a.md", &spec, section, &requirements), read, "{written}");
            let rust = rust("ä/a.md", &spec, section, &requirements);
            assert!(rust.lines().all(|line| line.is_empty() || line.starts_with("//")), "{rust}");
        }
    }
}

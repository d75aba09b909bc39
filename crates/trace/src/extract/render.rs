//! Writes requirements as TOML or as Rust comments, and tells where each would stand in such a file.

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
    let title = section.title_span.of_text(&spec.text);
    let mut text = format!("target = \"{target}#{}\"\n\n# {title}\n#\n", section.id);
    for span in section.spans() {
        let _ = writeln!(text, "# {}", span.of_text(&spec.text));
    }
    text.push('\n');
    for requirement in requirements {
        let _ = writeln!(text, "{TABLE}\nlevel = \"{}\"\nquote = '''", requirement.level);
        for line in requirement.lines(&spec.text) {
            text.push_str(line);
            text.push('\n');
        }
        text.push_str("'''\n\n");
    }
    text
}

const TABLE: &str = "[[spec]]";

/// Tells for each requirement the line of its table in such a file, and where its parts stand, without writing one.
/// Reports name these places, because Duvet writes the files.
pub fn places(
    target: &str,
    spec: &Specification,
    section: &Section,
    requirements: &[ExtractedRequirement],
) -> Vec<(u32, Places)> {
    let title = section.title_span.of_text(&spec.text);
    let n_title_lines = memchr::memchr_iter(b'\n', title.as_bytes()).count();
    let target_start = "target = ".len();
    let target_end = target_start + "\"#\"".len() + target.len() + section.id.len();
    let (mut n_lines, mut size) = (0, 0);
    for span in section.spans() {
        n_lines += 1;
        size += "# \n".len() + span.len();
    }
    let mut line = 6 + n_title_lines + n_lines;
    let mut start = target_end + "\n\n# \n#\n\n".len() + title.len() + size;
    let mut places = Vec::with_capacity(requirements.len());
    for requirement in requirements {
        let head = TABLE.len() + "\nlevel = \"\"\nquote = ".len() + requirement.level.name().len();
        let lines: usize = requirement.spans.iter().map(|span| span.len() + 1).sum();
        let quote = start + head;
        let end = quote + "'''\n".len() + lines + "'''".len();
        places.push((
            line as u32,
            Places {
                target: Span::new(target_start, target_end),
                text: Span::new(start, start + TABLE.len()),
                quote: Span::new(quote, end),
            },
        ));
        line += 5 + requirement.spans.len();
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
    let title = section.title_span.of_text(&spec.text);
    let mut text = format!("//! {target}#{}\n//!\n//! {title}\n//!\n", section.id);
    for span in section.spans() {
        let _ = writeln!(text, "//! {}", span.of_text(&spec.text));
    }
    text.push('\n');
    for requirement in requirements {
        let _ = writeln!(text, "//= {target}#{}\n//= type=spec\n//= level={}", section.id, requirement.level);
        for line in requirement.lines(&spec.text) {
            let _ = writeln!(text, "//# {line}");
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::specification::Format;
    use crate::{extract, requirement_file};

    #[test]
    fn places_are_those_of_the_written_file() {
        let text = "# A\n\nIt MUST be.\nIt SHOULD\nwrap, and\nMAY end. No.\n\nWide\ntitle\n===\n\nÜ MUST\n\n- x MAY y\n";
        let spec = Specification::parse(text.into(), "a.md", Format::Auto);
        for section in &spec.sections {
            let requirements = extract::requirements(&spec, section);
            // TOML does not take a title of two lines, but its lines count.
            let written = toml("ä/a.md", &spec, section, &requirements).replace("\ntitle\n", "\n#itle\n");
            let (read, problems) = requirement_file::read(&"a.toml".into(), &written);
            assert!(problems.is_empty(), "{problems:?}\n{written}");
            let read: Vec<(u32, Places)> = read.iter().map(|one| (one.line, one.places)).collect();
            assert!(!read.is_empty());
            assert_eq!(places("ä/a.md", &spec, section, &requirements), read, "{written}");
        }
    }
}

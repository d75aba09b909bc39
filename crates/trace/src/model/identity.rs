//! What specifications and sections are called.

use std::borrow::Cow;
use std::path::Path;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use crate::specification::{Format, Specification};
use crate::target::TargetPath;

/// Tells the id of a specification: `rfc2324`, a draft's name, or its whole path in plain letters.
pub fn specification_id(path: &TargetPath, shown: &str) -> String {
    if let TargetPath::Url(url) = path {
        let last = url.path_segments().and_then(|mut segments| segments.rfind(|segment| !segment.is_empty()));
        let stem = last.map(|last| last.split('.').next().unwrap_or(last).to_lowercase());
        if let Some(stem) = stem.filter(|stem| is_series(stem)) {
            return stem;
        }
        let host = url.host_str().unwrap_or_default();
        return slug(&format!("{host}{}", url.path()));
    }
    let stem = Path::new(shown).file_stem().map(|stem| stem.to_string_lossy().to_lowercase());
    stem.filter(|stem| is_series(stem)).unwrap_or_else(|| slug(shown))
}

fn slug(text: &str) -> String {
    let slug = slug::slugify(text);
    if slug.is_empty() { "specification".to_owned() } else { slug }
}

/// Whether an id is that of an RFC or a draft, which is the same document wherever it is kept.
pub fn is_series(id: &str) -> bool {
    is_rfc(id) || id.starts_with("draft-")
}

fn is_rfc(stem: &str) -> bool {
    stem.strip_prefix("rfc")
        .is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Tells what people call a specification.
pub fn name(id: &str, specification: &Specification, shown: &str) -> String {
    match id.strip_prefix("rfc") {
        Some(number) if is_rfc(id) => format!("RFC {number}"),
        _ => {
            let title = specification.title.as_ref().filter(|title| !title.trim().is_empty());
            title.cloned().unwrap_or_else(|| shown.to_owned())
        }
    }
}

/// A description longer than this is cut.
const DESCRIPTION_CHARACTERS_MAX: usize = 200;

/// Describes a specification: the title of an RFC, or the first paragraph.
pub fn description(specification: &Specification) -> String {
    let text = match specification.format {
        Format::Ietf => ietf_title(&specification.text),
        _ => None,
    };
    let text = text.or_else(|| first_paragraph(specification)).unwrap_or_default();
    match text.char_indices().nth(DESCRIPTION_CHARACTERS_MAX) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text,
    }
}

/// The title of an RFC is the first indented paragraph after its head.
fn ietf_title(text: &str) -> Option<String> {
    let mut title: Vec<&str> = Vec::new();
    let mut has_head = false;
    for line in text.lines().take(60) {
        let line = line.trim_end().trim_start_matches(['\u{feff}', '\u{c}']);
        if line.trim().is_empty() {
            if !title.is_empty() {
                break;
            }
        } else if line.starts_with("   ") && has_head {
            title.push(line.trim());
        } else if !title.is_empty() {
            return None;
        } else {
            has_head = true;
        }
    }
    (!title.is_empty()).then(|| title.join(" "))
}

fn first_paragraph(specification: &Specification) -> Option<String> {
    specification.sections.iter().find_map(|section| {
        let lines = section.spans().map(|span| span.of_text(&specification.text).trim());
        let paragraph: Vec<&str> = lines.take_while(|line| !line.is_empty()).collect();
        (!paragraph.is_empty()).then(|| paragraph.join(" "))
    })
}

/// Finds a section by its id, or by anything that people call it: its number alone, another prefix, the anchor that
/// a web page has, in other letters or percent-encoded.
pub fn section(specification: &Specification, name: &str) -> Option<usize> {
    let name = percent_decode(name.trim_start_matches('#'));
    if let Some(index) = specification.section(&name) {
        return Some(index);
    }
    let lower = name.to_lowercase();
    let sections = &specification.sections;
    let find = |is_it: &dyn Fn(&crate::Section) -> bool| sections.iter().position(is_it);
    let bare = ["section-", "appendix-", "section ", "appendix ", "name-", "§"]
        .iter()
        .fold(lower.as_str(), |name, prefix| name.strip_prefix(prefix).unwrap_or(name))
        .trim_end_matches('.');
    find(&|section| section.id.to_lowercase() == lower)
        .or_else(|| {
            find(&|section| {
                let id = section.id.to_lowercase();
                ["section-", "appendix-", "name-"].iter().any(|prefix| id.strip_prefix(prefix) == Some(bare))
            })
        })
        .or_else(|| find(&|section| anchor(&section.title) == lower))
        .or_else(|| {
            let is_number = bare.starts_with(|first: char| first.is_ascii_digit());
            find(&|section| is_number && number(&section.title) == Some(bare))
        })
}

/// The anchor that code hosts give a heading: lower case, blanks as hyphens, no punctuation.
fn anchor(title: &str) -> String {
    let kept = title.trim().chars().filter_map(|character| match character {
        ' ' => Some('-'),
        '-' | '_' => Some(character),
        _ if character.is_alphanumeric() => Some(character),
        _ => None,
    });
    kept.flat_map(char::to_lowercase).collect()
}

/// The number that a heading starts with.
fn number(title: &str) -> Option<&str> {
    let first = title.split_whitespace().next()?.trim_end_matches(['.', ':', ')']);
    first.starts_with(|first: char| first.is_ascii_digit()).then_some(first)
}

/// Decodes `%2F` and the like; what is no such code stays.
pub fn percent_decode(text: &str) -> String {
    percent_decode_str(text).decode_utf8().map_or_else(|_| text.to_owned(), Cow::into_owned)
}

/// What a segment of a URI may hold as it is. Slashes and colons stay readable.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'/')
    .remove(b':')
    .remove(b'@')
    .remove(b'!')
    .remove(b'$')
    .remove(b'&')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b'+')
    .remove(b',')
    .remove(b';')
    .remove(b'=');

/// Encodes what may not stand in a segment of a URI.
pub fn percent_encode(text: &str) -> String {
    utf8_percent_encode(text, SEGMENT).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn specifications_have_readable_ids() {
        check("https://www.rfc-editor.org/rfc/rfc2324", "rfc2324");
        check("https://datatracker.ietf.org/doc/html/rfc9000.html", "rfc9000");
        check("https://www.ietf.org/archive/id/draft-ietf-quic-http-34.txt", "draft-ietf-quic-http-34");
        check("https://example.com/specs/pot.md", "example-com-specs-pot-md");
        check("docs/spec.md", "docs-spec-md");
    }

    #[track_caller]
    fn check(target: &str, expected: &str) {
        assert_eq!(specification_id(&TargetPath::parse(target).unwrap(), target), expected);
    }

    #[test]
    fn percent_codes_are_read_and_written() {
        assert_eq!(percent_decode("a%2Fb%20c%"), "a/b c%");
        assert_eq!(percent_decode("%ff"), "%ff");
        assert_eq!(percent_encode("src/a b.rs:4 ü"), "src/a%20b.rs:4%20%C3%BC");
    }

    #[test]
    fn sections_have_many_names() {
        let text = "# Title\n\n## 3.2 The Lid!\n\ntext\n\n## Über uns\n\nx\n";
        let specification = Specification::parse(text.into(), "x.md", Format::Auto);
        for name in ["3-2-the-lid", "#3-2-the-lid", "3.2", "section-3.2", "32-the-lid", "3-2-THE-lid"] {
            assert_eq!(section(&specification, name), Some(1), "{name}");
        }
        assert_eq!(section(&specification, "%C3%BCber-uns"), Some(2));
        assert_eq!(section(&specification, "3.3"), None);
        assert_eq!(section(&specification, ""), None);
    }
}

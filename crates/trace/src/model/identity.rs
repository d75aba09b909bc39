//! The ids and names of specifications and sections.

use std::borrow::Cow;
use std::path::Path;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use crate::managed::ManagedName;
use crate::specification::{Format, Specification};
use crate::target::TargetPath;

/// Returns the id of a specification: `rfc2324`, a draft's name, or its whole path in plain letters.
pub fn specification_id(path: &TargetPath, shown: &str) -> String {
    if let TargetPath::Url(url) = path {
        if let Ok(name) = ManagedName::parse(url.as_str()) {
            return name.reference_id();
        }
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

/// Whether an id is that of an RFC or a draft, which is the same document at any URL.
pub fn is_series(id: &str) -> bool {
    is_rfc(id) || id.starts_with("draft-")
}

fn is_rfc(stem: &str) -> bool {
    stem.strip_prefix("rfc")
        .is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Returns the display name of a specification.
pub fn name(id: &str, specification: &Specification, shown: &str) -> String {
    match id.strip_prefix("rfc") {
        Some(number) if is_rfc(id) => format!("RFC {number}"),
        _ if is_series(id) => id.to_owned(),
        _ => {
            let title = specification.title.as_ref().filter(|title| !title.trim().is_empty());
            let title = title.cloned().or_else(|| series_title(specification));
            title.unwrap_or_else(|| shown.to_owned())
        }
    }
}

/// Longer descriptions are cut.
const DESCRIPTION_CHARACTERS_MAX: usize = 200;

/// Describes a specification: the title of an RFC, or the first paragraph.
pub fn description(specification: &Specification) -> String {
    let text = series_title(specification).or_else(|| first_paragraph(specification)).unwrap_or_default();
    match text.char_indices().nth(DESCRIPTION_CHARACTERS_MAX) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text,
    }
}

/// Returns the title of an RFC or draft, which its name does not contain.
pub fn series_title(specification: &Specification) -> Option<String> {
    (specification.format == Format::Ietf).then(|| ietf_title(&specification.text)).flatten()
}

/// The title of an RFC stands between its head and its first section.
const HEAD_LINES_MAX: usize = 80;
/// A line of this length leaves no room to centre it.
const WIDE_BYTES: usize = 60;

/// Finds the title of an RFC or draft: the first centred paragraph after its head. The head names authors and the date
/// in a column on the right, which may go on below the column on the left.
fn ietf_title(text: &str) -> Option<String> {
    let mut paragraph: Vec<&str> = Vec::new();
    let mut has_head = false;
    let lines = text.lines().take(HEAD_LINES_MAX).map(|line| line.trim_start_matches(['\u{feff}', '\u{c}']));
    for line in lines.chain([""]) {
        if !line.trim().is_empty() {
            paragraph.push(line.trim_end());
            continue;
        }
        let lines = std::mem::take(&mut paragraph);
        let Some(first) = lines.first() else {
            continue;
        };
        let is_indented = |line: &&str| line.starts_with("   ");
        let is_head =
            |line: &&str| line.trim().contains("      ") && !is_indented(line) || line.starts_with("RFC");
        if lines.iter().any(is_head) {
            has_head = true;
            continue;
        }
        let is_title = |line: &&str| !line.starts_with("draft-") && !line.trim_matches(['-', '=']).is_empty();
        let title: Vec<&str> = lines.iter().map(|line| line.trim()).filter(is_title).collect();
        // A title may be as wide as the page.
        let is_centred = lines.iter().any(is_indented) || first.len() >= WIDE_BYTES;
        if has_head && is_centred && !title.is_empty() && !lines.iter().all(|line| is_right(line)) {
            return Some(title.join(" "));
        }
        if !lines.iter().all(is_indented) {
            return None;
        }
    }
    None
}

/// Whether a line stands in the right column of a head, and not in the middle as titles do.
fn is_right(line: &str) -> bool {
    const WIDTH: usize = 72;
    let n_before = line.len() - line.trim_start().len();
    let n_after = WIDTH.saturating_sub(line.chars().count());
    n_before > 3 * (n_after + 1) && n_after < 4
}

fn first_paragraph(specification: &Specification) -> Option<String> {
    specification.sections.iter().find_map(|section| {
        let lines = section.spans().map(|span| span.of_text(&specification.text).trim());
        let paragraph: Vec<&str> = lines.take_while(|line| !line.is_empty()).collect();
        (!paragraph.is_empty()).then(|| paragraph.join(" "))
    })
}

/// Finds a section by its id, or by other names: its number alone, another prefix, the anchor of
/// a web page, in other case or percent-encoded.
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

/// The anchor of a heading on code hosts: lower case, spaces as hyphens, no punctuation.
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

/// Decodes `%2F` and the like; invalid codes stay.
pub fn percent_decode(text: &str) -> String {
    percent_decode_str(text).decode_utf8().map_or_else(|_| text.to_owned(), Cow::into_owned)
}

/// The characters that a URI segment may contain unescaped. Slashes and colons stay readable.
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
    fn the_title_follows_the_head() {
        let check = |head: &str, title: &str, expected: Option<&str>| {
            let text = format!("\n\n{head}\n\n\n{title}\n\nAbstract\n\n   This is about pots.\n");
            assert_eq!(ietf_title(&text).as_deref(), expected, "{text}");
        };
        let short = "Pot Working Group                                              A. Author\n\
                     Request for Comments: 9999                                    April 2026";
        // The column of the authors goes on below, here with a date and an address.
        let long = "Pot Task Force (PTF)                                        A. Author\n\
                    Request for Comments: 9998                                     B. Maker\n\
                    \u{20}                                                    Institute of Tea\n\
                    \u{20}                                                          April 2026";
        let one = "                     A Protocol for Pots";
        for head in [short, long] {
            check(head, one, Some("A Protocol for Pots"));
            let two = "                  Pots, and what is to be\n                       said of Lids";
            check(head, two, Some("Pots, and what is to be said of Lids"));
            let draft = format!("{one}\n                    draft-author-pots-03");
            check(head, &draft, Some("A Protocol for Pots"));
            let wide = format!("{} of\n                     Kettles", "Procedures".repeat(7));
            check(head, &wide, Some(&wide.split_whitespace().collect::<Vec<_>>().join(" ")));
            check(head, "Introduction", None);
        }
        check("1.  Pots", "   A pot MUST brew.", None);
        check(&format!("{short}\n\n{:>72}", "April 2026"), one, Some("A Protocol for Pots"));
        let name = |id: &str| {
            let text = format!("{short}\n\n\n{one}\n\n1.  Pots\n\n   Text.\n");
            name(id, &Specification::parse(text.into(), "x.txt", Format::Ietf), "https://example.com/x")
        };
        assert_eq!(name("rfc9999"), "RFC 9999");
        assert_eq!(name("draft-author-pots-03"), "draft-author-pots-03");
        assert_eq!(name("docs-x-txt"), "A Protocol for Pots");
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

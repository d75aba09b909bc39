//! The ids of version 2: a prefix for the kind, and a hash of the identifying content.
//!
//! Equal things have equal ids in every report, so that reports can be merged.

use crate::text::Span;

/// A place where files can be looked at.
pub fn repository(blob_link: &str) -> String {
    id("repo", &[blob_link])
}

/// The text of a specification.
pub fn inline(contents: &str) -> String {
    id("src", &[contents])
}

/// A file with annotations; the repository is empty if there is none.
pub fn linked(file_name: &str, repository: &str) -> String {
    id("lnk", &[file_name, repository])
}

/// A specification: all of a text.
pub fn specification(source: &str, start: u32, end: u32) -> String {
    id("spc", &[source, &start.to_string(), &end.to_string()])
}

/// A section: a part of a text.
pub fn section(source: &str, start: u32, end: u32) -> String {
    id("sec", &[source, &start.to_string(), &end.to_string()])
}

/// A requirement: its pieces of a specification, in order, and the line of the file that says so.
pub fn requirement(origin: &str, pieces: &[Span], source: &str, line: u32) -> String {
    let mut parts = vec![origin.to_owned()];
    parts.extend(pieces.iter().flat_map(|piece| [piece.start.to_string(), piece.end.to_string()]));
    parts.extend([source.to_owned(), line.to_string()]);
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    id("req", &parts)
}

/// Any other annotation: the line of its file, and the specification that it speaks of.
pub fn cite(source: &str, line: u32, target: &str) -> String {
    id("cite", &[source, &line.to_string(), target])
}

/// Hashes parts with a zero byte between each two (64-bit FNV-1a).
fn id(prefix: &str, parts: &[&str]) -> String {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut add = |byte: u8| hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            add(0);
        }
        part.bytes().for_each(&mut add);
    }
    format!("{prefix}-{hash:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_hashes_that_others_compute_too() {
        // The published test vectors of 64-bit FNV-1a.
        assert_eq!(inline(""), "src-cbf29ce484222325");
        assert_eq!(repository("a"), "repo-af63dc4c8601ec8c");
        assert_eq!(repository("foobar"), "repo-85944171f73967e8");
        assert_ne!(linked("foo", "bar"), linked("foob", "ar"));
    }
}

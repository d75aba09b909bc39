//! Applies a unified diff, as `git diff` writes it, to texts in memory. A diff that does not fit is refused with its line: nothing
//! is guessed.

use std::fmt;

/// A longer diff is refused.
pub const DIFF_BYTES_MAX: usize = 64 << 20;
/// Files of one diff.
const FILES_MAX: usize = 20_000;
/// Bytes of a path.
const PATH_BYTES_MAX: usize = 4_096;

/// What a diff does to one file.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct FilePatch {
    /// The path before; nothing if the file is new.
    pub before: Option<String>,
    /// The path after; nothing if the file is removed.
    pub after: Option<String>,
    /// Whether the content is binary, so that the diff does not have it.
    pub is_binary: bool,
    hunks: Vec<Hunk>,
    /// The line of the diff where it begins.
    line: usize,
}

#[derive(Debug, PartialEq, Eq)]
struct Hunk {
    /// The line of the diff.
    line: usize,
    /// The first line of the file that the hunk covers, from 1; 0 in an empty file.
    first: usize,
    lines: Vec<(Mark, String)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    Same,
    Removed,
    Added,
}

/// Why a diff cannot be used, and at which of its lines.
#[derive(Debug, PartialEq, Eq)]
pub struct BadDiff {
    line: usize,
    problem: String,
}

impl fmt::Display for BadDiff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} of the diff: {}", self.line, self.problem)
    }
}

fn bad<T>(line: usize, problem: impl Into<String>) -> Result<T, BadDiff> {
    Err(BadDiff { line, problem: problem.into() })
}

/// Reads a diff.
pub fn read(diff: &str) -> Result<Vec<FilePatch>, BadDiff> {
    if diff.len() > DIFF_BYTES_MAX {
        return bad(1, format!("expected at most {DIFF_BYTES_MAX} bytes"));
    }
    let mut patches: Vec<FilePatch> = Vec::new();
    let mut lines = diff.split_inclusive('\n').enumerate().map(|(index, line)| (index + 1, line)).peekable();
    // Whether a line `diff --git` began the present file, so that `---` does not begin another one.
    let mut is_begun = false;
    while let Some((number, line)) = lines.next() {
        let text = line.trim_end_matches(['\n', '\r']);
        if patches.len() > FILES_MAX {
            return bad(number, format!("expected at most {FILES_MAX} files"));
        }
        if let Some(names) = text.strip_prefix("diff --git ") {
            let (before, after) = git_names(number, names)?;
            patches.push(FilePatch { before, after, line: number, ..FilePatch::default() });
            is_begun = true;
        } else if let Some(name) = text.strip_prefix("--- ") {
            let Some((next, after)) = lines.next().filter(|(_, line)| line.starts_with("+++ ")) else {
                return bad(number, "expected a line that begins with `+++` after this one");
            };
            let after = after["+++ ".len()..].trim_end_matches(['\n', '\r']);
            if !is_begun {
                patches.push(FilePatch { line: number, ..FilePatch::default() });
            }
            is_begun = false;
            let Some(patch) = patches.last_mut() else { continue };
            (patch.before, patch.after) = (name_of(number, name)?, name_of(next, after)?);
        } else if text.starts_with("@@ ") {
            let Some(patch) = patches.last_mut() else {
                return bad(number, "a hunk, before any `---` and `+++` say of which file");
            };
            patch.hunks.push(hunk(number, text, &mut lines)?);
        } else if let Some(patch) = patches.last_mut() {
            about(patch, number, text)?;
        } else if text.starts_with("diff ") {
            return bad(number, "expected a unified diff, as `git diff` and `diff -u` write it");
        }
    }
    if patches.is_empty() && !diff.trim().is_empty() {
        return bad(1, "found no file in it; expected a unified diff, as `git diff` writes it");
    }
    Ok(patches)
}

/// What git says of a file between its first line and its hunks.
fn about(patch: &mut FilePatch, number: usize, text: &str) -> Result<(), BadDiff> {
    if text.starts_with("new file mode") {
        patch.before = None;
    } else if text.starts_with("deleted file mode") {
        patch.after = None;
    } else if let Some(name) = text.strip_prefix("rename from ").or_else(|| text.strip_prefix("copy from ")) {
        patch.before = Some(path(number, &unquoted(number, name)?)?);
    } else if let Some(name) = text.strip_prefix("rename to ").or_else(|| text.strip_prefix("copy to ")) {
        patch.after = Some(path(number, &unquoted(number, name)?)?);
    } else if text.starts_with("Binary files ") || text == "GIT binary patch" {
        patch.is_binary = true;
    }
    Ok(())
}

fn hunk<'a>(
    number: usize,
    text: &str,
    lines: &mut std::iter::Peekable<impl Iterator<Item = (usize, &'a str)>>,
) -> Result<Hunk, BadDiff> {
    let wrong =
        || BadDiff { line: number, problem: "expected a hunk such as `@@ -12,3 +12,4 @@`".to_owned() };
    let mut parts = text.split(' ').skip(1);
    let range = |part: Option<&str>, mark: char| -> Option<(usize, usize)> {
        let part = part?.strip_prefix(mark)?;
        let (first, count) = part.split_once(',').unwrap_or((part, "1"));
        Some((first.parse().ok()?, count.parse().ok()?))
    };
    let (first, mut n_before) = range(parts.next(), '-').ok_or_else(wrong)?;
    let (_, mut n_after) = range(parts.next(), '+').ok_or_else(wrong)?;
    if parts.next() != Some("@@") {
        return Err(wrong());
    }
    let mut found = Vec::new();
    while n_before > 0 || n_after > 0 {
        let Some((at, line)) = lines.next() else {
            return bad(
                number,
                format!("the diff ends in this hunk, which has {n_before} old and {n_after} new lines more"),
            );
        };
        // Some programs take the blank away that stands before an empty line.
        let (mark, rest) = match line.as_bytes().first() {
            Some(b'+') => (Mark::Added, &line[1..]),
            Some(b'-') => (Mark::Removed, &line[1..]),
            Some(b' ') => (Mark::Same, &line[1..]),
            Some(b'\n' | b'\r') => (Mark::Same, line),
            Some(b'\\') => continue,
            _ => return bad(at, "expected a line that begins with ` `, `+` or `-`"),
        };
        let (old, new) = (usize::from(mark != Mark::Added), usize::from(mark != Mark::Removed));
        if old > n_before || new > n_after {
            return bad(at, "the hunk has more lines than it says");
        }
        (n_before, n_after) = (n_before - old, n_after - new);
        found.push((mark, rest.to_owned()));
        if let Some((_, line)) = lines.peek()
            && line.starts_with('\\')
            && let Some((_, text)) = found.last_mut()
        {
            text.truncate(text.trim_end_matches(['\n', '\r']).len());
        }
    }
    Ok(Hunk { line: number, first, lines: found })
}

/// The two names after `diff --git`. They are only needed where nothing else names the file, and then they are alike.
fn git_names(number: usize, names: &str) -> Result<(Option<String>, Option<String>), BadDiff> {
    if let Some(rest) = names.strip_prefix('"') {
        let end = rest.find("\" ").map_or(names.len(), |end| end + 2);
        let name = name_of(number, &names[..end])?;
        return Ok((name.clone(), name));
    }
    let half = names.len() / 2;
    let name = match names.is_char_boundary(half) && names[half..].starts_with(' ') {
        true => name_of(number, &names[..half])?,
        // One was renamed; the lines after this one say how.
        false => None,
    };
    Ok((name.clone(), name))
}

/// A name after `---` or `+++`: without what stands before the first slash, and without the time after a tab.
fn name_of(number: usize, name: &str) -> Result<Option<String>, BadDiff> {
    let name = match name.starts_with('"') {
        true => unquoted(number, name)?,
        false => name.split('\t').next().unwrap_or_default().to_owned(),
    };
    if name == "/dev/null" {
        return Ok(None);
    }
    let short = name.strip_prefix("a/").or_else(|| name.strip_prefix("b/")).unwrap_or(&name);
    path(number, short).map(Some)
}

fn path(number: usize, path: &str) -> Result<String, BadDiff> {
    let is_plain = |part: &str| !matches!(part, "" | "." | ".." | ".git");
    let is_inside = path.split('/').all(is_plain) && !path.contains(['\0', '\\', '\n']);
    if !is_inside || path.len() > PATH_BYTES_MAX {
        let shown: String = path.chars().take(80).collect();
        return bad(number, format!("{shown:?} does not name a file of the repository"));
    }
    Ok(path.to_owned())
}

/// Undoes how git writes names with special characters: `"a/\303\244.rs"`.
fn unquoted(number: usize, name: &str) -> Result<String, BadDiff> {
    let Some(inside) = name.strip_prefix('"').and_then(|name| name.strip_suffix('"')) else {
        return Ok(name.to_owned());
    };
    let mut bytes = Vec::with_capacity(inside.len());
    let mut rest = inside.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        match rest.next() {
            Some(b't') => bytes.push(b'\t'),
            Some(b'n') => bytes.push(b'\n'),
            Some(b'r') => bytes.push(b'\r'),
            Some(other @ (b'"' | b'\\')) => bytes.push(other),
            Some(first @ b'0'..=b'3') => {
                let digit = |byte: Option<u8>| {
                    byte.filter(|byte| (b'0'..=b'7').contains(byte)).map(|byte| byte - b'0')
                };
                let (Some(second), Some(third)) = (digit(rest.next()), digit(rest.next())) else {
                    return bad(number, "a name with a `\\` that git does not write");
                };
                bytes.push((first - b'0') * 64 + second * 8 + third);
            }
            _ => return bad(number, "a name with a `\\` that git does not write"),
        }
    }
    String::from_utf8(bytes).or_else(|_| bad(number, "a name that is not UTF-8"))
}

impl FilePatch {
    /// Applies it to the text that the file had.
    pub fn apply(&self, text: &str) -> Result<String, BadDiff> {
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let is_crlf = text.contains("\r\n");
        let shown = self.before.as_deref().or(self.after.as_deref()).unwrap_or_default();
        let mut done = String::with_capacity(text.len());
        let mut next = 0;
        for hunk in &self.hunks {
            let has_old = hunk.lines.iter().any(|(mark, _)| *mark != Mark::Added);
            // Where nothing is taken away, the line is the one before what is added.
            let start = if has_old { hunk.first.saturating_sub(1) } else { hunk.first };
            if start < next || start > lines.len() {
                return bad(
                    hunk.line,
                    format!("{shown} has {} lines, and the hunk begins at {}", lines.len(), hunk.first),
                );
            }
            done.extend(lines[next..start].iter().copied());
            next = start;
            for (mark, line) in &hunk.lines {
                if *mark != Mark::Added {
                    let found = lines.get(next).copied();
                    if found.map(bare) != Some(bare(line)) {
                        let found =
                            found.map_or("its end".to_owned(), |found| format!("{:?}", short(bare(found))));
                        let expected = short(bare(line));
                        return bad(
                            hunk.line,
                            format!(
                                "it is a diff of another {shown}: line {} is {found}, and the diff expects {expected:?}",
                                next + 1
                            ),
                        );
                    }
                    if *mark == Mark::Same {
                        done.push_str(lines[next]);
                    }
                    next += 1;
                } else if is_crlf && line.ends_with('\n') && !line.ends_with("\r\n") {
                    done.push_str(bare(line));
                    done.push_str("\r\n");
                } else {
                    done.push_str(line);
                }
            }
        }
        done.extend(lines[next..].iter().copied());
        Ok(done)
    }

    /// The line of the diff where the file begins.
    pub fn wrong(&self, problem: String) -> BadDiff {
        BadDiff { line: self.line, problem }
    }
}

/// A line without its end.
fn bare(line: &str) -> &str {
    line.trim_end_matches(['\n', '\r'])
}

fn short(line: &str) -> String {
    line.chars().take(80).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIFF: &str = "diff --git a/src/a.rs b/src/a.rs\nindex 1..2 100644\n--- a/src/a.rs\n+++ b/src/a.rs\n@@ -1,3 +1,4 @@\n one\n-two\n+2\n+2.5\n three\n";

    #[track_caller]
    fn check(diff: &str, before: &str, expected: Result<&str, &str>) {
        let patches = read(diff);
        let found = patches
            .and_then(|patches| patches.iter().try_fold(before.to_owned(), |text, patch| patch.apply(&text)));
        assert_eq!(found.map_err(|bad| bad.to_string()), expected.map(str::to_owned).map_err(str::to_owned));
    }

    #[test]
    fn lines_are_replaced_where_the_diff_says() {
        check(DIFF, "one\ntwo\nthree\nfour\n", Ok("one\n2\n2.5\nthree\nfour\n"));
        check(DIFF, "one\r\ntwo\r\nthree\r\n", Ok("one\r\n2\r\n2.5\r\nthree\r\n"));
        check("--- a/x\n+++ b/x\n@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file\n", "", Ok("a\nb"));
        check("--- a/x\n+++ b/x\n@@ -2,0 +3 @@\n+c\n", "a\nb\nd\n", Ok("a\nb\nc\nd\n"));
        check("--- a/x\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n", "a\nb\n", Ok(""));
    }

    #[test]
    fn what_does_not_fit_is_refused_with_its_line() {
        check(
            DIFF,
            "one\nTWO\nthree\n",
            Err(
                "line 5 of the diff: it is a diff of another src/a.rs: line 2 is \"TWO\", and the diff expects \"two\"",
            ),
        );
        check(
            "--- a/x\n+++ b/x\n@@ -9,1 +9,1 @@\n-a\n+b\n",
            "a\n",
            Err("line 3 of the diff: x has 1 lines, and the hunk begins at 9"),
        );
        check(
            "--- a/x\n+++ b/x\n@@ -1,2 +1 @@\n-a\n",
            "a\n",
            Err("line 3 of the diff: the diff ends in this hunk, which has 1 old and 1 new lines more"),
        );
        check(
            "--- a/x\n+++ b/x\n@@ -1 +1 @@\n*a\n",
            "a\n",
            Err("line 4 of the diff: expected a line that begins with ` `, `+` or `-`"),
        );
        check(
            "--- a/x\n+++ b/x\n@@ -1 +1 @@\n+a\n+b\n",
            "a\n",
            Err("line 5 of the diff: the hunk has more lines than it says"),
        );
        check(
            "--- a/x\n@@ -1 +1 @@\n",
            "a\n",
            Err("line 1 of the diff: expected a line that begins with `+++` after this one"),
        );
        check(
            "@@ -1 +1 @@\n-a\n+b\n",
            "a\n",
            Err("line 1 of the diff: a hunk, before any `---` and `+++` say of which file"),
        );
        check(
            "hello\n",
            "",
            Err("line 1 of the diff: found no file in it; expected a unified diff, as `git diff` writes it"),
        );
        check(
            "--- a/../../etc/passwd\n+++ b/x\n",
            "",
            Err("line 1 of the diff: \"../../etc/passwd\" does not name a file of the repository"),
        );
        check(
            "--- a/.git/config\n+++ b/.git/config\n",
            "",
            Err("line 1 of the diff: \".git/config\" does not name a file of the repository"),
        );
        check(
            "--- a/x\n+++ b/x\n@@ -99999999999999999999 +1 @@\n",
            "",
            Err("line 3 of the diff: expected a hunk such as `@@ -12,3 +12,4 @@`"),
        );
    }

    #[test]
    fn names_are_read_as_git_writes_them() {
        let names = |diff: &str| {
            let patch = read(diff).unwrap().remove(0);
            (patch.before, patch.after)
        };
        let some = |name: &str| Some(name.to_owned());
        let renamed = "diff --git a/old name.rs b/new.rs\nsimilarity index 100%\nrename from old name.rs\nrename to new.rs\n";
        assert_eq!(names(renamed), (some("old name.rs"), some("new.rs")));
        let quoted = "diff --git \"a/\\303\\244.rs\" \"b/\\303\\244.rs\"\n--- \"a/\\303\\244.rs\"\n+++ \"b/\\303\\244.rs\"\n";
        assert_eq!(names(quoted), (some("ä.rs"), some("ä.rs")));
        assert_eq!(names("diff --git a/e b/e\nnew file mode 100644\nindex 0..1\n"), (None, some("e")));
        assert_eq!(names("diff --git a/e b/e\ndeleted file mode 100644\n"), (some("e"), None));
        assert_eq!(names("--- x.rs\t2026-01-01\n+++ x.rs\t2026-01-02\n"), (some("x.rs"), some("x.rs")));
        let binary = read("diff --git a/x.png b/x.png\nBinary files a/x.png and b/x.png differ\n").unwrap();
        assert!(binary[0].is_binary);
    }
}

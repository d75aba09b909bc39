//! How the lines of one text became those of another.

use std::fmt::Write as _;

use similar::algorithms::{Capture, Compact, Replace, myers};
use similar::udiff::UnifiedHunkHeader;
use similar::{DiffOp, DiffTag, group_diff_ops};

/// How many lines are shown before and after those that changed.
const N_CONTEXT_LINES: usize = 4;

/// Compares lines. It names the algorithm: what chooses one at run time brings all of them into the program.
pub fn lines(old: &[&str], new: &[&str]) -> Vec<DiffOp> {
    let mut found = Compact::new(Replace::new(Capture::new()), old, new);
    let Ok(()) = myers::diff(&mut found, old, 0..old.len(), new, 0..new.len());
    found.into_inner().into_inner().into_ops()
}

/// Writes what changed in the unified format. Each text has a name.
pub fn unified((old_name, old): (&str, &str), (new_name, new): (&str, &str)) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) =
        (old.split_inclusive('\n').collect(), new.split_inclusive('\n').collect());
    let mut text = format!("--- {old_name}\n+++ {new_name}\n");
    for hunk in group_diff_ops(lines(&old, &new), N_CONTEXT_LINES) {
        let _ = writeln!(text, "{}", UnifiedHunkHeader::new(&hunk));
        for found in hunk {
            let (before, after) = (&old[found.old_range()], &new[found.new_range()]);
            match found.tag() {
                DiffTag::Equal => add(&mut text, ' ', after),
                _ => {
                    add(&mut text, '-', before);
                    add(&mut text, '+', after);
                }
            }
        }
    }
    text
}

fn add(text: &mut String, mark: char, lines: &[&str]) {
    for line in lines {
        text.push(mark);
        text.push_str(line);
        if !line.ends_with('\n') {
            text.push_str("\n\\ No newline at end of file\n");
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_changed_is_shown_with_the_lines_around_it() {
        let numbers = |last: &str| (1..=20).map(|n| format!("{n}\n")).collect::<String>() + last;
        let old = numbers("end");
        let new = numbers("end\n").replace("\n10\n", "\nten\nten and a half\n");
        let shown = super::unified(("old", &old), ("new", &new));
        let expected = "--- old\n+++ new\n@@ -6,9 +6,10 @@\n 6\n 7\n 8\n 9\n-10\n+ten\n+ten and a half\n 11\n 12\n 13\n 14\n\
             @@ -17,5 +18,5 @@\n 17\n 18\n 19\n 20\n-end\n\\ No newline at end of file\n+end\n";
        assert_eq!(shown, expected);
    }
}

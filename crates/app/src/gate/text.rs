//! Findings for people in a terminal: file and line, what is wrong, and what to do.

use super::Findings;
use super::rule::{Fact, Rule};
use crate::duvet::printable;

/// How many findings of one rule are printed in full.
const SHOWN_MAX: usize = 200;
/// Requirements that are touched and told by name.
const TOUCHED_MAX: usize = 20;

/// Writes findings.
pub fn write(found: &Findings) -> String {
    let mut text = String::new();
    let told = found.findings.iter().filter(|finding| finding.rule != Rule::Touched || found.fails(finding));
    for rule in Rule::ALL {
        let of_rule: Vec<&Fact> = told.clone().filter(|finding| finding.rule == rule).collect();
        for finding in of_rule.iter().take(SHOWN_MAX) {
            text += &format!("{}: {}: {}\n", place(finding), rule.name(), finding.message);
            for line in finding.help.iter().flat_map(|help| help.lines()) {
                text += &format!("    {line}\n");
            }
        }
        if of_rule.len() > SHOWN_MAX {
            text += &format!(
                "{} more findings of {}; --format json has all\n",
                of_rule.len() - SHOWN_MAX,
                rule.name()
            );
        }
    }
    let touched: Vec<&Fact> = found.findings.iter().filter(|finding| finding.rule == Rule::Touched).collect();
    for finding in touched.iter().take(TOUCHED_MAX) {
        text += &format!("touched: {}\n", finding.message);
    }
    if touched.len() > TOUCHED_MAX {
        text += &format!("touched: {} more\n", touched.len() - TOUCHED_MAX);
    }
    for note in &found.notes {
        text += &format!("note: {note}\n");
    }
    printable(&(text + &summary(found) + "\n")).into_owned()
}

/// What was found, in a line.
pub fn summary(found: &Findings) -> String {
    let of = |rule: Rule| found.findings.iter().filter(|finding| finding.rule == rule).count();
    let touched = match of(Rule::Touched) {
        0 => String::new(),
        n => format!(", {} touched", counted(n, "requirement")),
    };
    let verdict = match found.n_failing() {
        0 => "nothing is worse".to_owned(),
        n => counted(n, "finding"),
    };
    let Findings { base, base_commit, head, .. } = found;
    format!(
        "{verdict}: {} changed{touched}; {head} compared with {base} ({base_commit})",
        counted(found.n_files, "source file")
    )
}

/// Where a finding is.
pub fn place(finding: &Fact) -> String {
    match finding.line {
        0 => finding.path.clone(),
        line => format!("{}:{line}", finding.path),
    }
}

/// A number of things: `1 file`, `2 files`.
pub fn counted(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// Lines as people write them: `3-5, 9`.
pub fn ranges(lines: impl Iterator<Item = u32>) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for line in lines {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == line => *last = line,
            _ => ranges.push((line, line)),
        }
    }
    let shown = |(first, last): &(u32, u32)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    ranges.iter().map(shown).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    #[test]
    fn lines_in_a_row_are_a_range() {
        assert_eq!(super::ranges([3, 4, 5, 9].into_iter()), "3-5, 9");
        assert_eq!(super::ranges(std::iter::empty()), "");
    }
}

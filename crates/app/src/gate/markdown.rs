//! Findings as a comment on a change request. What comes from the repository is only written inside code spans and code blocks, in which
//! mentions, links and HTML mean nothing.

use super::Findings;
use super::rule::{Fact, Rule};
use super::text::{counted, place, summary};

/// By this a script finds the comment that it wrote before, to update it.
pub const MARK: &str = "<!-- spexus-check -->";
/// The most findings in a comment: hosts reject long ones.
const SHOWN_MAX: usize = 40;
/// Characters of one text.
const CHARS_MAX: usize = 600;

/// Writes findings.
pub fn write(found: &Findings) -> String {
    let title = match found.n_failing() {
        0 => "### Requirements: nothing is worse\n".to_owned(),
        n => format!("### Requirements: {}\n", counted(n, "finding")),
    };
    let mut text = format!("{MARK}\n{title}\n{}\n", span(&summary(found)));
    let (failing, told): (Vec<&Fact>, Vec<&Fact>) =
        found.findings.iter().partition(|finding| found.fails(finding));
    for finding in failing.iter().take(SHOWN_MAX) {
        text += &format!(
            "\n* **{}** {}: {}\n",
            finding.rule.name(),
            span(&place(finding)),
            span(&finding.message)
        );
        if !finding.help.is_empty() {
            text += &block(&finding.help.join("\n"));
        }
    }
    if failing.len() > SHOWN_MAX {
        text += &format!("\n{} more\n", failing.len() - SHOWN_MAX);
    }
    for (rule, title) in [(Rule::NewThreat, "open threat"), (Rule::Touched, "touched requirement")] {
        let told: Vec<&Fact> = told.iter().copied().filter(|finding| finding.rule == rule).collect();
        if told.is_empty() {
            continue;
        }
        text += &format!("\n<details><summary>{}</summary>\n\n", counted(told.len(), title));
        for finding in told.iter().take(SHOWN_MAX) {
            text += &format!("* {}\n", span(&finding.message));
        }
        text += "\n</details>\n";
    }
    for note in &found.notes {
        text += &format!("\nNote: {}\n", span(note));
    }
    text
}

/// A code span, whose fence is longer than any in it.
fn span(text: &str) -> String {
    let text = cut(&text.split_whitespace().collect::<Vec<_>>().join(" "));
    if text.is_empty() {
        return String::new();
    }
    let fence = "`".repeat(longest_run(&text) + 1);
    format!("{fence} {text} {fence}")
}

/// A code block in a list.
fn block(text: &str) -> String {
    let fence = "`".repeat(longest_run(text).max(2) + 1);
    let lines: String = cut(text).lines().map(|line| format!("  {line}\n")).collect();
    format!("\n  {fence}text\n{lines}  {fence}\n")
}

fn longest_run(text: &str) -> usize {
    let (mut longest, mut run) = (0, 0);
    for character in text.chars() {
        run = if character == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}

/// Shortens a text, without what a terminal or a page would obey instead of showing.
fn cut(text: &str) -> String {
    let text = crate::duvet::printable(text);
    match text.char_indices().nth(CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_a_repository_stays_code() {
        assert_eq!(span("@everyone <b> [x](y)"), "` @everyone <b> [x](y) `");
        assert_eq!(span("a `b` ``c``\n\n# d"), "``` a `b` ``c`` # d ```");
        assert_eq!(block("```\n</details>"), "\n  ````text\n  ```\n  </details>\n  ````\n");
        assert_eq!(span(&"x".repeat(700)).chars().count(), CHARS_MAX + 1 + 4);
    }
}

//! Text for people. The plain theme gives the original program's output, byte for byte; the coloured one is for terminals.

use std::fmt::{self, Write as _};

use anstyle::{AnsiColor, Style};

use crate::answer::{Answer, CodePattern, Detail};
use crate::load::PatternProblem;
use crate::pattern::Pattern;
use crate::search::Hit;
use crate::validate::{Finding, Severity};
use crate::wrap::wrap;

/// The appearance.
#[derive(Clone, Copy, Debug, Default)]
pub struct Theme {
    heading: Style,
    id: Style,
    faint: Style,
    good: Style,
    bad: Style,
    warning: Style,
    coloured: bool,
    /// Prose is wrapped at this width; without one it stays as written.
    width: Option<usize>,
}

/// Longer lines are hard to read, however wide the terminal is.
const WIDTH_MAX: usize = 100;

impl Theme {
    /// No colour: for pipes and files.
    pub const fn plain() -> Theme {
        let style = Style::new();
        Theme {
            heading: style,
            id: style,
            faint: style,
            good: style,
            bad: style,
            warning: style,
            coloured: false,
            width: None,
        }
    }

    /// Colour: for a terminal.
    pub const fn coloured() -> Theme {
        let style = Style::new();
        Theme {
            heading: style.bold(),
            id: AnsiColor::Cyan.on_default(),
            faint: style.dimmed(),
            good: AnsiColor::Green.on_default(),
            bad: AnsiColor::Red.on_default().bold(),
            warning: AnsiColor::Yellow.on_default(),
            coloured: true,
            width: None,
        }
    }

    /// For a terminal of that width: prose is wrapped, and empty answers are explained.
    pub fn with_width(mut self, width: usize) -> Theme {
        self.width = Some(width.clamp(20, WIDTH_MAX));
        self
    }

    /// Returns prose that begins at a column and goes on below it.
    fn prose(&self, text: &str, column: usize) -> String {
        match self.width {
            Some(width) => {
                let first = " ".repeat(column);
                // The first line has the label before it, so it is broken as if it were indented too.
                wrap(&format!("{}{}", "\u{1}".repeat(column), text.trim_end()), width, &first)
                    .trim_start_matches('\u{1}')
                    .to_owned()
            }
            None => text.trim_end().to_owned(),
        }
    }

    fn severity(&self, severity: &str) -> Style {
        match severity.to_lowercase().as_str() {
            _ if !self.coloured => Style::new(),
            "critical" => self.bad,
            "high" => AnsiColor::Red.on_default(),
            "medium" => self.warning,
            _ => self.faint,
        }
    }
}

/// What is shown in addition to the original output.
#[derive(Clone, Copy, Debug, Default)]
pub struct Extras {
    /// The code of the first mitigation.
    pub code: bool,
    /// Mitigations in full instead of their first lines.
    pub whole: bool,
}

/// Lists patterns, one per line.
pub fn list(patterns: &[Pattern], theme: &Theme) -> String {
    if patterns.is_empty() {
        return "No patterns found\n".to_owned();
    }
    let mut text = format!("Found {} pattern(s):\n\n", patterns.len());
    for pattern in patterns {
        let label = format!("[{}/{}]", pattern.severity, pattern.tier);
        let id = paint(theme.id, &pattern.id);
        // Twenty columns are the original's; a narrow terminal has better use for them.
        let columns = if theme.width.is_some() { 12 } else { 20 };
        let label = paint(theme.severity(&pattern.severity), format!("{label:<columns$}"));
        put(&mut text, format_args!("{id}  {label}  {}", pattern.name));
    }
    text
}

/// Lists patterns, a paragraph each.
pub fn list_verbose(patterns: &[Pattern], theme: &Theme) -> String {
    if patterns.is_empty() {
        return "No patterns found\n".to_owned();
    }
    let mut text = format!("Found {} pattern(s):\n\n", patterns.len());
    for pattern in patterns {
        put(&mut text, format_args!("[{}] {}", pattern.tier, paint(theme.id, &pattern.id)));
        put(&mut text, format_args!("  Name:     {}", paint(theme.heading, &pattern.name)));
        put(&mut text, format_args!("  Category: {} > {}", pattern.category, pattern.subcategory));
        let severity = paint(theme.severity(&pattern.severity), &pattern.severity);
        put(&mut text, format_args!("  Severity: {severity} | Likelihood: {}", pattern.likelihood));
        put(&mut text, format_args!("  Language: {} | Framework: {}\n", pattern.language, pattern.framework));
    }
    text
}

/// Shows one pattern.
pub fn pattern(pattern: &Pattern, extras: Extras, theme: &Theme) -> String {
    let mut text = String::new();
    put(&mut text, format_args!("{}: {}", paint(theme.id, &pattern.id), paint(theme.heading, &pattern.name)));
    let severity = paint(theme.severity(&pattern.severity), &pattern.severity);
    put(
        &mut text,
        format_args!("Tier: {} | Severity: {severity} | Likelihood: {}", pattern.tier, pattern.likelihood),
    );
    put(&mut text, format_args!("Category: {} > {}", pattern.category, pattern.subcategory));
    put(&mut text, format_args!("Language: {} | Framework: {}", pattern.language, pattern.framework));
    put(&mut text, format_args!("{}\n", paint(theme.faint, "=".repeat(60))));

    section(&mut text, "DESCRIPTION", theme);
    put(&mut text, format_args!("{}\n", theme.prose(pattern.description.trim(), 0)));
    if !pattern.boundary.is_empty() {
        section(&mut text, "BOUNDARY", theme);
        put(&mut text, format_args!("{}\n", pattern.boundary.trim()));
    }
    section(&mut text, "AGENT SUMMARY", theme);
    put(&mut text, format_args!("Threat: {}", theme.prose(&pattern.agent_summary.threat, 8)));
    put(&mut text, format_args!("Check:  {}", theme.prose(&pattern.agent_summary.check, 8)));
    put(&mut text, format_args!("Fix:    {}\n", theme.prose(&pattern.agent_summary.fix, 8)));

    bullets(&mut text, "LLM BLINDSPOTS", &pattern.differentiation.llm_blindspots, theme);
    bullets(&mut text, "SIGNALS", &pattern.signals, theme);
    mitigations(&mut text, pattern, extras.whole || theme.width.is_some(), theme);
    if extras.code {
        code(&mut text, pattern, theme);
    }
    bullets(&mut text, "ACCEPTANCE CRITERIA", &pattern.acceptance_criteria, theme);
    bullets(&mut text, "GENERALIZES TO", &pattern.generalizes_to, theme);
    references(&mut text, pattern, theme);
    text.push('\n');
    text
}

/// Shows the answer to a query, with the reasons for each pattern if requested.
pub fn query(answer: &Answer, why: Option<&[Hit<'_>]>, theme: &Theme) -> String {
    if answer.pattern_count == 0 && theme.width.is_some() {
        let note = answer.note.as_deref().map(|note| format!("Note: {note}\n")).unwrap_or_default();
        return format!(
            "No pattern is about this. That does not mean that nothing can go wrong; `tmkb list` shows what there is.\n{note}"
        );
    }
    let mut text = format!("Found {} relevant threat pattern(s)\n", answer.pattern_count);
    put(&mut text, format_args!("{}\n", paint(theme.faint, "=".repeat(50))));
    let mut number = 0;
    for summary in &answer.patterns {
        number += 1;
        let severity = paint(theme.severity(&summary.severity), format!("Severity: {}", summary.severity));
        put(&mut text, format_args!("[{number}] {} ({severity})", paint(theme.id, &summary.id)));
        sentences(&mut text, [&summary.threat, &summary.check, &summary.fix], theme);
        written_for(&mut text, summary.written_for.as_deref(), theme);
        reasons(&mut text, &summary.id, why, theme);
    }
    for detail in &answer.verbose_patterns {
        number += 1;
        verbose(&mut text, number, detail, theme);
        written_for(&mut text, detail.written_for.as_deref(), theme);
        reasons(&mut text, &detail.id, why, theme);
    }
    if let Some(code) = &answer.code_pattern {
        template(&mut text, code, theme);
    }
    if let Some(note) = &answer.note {
        put(&mut text, format_args!("{}{}", paint(theme.heading, "NOTE:   "), theme.prose(note, 8)));
    }
    text.push('\n');
    text
}

/// Shows the findings of the validation, and the files that could not be read. Patterns without findings appear in
/// verbose output.
pub fn validation(
    checked: &[(&Pattern, Vec<Finding>)],
    problems: &[PatternProblem],
    verbose: bool,
    theme: &Theme,
) -> String {
    if checked.is_empty() && problems.is_empty() {
        return "No patterns found to validate\n".to_owned();
    }
    let mut text = String::new();
    for problem in problems {
        put(&mut text, format_args!("{} {problem}\n", paint(theme.bad, "✗")));
    }
    let (mut n_errors, mut n_warnings) = (problems.len(), 0);
    for (pattern, findings) in checked {
        let errors = findings.iter().filter(|finding| finding.severity == Severity::Error).count();
        n_errors += errors;
        n_warnings += findings.len() - errors;
        if findings.is_empty() && !verbose {
            continue;
        }
        let mark = if errors > 0 { paint(theme.bad, "✗") } else { paint(theme.good, "✓") };
        put(&mut text, format_args!("{mark} {}", pattern.id));
        for finding in findings {
            let label = match finding.severity {
                Severity::Error => paint(theme.bad, "ERROR: "),
                Severity::Warning => paint(theme.warning, "WARN:  "),
            };
            put(&mut text, format_args!("  {label}{} - {}", finding.field, finding.message));
        }
        if !findings.is_empty() {
            text.push('\n');
        }
    }
    let n = checked.len();
    put(&mut text, format_args!("\nValidated {n} pattern(s): {n_errors} error(s), {n_warnings} warning(s)"));
    text
}

fn mitigations(text: &mut String, pattern: &Pattern, whole: bool, theme: &Theme) {
    if pattern.mitigations.is_empty() {
        return;
    }
    section(text, "MITIGATIONS", theme);
    for mitigation in pattern.mitigations.iter() {
        let name = if mitigation.name.is_empty() { &mitigation.id } else { &mitigation.name };
        put(text, format_args!("[{}] {}", paint(theme.id, &mitigation.id), paint(theme.heading, name)));
        let (effectiveness, effort) = (&mitigation.effectiveness, &mitigation.implementation_effort);
        put(text, format_args!("    Effectiveness: {effectiveness} | Effort: {effort}"));
        let description = match (theme.width, whole) {
            (Some(_), _) => theme.prose(mitigation.description.trim(), 4),
            (None, true) => mitigation.description.trim().replace('\n', "\n    "),
            (None, false) => mitigation.description.split('\n').next().unwrap_or_default().to_owned(),
        };
        put(text, format_args!("    {description}\n"));
    }
}

fn code(text: &mut String, pattern: &Pattern, theme: &Theme) {
    let examples = pattern.mitigations.first().map(|mitigation| &mitigation.code_examples);
    let Some(example) = examples.and_then(|examples| examples.first()) else {
        return;
    };
    for (title, code) in
        [("VULNERABLE CODE", &example.vulnerable_code), ("SECURE CODE", &example.secure_code)]
    {
        if !code.is_empty() {
            section(text, title, theme);
            put(text, format_args!("{}\n", code.trim_end()));
        }
    }
}

fn references(text: &mut String, pattern: &Pattern, theme: &Theme) {
    let references = &pattern.provenance.public_references;
    if references.is_empty() {
        return;
    }
    section(text, "REFERENCES", theme);
    for reference in references {
        let id = if reference.cwe.is_empty() { &reference.owasp } else { &reference.cwe };
        if !id.is_empty() {
            put(text, format_args!("• {id}: {}", reference.name));
        }
        if !reference.url.is_empty() {
            put(text, format_args!("  {}", paint(theme.faint, &reference.url)));
        }
    }
}

fn verbose(text: &mut String, number: usize, detail: &Detail, theme: &Theme) {
    let severity = paint(theme.severity(&detail.severity), format!("Severity: {}", detail.severity));
    let (id, name) = (paint(theme.id, &detail.id), paint(theme.heading, &detail.name));
    put(text, format_args!("[{number}] {id}: {name} ({severity})"));
    sentences(text, [&detail.threat, &detail.check, &detail.fix], theme);
    put(text, format_args!("{}\n", theme.prose(detail.description.trim(), 0)));
    for measure in &detail.mitigations {
        let name = if measure.name.is_empty() { &measure.description } else { &measure.name };
        let name = name.lines().next().unwrap_or_default();
        put(text, format_args!("• [{}] {name} (effectiveness {})", measure.id, measure.effectiveness));
    }
    text.push('\n');
}

fn sentences(text: &mut String, [threat, check, fix]: [&String; 3], theme: &Theme) {
    put(text, format_args!("{}", paint(theme.faint, "-".repeat(40))));
    for (label, sentence) in [("THREAT: ", threat), ("CHECK:  ", check), ("FIX:    ", fix)] {
        put(text, format_args!("{}{}\n", paint(theme.heading, label), theme.prose(sentence, 8)));
    }
}

fn written_for(text: &mut String, stack: Option<&str>, theme: &Theme) {
    if let Some(stack) = stack {
        let label = paint(theme.heading, "FOR:    ");
        put(text, format_args!("{label}{stack}; the threat is the same elsewhere, the code is not\n"));
    }
}

fn reasons(text: &mut String, id: &str, why: Option<&[Hit<'_>]>, theme: &Theme) {
    let hit = why.and_then(|hits| hits.iter().find(|hit| hit.pattern.id == id));
    if let Some(hit) = hit.filter(|hit| !hit.reasons.is_empty()) {
        let reasons: Vec<String> = hit.reasons.iter().map(ToString::to_string).collect();
        let reasons = theme.prose(&reasons.join("; "), 8);
        put(text, format_args!("{}{reasons}\n", paint(theme.heading, "WHY:    ")));
    }
}

fn template(text: &mut String, code: &CodePattern, theme: &Theme) {
    put(text, format_args!("{}", paint(theme.faint, "=".repeat(50))));
    put(text, format_args!("{}", paint(theme.heading, "SECURE CODE TEMPLATE")));
    put(text, format_args!("Language: {} | Framework: {}", code.language, code.framework));
    put(text, format_args!("{}", paint(theme.faint, "-".repeat(40))));
    put(text, format_args!("{}", code.secure_template));
}

fn bullets(text: &mut String, title: &str, items: &[String], theme: &Theme) {
    if items.is_empty() {
        return;
    }
    section(text, title, theme);
    for item in items {
        put(text, format_args!("• {}", theme.prose(item, 2)));
    }
    text.push('\n');
}

fn section(text: &mut String, title: &str, theme: &Theme) {
    put(text, format_args!("{}", paint(theme.heading, title)));
    put(text, format_args!("{}", paint(theme.faint, "-".repeat(40))));
}

fn put(text: &mut String, line: fmt::Arguments<'_>) {
    writeln!(text, "{line}").expect("writing to a string");
}

fn paint<T: fmt::Display>(style: Style, text: T) -> String {
    format!("{}{text}{}", style.render(), style.render_reset())
}

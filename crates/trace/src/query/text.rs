//! Answers for people.

use std::io::{self, Write};

use super::execution::LineExecution;
use super::{CitedAt, QueryAnswer, QueryCheck, QueryFinding, QueryOutcome, Related};
use crate::annotation::AnnotationKind;
use crate::comment::Style;
use crate::report::Report;
use crate::target::TargetPath;

/// Writes answers: findings with problems in full, others as a number or also in full.
pub fn write(
    report: &Report<'_>,
    answers: &[QueryAnswer],
    is_verbose: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    let page = TextAnswer { report, places: super::places(report), is_verbose };
    for answer in answers {
        page.answer(answer, out)?;
    }
    let failed: Vec<&str> =
        answers.iter().filter(|answer| !answer.is_passed()).map(|answer| answer.check.name()).collect();
    match (failed.len(), answers.len()) {
        (0, 1) => writeln!(out, "passed"),
        (0, n_checks) => writeln!(out, "all {n_checks} checks passed"),
        (1, 1) => writeln!(out, "failed"),
        (n_failed, n_checks) => {
            writeln!(out, "{n_failed} of {n_checks} checks failed: {}", failed.join(", "))
        }
    }
}

struct TextAnswer<'a> {
    report: &'a Report<'a>,
    places: Vec<Option<CitedAt>>,
    is_verbose: bool,
}

impl TextAnswer<'_> {
    fn answer(&self, answer: &QueryAnswer, out: &mut dyn Write) -> io::Result<()> {
        let verdict = if answer.is_passed() { "passed" } else { "failed" };
        write!(out, "{}: {verdict}, {}", answer.check.name(), count(answer))?;
        match answer.n_measurements {
            Some(1) => writeln!(out, " according to 1 coverage report")?,
            Some(number) => writeln!(out, " according to {number} coverage reports")?,
            None => writeln!(out)?,
        }
        let mut is_shown = false;
        for finding in &answer.findings {
            if self.is_verbose || !finding.outcome.is_passed() {
                is_shown = true;
                self.finding(answer.check, finding, out)?;
            }
        }
        if is_shown { writeln!(out) } else { Ok(()) }
    }

    fn finding(&self, check: QueryCheck, finding: &QueryFinding, out: &mut dyn Write) -> io::Result<()> {
        let annotation = &self.report.annotations[finding.annotation as usize].annotation;
        let mark = if finding.outcome.is_passed() { '+' } else { '-' };
        let what = label(check, finding);
        let place = match check {
            QueryCheck::Implementation => self.requirement(finding.annotation),
            _ => self.place(finding.annotation),
        };
        writeln!(out, "  {mark} {place}: {what} ({})", annotation.target)?;
        if finding.outcome == QueryOutcome::Missing {
            return self.proposal(check, finding, out);
        }
        if !annotation.quote.is_empty() {
            writeln!(out, "      {}", annotation.quote)?;
        }
        if finding.outcome == QueryOutcome::Unmatched {
            writeln!(out, "      the section has: {}", self.original(finding.annotation))?;
        }
        for words in &finding.missing {
            writeln!(out, "      not covered: {words}")?;
        }
        for related in &finding.related {
            self.related(related, out)?;
        }
        Ok(())
    }

    /// Writes the annotation that is missing.
    fn proposal(&self, check: QueryCheck, finding: &QueryFinding, out: &mut dyn Write) -> io::Result<()> {
        let annotation = &self.report.annotations[finding.annotation as usize].annotation;
        let Style { meta, content } = Style::default();
        writeln!(out, "      {meta} {}", annotation.target)?;
        if check == QueryCheck::Test {
            writeln!(out, "      {meta} type={}", AnnotationKind::Test)?;
        }
        writeln!(out, "      {content} {}", annotation.quote)
    }

    fn related(&self, related: &Related, out: &mut dyn Write) -> io::Result<()> {
        let kind = self.report.annotations[related.annotation as usize].annotation.kind;
        write!(out, "      {}: {kind}", self.place(related.annotation))?;
        match related.execution {
            Some(execution) => writeln!(out, ", {}", describe(execution)),
            None => writeln!(out),
        }
    }

    /// Writes the place of an annotation.
    fn place(&self, number: u32) -> String {
        let numbered = &self.report.annotations[number as usize];
        format!("{}:{}", self.report.files[numbered.file as usize].path, numbered.annotation.line)
    }

    /// Says where a requirement stands: in its specification, for the file of requirements may be in memory alone.
    fn requirement(&self, number: u32) -> String {
        let is_requirement = self.report.annotations[number as usize].annotation.kind == AnnotationKind::Spec;
        let Some(place) = self.places[number as usize].filter(|_| is_requirement) else {
            return self.place(number);
        };
        let target = &self.report.targets[place.target as usize];
        match target.target.path {
            TargetPath::Path(_) => format!("{}:{}", target.name, place.line),
            TargetPath::Url(_) => format!("{} line {}", target.name, place.line),
        }
    }

    /// Returns the words of the specification that an annotation quotes, exactly or nearly.
    fn original(&self, number: u32) -> String {
        let Some(place) = self.places[number as usize] else {
            return String::new();
        };
        let target = &self.report.targets[place.target as usize];
        let own = target.references.iter().filter(|reference| reference.annotation == number);
        let words: Vec<&str> =
            own.map(|reference| reference.span.of_text(&target.specification.text)).collect();
        words.join(" ")
    }
}

fn count(answer: &QueryAnswer) -> String {
    let of = |wanted: &dyn Fn(QueryOutcome) -> bool| {
        answer.findings.iter().filter(|finding| wanted(finding.outcome)).count()
    };
    let n_passed = of(&|outcome| outcome.is_passed() && outcome != QueryOutcome::Skipped);
    let n_skipped = of(&|outcome| outcome == QueryOutcome::Skipped);
    let n_all = of(&|outcome| outcome != QueryOutcome::Skipped);
    let (of_what, is_done) = match answer.check {
        QueryCheck::Implementation => ("requirements", "implemented"),
        QueryCheck::Test => ("implementations", "tested"),
        QueryCheck::Coverage | QueryCheck::ExecutedCoverage => ("tests", "shown to run what they test"),
        QueryCheck::Duplicates => ("annotations", "no duplicates"),
    };
    let text = format!("{n_passed} of {n_all} {of_what} are {is_done}");
    if n_skipped > 0 { format!("{text} ({n_skipped} skipped that did not run)") } else { text }
}

fn label(check: QueryCheck, finding: &QueryFinding) -> String {
    let done = if check == QueryCheck::Test { "tested" } else { "implemented" };
    match finding.outcome {
        QueryOutcome::Complete => done.to_owned(),
        QueryOutcome::Partial => format!("{done} in part"),
        QueryOutcome::Missing => format!("not {done}; the annotation would be"),
        QueryOutcome::Mixed if finding.missing.is_empty() => "implemented, but a todo is left".to_owned(),
        QueryOutcome::Mixed => "implemented in part, and a todo is left".to_owned(),
        QueryOutcome::Todo => "only a todo".to_owned(),
        QueryOutcome::Executed => "ran, and so did what it tests".to_owned(),
        QueryOutcome::Skipped => "did not run".to_owned(),
        QueryOutcome::NoImplementation => "tests what nobody implements".to_owned(),
        QueryOutcome::TestNotExecuted => describe(finding.execution.unwrap_or(LineExecution::NotExecuted)),
        QueryOutcome::ImplementationNotExecuted => "ran, but not all that it tests".to_owned(),
        QueryOutcome::Unique => "the only one".to_owned(),
        QueryOutcome::Overlap => "shares words with others".to_owned(),
        QueryOutcome::Duplicate if finding.related.is_empty() => "quotes nothing".to_owned(),
        QueryOutcome::Duplicate => "says what others say".to_owned(),
        QueryOutcome::Unmatched => {
            "differs from its section, and checks take quotes word for word".to_owned()
        }
    }
}

fn describe(execution: LineExecution) -> String {
    match execution {
        LineExecution::Executed => "ran".to_owned(),
        LineExecution::NotExecuted => "did not run".to_owned(),
        LineExecution::Structural => {
            "stands above nothing that can run; `type=implication` needs no run".to_owned()
        }
        LineExecution::Unknown(0) => "stands above no code".to_owned(),
        LineExecution::Unknown(line) => format!("may have run or not: line {line} is not known to be code"),
    }
}

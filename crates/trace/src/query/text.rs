//! Answers for people.

use std::io::{self, Write};

use super::execution::Execution;
use super::{Answer, Check, Finding, Outcome, Place, Related};
use crate::annotation::AnnotationKind;
use crate::comment::Style;
use crate::report::Report;
use crate::target::TargetPath;

/// Writes answers: what is wrong in full, what is right as a number, or in full too.
pub fn write(
    report: &Report<'_>,
    answers: &[Answer],
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
    places: Vec<Option<Place>>,
    is_verbose: bool,
}

impl TextAnswer<'_> {
    fn answer(&self, answer: &Answer, out: &mut dyn Write) -> io::Result<()> {
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

    fn finding(&self, check: Check, finding: &Finding, out: &mut dyn Write) -> io::Result<()> {
        let annotation = &self.report.annotations[finding.annotation as usize].annotation;
        let mark = if finding.outcome.is_passed() { '+' } else { '-' };
        let what = label(check, finding);
        let place = match check {
            Check::Implementation => self.requirement(finding.annotation),
            _ => self.place(finding.annotation),
        };
        writeln!(out, "  {mark} {place}: {what} ({})", annotation.target)?;
        if finding.outcome == Outcome::Missing {
            return self.proposal(check, finding, out);
        }
        if !annotation.quote.is_empty() {
            writeln!(out, "      {}", annotation.quote)?;
        }
        if finding.outcome == Outcome::Unmatched {
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
    fn proposal(&self, check: Check, finding: &Finding, out: &mut dyn Write) -> io::Result<()> {
        let annotation = &self.report.annotations[finding.annotation as usize].annotation;
        let Style { meta, content } = Style::default();
        writeln!(out, "      {meta} {}", annotation.target)?;
        if check == Check::Test {
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

    /// Says where an annotation stands.
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

fn count(answer: &Answer) -> String {
    let of = |wanted: &dyn Fn(Outcome) -> bool| {
        answer.findings.iter().filter(|finding| wanted(finding.outcome)).count()
    };
    let n_passed = of(&|outcome| outcome.is_passed() && outcome != Outcome::Skipped);
    let n_skipped = of(&|outcome| outcome == Outcome::Skipped);
    let n_all = of(&|outcome| outcome != Outcome::Skipped);
    let (of_what, is_done) = match answer.check {
        Check::Implementation => ("requirements", "implemented"),
        Check::Test => ("implementations", "tested"),
        Check::Coverage | Check::ExecutedCoverage => ("tests", "shown to run what they test"),
        Check::Duplicates => ("annotations", "no duplicates"),
    };
    let text = format!("{n_passed} of {n_all} {of_what} are {is_done}");
    if n_skipped > 0 { format!("{text} ({n_skipped} skipped that did not run)") } else { text }
}

fn label(check: Check, finding: &Finding) -> String {
    let done = if check == Check::Test { "tested" } else { "implemented" };
    match finding.outcome {
        Outcome::Complete => done.to_owned(),
        Outcome::Partial => format!("{done} in part"),
        Outcome::Missing => format!("not {done}; the annotation would be"),
        Outcome::Mixed if finding.missing.is_empty() => "implemented, but a todo is left".to_owned(),
        Outcome::Mixed => "implemented in part, and a todo is left".to_owned(),
        Outcome::Todo => "only a todo".to_owned(),
        Outcome::Executed => "ran, and so did what it tests".to_owned(),
        Outcome::Skipped => "did not run".to_owned(),
        Outcome::NoImplementation => "tests what nobody implements".to_owned(),
        Outcome::TestNotExecuted => describe(finding.execution.unwrap_or(Execution::NotExecuted)),
        Outcome::ImplementationNotExecuted => "ran, but not all that it tests".to_owned(),
        Outcome::Unique => "the only one".to_owned(),
        Outcome::Overlap => "shares words with others".to_owned(),
        Outcome::Duplicate if finding.related.is_empty() => "quotes nothing".to_owned(),
        Outcome::Duplicate => "says what others say".to_owned(),
        Outcome::Unmatched => "differs from its section, and checks take quotes word for word".to_owned(),
    }
}

fn describe(execution: Execution) -> String {
    match execution {
        Execution::Executed => "ran".to_owned(),
        Execution::NotExecuted => "did not run".to_owned(),
        Execution::Structural => {
            "stands above nothing that can run; `type=implication` needs no run".to_owned()
        }
        Execution::Unknown(0) => "stands above no code".to_owned(),
        Execution::Unknown(line) => format!("may have run or not: line {line} is not known to be code"),
    }
}

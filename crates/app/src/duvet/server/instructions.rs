//! What agents are told when they connect: how to use the server, and what is really there.

use std::fmt::Write as _;

use trace::Diagnostic;
use trace::model::Model;

use super::list::shortened;

/// The prompt that clients know.
const SYSTEM_PROMPT: &str = include_str!("system_prompt.md");
/// How many specifications are named; the rest is in the list of them.
const SPECIFICATIONS_MAX: usize = 20;
/// How many problems of the project are told with each answer.
const PROBLEMS_MAX: usize = 3;

/// Writes the instructions.
pub fn write(model: &Model) -> String {
    format!("{SYSTEM_PROMPT}\n### This project\n{}", about(model))
}

/// What is really there.
pub fn about(model: &Model) -> String {
    let mut text = String::new();
    let catalogue = &model.catalogue;
    let [not_started, in_progress, needs_tests, done] = model.counts();
    let _ = writeln!(
        text,
        "{} requirements: {done} done, {needs_tests} need tests, {in_progress} in progress, {not_started} not \
         started. {} citations, {} invalid.",
        catalogue.requirements.len(),
        model.all_citations().count(),
        model.problems().filter(|problem| problem.is_error()).count(),
    );
    for specification in catalogue.specifications.iter().take(SPECIFICATIONS_MAX) {
        let _ = writeln!(text, "- `{}`: {} ({})", specification.id, specification.name, specification.url);
    }
    if catalogue.specifications.len() > SPECIFICATIONS_MAX {
        let n_more = catalogue.specifications.len() - SPECIFICATIONS_MAX;
        let _ = writeln!(text, "- and {n_more} more in `duvet:///specifications`");
    }
    text += "Resources are `duvet:///specifications…`, `duvet:///requirements`, `duvet:///citations`; bare paths work \
             too. Lists are cut at `max_tokens` (2000): go on with `cursor`.\n";
    for style in model.styles().into_iter().take(3) {
        let _ = writeln!(
            text,
            "Citations here look like `{} TARGET#SECTION` and `{} quoted text`.",
            style.meta, style.content
        );
    }
    let problems = problems(model);
    if !problems.is_empty() {
        text += "\n### Something is wrong with this project\n";
        for problem in problems {
            let _ = writeln!(text, "- {problem}");
        }
    }
    text
}

/// What is wrong with the project as a whole, in a line each.
pub fn problems(model: &Model) -> Vec<String> {
    model.general.iter().take(PROBLEMS_MAX).map(line).collect()
}

/// The same, in no more than so many tokens.
pub fn brief_problems(model: &Model, n_tokens_max: usize) -> Vec<String> {
    let mut problems = problems(model);
    while tokens::count(&problems.join("\n")) > n_tokens_max {
        match problems.as_mut_slice() {
            [only] if only.len() > 16 => *only = shortened(only),
            [_, _, ..] => drop(problems.pop()),
            _ => break,
        }
    }
    problems
}

/// A problem in a line.
pub fn line(problem: &Diagnostic) -> String {
    let mut line = String::new();
    if let Some(place) = problem.places.first() {
        let _ = write!(line, "{place}: ");
    }
    line += &problem.message;
    if let Some(help) = problem.help.first() {
        let _ = write!(line, " ({help})");
    }
    line
}

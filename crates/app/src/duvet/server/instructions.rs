//! The instructions for agents: how to use the server, and the contents of the project.

use std::fmt::Write as _;

use trace::Diagnostic;
use trace::model::Model;

use super::list::shortened;
use super::specifications;

/// The prompt of the original.
const SYSTEM_PROMPT: &str = include_str!("system_prompt.md");
/// How to combine the tools, and how to continue lists.
const LOOP: &str = "Take the next requirement, implement it, cite its `target` at the code, and validate the citation. An \
                    answer with `nextCursor` goes on with `cursor`.\n";
/// The maximal number of tokens of the project's summary: it names only the most unfinished specifications.
const SUMMARY_TOKENS_MAX: usize = 140;
const SPECIFICATIONS_MAX: usize = 5;
const TITLE_CHARACTERS_MAX: usize = 40;
const STYLES_MAX: usize = 2;
/// How many tokens problems may take in addition.
const PROBLEM_TOKENS_MAX: usize = 150;
/// How many problems of the project each answer includes.
const PROBLEMS_MAX: usize = 3;

/// Writes the instructions.
//@= spexus://REQ-198
//@# 003 §5: the system prompt opens the instructions, word for word
pub fn write(model: &Model) -> String {
    format!("{SYSTEM_PROMPT}\n### This project\n{}{LOOP}{}", summary(model), warning(model))
}

/// Reports the problems of the project as a whole, if any.
fn warning(model: &Model) -> String {
    let mut text = String::new();
    let problems = brief_problems(model, PROBLEM_TOKENS_MAX);
    if !problems.is_empty() {
        text += "\n### Something is wrong with this project\n";
        for problem in problems {
            let _ = writeln!(text, "- {problem}");
        }
    }
    text
}

/// Describes the project: progress, the most unfinished specifications that fit, and a sample citation.
fn summary(model: &Model) -> String {
    let [not_started, in_progress, needs_tests, done] = model.counts();
    let counts = format!(
        "{} requirements: {done} done, {needs_tests} need tests, {in_progress} in progress, {not_started} not \
         started. {} citations, {} invalid.\n",
        model.catalogue.requirements.len(),
        model.all_citations().count(),
        model.problems().filter(|problem| problem.is_error()).count(),
    );
    let mut styles = String::new();
    for style in model.styles().into_iter().take(STYLES_MAX) {
        let _ = writeln!(styles, "Citations: `{} TARGET`, then `{} QUOTE`.", style.meta, style.content);
    }
    let by_open = specifications::by_open(model).into_iter().filter(|(n_open, _)| *n_open > 0);
    let named = by_open.take(SPECIFICATIONS_MAX).map(|(n_open, specification)| {
        let title = specification.title.as_ref().unwrap_or(&specification.name);
        format!("`{}` ({}) {n_open}", specification.id, first_words(title))
    });
    let mut named: Vec<String> = named.collect();
    loop {
        let n_more = model.catalogue.specifications.len() - named.len();
        let open = match (named.is_empty(), n_more) {
            (true, _) => String::new(),
            (false, 0) => format!("Open: {}.\n", named.join(", ")),
            (false, _) => format!("Open: {}, and {n_more} more specifications.\n", named.join(", ")),
        };
        let text = format!("{counts}{open}{styles}");
        if named.pop().is_none() || tokens::count(&text) <= SUMMARY_TOKENS_MAX {
            return text;
        }
    }
}

/// The beginning of a title.
fn first_words(title: &str) -> String {
    let mut short = String::new();
    for word in title.split_whitespace() {
        if !short.is_empty() && short.chars().count() + word.chars().count() >= TITLE_CHARACTERS_MAX {
            return short + " …";
        }
        if !short.is_empty() {
            short.push(' ');
        }
        short += words::cut(word, TITLE_CHARACTERS_MAX);
    }
    short
}

/// The problems of the project as a whole, a line each.
pub fn problems(model: &Model) -> Vec<String> {
    model.general.iter().take(PROBLEMS_MAX).map(line).collect()
}

/// The same, within a token limit.
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

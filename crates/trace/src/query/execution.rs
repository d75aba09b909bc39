//! Determines whether the code below an annotation ran.
//!
//! An annotation applies to the first line below it that is neither blank, nor a comment, nor another annotation. If
//! the language is known, a line that cannot run by itself, such as the head of a method, ran if its body
//! did.

use std::collections::BTreeMap;

#[cfg(feature = "java")]
use super::java;
use super::line::{self, Block, Class};

/// For each line that has code, from 1 on, whether it ran.
pub type LineRuns = BTreeMap<u32, bool>;

/// The execution of the code below an annotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineExecution {
    /// It ran.
    Executed,
    /// It did not run.
    NotExecuted,
    /// It cannot run: there are only declarations, or nothing at all.
    Structural,
    /// Unknown because of this line; 0 if the file ends before there is any code.
    Unknown(u32),
}

/// The source code of a file, for the purpose of executions.
#[derive(Debug)]
pub enum SourceCode {
    /// In a supported language.
    Known {
        /// For each line what it holds, if that is known.
        classes: Vec<Option<Class>>,
        /// In the order in which they close.
        blocks: Vec<Block>,
    },
    /// In another language.
    Plain(Vec<Option<Class>>),
    /// In a supported language, but these lines cannot be parsed.
    Broken(Vec<u32>),
}

impl SourceCode {
    /// Reads a file. Its annotations are given by their first and last lines.
    pub fn read(path: &str, text: &str, annotations: impl Iterator<Item = (u32, u32)>) -> SourceCode {
        let (mut classes, blocks) = match parse(path, text) {
            Some(Ok((classes, blocks))) => (classes, Some(blocks)),
            Some(Err(lines)) => return SourceCode::Broken(lines),
            None => (line::plain(text), None),
        };
        for (first, last) in annotations {
            let last = (last as usize).min(classes.len());
            let first = (first as usize - 1).min(last);
            classes[first..last].fill(Some(Class::ANNOTATION));
        }
        let Some(mut blocks) = blocks else {
            return SourceCode::Plain(classes);
        };
        if blocks.is_empty() && !classes.is_empty() {
            blocks.push(Block { first: 1, last: classes.len() as u32 });
        }
        SourceCode::Known { classes, blocks }
    }

    /// Determines the execution of the code below an annotation.
    pub fn execution(&self, (first, last): (u32, u32), runs: &LineRuns) -> LineExecution {
        match self {
            SourceCode::Broken(lines) => LineExecution::Unknown(lines.first().copied().unwrap_or_default()),
            SourceCode::Plain(classes) => {
                let target = target(classes, last);
                match target.and_then(|line| runs.get(&line)) {
                    Some(true) => LineExecution::Executed,
                    Some(false) => LineExecution::NotExecuted,
                    None => LineExecution::Unknown(target.unwrap_or_default()),
                }
            }
            SourceCode::Known { classes, blocks } => {
                let bounds = (runs.keys().next(), runs.keys().next_back());
                if bounds.0 == Some(&0) || bounds.1.is_some_and(|line| *line as usize > classes.len()) {
                    // The measured file was a different one.
                    return LineExecution::Unknown(first);
                }
                match target(classes, last) {
                    Some(line) => known(line, classes, blocks, runs),
                    None => LineExecution::Structural,
                }
            }
        }
    }
}

/// The lines and blocks of a file, or its invalid lines.
type Parsed = Result<(Vec<Option<Class>>, Vec<Block>), Vec<u32>>;

/// Parses a file in a language whose grammar is built in.
#[cfg(feature = "java")]
fn parse(path: &str, text: &str) -> Option<Parsed> {
    let is_java = std::path::Path::new(path).extension().is_some_and(|extension| extension == "java");
    is_java.then(|| java::read(text).map(|java| (java.classes, java.blocks)))
}

#[cfg(not(feature = "java"))]
fn parse(_path: &str, _text: &str) -> Option<Parsed> {
    None
}

/// Finds the line that an annotation applies to. None if its block or the file ends before.
fn target(classes: &[Option<Class>], last: u32) -> Option<u32> {
    for (index, class) in classes.iter().enumerate().skip(last as usize) {
        let line = index as u32 + 1;
        let Some(class) = class else {
            return Some(line);
        };
        if [Class::BLANK, Class::COMMENT].contains(class) || class.has(Class::ANNOTATION) {
            continue;
        }
        let code = Class::STATEMENT.with(Class::DECLARATION).with(Class::OPENING);
        let is_end = class.has(Class::CLOSING) && !class.has(code);
        return (!is_end).then_some(line);
    }
    None
}

fn known(line: u32, classes: &[Option<Class>], blocks: &[Block], runs: &LineRuns) -> LineExecution {
    let Some(class) = classes[line as usize - 1] else {
        return LineExecution::Unknown(line);
    };
    if class.has(Class::LABEL) {
        return LineExecution::Unknown(line);
    }
    if ran(line, class, classes, blocks, runs) {
        return LineExecution::Executed;
    }
    if !class.has(Class::STATEMENT) && class.has(Class::DECLARATION) {
        let around = blocks.iter().filter(|block| block.contains(line));
        // Of equally long ones the first counts.
        let nearest = around.min_by_key(|block| block.last - block.first);
        if nearest.is_some_and(|block| !has(classes, *block, Class::STATEMENT)) {
            return LineExecution::Structural;
        }
    }
    LineExecution::NotExecuted
}

/// Whether a line ran, or introduces one that ran: one below in the same block, without a statement or the start or
/// end of a block between them.
fn ran(line: u32, class: Class, classes: &[Option<Class>], blocks: &[Block], runs: &LineRuns) -> bool {
    let is_run = |line: u32| runs.get(&line) == Some(&true);
    if is_run(line) {
        return true;
    }
    if class.has(Class::STATEMENT.with(Class::CLOSING)) {
        return false;
    }
    for below in line + 1..=classes.len() as u32 {
        if is_run(below) {
            // Within a block that has places to jump to, nothing follows from the order of lines.
            let is_linear = |block: &&Block| {
                block.contains(line) && block.contains(below) && !has(classes, **block, Class::LABEL)
            };
            return blocks.iter().any(|block| is_linear(&block));
        }
        let stop = Class::STATEMENT.with(Class::CLOSING).with(Class::OPENING);
        if classes[below as usize - 1].is_none_or(|class| class.has(stop)) {
            return false;
        }
    }
    false
}

fn has(classes: &[Option<Class>], block: Block, wanted: Class) -> bool {
    let lines = &classes[block.first as usize - 1..(block.last as usize).min(classes.len())];
    lines.iter().flatten().any(|class| class.has(wanted))
}

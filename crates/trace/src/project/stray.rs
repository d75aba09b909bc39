//! Finds comments that look like citations but are ignored: quotes without a target, quotes after a gap,
//! marks that their file does not use.

use std::path::Path;
use std::sync::Arc;

use rayon::prelude::*;

use crate::comment::{Spaced, Style, StyleUse};
use crate::diagnostic::{Code, Diagnostic, Place};
use crate::model::Model;
use crate::text::{self, Span};

use super::read_inside;

/// Searches the source code of a project. Unreadable files are reported elsewhere.
pub fn strays(model: &Model) -> Vec<Diagnostic> {
    let found = model.setting.sources.par_iter().map(|path| {
        let used = model.setting.styles.iter().filter(|used| used.is_of(path));
        let styles: Vec<&Style> = used.map(|used: &StyleUse| &used.style).collect();
        match read_inside(&model.setting.root, Path::new(&**path)) {
            Ok(text) if !styles.is_empty() => strays_in(model, path, &text, &styles),
            _ => Vec::new(),
        }
    });
    found.flatten().collect()
}

/// The role of a line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Meta,
    Quote,
    Blank,
    Other,
}

fn strays_in(model: &Model, path: &Arc<str>, text: &str, styles: &[&Style]) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let mut known = (0, 1);
    let mut at = |line: &str, label: &str| Place::near(path, text, Span::of(line, text), label, &mut known);
    for style in styles {
        // With `#=` and `#` the mark of a quote is that of any comment.
        let has_quotes = !style.content.is_empty() && !style.meta.starts_with(&*style.content);
        let spaced = Spaced::of(path, style);
        let mut before = Role::Other;
        let mut is_citing = false;
        let mut is_after_gap = false;
        for line in text::lines(text).map(str::trim) {
            let role = match &spaced {
                Some(spaced) if spaced.meta(line).is_some() => Role::Meta,
                Some(spaced) if is_citing && spaced.content(line).is_some() => Role::Quote,
                _ => role(line, style),
            };
            match role {
                Role::Meta => (is_citing, is_after_gap) = (true, false),
                Role::Quote if is_citing => {}
                Role::Quote => {
                    if before != Role::Quote && has_quotes {
                        found.push(match is_after_gap {
                            true => {
                                Diagnostic::warning(Code::StrayQuote, "the quote is cut off from its target")
                                    .at(at(line, "after a gap"))
                                    .help("a citation is lines without a gap: remove what stands between")
                            }
                            false => Diagnostic::warning(Code::StrayQuote, "the quote has no target")
                                .at(at(line, "quotes nothing"))
                                .help(format!("put `{} TARGET#SECTION` above it", style.meta)),
                        });
                    }
                }
                Role::Blank | Role::Other => {
                    is_after_gap = is_citing || is_after_gap && role == Role::Blank && before == Role::Blank;
                    is_citing = false;
                }
            }
            before = role;
        }
    }
    for line in text::lines(text).map(str::trim) {
        if let Some(mark) = foreign_mark(model, line, styles) {
            let own = &styles[0];
            let message = format!("`{mark}` does not make a citation in this file");
            let help = format!("citations here are written with `{}` and `{}`", own.meta, own.content);
            found.push(Diagnostic::warning(Code::CommentStyle, message).at(at(line, "not read")).help(help));
        }
    }
    found
}

fn role(line: &str, style: &Style) -> Role {
    if line.is_empty() {
        Role::Blank
    } else if line.starts_with(&*style.meta) {
        Role::Meta
    } else if let Some(quote) = line.strip_prefix(&*style.content) {
        // Other text may start in the same way, such as disabled code: `//#define`.
        if quote.is_empty() || quote.starts_with([' ', '\t']) { Role::Quote } else { Role::Other }
    } else {
        Role::Other
    }
}

/// The longest recognised mark.
const MARK_SIZE_MAX_BYTES: usize = 8;

/// Returns the mark of a line that names a specification of the project in a style that its file does not use.
fn foreign_mark<'a>(model: &Model, line: &'a str, styles: &[&Style]) -> Option<&'a str> {
    let end = line.bytes().take(MARK_SIZE_MAX_BYTES).position(|byte| byte == b'=')? + 1;
    let (mark, target) = line.split_at(end);
    let is_mark = mark.len() > 1 && mark.bytes().all(|byte| byte.is_ascii_punctuation() || byte == b' ');
    let target = target.trim();
    let (path, section) = target.split_once('#')?;
    let is_own = styles.iter().any(|style| line.starts_with(&*style.meta));
    let is_target = !section.is_empty() && !target.contains(char::is_whitespace);
    (is_mark && !is_own && is_target && model.resolve(path).is_some()).then_some(mark)
}

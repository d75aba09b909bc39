//! Finds annotations in the comments of source code, line by line, for any language.
//!
//! A line counts if it starts with the meta or the content mark. An annotation is one or more meta lines, then
//! any number of content lines, without anything in between.

use std::cell::Cell;
use std::sync::Arc;

use memchr::memmem::Finder;
use nearest::nearest;

use crate::annotation::{Annotation, AnnotationKind, Level, Notes, Places, Unknown};
use crate::diagnostic::{Code, Diagnostic, Place};
use crate::interner::Interner;
use crate::managed;
use crate::specification::Format;
use crate::text::Span;

/// The marks of annotations.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Style {
    /// Starts a metadata line.
    pub meta: Arc<str>,
    /// Starts a line of the quote.
    pub content: Arc<str>,
}

impl Default for Style {
    fn default() -> Style {
        Style { meta: "//=".into(), content: "//#".into() }
    }
}

/// The extensions of files with `#` comments only.
const WITH_HASH: [&str; 12] =
    ["py", "pyi", "rb", "sh", "bash", "pl", "toml", "yml", "yaml", "tf", "ex", "exs"];

impl Style {
    /// The default marks for the language of a file, by the end of its path or glob.
    pub fn usual(path: &str) -> Style {
        let ending = path.rsplit_once('.').map_or("", |(_, ending)| ending);
        match WITH_HASH.contains(&ending) {
            true => Style { meta: "#=".into(), content: "##".into() },
            false => Style::default(),
        }
    }

    /// Whether its marks are comments in the language of a file, as far as known.
    pub fn is_comment_in(&self, path: &str) -> bool {
        let needs_hash = Style::usual(path) != Style::default();
        !needs_hash || [&self.meta, &self.content].iter().all(|mark| mark.starts_with('#'))
    }
}

/// A comment style, and its files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StyleUse {
    /// The marks.
    pub style: Style,
    /// The default type of annotations.
    pub default_kind: AnnotationKind,
    /// The globs of the files that have it.
    pub patterns: Vec<String>,
}

impl StyleUse {
    /// Whether files of that path, relative to the project, have it.
    pub fn is_of(&self, path: &str) -> bool {
        let options = glob::MatchOptions { require_literal_separator: true, ..glob::MatchOptions::new() };
        let matches = |pattern: &String| {
            let pattern = glob::Pattern::new(pattern.trim_start_matches("./"));
            pattern.is_ok_and(|pattern| pattern.matches_with(path, options))
        };
        self.patterns.iter().any(matches)
    }
}

/// The keys that meta lines may have.
pub const KEYS: &[&str] = &["source", "type", "level", "format", "reason", "feature", "tracking-issue"];

/// Finds the annotations of a file.
pub fn scan(
    path: &Arc<str>,
    text: &str,
    style: &Style,
    default_kind: AnnotationKind,
    interner: &Interner,
) -> (Vec<Annotation>, Vec<Diagnostic>) {
    let mut scanner = Scanner {
        path,
        text,
        default_kind,
        interner,
        quote: String::new(),
        annotations: Vec::new(),
        diagnostics: Vec::new(),
        known_line: Cell::new((0, 1)),
        spaced: None,
    };
    let spaced = Spaced::of(path, style);
    scanner.spaced = spaced.as_ref();
    let mut marks = Mark::new(&style.meta, text);
    let mut spaced_marks = spaced.as_ref().map(|spaced| Mark::new(&spaced.meta, text));
    let mut position = 0;
    let mut counted = 0;
    let mut n_lines = 0;
    let mut next = |position: usize| {
        let first = marks.next(text, position);
        match spaced_marks.as_mut().and_then(|marks| marks.next(text, position)) {
            Some(second) => Some(first.map_or(second, |first| first.min(second))),
            None => first,
        }
    };
    while let Some(at) = next(position) {
        let start = memchr::memrchr(b'\n', &text.as_bytes()[..at]).map_or(0, |end| end + 1);
        n_lines += memchr::memchr_iter(b'\n', &text.as_bytes()[counted..start]).count();
        counted = start;
        let n_read = scanner.run(style, start, n_lines as u32 + 1);
        // A line that is not a meta line may contain the mark many times, and is still only one line.
        let end = if n_read > 0 { start + n_read } else { line_end(text, at) };
        position = end.max(position);
        if end >= text.len() {
            break;
        }
    }
    (scanner.annotations, scanner.diagnostics)
}

/// A mark, and its next occurrence. It is searched once in each part of the text.
struct Mark<'a> {
    finder: Finder<'a>,
    next: Option<usize>,
}

impl<'a> Mark<'a> {
    fn new(mark: &'a str, text: &str) -> Mark<'a> {
        let finder = Finder::new(mark.as_bytes());
        Mark { next: finder.find(text.as_bytes()), finder }
    }

    /// Returns the first occurrence from a position on.
    fn next(&mut self, text: &str, position: usize) -> Option<usize> {
        if self.next.is_some_and(|next| next < position) {
            self.next = self.finder.find(&text.as_bytes()[position..]).map(|found| position + found);
        }
        self.next
    }
}

fn line_end(text: &str, from: usize) -> usize {
    memchr::memchr(b'\n', &text.as_bytes()[from..]).map_or(text.len(), |end| from + end + 1)
}

struct Scanner<'a> {
    path: &'a Arc<str>,
    text: &'a str,
    default_kind: AnnotationKind,
    interner: &'a Interner,
    /// Where the lines of a quote are joined.
    quote: String,
    annotations: Vec<Annotation>,
    diagnostics: Vec<Diagnostic>,
    /// Where some line starts, and its number.
    known_line: Cell<(usize, u32)>,
    spaced: Option<&'a Spaced>,
}

/// Marks as gofmt formats them above a declaration: `// =` and `// #`.
pub(crate) struct Spaced {
    meta: String,
    content: String,
}

impl Spaced {
    /// The marks of a style after gofmt; none if gofmt does not change them.
    pub fn of(path: &str, style: &Style) -> Option<Spaced> {
        if !path.ends_with(".go") {
            return None;
        }
        let spaced = |mark: &str| {
            let sign =
                mark.strip_prefix("//").filter(|sign| sign.starts_with(|sign: char| !sign.is_whitespace()));
            sign.map(|sign| format!("// {sign}"))
        };
        Some(Spaced { meta: spaced(&style.meta)?, content: spaced(&style.content)? })
    }

    /// The content of a meta line. Other comments start with `// =` as well, so a line counts only if it has a target
    /// or a key.
    pub fn meta<'a>(&self, line: &'a str) -> Option<&'a str> {
        let body = line.strip_prefix(&*self.meta)?;
        let text = body.trim();
        let is_key = text.split_once('=').is_some_and(|(key, _)| KEYS.contains(&key.trim_end()));
        let is_target =
            !text.contains(char::is_whitespace) && (text.contains('#') || managed::is_managed(text));
        (body.starts_with([' ', '\t']) && (is_key || is_target)).then_some(body)
    }

    /// The content of a line of a quote.
    pub fn content<'a>(&self, line: &'a str) -> Option<&'a str> {
        line.strip_prefix(&*self.content)
    }
}

/// The meta lines of an annotation so far. Values are slices of the file.
#[derive(Default)]
struct Meta<'a> {
    first: Option<(&'a str, u32)>,
    /// Where its first line starts in the file.
    start: usize,
    /// How many problems were reported before it.
    n_problems: usize,
    target: Option<&'a str>,
    kind: Option<(AnnotationKind, &'a str)>,
    level: Option<(Level, &'a str)>,
    format: Option<(Format, &'a str)>,
    reasons: Vec<&'a str>,
    feature: Option<&'a str>,
    tracking_issue: Option<&'a str>,
}

impl<'a> Scanner<'a> {
    /// Reads lines from one that has the meta mark somewhere, as long as they belong to annotations, and returns how
    /// many bytes they have.
    fn run(&mut self, style: &Style, start: usize, mut line: u32) -> usize {
        let mut meta = Meta::default();
        let mut contents: Vec<&str> = Vec::new();
        let mut position = start;
        while position < self.text.len() {
            let end = line_end(self.text, position);
            let body = self.text[position..end].trim_end_matches('\n');
            let body = body.strip_suffix('\r').unwrap_or(body).trim_start();
            // A blank line ends an annotation even if the marks are empty.
            if body.is_empty() {
                break;
            }
            let spaced = self.spaced;
            let meta_body =
                body.strip_prefix(&*style.meta).or_else(|| spaced.and_then(|spaced| spaced.meta(body)));
            let content = |body: &'a str| {
                let spaced = || spaced.and_then(|spaced| spaced.content(body));
                body.strip_prefix(&*style.content).or_else(spaced)
            };
            if let Some(body) = meta_body {
                if !contents.is_empty() {
                    self.finish(std::mem::take(&mut meta), &contents, position);
                    contents.clear();
                }
                if meta.first.is_none() {
                    (meta.start, meta.n_problems) = (position, self.diagnostics.len());
                }
                self.on_meta(&mut meta, body.trim_start(), line);
            } else if meta.first.is_none() {
                break;
            } else if let Some(body) = content(body) {
                let body = body.trim();
                if !body.is_empty() {
                    contents.push(body);
                }
            } else {
                break;
            }
            position = end;
            line += 1;
        }
        self.finish(meta, &contents, position);
        position - start
    }

    /// Ends an annotation whose lines end at a position. Its problems are reported with all of its lines.
    fn finish(&mut self, meta: Meta<'a>, contents: &[&'a str], end: usize) {
        let Some((_, line)) = meta.first else {
            return;
        };
        let (start, n_problems, n_annotations) = (meta.start, meta.n_problems, self.annotations.len());
        let comment = &self.text[start..end];
        let last_line = line + memchr::memchr_iter(b'\n', comment.trim_end().as_bytes()).count() as u32;
        self.add(meta, contents, last_line);
        if self.diagnostics.len() == n_problems {
            return;
        }
        if let Some(annotation) = self.annotations.get_mut(n_annotations) {
            annotation.notes.get_or_insert_default().is_invalid = true;
        }
        let lines: Vec<&str> = comment.lines().map(str::trim).collect();
        let comment: Arc<str> = lines.join("\n").into();
        for problem in &mut self.diagnostics[n_problems..] {
            problem.annotation = Some((line, comment.clone()));
        }
    }

    fn on_meta(&mut self, meta: &mut Meta<'a>, body: &'a str, line: u32) {
        let (key, value) = match body.split_once('=') {
            Some((key, value)) => (Some(key.trim_end()), value.trim()),
            None => (None, body.trim_end()),
        };
        meta.first.get_or_insert((value, line));
        let before = match key {
            None | Some("source") => meta.target.replace(value),
            Some("type") => match self.value(value, "type", value.parse()) {
                Some(kind) => meta.kind.replace((kind, value)).map(|(_, value)| value),
                None => None,
            },
            Some("level") => match self.value(value, "level", value.parse()) {
                Some(level) => meta.level.replace((level, value)).map(|(_, value)| value),
                None => None,
            },
            Some("format") => match self.value(value, "format", value.parse()) {
                Some(format) => meta.format.replace((format, value)).map(|(_, value)| value),
                None => None,
            },
            Some("reason") => {
                meta.reasons.push(value);
                None
            }
            Some("feature") => meta.feature.replace(value),
            Some("tracking-issue") => meta.tracking_issue.replace(value),
            Some(key) => {
                self.unknown_key(key, value);
                None
            }
        };
        if let Some(before) = before {
            let key = key.unwrap_or("source");
            let mut error = Diagnostic::error(Code::DuplicateKey, format!("duplicate key `{key}`"))
                .at(self.place(value, "again here"))
                .at(self.place(before, "first here"));
            if key == "source" {
                error = error.help("one annotation has one target; leave a line free to start another");
            }
            self.diagnostics.push(error);
        }
    }

    fn value<T>(&mut self, value: &str, key: &str, parsed: Result<T, Unknown>) -> Option<T> {
        let Unknown { allowed } = match parsed {
            Ok(value) => return Some(value),
            Err(unknown) => unknown,
        };
        let mut error =
            Diagnostic::error(Code::InvalidValue, format!("there is no {key} `{}`", brief(value)))
                .at(self.place(value, "not allowed here"))
                .help(format!("expected one of {}", allowed.join(", ")));
        if let Some(nearest) = nearest(value, allowed.iter().copied()) {
            error = error.help(format!("did you mean `{nearest}`?"));
        }
        self.diagnostics.push(error);
        None
    }

    fn unknown_key(&mut self, key: &str, value: &str) {
        let mut error = Diagnostic::error(Code::UnknownKey, format!("there is no key `{}`", brief(key)))
            .at(self.place(key, "not a key"));
        error = if key.contains("://") || key.contains('#') {
            error.help("a target with `=` in it is written as `source=…`")
        } else if key.is_empty() || value.starts_with('=') {
            error.help("if this is a line of decoration, put a blank or another character behind the mark")
        } else {
            error.help(format!("expected one of {}, or a target", KEYS.join(", ")))
        };
        if let Some(nearest) = nearest(key, KEYS.iter().copied()) {
            error = error.help(format!("did you mean `{nearest}`?"));
        }
        self.diagnostics.push(error);
    }

    fn add(&mut self, meta: Meta<'a>, contents: &[&'a str], last_line: u32) {
        let Some((first, line)) = meta.first else {
            return;
        };
        let Some(target) = meta.target else {
            let error = Diagnostic::error(Code::MissingTarget, "the annotation names no specification")
                .at(self.place(first, "starts here"))
                .help("one of its lines is the target: a path or URL, `#`, a section");
            self.diagnostics.push(error);
            return;
        };
        let kind = meta.kind.map_or(self.default_kind, |(kind, _)| kind);
        let is_todo = kind == AnnotationKind::Todo;
        let takes_reason = matches!(
            kind,
            AnnotationKind::Exception
                | AnnotationKind::Implication
                | AnnotationKind::Citation
                | AnnotationKind::Test
        );
        for (key, is_allowed, value) in [
            ("reason", takes_reason, meta.reasons.first().copied()),
            ("tracking-issue", is_todo, meta.tracking_issue),
            ("feature", is_todo, meta.feature),
        ] {
            if let Some(value) = value.filter(|_| !is_allowed) {
                let message = format!("`{key}` does not belong to type {kind}");
                let error = Diagnostic::error(Code::MisplacedKey, message).at(self.place(value, "not here"));
                self.diagnostics.push(error.help(match key {
                    "reason" => "a reason belongs to an exception, implication, implementation or test",
                    _ => "it belongs to type todo",
                }));
                return;
            }
        }

        let first = Span::of(first, self.text);
        let mut places = Places { target: Span::of(target, self.text), text: first, quote: first };
        if let (Some(start), Some(end)) = (contents.first(), contents.last()) {
            places.quote = Span { start: self.span(start).start, end: self.span(end).end };
            places.text =
                Span { start: first.start.min(places.quote.start), end: first.end.max(places.quote.end) };
        }
        let notes = Notes {
            comment: meta.reasons.join(" "),
            tracking_issue: meta.tracking_issue.unwrap_or_default().to_owned(),
            feature: meta.feature.unwrap_or_default().to_owned(),
            ..Notes::default()
        };
        self.quote.clear();
        for content in contents {
            if !self.quote.is_empty() {
                self.quote.push(' ');
            }
            self.quote.push_str(content);
        }
        self.annotations.push(Annotation {
            line,
            last_line,
            kind,
            level: meta.level.map_or(Level::Auto, |(level, _)| level),
            format: meta.format.map_or(Format::Auto, |(format, _)| format),
            target: self.interner.intern(target),
            quote: self.interner.intern(&self.quote),
            notes: (!notes.is_empty()).then(|| Box::new(notes)),
            places,
        });
    }

    fn span(&self, part: &str) -> Span {
        Span::of(part, self.text)
    }

    fn place(&self, part: &str, label: &str) -> Place {
        let mut known = self.known_line.get();
        let place = Place::near(self.path, self.text, self.span(part), label, &mut known);
        self.known_line.set(known);
        place
    }
}

/// Shortens a text for a message.
fn brief(text: &str) -> String {
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

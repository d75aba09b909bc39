//! `.spexus/project.toml`: which project a repository belongs to, and what of it is read. It comes with the repository, so
//! that nothing in it is believed: it names no path outside, and no server gets a token because of it.

use std::collections::BTreeMap;
use std::path::{Component, Path};
use std::sync::Arc;

use serde::Deserialize;
use toml::Spanned;
use trace::diagnostic::Place;
use trace::managed::is_project_key;
use trace::project::read_if_there;
use trace::{Code, Diagnostic, Span, Style};

/// Where it is.
pub const PROJECT_FILE: &str = ".spexus/project.toml";

/// Larger files are refused.
const SIZE_MAX_BYTES: usize = 64 << 10;
/// Patterns of one list.
const PATTERNS_MAX: usize = 100;
/// Names of tests.
const TESTS_MAX: usize = 1_000;
/// A name, a pattern or an address.
const TEXT_MAX_BYTES: usize = 500;

/// What closes a requirement, from least to most.
const VERDICTS: [&str; 3] = ["passed", "witnessed", "proven"];
/// How far a run is trusted, from least to most.
const TRUST: [&str; 3] = ["local", "token", "oidc"];

/// What the file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectFile {
    /// The key of the project.
    pub project: String,
    /// What the repository is called.
    pub repository: Option<String>,
    /// The origin of the server that has the project; without one it is in the local store.
    pub server: Option<String>,
    /// Globs of test reports.
    pub reports: Vec<String>,
    /// What counts as done.
    pub policy: Policy,
    /// Tests by the names that reports have for them.
    pub tests: BTreeMap<String, String>,
    /// Source code beside what `.duvet/config.toml` names.
    pub sources: Vec<SourcePattern>,
}

/// What counts as done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// The verdict that closes a requirement.
    pub closes: String,
    /// The least trust that a run must have.
    pub trust: String,
    /// The refs whose runs count; all if there are none.
    pub refs: Vec<String>,
}

/// Source code, and the marks of its citations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourcePattern {
    /// A glob.
    pub pattern: String,
    /// The marks, if they are not the usual ones of the language.
    pub style: Option<(String, String)>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    project: Spanned<String>,
    repository: Option<Spanned<String>>,
    server: Option<Spanned<String>>,
    #[serde(default)]
    reports: Vec<Spanned<String>>,
    #[serde(default)]
    policy: PolicyTable,
    #[serde(default)]
    tests: BTreeMap<String, Spanned<String>>,
    #[serde(default, rename = "source")]
    sources: Vec<SourceTable>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct PolicyTable {
    closes: Option<Spanned<String>>,
    trust: Option<Spanned<String>>,
    #[serde(default)]
    refs: Vec<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SourceTable {
    pattern: Spanned<String>,
    #[serde(rename = "comment-style")]
    style: Option<StyleTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StyleTable {
    meta: Spanned<String>,
    content: Spanned<String>,
}

impl ProjectFile {
    /// Reads the file of a project, if it has one.
    pub fn read(root: &Path) -> Result<Option<ProjectFile>, Vec<Diagnostic>> {
        match read_if_there(root, PROJECT_FILE.as_ref()) {
            Ok(Some(text)) => ProjectFile::parse(&text).map(Some),
            Ok(None) => Ok(None),
            Err(problem) => {
                let message = format!("{PROJECT_FILE}: {problem}");
                Err(vec![Diagnostic::error(Code::Configuration, message).at(Place::file(PROJECT_FILE, ""))])
            }
        }
    }

    /// Parses its text. Reports all problems at once.
    pub fn parse(text: &str) -> Result<ProjectFile, Vec<Diagnostic>> {
        let path: Arc<str> = PROJECT_FILE.into();
        let at = |message: String, span: std::ops::Range<usize>| {
            let place = Place::new(&path, text, Span::new(span.start, span.end), "here");
            Diagnostic::error(Code::Configuration, message).at(place)
        };
        if text.len() > SIZE_MAX_BYTES {
            return Err(vec![at(format!("the file has more than {SIZE_MAX_BYTES} bytes"), 0..0)]);
        }
        let table: Table = toml::from_str(text).map_err(|error| {
            let message = error.message().to_owned();
            let problem = at(message.clone(), error.span().unwrap_or(0..0));
            vec![match nearest_key(&message) {
                Some(nearest) => problem.help(format!("did you mean `{nearest}`?")),
                None => problem,
            }]
        })?;
        let mut checks = Checks { problems: Vec::new(), at: &at };
        checks.count("reports", table.reports.len(), PATTERNS_MAX);
        checks.count("source", table.sources.len(), PATTERNS_MAX);
        checks.count("refs", table.policy.refs.len(), PATTERNS_MAX);
        checks.count("tests", table.tests.len(), TESTS_MAX);
        let key = &table.project;
        if !is_project_key(key.as_ref()) {
            let message =
                format!("expected the key of a project such as SHOP, found {:?}", shown(key.as_ref()));
            checks.wrong(message, key);
        }
        let file = ProjectFile {
            project: key.as_ref().clone(),
            repository: table.repository.as_ref().map(|name| checks.text("repository", name)),
            server: table.server.as_ref().map(|server| checks.server(server)),
            reports: table.reports.iter().map(|pattern| checks.pattern(pattern)).collect(),
            policy: Policy {
                closes: checks.one_of("closes", table.policy.closes.as_ref(), &VERDICTS, "witnessed"),
                trust: checks.one_of("trust", table.policy.trust.as_ref(), &TRUST, "local"),
                refs: table.policy.refs.iter().map(|name| checks.text("refs", name)).collect(),
            },
            tests: table
                .tests
                .iter()
                .map(|(name, test)| (name.clone(), checks.text("tests", test)))
                .collect(),
            sources: table.sources.iter().map(|source| checks.source(source)).collect(),
        };
        if checks.problems.is_empty() { Ok(file) } else { Err(checks.problems) }
    }

    /// Its source code, as options of a project name it.
    pub fn source_patterns(&self) -> impl Iterator<Item = String> {
        self.sources.iter().map(|source| {
            let usual = || {
                let Style { meta, content } = Style::usual(&source.pattern);
                (meta.to_string(), content.to_string())
            };
            let (meta, content) = source.style.clone().unwrap_or_else(usual);
            format!("({meta},{content}){}", source.pattern)
        })
    }
}

/// What is wrong with values.
struct Checks<'a> {
    problems: Vec<Diagnostic>,
    at: &'a dyn Fn(String, std::ops::Range<usize>) -> Diagnostic,
}

impl Checks<'_> {
    fn wrong(&mut self, message: String, value: &Spanned<String>) {
        self.problems.push((self.at)(message, value.span()));
    }

    fn count(&mut self, name: &str, count: usize, most: usize) {
        if count > most {
            self.problems.push((self.at)(format!("`{name}` has {count} entries; {most} are allowed"), 0..0));
        }
    }

    fn text(&mut self, name: &str, value: &Spanned<String>) -> String {
        let text = value.as_ref();
        let is_plain = !text.trim().is_empty() && !text.chars().any(char::is_control);
        if !is_plain || text.len() > TEXT_MAX_BYTES {
            self.wrong(format!("`{name}`: expected a line of at most {TEXT_MAX_BYTES} bytes"), value);
        }
        text.clone()
    }

    /// A glob that stays in the repository.
    fn pattern(&mut self, value: &Spanned<String>) -> String {
        let text = self.text("pattern", value);
        let leads_out = |part: Component<'_>| !matches!(part, Component::Normal(_) | Component::CurDir);
        if text.starts_with(['~', '(']) || text.contains('\\') || Path::new(&text).components().any(leads_out)
        {
            let message =
                format!("{:?} leads out of the repository; paths are relative to its root", shown(&text));
            self.wrong(message, value);
        }
        text
    }

    fn one_of(
        &mut self,
        name: &str,
        value: Option<&Spanned<String>>,
        allowed: &[&str],
        default: &str,
    ) -> String {
        let Some(value) = value else { return default.to_owned() };
        let text = value.as_ref();
        if !allowed.contains(&text.as_str()) {
            let near = nearest::nearest(text, allowed.iter().copied());
            let near = near.map(|near| format!("; did you mean {near:?}?")).unwrap_or_default();
            let message =
                format!("`{name}`: expected one of {}, found {:?}{near}", allowed.join(", "), shown(text));
            self.wrong(message, value);
        }
        text.clone()
    }

    /// The origin of a server.
    fn server(&mut self, value: &Spanned<String>) -> String {
        match origin(value.as_ref()) {
            Ok(origin) => origin,
            Err(problem) => {
                self.wrong(format!("`server`: {problem}"), value);
                String::new()
            }
        }
    }

    fn source(&mut self, source: &SourceTable) -> SourcePattern {
        let pattern = self.pattern(&source.pattern);
        let style = source.style.as_ref().map(|style| {
            for mark in [&style.meta, &style.content] {
                let text = self.text("comment-style", mark);
                if text.contains([',', ')']) {
                    self.wrong("a mark cannot have `,` or `)`".to_owned(), mark);
                }
            }
            (style.meta.as_ref().clone(), style.content.as_ref().clone())
        });
        SourcePattern { pattern, style }
    }
}

/// The origin of a server's address: scheme, host and port. Whatever else an address has is refused.
pub fn origin(address: &str) -> Result<String, String> {
    let expected =
        || format!("expected an address such as https://spexus.example.org, found {:?}", shown(address));
    let url = reqwest::Url::parse(address).map_err(|_| expected())?;
    let is_plain = matches!(url.path(), "/" | "/api/v1" | "/api/v1/")
        && url.query().is_none()
        && url.fragment().is_none()
        && url.username().is_empty()
        && url.password().is_none();
    if !matches!(url.scheme(), "http" | "https") || !is_plain {
        return Err(expected());
    }
    Ok(url.origin().ascii_serialization())
}

/// The key that was meant by one that there is not, from what the parser says of it.
fn nearest_key(message: &str) -> Option<&str> {
    let (_, rest) = message.split_once("unknown field `")?;
    let (found, expected) = rest.split_once('`')?;
    nearest::nearest(found, expected.split('`').skip(1).step_by(2))
}

/// Shortens what a message repeats.
fn shown(text: &str) -> String {
    text.chars().take(80).collect()
}

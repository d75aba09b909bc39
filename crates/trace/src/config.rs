//! The configuration of a project, `.duvet/config.toml`.

use std::sync::Arc;

use serde::Deserialize;
use toml::Spanned;

use crate::annotation::AnnotationKind;
use crate::comment::Style;
use crate::diagnostic::{Code, Diagnostic, Place};
use crate::requirement_file::toml_error;
use crate::specification::Format;
use crate::text::Span;

/// The schema named in new configurations.
pub const SCHEMA: &str = "https://awslabs.github.io/duvet/config/v0.4.0.json";
const SCHEMAS: &[&str] = &[SCHEMA, "https://awslabs.github.io/duvet/config/v0.4.json"];

/// Files that always count as requirement files.
const REQUIREMENT_PATTERNS: &[&str] =
    &[".duvet/requirements/**/*.toml", ".duvet/todos/**/*.toml", ".duvet/exceptions/**/*.toml"];

/// A project's configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Source code.
    pub sources: Vec<Source>,
    /// Globs of requirement files.
    pub requirements: Vec<String>,
    /// The specifications whose requirements count.
    pub specifications: Vec<SpecificationSource>,
    /// The reports.
    pub report: Reports,
}

/// Source code that may have annotations.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    /// A glob.
    pub pattern: String,
    /// The marks of annotations.
    pub style: Style,
    /// The default type of annotations.
    pub default_kind: AnnotationKind,
    /// The base URL of its files.
    pub blob_link: Option<Arc<str>>,
}

/// A specification whose requirements count.
#[derive(Clone, Debug, PartialEq)]
pub struct SpecificationSource {
    /// A path or URL.
    pub source: String,
    /// How it is written.
    pub format: Format,
    /// Where the configuration says so.
    pub place: Place,
}

/// The reports that a configuration asks for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reports {
    /// The page.
    pub html: Option<String>,
    /// The JSON report.
    pub json: Option<String>,
    /// The snapshot.
    pub snapshot: Option<String>,
    /// The base URL of files.
    pub blob_link: Option<String>,
    /// The base URL of issues.
    pub issue_link: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(rename = "$schema")]
    schema: Option<Spanned<String>>,
    #[serde(default, rename = "source")]
    sources: Vec<SourceTable>,
    #[serde(default, rename = "requirement")]
    requirements: Vec<RequirementTable>,
    #[serde(default, rename = "specification")]
    specifications: Vec<Spanned<SpecificationTable>>,
    #[serde(default)]
    report: ReportTables,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SourceTable {
    pattern: String,
    #[serde(default, rename = "comment-style")]
    style: StyleTable,
    #[serde(default, rename = "type")]
    kind: KindName,
    #[serde(rename = "blob-link")]
    blob_link: Option<Spanned<String>>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct StyleTable {
    meta: Option<String>,
    content: Option<String>,
}

#[derive(Deserialize, Default, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum KindName {
    #[default]
    Implementation,
    Spec,
    Test,
    Exception,
    Todo,
    Implication,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RequirementTable {
    pattern: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SpecificationTable {
    #[serde(default)]
    source: String,
    format: Option<FormatName>,
}

#[derive(Deserialize, Clone, Copy)]
enum FormatName {
    #[serde(rename = "ietf", alias = "IETF")]
    Ietf,
    #[serde(rename = "markdown", alias = "md")]
    Markdown,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct ReportTables {
    #[serde(default)]
    html: HtmlTable,
    #[serde(default)]
    json: ReportTable,
    #[serde(default)]
    snapshot: ReportTable,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct HtmlTable {
    enabled: Option<bool>,
    path: Option<String>,
    #[serde(rename = "blob-link")]
    blob_link: Option<Spanned<String>>,
    #[serde(rename = "issue-link")]
    issue_link: Option<Spanned<String>>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct ReportTable {
    enabled: Option<bool>,
    path: Option<String>,
}

impl Config {
    /// Parses a configuration. Expressions such as `${{ SHA || 'main' }}` take their values from `environment`.
    pub fn parse(
        path: &Arc<str>,
        text: &str,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Config, Vec<Diagnostic>> {
        let file: File = toml::from_str(text).map_err(|error| {
            vec![Diagnostic { code: Code::Configuration, ..toml_error(path, text, &error) }]
        })?;
        let mut problems = Vec::new();
        let problem = |message: String, span: Span, label: &str| {
            Diagnostic::error(Code::Configuration, message).at(Place::new(path, text, span, label))
        };
        match &file.schema {
            Some(schema) if is_known(schema.as_ref()) => {}
            Some(schema) => problems.push(
                problem("this schema is not known".to_owned(), schema.span().into(), "unknown")
                    .help(format!("expected '$schema' = \"{SCHEMA}\"")),
            ),
            None => problems.push(
                problem("the configuration names no schema".to_owned(), Span::default(), "missing")
                    .help(format!("start it with '$schema' = \"{SCHEMA}\"")),
            ),
        }
        let mut link = |value: &Option<Spanned<String>>| {
            let value = value.as_ref()?;
            match evaluate(value.as_ref(), environment) {
                Ok(link) => Some(link),
                Err(message) => {
                    problems.push(problem(message, value.span().into(), "in this template"));
                    None
                }
            }
        };

        let report = Reports {
            html: file.report.html.enabled.unwrap_or(true).then(|| {
                file.report.html.path.clone().unwrap_or_else(|| ".duvet/reports/report.html".to_owned())
            }),
            json: enabled(&file.report.json, ".duvet/reports/report.json"),
            snapshot: enabled(&file.report.snapshot, ".duvet/snapshot.txt"),
            blob_link: link(&file.report.html.blob_link),
            issue_link: link(&file.report.html.issue_link),
        };
        let sources = file.sources.iter().map(|source| {
            let default = Style::default();
            Source {
                pattern: source.pattern.clone(),
                style: Style {
                    meta: source.style.meta.as_deref().map_or(default.meta, Arc::from),
                    content: source.style.content.as_deref().map_or(default.content, Arc::from),
                },
                default_kind: source.kind.into(),
                blob_link: link(&source.blob_link).map(Arc::from),
            }
        });
        let sources = sources.collect();
        if !problems.is_empty() {
            return Err(problems);
        }
        let requirements = REQUIREMENT_PATTERNS.iter().map(|pattern| (*pattern).to_owned());
        Ok(Config {
            sources,
            requirements: requirements
                .chain(file.requirements.into_iter().map(|requirement| requirement.pattern))
                .collect(),
            specifications: file
                .specifications
                .into_iter()
                .map(|table| SpecificationSource {
                    place: Place::new(path, text, table.span().into(), "configured here"),
                    format: match table.as_ref().format {
                        None => Format::Auto,
                        Some(FormatName::Ietf) => Format::Ietf,
                        Some(FormatName::Markdown) => Format::Markdown,
                    },
                    source: table.into_inner().source,
                })
                .collect(),
            report,
        })
    }
}

fn is_known(schema: &str) -> bool {
    SCHEMAS.contains(&schema.strip_suffix('#').unwrap_or(schema))
}

fn enabled(table: &ReportTable, default: &str) -> Option<String> {
    let path = || table.path.clone().unwrap_or_else(|| default.to_owned());
    table.enabled.unwrap_or(false).then(path)
}

impl From<KindName> for AnnotationKind {
    fn from(name: KindName) -> AnnotationKind {
        match name {
            KindName::Implementation => AnnotationKind::Citation,
            KindName::Spec => AnnotationKind::Spec,
            KindName::Test => AnnotationKind::Test,
            KindName::Exception => AnnotationKind::Exception,
            KindName::Todo => AnnotationKind::Todo,
            KindName::Implication => AnnotationKind::Implication,
        }
    }
}

/// Replaces `${{ A || B || 'text' }}` by the first of these that exists.
fn evaluate(template: &str, environment: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut parts = template.split("${{");
    let mut value = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (expression, rest) = part.split_once("}}").ok_or("`${{` without `}}`")?;
        let choice =
            expression.split("||").map(str::trim).find_map(|choice| match choice.strip_prefix('\'') {
                Some(text) => Some(text.trim_end_matches('\'').to_owned()),
                None => environment(choice),
            });
        value += &choice.ok_or_else(|| format!("no part of `{}` has a value", expression.trim()))?;
        value += rest;
    }
    Ok(value)
}

//! A specification as one self-contained file: no script, no network, no server.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::markdown::{Markdown, Surroundings};

/// The content security policy of such a file: it may only use its own style.
pub const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// A file that is written sequentially: its start, any number of projects, its end.
pub struct File<'a> {
    /// The title of the file.
    pub title: &'a str,
}

impl File<'_> {
    /// Everything before the first project.
    pub fn start(&self) -> String {
        let style = [design::TOKENS, design::STATES, crate::STYLE, include_str!("file.css")].concat();
        // The rest is streamed as it is read, so the enclosing elements stay open.
        let head = html! {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="referrer" content="no-referrer";
                title { (self.title) }
                // A style of the program's own.
                style { (PreEscaped(style)) }
            }
        };
        let running = html! { div.running aria-hidden="true" { (self.title) } };
        let (doctype, head, running) = (DOCTYPE.into_string(), head.into_string(), running.into_string());
        format!("{doctype}<html lang=\"en\">{head}<body><main class=\"specification\">{running}\n")
    }

    /// Everything after the last project.
    pub fn end(&self) -> &'static str {
        "</main></body></html>\n"
    }
}

/// The number of entities of a kind.
pub struct KindCount {
    /// The plural name of the kind.
    pub kind: &'static str,
    /// The total.
    pub total: i64,
    /// The number with each status.
    pub statuses: Vec<(String, i64)>,
}

/// The title page of a project or an epic.
pub struct FrontMatter<'a> {
    /// The title.
    pub title: &'a str,
    /// The name of the project, if the title is an epic's.
    pub project: Option<&'a str>,
    /// A description, in Markdown.
    pub description: Option<&'a str>,
    /// The date of the last change, such as `2026-11-17`.
    pub date: &'a str,
    /// The number of entities of each kind.
    pub counts: Vec<KindCount>,
    /// The target of a reference.
    pub link: &'a dyn Fn(&str) -> Option<String>,
}

impl FrontMatter<'_> {
    /// The title page, with the outline begun after it.
    pub fn start(&self) -> String {
        let markdown = Markdown { link: self.link, below: 1, surroundings: Surroundings::File };
        let page = html! {
            header.front {
                @if let Some(project) = self.project { p.lead { (project) } }
                h1 { (self.title) }
                @if let Some(description) = self.description { div.prose { (markdown.render(description)) } }
                p.date { "Last changed on " time datetime=(self.date) { (self.date) } }
                table.counts {
                    caption { "Contents by status" }
                    thead { tr { th scope="col" { "Kind" } th scope="col" { "Number" } th scope="col" { "By status" } } }
                    tbody {
                        @for KindCount { kind, total, statuses } in &self.counts {
                            @let words: Vec<String> = statuses.iter().map(|(name, count)| format!("{count} {name}")).collect();
                            tr { th scope="row" { (kind) } td.count { (total) } td { (words.join(", ")) } }
                        }
                    }
                }
            }
        };
        format!("{}\n<nav class=\"outline\" aria-label=\"Contents\"><h2>Contents</h2>\n", page.into_string())
    }

    /// The HTML between the outline and the sections.
    pub fn after_outline(&self) -> &'static str {
        "</nav>\n"
    }
}

/// A link between two requirements.
pub struct LinkRow<'a> {
    /// The reference of the source.
    pub source: &'a str,
    /// The type of the link.
    pub type_name: &'a str,
    /// The reference of the target.
    pub target: &'a str,
    /// Whether the target has changed since the link was confirmed.
    pub is_suspect: bool,
}

/// The HTML before the rows of the table of links.
pub fn links_start() -> String {
    let head = html! { thead { tr { th scope="col" { "From" } th scope="col" { "Link" } th scope="col" { "To" } th scope="col" { "State" } } } };
    format!("<section class=\"links\"><h2>Links</h2><table>{}<tbody>\n", head.into_string())
}

/// A row of the table of links.
pub fn links_row(row: &LinkRow<'_>, link: &dyn Fn(&str) -> Option<String>) -> Markup {
    let end = |reference: &str| match link(reference) {
        Some(address) => html! { a.reference href=(address) { (reference) } },
        None => html! { span.reference { (reference) } },
    };
    html! {
        tr class=[row.is_suspect.then_some("suspect")] {
            td { (end(row.source)) }
            td { (row.type_name.replace('_', " ")) }
            td { (end(row.target)) }
            td { @if row.is_suspect { "suspect: " (row.target) " has changed" } @else { "confirmed" } }
        }
    }
}

/// The HTML after the rows of the table of links.
pub fn links_end() -> &'static str {
    "</tbody></table></section>\n"
}

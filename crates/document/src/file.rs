//! A specification as one file, which needs nothing else: no script, no network, no server.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::markdown::{Markdown, Surroundings};

/// What a browser lets such a file do: show itself in its own style.
pub const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// A file that is written from top to bottom: its start, any number of projects, its end.
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

/// How many there are of a kind.
pub struct KindCount {
    /// What several of them are called.
    pub kind: &'static str,
    /// How many there are.
    pub total: i64,
    /// How many have each status.
    pub statuses: Vec<(String, i64)>,
}

/// The title page of a project or an epic.
pub struct FrontMatter<'a> {
    /// What it is called.
    pub title: &'a str,
    /// The name of the project, where the title is an epic's.
    pub project: Option<&'a str>,
    /// What it is about, in Markdown.
    pub description: Option<&'a str>,
    /// The date of the last change, such as `2026-11-17`.
    pub date: &'a str,
    /// How many there are of each kind.
    pub counts: Vec<KindCount>,
    /// Where a reference leads.
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

    /// What comes between the outline and the sections.
    pub fn after_outline(&self) -> &'static str {
        "</nav>\n"
    }
}

/// A link between two requirements.
pub struct LinkRow<'a> {
    /// Where it starts.
    pub source: &'a str,
    /// What it is called.
    pub type_name: &'a str,
    /// Where it leads.
    pub target: &'a str,
    /// Whether the target has changed since somebody looked.
    pub is_suspect: bool,
}

/// What comes before the rows of the table of links.
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

/// What comes after the rows of the table of links.
pub fn links_end() -> &'static str {
    "</tbody></table></section>\n"
}

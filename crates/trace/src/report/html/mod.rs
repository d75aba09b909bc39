//! The page: a project in one self-contained HTML file.
//!
//! The data is JSON in the page; the JavaScript in this folder displays it. Text of the project is only ever
//! data, from which the JavaScript creates text nodes, so that nothing in a specification is executed.

use std::io::{self, Write};

use crate::model::Model;

mod data;
pub mod part;
mod section;
mod source;

/// The input of the page.
pub struct Page<'a> {
    /// The name of the project.
    pub title: String,
    /// The model.
    pub model: &'a Model,
    /// The base URL of files.
    pub blob_link: Option<&'a str>,
    /// The base URL of issues.
    pub issue_link: Option<&'a str>,
    /// Reads a source file by its path, for the lines of citations. Optional.
    pub read: Option<&'a ReadSource<'a>>,
}

/// Reads a source file by its path, relative to the project.
pub type ReadSource<'a> = dyn Fn(&str) -> Option<String> + Sync + 'a;

impl std::fmt::Debug for Page<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Page").field("title", &self.title).finish_non_exhaustive()
    }
}

impl<'a> Page<'a> {
    /// Shows a project, with links as it is configured.
    pub fn new(title: String, model: &'a Model) -> Page<'a> {
        let setting = &model.setting;
        Page {
            title,
            model,
            blob_link: setting.blob_link.as_deref(),
            issue_link: setting.issue_link.as_deref(),
            read: None,
        }
    }
}

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
/// In the order of their dependencies.
const SCRIPTS: &[&str] = &[
    include_str!("element.js"),
    include_str!("model.js"),
    include_str!("list.js"),
    include_str!("problems.js"),
    include_str!("outline.js"),
    include_str!("text.js"),
    include_str!("citation.js"),
    include_str!("detail.js"),
    include_str!("page.js"),
];

impl Page<'_> {
    /// Writes the page.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let diagnostics = self.model.diagnostics();
        let data = serde_json::to_string(&data::Data::new(self, &diagnostics)).map_err(io::Error::from)?;
        let data = inert(&data);
        // Only the script with this hash may run. Injected text would have to contain its own hash.
        let nonce = blake3::hash(data.as_bytes()).to_hex();
        let mut rest = PAGE;
        while let Some((before, after)) = rest.split_once("{{") {
            let (name, after) = after.split_once("}}").unwrap_or((after, ""));
            out.write_all(before.as_bytes())?;
            match name {
                "nonce" => out.write_all(&nonce.as_bytes()[..32])?,
                "title" => out.write_all(escape(&self.title).as_bytes())?,
                "style" => {
                    for style in [design::TOKENS, design::STATES, STYLE] {
                        out.write_all(style.as_bytes())?;
                    }
                }
                "data" => out.write_all(data.as_bytes())?,
                _ => SCRIPTS.iter().try_for_each(|script| out.write_all(script.as_bytes()))?,
            }
            rest = after;
        }
        out.write_all(rest.as_bytes())
    }
}

/// Escapes JSON for the page: nothing in it ends or starts an element, or a line of JavaScript.
fn inert(json: &str) -> String {
    let mut text = String::with_capacity(json.len() + json.len() / 50);
    for character in json.chars() {
        match character {
            '<' => text.push_str("\\u003c"),
            '>' => text.push_str("\\u003e"),
            '&' => text.push_str("\\u0026"),
            '\u{2028}' => text.push_str("\\u2028"),
            '\u{2029}' => text.push_str("\\u2029"),
            character => text.push(character),
        }
    }
    text
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

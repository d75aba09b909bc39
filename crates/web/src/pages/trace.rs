//! `/p/{key}/trace/{spec}`: the text of a specification, underlined by how far it is in the code, with the citations of each
//! requirement. A long one is shown some sections at a time.

use maud::{Markup, html};
use serde_json::{Value, json};

use super::traces::{address, class, states, waiting};
use crate::page::{Answers, Asked, Page, Question, Shown, Source, View, encode};
use crate::parts::text;

pub const PAGE: Page = Page { path: "/p/{key}/trace/{spec}", nav: None, ask, show };

fn ask(asked: &Asked, answers: &Answers) -> Vec<Question> {
    if answers.has("trace") {
        return Vec::new();
    }
    let mut about = json!({"project": asked.parameter("key"), "specification": asked.parameter("spec")});
    if let Some(section) = asked.first("section") {
        about["section"] = json!(section);
    }
    vec![Question::of("trace", Source::Traces, about)]
}

fn show(view: &View<'_>) -> Shown {
    let null = Value::Null;
    let (key, trace) = (view.asked.parameter("key"), view.answers.get("trace").unwrap_or(&null));
    let project = Some(key.to_owned());
    if let Some(waiting) = waiting(key, trace) {
        let body = html! { div.page { h1 { "Trace" } (waiting) } };
        return Shown { title: "Trace".to_owned(), project, body };
    }
    let here = Here { path: address(key, text(trace, "id")), key, trace, at: view.asked.first("at") };
    let body = html! {
        article.traced-page {
            nav.sections aria-label="Outline" {
                p { a href={ "/p/" (key) "/trace" } { "All specifications" } }
                ol { @for section in list(trace, "outline") { (here.outlined(section)) } }
            }
            div.text {
                h1 { (text(trace, "name")) }
                p.muted { (text(trace, "about")) " " (outside(text(trace, "target"))) }
                (states(&trace["counts"]))
                (here.way())
                @for section in list(trace, "sections") { (here.section(section)) }
                (here.way())
            }
        }
    };
    Shown { title: format!("{} · Trace", text(trace, "name")), project, body }
}

fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value[name].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// A link to where a specification comes from, if that is a page of the web. The folder may name anything.
fn outside(target: &str) -> Markup {
    let is_web = target.starts_with("https://") || target.starts_with("http://");
    html! {
        @if is_web { a href=(target) rel="noopener noreferrer" { (target) } } @else { code { (target) } }
    }
}

/// What the parts of the page share.
struct Here<'a> {
    path: String,
    key: &'a str,
    trace: &'a Value,
    /// The requirement that was gone to last.
    at: Option<&'a str>,
}

impl Here<'_> {
    /// A place in this specification.
    fn at(&self, section: &str, anchor: &str) -> String {
        format!("{}?section={}#{}", self.path, encode(section), encode(anchor))
    }

    fn outlined(&self, section: &Value) -> Markup {
        let id = text(section, "id");
        let n_open = section["counts"]["not started"].as_u64().unwrap_or_default();
        html! {
            li.{ "d" (section["depth"].as_u64().unwrap_or_default().min(4)) } {
                @if n_open > 0 { span.count title="not started" { (n_open) } }
                a href=(self.at(id, &format!("s-{id}"))) { (text(section, "title")) }
            }
        }
    }

    /// To the sections before and after, and to the next requirement that nothing cites.
    fn way(&self) -> Markup {
        let shown: Vec<&str> =
            list(self.trace, "sections").iter().map(|section| text(section, "id")).collect();
        let uncovered = list(self.trace, "uncovered");
        let is_here = |one: &&Value| one[1].as_str().is_some_and(|section| shown.contains(&section));
        // The one after the last one that was gone to; else the first on this page, or of all.
        let last = uncovered.iter().position(|one| self.at.is_some() && one[0].as_str() == self.at);
        let next = match last {
            Some(last) => uncovered.get(last + 1).or(uncovered.first()),
            None => uncovered.iter().find(is_here).or(uncovered.first()),
        };
        html! {
            p.actions {
                @if let Some(before) = self.trace["before"].as_str() { a.button href=(self.at(before, &format!("s-{before}"))) { "Before" } }
                @if let Some(after) = self.trace["after"].as_str() { a.button href=(self.at(after, &format!("s-{after}"))) { "Go on" } }
                @if let Some(next) = next {
                    @let (id, section) = (next[0].as_str().unwrap_or_default(), next[1].as_str().unwrap_or_default());
                    a.button href={ (self.path) "?section=" (encode(section)) "&at=" (encode(id)) "#r-" (encode(id)) } data-key="n" { "Next uncovered" }
                    span.muted { (uncovered.len()) " uncovered" }
                } @else { span.muted { "Every requirement is cited." } }
            }
        }
    }

    fn section(&self, section: &Value) -> Markup {
        let id = text(section, "id");
        let is_own = |one: &&Value| text(one, "section") == id;
        let own: Vec<&Value> = list(self.trace, "requirements").iter().filter(is_own).collect();
        let lines = list(section, "lines");
        html! {
            section {
                h2 id={ "s-" (id) } { (self.line(&section["title"])) }
                @if !lines.is_empty() {
                    pre.lines.markdown[self.trace["is_markdown"] == true] { @for line in lines { (self.line(line)) "\n" } }
                }
                @if !own.is_empty() { ul.requirements-below { @for one in &own { (self.requirement(one)) } } }
            }
        }
    }

    /// A line: a text, or pieces with what is said of each.
    fn line(&self, line: &Value) -> Markup {
        let Some(pieces) = line.as_array() else { return html! { (line.as_str().unwrap_or_default()) } };
        html! { @for piece in pieces { (self.piece(piece)) } }
    }

    /// A plain text; or a text, its state, and the requirements that it belongs to.
    fn piece(&self, piece: &Value) -> Markup {
        if let Some(text) = piece.as_str() {
            return html! { (text) };
        }
        let said = piece[0].as_str().unwrap_or_default();
        let state = super::traces::STATES.get(piece[1].as_u64().unwrap_or(4) as usize);
        let class = state.map_or_else(|| "quoted".to_owned(), |state| class(state));
        let requirement = piece[2][0].as_u64();
        let known = requirement
            .and_then(|n| list(self.trace, "requirements").iter().find(|one| one["n"].as_u64() == Some(n)));
        html! {
            @match known {
                Some(one) => a.traced.{ (class) } href={ "#r-" (encode(text(one, "id"))) } title=[state] { (said) },
                None => span.traced.{ (class) } title=[state] { (said) },
            }
        }
    }

    fn requirement(&self, one: &Value) -> Markup {
        let (state, level) = (text(one, "state"), text(one, "level").to_lowercase());
        let citations = list(one, "citations");
        html! {
            li id={ "r-" (text(one, "id")) } {
                p {
                    i.mark.{ (class(state)) } aria-hidden="true" {} " " (state) " "
                    span.level.{ (level) } { (level.to_uppercase()) } " "
                    span.muted { (one["implemented"]) " % implemented, " (one["tested"]) " % tested" }
                }
                p { (text(one, "text")) }
                @if citations.is_empty() { p.muted { "Nothing cites it." } }
                ul { @for citation in citations { li { (self.citation(citation)) } } }
                p { button.quiet type="button" data-copy=(text(one, "comment")) { "Copy citation" } " " code.muted { (text(one, "id")) } }
            }
        }
    }

    fn citation(&self, citation: &Value) -> Markup {
        let (path, line) = (text(citation, "path"), &citation["line"]);
        html! {
            span.muted { (text(citation, "kind")) " " }
            @if path.is_empty() { "in a hidden file" } @else {
                a href={ "/p/" (self.key) "/code?path=" (encode(path)) "&line=" (line) "#L" (line) } { code { (path) ":" (line) } }
            }
            @if !text(citation, "reason").is_empty() { " " (text(citation, "reason")) }
        }
    }
}

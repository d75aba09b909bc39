//! The HTML of a specification. Sections are siblings rather than nested, so that a specification of any length can
//! be written while it is read.

use maud::{Markup, html};

use crate::markdown::{Markdown, Surroundings};
use crate::node::{Node, NodeKind};

/// How a specification is rendered in a place.
#[derive(Clone, Copy)]
pub struct Look<'a> {
    /// The link of a reference, if it has one.
    pub link: &'a dyn Fn(&str) -> Option<String>,
    /// The actions of a section, if any.
    pub actions: Option<&'a dyn Fn(&Node) -> Markup>,
    /// The HTML below the text of a section, if any.
    pub below: Option<&'a dyn Fn(&Node) -> Markup>,
    /// The level of the heading of an epic.
    pub top: u8,
    /// The page or file that contains it.
    pub surroundings: Surroundings,
}

/// The sections of nodes that follow each other.
pub fn body(nodes: &[Node], look: &Look<'_>) -> Markup {
    let is_criterion = |node: &Node| node.kind == NodeKind::AcceptanceCriteria;
    html! {
        @for run in nodes.chunk_by(|one, next| is_criterion(one) && is_criterion(next)) {
            @match run {
                [first, ..] if is_criterion(first) => (criteria(run, look)),
                run => @for node in run { (section(node, look)) }
            }
        }
    }
}

fn section(node: &Node, look: &Look<'_>) -> Markup {
    let (class, depth) = match node.kind {
        NodeKind::Epic => ("epic", 0),
        NodeKind::UserStory => ("story", 1),
        NodeKind::AcceptanceCriteria | NodeKind::Requirement => ("requirement", 2),
    };
    let level = look.top + depth;
    let inside = html! {
        @if let Some(number) = &node.number { span.number { (number) } " " }
        (node.title.as_deref().unwrap_or_default()) " " (reference(&node.reference_id, look))
    };
    html! {
        section.{ (class) } id=(node.reference_id) data-version=[version(node, look)] {
            (heading(level, &inside))
            (facts(node, look))
            (text(node, level, look))
            @if let Some(below) = look.below { (below(node)) }
        }
    }
}

/// The criteria of a story.
fn criteria(run: &[Node], look: &Look<'_>) -> Markup {
    html! {
        div.criteria {
            p.lead { "Acceptance criteria" }
            ul {
                @for node in run {
                    li id=(node.reference_id) data-version=[version(node, look)] {
                        (reference(&node.reference_id, look))
                        div {
                            (text(node, look.top + 1, look))
                            @if let Some(below) = look.below { (below(node)) }
                        }
                        @if let Some(actions) = look.actions { (actions(node)) }
                    }
                }
            }
        }
    }
}

/// The version, for scripts of a page to compare with change notifications.
fn version(node: &Node, look: &Look<'_>) -> Option<String> {
    let version = node.version.filter(|_| look.surroundings == Surroundings::Page)?;
    Some(format!("{}@{version}", node.reference_id))
}

/// The text and the rationale. In a page, scripts replace it by a form, and passages can be commented on.
fn text(node: &Node, level: u8, look: &Look<'_>) -> Markup {
    let inside = |is_quotable: bool| {
        html! {
            (prose(node.description.as_deref(), level, look, is_quotable.then_some(node.reference_id.as_str())))
            @if let Some(rationale) = node.rationale.as_deref() {
                div.rationale { p.lead { "Rationale" } (prose(Some(rationale), level, look, None)) }
            }
        }
    };
    match look.surroundings {
        Surroundings::Page => html! { div.text id={ "text-" (node.reference_id) } { (inside(true)) } },
        Surroundings::File => inside(false),
    }
}

/// The status, the type and the criterion, on one line.
fn facts(node: &Node, look: &Look<'_>) -> Markup {
    let priority =
        node.priority.and_then(|number| PRIORITIES.get(usize::try_from(number).ok()?.checked_sub(1)?));
    html! {
        p.about {
            @if let Some(status) = &node.status {
                span.status {
                    @if let Some(state) = node.state { i.mark.{ (state.class()) } aria-hidden="true" {} " " }
                    (status)
                }
            }
            @if let Some(name) = &node.type_name { span { (name) } }
            @if let Some(priority) = priority { span { (priority) } }
            @if let Some(criterion) = &node.acceptance_criteria { span { "serves " (reference(criterion, look)) } }
            @if let Some(actions) = look.actions { (actions(node)) }
        }
    }
}

/// The names of priorities.
const PRIORITIES: [&str; 4] = ["Critical", "High", "Medium", "Low"];

fn prose(text: Option<&str>, level: u8, look: &Look<'_>, quotable: Option<&str>) -> Markup {
    let markdown = Markdown { link: look.link, below: level, surroundings: look.surroundings };
    html! { @if let Some(text) = text { div.prose data-quotable=[quotable] { (markdown.render(text)) } } }
}

fn reference(reference: &str, look: &Look<'_>) -> Markup {
    match (look.link)(reference) {
        Some(address) => html! { a.reference href=(address) { (reference) } },
        None => html! { span.reference { (reference) } },
    }
}

fn heading(level: u8, inside: &Markup) -> Markup {
    match level {
        1 => html! { h1 { (inside) } },
        2 => html! { h2 { (inside) } },
        3 => html! { h3 { (inside) } },
        4 => html! { h4 { (inside) } },
        _ => html! { h5 { (inside) } },
    }
}

/// A line of an outline, with a link to its section.
pub fn outline_row(node: &Node, address: &str, is_here: bool) -> Markup {
    let class = if node.kind == NodeKind::Epic { "outline-epic" } else { "outline-story" };
    html! {
        a.{ (class) } href=(address) aria-current=[is_here.then_some("location")] {
            span.number { (node.number.as_deref().unwrap_or_default()) } " "
            (node.title.as_deref().unwrap_or_default())
        }
    }
}

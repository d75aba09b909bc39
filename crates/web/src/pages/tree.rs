//! `/p/{key}/tree`: epics, stories, criteria and requirements as they hang together, with the one that is looked at beside them.
//! What is open and what is looked at is in the address, so that it can be sent to someone and works without scripts.

use std::cell::Cell;

use maud::{Markup, html};
use ops::known;
use serde_json::{Value, json};
use store::model::Kind;

use super::new::parent;
use crate::item;
use crate::page::{Answers, Asked, Page, Question, Shown, View, encode};
use crate::parts::{NEXT, hidden, kind_of, kind_plural, state_class, text, title};

pub const PAGE: Page = Page { path: "/p/{key}/tree", nav: Some(("Tree", 't')), ask, show };

/// How many epics a page has.
const EPICS: usize = 50;
/// How many nodes an address can open.
const OPEN_MAX: usize = 40;
/// How many children are shown of a node; the table has the others.
const CHILDREN_MAX: usize = 100;
/// How many rows a page has at most.
const ROWS_MAX: usize = 500;
/// The node whose children are asked for alone, by a script that opens it.
const BELOW: &str = "below";
/// Asks for the item beside the tree alone.
const ONLY: &str = "only";

fn ask(asked: &Asked, answers: &Answers) -> Vec<Question> {
    let children = |reference: &str| {
        let about = json!({"reference": reference, "depth": 2, "limit": CHILDREN_MAX});
        Question::optional("open", known::GET_HIERARCHY, about)
    };
    if let Some(reference) = asked.first(BELOW) {
        return if answers.has("open") { Vec::new() } else { vec![children(reference)] };
    }
    let mut questions = Vec::new();
    if asked.first(ONLY).is_none() && !answers.has("epics") {
        let mut arguments = json!({"project": asked.parameter("key"), "depth": 1, "limit": EPICS});
        if let Some(cursor) = asked.first("cursor") {
            arguments["cursor"] = json!(cursor);
        }
        questions.push(Question::needed("epics", known::GET_HIERARCHY, arguments));
        questions.extend(open(asked).into_iter().map(children));
    }
    if let Some(item) = item_asked(asked) {
        // A tree without its item is still a tree.
        let about = item::ask(&item, answers);
        questions.extend(about.into_iter().map(|question| Question { is_needed: false, ..question }));
        let above = asked.first("item").and_then(kind_of).and_then(|kind| parent(kind.name()));
        if let Some(above) = above.filter(|_| !answers.has("parents")) {
            let parents = json!({"kind": above.name(), "project": asked.parameter("key"), "sort": "updated", "limit": 100});
            questions.push(Question::optional("parents", known::LIST_ENTITIES, parents));
        }
    }
    questions
}

/// The nodes that the address opens.
fn open(asked: &Asked) -> Vec<&str> {
    let mut open: Vec<&str> = Vec::new();
    for reference in asked.all("open").flat_map(|list| list.split(',')).map(str::trim) {
        let can_open = matches!(kind_of(reference), Some(Kind::Epic | Kind::UserStory));
        if can_open && !open.contains(&reference) && open.len() < OPEN_MAX {
            open.push(reference);
        }
    }
    open
}

/// The address as the page of the item knows it.
fn item_asked(asked: &Asked) -> Option<Asked> {
    let reference = asked.first("item")?.to_owned();
    let parameters = [("reference".to_owned(), reference)].into();
    // What is changed beside the tree comes back to the tree.
    let query = vec![("next".to_owned(), asked.with(ONLY, None))];
    Some(Asked { path: asked.path.clone(), parameters, query })
}

fn show(view: &View<'_>) -> Shown {
    let key = view.asked.parameter("key");
    let tree = Tree { view, key, open: open(view.asked), n_rows: Cell::new(0) };
    let project = Some(key.to_owned());
    if let Some(reference) = view.asked.first(BELOW) {
        let level = if kind_of(reference) == Some(Kind::Epic) { 2 } else { 3 };
        return Shown { title: reference.to_owned(), project, body: tree.children(reference, level) };
    }
    let (heading, pane) = tree.pane();
    if view.asked.first(ONLY).is_some() {
        return Shown { title: heading, project, body: pane };
    }
    let null = Value::Null;
    let page = view.answers.get("epics").unwrap_or(&null);
    let epics = view.answers.list("epics");
    let may_create = known::WRITES.iter().any(|(kind, create, _)| *kind == Kind::Epic && view.me.may(create));
    let body = html! {
        div.split {
            section.branches aria-label="Tree" {
                div.heading {
                    h1 { "Tree" }
                    p.count { (page["total_count"]) " epics" }
                    @if may_create { p.actions { a.button href={ "/p/" (key) "/new/epic" } data-key="c" { "Create an epic" } } }
                }
                @if epics.is_empty() {
                    p.message { "There is no epic yet." }
                } @else {
                    ul.tree role="tree" aria-label="Epics and what is below them" data-tree=(view.asked.path) {
                        @for epic in epics { (tree.branch(epic, 1)) }
                    }
                }
                @if let Some(cursor) = page["next_cursor"].as_str() {
                    p.actions { a.button href={ (view.asked.path) "?cursor=" (encode(cursor)) } { "Next " (EPICS) " epics" } }
                }
            }
            (pane)
        }
    };
    Shown { title: heading, project, body }
}

/// A tree that is being shown.
struct Tree<'a> {
    view: &'a View<'a>,
    key: &'a str,
    open: Vec<&'a str>,
    n_rows: Cell<usize>,
}

impl Tree<'_> {
    /// One entity with what is below it, where that is open.
    fn branch(&self, node: &Value, level: usize) -> Markup {
        if self.n_rows.get() >= ROWS_MAX {
            return html! {};
        }
        self.n_rows.set(self.n_rows.get() + 1);
        let reference = text(node, "reference_id");
        let n_children = node["n_children"].as_u64().unwrap_or_default();
        let is_open = n_children > 0 && self.open.contains(&reference);
        let is_chosen = self.view.asked.first("item") == Some(reference);
        html! {
            li role="treeitem" id={ "node-" (reference) } data-reference=(reference) data-kind=(text(node, "kind"))
                aria-level=(level) aria-selected=(is_chosen)
                aria-expanded=[(n_children > 0).then_some(is_open)] {
                div.node {
                    @if n_children > 0 {
                        a.twist href=(self.address(Some(reference), None)) aria-label={ @if is_open { "Close " } @else { "Open " } (reference) } {
                            span aria-hidden="true" { "›" }
                        }
                    } @else { span.twist {} }
                    a.entry href={ (self.address(None, Some(reference))) "#item" } {
                        @match text(node, "status") {
                            "" => i.mark.criterion aria-hidden="true" {},
                            status => i.mark.{ (state_class(status)) } title=(status) aria-hidden="true" {},
                        }
                        span.reference { (reference) }
                        span.name { (title(node)) }
                    }
                    @if n_children > 0 { span.count title={ (n_children) " below" } { (n_children) } }
                    (self.add(reference))
                }
                @if is_open { (self.children(reference, level + 1)) }
            }
        }
    }

    /// What is directly below a node.
    fn children(&self, reference: &str, level: usize) -> Markup {
        let is_it = |answer: &&Value| text(&answer["data"][0], "reference_id") == reference;
        let Some(answer) = self.view.answers.all("open").find(is_it) else {
            return html! { ul role="group" { (self.others(reference, "What is below cannot be shown here.", Kind::Requirement)) } };
        };
        let children = answer["data"][0]["children"].as_array().map(Vec::as_slice).unwrap_or_default();
        let n_children =
            answer["data"][0]["n_children"].as_u64().map_or(children.len(), |count| count as usize);
        let n_shown = children.len().min(ROWS_MAX - self.n_rows.get());
        let n_left = n_children - n_shown;
        let kind = if kind_of(reference) == Some(Kind::Epic) { Kind::UserStory } else { Kind::Requirement };
        html! {
            ul role="group" {
                @for child in &children[..n_shown] { (self.branch(child, level)) }
                @if n_left > 0 { (self.others(reference, &format!("{n_left} more"), kind)) }
            }
        }
    }

    /// The way to the table, for what a tree does not show.
    fn others(&self, reference: &str, words: &str, kind: Kind) -> Markup {
        let above = kind_of(reference).map_or("epic", Kind::name);
        html! {
            li.others role="none" {
                a href={ "/p/" (self.key) "/list/" (kind.name()) "?" (above) "_id=" (reference) } { (words) ": open the table" }
            }
        }
    }

    /// A way to make something below a node.
    fn add(&self, reference: &str) -> Markup {
        let below = match kind_of(reference) {
            Some(Kind::Epic) => Kind::UserStory,
            Some(Kind::UserStory) => Kind::Requirement,
            _ => return html! {},
        };
        let may = known::WRITES.iter().any(|(kind, create, _)| *kind == below && self.view.me.may(create));
        html! {
            @if may {
                a.add href={ "/p/" (self.key) "/new/" (below.name()) "?under=" (reference) } aria-label={ "Add a " (below.words()) " to " (reference) } {
                    span aria-hidden="true" { "+" }
                }
            }
        }
    }

    /// The address with a node opened or closed, or with another item.
    fn address(&self, toggled: Option<&str>, item: Option<&str>) -> String {
        let mut open = self.open.clone();
        match toggled {
            Some(toggled) if open.contains(&toggled) => open.retain(|known| *known != toggled),
            toggled => open.extend(toggled),
        }
        let item = item.or(self.view.asked.first("item"));
        let cursor = self.view.asked.first("cursor").map(|cursor| format!("cursor={}", encode(cursor)));
        let open = (!open.is_empty()).then(|| format!("open={}", open.join(",")));
        let item = item.map(|item| format!("item={}", encode(item)));
        let parts: Vec<String> = [cursor, open, item].into_iter().flatten().collect();
        let path = &self.view.asked.path;
        if parts.is_empty() { path.clone() } else { format!("{path}?{}", parts.join("&")) }
    }

    /// The item that is looked at, with its title.
    fn pane(&self) -> (String, Markup) {
        let Some(wanted) = self.view.asked.first("item") else {
            let body = html! { section #item.pane aria-label="Item" { p.message { "Choose something in the tree to read it here." } } };
            return ("Tree".to_owned(), body);
        };
        let (Some(asked), Some(entity)) = (item_asked(self.view.asked), self.view.answers.get("entity"))
        else {
            let body = html! { section #item.pane aria-label="Item" { p.message { "There is no " (wanted) ", or you may not see it." } } };
            return ("Tree".to_owned(), body);
        };
        let View { answers, me, site, now, .. } = *self.view;
        let shown = item::show(&View { asked: &asked, answers, me, site, now });
        let body = html! {
            section #item.pane aria-label="Item" data-item=(text(entity, "reference_id")) { (self.move_form(entity)) (shown.body) }
        };
        (shown.title, body)
    }

    /// Moves the item below something else, where its update can.
    fn move_form(&self, entity: &Value) -> Markup {
        let (reference, kind) = (text(entity, "reference_id"), text(entity, "kind"));
        let update =
            known::WRITES.iter().find(|(known, ..)| known.name() == kind).map(|(_, _, update)| *update);
        let update =
            update.filter(|update| self.view.me.may(update) && text(entity, "deleted_at").is_empty());
        let argument = parent(kind).map(|above| (above, format!("{}_id", above.name())));
        let (Some(update), Some((above, argument))) = (update, argument) else { return html! {} };
        if update.input_schema()["properties"].get(&argument).is_none() {
            return html! {};
        }
        html! {
            details.menu.move {
                summary { "Move" }
                form.sheet method="post" action={ "/do/" (update.name) } {
                    (hidden(NEXT, &self.address(None, Some(reference))))
                    (hidden(&format!("{kind}_id"), reference)) (hidden("expected_version", &entity["version"].to_string()))
                    label { "Move " (reference) " to"
                        input type="text" name=(argument) list="parents" required autocomplete="off" placeholder=(text(entity, above.name()));
                    }
                    datalist #parents {
                        @for one in self.view.answers.list("parents") { option value=(text(one, "reference_id")) { (title(one)) } }
                    }
                    p.muted.small { "One of the " (kind_plural(above.name()).to_lowercase()) " of this project." }
                    button.primary { "Move" }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use ops::Effect;
    use store::model::Role;

    use super::*;
    use crate::page::{Me, Site};

    fn shown(query: &[(&str, &str)], answers: Answers) -> String {
        let query = query.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let asked = Asked {
            path: "/p/K/tree".into(),
            parameters: [("key".to_owned(), "K".to_owned())].into(),
            query,
        };
        let me = Me {
            username: "ann".into(),
            role: Role::User,
            may: vec![Effect::Writes],
            theme: None,
            has_keys: true,
        };
        let site = Site { url: String::new(), version: "0", newest_change: None };
        show(&View { asked: &asked, answers: &answers, me: &me, site: &site, now: 0 }).body.into_string()
    }

    fn epics() -> Value {
        json!({"total_count": 2, "data": [
            {"reference_id": "EP-001", "kind": "epic", "title": "Checkout", "status": "Draft", "n_children": 2},
            {"reference_id": "EP-002", "kind": "epic", "title": "<b>", "status": "Done"},
        ]})
    }

    #[test]
    fn nodes_say_whether_they_can_be_opened() {
        let mut answers = Answers::default();
        answers.add("epics", Ok(epics()));
        let html = shown(&[], answers);
        assert!(html.contains("aria-expanded=\"false\""), "{html}");
        assert_eq!(html.matches("aria-expanded").count(), 1, "{html}");
        assert!(html.contains("href=\"/p/K/tree?open=EP-001\""), "{html}");
        assert!(html.contains("href=\"/p/K/tree?item=EP-002#item\"") && html.contains("&lt;b&gt;"), "{html}");
    }

    #[test]
    fn an_open_node_shows_its_children_up_to_a_number() {
        let stories: Vec<Value> = (1..=CHILDREN_MAX)
            .map(|number| json!({"reference_id": format!("US-{number:03}"), "kind": "user_story", "title": "Pay", "status": "Draft"}))
            .collect();
        let mut answers = Answers::default();
        answers.add("epics", Ok(epics()));
        let open = json!({"data": [{"reference_id": "EP-001", "children": stories, "n_children": 150}]});
        answers.add("open", Ok(open));
        let html = shown(&[("open", "EP-001,REQ-001,EP-001"), ("item", "x")], answers);
        assert_eq!(html.matches("role=\"treeitem\"").count(), 2 + CHILDREN_MAX);
        assert!(html.contains("/p/K/list/user_story?epic_id=EP-001") && html.contains("50 more"), "{html}");
        assert!(
            html.contains("aria-expanded=\"true\"") && html.contains("href=\"/p/K/tree?item=x\""),
            "{html}"
        );
        assert!(html.contains("There is no x"), "{html}");
    }

    #[test]
    fn a_page_never_has_more_rows_than_it_may() {
        let mut answers = Answers::default();
        let epics: Vec<Value> = (1..=50)
            .map(|number| json!({"reference_id": format!("EP-{number:03}"), "kind": "epic", "title": "E", "status": "Draft", "n_children": 90}))
            .collect();
        let open: Vec<String> = (1..=50).map(|number| format!("EP-{number:03}")).collect();
        answers.add("epics", Ok(json!({"data": epics})));
        for (index, epic) in open.iter().enumerate() {
            let stories: Vec<Value> = (0..90)
                .map(|number| json!({"reference_id": format!("US-{}", index * 90 + number + 1), "kind": "user_story", "title": "S", "status": "Draft"}))
                .collect();
            answers.add("open", Ok(json!({"data": [{"reference_id": epic, "children": stories}]})));
        }
        let html = shown(&[("open", &open.join(","))], answers);
        assert_eq!(html.matches("role=\"treeitem\"").count(), ROWS_MAX);
    }
}

//! `/admin/repositories`: the repositories whose code may cite requirements, what closes there, and what was pushed last.

use maud::{Markup, html};
use ops::known;
use serde_json::{Map, Value, json};

use crate::form::{Field, form};
use crate::page::{Answers, Asked, Page, Question, Shown, View, encode};
use crate::parts::{more, paged, post, text};
use crate::thread::{list, short, short_ref};
use crate::time::ago;

pub const PAGE: Page = Page { path: "/admin/repositories", nav: None, ask, show };

fn ask(asked: &Asked, answers: &Answers) -> Vec<Question> {
    if answers.has("repositories") {
        return Vec::new();
    }
    let mut questions = vec![
        Question::permission("may", known::CREATE_REPOSITORY),
        Question::needed("repositories", known::LIST_REPOSITORIES, paged(asked, json!({}))),
    ];
    if let Some(repository) = asked.first("repository") {
        questions.push(Question::needed(
            "repository",
            known::GET_REPOSITORY,
            json!({"repository": repository}),
        ));
    }
    questions
}

fn show(view: &View<'_>) -> Shown {
    let names =
        ["name", "projects", "main_ref", "closes_at", "trust_min", "closing_refs", "issuer", "external_id"];
    let fields: Vec<Field<'_>> = names.iter().map(|name| Field::new(name)).collect();
    let repositories = view.answers.list("repositories");
    let body = html! {
        div.page.wide {
            h1 { "Repositories" }
            p.muted { "Code and tests of these repositories may cite requirements. " code { "spexus push" } " sends what they cite and what their tests showed." }
            @if repositories.is_empty() { p.message { "No repository is known yet." } } @else {
                div.scrolled tabindex="0" role="region" aria-label="Repositories" {
                    table.records {
                        thead { tr { th { "Name" } th { "Projects" } th { "Main ref" } th { "Closes at" } th { "Trust" } th { "Actions" } } }
                        tbody { @for one in repositories { (row(one)) } }
                    }
                }
            }
            (more(view, "repositories"))
            @if let Some(repository) = view.answers.get("repository") { (pushed(view, repository)) }
            section.card {
                h2 { "New repository" }
                (post(known::CREATE_REPOSITORY, PAGE.path, html! {
                    (form(known::CREATE_REPOSITORY, &fields, &Map::new(), None))
                    p.actions { button.primary { "Create" } }
                }))
            }
        }
    };
    Shown { title: "Repositories".to_owned(), project: None, body }
}

/// The items of a list as one text.
fn joined(value: &Value) -> String {
    let items: Vec<&str> = value.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    items.join(", ")
}

fn row(one: &Value) -> Markup {
    let name = text(one, "name");
    let fields = ["main_ref", "closes_at", "trust_min", "issuer", "external_id"];
    let given = fields.map(|field| match text(one, field) {
        "" => String::new(),
        value => format!("&{field}={}", encode(value)),
    });
    let change = format!(
        "/operations/{}?repository={}&projects={}&closing_refs={}{}&expected_version={}&_next={}",
        known::UPDATE_REPOSITORY.name,
        encode(name),
        encode(&joined(&one["projects"])),
        encode(&joined(&one["closing_refs"])),
        given.concat(),
        one["version"],
        PAGE.path
    );
    let remove = format!(
        "/operations/{}?repository={}&_next={}",
        known::DELETE_REPOSITORY.name,
        encode(name),
        PAGE.path
    );
    html! {
        tr {
            td { b { (name) } }
            td { (joined(&one["projects"])) }
            td { (short_ref(text(one, "main_ref"))) }
            td { (text(one, "closes_at")) }
            td { (text(one, "trust_min")) }
            td {
                div.buttons {
                    a.quiet.button href={ (PAGE.path) "?repository=" (encode(name)) "#pushed" } aria-label={ "What was pushed of " (name) } { "What was pushed" }
                    a.quiet.button href=(change) aria-label={ "Change " (name) } { "Change" }
                    a.quiet.danger.button href=(remove) aria-label={ "Delete " (name) "…" } { "Delete…" }
                }
            }
        }
    }
}

/// The heads and the newest runs of a repository.
fn pushed(view: &View<'_>, repository: &Value) -> Markup {
    let (heads, runs) = (list(repository, "heads"), list(repository, "runs"));
    let commit = |one: &Value| html! { @if !text(one, "commit").is_empty() { code title=(text(one, "commit")) { (short(text(one, "commit"))) } } };
    html! {
        section #pushed {
            h2 { "Pushed from " (text(repository, "name")) }
            @if heads.is_empty() { p.muted { "No citation was pushed yet." } } @else {
                div.scrolled tabindex="0" role="region" aria-label="Heads" {
                    table.records {
                        thead { tr { th { "Ref" } th { "Commit" } th { "Citations" } th { "Trust" } th { "Pushed" } } }
                        tbody { @for head in heads { tr {
                            td { (short_ref(text(head, "ref"))) }
                            td { (commit(head)) @if head["dirty"] == true { " " span.via { "with changes" } } }
                            td.count { (head["n_citations"]) }
                            td { (text(head, "trust")) }
                            td { (ago(text(head, "pushed_at"), view.now)) }
                        } } }
                    }
                }
            }
            @if runs.is_empty() { p.muted { "No test run was pushed yet." } } @else {
                div.scrolled tabindex="0" role="region" aria-label="Runs" {
                    table.records {
                        thead { tr { th { "Run" } th { "Ref" } th { "Commit" } th { "Tests" } th { "Trust" } th { "Pushed" } } }
                        tbody { @for run in runs { tr {
                            td {
                                (text(run, "tool"))
                                @if let Some(status) = run["exit_status"].as_i64().filter(|status| *status != 0) { " " span.via { "ended with " (status) } }
                                @if run["whole"] == false { " " span.via { "not everything was reported" } }
                            }
                            td { (short_ref(text(run, "ref"))) }
                            td { (commit(run)) }
                            td.count { (run["n_tests"]) }
                            td { (text(run, "trust")) }
                            td { (ago(text(run, "pushed_at"), view.now)) }
                        } } }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::testing::shown;

    #[test]
    fn a_repository_is_shown_with_what_was_pushed_last() {
        let one = json!({"name": "github.com/acme/<shop>", "projects": ["DEFAULT", "WEB"], "main_ref": "refs/heads/main", "closes_at": "witnessed",
                         "trust_min": "local", "closing_refs": [], "version": 3,
                         "heads": [{"ref": "refs/heads/main", "commit": "0123456789abcdef", "trust": "token", "n_citations": 7, "pushed_at": "2026-11-17T17:00:00Z"}],
                         "runs": [{"tool": "pytest", "ref": "refs/heads/main", "trust": "token", "n_tests": 2, "whole": false, "exit_status": 1, "pushed_at": "2026-11-17T17:00:00Z"}]});
        let answers = [("repositories", json!({"data": [one.clone()]})), ("repository", one)];
        let html = shown(&PAGE, "/admin/repositories?repository=x", &answers);
        for part in [
            "github.com/acme/&lt;shop&gt;",
            "DEFAULT, WEB",
            "/operations/update_repository?repository=github.com%2Facme%2F%3Cshop%3E&amp;projects=DEFAULT%2C%20WEB",
            "expected_version=3",
            "not everything was reported",
            "ended with 1",
            "<td class=\"count\">7</td>",
            "action=\"/do/create_repository\"",
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
    }
}

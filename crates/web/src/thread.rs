//! What the thread says, as several pages show it: verdicts with marks that need no colour, places in code, tests with their runs,
//! gaps, and citations that no longer quote the text.

use maud::{Markup, html};
use serde_json::Value;

use crate::diff;
use crate::page::{View, encode};
use crate::parts::{link, text};
use crate::time::ago;

/// Texts longer than this are not compared word by word.
const COMPARED_MAX_CHARS: usize = 20_000;

/// The items of a list in an answer.
pub fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value[name].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// A verdict with its mark: a disc that is full where nothing is missing, and crossed out where a test failed.
pub fn verdict(verdict: &str, is_enough: bool) -> Markup {
    let class = match verdict {
        _ if is_enough => "done",
        "failed" => "failed",
        "proven" | "witnessed" | "passed" => "needs-tests",
        "flaky" | "skipped" | "old" => "in-progress",
        _ => "not-started",
    };
    html! { span.verdict { i.mark.{ (class) } aria-hidden="true" {} " " (verdict.replace('_', " ")) } }
}

/// How a threat stands, with its mark.
pub fn threat_state(threat: &Value) -> Markup {
    let state = text(threat, "state");
    let (class, said) = match state {
        "closed" => ("done", "closed by evidence"),
        "applies" => ("needs-tests", "applies, not closed yet"),
        "dismissed" => ("quoted", "does not apply"),
        "accepted" => ("quoted", "risk accepted"),
        _ if threat["unsure"] == true => ("waiting", "may fit"),
        _ => ("not-started", "open"),
    };
    html! { span.verdict { i.mark.{ (class) } aria-hidden="true" {} " " (said) } }
}

/// What a unit says, what its tests show, and why it is open.
pub fn unit_head(unit: &Value) -> Markup {
    let why = text(unit, "why_open");
    html! {
        p.unit-head {
            (verdict(text(unit, "verdict"), unit["closed"] == true)) " "
            @if !why.is_empty() { span.muted { "open: " (why) } } @else if unit["closed"] == true { span.muted { "closed" } }
        }
        p.unit-text { (text(unit, "text")) }
    }
}

/// Something that is missing.
pub fn gap(words: &str) -> Markup {
    html! { span.gap { (words) } }
}

/// How many places the answer has no room for.
pub fn left_out(unit: &Value) -> Markup {
    html! { @if let Some(count) = unit["left_out"].as_i64() { p.muted.small { "and " (count) " more" } } }
}

/// A place in the code, which leads to everything that it is for.
pub fn place(key: &str, one: &Value) -> Markup {
    let (place, symbol, repository) = (text(one, "place"), text(one, "symbol"), text(one, "repository"));
    let kind = match text(one, "kind") {
        "exception" => "left out on purpose",
        "todo" => "still to be done",
        "implication" => "follows from how it is built",
        other => other,
    };
    html! {
        span.place {
            a href={ "/p/" (key) "/thread?from=" (encode(place)) } { code { (place) } }
            @if !symbol.is_empty() { " " span.muted { (symbol) } }
            @if !repository.is_empty() { " " span.muted { "in " (repository) } }
            @if !kind.is_empty() { " " span.via { (kind) } }
            @if !text(one, "state").is_empty() { " " (state(one)) }
        }
    }
}

/// Why a citation does not quote the present text.
pub fn state(one: &Value) -> Markup {
    let (state, version) = (text(one, "state"), &one["quoted_version"]);
    html! {
        span.suspect {
            (state) @match state {
                "stale" => { ": quotes version " (version) }
                "suspect" => { ": pins version " (version) ", and the text has changed" }
                "broken" => { ": quotes no version of the text" }
                "gone" => { ": what it cites was deleted or is obsolete" }
                _ => {}
            }
        }
    }
}

/// A test: where it is, what it shows, and how it ended.
pub fn test(key: &str, one: &Value) -> Markup {
    let is_passed = matches!(text(one, "verdict"), "proven" | "witnessed" | "passed");
    html! {
        (verdict(text(one, "verdict"), is_passed)) " " (place(key, one))
        @if let Some(attempts) = one["attempts"].as_i64() { " " span.muted { "in " (attempts) " attempts" } }
    }
}

/// The run that a test is known from, or that there is none.
pub fn run(view: &View<'_>, test: &Value) -> Markup {
    let run = &test["run"];
    if run.is_null() {
        return gap("not run");
    }
    let (commit, outcome) = (text(run, "commit"), text(test, "outcome"));
    html! {
        span.run {
            @if !outcome.is_empty() { (outcome.replace('_', " ")) ", " }
            (text(run, "tool")) " on " (short_ref(text(run, "ref")))
            @if !commit.is_empty() { " " code title=(commit) { (short(commit)) } }
            " " span.via title="how much is known of who ran it" { (text(run, "trust")) }
            " " span.muted { (ago(text(run, "at"), view.now)) }
        }
    }
}

/// What somebody has tried by hand.
pub fn tried(view: &View<'_>, one: &Value) -> Markup {
    let outcome = text(one, "outcome");
    html! {
        (verdict(outcome, outcome == "passed")) " " span { (text(one, "what")) } " "
        span.muted { "by hand, " (text(one, "actor")) ", " (ago(text(one, "done_at"), view.now)) }
    }
}

/// The first digits of a commit.
pub fn short(commit: &str) -> &str {
    commit.get(..10).unwrap_or(commit)
}

/// A ref as people say it.
pub fn short_ref(name: &str) -> &str {
    name.strip_prefix("refs/heads/").or(name.strip_prefix("refs/tags/")).unwrap_or(name)
}

/// The repositories that were looked at, and what was pushed of them.
pub fn heads(view: &View<'_>, thread: &Value) -> Markup {
    let heads = list(thread, "heads");
    html! {
        @if !text(thread, "note").is_empty() { p.notice { span { (crate::parts::coded(text(thread, "note"))) } } }
        @if !heads.is_empty() {
            p.muted.small {
                @for (index, head) in heads.iter().enumerate() {
                    @if index > 0 { "; " }
                    (text(head, "repository")) ", " (short_ref(text(head, "ref")))
                    @if !text(head, "commit").is_empty() { " at " code title=(text(head, "commit")) { (short(text(head, "commit"))) } }
                    @if head["dirty"] == true { " with changes" }
                    ", pushed " (ago(text(head, "pushed_at"), view.now))
                }
            }
        }
    }
}

/// How many are verified and cited of how many, as a bar and in words.
pub fn share(verified: u64, cited: u64, total: u64) -> Markup {
    let part = |count: u64| format!("{:.2}", count.min(total) as f64 * 100.0 / total.max(1) as f64);
    let said = format!("{verified} of {total} verified, {cited} cited");
    html! {
        svg.share viewBox="0 0 100 4" preserveAspectRatio="none" role="img" aria-label=(said) {
            rect.waiting x="0" y="0" width="100" height="4" {}
            rect.cited x="0" y="0" width=(part(cited)) height="4" {}
            rect.done x="0" y="0" width=(part(verified)) height="4" {}
        }
        p.small.muted { (said) }
    }
}

/// A citation that no longer quotes the text: what it quotes and what is there now, word by word.
pub fn stale(key: &str, one: &Value, names_item: bool) -> Markup {
    let (quoted, now, lines) = (text(one, "quoted"), text(one, "now"), text(one, "lines"));
    html! {
        li.stale {
            p {
                @if names_item { (link(text(one, "reference_id"))) " " span.muted { (text(one, "title")) } " " }
                a href={ "/p/" (key) "/thread?from=" (encode(text(one, "place"))) } { code { (text(one, "place")) } } " "
                span.muted { "in " (text(one, "repository")) } " " (state(one))
            }
            @if quoted.len().max(now.len()) > COMPARED_MAX_CHARS {
                p.muted { "The text is too long to be compared here. " a href={ "/r/" (text(one, "reference_id")) "/history" } { "History" } }
            } @else if !quoted.is_empty() {
                dl.changed {
                    dt { "Version " (one["quoted_version"]) } dd { (quoted) }
                    @if !now.is_empty() {
                        dt { "Version " (one["version"]) } dd { (now) }
                        dt { "Change" } dd { (diff::words(quoted, now)) }
                    } @else {
                        dt { "Now" } dd.muted { "The sentence was removed: remove the citation, or cite what replaces it." }
                    }
                }
            }
            @if !lines.is_empty() {
                p.small.muted { "If the code still fits, write:" }
                pre { code { (lines) } }
            }
        }
    }
}

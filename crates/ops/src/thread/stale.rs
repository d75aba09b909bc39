//! Citations that no longer quote the current text.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::model::Kind;
use store::thread::snapshot::CitationKind;
use store::thread::text::{self, CitableText};
use trace::AnnotationKind;
use trace::managed::{ManagedDocument, ManagedKind, ManagedText, Renewed, SCHEME, text_of, units};
use trace::quote::near;

use super::citing;
use super::judge::{self, Cited, Judged, State};
use crate::context::Cx;
use crate::error::{Error, Result};
use crate::input::{Id, Limit, Text};
use crate::operation::{Columns, Command, Effect, Operation, Output, Route, Shape, Tool, command, get, tool};
use crate::page::Cursor;

/// How many entities are examined before a page ends, whether it is full or not.
const ENTITIES_AT_ONCE: i64 = 500;
/// How many of them are judged with the same queries.
const JUDGED_AT_ONCE: usize = 100;
/// How many of these pages one call looks at.
const ROUNDS_MAX: usize = 20;
const LIMIT: i64 = 50;
/// The name of the list in its cursors.
const LIST: &str = "stale_citations";

/// List the citations in code that do not quote the current text of the cited requirement.
///
/// `stale`: they quote an earlier text; the answer has the quote, the current text, the words that differ and the lines to
/// write instead. `suspect`: they pin a version before the last change. `broken`: they quote no version. `gone`: the cited entity
/// was deleted or is obsolete.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListStaleCitations {
    /// The project: a key or an id; default: the default project.
    project: Option<Text<1, 64>>,
    /// Only those of this requirement or criterion, such as `REQ-012`.
    reference: Option<Id>,
    /// How many items to return; default 50.
    limit: Option<Limit>,
    /// Continue after a page: its `next_cursor`.
    cursor: Option<Cursor>,
}

/// Citations that no longer quote the current text.
#[derive(Serialize, JsonSchema)]
pub struct StaleCitations {
    /// The citations.
    data: Vec<StaleCitation>,
    /// The start of the next page, if there may be more.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

impl Output for StaleCitations {}

/// A citation that no longer quotes the current text.
#[derive(Serialize, JsonSchema)]
struct StaleCitation {
    /// The reference id of the cited entity.
    reference_id: String,
    /// Its kind.
    kind: Kind,
    /// Its title, or its text.
    title: String,
    /// `stale`, `suspect`, `broken` or `gone`.
    state: &'static str,
    /// The repository.
    repository: String,
    /// The file and the line: `src/kettle.rs:42`.
    place: String,
    /// The version that it quotes or pins.
    #[serde(skip_serializing_if = "Option::is_none")]
    quoted_version: Option<i64>,
    /// The current version of the text.
    version: i64,
    /// The quote, or the text of the pinned version.
    #[serde(skip_serializing_if = "Option::is_none")]
    quoted: Option<String>,
    /// The sentence of the current text that is nearest to it, or the current text.
    #[serde(skip_serializing_if = "Option::is_none")]
    now: Option<String>,
    /// The words that differ: `stay [-closed-]{+shut+}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    difference: Option<String>,
    /// The comment to write instead, if the code still fits. The project may use other comment marks.
    #[serde(skip_serializing_if = "Option::is_none")]
    lines: Option<String>,
}

impl Operation for ListStaleCitations {
    type Output = StaleCitations;
    const NAME: &'static str = "list_stale_citations";
    const COMMANDS: &'static [Command] = &[command("stale-citation list")];
    const ROUTES: &'static [Route] = &[get("/stale-citations")];
    const TOOLS: &'static [Tool] = &[tool("thread", "{}")];
    const EFFECT: Effect = Effect::Reads;
    const SHAPE: Option<Shape> = Some(Shape::Page("data", ""));
    const LOOKS_BESIDE: bool = true;
    const COLUMNS: &'static [Columns] =
        &[(None, &["state", "reference_id", "place", "quoted", "now", "repository"])];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<StaleCitations> {
        if let Some(reference) = &self.reference {
            return self.of_one(cx, reference);
        }
        let project = cx.project("project", self.project.as_ref().map(Text::as_str))?;
        let limit = self.limit.map_or(LIMIT, |limit| limit.0) as usize;
        let heads = judge::heads(cx, &project.id, None)?;
        let start: Option<(usize, String)> =
            self.cursor.as_ref().map(|cursor| cursor.place(LIST)).transpose()?;
        let (first, mut after) = start.unwrap_or_default();
        let mut data = Vec::new();
        let mut n_rounds = 0;
        for (index, head) in heads.iter().enumerate().skip(first) {
            loop {
                let ids = head.cited_after(cx, &after, ENTITIES_AT_ONCE)?;
                let Some(last) = ids.last().cloned() else { break };
                let some: Vec<&str> = ids.iter().map(String::as_str).collect();
                let mut texts = text::of_ids(cx.tx, &some)?;
                texts.retain(|text| text.project_id == project.id);
                texts.sort_by(|one, other| one.id.cmp(&other.id));
                for some in texts.chunks(JUDGED_AT_ONCE) {
                    for judged in judge::judge(cx, std::slice::from_ref(head), some.to_vec())? {
                        data.extend(outdated(cx, &judged)?);
                        // Pages end between entities, so that the citations of one are complete.
                        if data.len() >= limit {
                            let next = Cursor::at(LIST, &(index, judged.text.id));
                            return Ok(StaleCitations { data, next_cursor: Some(next) });
                        }
                    }
                }
                after = last;
                n_rounds += 1;
                if n_rounds == ROUNDS_MAX {
                    return Ok(StaleCitations { data, next_cursor: Some(Cursor::at(LIST, &(index, after))) });
                }
            }
            after = String::new();
        }
        Ok(StaleCitations { data, next_cursor: None })
    }
}

impl ListStaleCitations {
    fn of_one(&self, cx: &mut Cx<'_, '_>, reference: &Id) -> Result<StaleCitations> {
        let entity = cx.any_entity("reference", reference)?;
        if let Some(name) = &self.project
            && cx.project("project", Some(name.as_str()))?.id != entity.project_id
        {
            let message = format!("{} is not in the project {}", entity.reference_id, name.as_str());
            return Err(Error::field("reference", message));
        }
        let heads = judge::heads(cx, &entity.project_id, None)?;
        let texts = text::of_ids(cx.tx, &[&entity.id])?;
        let mut data = Vec::new();
        for judged in judge::judge(cx, &heads, texts)? {
            data.extend(outdated(cx, &judged)?);
        }
        Ok(StaleCitations { data, next_cursor: None })
    }
}

/// The citations of a text that do not quote its current state. One that quotes several units is listed once.
fn outdated(cx: &mut Cx<'_, '_>, judged: &Judged) -> Result<Vec<StaleCitation>> {
    let suspects =
        judged.units.iter().flat_map(|unit| &unit.cited).filter(|cited| cited.state == State::Suspect);
    let mut told = HashSet::new();
    let mut found = Vec::new();
    for cited in judged.outdated.iter().chain(suspects) {
        if told.insert((&cited.repository, &cited.citation.path, cited.citation.line)) {
            found.push(described(cx, &judged.text, cited)?);
        }
    }
    Ok(found)
}

fn described(cx: &mut Cx<'_, '_>, text: &CitableText, cited: &Cited) -> Result<StaleCitation> {
    let (quoted_version, quoted) = match cited.state {
        State::Stale(version) => (Some(version), quoted(cx, text, &cited.citation.unit_hash, version)?),
        State::Suspect => (cited.citation.pin, pinned(cx, text, cited.citation.pin)?),
        _ => (None, None),
    };
    let (now, difference) = match (cited.state, &quoted) {
        // It cites the whole text.
        (State::Suspect, Some(quoted)) => {
            let now = text_of(&text.title, &text.description);
            (Some(now.to_owned()), Some(near::difference(quoted, now)))
        }
        (_, Some(quoted)) => renewed(cx, text, quoted)?
            .map_or((None, None), |renewed| (Some(renewed.quote), Some(renewed.difference))),
        (_, None) => (None, None),
    };
    let lines = match cited.state {
        State::Stale(_) => now.as_deref().and_then(|now| lines(text, cited, now)),
        // It pins another version than the current one, which may contain the same quote.
        State::Suspect | State::Broken => present(text, cited).and_then(|quote| lines(text, cited, &quote)),
        _ => None,
    };
    Ok(StaleCitation {
        reference_id: text.reference_id.clone(),
        kind: text.kind,
        title: if text.title.is_empty() { text.description.clone() } else { text.title.clone() },
        state: cited.state.name(),
        repository: cited.repository.clone(),
        place: format!("{}:{}", cited.citation.path, cited.citation.line),
        quoted_version,
        version: text.version,
        quoted,
        now,
        difference,
        lines,
    })
}

/// The sentence that replaced a quoted one, found in the same way as in the check of a checkout.
fn renewed(cx: &mut Cx<'_, '_>, text: &CitableText, quoted: &str) -> Result<Option<Renewed>> {
    let earlier = judge::earlier_texts(cx, text)?.into_iter().rev();
    let reference = text.reference_id.as_str();
    let managed = ManagedText {
        project: String::new(),
        reference: reference.to_owned(),
        kind: match text.kind {
            Kind::AcceptanceCriteria => ManagedKind::Criterion,
            _ => ManagedKind::Requirement,
        },
        title: text.title.clone(),
        text: text_of(&text.title, &text.description).to_owned(),
        content_version: text.content_version as u64,
        version: text.version as u64,
        gone: None,
        earlier: earlier
            .map(|(version, title, description)| (version as u64, text_of(&title, &description).to_owned()))
            .collect(),
    };
    let specification = ManagedDocument::specification(&managed, reference.to_owned());
    Ok(specification.managed.as_ref().and_then(|managed| managed.renew(quoted, &specification)))
}

/// The unit that replaced the one which a stale citation quotes.
pub(super) fn successor(cx: &mut Cx<'_, '_>, text: &CitableText, cited: &Cited) -> Result<Option<String>> {
    let State::Stale(version) = cited.state else { return Ok(None) };
    let Some(quoted) = quoted(cx, text, &cited.citation.unit_hash, version)? else { return Ok(None) };
    Ok(renewed(cx, text, &quoted)?.map(|renewed| renewed.quote))
}

/// The quote of a citation, if the current text contains it; none for one without a quote.
fn present(text: &CitableText, cited: &Cited) -> Option<String> {
    let hash = &cited.citation.unit_hash;
    if hash.is_empty() {
        return Some(String::new());
    }
    judge::units_of(text).into_iter().find(|unit| unit.hash == *hash).map(|unit| unit.text)
}

/// The comment that cites a text in its current state, in the default comment marks for the language of its file.
fn lines(text: &CitableText, cited: &Cited, quote: &str) -> Option<String> {
    let citation = &cited.citation;
    let kind: AnnotationKind = match citation.kind {
        CitationKind::Code => AnnotationKind::Citation,
        // It is in a report, and not in the code.
        CitationKind::Verifies => return None,
        kind => judge::name_of(kind).parse().ok()?,
    };
    let pin = citation.pin.map(|_| format!("@{}", text.content_version)).unwrap_or_default();
    let target = format!("{SCHEME}{}{pin}", text.reference_id);
    Some(citing::comment(&citing::usual_style(&citation.path), kind, &target, quote))
}

/// The unit with a hash that a text had at a version.
fn quoted(cx: &mut Cx<'_, '_>, text: &CitableText, hash: &str, version: i64) -> Result<Option<String>> {
    let found = judge::earlier_texts(cx, text)?.into_iter().find(|(known, _, _)| *known == version);
    Ok(found.and_then(|(_, title, description)| {
        let units = units(text_of(&title, &description), judge::granularity(text.kind));
        units.into_iter().find(|unit| unit.hash == hash).map(|unit| unit.text)
    }))
}

/// The text that a version had.
fn pinned(cx: &mut Cx<'_, '_>, text: &CitableText, version: Option<i64>) -> Result<Option<String>> {
    let Some(version) = version else { return Ok(None) };
    let found = text_at(cx, text, version)?;
    Ok(found.map(|(title, description)| text_of(&title, &description).to_owned()))
}

/// The title and the description that a version had, where they have changed since.
pub(crate) fn text_at(
    cx: &mut Cx<'_, '_>,
    text: &CitableText,
    version: i64,
) -> Result<Option<(String, String)>> {
    // Each is there with the last version that had it, the newest first.
    let earlier = judge::earlier_texts(cx, text)?;
    let found = earlier.into_iter().rev().find(|(last, _, _)| *last >= version);
    Ok(found.map(|(_, title, description)| (title, description)))
}

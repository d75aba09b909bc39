//! Stores for each cited entity how much of it is closed, so that reports need not judge thousands.

use std::collections::BTreeMap;

use store::thread::repository::Repository;
use store::thread::snapshot::{self, CitationKind};
use store::thread::text::{self, CitableText};
use store::thread::verification::{self, Verification};

use super::judge::{self, Judged};
use crate::context::Cx;
use crate::error::Result;

/// How many entities are counted in one transaction.
pub(super) const AT_ONCE: usize = 250;
/// How many are counted in one transaction that is not a push.
const COUNTED_MAX: usize = 2_500;
/// How many ids are read at once.
const IDS_AT_ONCE: i64 = 5_000;

/// Recounts some entities.
pub(super) fn count(cx: &mut Cx<'_, '_>, ids: &[String]) -> Result<()> {
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let mut by_project: BTreeMap<String, Vec<CitableText>> = BTreeMap::new();
    for text in text::of_ids(cx.tx, &ids)? {
        by_project.entry(text.project_id.clone()).or_default().push(text);
    }
    let mut counted = Vec::new();
    for (project_id, texts) in by_project {
        let heads = judge::heads(cx, &project_id, None)?;
        counted.extend(judge::judge(cx, &heads, texts)?.iter().filter_map(of_one));
    }
    Ok(verification::replace(cx.tx, &ids, &counted)?)
}

/// Recounts those of some entities that are cited or tested, after a change of their text or status.
pub(crate) fn count_again(cx: &mut Cx<'_, '_>, ids: &[&str]) -> Result<()> {
    for some in ids.chunks(AT_ONCE) {
        let known: Vec<String> = verification::of_entities(cx.tx, some)?.into_keys().collect();
        if !known.is_empty() {
            count(cx, &known)?;
        }
    }
    Ok(())
}

/// Recounts everything that the head of a repository cites, after a change of its policy. What is too much for one transaction
/// counts
/// as open until the next push.
pub(super) fn count_head(cx: &mut Cx<'_, '_>, repository: &Repository) -> Result<()> {
    let Some(head) = snapshot::head(cx.tx, &repository.id, &repository.main_ref)? else { return Ok(()) };
    let ids = cited(cx, &head.id)?;
    let (now, later) = ids.split_at(ids.len().min(COUNTED_MAX));
    for some in now.chunks(AT_ONCE) {
        count(cx, some)?;
    }
    for some in later.chunks(AT_ONCE) {
        let some: Vec<&str> = some.iter().map(String::as_str).collect();
        verification::reopen(cx.tx, &some)?;
    }
    snapshot::note_counted(cx.tx, &repository.id, &repository.main_ref, later.is_empty())?;
    Ok(())
}

/// The stored counts of an entity; none if nothing cites or tests it.
fn of_one(judged: &Judged) -> Option<Verification> {
    let is_tried = judged.units.iter().any(|unit| !unit.manual.is_empty());
    (judged.is_cited() || is_tried).then(|| Verification {
        entity_id: judged.text.id.clone(),
        project_id: judged.text.project_id.clone(),
        n_units: judged.units.len() as i64,
        n_implemented: judged
            .count(|unit| unit.has(CitationKind::Code) || unit.has(CitationKind::Implication)),
        n_tested: judged.count(|unit| unit.has(CitationKind::Test) || unit.has(CitationKind::Verifies)),
        n_closed: judged.count(|unit| unit.closes),
        is_cited: judged.is_cited(),
        has_failed: judged.units.iter().any(|unit| unit.verdict == evidence::Verdict::Failed),
        is_verified: judged.is_verified(),
        content_version: judged.text.content_version,
    })
}

/// The ids of all entities that a snapshot cites.
pub(super) fn cited(cx: &mut Cx<'_, '_>, snapshot_id: &str) -> Result<Vec<String>> {
    let mut found: Vec<String> = Vec::new();
    loop {
        let after = found.last().map_or("", String::as_str).to_owned();
        let some = snapshot::cited_after(cx.tx, snapshot_id, &after, IDS_AT_ONCE)?;
        let is_last = (some.len() as i64) < IDS_AT_ONCE;
        found.extend(some);
        if is_last {
            return Ok(found);
        }
    }
}

//! Undoes an import: what it created is deleted, what it changed gets its old text and fields. Later changes
//! by others stay, and the answer lists them.

use std::sync::{Mutex, MutexGuard, PoisonError};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::Mode;
use store::alias;
use store::import::{self, Import, ImportState, Outcome, Written};

use super::imports::{find, shown};
use super::leaves;
use super::taken_back::{CHANGED_SINCE, Undone, name, undo_one};
use crate::context::Cx;
use crate::error::{Error, Result};
use crate::input::Id;
use crate::operation::{Command, Effect, Operation, Output, Route, Tool, command, post, tool};

/// Undo an import as a whole, whether it is finished or has stopped.
///
/// Entities that it created are deleted, and can be restored like other deleted ones; their reference ids stay reserved.
/// Entities that
/// it changed return to their previous state. What was changed since, or got new children, stays unchanged,
/// and the answer says why. Projects, types and statuses stay.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UndoImport {
    /// The import's id.
    import_id: Id,
    /// Only list what would be deleted, restored and kept. Parents of what is kept stay, too, but are not listed yet.
    #[serde(default)]
    dry_run: bool,
    /// The number of parts, and what each has done so far.
    #[serde(skip)]
    #[schemars(skip)]
    parts: Mutex<Vec<Done>>,
}

/// The result of an undo.
#[derive(Serialize, JsonSchema)]
pub struct UndoneImport {
    /// The import.
    import: Import,
    /// How many entities were deleted.
    deleted: usize,
    /// How many entities returned to their previous state.
    restored: usize,
    /// The first hundred entities that stay unchanged.
    kept: Vec<KeptThing>,
    /// How many further ones stay.
    kept_more: usize,
}

impl Output for UndoneImport {}

/// Something that an undo leaves unchanged.
#[derive(Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct KeptThing {
    /// The kind.
    kind: String,
    /// The reference id, or the id.
    reference_id: String,
    /// Why it stays.
    why: String,
}

/// The result of a part.
#[derive(Clone, Default)]
struct Done {
    deleted: usize,
    restored: usize,
    kept: Vec<KeptThing>,
    kept_more: usize,
}

/// How many changes a part undoes: other writers wait for at most one part.
const PART: usize = 100;
/// How many remaining entities are listed.
const KEPT_MAX: usize = 100;
/// The kinds in the order of undoing, each before what it depends on.
const KINDS: [&str; 8] = [
    "prompt",
    "comment",
    "relationship",
    "requirement",
    "acceptance_criteria",
    "user_story",
    "steering_document",
    "epic",
];

impl Operation for UndoImport {
    type Output = UndoneImport;
    const NAME: &'static str = "undo_import";
    const COMMANDS: &'static [Command] = &[command("imports undo")];
    const ROUTES: &'static [Route] = &[post("/imports/{import_id}/undo")];
    const TOOLS: &'static [Tool] =
        &[tool("bulk", r#"{"import_id": "019a8b5e-2f00-7000-8000-00000000f11e"}"#)];
    const EFFECT: Effect = Effect::Destroys;
    const POSITIONAL: &'static [&'static str] = &["import_id"];
    const PREPARES: bool = true;
    const IS_UNBOUNDED: bool = true;

    fn mode(&self) -> Option<Mode> {
        Some(if self.dry_run { Mode::Snapshot } else { Mode::Long })
    }

    fn prepare(&mut self, cx: &mut Cx<'_, '_>) -> Result<()> {
        let import = find(cx, &self.import_id)?;
        let n_written = match import.state {
            _ if self.dry_run => 0,
            ImportState::Undone => 0,
            _ => import::count_written(cx.tx, &import.id)? as usize,
        };
        // A running import may write one more slice before the first part stops it.
        let n_parts = if n_written == 0 { 0 } else { n_written.div_ceil(PART) + SPARE_PARTS };
        *self.parts() = vec![Done::default(); n_parts];
        Ok(())
    }

    fn n_parts(&self) -> usize {
        self.parts().len()
    }

    fn part(&self, cx: &mut Cx<'_, '_>, index: usize) -> Result<()> {
        let import = find(cx, &self.import_id)?;
        let n_parts = self.n_parts();
        cx.steps.begin("taking back", Some(n_parts * PART));
        cx.steps.reach(index * PART);
        let done = undo_some(cx, &import)?;
        cx.steps.reach((index + 1) * PART);
        self.parts()[index] = done;
        Ok(())
    }

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<UndoneImport> {
        let import = find(cx, &self.import_id)?;
        if self.dry_run {
            let planned = planned(cx, &import)?;
            let import = shown(cx, import)?;
            return Ok(UndoneImport::of(import, &[planned]));
        }
        let last =
            if import.state == ImportState::Undone { Done::default() } else { undo_some(cx, &import)? };
        let import = find(cx, &self.import_id)?;
        let is_left = next(cx, &import)?.is_some();
        let import = match import.state {
            ImportState::Undone => import,
            _ if is_left => {
                return Err(Error::conflict("the import was still running; undo it once more"));
            }
            _ => {
                alias::remove_from_others(cx.tx, &import.id)?;
                import::undo_to(cx.tx, &import, ImportState::Undone, None, cx.now())?;
                find(cx, &self.import_id)?
            }
        };
        let parts: Vec<Done> = self.parts().iter().cloned().chain([last]).collect();
        Ok(UndoneImport::of(shown(cx, import)?, &parts))
    }
}

impl UndoneImport {
    fn of(import: Import, parts: &[Done]) -> UndoneImport {
        let count = |number: fn(&Done) -> usize| parts.iter().map(number).sum();
        let n_kept: usize = count(|done| done.kept.len() + done.kept_more);
        let kept: Vec<KeptThing> =
            parts.iter().flat_map(|done| done.kept.iter().cloned()).take(KEPT_MAX).collect();
        UndoneImport {
            import,
            deleted: count(|done| done.deleted),
            restored: count(|done| done.restored),
            kept_more: n_kept - kept.len(),
            kept,
        }
    }
}

/// What an undo would do.
fn planned(cx: &mut Cx<'_, '_>, import: &Import) -> Result<Done> {
    let mut done = Done::default();
    let mut changed = Vec::new();
    if import.state == ImportState::Undone {
        return Ok(done);
    }
    import::each_outcome(cx.tx, &import.id, &KINDS, |outcome| match outcome {
        outcome if outcome.is_changed_since && changed.len() < KEPT_MAX => changed.push(outcome),
        Outcome { is_changed_since: true, .. } => done.kept_more += 1,
        Outcome { is_new: true, .. } => done.deleted += 1,
        Outcome { .. } => done.restored += 1,
    })?;
    for Outcome { kind, entity_id, .. } in changed {
        let reference_id = name(cx, &kind, &entity_id)?;
        done.kept.push(KeptThing { kind, reference_id, why: CHANGED_SINCE.to_owned() });
    }
    Ok(done)
}

impl UndoImport {
    fn parts(&self) -> MutexGuard<'_, Vec<Done>> {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Parts beyond the counted ones.
const SPARE_PARTS: usize = 4;

/// The position of an undo: a kind, and the last processed revision.
struct Cursor {
    kind: usize,
    entity_id: String,
    revision_id: String,
}

impl Cursor {
    fn of(import: &Import) -> Cursor {
        let text = import.undo_cursor.as_deref().unwrap_or_default();
        let mut words = text.split(' ');
        let kind = words.next().and_then(|kind| KINDS.iter().position(|known| *known == kind));
        let mut word = || words.next().unwrap_or_default().to_owned();
        Cursor { kind: kind.unwrap_or_default(), entity_id: word(), revision_id: word() }
    }

    fn text(&self) -> String {
        format!("{} {} {}", KINDS[self.kind], self.entity_id, self.revision_id)
    }
}

/// The next changes, with the index of their kind.
fn next(cx: &mut Cx<'_, '_>, import: &Import) -> Result<Option<(usize, Vec<Written>)>> {
    let cursor = Cursor::of(import);
    for (index, kind) in KINDS.iter().enumerate().skip(cursor.kind) {
        let after = if index == cursor.kind { (&*cursor.entity_id, &*cursor.revision_id) } else { ("", "") };
        let found = import::written_after(cx.tx, &import.id, kind, after, PART as i64)?;
        if !found.is_empty() {
            return Ok(Some((index, found)));
        }
    }
    Ok(None)
}

/// Undoes the next changes.
fn undo_some(cx: &mut Cx<'_, '_>, import: &Import) -> Result<Done> {
    let mut done = Done::default();
    let Some((index, found)) = next(cx, import)? else { return Ok(done) };
    let (Some(last), kind) = (found.last(), KINDS[index]) else { return Ok(done) };
    let cursor =
        Cursor { kind: index, entity_id: last.entity_id.clone(), revision_id: last.id.clone() }.text();
    if !import::undo_to(cx.tx, import, ImportState::Undoing, Some(&cursor), cx.now())? {
        return Err(Error::conflict(format!("the import {} is being undone elsewhere", import.id)));
    }
    let together = leaves::delete_new(cx, kind, &found)?;
    let (request, caller) = (cx.request, cx.caller()?);
    let mut gone = Vec::new();
    for (written, undone) in found.iter().zip(together) {
        // A failed undo of a change leaves nothing half done.
        let undone = undone.unwrap_or_else(|| {
            cx.tx.savepoint(|tx| {
                let doing = (UndoImport::NAME, UndoImport::EFFECT);
                undo_one(&mut Cx::new(tx, request, doing, Some(caller)), kind, written)
            })
        });
        if matches!(undone, Ok(Undone::Deleted | Undone::Nothing)) {
            gone.push(written.entity_id.as_str());
        }
        match undone {
            Ok(Undone::Deleted) => done.deleted += 1,
            Ok(Undone::Restored) => done.restored += 1,
            Ok(Undone::Nothing) => {}
            Err(error) if error.kind.is_callers() && !error.lost_race => {
                let reference_id = name(cx, kind, &written.entity_id)?;
                done.kept.push(KeptThing { kind: kind.to_owned(), reference_id, why: error.message });
            }
            Err(error) => return Err(error),
        }
    }
    alias::remove(cx.tx, &import.id, &gone)?;
    Ok(done)
}

//! Translates statuses, types and users in tables of other tools. Unknown values are noted and ignored, so that
//! such a table can be imported without editing it.

use store::entity::Entity;
use store::status::{StatusModel, StatusOutcome};
use store::types::same_name;

use super::plan::Plan;
use super::rows::Row;
use crate::context::Cx;
use crate::error::Result;

/// The note for a word without a match.
const NOT_UNDERSTOOD: &str = "was not understood and is left out";
/// The note for a word that was replaced.
const TAKEN_FOR: &str = "was mapped to the nearest one here";
/// The note for a status that cannot follow the stored one.
const CANNOT_FOLLOW: &str = "cannot follow the present status, which stays";
/// The note for a person without an account.
const NOT_A_USER: &str = "is not a user here, so nobody is assigned";

/// The progress that words of other tools mean.
const BEGINNING: [&str; 14] = [
    "todo",
    "open",
    "new",
    "backlog",
    "proposed",
    "created",
    "reopened",
    "triage",
    "notstarted",
    "selectedfordevelopment",
    "ready",
    "approved",
    "planned",
    "draft",
];
const UNDER_WAY: [&str; 13] = [
    "inprogress",
    "active",
    "doing",
    "started",
    "inreview",
    "committed",
    "indevelopment",
    "review",
    "testing",
    "intesting",
    "qa",
    "blocked",
    "implementation",
];
const DONE: [&str; 11] = [
    "done",
    "closed",
    "resolved",
    "completed",
    "complete",
    "fixed",
    "finished",
    "released",
    "accepted",
    "verified",
    "implemented",
];
const GIVEN_UP: [&str; 12] = [
    "cancelled",
    "canceled",
    "wontdo",
    "won'tdo",
    "wontfix",
    "won'tfix",
    "duplicate",
    "rejected",
    "removed",
    "abandoned",
    "obsolete",
    "declined",
];

impl Plan<'_> {
    /// Whether the rows are those of another tool's table.
    pub(super) fn is_foreign(&self) -> bool {
        self.rows.reading.table.is_some()
    }

    /// Translates the status in a row of another tool to the nearest one.
    pub(super) fn set_foreign_status(
        &mut self,
        row: &Row,
        before: Option<&Entity>,
        entity: &mut Entity,
        text: &str,
    ) {
        let model = &self.models[&entity.kind];
        let by_name = model.status(text).map(|status| status.name.clone());
        let Some(found) = by_name.clone().or_else(|| like(model, text)) else {
            if before.is_none() {
                entity.status = model.initial().map(|status| status.name.clone());
            }
            return self.note(row, "status", NOT_UNDERSTOOD, format!("{text:?}"));
        };
        let from = before.and_then(|before| before.status.as_deref());
        if let Some(from) = from.filter(|from| !model.allows(from, &found)) {
            let example = format!("{} is {from}, and the file says {text:?}", entity.reference_id);
            return self.note(row, "status", CANNOT_FOLLOW, example);
        }
        if by_name.is_none() {
            self.note(row, "status", TAKEN_FOR, format!("{text:?} is {found}"));
        }
        entity.status = Some(found);
    }

    /// Translates the requirement type in a row of another tool, if there is a similar one.
    pub(super) fn set_foreign_type(&mut self, row: &Row, entity: &mut Entity, text: &str) {
        let types = &self.requirement_types;
        let near = || nearest::nearest(text, types.iter().map(|known| known.name.as_str()));
        let found = types.iter().find(|known| same_name(&known.name, text));
        let found = found.or_else(|| near().and_then(|name| types.iter().find(|known| known.name == name)));
        match found.or(types.first().filter(|_| entity.type_id.is_none())) {
            Some(found) if same_name(&found.name, text) => {
                (entity.type_id, entity.type_name) = (Some(found.id.clone()), Some(found.name.clone()));
            }
            Some(found) => {
                (entity.type_id, entity.type_name) = (Some(found.id.clone()), Some(found.name.clone()));
                let example = format!("{text:?} is {}", found.name);
                self.note(row, "type", TAKEN_FOR, example);
            }
            None => self.note(row, "type", NOT_UNDERSTOOD, format!("{text:?}")),
        }
    }

    /// The user in a row of another tool: by name, by the local part of an e-mail address, or as `jane.doe`.
    pub(super) fn foreign_user(
        &mut self,
        cx: &mut Cx<'_, '_>,
        row: &Row,
        field: &'static str,
    ) -> Result<Option<(String, String)>> {
        let Some(text) = row.text(field).map(str::to_owned) else { return Ok(None) };
        // Azure writes `Jane Doe <jane@example.org>`, GitHub several names.
        let first = text.split([',', ';']).next().unwrap_or_default().trim();
        let (name, address) = first.trim_end_matches('>').split_once('<').unwrap_or((first, first));
        let (name, address) = (name.trim(), address.trim());
        let account = address.split('@').next().unwrap_or_default();
        let joined = |by: &str| name.split_whitespace().collect::<Vec<_>>().join(by);
        let spellings =
            [name.to_owned(), address.to_owned(), account.to_owned(), joined("."), joined("_"), joined("")];
        for spelling in spellings.iter().filter(|spelling| !spelling.is_empty()) {
            if let Some(found) = self.known_user(cx, spelling)? {
                return Ok(Some(found));
            }
        }
        self.note(row, field, NOT_A_USER, format!("{text:?}"));
        Ok(None)
    }
}

/// The status of a model that is nearest to a word of another tool.
fn like(model: &StatusModel, text: &str) -> Option<String> {
    let word: String =
        text.to_lowercase().chars().filter(|char| !char.is_whitespace() && !"-_".contains(*char)).collect();
    let word = word.as_str();
    let named = |names: &[&str]| {
        let same = |name: &&str| model.statuses.iter().find(|status| same_name(&status.name, name));
        names.iter().find_map(same).map(|status| status.name.clone())
    };
    let with = |outcome: StatusOutcome| {
        let found = model.statuses.iter().find(|status| status.outcome == Some(outcome));
        found.map(|status| status.name.clone())
    };
    if BEGINNING.contains(&word) {
        return model.initial().map(|status| status.name.clone());
    }
    if UNDER_WAY.contains(&word) {
        return named(&["In Progress", "Active", "Doing"]);
    }
    if DONE.contains(&word) {
        return with(StatusOutcome::Done).or_else(|| named(&["Done", "Active"]));
    }
    if GIVEN_UP.contains(&word) {
        return with(StatusOutcome::Cancelled)
            .or_else(|| with(StatusOutcome::Obsolete))
            .or_else(|| named(&["Cancelled", "Obsolete"]));
    }
    nearest::nearest(text, model.statuses.iter().map(|status| status.name.as_str())).map(str::to_owned)
}

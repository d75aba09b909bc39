//! Suggestions for unknown names in error messages, as text to paste.

use store::model::{DEFAULT_PROJECT_KEY, Kind, Reference};
use store::{comment, entity, project, user};

use crate::context::Cx;
use crate::error::{Error, Result};

/// How many names are compared at most.
const NAMES_MAX: i64 = 1_000;
/// In how many projects a number is looked for.
const PROJECTS_MAX: usize = 20;
/// Two ids with the same beginning were made within a minute; more characters are seldom right where others are wrong.
const UUID_PREFIX: usize = 8;
/// The ends of ids are random: two that differ in no more characters are one that was mistyped.
const UUID_TYPOS_MAX: usize = 4;

/// The end of a message about an unknown name: the known one that may be meant; nothing where none is near.
pub(crate) fn near<'a>(found: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest::nearest(found, known).map(|near| format!("; did you mean \"{near}\"?")).unwrap_or_default()
}

impl Cx<'_, '_> {
    /// What a UUID that no entity has may be meant to be: that of a comment, or one with a mistyped end.
    pub(crate) fn near_id(&mut self, id: &str) -> Result<Option<String>> {
        if let Some(found) = comment::find(self.tx, id)?
            && self.role_in(&found.project_id)?.is_some()
        {
            return Ok(Some(format!("; it is the id of a comment on {}", found.entity)));
        }
        let projects = self.projects("project", None)?;
        let mut ids = entity::ids_beginning(self.tx, &id[..UUID_PREFIX.min(id.len())], &projects, NAMES_MAX)?;
        ids.retain(|known| {
            known.bytes().zip(id.bytes()).filter(|(one, other)| one != other).count() <= UUID_TYPOS_MAX
        });
        let found = match nearest::nearest(id, ids.iter().map(String::as_str)) {
            Some(near) => entity::find(self.tx, &Reference::Id(near.to_owned()))?,
            None => None,
        };
        Ok(Some(match found {
            Some(found) => format!("; did you mean \"{}\"?", found.reference_id),
            None => "; use a reference id, such as REQ-012, or search for it".to_owned(),
        }))
    }

    /// The last of a kind in a project, if the caller sees it: who names one that is not there learns how far they go.
    pub(crate) fn last_of(&mut self, project: Option<&str>, kind: Kind) -> Result<Option<Reference>> {
        let Some(found) = self.find_project(project.unwrap_or(DEFAULT_PROJECT_KEY))? else {
            return Ok(None);
        };
        let last = entity::last_number(self.tx, &found.id, kind)?;
        Ok(last.map(|number| Reference::Numbered { project: project.map(str::to_owned), kind, number }))
    }

    /// What a reference without a project may be meant to be, as it is written in code that cites another project.
    pub(crate) fn elsewhere(&mut self, kind: Kind, number: i64) -> Result<Option<Reference>> {
        for key in self.project_keys()?.into_iter().take(PROJECTS_MAX) {
            let reference = Reference::Numbered { project: Some(key), kind, number };
            if entity::find(self.tx, &reference)?.is_some_and(|found| found.deleted_at.is_none()) {
                return Ok(Some(reference));
            }
        }
        Ok(None)
    }

    /// The error for a project that is not there, with the one that may be meant.
    pub(crate) fn no_project(&mut self, name: &str) -> Result<Error> {
        let known = self.project_keys()?;
        Ok(Error::not_found("project", name).adding(&near(name, known.iter().map(String::as_str))))
    }

    /// The keys of the projects that the caller sees.
    pub(crate) fn project_keys(&mut self) -> Result<Vec<String>> {
        let known = project::list(self.tx, self.caller()?.viewer(), NAMES_MAX, 0)?;
        Ok(known.into_iter().map(|project| project.key).collect())
    }

    /// The error for an argument that names a user who is not there, with the one who may be meant.
    pub(crate) fn no_user(&mut self, field: &str, who: &str) -> Result<Error> {
        let (known, _) = user::directory(self.tx, NAMES_MAX, 0)?;
        let near = near(who, known.iter().map(|user| user.username.as_str()));
        let message = format!("there is no user {who:?}; expected a user's id or name");
        Ok(Error::field(field, message).adding(&near))
    }
}

//! Reports about many entities at once.

pub mod burn_up;
pub mod hierarchy;
pub mod impact;
pub mod matrix;
pub mod status;

use schemars::JsonSchema;
use serde::Serialize;
use store::model::Kind;
use store::project::Projects;
use store::report::Scope;
use store::thread::verification::Verification;

use crate::context::Cx;
use crate::error::{Error, Result};
use crate::input::{Id, Text};

/// The scope of a report, with its names.
struct About {
    scope: Scope,
    epic: Option<String>,
    project: Option<String>,
}

/// How much of a requirement or criterion code and tests cite. A unit is the smallest citable text: a sentence, or a whole
/// short text.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
struct Thread {
    /// How many units its text has.
    units: i64,
    /// How many of them code cites.
    with_code: i64,
    /// How many of them a test cites.
    with_tests: i64,
    /// How many of them are closed by evidence.
    closed: i64,
    /// Whether a test of it failed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    failed: bool,
    /// Whether evidence closes all of it.
    verified: bool,
}

impl From<&Verification> for Thread {
    fn from(known: &Verification) -> Thread {
        Thread {
            units: known.n_units,
            with_code: known.n_implemented,
            with_tests: known.n_tested,
            closed: known.n_closed,
            failed: known.has_failed,
            verified: known.is_verified,
        }
    }
}

fn about(cx: &mut Cx<'_, '_>, epic: Option<&Id>, project: Option<&Text<1, 64>>) -> Result<About> {
    let project = project.map(|name| cx.project("project", Some(name.as_str()))).transpose()?;
    let epic = epic.map(|id| cx.entity("epic_id", id, Kind::Epic)).transpose()?;
    match (epic, project) {
        (Some(epic), Some(project)) if epic.project_id != project.id => Err(Error::field(
            "epic_id",
            format!("{} is not in the project {}", epic.reference_id, project.key),
        )),
        (Some(epic), _) => Ok(About {
            scope: Scope::Epic(epic.id),
            epic: Some(epic.reference_id),
            project: Some(epic.project),
        }),
        (None, Some(project)) => {
            let scope = Scope::Projects(Projects::One(project.id));
            Ok(About { scope, epic: None, project: Some(project.key) })
        }
        (None, None) => {
            Ok(About { scope: Scope::Projects(cx.projects("project", None)?), epic: None, project: None })
        }
    }
}

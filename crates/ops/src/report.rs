//! Reports about many entities at once.

pub mod burn_up;
pub mod hierarchy;
pub mod impact;
pub mod matrix;
pub mod status;

use store::model::Kind;
use store::project::Projects;
use store::report::Scope;

use crate::context::Cx;
use crate::error::{Error, Result};
use crate::input::{Id, Text};

/// What a report is about, with the names of it.
struct About {
    scope: Scope,
    epic: Option<String>,
    project: Option<String>,
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

//! A project or an epic as a specification: numbered, in the order in which people read it, a part at a time.

pub(crate) mod reader;

use document::{Node, NodeKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::model::Kind;

use self::reader::{Depth, Reader};
use crate::context::Cx;
use crate::error::{Error, Result};
use crate::input::{Id, Number, Text};
use crate::operation::{Columns, Command, Effect, Operation, Output, Route, Shape, command, get};

/// Read a project or an epic as a specification: epics, stories, criteria and requirements with their texts, numbered in the order of
/// the tree.
///
/// A part begins with `from` and holds whole epics, or whole stories of one epic, where these fit into `limit`. `next` is what the part
/// after it begins with. Numbers follow from the order of reference ids, so that a deletion moves them; reference ids stay.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadAsDocument {
    /// The key or id of the project.
    project: Option<Text<1, 64>>,
    /// Only this epic, such as `EP-001`.
    epic: Option<Id>,
    /// What to begin with, such as `US-012`; the first epic when absent.
    from: Option<Id>,
    /// How many sections and criteria to return; 100 when absent.
    limit: Option<Number<1, 500>>,
}

/// A part of a specification.
#[derive(Serialize, JsonSchema)]
pub struct DocumentPart {
    /// The key of the project.
    project: String,
    /// The name of the project.
    name: String,
    /// What the project is about, in Markdown.
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    /// What the part begins within: the epic, and the user story.
    within: Vec<Node>,
    /// The part, in the order in which it is read.
    data: Vec<Node>,
    /// What the next part begins with, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

impl Output for DocumentPart {}

/// How much a part holds when nobody says.
const LIMIT: i64 = 100;

impl Operation for ReadAsDocument {
    type Output = DocumentPart;
    const NAME: &'static str = "read_as_document";
    const COMMANDS: &'static [Command] = &[command("document")];
    const ROUTES: &'static [Route] = &[get("/document")];
    const EFFECT: Effect = Effect::Reads;
    const SHAPE: Option<Shape> = Some(Shape::Page("data", ""));
    const COLUMNS: &'static [Columns] = &[(None, &["number", "reference_id", "kind", "title", "status"])];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<DocumentPart> {
        let named =
            self.project.as_ref().map(|name| cx.project("project", Some(name.as_str()))).transpose()?;
        let epic = self.epic.as_ref().map(|id| cx.entity("epic", id, Kind::Epic)).transpose()?;
        let from = self.from.as_ref().map(|id| cx.live_entity("from", id)).transpose()?;
        let project = match (named, &epic, &from) {
            (Some(project), ..) => project,
            (None, Some(entity), _) | (None, None, Some(entity)) => {
                cx.project("project", Some(&entity.project_id))?
            }
            (None, None, None) => cx.project("project", None)?,
        };
        for (field, entity) in [("epic", &epic), ("from", &from)] {
            if let Some(entity) = entity.as_ref().filter(|entity| entity.project_id != project.id) {
                let message = format!("{} is not in the project {}", entity.reference_id, project.key);
                return Err(Error::field(field, message));
            }
        }
        let mut reader = Reader::new(cx, &project, epic, Depth::All)?;
        if let Some(from) = from {
            reader.begin_with(cx, "from", from)?;
        }
        let within = reader.within(cx)?;
        let limit = self.limit.map_or(LIMIT, |limit| limit.0);
        let mut data = reader.read(cx, limit)?;
        let mut next = reader.next().map(|next| next.reference_id.clone());
        if let Some(upcoming) = reader.next()
            && let Some(cut) = whole_sections(&data, upcoming.kind)
        {
            next = data.get(cut).map(|node| node.reference_id.clone()).or(next);
            data.truncate(cut);
        }
        let (project, name, description) = (project.key, project.name, project.description);
        Ok(DocumentPart { project, name, description, within, data, next })
    }
}

/// Where to cut what was read, so that the next part begins with an epic, or at least with a story. None where nothing is gained.
fn whole_sections(data: &[Node], next: Kind) -> Option<usize> {
    let last = |kind| data.iter().rposition(|node| node.kind == kind).filter(|at| *at > 0);
    match next {
        Kind::Epic => None,
        Kind::UserStory => last(NodeKind::Epic),
        _ => last(NodeKind::Epic).or(last(NodeKind::UserStory)),
    }
}

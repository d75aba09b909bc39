//! A project or an epic as a specification: numbered, in reading order, in parts.

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

/// Read a project or an epic as a specification: epics, stories, criteria and requirements with their texts, numbered in the
/// order of
/// the tree.
///
/// A part starts at `from` and has whole epics, or whole stories of one epic, if they fit into `limit`. `next` is the start of
/// the next
/// part. Numbers follow the order of reference ids, so a deletion changes them; reference ids stay.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadAsDocument {
    /// The key or id of the project.
    project: Option<Text<1, 64>>,
    /// Only this epic, such as `EP-001`.
    epic: Option<Id>,
    /// The start, such as `US-012`; default: the first epic.
    from: Option<Id>,
    /// How many sections and criteria to return; default 100.
    limit: Option<Number<1, 500>>,
}

/// A part of a specification.
#[derive(Serialize, JsonSchema)]
pub struct DocumentPart {
    /// The key of the project.
    project: String,
    /// The name of the project.
    name: String,
    /// The description of the project, in Markdown.
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    /// The epic and the user story within which the part starts.
    within: Vec<Node>,
    /// The sections of the part, in reading order.
    data: Vec<Node>,
    /// The start of the next part, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

impl Output for DocumentPart {}

/// The default size of a part.
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

/// Where to end the part, so that the next one starts with an epic, or at least with a story. None if that is not possible.
fn whole_sections(data: &[Node], next: Kind) -> Option<usize> {
    let last = |kind| data.iter().rposition(|node| node.kind == kind).filter(|at| *at > 0);
    match next {
        Kind::Epic => None,
        Kind::UserStory => last(NodeKind::Epic),
        _ => last(NodeKind::Epic).or(last(NodeKind::UserStory)),
    }
}

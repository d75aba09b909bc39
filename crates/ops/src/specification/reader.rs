//! Reads a specification part by part. A part takes a few queries, each of which starts at the beginning of the part by an index,
//! so that a late part costs no more than the first one.

use document::{Node, NodeKind, NodeState, Numbering};
use store::entity::{self, Entity, Extent, STORIES_AT_ONCE};
use store::model::{Kind, Reference};
use store::project::Project;
use store::status::{self, StatusModel, StatusOutcome};

use crate::context::Cx;
use crate::error::{Error, Result};

/// How many epics are read at once.
const EPICS_AT_ONCE: i64 = 16;

/// The depth to which a specification is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Depth {
    /// Epics and stories.
    Outline,
    /// Everything.
    All,
}

/// The position in a specification.
pub(crate) struct Reader {
    extent: Extent,
    depth: Depth,
    models: Vec<StatusModel>,
    place: Place,
}

/// The next node.
enum Place {
    /// The first epic.
    Start,
    /// This node, within an epic and a story.
    At(Box<At>),
    /// Nothing.
    End,
}

#[derive(Clone)]
struct At {
    next: Entity,
    /// The epic and the story of the position.
    above: Vec<Entity>,
}

impl Reader {
    /// Reads a project, or an epic of it, from the start.
    pub fn new(cx: &mut Cx<'_, '_>, project: &Project, epic: Option<Entity>, depth: Depth) -> Result<Reader> {
        let mut models = Vec::new();
        for kind in [Kind::Epic, Kind::UserStory, Kind::Requirement] {
            models.push(status::of(cx.tx, kind)?);
        }
        let epic_id = epic.as_ref().map(|epic| epic.id.clone());
        let extent = Extent { project_id: project.id.clone(), epic_id, include_deleted: false };
        let place = match epic {
            Some(next) => Place::At(Box::new(At { next, above: Vec::new() })),
            None => Place::Start,
        };
        Ok(Reader { extent, depth, models, place })
    }

    /// Starts at another node, which must be in the specification.
    pub fn begin_with(&mut self, cx: &mut Cx<'_, '_>, field: &str, next: Entity) -> Result<()> {
        if !matches!(next.kind, Kind::Epic | Kind::UserStory | Kind::AcceptanceCriteria | Kind::Requirement) {
            let message = format!(
                "expected an epic, a user story, a criterion or a requirement, found {}",
                next.kind.with_article()
            );
            return Err(Error::field(field, message));
        }
        let mut above = Vec::new();
        let mut parent = next.parent_id().map(str::to_owned);
        while let Some(id) = parent {
            let found = entity::find(cx.tx, &Reference::Id(id))?;
            let found =
                found.ok_or_else(|| Error::new(crate::ErrorKind::InternalError, "a parent is missing"))?;
            parent = found.parent_id().map(str::to_owned);
            above.insert(0, found);
        }
        let epic = above.first().unwrap_or(&next);
        if self.extent.epic_id.as_ref().is_some_and(|wanted| *wanted != epic.id) {
            return Err(Error::field(
                field,
                format!("{} is in the epic {}", next.reference_id, epic.reference_id),
            ));
        }
        self.place = Place::At(Box::new(At { next, above }));
        Ok(())
    }

    /// The next node, if known.
    pub fn next(&self) -> Option<&Entity> {
        match &self.place {
            Place::At(at) => Some(&at.next),
            Place::Start | Place::End => None,
        }
    }

    /// Whether everything was read.
    pub fn is_at_end(&self) -> bool {
        matches!(self.place, Place::End)
    }

    /// The epic and story within which the next part starts, with numbers.
    pub fn within(&mut self, cx: &mut Cx<'_, '_>) -> Result<Vec<Node>> {
        let Place::At(at) = &self.place else { return Ok(Vec::new()) };
        let above = at.above.clone();
        let mut nodes = Vec::new();
        for (depth, entity) in above.iter().enumerate() {
            let mut numbering = self.numbering(cx, &above[..depth], entity)?;
            nodes.extend(self.node(entity, &mut numbering));
        }
        Ok(nodes)
    }

    /// Reads the next part, with at most `limit` nodes.
    pub fn read(&mut self, cx: &mut Cx<'_, '_>, limit: i64) -> Result<Vec<Node>> {
        let place = std::mem::replace(&mut self.place, Place::End);
        let at = match place {
            Place::End => return Ok(Vec::new()),
            Place::At(at) => Some(*at),
            Place::Start => None,
        };
        let (mut numbering, epic, story, below) = match &at {
            None => (Numbering::default(), None, None, None),
            Some(At { next, above }) => {
                let numbering = self.numbering(cx, above, next)?;
                let below = (next.kind, next.number);
                match (next.kind, above.as_slice()) {
                    (Kind::Epic, _) => (numbering, Some(next), None, None),
                    (Kind::UserStory, [epic, ..]) => (numbering, Some(epic), Some(next), None),
                    (_, [epic, story, ..]) => (numbering, Some(epic), Some(story), Some(below)),
                    _ => return Err(Error::new(crate::ErrorKind::InternalError, "a parent is missing")),
                }
            }
        };
        let mut part = Part { nodes: Vec::new(), limit: limit as usize, next: None };
        let (mut story_from, mut below_from) = (story.map(|story| story.number), below);
        let mut epic_after = epic.map_or(0, |epic| epic.number - 1);
        loop {
            let epics = entity::page_of_kind(cx.tx, &self.extent, Kind::Epic, epic_after, EPICS_AT_ONCE)?;
            for epic in &epics {
                epic_after = epic.number;
                if story_from.is_none() && !self.add(&mut part, epic, &[], &mut numbering) {
                    return Ok(self.finish(part));
                }
                if !self.stories(
                    cx,
                    &mut part,
                    epic,
                    (story_from.take(), below_from.take()),
                    &mut numbering,
                )? {
                    return Ok(self.finish(part));
                }
            }
            if (epics.len() as i64) < EPICS_AT_ONCE {
                return Ok(self.finish(part));
            }
        }
    }

    /// Adds the stories of an epic with everything below, from a position on; false if the part is full.
    fn stories(
        &self,
        cx: &mut Cx<'_, '_>,
        part: &mut Part,
        epic: &Entity,
        (from, mut below): (Option<i64>, Option<(Kind, i64)>),
        numbering: &mut Numbering,
    ) -> Result<bool> {
        let extent = Extent { epic_id: Some(epic.id.clone()), ..self.extent.clone() };
        let mut after = from.unwrap_or(1) - 1;
        loop {
            let found = entity::page_of_kind(cx.tx, &extent, Kind::UserStory, after, STORIES_AT_ONCE as i64)?;
            let all: Vec<&Entity> = found.iter().collect();
            let children = match self.depth {
                Depth::All => entity::below_stories(cx.tx, &all, below, part.room())?,
                Depth::Outline => Vec::new(),
            };
            let mut children = children.iter().peekable();
            for story in &found {
                after = story.number;
                if below.take().is_none() && !self.add(part, story, &[epic], numbering) {
                    return Ok(false);
                }
                while let Some(child) =
                    children.next_if(|child| child.user_story_id.as_ref() == Some(&story.id))
                {
                    if !self.add(part, child, &[epic, story], numbering) {
                        return Ok(false);
                    }
                }
            }
            if found.len() < STORIES_AT_ONCE {
                return Ok(true);
            }
        }
    }

    /// Adds a node to a part; false if that is full, and this node is next.
    fn add(&self, part: &mut Part, entity: &Entity, above: &[&Entity], numbering: &mut Numbering) -> bool {
        if part.nodes.len() == part.limit {
            let above = above.iter().map(|entity| (*entity).clone()).collect();
            part.next = Some(At { next: entity.clone(), above });
            return false;
        }
        part.nodes.extend(self.node(entity, numbering));
        true
    }

    fn finish(&mut self, part: Part) -> Vec<Node> {
        self.place = part.next.map_or(Place::End, |at| Place::At(Box::new(at)));
        part.nodes
    }

    /// The numbering before a node.
    fn numbering(&self, cx: &mut Cx<'_, '_>, above: &[Entity], next: &Entity) -> Result<Numbering> {
        let epic = above.first().unwrap_or(next);
        let n_epics = entity::n_epics_before(cx.tx, &epic.project_id, epic.number)?;
        let Some(story) = above.get(1).or((next.kind == Kind::UserStory).then_some(next)) else {
            return Ok(Numbering::after(n_epics, 0, 0));
        };
        let n_stories = entity::n_children_before(cx.tx, &epic.id, Kind::UserStory, story.number)?;
        if next.kind == Kind::UserStory {
            return Ok(Numbering::after(n_epics + 1, n_stories, 0));
        }
        let n_requirements = match next.kind {
            Kind::Requirement => entity::n_children_before(cx.tx, &story.id, Kind::Requirement, next.number)?,
            _ => 0,
        };
        Ok(Numbering::after(n_epics + 1, n_stories + 1, n_requirements))
    }

    /// The node of an entity.
    fn node(&self, entity: &Entity, numbering: &mut Numbering) -> Option<Node> {
        let kind = match entity.kind {
            Kind::Epic => NodeKind::Epic,
            Kind::UserStory => NodeKind::UserStory,
            Kind::AcceptanceCriteria => NodeKind::AcceptanceCriteria,
            Kind::Requirement => NodeKind::Requirement,
            _ => return None,
        };
        Some(Node {
            number: numbering.next(kind).map(|number| number.to_string()),
            reference_id: entity.reference_id.clone(),
            kind,
            version: Some(entity.version),
            title: entity.title.clone(),
            status: entity.status.clone(),
            state: entity.status.as_deref().and_then(|status| self.state(entity.kind, status)),
            priority: entity.priority,
            type_name: entity.type_name.clone(),
            acceptance_criteria: entity.acceptance_criteria.clone(),
            description: entity.description.clone(),
            rationale: entity.rationale.clone(),
        })
    }

    fn state(&self, kind: Kind, name: &str) -> Option<NodeState> {
        let model = self.models.iter().find(|model| model.entity_kind == kind)?;
        let status = model.statuses.iter().find(|status| status.name == name)?;
        Some(match status.outcome {
            Some(StatusOutcome::Done) => NodeState::Done,
            Some(_) => NodeState::GivenUp,
            None if status.initial => NodeState::NotBegun,
            None => NodeState::InProgress,
        })
    }
}

/// The nodes read so far.
struct Part {
    nodes: Vec<Node>,
    limit: usize,
    next: Option<At>,
}

impl Part {
    /// How many more nodes are needed, including the one after them.
    fn room(&self) -> i64 {
        (self.limit - self.nodes.len()) as i64 + 1
    }
}

//! All entities by name and page, which MCP lists as resources.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::entity::{self, Named};
use store::model::{Kind, Reference};
use store::{Tx, prompt};

use crate::context::Cx;
use crate::error::{Error, Result};
use crate::input::{KindName, Limit, Text};
use crate::operation::{Command, Effect, Operation, Output, Route};

/// List the entities of some kinds, kind by kind, each by project and number.
///
/// A page begins after an entry, so that creates and deletes do not move entries between pages.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Browse {
    /// The kinds, in their order.
    kinds: Vec<KindName>,
    /// The id of the last known entry.
    after: Option<Text<1, 64>>,
    /// How many to return.
    limit: Limit,
}

/// A page of names.
#[derive(Serialize, JsonSchema)]
pub struct Names {
    data: Vec<Entry>,
    /// Whether there are more.
    has_more: bool,
}

#[derive(Serialize, JsonSchema)]
struct Entry {
    id: String,
    kind: Kind,
    reference_id: String,
    label: String,
    status: Option<String>,
}

impl Output for Names {}

impl Operation for Browse {
    type Output = Names;
    const NAME: &'static str = "browse";
    // Other clients have the lists of each kind, with filters.
    const COMMANDS: &'static [Command] = &[];
    const ROUTES: &'static [Route] = &[];
    const EFFECT: Effect = Effect::Reads;

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Names> {
        let mut place = match &self.after {
            Some(id) => Some(self.place(cx, id.as_str())?),
            None => None,
        };
        let projects = cx.projects("project", None)?;
        let first = place.as_ref().map_or(0, |place| place.kind);
        let mut data = Vec::new();
        for KindName(kind) in &self.kinds[first..] {
            let after = place.take().map(|place| (place.project_id, place.number));
            // One more than requested tells whether there are more.
            let wanted = self.limit.0 + 1 - data.len() as i64;
            data.extend(match kind {
                Kind::Prompt => prompts(cx.tx, after.map_or(0, |(_, number)| number), wanted)?,
                kind => entity::names(cx.tx, *kind, &projects, after, wanted)?
                    .into_iter()
                    .map(Entry::from)
                    .collect(),
            });
            if data.len() as i64 > self.limit.0 {
                break;
            }
        }
        let has_more = data.len() as i64 > self.limit.0;
        data.truncate(self.limit.0 as usize);
        Ok(Names { data, has_more })
    }
}

/// The place of an entry.
struct Place {
    /// The index of its kind.
    kind: usize,
    project_id: String,
    number: i64,
}

impl Browse {
    /// The place of the entry with this id, which may have been deleted since.
    fn place(&self, cx: &mut Cx<'_, '_>, id: &str) -> Result<Place> {
        let reference = Reference::Id(id.to_owned());
        let found = match cx.find_entity(&reference)? {
            Some(entity) => Some((entity.kind, entity.project_id, entity.number)),
            None => {
                prompt::find(cx.tx, &reference)?.map(|prompt| (Kind::Prompt, String::new(), prompt.number))
            }
        };
        let place = found.and_then(|(kind, project_id, number)| {
            let kind = self.kinds.iter().position(|wanted| wanted.0 == kind)?;
            Some(Place { kind, project_id, number })
        });
        place.ok_or_else(|| Error::field("after", "is not an entry of this list".to_owned()))
    }
}

fn prompts(tx: &mut Tx<'_>, after: i64, limit: i64) -> Result<Vec<Entry>> {
    let entry = |prompt: prompt::Prompt| Entry {
        id: prompt.id,
        kind: Kind::Prompt,
        reference_id: prompt.reference_id,
        label: prompt.title,
        status: None,
    };
    Ok(prompt::after(tx, after, limit)?.into_iter().map(entry).collect())
}

impl From<Named> for Entry {
    fn from(named: Named) -> Entry {
        let Named { id, kind, reference_id, label, status } = named;
        Entry { id, kind, reference_id, label, status }
    }
}

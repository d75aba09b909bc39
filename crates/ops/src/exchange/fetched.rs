//! Fetches the stored entities that some rows name, in one query.

use std::collections::{BTreeMap, HashMap, HashSet};

use store::entity::{self, Entity};
use store::model::{DEFAULT_PROJECT_KEY, Kind, Reference};

use crate::context::Cx;
use crate::error::Result;

/// The entities stored under the requested references.
#[derive(Default)]
pub(super) struct Fetched {
    /// The positions of found entities; none for missing ones.
    places: HashMap<Reference, Option<usize>>,
    entities: Vec<Entity>,
}

impl Fetched {
    /// Fetches stored entities, whether or not the caller can see them.
    pub fn load(cx: &mut Cx<'_, '_>, wanted: HashSet<Reference>) -> Result<Fetched> {
        let mut ids: Vec<&str> = Vec::new();
        let mut numbers: BTreeMap<(&str, Kind), Vec<i64>> = BTreeMap::new();
        for reference in &wanted {
            match reference {
                Reference::Id(id) => ids.push(id),
                Reference::Numbered { project, kind, number } => {
                    let key = project.as_deref().unwrap_or(DEFAULT_PROJECT_KEY);
                    numbers.entry((key, *kind)).or_default().push(*number);
                }
            }
        }
        let mut entities = Vec::new();
        if !ids.is_empty() {
            entities = entity::of_ids(cx.tx, &ids)?;
        }
        for ((key, kind), numbers) in numbers {
            entities.extend(entity::of_numbers(cx.tx, key, kind, &numbers)?);
        }
        let mut places: HashMap<Reference, Option<usize>> =
            wanted.into_iter().map(|reference| (reference, None)).collect();
        for (index, entity) in entities.iter().enumerate() {
            let project = Some(entity.project.clone()).filter(|key| key != DEFAULT_PROJECT_KEY);
            let (kind, number) = (entity.kind, entity.number);
            places.insert(Reference::Numbered { project, kind, number }, Some(index));
            places.insert(Reference::Id(entity.id.clone()), Some(index));
        }
        Ok(Fetched { places, entities })
    }

    /// The entity under a reference: `Some(None)` if it does not exist, `None` if it was not requested.
    pub fn get(&self, reference: &Reference) -> Option<Option<&Entity>> {
        let place = self.places.get(reference)?;
        Some(place.map(|index| &self.entities[index]))
    }
}

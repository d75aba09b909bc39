//! Compares what clients were told with what is in the store.

use std::collections::HashMap;

use anyhow::bail;
use store::{Location, Mode, Options, Store};

use crate::client::Written;

/// What is wrong with the store.
#[derive(Default)]
pub struct Found {
    pub lost: u64,
    pub doubled: u64,
    pub examples: Vec<String>,
}

/// An epic as it is stored.
struct Epic {
    n_rows: u64,
    version: i64,
    description: Option<String>,
    is_deleted: bool,
}

const EXAMPLES_MAX: usize = 5;

pub fn check(database: &str, written: &Written) -> anyhow::Result<Found> {
    let location = Location::parse(database).map_err(anyhow::Error::msg)?;
    let options = Options { connections: 1, ..Options::default() };
    let store = Store::open_as_it_is(&location, options)?;
    let damage = store.wait(Mode::Snapshot, store::health::damage)?;
    if !damage.is_empty() {
        bail!("the store is damaged: {}", damage.join("; "));
    }
    let epics = read(&store)?;
    let mut found = Found::default();
    let mut note = |problem: &str, title: &str| {
        if found.examples.len() < EXAMPLES_MAX {
            found.examples.push(format!("{title}: {problem}"));
        }
    };
    let (mut lost, mut doubled) = (0, 0);
    let made = written.made.iter().map(|title| (title, false));
    for (title, is_deleted) in made.chain(written.deleted.iter().map(|title| (title, true))) {
        match epics.get(title) {
            None => {
                lost += 1;
                note("is lost", title);
            }
            Some(epic) => {
                if epic.n_rows > 1 {
                    doubled += epic.n_rows - 1;
                    note("is there more than once", title);
                }
                if epic.is_deleted != is_deleted {
                    lost += 1;
                    note("its deletion is lost, or nobody deleted it", title);
                }
            }
        }
    }
    for (title, n_changes) in &written.changed {
        let Some(epic) = epics.get(title) else {
            lost += 1;
            note("is lost", title);
            continue;
        };
        let reached: i64 = epic.description.as_deref().and_then(|text| text.parse().ok()).unwrap_or_default();
        if reached != *n_changes {
            lost += (n_changes - reached).unsigned_abs();
            note(&format!("was changed {n_changes} times, and says {reached}"), title);
        }
        if epic.version > n_changes + 1 {
            doubled += (epic.version - n_changes - 1).unsigned_abs();
            note(&format!("was changed {n_changes} times, and has version {}", epic.version), title);
        }
    }
    // What was never acknowledged would have been sent again, so it must not be there twice either.
    let known = written.made.len() + written.deleted.len() + written.changed.len();
    let n_rows: u64 = epics.values().map(|epic| epic.n_rows).sum();
    doubled += n_rows.saturating_sub(known as u64 + lost + doubled).min(n_rows);
    Ok(Found { lost, doubled, examples: found.examples })
}

fn read(store: &Store) -> anyhow::Result<HashMap<String, Epic>> {
    let sql = "select title, version, description, deleted_at from entity where kind = 'epic'";
    let rows = store.wait(Mode::Snapshot, move |tx| {
        tx.rows(sql, &[], |row| {
            let deleted_at: Option<i64> = row.get(3)?;
            Ok((
                row.get::<String>(0)?,
                row.get::<i64>(1)?,
                row.get::<Option<String>>(2)?,
                deleted_at.is_some(),
            ))
        })
    })?;
    let mut epics: HashMap<String, Epic> = HashMap::new();
    for (title, version, description, is_deleted) in rows {
        let epic = epics.entry(title).or_insert(Epic { n_rows: 0, version, description, is_deleted });
        epic.n_rows += 1;
    }
    Ok(epics)
}

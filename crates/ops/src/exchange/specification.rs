//! An export for readers: a specification as one HTML file, made by the templates of the crate `document`.
//!
//! It is written while it is read. In memory are [`NODES_AT_ONCE`] sections, a page of links, and 24 bytes for each entity of a
//! project,
//! to know which references can be linked.

use std::collections::HashSet;
use std::io::{self, Write};

use document::{File, FrontMatter, KindCount, LinkRow, Look, Surroundings};
use store::entity::{self, Entity, Extent};
use store::model::{Kind, Reference, Time};
use store::project::{Project, Projects};
use store::relationship;
use store::report::{self, Grouping};

use super::records::Scope;
use crate::context::Cx;
use crate::error::Result;
use crate::specification::reader::{Depth, Reader};

/// How many sections are read at once.
const NODES_AT_ONCE: i64 = 500;
/// How many links are read at once.
const LINKS_AT_ONCE: i64 = 500;
/// How many statuses of a kind the title page lists.
const STATUSES_MAX: i64 = 50;

/// Writes a specification. The inner result is that of writing.
pub(super) fn write(cx: &mut Cx<'_, '_>, scope: &Scope, out: &mut impl Write) -> Result<io::Result<()>> {
    cx.steps.begin("writing sections", None);
    let title = match (&scope.epic, scope.projects.as_slice()) {
        (Some(epic), _) => format!("{} {}", epic.reference_id, epic.label()),
        (None, [project]) => project.name.clone(),
        (None, _) => "Requirements".to_owned(),
    };
    let file = File { title: &title };
    let mut writing = Writing { out, result: Ok(()) };
    writing.text(&file.start());
    for project in &scope.projects {
        write_project(cx, project, scope.epic.as_ref(), &mut writing)?;
    }
    writing.text(file.end());
    Ok(writing.result)
}

fn write_project(
    cx: &mut Cx<'_, '_>,
    project: &Project,
    epic: Option<&Entity>,
    writing: &mut Writing<'_, impl Write>,
) -> Result<()> {
    let epic_id = epic.map(|epic| epic.id.clone());
    let extent = Extent { project_id: project.id.clone(), epic_id, include_deleted: false };
    let known = entity::numbers(cx.tx, &extent)?;
    let link = |word: &str| section(project, &known, word);
    let date =
        entity::last_change(cx.tx, &extent)?.map_or(project.updated_at, |time| time.max(project.updated_at));
    let date = date.to_string();
    let front = FrontMatter {
        title: epic.map_or(&project.name, |epic| epic.title.as_ref().unwrap_or(&epic.reference_id)),
        project: epic.map(|_| project.name.as_str()),
        // The text of an epic is in its section.
        description: project.description.as_deref().filter(|_| epic.is_none()),
        date: date.get(..10).unwrap_or_default(),
        counts: counts(cx, project, epic)?,
        link: &link,
    };
    writing.text(&front.start());
    let mut outline = Reader::new(cx, project, epic.cloned(), Depth::Outline)?;
    while !outline.is_at_end() && writing.result.is_ok() {
        for node in outline.read(cx, NODES_AT_ONCE)? {
            let address = format!("#{}", node.reference_id);
            writing.text(&document::outline_row(&node, &address, false).into_string());
        }
    }
    writing.text(front.after_outline());
    let look = Look { link: &link, actions: None, below: None, top: 2, surroundings: Surroundings::File };
    let mut sections = Reader::new(cx, project, epic.cloned(), Depth::All)?;
    while !sections.is_at_end() && writing.result.is_ok() {
        let nodes = sections.read(cx, NODES_AT_ONCE)?;
        writing.text(&document::body(&nodes, &look).into_string());
        nodes.iter().for_each(|_| cx.steps.advance());
    }
    write_links(cx, &extent, &link, writing)
}

/// The table of links between requirements, in the order of their creation. For an epic, those that begin or end in it.
fn write_links(
    cx: &mut Cx<'_, '_>,
    extent: &Extent,
    link: &dyn Fn(&str) -> Option<String>,
    writing: &mut Writing<'_, impl Write>,
) -> Result<()> {
    let (mut time, mut id) = (Time::from_microseconds(i64::MIN), String::new());
    let mut is_begun = false;
    while writing.result.is_ok() {
        let page =
            relationship::page_of_project(cx.tx, &extent.project_id, false, (time, &id), LINKS_AT_ONCE)?;
        let Some((last, _)) = page.last() else { break };
        (time, id) = (last.created_at, last.id.clone());
        for (known, _) in &page {
            if link(&known.source).is_none() && link(&known.target).is_none() {
                continue;
            }
            if !std::mem::replace(&mut is_begun, true) {
                writing.text(&document::links_start());
            }
            let row = LinkRow {
                source: &known.source,
                type_name: &known.type_name,
                target: &known.target,
                is_suspect: known.suspect,
            };
            writing.text(&document::links_row(&row, link).into_string());
        }
    }
    if is_begun {
        writing.text(document::links_end());
    }
    Ok(())
}

/// The section of a reference id, if it is in the file.
fn section(project: &Project, known: &HashSet<(Kind, i64)>, word: &str) -> Option<String> {
    let Reference::Numbered { project: key, kind, number } = Reference::parse(word)? else { return None };
    let default = store::model::DEFAULT_PROJECT_KEY;
    let is_here = key.as_deref().unwrap_or(default) == project.key && known.contains(&(kind, number));
    is_here.then(|| format!("#{}", store::model::reference_id(&project.key, kind, number)))
}

fn counts(cx: &mut Cx<'_, '_>, project: &Project, epic: Option<&Entity>) -> Result<Vec<KindCount>> {
    let scope = match epic {
        Some(epic) => report::Scope::Epic(epic.id.clone()),
        None => report::Scope::Projects(Projects::One(project.id.clone())),
    };
    let totals = report::summaries(cx.tx, &scope)?;
    let groups = report::groups(cx.tx, &scope, Grouping::Status, STATUSES_MAX)?;
    let kinds = [
        (Kind::Epic, "Epics"),
        (Kind::UserStory, "User stories"),
        (Kind::AcceptanceCriteria, "Acceptance criteria"),
        (Kind::Requirement, "Requirements"),
    ];
    let count = |(kind, words)| KindCount {
        kind: words,
        total: totals.iter().find(|summary| summary.kind == kind).map_or(0, |summary| summary.total),
        statuses: groups
            .iter()
            .filter(|group| group.kind == kind)
            .filter_map(|group| Some((group.name.clone()?, group.count)))
            .collect(),
    };
    Ok(kinds.map(count).into())
}

/// Writes until the first error.
struct Writing<'a, W> {
    out: &'a mut W,
    result: io::Result<()>,
}

impl<W: Write> Writing<'_, W> {
    fn text(&mut self, text: &str) {
        if self.result.is_ok() {
            self.result = self.out.write_all(text.as_bytes());
        }
    }
}

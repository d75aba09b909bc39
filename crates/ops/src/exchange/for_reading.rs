//! An export for readers: the tree in order, without fields that only
//! programs use. It cannot be imported again.

use std::io::{self, Write};

use store::entity::{self, Entity, Extent};
use store::model::Kind;
use store::project::Project;

use super::records::Scope;
use crate::context::Cx;
use crate::error::Result;

/// How many are read at once.
const PAGE: i64 = 500;
/// The names of priorities.
const PRIORITIES: [&str; 4] = ["critical", "high", "medium", "low"];

/// Writes all projects of an export. The inner error is that of writing.
pub(super) fn write(cx: &mut Cx<'_, '_>, scope: &Scope, out: &mut dyn Write) -> Result<io::Result<()>> {
    cx.steps.begin("writing records", None);
    for project in &scope.projects {
        let mut writing =
            Writing { cx, out, include_deleted: scope.include_deleted, project, is_first: true };
        if let Err(error) = writing.project(scope.epic.as_ref())? {
            return Ok(Err(error));
        }
    }
    Ok(Ok(()))
}

struct Writing<'w, 'x, 'a, 't> {
    cx: &'x mut Cx<'a, 't>,
    out: &'w mut dyn Write,
    include_deleted: bool,
    project: &'w Project,
    is_first: bool,
}

impl Writing<'_, '_, '_, '_> {
    fn project(&mut self, epic: Option<&Entity>) -> Result<io::Result<()>> {
        if epic.is_none() {
            let Project { name, description, .. } = self.project;
            let text = description.as_deref().map(|text| format!("\n\n{}", text.trim())).unwrap_or_default();
            if let Err(error) = self.part(&format!("# {name}{text}")) {
                return Ok(Err(error));
            }
        }
        let epics = self.all(Kind::Epic, epic.map(|epic| epic.id.clone()))?;
        for epic in &epics {
            if let Err(error) = self.epic(epic)? {
                return Ok(Err(error));
            }
        }
        let documents = self.all(Kind::SteeringDocument, epic.map(|epic| epic.id.clone()))?;
        for (index, document) in documents.iter().enumerate() {
            let heading = if index == 0 { "## Steering documents\n\n" } else { "" };
            if let Err(error) = self.part(&format!("{heading}{}", section(3, document))) {
                return Ok(Err(error));
            }
        }
        Ok(Ok(()))
    }

    /// An epic with everything below it, which is in memory together.
    fn epic(&mut self, epic: &Entity) -> Result<io::Result<()>> {
        let stories = self.all(Kind::UserStory, Some(epic.id.clone()))?;
        let criteria = self.all(Kind::AcceptanceCriteria, Some(epic.id.clone()))?;
        let requirements = self.all(Kind::Requirement, Some(epic.id.clone()))?;
        let mut parts = vec![section(2, epic)];
        for story in &stories {
            parts.push(section(3, story));
            let of_story = |one: &&Entity| one.user_story_id.as_ref() == Some(&story.id);
            let listed: Vec<String> = criteria.iter().filter(of_story).map(listed).collect();
            if !listed.is_empty() {
                parts.push(format!("Acceptance criteria:\n\n{}", listed.join("\n")));
            }
            parts.extend(requirements.iter().filter(of_story).map(|requirement| section(4, requirement)));
        }
        for part in parts {
            self.cx.steps.advance();
            if let Err(error) = self.part(&part) {
                return Ok(Err(error));
            }
        }
        Ok(Ok(()))
    }

    fn all(&mut self, kind: Kind, epic_id: Option<String>) -> Result<Vec<Entity>> {
        let extent =
            Extent { project_id: self.project.id.clone(), epic_id, include_deleted: self.include_deleted };
        let mut all: Vec<Entity> = Vec::new();
        loop {
            let after = all.last().map_or(0, |last| last.number);
            let page = entity::page_of_kind(self.cx.tx, &extent, kind, after, PAGE)?;
            if page.is_empty() {
                return Ok(all);
            }
            all.extend(page);
        }
    }

    /// Writes a part, with a blank line before it.
    fn part(&mut self, text: &str) -> io::Result<()> {
        let blank = if std::mem::take(&mut self.is_first) { "" } else { "\n" };
        writeln!(self.out, "{blank}{text}")
    }
}

/// An entity below a heading of a level.
fn section(level: usize, entity: &Entity) -> String {
    let title = entity.title.as_deref().unwrap_or_default();
    let mut text = format!("{} {} {title}", "#".repeat(level), entity.reference_id);
    let facts = facts(entity);
    if !facts.is_empty() {
        text += &format!("\n\n*{}*", facts.join(" · "));
    }
    for more in [&entity.description, &entity.rationale].into_iter().flatten() {
        text += &format!("\n\n{}", more.trim());
    }
    text
}

fn listed(criterion: &Entity) -> String {
    let text = criterion.description.as_deref().unwrap_or_default().trim().replace('\n', "\n  ");
    format!("- **{}** {text}", criterion.reference_id)
}

fn facts(entity: &Entity) -> Vec<String> {
    let priority =
        entity.priority.and_then(|number| PRIORITIES.get(usize::try_from(number).ok()?.checked_sub(1)?));
    let deleted = entity.deleted_at.map(|_| "deleted".to_owned());
    let facts = [
        entity.type_name.clone(),
        entity.status.clone(),
        priority.map(|priority| format!("priority {priority}")),
        entity.assignee.clone(),
        (!entity.labels.is_empty()).then(|| entity.labels.join(", ")),
        entity.acceptance_criteria.as_ref().map(|criterion| format!("for {criterion}")),
        deleted,
    ];
    facts.into_iter().flatten().collect()
}

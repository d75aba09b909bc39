//! The records of an export, read by page: kind by kind, because an import needs them in that order, and within a
//! kind project by project.

use std::collections::{HashMap, HashSet, VecDeque};

use ::exchange::{Record, RecordKind};
use store::alias::{self, Alias};
use store::entity::{self, Entity, Extent};
use store::model::{Kind, Time, reference_id};
use store::project::Project;
use store::types::{RelationshipType, RequirementType, Type, fold};
use store::{comment, prompt, relationship, status, user};

use super::fields;
use crate::context::Cx;
use crate::error::{Error, Result};

/// How many are read at once.
const PAGE: i64 = 500;

/// Reads records sequentially. An error ends them; [`Records::finish`] returns it.
pub(super) struct Records<'x, 'a, 't> {
    cx: &'x mut Cx<'a, 't>,
    projects: Vec<(Project, Extent)>,
    usernames: HashMap<String, String>,
    /// The remaining sections, the next one last.
    sections: Vec<Section>,
    page: VecDeque<Record>,
    /// The ids of the exported entities, if only an epic is exported.
    ids: Option<HashSet<String>>,
    /// The newest time so far, used as the time of the export if a format needs one.
    newest: Time,
    error: Option<Error>,
    is_trial: bool,
}

/// What is exported.
pub(super) struct Scope {
    pub projects: Vec<Project>,
    /// Only this epic and everything below it.
    pub epic: Option<Entity>,
    pub include_deleted: bool,
    pub has_prompts: bool,
}

/// A section of the file, from a position on.
enum Section {
    Setup,
    /// Of a project, by its index, after a number.
    Entities(usize, Kind, i64),
    /// After a time and an id.
    Relationships(usize, Time, String),
    DocumentLinks(usize),
    Comments(usize, Time, String),
    /// After so many.
    Prompts(i64),
}

impl<'x, 'a, 't> Records<'x, 'a, 't> {
    /// The records of an export. A dry run reports no progress.
    pub fn new(cx: &'x mut Cx<'a, 't>, scope: &Scope, is_trial: bool) -> Result<Self> {
        let Scope { projects, epic, include_deleted, has_prompts } = scope;
        let users = user::list(cx.tx, i64::from(i32::MAX), 0)?;
        let usernames = users.into_iter().map(|user| (user.id, user.username)).collect();
        let extent = |project: &Project| Extent {
            project_id: project.id.clone(),
            epic_id: epic.as_ref().map(|epic| epic.id.clone()),
            include_deleted: *include_deleted,
        };
        let beginning = || (Time::from_microseconds(i64::MIN), String::new());
        let all = 0..projects.len();
        let entities = |kind: Kind| all.clone().map(move |index| Section::Entities(index, kind, 0));
        let mut sections = vec![Section::Setup];
        for kind in [Kind::Epic, Kind::UserStory, Kind::AcceptanceCriteria, Kind::Requirement] {
            sections.extend(entities(kind));
        }
        sections.extend(all.clone().map(|index| {
            let (time, id) = beginning();
            Section::Relationships(index, time, id)
        }));
        sections.extend(entities(Kind::SteeringDocument));
        sections.extend(all.clone().map(Section::DocumentLinks));
        sections.extend(all.clone().map(|index| {
            let (time, id) = beginning();
            Section::Comments(index, time, id)
        }));
        if *has_prompts {
            sections.push(Section::Prompts(0));
        }
        sections.reverse();
        if !is_trial {
            // The total is known only after reading.
            cx.steps.begin("writing records", None);
        }
        Ok(Records {
            cx,
            projects: projects.iter().map(|project| (project.clone(), extent(project))).collect(),
            usernames,
            sections,
            page: VecDeque::new(),
            ids: epic.as_ref().map(|_| HashSet::new()),
            newest: Time::from_microseconds(0),
            error: None,
            is_trial,
        })
    }

    /// The newest time, or why the records ended too early.
    pub fn finish(self) -> Result<Time> {
        self.error.map_or(Ok(self.newest), Err)
    }

    /// Reads the next page of a section, and pushes the rest back.
    fn read(&mut self, section: Section) -> Result<()> {
        match section {
            Section::Setup => self.setup()?,
            Section::Entities(index, kind, after) => {
                let extent = &self.projects[index].1;
                let found = entity::page_of_kind(self.cx.tx, extent, kind, after, PAGE)?;
                if let Some(last) = found.last() {
                    self.sections.push(Section::Entities(index, kind, last.number));
                }
                let ids: Vec<&str> = found.iter().map(|entity| entity.id.as_str()).collect();
                let aliases =
                    if ids.is_empty() { HashMap::new() } else { alias::of_entities(self.cx.tx, &ids)? };
                for entity in found {
                    let mut record = self.entity(&entity);
                    if let Some(aliases) = aliases.get(&entity.id) {
                        let lines: Vec<String> = aliases.iter().map(Alias::text).collect();
                        record.set("aliases", Some(lines.join("\n")));
                    }
                    self.page.push_back(record);
                    if let Some(ids) = &mut self.ids {
                        ids.insert(entity.id);
                    }
                }
            }
            Section::Relationships(index, time, id) => {
                let (include_deleted, project_id) = self.of(index);
                let after = (time, id.as_str());
                let found =
                    relationship::page_of_project(self.cx.tx, &project_id, include_deleted, after, PAGE)?;
                if let Some((last, _)) = found.last() {
                    self.sections.push(Section::Relationships(index, last.created_at, last.id.clone()));
                }
                for (known, target_version) in found {
                    if self.has(&known.source_id) && self.has(&known.target_id) {
                        let record = self.relationship(known, target_version);
                        self.page.push_back(record);
                    }
                }
            }
            Section::DocumentLinks(index) => {
                let (project, extent) = &self.projects[index];
                for (epic, document) in entity::document_links(self.cx.tx, extent)? {
                    let name = |kind, number| reference_id(&project.key, kind, number);
                    let record = Record::new(RecordKind::SteeringLink)
                        .with("epic", name(Kind::Epic, epic))
                        .with("steering_document", name(Kind::SteeringDocument, document));
                    self.page.push_back(record);
                }
            }
            Section::Comments(index, time, id) => {
                let (include_deleted, project_id) = self.of(index);
                let after = (time, id.as_str());
                let found = comment::page_of_project(self.cx.tx, &project_id, include_deleted, after, PAGE)?;
                if let Some(last) = found.last() {
                    self.sections.push(Section::Comments(index, last.created_at, last.id.clone()));
                }
                for known in found {
                    if self.has(&known.entity_id) {
                        let record = self.comment(known);
                        self.page.push_back(record);
                    }
                }
            }
            Section::Prompts(n_before) => self.prompts(n_before)?,
        }
        Ok(())
    }

    fn of(&self, index: usize) -> (bool, String) {
        let extent = &self.projects[index].1;
        (extent.include_deleted, extent.project_id.clone())
    }

    /// Whether something is exported.
    fn has(&self, id: &str) -> bool {
        self.ids.as_ref().is_none_or(|ids| ids.contains(id))
    }

    fn time(&mut self, record: &mut Record, name: &str, time: Option<Time>) {
        self.newest = self.newest.max(time.unwrap_or(self.newest));
        record.set(name, time.map(|time| time.to_string()));
    }

    /// Projects, types and statuses.
    fn setup(&mut self) -> Result<()> {
        let tx = &mut *self.cx.tx;
        for (project, _) in &self.projects {
            let record = Record::new(RecordKind::Project)
                .with("key", project.key.as_str())
                .with("name", project.name.as_str());
            self.page.push_back(with(record, "description", project.description.clone()));
        }
        let mut requirement_types = RequirementType::all(tx)?;
        requirement_types.sort_by_key(|known| fold(&known.name));
        for known in requirement_types {
            let record = Record::new(RecordKind::RequirementType).with("name", known.name);
            self.page.push_back(with(record, "description", known.description));
        }
        let mut relationship_types = RelationshipType::all(tx)?;
        relationship_types.sort_by_key(|known| fold(&known.name));
        for known in relationship_types {
            let record = Record::new(RecordKind::RelationshipType)
                .with("name", known.name)
                .with("inverse_name", known.inverse_name)
                .with("acyclic", known.acyclic);
            self.page.push_back(with(record, "description", known.description));
        }
        let mut transitions = Vec::new();
        for kind in Kind::ALL.into_iter().filter(|kind| kind.has_status()) {
            let model = status::of(tx, kind)?;
            for (index, status) in model.statuses.into_iter().enumerate() {
                let record = Record::new(RecordKind::Status)
                    .with("entity_kind", kind.name())
                    .with("name", status.name)
                    .with("colour", status.colour)
                    .with("initial", status.initial)
                    .with("final", status.is_final)
                    .with("position", index as i64 + 1);
                let outcome = status.outcome.map(|outcome| outcome.name().to_owned());
                self.page.push_back(with(record, "outcome", outcome));
            }
            for transition in model.transitions {
                let record = Record::new(RecordKind::Transition)
                    .with("entity_kind", kind.name())
                    .with("from", transition.from)
                    .with("to", transition.to);
                transitions.push(record);
            }
        }
        self.page.extend(transitions);
        Ok(())
    }

    fn relationship(&mut self, known: relationship::Relationship, target_version: i64) -> Record {
        // A link that is not suspect is confirmed for the target's current version. Exporting this keeps it confirmed in a store
        // that does not know in which version the target's text last changed.
        let version =
            if known.suspect { known.target_version } else { known.target_version.max(target_version) };
        let mut record = Record::new(RecordKind::Relationship)
            .with("id", known.id)
            .with("source", known.source)
            .with("target", known.target)
            .with("type", known.type_name)
            .with("target_version", version);
        record.set("creator", self.usernames.get(&known.creator_id).cloned());
        self.time(&mut record, "created_at", Some(known.created_at));
        self.time(&mut record, "deleted_at", known.deleted_at);
        record
    }

    fn comment(&mut self, known: comment::Comment) -> Record {
        let record = Record::new(RecordKind::Comment)
            .with("id", known.id)
            .with("entity", known.entity)
            .with("author", known.author)
            .with("content", known.content)
            .with("detached", known.detached)
            .with("resolved", known.resolved)
            .with("version", known.version);
        let mut record = with(with(record, "parent", known.parent_id), "quote", known.quote);
        record.set("anchor_start", known.anchor_start);
        record.set("anchor_end", known.anchor_end);
        self.times(&mut record, known.created_at, known.updated_at, known.deleted_at);
        record
    }

    fn entity(&mut self, entity: &Entity) -> Record {
        let kind = match entity.kind {
            Kind::Epic => RecordKind::Epic,
            Kind::UserStory => RecordKind::UserStory,
            Kind::AcceptanceCriteria => RecordKind::AcceptanceCriteria,
            Kind::Requirement => RecordKind::Requirement,
            _ => RecordKind::SteeringDocument,
        };
        let mut record = Record::new(kind)
            .with("reference_id", entity.reference_id.as_str())
            .with("id", entity.id.as_str())
            .with("version", entity.version);
        let author = if kind == RecordKind::AcceptanceCriteria { "author" } else { "creator" };
        record.set(author, Some(entity.creator.as_str()));
        fields::write(&mut record, entity);
        for (name, value) in [
            ("status", &entity.status),
            ("epic", &entity.epic),
            ("user_story", &entity.user_story),
            ("acceptance_criteria", &entity.acceptance_criteria),
            ("type", &entity.type_name),
            ("assignee", &entity.assignee),
        ] {
            if let Some(value) = value {
                record.set(name, Some(value.as_str()));
            }
        }
        self.times(&mut record, entity.created_at, entity.updated_at, entity.deleted_at);
        record
    }

    fn times(&mut self, record: &mut Record, created_at: Time, updated_at: Time, deleted_at: Option<Time>) {
        self.time(record, "created_at", Some(created_at));
        self.time(record, "updated_at", Some(updated_at));
        self.time(record, "deleted_at", deleted_at);
    }

    /// Prompts are matched by number and name. Every store has its own first prompt with its own id and times, so exporting
    /// these would make the exports of equal stores differ.
    fn prompts(&mut self, n_before: i64) -> Result<()> {
        let include_deleted = self.projects.first().is_some_and(|(_, extent)| extent.include_deleted);
        let (prompts, _) = prompt::list(self.cx.tx, include_deleted, PAGE, n_before)?;
        if !prompts.is_empty() {
            self.sections.push(Section::Prompts(n_before + prompts.len() as i64));
        }
        for known in prompts {
            let record = Record::new(RecordKind::Prompt)
                .with("reference_id", known.reference_id)
                .with("name", known.name)
                .with("title", known.title)
                .with("content", known.content)
                .with("role", known.role)
                .with("active", known.active);
            let mut record = with(with(record, "description", known.description), "creator", known.creator);
            record.set("deleted_at", known.deleted_at.map(|time| time.to_string()));
            self.page.push_back(record);
        }
        Ok(())
    }
}

impl Iterator for Records<'_, '_, '_> {
    type Item = Record;

    fn next(&mut self) -> Option<Record> {
        while self.page.is_empty() {
            let section = self.sections.pop()?;
            if let Err(error) = self.read(section) {
                self.sections.clear();
                self.error = Some(error);
                return None;
            }
        }
        if !self.is_trial {
            self.cx.steps.advance();
        }
        self.page.pop_front()
    }
}

fn with(mut record: Record, name: &str, value: Option<String>) -> Record {
    record.set(name, value);
    record
}

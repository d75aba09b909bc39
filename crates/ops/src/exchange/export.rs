//! Everything as a file. The same state always gives the same bytes, whenever and by whomever it is exported.

use std::collections::HashMap;
use std::slice;

use ::exchange::{Kind as RecordKind, Record};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::entity::{self, Entity, Filter, Page, Sort};
use store::model::{Kind, Time};
use store::project::{self, Project, Projects};
use store::types::{RelationshipType, RequirementType, Type, fold};
use store::{comment, prompt, relationship, status, user};

use super::{FormatName, RECORDS_MAX, fields};
use crate::context::Cx;
use crate::error::{Error, Kind as ErrorKind, Result};
use crate::input::{Id, Text};
use crate::operation::{Command, Effect, Operation, Output, Route, Shape, Tool, command, get, tool};
use crate::progress::Steps;

/// Export requirements and all that belongs to them as JSON, CSV, Markdown or ReqIF.
///
/// Without a project or an epic it is everything: projects, types, statuses, epics and what is below them, relationships,
/// steering documents, comments and prompts. What is exported can be imported again; see the guide on import and export.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Export {
    /// The format.
    format: FormatName,
    /// Only this project: a key or an id.
    project: Option<Text<1, 64>>,
    /// Only this epic and what is below it, such as `EP-001`.
    epic: Option<Id>,
    /// Deleted things too; they say when they were deleted. Those that were purged are left out.
    #[serde(default)]
    include_deleted: bool,
}

/// A file.
#[derive(Serialize, JsonSchema)]
pub struct ExportedFile {
    /// The format.
    format: FormatName,
    /// Its media type.
    content_type: &'static str,
    /// What to call it.
    file_name: String,
    /// What is in it.
    content: String,
}

impl Output for ExportedFile {}

impl Operation for Export {
    type Output = ExportedFile;
    const NAME: &'static str = "export";
    const COMMANDS: &'static [Command] = &[command("export")];
    const ROUTES: &'static [Route] = &[get("/export")];
    const TOOLS: &'static [Tool] = &[tool("bulk", r#"{"format": "markdown", "epic": "EP-001"}"#)];
    const EFFECT: Effect = Effect::Reads;
    const SHAPE: Option<Shape> = Some(Shape::Whole);
    const ANSWERS_FILE: bool = true;

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<ExportedFile> {
        let mut exporter = Exporter::new(cx, self.include_deleted)?;
        let name = match (&self.epic, &self.project) {
            (Some(epic), project) => {
                let epic = cx.entity("epic", epic, Kind::Epic)?;
                let wanted = project.as_ref().map(|project| cx.project("project", Some(project.as_str())));
                if wanted.transpose()?.is_some_and(|project| project.id != epic.project_id) {
                    return Err(Error::field("epic", format!("{} is in another project", epic.reference_id)));
                }
                let project = cx.project("project", Some(&epic.project_id))?;
                exporter.setup(cx, slice::from_ref(&project))?;
                exporter.project(cx, &project, Some(&epic))?;
                epic.reference_id
            }
            (None, Some(project)) => {
                let project = cx.project("project", Some(project.as_str()))?;
                exporter.setup(cx, slice::from_ref(&project))?;
                exporter.project(cx, &project, None)?;
                project.key
            }
            (None, None) => {
                let viewer = cx.caller()?.viewer();
                let projects = project::list(cx.tx, viewer, RECORDS_MAX as i64, 0)?;
                exporter.setup(cx, &projects)?;
                for project in &projects {
                    exporter.project(cx, project, None)?;
                }
                exporter.prompts(cx)?;
                "requirements".to_owned()
            }
        };
        let format = self.format.format();
        // The kinds are in the order in which an import needs them, whichever project they are of.
        exporter.records.sort_by_key(|record| record.kind);
        let mut bytes = Vec::new();
        let time = exporter.newest.to_string();
        let mut steps = exporter.steps;
        steps.begin("writing the file", Some(2 * exporter.records.len()));
        let records = exporter.records.into_iter().inspect(|_| steps.advance());
        ::exchange::write(format, &time, records, &mut bytes).map_err(internal)?;
        Ok(ExportedFile {
            format: self.format,
            content_type: format.media_type(),
            file_name: format!("{name}.{}", self.format.extension()),
            content: String::from_utf8(bytes).map_err(internal)?,
        })
    }
}

struct Exporter<'a> {
    include_deleted: bool,
    records: Vec<Record>,
    /// The newest time in the file, which stands for the time of the export where a format wants one.
    newest: Time,
    usernames: HashMap<String, String>,
    steps: Steps<'a>,
}

impl<'a> Exporter<'a> {
    fn new(cx: &mut Cx<'a, '_>, include_deleted: bool) -> Result<Exporter<'a>> {
        let users = user::list(cx.tx, i64::from(i32::MAX), 0)?;
        let usernames = users.into_iter().map(|user| (user.id, user.username)).collect();
        // How much there is shows only when it is gathered.
        let mut steps = cx.steps;
        steps.begin("reading records", None);
        let newest = Time::from_microseconds(0);
        Ok(Exporter { include_deleted, records: Vec::new(), newest, usernames, steps })
    }

    fn add(&mut self, record: Record) -> Result<()> {
        if self.records.len() == RECORDS_MAX {
            let message = format!(
                "there are more than {RECORDS_MAX} records; export a project or an epic at a time, or make a backup"
            );
            return Err(Error::new(ErrorKind::TooLarge, message));
        }
        self.records.push(record);
        self.steps.advance();
        Ok(())
    }

    fn time(&mut self, record: &mut Record, name: &str, time: Option<Time>) {
        self.newest = self.newest.max(time.unwrap_or(self.newest));
        record.set(name, time.map(|time| time.to_string()));
    }

    /// Projects, types and statuses.
    fn setup(&mut self, cx: &mut Cx<'_, '_>, projects: &[Project]) -> Result<()> {
        for project in projects {
            let record = Record::new(RecordKind::Project)
                .with("key", project.key.as_str())
                .with("name", project.name.as_str());
            self.add(with(record, "description", project.description.clone()))?;
        }
        let mut requirement_types = RequirementType::all(cx.tx)?;
        requirement_types.sort_by_key(|known| fold(&known.name));
        for known in requirement_types {
            let record = Record::new(RecordKind::RequirementType).with("name", known.name);
            self.add(with(record, "description", known.description))?;
        }
        let mut relationship_types = RelationshipType::all(cx.tx)?;
        relationship_types.sort_by_key(|known| fold(&known.name));
        for known in relationship_types {
            let record = Record::new(RecordKind::RelationshipType)
                .with("name", known.name)
                .with("inverse_name", known.inverse_name)
                .with("acyclic", known.acyclic);
            self.add(with(record, "description", known.description))?;
        }
        for kind in Kind::ALL.into_iter().filter(|kind| kind.has_status()) {
            let model = status::of(cx.tx, kind)?;
            for (index, status) in model.statuses.into_iter().enumerate() {
                let record = Record::new(RecordKind::Status)
                    .with("entity_kind", kind.name())
                    .with("name", status.name)
                    .with("colour", status.colour)
                    .with("initial", status.initial)
                    .with("final", status.is_final)
                    .with("position", index as i64 + 1);
                self.add(record)?;
            }
            for transition in model.transitions {
                let record = Record::new(RecordKind::Transition)
                    .with("entity_kind", kind.name())
                    .with("from", transition.from)
                    .with("to", transition.to);
                self.add(record)?;
            }
        }
        Ok(())
    }

    /// What is in a project, or below one epic of it.
    fn project(&mut self, cx: &mut Cx<'_, '_>, project: &Project, epic: Option<&Entity>) -> Result<()> {
        let mut references: HashMap<String, (String, i64)> = HashMap::new();
        let kinds = [Kind::Epic, Kind::UserStory, Kind::AcceptanceCriteria, Kind::Requirement];
        for kind in kinds.into_iter().chain([Kind::SteeringDocument]) {
            for entity in self.entities(cx, project, kind, epic)? {
                references.insert(entity.id.clone(), (entity.reference_id.clone(), entity.version));
                let record = self.entity(&entity);
                self.add(record)?;
            }
        }
        for known in relationship::of_project(cx.tx, &project.id, self.include_deleted)? {
            let (Some(_), Some((_, target_version))) =
                (references.get(&known.source_id), references.get(&known.target_id))
            else {
                continue;
            };
            // A link that is not suspect holds for the target's present version. Saying so keeps it that way in a store
            // that does not know at which of its versions the target's text last changed.
            let version =
                if known.suspect { known.target_version } else { known.target_version.max(*target_version) };
            let mut record = Record::new(RecordKind::Relationship)
                .with("id", known.id)
                .with("source", known.source)
                .with("target", known.target)
                .with("type", known.type_name)
                .with("target_version", version);
            record.set("creator", self.usernames.get(&known.creator_id).cloned());
            self.time(&mut record, "created_at", Some(known.created_at));
            self.time(&mut record, "deleted_at", known.deleted_at);
            self.add(record)?;
        }
        for (epic_id, document_id) in entity::links_of_project(cx.tx, &project.id)? {
            if let (Some((epic, _)), Some((document, _))) =
                (references.get(&epic_id), references.get(&document_id))
            {
                let record = Record::new(RecordKind::SteeringLink)
                    .with("epic", epic.as_str())
                    .with("steering_document", document.as_str());
                self.add(record)?;
            }
        }
        for known in comment::of_project(cx.tx, &project.id, self.include_deleted)? {
            if !references.contains_key(&known.entity_id) {
                continue;
            }
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
            self.add(record)?;
        }
        Ok(())
    }

    fn entities(
        &self,
        cx: &mut Cx<'_, '_>,
        project: &Project,
        kind: Kind,
        epic: Option<&Entity>,
    ) -> Result<Vec<Entity>> {
        let epic_id = epic.map(|epic| epic.id.clone());
        if let (Kind::Epic, Some(epic)) = (kind, epic) {
            return Ok(vec![epic.clone()]);
        }
        let mut filter = Filter {
            kind: Some(kind),
            projects: Projects::One(project.id.clone()),
            include_deleted: self.include_deleted,
            ..Filter::default()
        };
        match kind {
            Kind::SteeringDocument => filter.linked_with = epic_id,
            _ => filter.epic_id = epic_id,
        }
        let mut found = entity::list(cx.tx, &filter, Sort::Number, &Page::first(RECORDS_MAX as i64 + 1))?;
        found.retain(|entity| entity.purged_at.is_none());
        Ok(found)
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

    /// Prompts go by number and name. Every store has a first one of its own, with its own id and times, so that saying
    /// these would make the exports of equal stores differ.
    fn prompts(&mut self, cx: &mut Cx<'_, '_>) -> Result<()> {
        let (prompts, _) = prompt::list(cx.tx, self.include_deleted, RECORDS_MAX as i64 + 1, 0)?;
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
            self.add(record)?;
        }
        Ok(())
    }
}

fn with(mut record: Record, name: &str, value: Option<String>) -> Record {
    record.set(name, value);
    record
}

fn internal(error: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::InternalError, error.to_string())
}

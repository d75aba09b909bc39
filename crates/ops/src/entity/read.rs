//! Reading entities: one, or a page of many.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::alias::{self, Alias};
use store::entity::{self, Entity, EntityFilter, Sort};
use store::model::Kind;
use store::{Mode, status};

use super::requirement_type;
use crate::context::Cx;
use crate::error::{Error, Result};
use crate::input::{Id, KindName, Limit, Moment, Number, Offset, Since, Text};
use crate::operation::{
    Columns, Command, Effect, Operation, Route, Shape, Tool, command, get, tool, versioned_output,
};
use crate::page::{Cursor, Page, page_after, window};
use crate::versioned::Versioned as _;

/// Read an epic, user story, acceptance criterion, requirement or steering document.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetEntity {
    /// Its UUID or reference id, such as `REQ-012`.
    reference: Id,
    /// The expected kind.
    kind: Option<KindName>,
    /// Even if it is deleted.
    #[serde(default)]
    include_deleted: bool,
}

/// An entity with its external ids.
#[derive(Serialize, JsonSchema)]
pub struct EntityInFull {
    #[serde(flatten)]
    entity: Entity,
    /// Its external ids: its names in the tools that it was imported from.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    aliases: Vec<Alias>,
}

versioned_output!(EntityInFull, entity.version, entity.reference_id);

impl Operation for GetEntity {
    type Output = EntityInFull;
    const NAME: &'static str = "get_entity";
    const COMMANDS: &'static [Command] = &[
        command("show"),
        command("epic show").with(&[("kind", "epic")]),
        command("user-story show").with(&[("kind", "user_story")]),
        command("acceptance-criteria show").with(&[("kind", "acceptance_criteria")]),
        command("requirement show").with(&[("kind", "requirement")]),
        command("steering-document show").with(&[("kind", "steering_document")]),
    ];
    const ROUTES: &'static [Route] = &[
        get("/epics/{reference}").with(&[("kind", "epic")]),
        get("/user-stories/{reference}").with(&[("kind", "user_story")]),
        get("/acceptance-criteria/{reference}").with(&[("kind", "acceptance_criteria")]),
        get("/requirements/{reference}").with(&[("kind", "requirement")]),
        get("/steering-documents/{reference}").with(&[("kind", "steering_document")]),
    ];
    const TOOLS: &'static [Tool] = &[
        tool("requirements", r#"{"reference": "REQ-001", "include": ["parents", "relationships"]}"#)
            .daily(&["reference", "include"])
            .about("Read one thing in full by its reference id, before you change or build it.")
            .showing(&["reference"])
            .also(&["get", "read", "show", "fetch", "view"])
            .with_surroundings(),
        tool("steering", r#"{"steering_document_id": "STD-001"}"#)
            .named("get_steering_document", "Read a steering document.")
            .with(&[("kind", "steering_document")])
            .renaming("steering_document_id", "reference")
            .showing(&["reference"]),
    ];
    const EFFECT: Effect = Effect::Reads;
    const SHAPE: Option<Shape> = Some(Shape::Whole);
    const MODE: Option<Mode> = Some(Mode::Point);
    const POSITIONAL: &'static [&'static str] = &["reference"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<EntityInFull> {
        let found = cx.any_entity("reference", &self.reference)?;
        check_kind(&found, self.kind)?;
        let entity = if self.include_deleted { found } else { found.live()? };
        let aliases = alias::of_entities(cx.tx, &[&entity.id])?.remove(&entity.id).unwrap_or_default();
        Ok(EntityInFull { entity, aliases })
    }
}

/// An entity of another kind than in the path is not found.
pub(crate) fn check_kind(entity: &Entity, wanted: Option<KindName>) -> Result<()> {
    check_is(&entity.reference_id, entity.kind, wanted)
}

/// Something of another kind than in the path is not found.
pub(crate) fn check_is(name: &str, kind: Kind, wanted: Option<KindName>) -> Result<()> {
    match wanted {
        Some(KindName(wanted)) if wanted != kind => {
            let message = format!("{name} is {}, not {}", kind.with_article(), wanted.with_article());
            Err(Error::new(crate::ErrorKind::NotFound, message))
        }
        _ => Ok(()),
    }
}

/// List entities of a kind, filtered and sorted, by page.
///
/// All given filters must match. `status` and `priority` accept several values, one of which must match.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListEntities {
    /// The kind: `epic`, `user_story`, `acceptance_criteria`, `requirement` or `steering_document`.
    kind: KindName,
    /// The key or id of a project.
    project: Option<Text<1, 64>>,
    /// Only those below this epic; for steering documents, those linked with it.
    epic_id: Option<Id>,
    /// Only those of this user story.
    user_story_id: Option<Id>,
    /// Only requirements of this criterion.
    acceptance_criteria_id: Option<Id>,
    /// Only epics linked with this steering document.
    steering_document_id: Option<Id>,
    /// One of these statuses.
    status: Option<Vec<Text<1, 50>>>,
    /// One of these priorities.
    priority: Option<Vec<Number<1, 4>>>,
    /// The requirement type: its name or id.
    #[serde(rename = "type")]
    requirement_type: Option<Text<1, 100>>,
    /// All of these labels, in any case.
    label: Option<Vec<Text<1, 50>>>,
    /// Who works on it: a user's id or name.
    assignee: Option<Text<1, 100>>,
    /// Those that the caller works on.
    #[serde(default)]
    mine: bool,
    /// Who created it: a user's id or name.
    creator: Option<Text<1, 100>>,
    /// Created at or after this time.
    created_from: Option<Moment>,
    /// Created at or before this time.
    created_to: Option<Moment>,
    /// Changed at or after this time.
    updated_from: Option<Moment>,
    /// Changed at or before this time.
    updated_to: Option<Moment>,
    /// Changed since: how long ago, such as `2d` or `12h`, or a day or time.
    since: Option<Since>,
    /// Include deleted ones.
    #[serde(default)]
    include_deleted: bool,
    /// The order.
    #[serde(default)]
    sort: SortName,
    /// How many items to return; default 50.
    limit: Option<Limit>,
    /// How many items to skip.
    offset: Option<Offset>,
    /// Continue after a page: its `next_cursor`.
    cursor: Option<Cursor>,
}

/// An order of entities.
#[derive(Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum SortName {
    /// By reference id.
    #[default]
    Number,
    /// By reference id, the highest first.
    NumberDescending,
    /// By title.
    Title,
    /// By priority, the most important first.
    Priority,
    /// By creation, newest first.
    Created,
    /// By last change, newest first.
    Updated,
}

impl SortName {
    const fn name(self) -> &'static str {
        match self {
            SortName::Number => "number",
            SortName::NumberDescending => "number_descending",
            SortName::Title => "title",
            SortName::Priority => "priority",
            SortName::Created => "created",
            SortName::Updated => "updated",
        }
    }
}

/// The command that lists a kind: it sets the kind, and has only the filters of the kind.
const fn list_of(words: &'static str, kind: Kind) -> Command {
    command(words).with(bound(kind)).without(unfit(kind))
}

/// The route that lists a kind.
const fn lists(path: &'static str, kind: Kind) -> Route {
    get(path).with(bound(kind)).without(unfit(kind))
}

/// The argument for a kind.
const fn bound(kind: Kind) -> &'static [(&'static str, &'static str)] {
    match kind {
        Kind::Epic => &[("kind", "epic")],
        Kind::UserStory => &[("kind", "user_story")],
        Kind::AcceptanceCriteria => &[("kind", "acceptance_criteria")],
        Kind::Requirement => &[("kind", "requirement")],
        Kind::SteeringDocument => &[("kind", "steering_document")],
        Kind::Comment => &[("kind", "comment")],
        Kind::Prompt => &[("kind", "prompt")],
    }
}

impl Operation for ListEntities {
    type Output = Page<Entity>;
    const NAME: &'static str = "list_entities";
    const COMMANDS: &'static [Command] = &[
        command("list").defaulting(&[("kind", "requirement")]),
        list_of("epic list", Kind::Epic),
        list_of("user-story list", Kind::UserStory),
        list_of("acceptance-criteria list", Kind::AcceptanceCriteria),
        list_of("requirement list", Kind::Requirement),
        list_of("steering-document list", Kind::SteeringDocument),
    ];
    const ROUTES: &'static [Route] = &[
        lists("/epics", Kind::Epic),
        lists("/user-stories", Kind::UserStory),
        lists("/acceptance-criteria", Kind::AcceptanceCriteria),
        lists("/requirements", Kind::Requirement),
        lists("/steering-documents", Kind::SteeringDocument),
        lists("/epics/{epic_id}/user-stories", Kind::UserStory),
        lists("/user-stories/{user_story_id}/requirements", Kind::Requirement),
        lists("/user-stories/{user_story_id}/acceptance-criteria", Kind::AcceptanceCriteria),
        lists("/epics/{epic_id}/steering-documents", Kind::SteeringDocument),
        lists("/steering-documents/{steering_document_id}/epics", Kind::Epic),
    ];
    const TOOLS: &'static [Tool] = &[
        tool(
            "requirements",
            r#"{"kind": "requirement", "epic_id": "EP-001", "status": ["Draft", "Active"], "limit": 20}"#,
        )
        .daily(&["kind", "epic_id", "user_story_id", "status", "priority", "assignee", "cursor"])
        .about("List entities of a kind by filters, without a query.")
        .also(&["list", "get_all", "all"])
        .refusing(&[("kind", "prompt"), ("kind", "comment")]),
        tool("steering", r#"{"epic_id": "EP-001"}"#)
            .named("list_steering_documents", "List steering documents, or those of an epic.")
            .with(&[("kind", "steering_document")])
            .showing(&["epic_id", "project", "limit"]),
    ];
    const EFFECT: Effect = Effect::Reads;
    const COLUMNS: &'static [Columns] = &[
        (
            Some(Kind::Epic),
            &["reference_id", "title", "status", "priority", "assignee", "version", "created_at"],
        ),
        (
            Some(Kind::UserStory),
            &["reference_id", "title", "epic", "status", "priority", "assignee", "version", "created_at"],
        ),
        (
            Some(Kind::AcceptanceCriteria),
            &["reference_id", "description", "user_story", "creator", "version", "created_at"],
        ),
        (
            Some(Kind::Requirement),
            &[
                "reference_id",
                "title",
                "user_story",
                "type",
                "status",
                "priority",
                "assignee",
                "version",
                "created_at",
            ],
        ),
        (Some(Kind::SteeringDocument), &["reference_id", "title", "creator", "version", "created_at"]),
    ];
    const POSITIONAL: &'static [&'static str] = &["kind"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Page<Entity>> {
        let filter = self.filter(cx)?;
        let sort = match self.sort {
            SortName::Number => Sort::Number,
            SortName::NumberDescending => Sort::NumberDescending,
            SortName::Title => Sort::Title,
            SortName::Priority => Sort::Priority,
            SortName::Created => Sort::Created,
            SortName::Updated => Sort::Updated,
        };
        let name = self.sort.name();
        let window = window(self.limit, self.offset);
        let after = self.cursor.as_ref().map(|cursor| cursor.place(name)).transpose()?;
        let wanted = entity::Page { after, offset: window.1, limit: window.0 + 1 };
        let found = entity::list(cx.tx, &filter, sort, &wanted)?;
        let total = entity::count(cx.tx, &filter)?;
        Ok(page_after(found, total, window, |last| Cursor::at(name, &sort.place(last))))
    }
}

impl ListEntities {
    /// Looks up the filters. A filter that this kind does not have is an error.
    fn filter(&self, cx: &mut Cx<'_, '_>) -> Result<EntityFilter> {
        let kind = self.kind.0;
        if matches!(kind, Kind::Prompt | Kind::Comment) {
            let kinds = Kind::ALL.into_iter().filter(|kind| !matches!(kind, Kind::Prompt | Kind::Comment));
            return Err(Error::not_allowed("kind", kind.name(), kinds.map(Kind::name)));
        }
        let mut filter = EntityFilter {
            kind: Some(kind),
            include_deleted: self.include_deleted,
            ..EntityFilter::default()
        };
        self.refuse_unfit(kind)?;
        // A caller who includes deleted entities may filter by a deleted parent.
        let find = if self.include_deleted { Cx::any_of_kind } else { Cx::entity };
        if let Some(id) = &self.epic_id {
            let epic = find(cx, "epic_id", id, Kind::Epic)?;
            match kind {
                Kind::SteeringDocument => filter.linked_with = Some(epic.id),
                Kind::UserStory => filter.parent_id = Some(epic.id),
                _ => filter.epic_id = Some(epic.id),
            }
        }
        if let Some(id) = &self.user_story_id {
            filter.parent_id = Some(find(cx, "user_story_id", id, Kind::UserStory)?.id);
        }
        if let Some(id) = &self.acceptance_criteria_id {
            filter.criterion_id = Some(find(cx, "acceptance_criteria_id", id, Kind::AcceptanceCriteria)?.id);
        }
        if let Some(id) = &self.steering_document_id {
            filter.linked_with = Some(find(cx, "steering_document_id", id, Kind::SteeringDocument)?.id);
        }
        if self.project.is_some() || filter.parent_id.is_none() {
            filter.projects = cx.projects("project", self.project.as_ref().map(Text::as_str))?;
        }
        if let Some(wanted) = &self.status {
            filter.statuses = statuses(cx, kind, wanted)?;
        }
        if let Some(priorities) = &self.priority {
            filter.priorities = distinct("priority", priorities.iter().map(|priority| priority.0), 4)?;
        }
        if let Some(labels) = &self.label {
            filter.labels =
                distinct("label", labels.iter().map(|label| label.as_str().to_owned()), entity::VALUES_MAX)?;
        }
        if let Some(name) = &self.requirement_type {
            filter.type_id = Some(requirement_type(cx, "type", name.as_str())?.0);
        }
        filter.assignee_id =
            self.assignee.as_ref().map(|who| any_user(cx, "assignee", who.as_str())).transpose()?;
        filter.creator_id =
            self.creator.as_ref().map(|who| any_user(cx, "creator", who.as_str())).transpose()?;
        filter.created_from = self.created_from.map(Moment::first);
        filter.created_to = self.created_to.map(Moment::last);
        filter.updated_from = match (self.updated_from, self.since) {
            (Some(_), Some(_)) => return Err(Error::field("since", "use either since or updated_from")),
            (from, since) => from.map(Moment::first).or(since.map(|since| since.at(cx.now()))),
        };
        if self.mine {
            if self.assignee.is_some() {
                return Err(Error::field("mine", "use either mine or assignee"));
            }
            filter.assignee_id = Some(cx.caller()?.user_id.clone());
        }
        filter.updated_to = self.updated_to.map(Moment::last);
        Ok(filter)
    }

    fn refuse_unfit(&self, kind: Kind) -> Result<()> {
        let given: &[(&str, bool)] = &[
            ("status", self.status.is_some()),
            ("priority", self.priority.is_some()),
            ("assignee", self.assignee.is_some()),
            ("mine", self.mine),
            ("type", self.requirement_type.is_some()),
            ("acceptance_criteria_id", self.acceptance_criteria_id.is_some()),
            ("user_story_id", self.user_story_id.is_some()),
            ("epic_id", self.epic_id.is_some()),
            ("steering_document_id", self.steering_document_id.is_some()),
        ];
        match given.iter().find(|(name, given)| *given && unfit(kind).contains(name)) {
            Some((field, _)) => {
                Err(Error::field(field, format!("is not a filter for {}", kind.with_article())))
            }
            None => Ok(()),
        }
    }
}

/// The filters that a kind does not have. Commands and routes of the kind do not offer them.
const fn unfit(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::Epic => &["epic_id", "user_story_id", "acceptance_criteria_id", "type"],
        Kind::UserStory => &["user_story_id", "acceptance_criteria_id", "steering_document_id", "type"],
        Kind::Requirement => &["steering_document_id"],
        Kind::AcceptanceCriteria => &[
            "acceptance_criteria_id",
            "steering_document_id",
            "status",
            "priority",
            "type",
            "assignee",
            "mine",
        ],
        Kind::SteeringDocument | Kind::Prompt | Kind::Comment => &[
            "user_story_id",
            "acceptance_criteria_id",
            "steering_document_id",
            "status",
            "priority",
            "type",
            "assignee",
            "mine",
        ],
    }
}

/// The statuses with these names.
pub(crate) fn statuses(cx: &mut Cx<'_, '_>, kind: Kind, wanted: &[Text<1, 50>]) -> Result<Vec<String>> {
    let model = status::of(cx.tx, kind)?;
    let mut found = Vec::new();
    for text in wanted {
        match model.status(text.as_str()) {
            Some(status) => found.push(status.name.clone()),
            None => {
                let known = model.statuses.iter().map(|status| status.name.as_str());
                return Err(Error::not_allowed("status", text.as_str(), known));
            }
        }
    }
    distinct("status", found.into_iter(), entity::VALUES_MAX)
}

fn distinct<T: PartialEq>(field: &str, values: impl Iterator<Item = T>, max: usize) -> Result<Vec<T>> {
    let mut found = Vec::new();
    for value in values {
        if !found.contains(&value) {
            found.push(value);
        }
    }
    if found.is_empty() || found.len() > max {
        return Err(Error::field(field, format!("expected 1 to {max} values, found {}", found.len())));
    }
    Ok(found)
}

/// The id of a user, disabled or not.
pub(crate) fn any_user(cx: &mut Cx<'_, '_>, field: &str, who: &str) -> Result<String> {
    match store::user::find(cx.tx, who)? {
        Some(user) => Ok(user.id),
        None => Err(cx.no_user(field, who)?),
    }
}

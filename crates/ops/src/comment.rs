//! Comments.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::Mode;
use store::comment::{self, Comment, CommentFilter};
use store::entity;
use store::model::{Kind, Reference, Role};
use store::project::Projects;

use crate::context::{Cx, overtaken};
use crate::entity::read::{any_user, check_kind};
use crate::error::{Error, Result};
use crate::input::{Id, KindName, Limit, Number, Offset, Set, Text, Version};
use crate::operation::{
    Change, Columns, Command, Effect, Operation, Route, Tool, command, create, delete, get, patch, post,
    tool, versioned_output,
};
use crate::page::{Cursor, Page, page_after, window};
use crate::purge::{self, Purged};
use crate::versioned::{
    self, Versioned as _, new_deletion, record, record_deleted, record_restored, refuse_purged,
};

versioned_output!(Comment, version, id);

/// Comment on an epic, user story, acceptance criterion or requirement.
///
/// With `quote` the comment is anchored to that passage of the description. The anchor follows the passage when the text
/// changes, and the comment is marked as detached if the passage is removed.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AddComment {
    /// What to comment on, such as `REQ-012`.
    reference: Id,
    /// The expected kind.
    kind: Option<KindName>,
    /// The text, in Markdown.
    content: Text<1, 50_000>,
    /// The id of the comment to reply to.
    parent: Option<Id>,
    /// The passage of the description that the comment is about.
    quote: Option<Text<1, 5_000>>,
    /// The approximate start of the passage in characters, if it occurs more than once.
    anchor_start: Option<Number<0, 50_000>>,
}

impl Operation for AddComment {
    type Output = Comment;
    const NAME: &'static str = "add_comment";
    const COMMANDS: &'static [Command] = &[command("comment add")];
    const ROUTES: &'static [Route] = &[
        create("/comments"),
        create("/epics/{reference}/comments").with(&[("kind", "epic")]),
        create("/user-stories/{reference}/comments").with(&[("kind", "user_story")]),
        create("/acceptance-criteria/{reference}/comments").with(&[("kind", "acceptance_criteria")]),
        create("/requirements/{reference}/comments").with(&[("kind", "requirement")]),
    ];
    const TOOLS: &'static [Tool] = &[tool(
        "requirements",
        r#"{"reference": "REQ-001", "content": "Also on the receipt?", "quote": "last four digits"}"#,
    )
    .also(&[
        "create_comment",
        "comment",
        "post_comment",
        "comment_on",
        "create_issue_comment",
        "add_issue_comment",
        "reply",
    ])
    .daily(&["reference", "content"])
    .about("Comment on anything but a steering document: a question or a note that does not change its text.")
    .showing(&["reference", "content", "parent", "quote"])];
    const EFFECT: Effect = Effect::Comments;
    const POSITIONAL: &'static [&'static str] = &["reference", "content"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Comment> {
        let entity = cx.live_entity("reference", &self.reference)?;
        check_kind(&entity, self.kind)?;
        if entity.kind == Kind::SteeringDocument {
            return Err(Error::field("reference", "steering documents take no comments"));
        }
        if self.parent.is_some() {
            comment::lock_threads(cx.tx, &entity.id)?;
        }
        let parent_id = self.parent.as_ref().map(|parent| find_live(cx, "parent", parent)).transpose()?;
        let parent_id = match parent_id {
            Some(parent) if parent.entity_id != entity.id => {
                let message = format!("that comment is on {}, not on {}", parent.entity, entity.reference_id);
                return Err(Error::field("parent", message));
            }
            parent => parent.map(|parent| parent.id),
        };
        let anchor = match &self.quote {
            None if self.anchor_start.is_some() => {
                return Err(Error::field("anchor_start", "needs the quote that begins there"));
            }
            None => None,
            Some(quote) => {
                let near = self.anchor_start.map(|start| start.0);
                let found = comment::locate(&entity, quote.as_str(), near);
                let missing =
                    || Error::field("quote", format!("is not in the description of {}", entity.reference_id));
                Some(found.ok_or_else(missing)?)
            }
        };
        let caller = cx.caller()?;
        let new = Comment {
            id: cx.new_id(),
            project_id: entity.project_id.clone(),
            entity_id: entity.id,
            entity: entity.reference_id,
            entity_kind: entity.kind,
            parent_id,
            author_id: caller.user_id.clone(),
            author: caller.username.clone(),
            content: (&self.content).into(),
            quote: self.quote.as_ref().map(Into::into),
            anchor_start: anchor.map(|(start, _)| start),
            anchor_end: anchor.map(|(_, end)| end),
            detached: false,
            resolved: false,
            version: 1,
            created_at: cx.now(),
            updated_at: cx.now(),
            deleted_at: None,
            deletion_id: None,
            purged_at: None,
        };
        add(cx, new)
    }
}

/// Inserts a new comment.
pub(crate) fn add(cx: &mut Cx<'_, '_>, new: Comment) -> Result<Comment> {
    comment::insert(cx.tx, &new)?;
    record(cx, None, &new)?;
    Ok(new)
}

/// List comments, oldest first.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListComments {
    /// Only comments on this entity, such as `REQ-012`.
    reference: Option<Id>,
    /// The expected kind.
    kind: Option<KindName>,
    /// Only comments of this user: an id or a name.
    author: Option<Text<1, 100>>,
    /// Only resolved comments, or only unresolved ones.
    resolved: Option<bool>,
    /// Only comments in this project: a key or an id.
    project: Option<Text<1, 64>>,
    /// Include deleted ones.
    #[serde(default)]
    include_deleted: bool,
    /// How many items to return; default 50.
    limit: Option<Limit>,
    /// How many items to skip.
    offset: Option<Offset>,
    /// Continue after a page: its `next_cursor`.
    cursor: Option<Cursor>,
}

/// The name of the list in its cursors.
const LIST: &str = "comments";

impl Operation for ListComments {
    type Output = Page<Comment>;
    const NAME: &'static str = "list_comments";
    const COMMANDS: &'static [Command] = &[command("comment list")];
    const ROUTES: &'static [Route] = &[
        get("/comments"),
        get("/epics/{reference}/comments").with(&[("kind", "epic")]),
        get("/user-stories/{reference}/comments").with(&[("kind", "user_story")]),
        get("/acceptance-criteria/{reference}/comments").with(&[("kind", "acceptance_criteria")]),
        get("/requirements/{reference}/comments").with(&[("kind", "requirement")]),
    ];
    const TOOLS: &'static [Tool] = &[tool("comments", r#"{"reference": "REQ-001", "resolved": false}"#)
        .showing(&["reference", "author", "resolved", "project", "include_deleted", "limit"])];
    const EFFECT: Effect = Effect::Reads;
    const COLUMNS: &'static [Columns] =
        &[(None, &["id", "entity", "author", "content", "resolved", "created_at"])];
    const POSITIONAL: &'static [&'static str] = &["reference"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Page<Comment>> {
        let mut filter = CommentFilter {
            resolved: self.resolved,
            include_deleted: self.include_deleted,
            ..CommentFilter::default()
        };
        if let Some(reference) = &self.reference {
            let entity = match self.include_deleted {
                true => cx.any_entity("reference", reference)?,
                false => cx.live_entity("reference", reference)?,
            };
            check_kind(&entity, self.kind)?;
            filter.entity_id = Some(entity.id);
        } else if self.kind.is_some() {
            return Err(Error::field("kind", "needs the reference of the entity that is of this kind"));
        }
        if let Some(who) = &self.author {
            filter.author_id = Some(any_user(cx, "author", who.as_str())?);
        }
        if let Some(project) = &self.project {
            filter.projects = Projects::One(cx.project("project", Some(project.as_str()))?.id);
        } else if filter.entity_id.is_none() {
            filter.projects = cx.projects("project", None)?;
        }
        let window = window(self.limit, self.offset);
        let after = self.cursor.as_ref().map(|cursor| cursor.place(LIST)).transpose()?;
        let comments = comment::list(cx.tx, &filter, after.as_ref(), window.0 + 1, window.1)?;
        let total = comment::count(cx.tx, &filter)?;
        Ok(page_after(comments, total, window, |last| {
            Cursor::at(LIST, &(last.created_at.microseconds(), &last.id))
        }))
    }
}

/// Read a comment.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetComment {
    /// The comment's id.
    comment_id: Id,
    /// Even if it is deleted.
    #[serde(default)]
    include_deleted: bool,
}

impl Operation for GetComment {
    type Output = Comment;
    const NAME: &'static str = "get_comment";
    const COMMANDS: &'static [Command] = &[command("comment show")];
    const ROUTES: &'static [Route] = &[get("/comments/{comment_id}")];
    const EFFECT: Effect = Effect::Reads;
    const MODE: Option<Mode> = Some(Mode::Point);
    const POSITIONAL: &'static [&'static str] = &["comment_id"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Comment> {
        match self.include_deleted {
            true => find(cx, "comment_id", &self.comment_id),
            false => find_live(cx, "comment_id", &self.comment_id),
        }
    }
}

/// Edit or resolve a comment.
///
/// Every user may resolve comments; only the author and administrators may change the text.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateComment {
    /// The comment's id.
    comment_id: Id,
    /// The new text, in Markdown.
    #[serde(default)]
    content: Set<Text<1, 50_000>>,
    /// Whether it is resolved.
    #[serde(default)]
    resolved: Set<bool>,
    /// Reject the change if the current version differs.
    expected_version: Option<Version>,
}

impl Operation for UpdateComment {
    type Output = Comment;
    const NAME: &'static str = "update_comment";
    const COMMANDS: &'static [Command] = &[command("comment update")];
    const ROUTES: &'static [Route] = &[patch("/comments/{comment_id}")];
    const TOOLS: &'static [Tool] = &[
        tool(
            "comments",
            r#"{"comment_id": "019a8b5e-2f00-7000-8000-00000000c0de", "content": "Also on the printed receipt?"}"#,
        ),
        tool("comments", r#"{"comment_id": "019a8b5e-2f00-7000-8000-00000000c0de"}"#)
            .named("resolve_comment", "Settle a comment.")
            .with(&[("resolved", "true")])
            .showing(&["comment_id"]),
    ];
    const EFFECT: Effect = Effect::Comments;
    const POSITIONAL: &'static [&'static str] = &["comment_id"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Comment> {
        let before = find_live(cx, "comment_id", &self.comment_id)?;
        before.check_version(cx, self.expected_version)?;
        let mut after = before.clone();
        if let Some(content) = &self.content.0 {
            check_author(cx, &before, "edit")?;
            after.content = content.into();
        }
        if let Some(resolved) = self.resolved.0 {
            after.resolved = resolved;
        }
        change(cx, before, after)
    }
}

/// Stores a changed comment, if it differs.
pub(crate) fn change(cx: &mut Cx<'_, '_>, before: Comment, after: Comment) -> Result<Comment> {
    versioned::change(cx, before, after, comment::update)
}

/// Delete a comment and its replies. Its author and administrators may do this. `dry_run` returns the number of replies.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteComment {
    /// The comment's id.
    comment_id: Id,
    /// Only list what would be deleted.
    #[serde(default)]
    dry_run: bool,
    /// As for other kinds; replies are always deleted.
    #[serde(default, rename = "force")]
    _force: bool,
    /// Reject if the current version differs.
    expected_version: Option<Version>,
}

/// A deleted comment, or the preview of a deletion.
#[derive(Serialize, JsonSchema)]
pub struct DeletedComment {
    #[serde(flatten)]
    comment: Comment,
    /// Whether it is deleted now.
    deleted: bool,
    /// The number of deleted replies.
    answers: usize,
}

versioned_output!(DeletedComment, comment.version, comment.id);

impl Operation for DeleteComment {
    type Output = DeletedComment;
    const NAME: &'static str = "delete_comment";
    const COMMANDS: &'static [Command] = &[command("comment delete")];
    const ROUTES: &'static [Route] = &[delete("/comments/{comment_id}")];
    const TOOLS: &'static [Tool] =
        &[tool("comments", r#"{"comment_id": "019a8b5e-2f00-7000-8000-00000000c0de"}"#).showing(&[
            "comment_id",
            "dry_run",
            "expected_version",
        ])];
    const EFFECT: Effect = Effect::Comments;
    const POSITIONAL: &'static [&'static str] = &["comment_id"];

    fn mode(&self) -> Option<Mode> {
        self.dry_run.then_some(Mode::Snapshot)
    }

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<DeletedComment> {
        let mut gone = find_live(cx, "comment_id", &self.comment_id)?;
        if !self.dry_run {
            comment::lock_threads(cx.tx, &gone.entity_id)?;
            gone = find_live(cx, "comment_id", &self.comment_id)?;
        }
        gone.check_version(cx, self.expected_version)?;
        check_author(cx, &gone, "delete")?;
        let answers = comment::count_answers(cx.tx, &gone.id)?;
        if self.dry_run {
            return Ok(DeletedComment { comment: gone, deleted: false, answers });
        }
        let deletion = new_deletion(cx)?;
        if !comment::delete(cx.tx, &gone, &deletion)? {
            return Err(overtaken("the comment"));
        }
        note_deletion(cx, &deletion.id)?;
        let comment = find(cx, "comment_id", &self.comment_id)?;
        Ok(DeletedComment { comment, deleted: true, answers })
    }
}

/// Restore a deleted comment and its replies.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RestoreComment {
    /// The comment's id.
    comment_id: Id,
    /// Reject if the current version differs.
    expected_version: Option<Version>,
}

impl Operation for RestoreComment {
    type Output = Comment;
    const NAME: &'static str = "restore_comment";
    const COMMANDS: &'static [Command] = &[command("comment restore")];
    const ROUTES: &'static [Route] = &[post("/comments/{comment_id}/restore")];
    const EFFECT: Effect = Effect::Comments;
    const POSITIONAL: &'static [&'static str] = &["comment_id"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Comment> {
        let gone = locked(cx, &self.comment_id)?;
        gone.check_version(cx, self.expected_version)?;
        check_author(cx, &gone, "restore")?;
        let Some(deletion_id) = &gone.deletion_id else {
            return Err(gone.not_deleted());
        };
        let entity = entity::find(cx.tx, &Reference::Id(gone.entity_id.clone()))?;
        if let Some(entity) = entity.filter(|entity| entity.deleted_at.is_some()) {
            return Err(Error::conflict(format!("{} is deleted; restore it first", entity.reference_id)));
        }
        if let Some(parent) = &gone.parent_id
            && let Some(parent) = comment::find(cx.tx, parent)?
            && parent.deletion_id.as_deref().is_some_and(|id| id != deletion_id)
        {
            return Err(Error::conflict("the comment that it answers is deleted; restore that first"));
        }
        gone.check_unpurged()?;
        refuse_purged_above(cx, &gone)?;
        let members = comment::of_deletion(cx.tx, deletion_id)?;
        entity::restore(cx.tx, deletion_id, cx.now())?;
        note_restored(cx, &members)?;
        find_live(cx, "comment_id", &self.comment_id)
    }
}

/// Erase the text of a deleted comment permanently: from the comment, its history and the search.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PurgeComment {
    /// The comment's id.
    comment_id: Id,
    /// Only list what would be erased.
    #[serde(default)]
    dry_run: bool,
    /// Reject if the current version differs.
    expected_version: Option<Version>,
}

impl Operation for PurgeComment {
    type Output = Purged<Comment>;
    const NAME: &'static str = "purge_comment";
    const COMMANDS: &'static [Command] = &[command("comment purge")];
    const ROUTES: &'static [Route] = &[post("/comments/{comment_id}/purge")];
    const EFFECT: Effect = Effect::Administers;
    const CHANGE: Change = Change::Removes;
    const POSITIONAL: &'static [&'static str] = &["comment_id"];

    fn mode(&self) -> Option<Mode> {
        self.dry_run.then_some(Mode::Snapshot)
    }

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Purged<Comment>> {
        if self.dry_run {
            let gone = find(cx, "comment_id", &self.comment_id)?;
            return purge::look(cx, gone, self.expected_version);
        }
        let gone = locked(cx, &self.comment_id)?;
        let erase = |cx: &mut Cx<'_, '_>, gone: &Comment| Ok(comment::purge(cx.tx, &gone.id, cx.now())?);
        let find = |cx: &mut Cx<'_, '_>| find(cx, "comment_id", &self.comment_id);
        purge::purge(cx, gone, self.expected_version, erase, find)
    }
}

pub(crate) fn check_author(cx: &mut Cx<'_, '_>, comment: &Comment, what: &str) -> Result<()> {
    let caller = cx.caller()?;
    if caller.user_id == comment.author_id {
        return Ok(());
    }
    if cx.role_in(&comment.project_id)? != Some(Role::Administrator) {
        let message = format!("only {} and administrators may {what} this comment", comment.author);
        return Err(Error::forbidden(message));
    }
    // A token with the scope `comment` may change only its owner's comments.
    caller.may(Effect::Manages)
}

/// A reply cannot be restored without its parent.
fn refuse_purged_above(cx: &mut Cx<'_, '_>, gone: &Comment) -> Result<()> {
    let mut above = gone.parent_id.clone();
    while let Some(id) = above {
        let Some(parent) = comment::find(cx.tx, &id)? else { break };
        refuse_purged("the comment that it answers", parent.purged_at)?;
        above = parent.parent_id;
    }
    Ok(())
}

/// Records a revision for every comment of a deletion.
pub(crate) fn note_deletion(cx: &mut Cx<'_, '_>, deletion_id: &str) -> Result<()> {
    comment::of_deletion(cx.tx, deletion_id)?.iter().try_for_each(|gone| record_deleted(cx, gone))
}

/// Records a revision for the restored comments of a deletion.
pub(crate) fn note_restored(cx: &mut Cx<'_, '_>, gone: &[Comment]) -> Result<()> {
    for gone in gone {
        if let Some(back) = comment::find(cx.tx, &gone.id)?.filter(|back| back.deleted_at.is_none()) {
            record_restored(cx, &back, gone.deleted_at)?;
        }
    }
    Ok(())
}

fn find(cx: &mut Cx<'_, '_>, field: &str, id: &Id) -> Result<Comment> {
    let Reference::Id(uuid) = &id.0 else {
        return Err(Error::field(field, "expected the id of a comment"));
    };
    match find_visible(cx, uuid)? {
        Some(found) => Ok(found),
        None => Err(Error::not_found("comment", uuid).about(field)),
    }
}

/// The comment to restore or purge. If it is deleted, it is locked until the commit.
fn locked(cx: &mut Cx<'_, '_>, id: &Id) -> Result<Comment> {
    let found = find(cx, "comment_id", id)?;
    match &found.deletion_id {
        Some(deletion_id) => {
            entity::lock_deletion(cx.tx, deletion_id)?;
            comment::lock_threads(cx.tx, &found.entity_id)?;
            find(cx, "comment_id", id)
        }
        None => Ok(found),
    }
}

fn find_live(cx: &mut Cx<'_, '_>, field: &str, id: &Id) -> Result<Comment> {
    find(cx, field, id)?.live()
}

/// The comment with an id, deleted or not, if the caller can see it.
pub(crate) fn find_visible(cx: &mut Cx<'_, '_>, id: &str) -> Result<Option<Comment>> {
    match comment::find(cx.tx, id)? {
        Some(found) if cx.sees(&found.project_id)? => Ok(Some(found)),
        _ => Ok(None),
    }
}

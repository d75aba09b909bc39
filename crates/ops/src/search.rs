//! Searching everything that has text.

pub mod suggestions;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::alias::{Alias, EXTERNAL_ID_MAX_CHARS};
use store::model::{Kind, Time};
use store::search::{self, Hit, Indexing, SearchFilter, SearchResults, Sort};
use store::status;
use words::{Piece, Query};

use crate::context::Cx;
use crate::entity::read::any_user;
use crate::entity::requirement_type;
use crate::error::{Error, Result};
use crate::input::{Id, KindName, Limit, Moment, Number, Offset, Text};
use crate::operation::{Columns, Command, Effect, Operation, Output, Route, Tool, command, get, tool};
use crate::page::{Cursor, Page, page, window_from};

/// How many characters of the text a snippet shows.
const SNIPPET_CHARS: usize = 200;
/// Separates the title from the text in a snippet.
const DASH: &str = " — ";

/// Search titles, texts, reference ids and comments.
///
/// All words must occur, in any form; the last one may be a prefix. `"quoted words"` must be adjacent, `-word`
/// must not occur, and the entity with an id such as `REQ-12` comes first. Any text is a query. Snippets are HTML with
/// matches in `<mark>`; agents get plain text with `**` around them.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchGlobal {
    /// The query: 1 to 1,000 characters.
    query: String,
    /// Only these kinds: `epic`, `user_story`, `acceptance_criteria`, `requirement`, `steering_document`, `comment`.
    entity_types: Option<Vec<KindName>>,
    /// One of these statuses.
    status: Option<Vec<Text<1, 50>>>,
    /// One of these priorities.
    priority: Option<Vec<Number<1, 4>>>,
    /// The requirement type: its name or id.
    #[serde(rename = "type")]
    requirement_type: Option<Text<1, 100>>,
    /// Within this epic.
    epic: Option<Id>,
    /// Within this user story.
    user_story: Option<Id>,
    /// Who works on it: a user's id or name.
    assignee: Option<Text<1, 100>>,
    /// Who created it: a user's id or name.
    creator: Option<Text<1, 100>>,
    /// Created at or after this time.
    created_from: Option<Moment>,
    /// Created at or before this time.
    created_to: Option<Moment>,
    /// The order.
    #[serde(default)]
    sort: SortName,
    /// The key or id of a project.
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

/// An order of results.
#[derive(Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum SortName {
    /// The best match first.
    #[default]
    Relevance,
    /// The newest first.
    Created,
    /// By last change, newest first.
    Updated,
    /// The most important first.
    Priority,
}

/// The results of a search.
#[derive(Serialize, JsonSchema)]
pub struct SearchPage {
    /// The items of this page.
    data: Vec<SearchHit>,
    /// The number on all pages, or a lower bound.
    total_count: i64,
    /// Whether there are more than `total_count`: for very common words counting stops there.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    more_than_counted: bool,
    /// The maximal number of items on this page.
    limit: i64,
    /// The number of skipped items.
    offset: i64,
    /// The start of the next page, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
    /// A hint if nothing was found, or what was ignored in a long query.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    /// The progress of the search index while it is rebuilt after an upgrade: until then results may be missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    indexing: Option<SearchIndexing>,
}

/// The progress of rebuilding the search index.
#[derive(Serialize, JsonSchema)]
pub struct SearchIndexing {
    /// How many documents are done.
    done: i64,
    /// The total number.
    total: i64,
}

impl Output for SearchPage {}

/// A result. For a comment, `id` is the comment's, and the rest is of its entity.
#[derive(Serialize, JsonSchema)]
pub struct SearchHit {
    /// The UUID.
    id: String,
    /// The reference id, such as `REQ-012`.
    reference_id: String,
    /// The kind: a kind of entity, or `comment`.
    kind: Kind,
    /// The key of its project.
    project: String,
    /// The title; acceptance criteria have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// A passage of the text with the matches: HTML with `<mark>`, or for agents plain text with `**`.
    snippet: String,
    /// The version of the entity.
    version: i64,
    /// The status.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<String>,
    /// 1 critical, 2 high, 3 medium, 4 low.
    #[serde(skip_serializing_if = "Option::is_none")]
    priority: Option<i64>,
    /// A requirement's type.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    type_name: Option<String>,
    /// The rank; only the order matters.
    score: f64,
    /// The entity of a comment.
    #[serde(skip_serializing_if = "Option::is_none")]
    entity: Option<CommentedEntity>,
    /// When it was deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    deleted_at: Option<Time>,
}

/// The entity of a comment.
#[derive(Serialize, JsonSchema)]
pub struct CommentedEntity {
    /// The UUID.
    id: String,
    /// The reference id.
    reference_id: String,
    /// The kind.
    kind: Kind,
}

impl Operation for SearchGlobal {
    type Output = SearchPage;
    const NAME: &'static str = "search_global";
    const COMMANDS: &'static [Command] = &[command("search")];
    const ROUTES: &'static [Route] = &[get("/search")];
    const TOOLS: &'static [Tool] = &[tool(
        "requirements",
        r#"{"query": "saved card", "entity_types": ["user_story", "requirement"]}"#,
    )
    .showing(&["query", "entity_types", "project", "limit", "offset"])
    .also(&["search", "find", "search_all", "global_search", "search_entities"])
    .refusing(&[("entity_types", "prompt")])
    .daily(&["query", "cursor"])
    .about(
        "Find anything by words: all kinds and their comments. The first call when you have no reference id.",
    )];
    const EFFECT: Effect = Effect::Reads;
    const COLUMNS: &'static [Columns] =
        &[(None, &["reference_id", "kind", "title", "snippet", "status", "priority", "type"])];
    const POSITIONAL: &'static [&'static str] = &["query"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<SearchPage> {
        let query = parse(&self.query)?;
        let kinds = self.kinds()?;
        let filter = SearchFilter {
            projects: cx.projects("project", self.project.as_ref().map(Text::as_str))?,
            statuses: statuses(cx, &kinds, self.status.as_deref())?,
            priorities: priorities(self.priority.as_deref())?,
            type_id: type_id(cx, self.requirement_type.as_ref())?,
            epic_id: part_of(cx, "epic", self.epic.as_ref(), Kind::Epic, self.include_deleted)?,
            user_story_id: part_of(
                cx,
                "user_story",
                self.user_story.as_ref(),
                Kind::UserStory,
                self.include_deleted,
            )?,
            assignee_id: user(cx, "assignee", self.assignee.as_ref())?,
            creator_id: user(cx, "creator", self.creator.as_ref())?,
            created_from: self.created_from.map(Moment::first),
            created_to: self.created_to.map(Moment::last),
            include_deleted: self.include_deleted,
            external_ids: external_ids(&self.query),
            kinds,
        };
        let sort = match self.sort {
            SortName::Relevance => Sort::Relevance,
            SortName::Created => Sort::Created,
            SortName::Updated => Sort::Updated,
            SortName::Priority => Sort::Priority,
        };
        run(cx, &query, &filter, sort, window_from(self.limit, self.offset, self.cursor.as_ref())?)
    }
}

impl SearchGlobal {
    fn kinds(&self) -> Result<Vec<Kind>> {
        let kinds: Vec<Kind> = self.entity_types.iter().flatten().map(|kind| kind.0).collect();
        if kinds.contains(&Kind::Prompt) {
            let known = Kind::ALL.into_iter().filter(|kind| *kind != Kind::Prompt);
            return Err(Error::not_allowed("entity_types", Kind::Prompt.name(), known.map(Kind::name)));
        }
        Ok(kinds)
    }
}

/// Search requirements. The query syntax is that of `search_global`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchRequirements {
    /// The query: 1 to 1,000 characters.
    query: String,
    /// The requirement type: its name or id.
    #[serde(rename = "type")]
    requirement_type: Option<Text<1, 100>>,
    /// One of these statuses.
    status: Option<Vec<Text<1, 50>>>,
    /// One of these priorities.
    priority: Option<Vec<Number<1, 4>>>,
    /// Within this epic.
    epic_id: Option<Id>,
    /// Within this user story.
    user_story_id: Option<Id>,
    /// The key or id of a project.
    project: Option<Text<1, 64>>,
    /// How many items to return; default 50.
    limit: Option<Limit>,
    /// How many items to skip.
    offset: Option<Offset>,
    /// Continue after a page: its `next_cursor`.
    cursor: Option<Cursor>,
}

impl Operation for SearchRequirements {
    type Output = SearchPage;
    const NAME: &'static str = "search_requirements";
    const COMMANDS: &'static [Command] = &[command("requirement search")];
    const ROUTES: &'static [Route] = &[get("/search/requirements")];
    const TOOLS: &'static [Tool] =
        &[tool("requirements", r#"{"query": "card", "status": "Active", "max_tokens": 500}"#)
            .daily(&["query", "status", "priority", "epic_id", "cursor"])
            .about("Search only requirements, with filters.")
            .also(&["find_requirements", "query_requirements"])
            .showing(&[
                "query",
                "type",
                "status",
                "priority",
                "epic_id",
                "user_story_id",
                "limit",
                "offset",
            ])];
    const EFFECT: Effect = Effect::Reads;
    const COLUMNS: &'static [Columns] =
        &[(None, &["reference_id", "kind", "title", "snippet", "status", "priority", "type"])];
    const POSITIONAL: &'static [&'static str] = &["query"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<SearchPage> {
        let query = parse(&self.query)?;
        let kinds = vec![Kind::Requirement];
        let filter = SearchFilter {
            statuses: statuses(cx, &kinds, self.status.as_deref())?,
            priorities: priorities(self.priority.as_deref())?,
            type_id: type_id(cx, self.requirement_type.as_ref())?,
            epic_id: part_of(cx, "epic_id", self.epic_id.as_ref(), Kind::Epic, false)?,
            user_story_id: part_of(cx, "user_story_id", self.user_story_id.as_ref(), Kind::UserStory, false)?,
            projects: cx.projects("project", self.project.as_ref().map(Text::as_str))?,
            external_ids: external_ids(&self.query),
            kinds,
            ..SearchFilter::default()
        };
        run(cx, &query, &filter, Sort::Relevance, window_from(self.limit, self.offset, self.cursor.as_ref())?)
    }
}

/// How many words of a query are looked up as external ids.
const EXTERNAL_IDS_MAX: usize = 8;

/// The words of a query that may be external ids: those with a digit, and URLs.
fn external_ids(query: &str) -> Vec<String> {
    let words = query.split_whitespace().map(|word| word.trim_matches(['"', ',', '(', ')']));
    let may_be = |word: &&str| {
        word.contains(|char: char| char.is_ascii_digit()) && word.len() <= EXTERNAL_ID_MAX_CHARS
    };
    let mut found: Vec<String> = Vec::new();
    for word in words.filter(may_be).take(EXTERNAL_IDS_MAX) {
        // Exports write `jira:SHOP-12`.
        let bare = Alias::parse(word).map_or_else(|| word.to_owned(), |alias| alias.external_id);
        for spelling in [word.to_owned(), bare.to_uppercase(), bare.to_lowercase(), bare] {
            if !found.contains(&spelling) {
                found.push(spelling);
            }
        }
    }
    found
}

fn parse(text: &str) -> Result<Query> {
    Query::parse(text).map_err(|problem| Error::field("query", problem.to_string()))
}

/// The statuses with these names, of each kind that has one.
fn statuses(
    cx: &mut Cx<'_, '_>,
    kinds: &[Kind],
    wanted: Option<&[Text<1, 50>]>,
) -> Result<Vec<(Kind, String)>> {
    let Some(wanted) = wanted else { return Ok(Vec::new()) };
    let mut models = Vec::new();
    for kind in Kind::ALL {
        if kind.has_status() && (kinds.is_empty() || kinds.contains(&kind)) {
            models.push(status::of(cx.tx, kind)?);
        }
    }
    if wanted.is_empty() || models.is_empty() {
        let message = "expected a status, and a kind that has one";
        return Err(Error::field("status", message));
    }
    let mut found = Vec::new();
    for text in wanted {
        let same = models.iter().filter_map(|model| {
            model.status(text.as_str()).map(|status| (model.entity_kind, status.name.clone()))
        });
        let before = found.len();
        found.extend(same);
        if found.len() == before {
            let mut known: Vec<&str> = Vec::new();
            for status in models.iter().flat_map(|model| &model.statuses) {
                if !known.contains(&status.name.as_str()) {
                    known.push(&status.name);
                }
            }
            return Err(Error::not_allowed("status", text.as_str(), known));
        }
    }
    Ok(found)
}

fn priorities(wanted: Option<&[Number<1, 4>]>) -> Result<Vec<i64>> {
    match wanted {
        Some([]) => Err(Error::field("priority", "expected a priority from 1 to 4")),
        wanted => Ok(wanted.unwrap_or_default().iter().map(|priority| priority.0).collect()),
    }
}

fn type_id(cx: &mut Cx<'_, '_>, wanted: Option<&Text<1, 100>>) -> Result<Option<String>> {
    wanted.map(|name| Ok(requirement_type(cx, "type", name.as_str())?.0)).transpose()
}

fn user(cx: &mut Cx<'_, '_>, field: &str, who: Option<&Text<1, 100>>) -> Result<Option<String>> {
    who.map(|who| any_user(cx, field, who.as_str())).transpose()
}

/// The id of an epic or story, which may be deleted if deleted ones are included.
fn part_of(
    cx: &mut Cx<'_, '_>,
    field: &str,
    id: Option<&Id>,
    kind: Kind,
    include_deleted: bool,
) -> Result<Option<String>> {
    let Some(id) = id else { return Ok(None) };
    if include_deleted {
        let found = cx.any_entity(field, id)?;
        if found.kind == kind {
            return Ok(Some(found.id));
        }
    }
    Ok(Some(cx.entity(field, id, kind)?.id))
}

fn run(
    cx: &mut Cx<'_, '_>,
    query: &Query,
    filter: &SearchFilter,
    sort: Sort,
    window: (i64, i64),
) -> Result<SearchPage> {
    let (limit, offset) = window;
    let SearchResults { hits, total, is_exact } = search::search(cx.tx, query, filter, sort, limit, offset)?;
    let message = match query.n_dropped {
        0 => hits.is_empty().then(|| advice(query, total)),
        n_dropped => {
            Some(format!("the query has {n_dropped} words too many, and the last ones were left out"))
        }
    };
    let data = hits.into_iter().map(|hit| shown(query, hit)).collect();
    let Page { data, total_count, next_cursor, .. } = page(data, total, window);
    let indexing = search::indexing(cx.tx)?;
    let indexing = indexing.map(|Indexing { done, total }| SearchIndexing { done, total });
    let more_than_counted = !is_exact;
    Ok(SearchPage { data, total_count, more_than_counted, limit, offset, next_cursor, message, indexing })
}

/// The hint for an empty page.
fn advice(query: &Query, total: i64) -> String {
    let text = match () {
        () if total > 0 => "there is nothing on this page; the offset is too large",
        () if query.is_nothing() => "expected a letter or digit to search for",
        () if query.clauses.len() > 1 => "nothing has all of these words; try fewer words or filters",
        () => "nothing was found; try another word, only its beginning, or fewer filters",
    };
    text.to_owned()
}

fn shown(query: &Query, hit: Hit) -> SearchHit {
    let Hit { entity, comment, score } = hit;
    let text = match &comment {
        Some(comment) => Some(comment.content.as_str()),
        None => entity.description.as_deref().filter(|text| !text.trim().is_empty()),
    };
    let is_comment = comment.is_some();
    let title = entity.title.as_deref().filter(|_| !is_comment);
    let snippet = to_html(&passage(query, title, text.or(title).unwrap_or_default()));
    SearchHit {
        id: comment.as_ref().map_or_else(|| entity.id.clone(), |comment| comment.id.clone()),
        reference_id: entity.reference_id.clone(),
        kind: if is_comment { Kind::Comment } else { entity.kind },
        project: entity.project,
        title: entity.title,
        snippet,
        version: entity.version,
        status: entity.status,
        priority: entity.priority,
        type_name: entity.type_name,
        score: (f64::from(score) * 1_000.0).round() / 1_000.0,
        deleted_at: comment.map_or(entity.deleted_at, |comment| comment.deleted_at),
        entity: is_comment.then_some(CommentedEntity {
            id: entity.id,
            reference_id: entity.reference_id,
            kind: entity.kind,
        }),
    }
}

/// The snippet of a text. If only the title matches, it comes first, to show why the entity was found.
fn passage(query: &Query, title: Option<&str>, text: &str) -> Vec<Piece> {
    let of_text = words::snippet(query, text, SNIPPET_CHARS);
    if of_text.iter().any(|piece| piece.is_marked) {
        return of_text;
    }
    let mut pieces = words::snippet(query, title.unwrap_or_default(), SNIPPET_CHARS);
    if !pieces.iter().any(|piece| piece.is_marked) {
        return of_text;
    }
    let used: usize = pieces.iter().map(|piece| piece.text.chars().count()).sum();
    let begins = words::snippet(query, text, SNIPPET_CHARS.saturating_sub(used + DASH.len()));
    if begins.iter().any(|piece| !piece.text.trim_matches('…').is_empty()) {
        pieces.push(Piece { text: DASH.to_owned(), is_marked: false });
        pieces.extend(begins);
    }
    pieces
}

/// Marks the matches, and escapes everything.
fn to_html(pieces: &[Piece]) -> String {
    let mut html = String::new();
    for piece in pieces {
        let (open, close) = if piece.is_marked { ("<mark>", "</mark>") } else { ("", "") };
        html.push_str(open);
        for c in piece.text.chars() {
            match c {
                '&' => html.push_str("&amp;"),
                '<' => html.push_str("&lt;"),
                '>' => html.push_str("&gt;"),
                '"' => html.push_str("&quot;"),
                '\'' => html.push_str("&#39;"),
                c => html.push(c),
            }
        }
        html.push_str(close);
    }
    html
}

/// The text of a snippet, with a mark on both sides of each match.
pub fn plain_snippet(html: &str, mark: &str) -> String {
    // The character with which all escapes begin must be replaced last.
    let signs = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")];
    let marked = html.replace("</mark><mark>", "").replace("<mark>", mark).replace("</mark>", mark);
    signs.iter().fold(marked, |text, (escaped, sign)| text.replace(escaped, sign))
}

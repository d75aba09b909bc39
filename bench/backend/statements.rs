//! What the server asks its database, statement by statement, without the server. A change of the server's queries must
//! be followed here.

use anyhow::Context;
use store::{Value, values};

/// A connection to an engine, as plain as it comes.
pub trait Bare {
    fn script(&mut self, sql: &'static str) -> anyhow::Result<()>;
    /// Runs a statement and returns how many rows came, after reading every column of them.
    fn run(&mut self, sql: &'static str, values: &[Value<'_>]) -> anyhow::Result<usize>;
    /// The same, and returns the text in a column of the first row.
    fn text(&mut self, sql: &'static str, values: &[Value<'_>], column: usize) -> anyhow::Result<String>;
}

macro_rules! select_entity {
    ($rest:literal) => {
        concat!(
            "select e.project_id, p.key, e.id, e.kind, e.number, e.parent_id, parent.number, e.criterion_id,
                    criterion.number, e.title, e.description, e.priority, e.status, e.type_id, t.name,
                    e.creator_id, creator.username, e.assignee_id, assignee.username, e.version, e.content_version,
                    e.created_at, e.updated_at, e.deleted_at, e.deletion_id, e.purged_at
             from entity e
             join project p on p.id = e.project_id
             join user_account creator on creator.id = e.creator_id
             left join user_account assignee on assignee.id = e.assignee_id
             left join requirement_type t on t.id = e.type_id
             left join entity parent on parent.id = e.parent_id
             left join entity criterion on criterion.id = e.criterion_id ",
            $rest
        )
    };
}

const OWNER: &str =
    "select u.id, u.username, u.role, u.disabled, t.hash, t.expires_at, t.id, t.scopes, t.last_used_at
     from token t join user_account u on u.id = t.user_id where t.hash = ?1";
const BY_REFERENCE: &str = select_entity!(
    "where e.project_id = (select id from project where key = ?1) and e.kind = ?2 and e.number = ?3"
);

/// The column with the id in it.
const ID: usize = 2;

/// What is known before a run.
pub struct Known {
    pub token_hash: String,
    pub user_id: String,
    pub token_id: String,
    pub project_id: String,
    pub type_id: String,
}

impl Known {
    pub fn read(bare: &mut impl Bare) -> anyhow::Result<Known> {
        Ok(Known {
            token_hash: bare.text("select hash from token order by created_at limit 1", &[], 0)?,
            user_id: bare.text("select id from user_account", &[], 0)?,
            token_id: bare.text("select id from token", &[], 0)?,
            project_id: bare.text("select id from project where key = 'DEFAULT'", &[], 0)?,
            type_id: bare.text("select id from requirement_type where name = 'Functional'", &[], 0)?,
        })
    }
}

/// Who is asking: the first thing that every request wants to know.
pub fn authenticate(bare: &mut impl Bare, known: &Known) -> anyhow::Result<()> {
    one(bare.run(OWNER, values![&known.token_hash])?)
}

/// `GET /api/v1/requirements/REQ-…`
pub fn read(bare: &mut impl Bare, known: &Known, number: i64) -> anyhow::Result<()> {
    authenticate(bare, known)?;
    one(bare.run(BY_REFERENCE, values!["DEFAULT", "requirement", number])?)
}

/// `GET /api/v1/user-stories/US-…/requirements`
pub fn list_of_story(bare: &mut impl Bare, known: &Known, story: i64) -> anyhow::Result<usize> {
    authenticate(bare, known)?;
    bare.script("begin")?;
    let id = bare.text(BY_REFERENCE, values!["DEFAULT", "user_story", story], ID)?;
    let page = select_entity!(
        "where e.parent_id = ?1 and e.kind = ?2 and e.deleted_at is null order by e.number limit ?3 offset ?4"
    );
    let found = bare.run(page, values![&id, "requirement", 50_i64, 0_i64])?;
    let count =
        "select count(*) from entity e where e.parent_id = ?1 and e.kind = ?2 and e.deleted_at is null";
    bare.run(count, values![&id, "requirement"])?;
    bare.script("rollback")?;
    Ok(found)
}

/// What a create writes.
pub struct New {
    pub id: String,
    pub revision_id: String,
    /// The number, where it does not come from the counter.
    pub number: Option<i64>,
    pub story: i64,
    pub title: String,
    pub description: String,
    /// What search keeps of it: the terms in their order, and those to be found by.
    pub title_terms: String,
    pub body_terms: String,
    pub postings: String,
    pub now: i64,
}

/// How an engine writes a document for search: the statements, with the same parameters on both.
pub struct Search {
    /// What returns the number of the document, where that is a statement of its own.
    pub document: Option<&'static str>,
    pub index: &'static str,
}

/// The statements of `POST /api/v1/requirements` between `begin` and `commit`.
pub fn create(
    bare: &mut impl Bare,
    known: &Known,
    new: &New,
    change: &'static str,
    search: &Search,
) -> anyhow::Result<()> {
    let story = bare.text(BY_REFERENCE, values!["DEFAULT", "user_story", new.story], ID)?;
    let types = "select id, name, description, version, created_at, updated_at from requirement_type order by created_at, id";
    bare.run(types, &[])?;
    let number = match new.number {
        Some(number) => number,
        None => {
            let next = "insert into counter (project_id, kind, next) values (?1, ?2, 2) on conflict (project_id, kind)
                        do update set next = counter.next + 1 returning cast(next - 1 as text)";
            bare.text(next, values![&known.project_id, "requirement"], 0)?.parse()?
        }
    };
    let status = "select name from status where entity_kind = ?1 and is_initial = 1";
    let status = bare.text(status, values!["requirement"], 0)?;
    let entity = "insert into entity (project_id, id, kind, number, parent_id, parent_kind, criterion_id, title, description,
                      priority, status, type_id, creator_id, assignee_id, version, content_version, created_at, updated_at)
                  values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)";
    bare.run(
        entity,
        values![
            &known.project_id,
            &new.id,
            "requirement",
            number,
            &story,
            "user_story",
            None::<i64>,
            &new.title,
            &new.description,
            2_i64,
            &status,
            &known.type_id,
            &known.user_id,
            &known.user_id,
            1_i64,
            1_i64,
            new.now,
            new.now
        ],
    )?;
    let changes = format!(
        r#"{{"id":[null,"{}"],"title":[null,"{}"],"description":[null,"{}"],"status":[null,"{status}"],"priority":[null,2]}}"#,
        new.id, new.title, new.description
    );
    let revision = "insert into revision (id, project_id, entity_kind, entity_id, version, actor_id, token_id, via, operation,
                        changes, created_at, request_id)
                    values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)";
    bare.run(
        revision,
        values![
            &new.revision_id,
            &known.project_id,
            "requirement",
            &new.id,
            1_i64,
            &known.user_id,
            &known.token_id,
            "rest",
            "create_requirement",
            &changes,
            new.now,
            &new.revision_id
        ],
    )?;
    let reference = format!("REQ-{number:03}");
    bare.run(
        change,
        values![
            &known.project_id,
            "requirement",
            &new.id,
            &reference,
            1_i64,
            "create_requirement",
            &known.user_id,
            new.now
        ],
    )?;
    match search.document {
        Some(document) => {
            let document_values =
                values![&new.id, &new.id, new.now, new.now, 0_i64, &new.title_terms, &new.body_terms];
            let number: i64 = bare.text(document, document_values, 0)?.parse()?;
            bare.run(search.index, values![number, &new.postings, &story, " fsreq", "requirement", &status])?;
        }
        None => {
            let all = values![
                &new.id,
                &new.id,
                new.now,
                new.now,
                0_i64,
                &new.title_terms,
                &new.body_terms,
                &new.postings,
                &story,
                " fsreq",
                "requirement",
                &status
            ];
            bare.run(search.index, all)?;
        }
    }
    Ok(())
}

fn one(n_rows: usize) -> anyhow::Result<()> {
    (n_rows == 1).then_some(()).context("expected one row")
}

//! The coverage of requirements by criteria, or by relationships with other requirements.

use std::io;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::Mode;
use store::entity::{self, Entity, EntityFilter, Lack, Sort};
use store::model::Kind;
use store::project::{Project, Projects};
use store::relationship;
use store::thread::verification;
use store::types::{RelationshipType, Type as _};

use super::Thread;
use crate::context::Cx;
use crate::error::Result;
use crate::exchange::export::{ExportFormat, ExportedFile, write_file};
use crate::input::{Limit, Text};
use crate::operation::{Columns, Command, Effect, Operation, Output, Route, Shape, Tool, command, get, tool};
use crate::page::{Cursor, window};
use crate::project;

/// Show the coverage of a project's requirements, by page: by acceptance criteria, or by
/// relationships with other requirements.
///
/// A requirement is a gap if nothing covers it: it has no criterion, or no relationship.
/// `thread` says how much of it code and tests cite.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetMatrix {
    /// The key or id of the project.
    project: Text<1, 64>,
    /// What requirements are compared with.
    #[serde(default)]
    against: Against,
    /// Only gaps.
    #[serde(default)]
    only_gaps: bool,
    /// How many items to return; default 50.
    limit: Option<Limit>,
    /// Continue after a page: its `next_cursor`.
    cursor: Option<Cursor>,
}

/// What requirements are compared with.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum Against {
    /// The acceptance criteria of their user stories.
    #[default]
    Criteria,
    /// The types of relationships.
    Relations,
}

/// Requirements and what covers them.
#[derive(Serialize, JsonSchema)]
pub struct Matrix {
    /// What requirements are compared with.
    against: Against,
    /// The criteria or types that can cover the requirements of this page.
    columns: Vec<Column>,
    /// The requirements.
    data: Vec<Row>,
    /// The number on all pages.
    total_count: i64,
    /// False if there are more.
    #[serde(skip_serializing_if = "Clone::clone")]
    #[schemars(default)]
    total_count_exact: bool,
    /// The maximal number of items on this page.
    limit: i64,
    /// The start of the next page, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

impl Output for Matrix {}

/// Something that can cover requirements.
#[derive(Serialize, JsonSchema)]
struct Column {
    /// The reference id of a criterion, or the name of a relationship type.
    name: String,
    /// The beginning of the criterion's text, or the type read from the other end.
    title: String,
    /// The user story of the criterion; only its requirements can have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    user_story: Option<String>,
}

/// A requirement.
#[derive(Serialize, JsonSchema)]
struct Row {
    /// The reference id.
    reference_id: String,
    /// The title.
    title: String,
    /// The status.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<String>,
    /// The version.
    version: i64,
    /// Its user story.
    #[serde(skip_serializing_if = "Option::is_none")]
    user_story: Option<String>,
    /// Whether nothing covers it.
    gap: bool,
    /// What covers it.
    covered_by: Vec<Cover>,
    /// How much of it code and tests cite; absent if nothing does.
    #[serde(skip_serializing_if = "Option::is_none")]
    thread: Option<Thread>,
}

/// Something that covers a requirement.
#[derive(Serialize, JsonSchema)]
struct Cover {
    /// The name of the column.
    column: String,
    /// The reference id of the criterion, or of the requirement at the other end.
    reference_id: String,
    /// Whether the relationship leads from the other requirement to this one.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    backwards: bool,
    /// Whether the relationship is suspect.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    suspect: bool,
}

/// The name of the list in its cursors.
const LIST: &str = "matrix";
/// How many criteria or relationships are shown for the requirements of a page.
const COVERS_MAX: i64 = 5_000;

impl Operation for GetMatrix {
    type Output = Matrix;
    const NAME: &'static str = "get_matrix";
    const COMMANDS: &'static [Command] = &[command("matrix show")];
    const ROUTES: &'static [Route] = &[get("/projects/{project}/matrix")];
    const TOOLS: &'static [Tool] =
        &[tool("bulk", r#"{"project": "DEFAULT", "against": "criteria", "only_gaps": true}"#).also(&[
            "matrix",
            "traceability_matrix",
            "get_traceability_matrix",
            "coverage_matrix",
        ])];
    const EFFECT: Effect = Effect::Reads;
    const SHAPE: Option<Shape> = Some(Shape::Page("data", "/total_count"));
    const COLUMNS: &'static [Columns] =
        &[(None, &["reference_id", "title", "status", "user_story", "gap", "covered_by"])];
    const POSITIONAL: &'static [&'static str] = &["project"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Matrix> {
        let project = project::find(cx, &self.project)?;
        let sheet = Sheet { project, against: self.against, only_gaps: self.only_gaps };
        let (limit, _) = window(self.limit, None);
        let after = self.cursor.as_ref().map(|cursor| cursor.place(LIST)).transpose()?;
        let (requirements, next) = sheet.requirements(cx, after, limit)?;
        let total = entity::count(cx.tx, &sheet.filter())?;
        let (columns, data) = sheet.rows(cx, &requirements)?;
        Ok(Matrix {
            against: self.against,
            columns,
            data,
            total_count: total.count,
            total_count_exact: total.is_exact,
            limit,
            next_cursor: next.map(|place| Cursor::at(LIST, &place)),
        })
    }
}

/// Export the coverage of a project's requirements, as CSV for spreadsheets.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExportMatrix {
    /// The key or id of the project.
    project: Text<1, 64>,
    /// What requirements are compared with.
    #[serde(default)]
    against: Against,
    /// Only gaps.
    #[serde(default)]
    only_gaps: bool,
}

/// How many requirements are read at once.
const SLICE: i64 = 500;

impl Operation for ExportMatrix {
    type Output = ExportedFile;
    const NAME: &'static str = "export_matrix";
    const COMMANDS: &'static [Command] = &[command("matrix export")];
    const ROUTES: &'static [Route] = &[get("/projects/{project}/matrix.csv")];
    const EFFECT: Effect = Effect::Reads;
    const SHAPE: Option<Shape> = Some(Shape::File);
    const ANSWERS_FILE: bool = true;
    const MODE: Option<Mode> = Some(Mode::LongSnapshot);
    const IS_UNBOUNDED: bool = true;
    const POSITIONAL: &'static [&'static str] = &["project"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<ExportedFile> {
        let project = project::find(cx, &self.project)?;
        let against = match self.against {
            Against::Criteria => "criteria",
            Against::Relations => "relations",
        };
        let name = format!("{}-matrix-{against}", project.key);
        let sheet = Sheet { project, against: self.against, only_gaps: self.only_gaps };
        write_file(cx, ExportFormat::Csv, &name, |cx, out| sheet.write(cx, out))
    }
}

/// The scope of a matrix.
struct Sheet {
    project: Project,
    against: Against,
    only_gaps: bool,
}

impl Sheet {
    fn filter(&self) -> EntityFilter {
        let lack = match self.against {
            Against::Criteria => Lack::Criterion,
            Against::Relations => Lack::Relationship,
        };
        EntityFilter {
            kind: Some(Kind::Requirement),
            projects: Projects::One(self.project.id.clone()),
            lacks: self.only_gaps.then_some(lack),
            ..EntityFilter::default()
        }
    }

    /// A page of requirements, and the place after it if there are more.
    fn requirements(
        &self,
        cx: &mut Cx<'_, '_>,
        after: Option<entity::Place>,
        limit: i64,
    ) -> Result<(Vec<Entity>, Option<entity::Place>)> {
        let wanted = entity::Page { after, offset: 0, limit: limit + 1 };
        let mut found = entity::list(cx.tx, &self.filter(), Sort::Number, &wanted)?;
        let has_more = found.len() as i64 > limit;
        found.truncate(limit as usize);
        let next = found.last().filter(|_| has_more).map(|last| Sort::Number.place(last));
        Ok((found, next))
    }

    /// The requirements with their coverage, and what could cover them.
    fn rows(&self, cx: &mut Cx<'_, '_>, requirements: &[Entity]) -> Result<(Vec<Column>, Vec<Row>)> {
        let (columns, mut rows) = match self.against {
            Against::Criteria => by_criteria(cx, requirements)?,
            Against::Relations => by_relations(cx, requirements)?,
        };
        let ids: Vec<&str> = requirements.iter().map(|requirement| requirement.id.as_str()).collect();
        let known = verification::of_entities(cx.tx, &ids)?;
        for (row, requirement) in rows.iter_mut().zip(requirements) {
            row.thread = known.get(&requirement.id).map(Thread::from);
        }
        Ok((columns, rows))
    }

    /// Writes all rows as CSV.
    fn write(&self, cx: &mut Cx<'_, '_>, out: &mut dyn io::Write) -> Result<io::Result<()>> {
        let types: Vec<String> = match self.against {
            Against::Criteria => vec!["criterion".to_owned()],
            Against::Relations => RelationshipType::all(cx.tx)?.into_iter().map(|one| one.name).collect(),
        };
        let fixed = ["requirement", "title", "status", "user_story", "gap"].map(str::to_owned);
        let last = ["code", "tests", "verified"].map(str::to_owned);
        let mut lines: Vec<Vec<String>> =
            vec![fixed.into_iter().chain(types.iter().cloned()).chain(last).collect()];
        let mut after = None;
        let mut written = out.write_all(::exchange::CSV_MARK.as_bytes());
        loop {
            let (requirements, next) = self.requirements(cx, after, SLICE)?;
            let (_, rows) = self.rows(cx, &requirements)?;
            lines.extend(rows.into_iter().map(|row| self.line(row, &types)));
            written = written.and_then(|()| ::exchange::write_csv_rows(lines.drain(..), &mut *out));
            after = next;
            if written.is_err() || after.is_none() {
                return Ok(written);
            }
        }
    }

    /// A row as cells; several relationships of one type share a cell.
    fn line(&self, row: Row, types: &[String]) -> Vec<String> {
        let gap = if row.gap { "yes" } else { "" };
        let mut cells = vec![
            row.reference_id,
            row.title,
            row.status.unwrap_or_default(),
            row.user_story.unwrap_or_default(),
            gap.to_owned(),
        ];
        for name in types {
            let fits = |cover: &&Cover| matches!(self.against, Against::Criteria) || cover.column == *name;
            let written = row.covered_by.iter().filter(fits).map(|cover| match cover.backwards {
                true => format!("{} (from there)", cover.reference_id),
                false => cover.reference_id.clone(),
            });
            cells.push(written.collect::<Vec<_>>().join(" "));
        }
        let of_units = |count: fn(&Thread) -> i64| {
            let share = |thread: Thread| format!("{} of {}", count(&thread), thread.units);
            row.thread.map(share).unwrap_or_default()
        };
        let is_verified = row.thread.is_some_and(|thread| thread.verified);
        cells.extend([of_units(|thread| thread.with_code), of_units(|thread| thread.with_tests)]);
        cells.push(if is_verified { "yes" } else { "" }.to_owned());
        cells
    }
}

fn by_criteria(cx: &mut Cx<'_, '_>, requirements: &[Entity]) -> Result<(Vec<Column>, Vec<Row>)> {
    let mut stories: Vec<&str> =
        requirements.iter().filter_map(|requirement| requirement.user_story_id.as_deref()).collect();
    stories.sort_unstable();
    stories.dedup();
    let criteria = entity::criteria_of(cx.tx, &stories, COVERS_MAX)?;
    let story_of = |id: &str| {
        let of = requirements.iter().find(|requirement| requirement.user_story_id.as_deref() == Some(id));
        of.and_then(|requirement| requirement.user_story.clone())
    };
    let columns = criteria.into_iter().map(|criterion| Column {
        user_story: story_of(&criterion.user_story_id),
        name: criterion.reference_id,
        title: criterion.text,
    });
    let rows = requirements.iter().map(|requirement| {
        let served = requirement.acceptance_criteria.clone();
        let covered_by = served.map(|criterion| Cover {
            column: criterion.clone(),
            reference_id: criterion,
            backwards: false,
            suspect: false,
        });
        row(requirement, covered_by.into_iter().collect())
    });
    Ok((columns.collect(), rows.collect()))
}

fn by_relations(cx: &mut Cx<'_, '_>, requirements: &[Entity]) -> Result<(Vec<Column>, Vec<Row>)> {
    let ids: Vec<&str> = requirements.iter().map(|requirement| requirement.id.as_str()).collect();
    let links = relationship::of_many(cx.tx, &ids, COVERS_MAX)?;
    let columns = RelationshipType::all(cx.tx)?.into_iter().map(|one| Column {
        name: one.name,
        title: one.inverse_name,
        user_story: None,
    });
    let rows = requirements.iter().map(|requirement| {
        let own =
            links.iter().filter(|link| link.source_id == requirement.id || link.target_id == requirement.id);
        let covered_by = own.map(|link| {
            let backwards = link.target_id == requirement.id;
            Cover {
                column: link.type_name.clone(),
                reference_id: if backwards { link.source.clone() } else { link.target.clone() },
                backwards,
                suspect: link.suspect,
            }
        });
        row(requirement, covered_by.collect())
    });
    Ok((columns.collect(), rows.collect()))
}

fn row(requirement: &Entity, covered_by: Vec<Cover>) -> Row {
    Row {
        reference_id: requirement.reference_id.clone(),
        title: requirement.label().to_owned(),
        status: requirement.status.clone(),
        version: requirement.version,
        user_story: requirement.user_story.clone(),
        gap: covered_by.is_empty(),
        covered_by,
        thread: None,
    }
}

//! How the work grew and how much of it was done, week by week.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::model::Kind;
use store::project::Projects;
use store::report;

use crate::context::Cx;
use crate::error::{Error, Result};
use crate::input::{KindName, Number, Text};
use crate::operation::{Columns, Command, Effect, Operation, Output, Route, Shape, command, get};

/// Count how many user stories existed at the end of each of the last weeks, and how many of them were done.
///
/// Weeks begin on Monday, in UTC; the last one is the current week. Cancelled and obsolete work does not count. Deleted work counts
/// until its deletion. Work that was done before the store counted weeks counts as done since its last change.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetBurnUp {
    /// The key or id of a project; default: all.
    project: Option<Text<1, 64>>,
    /// The kind: `epic`, `user_story` or `requirement`; default: user stories.
    kind: Option<KindName>,
    /// How many weeks; default 12.
    weeks: Option<Number<1, 104>>,
}

/// The numbers, week by week.
#[derive(Serialize, JsonSchema)]
pub struct BurnUp {
    /// The key of the project.
    #[serde(skip_serializing_if = "Option::is_none")]
    project: Option<String>,
    /// The kind.
    kind: Kind,
    /// The weeks, the current one last.
    data: Vec<Week>,
}

/// A week.
#[derive(Serialize, JsonSchema)]
struct Week {
    /// Its Monday, such as `2026-11-16`.
    week: String,
    /// The number at its end.
    total: i64,
    /// How many of them were done.
    done: i64,
}

impl Output for BurnUp {}

/// The default number of weeks.
const WEEKS: i64 = 12;

impl Operation for GetBurnUp {
    type Output = BurnUp;
    const NAME: &'static str = "burn_up_report";
    const COMMANDS: &'static [Command] = &[command("report burn-up")];
    const ROUTES: &'static [Route] = &[get("/reports/burn-up")];
    const EFFECT: Effect = Effect::Reads;
    const SHAPE: Option<Shape> = Some(Shape::Page("data", ""));
    const COLUMNS: &'static [Columns] = &[(None, &["week", "total", "done"])];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<BurnUp> {
        let kind = self.kind.map_or(Kind::UserStory, |kind| kind.0);
        if !kind.has_status() {
            let kinds = Kind::ALL.into_iter().filter(|kind| kind.has_status()).map(Kind::name);
            return Err(Error::not_allowed("kind", kind.name(), kinds));
        }
        let project =
            self.project.as_ref().map(|name| cx.project("project", Some(name.as_str()))).transpose()?;
        let projects = match &project {
            Some(project) => Projects::One(project.id.clone()),
            None => cx.projects("project", None)?,
        };
        let weeks = self.weeks.map_or(WEEKS, |weeks| weeks.0);
        let found = report::burn_up(cx.tx, &projects, kind, cx.now(), weeks)?;
        let data = found.into_iter().map(|week| Week {
            week: week.from.to_string().get(..10).unwrap_or_default().to_owned(),
            total: week.total,
            done: week.done,
        });
        Ok(BurnUp { project: project.map(|project| project.key), kind, data: data.collect() })
    }
}

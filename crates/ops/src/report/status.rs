//! Progress by status.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::model::Kind;
use store::report::{self, DoneOverDrafts, Grouping, UnderWay};
use store::status::StatusOutcome;
use store::thread::verification;

use super::about;
use crate::context::Cx;
use crate::error::Result;
use crate::input::{Id, Text};
use crate::operation::{Command, Effect, Operation, Output, Route, Tool, command, get, tool};

/// Count epics, user stories and requirements by status, priority, type or assignee, and list exceptional cases.
///
/// A final status means that the work is done, cancelled or obsolete, as its status model says. Percentages are of what is
/// neither cancelled nor obsolete. For requirements and criteria the report also counts how many are cited by code or tests,
/// and how many
/// are verified: closed by evidence.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetStatusReport {
    /// Only this epic and everything below it.
    epic_id: Option<Id>,
    /// Only this project: a key or an id.
    project: Option<Text<1, 64>>,
    /// The grouping.
    #[serde(default)]
    group_by: GroupBy,
}

/// The grouping.
#[derive(Clone, Copy, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum GroupBy {
    /// The status.
    #[default]
    Status,
    /// The priority.
    Priority,
    /// The type, which only requirements have.
    Type,
    /// Who works on it.
    Assignee,
}

/// The progress of the work.
#[derive(Serialize, JsonSchema)]
pub struct StatusReport {
    /// The reference id of the epic, if only one was counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    epic: Option<String>,
    /// The key of the project, if only one was counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    project: Option<String>,
    /// The grouping.
    group_by: GroupBy,
    /// The total number of entities.
    total: i64,
    /// The counts of each kind.
    kinds: Vec<KindReport>,
    /// Epics and stories in progress, the longest unchanged first.
    oldest_in_progress: Vec<UnderWay>,
    /// User stories that are done although some of their requirements have the initial status.
    stories_done_over_drafts: TooEarly,
}

impl Output for StatusReport {}

/// The counts of a kind.
#[derive(Serialize, JsonSchema)]
struct KindReport {
    /// The kind.
    kind: Kind,
    /// How many there are.
    total: i64,
    /// How many have the initial status.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_begun: Option<i64>,
    /// How many are done.
    #[serde(skip_serializing_if = "Option::is_none")]
    done: Option<i64>,
    /// How many were cancelled.
    #[serde(skip_serializing_if = "Option::is_none")]
    cancelled: Option<i64>,
    /// How many are obsolete.
    #[serde(skip_serializing_if = "Option::is_none")]
    obsolete: Option<i64>,
    /// The percentage that is done, of those that are neither cancelled nor obsolete, rounded down.
    #[serde(skip_serializing_if = "Option::is_none")]
    done_percent: Option<i64>,
    /// How many code or tests cite.
    #[serde(skip_serializing_if = "Option::is_none")]
    cited: Option<i64>,
    /// How many are closed by evidence.
    #[serde(skip_serializing_if = "Option::is_none")]
    verified: Option<i64>,
    /// The percentage closed by evidence, of those that are neither cancelled nor obsolete, rounded down.
    #[serde(skip_serializing_if = "Option::is_none")]
    verified_percent: Option<i64>,
    /// How many are unassigned.
    #[serde(skip_serializing_if = "Option::is_none")]
    unassigned: Option<i64>,
    /// The groups; the 100 largest if there are more.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    groups: Vec<GroupCount>,
    /// How many are in groups that are not shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    others: Option<i64>,
}

/// User stories that are done although some of their requirements have the initial status.
#[derive(Serialize, JsonSchema)]
struct TooEarly {
    /// How many there are.
    total_count: i64,
    /// False if there are more.
    #[serde(skip_serializing_if = "Clone::clone")]
    #[schemars(default)]
    total_count_exact: bool,
    /// The first of them.
    data: Vec<DoneOverDrafts>,
}

/// How many are in a group.
#[derive(Serialize, JsonSchema)]
struct GroupCount {
    /// The group; null for what is given to nobody.
    name: Option<String>,
    /// How many.
    count: i64,
}

/// How many groups of a kind are shown.
const GROUPS_MAX: i64 = 100;
/// How many epics and stories in progress are shown.
const OLDEST_MAX: i64 = 5;
/// How many stories that are done over drafts are shown.
const TOO_EARLY_MAX: i64 = 20;
/// The kinds that a report counts, in its order.
const KINDS: [Kind; 4] = [Kind::Epic, Kind::UserStory, Kind::AcceptanceCriteria, Kind::Requirement];

impl Operation for GetStatusReport {
    type Output = StatusReport;
    const NAME: &'static str = "status_report";
    const COMMANDS: &'static [Command] = &[command("report status")];
    const ROUTES: &'static [Route] = &[get("/reports/status")];
    const TOOLS: &'static [Tool] =
        &[tool("requirements", r#"{"epic_id": "EP-001", "group_by": "priority"}"#)
            .also(&[
                "status",
                "report",
                "get_status_report",
                "project_status",
                "get_report",
                "progress_report",
            ])
            .daily(&["epic_id", "group_by"])
            .about("Report progress: counts by status or by group_by, and exceptional cases.")
            .showing(&["epic_id", "group_by"])];
    const EFFECT: Effect = Effect::Reads;

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<StatusReport> {
        let about = about(cx, self.epic_id.as_ref(), self.project.as_ref())?;
        let by = match self.group_by {
            GroupBy::Status => Grouping::Status,
            GroupBy::Priority => Grouping::Priority,
            GroupBy::Type => Grouping::Type,
            GroupBy::Assignee => Grouping::Assignee,
        };
        let summaries = report::summaries(cx.tx, &about.scope)?;
        let groups = report::groups(cx.tx, &about.scope, by, GROUPS_MAX)?;
        let mut kinds = Vec::with_capacity(KINDS.len());
        for kind in KINDS {
            let groups = groups.iter().filter(|group| group.kind == kind);
            let mut counted = kind_report(kind, summaries.iter().find(|found| found.kind == kind), groups);
            if matches!(kind, Kind::Requirement | Kind::AcceptanceCriteria) {
                counted.verify(&verification::count(cx.tx, &about.scope, kind)?);
            }
            kinds.push(counted);
        }
        let (data, total) = report::done_over_drafts(cx.tx, &about.scope, TOO_EARLY_MAX)?;
        Ok(StatusReport {
            epic: about.epic,
            project: about.project,
            group_by: self.group_by,
            total: kinds.iter().map(|kind| kind.total).sum(),
            kinds,
            oldest_in_progress: report::oldest_under_way(cx.tx, &about.scope, OLDEST_MAX)?,
            stories_done_over_drafts: TooEarly {
                total_count: total.count,
                total_count_exact: total.is_exact,
                data,
            },
        })
    }
}

impl KindReport {
    fn verify(&mut self, counts: &verification::Counts) {
        let wanted = self.total - self.cancelled.unwrap_or_default() - self.obsolete.unwrap_or_default();
        self.cited = Some(counts.n_cited);
        self.verified = Some(counts.n_verified);
        self.verified_percent = (wanted > 0).then(|| counts.n_verified * 100 / wanted);
    }
}

fn kind_report<'a>(
    kind: Kind,
    summary: Option<&report::Summary>,
    groups: impl Iterator<Item = &'a report::Group>,
) -> KindReport {
    let groups: Vec<GroupCount> =
        groups.map(|group| GroupCount { name: group.name.clone(), count: group.count }).collect();
    let total = summary.map_or(0, |summary| summary.total);
    let shown: i64 = groups.iter().map(|group| group.count).sum();
    let [done, cancelled, obsolete] =
        StatusOutcome::ALL.map(|outcome| summary.map_or(0, |summary| summary.ended_as(outcome)));
    let wanted = total - cancelled - obsolete;
    let of_status = |number: i64| kind.has_status().then_some(number);
    KindReport {
        kind,
        total,
        not_begun: of_status(summary.map_or(0, |summary| summary.not_begun)),
        done: of_status(done),
        cancelled: of_status(cancelled),
        obsolete: of_status(obsolete),
        done_percent: of_status(done).filter(|_| wanted > 0).map(|done| done * 100 / wanted),
        cited: None,
        verified: None,
        verified_percent: None,
        unassigned: of_status(summary.map_or(0, |summary| summary.unassigned)),
        others: (shown > 0 && shown < total).then_some(total - shown),
        groups,
    }
}

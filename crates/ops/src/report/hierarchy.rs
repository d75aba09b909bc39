//! The tree in numbers, and its gaps.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::model::Kind;
use store::report::{self, Counts, Gap, Mention};
use store::thread::verification;

use super::about;
use crate::context::Cx;
use crate::error::Result;
use crate::input::{Id, Limit, Offset, Text};
use crate::operation::{Command, Effect, Operation, Output, Route, Shape, Tool, command, get, tool};
use crate::page::window;

/// Show the tree of epics and user stories with numbers, and its gaps.
///
/// Gaps are epics without stories, stories without criteria or requirements, criteria without requirements, and
/// requirements without a criterion. Each list shows the first 50 and the total. `n_cited` and `n_verified`
/// count the requirements and criteria that are cited by code or tests, and those that are closed by evidence.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AnalyzeHierarchy {
    /// Only this epic and everything below it.
    epic_id: Option<Id>,
    /// Only this project: a key or an id.
    project: Option<Text<1, 64>>,
    /// How many epics the tree shows; default 50.
    limit: Option<Limit>,
    /// How many epics the tree skips.
    offset: Option<Offset>,
}

/// The tree in numbers, and its gaps.
#[derive(Serialize, JsonSchema)]
pub struct HierarchyAnalysis {
    /// The totals.
    totals: Counts,
    /// The epics, with their stories.
    epics: Vec<EpicNode>,
    /// How many requirements and criteria code or tests cite.
    n_cited: i64,
    /// How many of them are closed by evidence.
    n_verified: i64,
    /// Whether stories were left out of the tree because there are too many.
    truncated: bool,
    /// Epics without user stories.
    epics_without_stories: Missing,
    /// User stories without acceptance criteria.
    stories_without_criteria: Missing,
    /// User stories without requirements.
    stories_without_requirements: Missing,
    /// Acceptance criteria without requirements.
    criteria_without_requirements: Missing,
    /// Requirements without an acceptance criterion.
    requirements_without_criterion: Missing,
}

impl Output for HierarchyAnalysis {}

/// An epic with the numbers below it.
#[derive(Serialize, JsonSchema)]
struct EpicNode {
    /// The reference id.
    reference_id: String,
    /// The title.
    title: String,
    /// The status.
    status: Option<String>,
    /// How many user stories it has.
    n_user_stories: i64,
    /// How many acceptance criteria those have.
    n_acceptance_criteria: i64,
    /// How many requirements those have.
    n_requirements: i64,
    /// How many requirements and criteria code or tests cite, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    n_cited: Option<i64>,
    /// How many of them are closed by evidence.
    #[serde(skip_serializing_if = "Option::is_none")]
    n_verified: Option<i64>,
    /// The user stories.
    user_stories: Vec<StoryNode>,
}

/// A user story with the numbers below it.
#[derive(Serialize, JsonSchema)]
struct StoryNode {
    /// The reference id.
    reference_id: String,
    /// The title.
    title: String,
    /// The status.
    status: Option<String>,
    /// How many acceptance criteria it has.
    n_acceptance_criteria: i64,
    /// How many requirements it has.
    n_requirements: i64,
    /// How many requirements and criteria code or tests cite, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    n_cited: Option<i64>,
    /// How many of them are closed by evidence.
    #[serde(skip_serializing_if = "Option::is_none")]
    n_verified: Option<i64>,
}

/// A list of gaps.
#[derive(Serialize, JsonSchema)]
struct Missing {
    /// How many there are.
    total_count: i64,
    /// False if there are more.
    #[serde(skip_serializing_if = "Clone::clone")]
    #[schemars(default)]
    total_count_exact: bool,
    /// The first of them.
    data: Vec<Mention>,
}

/// How many user stories a tree shows.
const STORIES_MAX: i64 = 1_000;
/// How many entities a list of gaps shows.
const MISSING_MAX: i64 = 50;

impl Operation for AnalyzeHierarchy {
    type Output = HierarchyAnalysis;
    const NAME: &'static str = "hierarchy_analysis";
    const COMMANDS: &'static [Command] = &[command("report hierarchy")];
    const ROUTES: &'static [Route] = &[get("/reports/hierarchy")];
    const TOOLS: &'static [Tool] = &[tool("requirements", r#"{"epic_id": "EP-001"}"#)
        .also(&["hierarchy", "get_hierarchy", "analyze_hierarchy", "tree", "get_tree"])
        .daily(&["epic_id", "cursor"])
        .about("Show the tree of epics and stories with its gaps.")
        .showing(&["epic_id", "limit"])];
    const EFFECT: Effect = Effect::Reads;
    const SHAPE: Option<Shape> = Some(Shape::Page("epics", "/totals/epics"));

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<HierarchyAnalysis> {
        let scope = about(cx, self.epic_id.as_ref(), self.project.as_ref())?.scope;
        let (limit, offset) = window(self.limit, self.offset);
        let epics = report::epics(cx.tx, &scope, limit, offset)?;
        let mut stories = report::stories(cx.tx, &scope, limit, offset, STORIES_MAX + 1)?;
        let truncated = stories.len() as i64 > STORIES_MAX;
        stories.truncate(STORIES_MAX as usize);
        let verified = report::verified_stories(cx.tx, &scope, limit, offset)?;
        let (mut n_cited, mut n_verified) = (0, 0);
        for kind in [Kind::Requirement, Kind::AcceptanceCriteria] {
            let counts = verification::count(cx.tx, &scope, kind)?;
            (n_cited, n_verified) = (n_cited + counts.n_cited, n_verified + counts.n_verified);
        }
        let mut missing = |gap| -> Result<Missing> {
            let (data, total) = report::gap(cx.tx, &scope, gap, MISSING_MAX)?;
            Ok(Missing { total_count: total.count, total_count_exact: total.is_exact, data })
        };
        Ok(HierarchyAnalysis {
            epics: epics.into_iter().map(|epic| node(epic, &stories, &verified)).collect(),
            n_cited,
            n_verified,
            truncated,
            epics_without_stories: missing(Gap::EpicWithoutStories)?,
            stories_without_criteria: missing(Gap::StoryWithoutCriteria)?,
            stories_without_requirements: missing(Gap::StoryWithoutRequirements)?,
            criteria_without_requirements: missing(Gap::CriterionWithoutRequirements)?,
            requirements_without_criterion: missing(Gap::RequirementWithoutCriterion)?,
            totals: report::counts(cx.tx, &scope)?,
        })
    }
}

fn node(
    epic: report::EpicCounts,
    stories: &[report::StoryCounts],
    verified: &[report::StoryVerification],
) -> EpicNode {
    let of_epic = || verified.iter().filter(|story| story.epic_id == epic.id);
    let Mention { reference_id, title, status, .. } = epic.epic;
    let (n_cited, n_verified) = match of_epic().next() {
        Some(_) => (
            Some(of_epic().map(|story| story.n_cited).sum()),
            Some(of_epic().map(|story| story.n_verified).sum()),
        ),
        None => (None, None),
    };
    let of_story = |id: &str| of_epic().find(|story| story.id == id);
    let user_stories = stories.iter().filter(|story| story.epic_id == epic.id).map(|found| StoryNode {
        reference_id: found.story.reference_id.clone(),
        title: found.story.title.clone(),
        status: found.story.status.clone(),
        n_acceptance_criteria: found.acceptance_criteria,
        n_requirements: found.requirements,
        n_cited: of_story(&found.id).map(|story| story.n_cited),
        n_verified: of_story(&found.id).map(|story| story.n_verified),
    });
    EpicNode {
        reference_id,
        title,
        status,
        n_user_stories: epic.user_stories,
        n_acceptance_criteria: epic.acceptance_criteria,
        n_requirements: epic.requirements,
        n_cited,
        n_verified,
        user_stories: user_stories.collect(),
    }
}

//! Decisions about threats, and the criteria that they create.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use store::Mode;
use store::entity::Entity;
use store::model::{Kind, Reference, Time};
use store::thread::text;
use store::thread::threat::{self, Decision, ThreatLink};

use super::ThreatPattern;
use super::state::{self, ItemThreat};
use crate::context::{Cx, Subject, overtaken};
use crate::entity::{add, blank};
use crate::error::{Error, Result};
use crate::input::{CriterionText, Id, Moment, Text};
use crate::operation::{Command, Effect, Operation, Output, Route, Tool, command, post, tool};
use crate::thread::judge;

/// How many criteria one decision may create.
const CRITERIA_MAX: usize = 20;
/// How far ahead a risk may be accepted.
const REVIEW_DAYS_MAX: i64 = 5 * 366;
const DAY_S: i64 = 86_400;

/// Decide about a threat to a requirement or a user story: it applies, it does not, or its risk is accepted until a date.
///
/// When it applies for the first time, acceptance criteria are created from the pattern's checks, or from your own texts in
/// `criteria`; cite and test them like any other: evidence closes a threat, not a decision. `dry_run` shows them first.
/// Existing criteria of
/// the story against the same pattern are used instead of new ones.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DecideThreat {
    /// The requirement or the user story, such as `REQ-012`.
    reference: Id,
    /// The id of the pattern, such as `TMKB-AUTHZ-001`.
    pattern: Text<1, 200>,
    /// The decision.
    decision: Decided,
    /// The reason. Required unless it applies.
    reason: Option<Text<1, 5_000>>,
    /// The last day on which the risk is accepted; afterwards the threat is open again.
    review_by: Option<Moment>,
    /// Who is responsible for an accepted risk: a user's id or name; default: you.
    owner: Option<Text<1, 100>>,
    /// The criteria to create instead of the pattern's checks.
    criteria: Option<Vec<EditedCriterion>>,
    /// Only return the decision and the criteria, without storing them.
    #[serde(default)]
    dry_run: bool,
}

/// The decision about a threat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum Decided {
    /// It applies: criteria against it are created.
    Applies,
    /// It does not apply.
    NotApplicable,
    /// It applies, but the risk is accepted until a date.
    RiskAccepted,
}

/// A criterion to create.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
struct EditedCriterion {
    /// The text of the criterion.
    description: CriterionText,
}

/// The result of a decision, or its preview.
#[derive(Serialize, JsonSchema)]
pub struct ThreatDecision {
    /// The threatened requirement or user story.
    reference_id: String,
    /// The state of the threat.
    #[serde(flatten)]
    threat: ItemThreat,
    /// The criteria that this decision has created, or would create.
    made: Vec<MadeCriterion>,
    /// Whether it was a dry run.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    dry_run: bool,
    /// Notes for the reader.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

impl Output for ThreatDecision {}

/// A created criterion, or its preview.
#[derive(Serialize, JsonSchema)]
struct MadeCriterion {
    /// Its reference id, once it is created.
    #[serde(skip_serializing_if = "Option::is_none")]
    reference_id: Option<String>,
    /// The text of the criterion.
    description: String,
}

impl Operation for DecideThreat {
    type Output = ThreatDecision;
    const NAME: &'static str = "decide_threat";
    const COMMANDS: &'static [Command] = &[command("threat decide")];
    const ROUTES: &'static [Route] = &[post("/threats/{reference}/{pattern}")];
    const TOOLS: &'static [Tool] = &[tool(
        "thread",
        r#"{"reference": "REQ-001", "pattern": "TMKB-AUTHZ-001", "decision": "applies", "dry_run": true}"#,
    )
    .also(&["dismiss_threat", "accept_risk", "close_threat"])];
    const EFFECT: Effect = Effect::Writes;
    const POSITIONAL: &'static [&'static str] = &["reference", "pattern", "decision"];
    const LOOKS_BESIDE: bool = true;

    fn mode(&self) -> Option<Mode> {
        self.dry_run.then_some(Mode::Snapshot)
    }

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<ThreatDecision> {
        let entity = cx.live_entity("reference", &self.reference)?;
        let story_id = story_of(&entity)?;
        let library = cx.threat_library()?;
        let pattern = library.pattern(self.pattern.as_str()).map_err(|unknown| unknown.about("pattern"))?;
        let bearer = self.checked(cx)?;
        if !self.dry_run {
            threat::lock(cx.tx, &story_id)?;
        }
        let texts = text::of_ids(cx.tx, &[&entity.id])?;
        let mut signs = Vec::new();
        for text in &texts {
            let proposals = state::proposed(Some(&*library), text)?;
            let fitting = proposals.into_iter().find(|proposal| proposal.pattern.id == pattern.id);
            signs = fitting.map(|proposal| proposal.signs).unwrap_or_default();
        }
        let before = threat::find(cx.tx, &entity.id, &pattern.id)?;
        let caller = cx.caller()?;
        let link = ThreatLink {
            id: before.as_ref().map_or_else(|| cx.new_id(), |before| before.id.clone()),
            project_id: entity.project_id.clone(),
            entity_id: entity.id.clone(),
            pattern: pattern.id.clone(),
            pattern_version: pattern.version.clone(),
            name: pattern.name.clone(),
            severity: pattern.severity.clone(),
            decision: self.decision.stored(),
            reason: self.reason.as_ref().map(String::from),
            signs,
            review_by: bearer.as_ref().map(|bearer| bearer.review_by),
            owner_id: bearer.as_ref().map(|bearer| bearer.user_id.clone()),
            owner: bearer.map(|bearer| bearer.username),
            content_version: entity.content_version,
            actor_id: caller.user_id.clone(),
            actor: caller.username.clone(),
            version: before.as_ref().map_or(1, |before| before.version + 1),
            created_at: before.as_ref().map_or(cx.now(), |before| before.created_at),
            updated_at: cx.now(),
        };
        let known = match &before {
            Some(before) => threat::criteria_of(cx.tx, &[&before.id])?,
            None => Vec::new(),
        };
        let plan = self.planned(cx, &story_id, &pattern, known.len())?;
        if self.dry_run {
            return Ok(self.previewed(entity.reference_id, &link, &plan));
        }
        match &before {
            None => threat::insert(cx.tx, &link)?,
            Some(_) if threat::update(cx.tx, &link)? => {}
            Some(_) => {
                return Err(overtaken(&format!(
                    "the decision about {} and {}",
                    link.pattern, entity.reference_id
                )));
            }
        }
        for criterion_id in &plan.shared {
            threat::add_criterion(cx.tx, &link.id, criterion_id, cx.now())?;
        }
        let made = make(cx, &story_id, &entity, &link, &plan.texts)?;
        record(cx, &entity, before.as_ref(), &link)?;

        let heads = judge::heads(cx, &entity.project_id, None)?;
        let threats = state::of_texts(cx, &heads, &texts)?.concat();
        let threat = threats.into_iter().find(|threat| threat.pattern == link.pattern);
        let threat = threat.ok_or_else(|| Error::not_found("threat", &link.pattern))?;
        let n_known = known.len();
        let stays = self.decision != Decided::Applies && n_known > 0;
        let note = stays.then(|| "its criteria stay; delete them if they are not needed".to_owned());
        Ok(ThreatDecision {
            reference_id: entity.reference_id,
            threat,
            made,
            dry_run: false,
            note: note.or(plan.note),
        })
    }
}

impl Decided {
    fn stored(self) -> Decision {
        match self {
            Decided::Applies => Decision::Applies,
            Decided::NotApplicable => Decision::NotApplicable,
            Decided::RiskAccepted => Decision::RiskAccepted,
        }
    }
}

/// The owner of an accepted risk, and its date.
struct Bearer {
    user_id: String,
    username: String,
    review_by: Time,
}

/// The criteria of a decision.
#[derive(Default)]
struct Plan {
    /// The texts of new ones.
    texts: Vec<String>,
    /// The ids of existing ones.
    shared: Vec<String>,
    note: Option<String>,
}

impl DecideThreat {
    /// Validates a decision. Returns the owner of an accepted risk.
    fn checked(&self, cx: &mut Cx<'_, '_>) -> Result<Option<Bearer>> {
        if self.decision != Decided::Applies && self.reason.is_none() {
            return Err(Error::field("reason", "is missing: say why, for those who ask later"));
        }
        if self.decision != Decided::Applies && self.criteria.is_some() {
            return Err(Error::field("criteria", "are only made where the decision is applies"));
        }
        if self.decision != Decided::RiskAccepted {
            if self.review_by.is_some() {
                return Err(Error::field("review_by", "is only for the decision risk_accepted"));
            }
            if self.owner.is_some() {
                return Err(Error::field("owner", "is only for the decision risk_accepted"));
            }
            return Ok(None);
        }
        let Some(review_by) = self.review_by.map(Moment::last) else {
            return Err(Error::field(
                "review_by",
                "is missing: a risk is accepted until a day, such as 2027-06-30",
            ));
        };
        if review_by <= cx.now() {
            return Err(Error::field(
                "review_by",
                format!("expected a day that is to come, found {review_by}"),
            ));
        }
        if review_by > cx.now().plus_seconds(REVIEW_DAYS_MAX * DAY_S) {
            return Err(Error::field("review_by", "expected a day within the next five years"));
        }
        let (user_id, username) = match &self.owner {
            Some(who) => cx.assignee("owner", who.as_str())?,
            None => {
                let caller = cx.caller()?;
                (caller.user_id.clone(), caller.username.clone())
            }
        };
        Ok(Some(Bearer { user_id, username, review_by }))
    }

    /// Determines the criteria to create: none if the threat has some, and existing ones of the story before new ones.
    fn planned(
        &self,
        cx: &mut Cx<'_, '_>,
        story_id: &str,
        pattern: &ThreatPattern,
        n_known: usize,
    ) -> Result<Plan> {
        if self.decision != Decided::Applies {
            return Ok(Plan::default());
        }
        if n_known > 0 {
            if self.criteria.is_some() {
                let message = "were made already; edit those that there are, or add one to the story";
                return Err(Error::field("criteria", message));
            }
            return Ok(Plan::default());
        }
        if let Some(edited) = &self.criteria {
            if edited.is_empty() || edited.len() > CRITERIA_MAX {
                let message = format!("expected 1 to {CRITERIA_MAX} criteria, found {}", edited.len());
                return Err(Error::field("criteria", message));
            }
            let texts = edited.iter().map(|edited| (&edited.description).into()).collect();
            return Ok(Plan { texts, ..Plan::default() });
        }
        let shared = threat::criteria_in_story(cx.tx, story_id, &pattern.id)?;
        if !shared.is_empty() {
            let note =
                Some("the user story has criteria against it already, which count here too".to_owned());
            return Ok(Plan { shared, note, ..Plan::default() });
        }
        let mut texts = pattern.criteria();
        if texts.is_empty() {
            let message = format!("{} says nothing to check; expected criteria of your own", pattern.id);
            return Err(Error::field("criteria", message));
        }
        texts.truncate(CRITERIA_MAX);
        Ok(Plan { texts, ..Plan::default() })
    }

    /// Previews the decision.
    fn previewed(&self, reference_id: String, link: &ThreatLink, plan: &Plan) -> ThreatDecision {
        let made =
            plan.texts.iter().map(|text| MadeCriterion { reference_id: None, description: text.clone() });
        ThreatDecision {
            reference_id,
            threat: ItemThreat::decided(link),
            made: made.collect(),
            dry_run: true,
            note: plan.note.clone(),
        }
    }
}

/// The story for the criteria against a threat.
fn story_of(entity: &Entity) -> Result<String> {
    let story_id = match entity.kind {
        Kind::UserStory => Some(entity.id.clone()),
        Kind::Requirement => entity.user_story_id.clone(),
        _ => None,
    };
    story_id.ok_or_else(|| {
        let hint = match (entity.kind, &entity.user_story) {
            (Kind::AcceptanceCriteria, Some(story)) => format!("; decide for {story} or its requirements"),
            (Kind::Epic, _) => "; decide for its user stories and requirements".to_owned(),
            _ => String::new(),
        };
        let message = format!(
            "expected a requirement or a user story, and {} is {}{hint}",
            entity.reference_id,
            entity.kind.with_article()
        );
        Error::field("reference", message)
    })
}

/// Creates criteria of the story.
fn make(
    cx: &mut Cx<'_, '_>,
    story_id: &str,
    entity: &Entity,
    link: &ThreatLink,
    texts: &[String],
) -> Result<Vec<MadeCriterion>> {
    if texts.is_empty() {
        return Ok(Vec::new());
    }
    let story = cx.entity("reference", &Id(Reference::Id(story_id.to_owned())), Kind::UserStory)?;
    let mut made = Vec::with_capacity(texts.len());
    for text in texts {
        let project = (story.project_id.as_str(), story.project.as_str());
        let mut criterion = blank(cx, Kind::AcceptanceCriteria, project, Some(&story))?;
        criterion.description = Some(text.clone());
        criterion.rationale =
            Some(format!("Against the threat {} to {}: {}.", link.pattern, entity.reference_id, link.name));
        let criterion = add(cx, criterion)?;
        threat::add_criterion(cx.tx, &link.id, &criterion.id, cx.now())?;
        made.push(MadeCriterion { reference_id: Some(criterion.reference_id), description: text.clone() });
    }
    Ok(made)
}

/// Records the decision in the history of the threatened entity.
fn record(
    cx: &mut Cx<'_, '_>,
    entity: &Entity,
    before: Option<&ThreatLink>,
    after: &ThreatLink,
) -> Result<()> {
    let told = |link: &ThreatLink| -> Value {
        json!({"threat": {
            "pattern": link.pattern, "decision": link.decision.name(), "reason": link.reason, "owner": link.owner,
            "review_by": link.review_by,
        }})
    };
    let subject = Subject {
        project_id: Some(&entity.project_id),
        kind: entity.kind.name(),
        id: &entity.id,
        reference_id: Some(&entity.reference_id),
        version: entity.version,
    };
    cx.record(&subject, before.map(told).as_ref(), Some(&told(after)))
}

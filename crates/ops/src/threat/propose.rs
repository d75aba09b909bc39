//! Proposes the threat patterns that fit a text.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::model::Kind;
use store::thread::text;

use super::ThreatPattern;
use super::state::{self, ItemThreat};
use crate::context::Cx;
use crate::error::{Error, Result};
use crate::input::Id;
use crate::operation::{Columns, Command, Effect, Operation, Output, Route, Shape, Tool, command, get, tool};
use crate::thread::judge;

/// Propose the threat patterns that fit a requirement or a user story, best first and with reasons, and the state of each threat:
/// open, applies, closed by evidence, dismissed, or accepted until a date.
///
/// `checks` are the criteria that `decide_threat` creates if it applies. If no pattern fits the text, `note` says what the
/// library covers.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProposeThreats {
    /// The requirement or the user story, such as `REQ-012`; for an epic or a criterion patterns are only proposed.
    reference: Id,
}

/// The threats to an entity.
#[derive(Serialize, JsonSchema)]
pub struct ProposedThreats {
    /// The threatened entity.
    reference_id: String,
    /// Its title, or its text.
    title: String,
    /// The threats, the best match first.
    data: Vec<ProposedThreat>,
    /// Notes for the reader.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    /// What the library covers.
    library: String,
}

impl Output for ProposedThreats {}

/// A threat, and its pattern.
#[derive(Serialize, JsonSchema)]
struct ProposedThreat {
    #[serde(flatten)]
    threat: ItemThreat,
    /// The threat.
    #[serde(skip_serializing_if = "Option::is_none")]
    says: Option<PatternSays>,
    /// The criteria that would be created if it applies.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    checks: Vec<String>,
}

/// A pattern in three sentences.
#[derive(Serialize, JsonSchema)]
struct PatternSays {
    /// The threat.
    threat: String,
    /// The check.
    check: String,
    /// The fix.
    fix: String,
}

impl Operation for ProposeThreats {
    type Output = ProposedThreats;
    const NAME: &'static str = "propose_threats";
    const COMMANDS: &'static [Command] = &[command("threat propose")];
    const ROUTES: &'static [Route] = &[get("/threats/{reference}")];
    const TOOLS: &'static [Tool] = &[tool("thread", r#"{"reference": "REQ-001"}"#).also(&[
        "threats",
        "get_threats",
        "find_threats",
        "threat_model",
    ])];
    const EFFECT: Effect = Effect::Reads;
    const SHAPE: Option<Shape> = Some(Shape::Whole);
    const POSITIONAL: &'static [&'static str] = &["reference"];
    const LOOKS_BESIDE: bool = true;
    const COLUMNS: &'static [Columns] = &[(None, &["state", "severity", "pattern", "name", "why_open"])];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<ProposedThreats> {
        let entity = cx.live_entity("reference", &self.reference)?;
        let note = match entity.kind {
            Kind::UserStory | Kind::Requirement => None,
            Kind::Epic => Some("decide about the threats to its user stories and requirements".to_owned()),
            Kind::AcceptanceCriteria => {
                let story = entity.user_story.as_deref().unwrap_or("its user story");
                Some(format!("decide about the threats to {story} or its requirements"))
            }
            kind => {
                let message = format!(
                    "expected a requirement or a user story, and {} is {}",
                    entity.reference_id,
                    kind.with_article()
                );
                return Err(Error::field("reference", message));
            }
        };
        let library = cx.threat_library()?;
        let heads = judge::heads(cx, &entity.project_id, None)?;
        let mut texts = text::of_ids(cx.tx, &[&entity.id])?;
        // A criterion is matched as if it were a requirement, except those against a threat.
        let mut threats = Vec::new();
        if entity.kind == Kind::AcceptanceCriteria {
            threats = state::of_texts(cx, &heads, &texts)?.concat();
            texts.iter_mut().for_each(|text| text.kind = Kind::Requirement);
        }
        let proposed = state::of_texts(cx, &heads, &texts)?.concat();
        let is_known = |new: &ItemThreat| threats.iter().any(|known| known.pattern == new.pattern);
        let proposed: Vec<ItemThreat> = proposed.into_iter().filter(|new| !is_known(new)).collect();
        threats.extend(proposed);
        let coverage = library.coverage()?;
        let said = if threats.iter().all(|threat| threat.reasons.is_empty()) {
            Some(format!("no pattern is about this text; the library {coverage}"))
        } else if threats.iter().all(|threat| threat.unsure) {
            Some(format!("unsure whether this fits; the library {coverage}"))
        } else {
            None
        };
        let notes: Vec<String> = said.into_iter().chain(note).collect();
        let mut data = Vec::with_capacity(threats.len());
        for threat in threats {
            let checks = if threat.criteria.is_empty() { state::checks_of(cx, &threat) } else { Vec::new() };
            let pattern = library.pattern(&threat.pattern).ok();
            let says =
                pattern.map(|ThreatPattern { threat, check, fix, .. }| PatternSays { threat, check, fix });
            data.push(ProposedThreat { threat, says, checks });
        }
        Ok(ProposedThreats {
            title: entity.title.or(entity.description).unwrap_or_default(),
            reference_id: entity.reference_id,
            data,
            note: (!notes.is_empty()).then(|| notes.join("; ")),
            library: coverage,
        })
    }
}

impl ThreatPattern {
    /// The texts of the criteria: its own, or its checks.
    pub(super) fn criteria(&self) -> Vec<String> {
        let own = self.checks.iter().map(|check| check.trim().to_owned());
        let own: Vec<String> = own.filter(|check| !check.is_empty()).collect();
        match (own.is_empty(), self.check.trim()) {
            (false, _) => own,
            (true, "") => Vec::new(),
            (true, check) => vec![check.to_owned()],
        }
    }
}

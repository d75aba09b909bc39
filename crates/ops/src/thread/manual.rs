//! Evidence recorded by people, for what no program can test.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::model::Kind;
use store::thread::manual::{self, ManualEvidence};
use store::thread::text;

use super::{counted, judge};
use crate::context::{Cx, Subject, to_value};
use crate::error::{Error, Result};
use crate::input::{Id, Moment, Number, Text};
use crate::operation::{Command, Effect, Operation, Output, Route, Tool, command, create, tool};

/// The tolerated difference of a clock.
const FUTURE_S: i64 = 300;

/// Record what you have checked or inspected, and whether it was as required, for what no program can test.
///
/// It closes units unless a repository requires CI runs (`trust_min` oidc), and is old as soon as their text changes.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AddManualEvidence {
    /// The requirement or criterion, such as `REQ-012`.
    reference: Id,
    /// The number of the unit in its text, from 1 on; default: all of them.
    unit: Option<Number<1, 1_000>>,
    /// What was done and seen.
    what: Text<1, 5_000>,
    /// Whether it was as required.
    #[serde(default)]
    outcome: ManualOutcome,
    /// When it was done; default: now.
    done_at: Option<Moment>,
    /// The BLAKE3 hash of an attachment, in hexadecimal digits.
    attachment_digest: Option<Text<64, 64>>,
}

/// Whether something was as required.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum ManualOutcome {
    /// It was.
    #[default]
    Passed,
    /// It was not.
    Failed,
}

/// Recorded evidence.
#[derive(Serialize, JsonSchema)]
pub struct ManualAdded {
    /// The requirement or criterion.
    reference_id: String,
    /// Its units.
    units: Vec<String>,
    /// The evidence.
    #[serde(flatten)]
    evidence: ManualEvidence,
}

impl Output for ManualAdded {}

impl Operation for AddManualEvidence {
    type Output = ManualAdded;
    const NAME: &'static str = "add_manual_evidence";
    const COMMANDS: &'static [Command] = &[command("evidence manual")];
    const ROUTES: &'static [Route] = &[create("/manual-evidence")];
    const TOOLS: &'static [Tool] = &[tool(
        "thread",
        r#"{"reference": "REQ-001", "what": "Held a lit match under the detector; the alarm sounded after 12 s."}"#,
    )];
    const EFFECT: Effect = Effect::Writes;
    const POSITIONAL: &'static [&'static str] = &["reference", "what"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<ManualAdded> {
        let entity = cx.live_entity("reference", &self.reference)?;
        if !matches!(entity.kind, Kind::Requirement | Kind::AcceptanceCriteria) {
            let message = format!(
                "expected a requirement or a criterion, and {} is {}",
                entity.reference_id,
                entity.kind.with_article()
            );
            return Err(Error::field("reference", message));
        }
        let found = text::of_ids(cx.tx, &[&entity.id])?;
        let mut units: Vec<_> = found.iter().flat_map(judge::units_of).collect();
        if let Some(Number(number)) = self.unit {
            let n_units = units.len() as i64;
            if number > n_units {
                let message = format!("expected 1 to {n_units}, found {number}");
                return Err(Error::field("unit", message));
            }
            units = vec![units.swap_remove(number as usize - 1)];
        }
        if let Some(digest) = &self.attachment_digest
            && !digest.as_str().bytes().all(|byte| byte.is_ascii_hexdigit())
        {
            return Err(Error::field("attachment_digest", "expected 64 hexadecimal digits"));
        }
        let caller = cx.caller()?;
        let done_at = self.done_at.map_or(cx.now(), Moment::last);
        if done_at > cx.now().plus_seconds(FUTURE_S) {
            return Err(Error::field("done_at", "expected a time that is over"));
        }
        let mut evidence = ManualEvidence {
            id: cx.new_id(),
            project_id: entity.project_id.clone(),
            entity_id: entity.id.clone(),
            unit_hash: String::new(),
            outcome: match self.outcome {
                ManualOutcome::Passed => "passed",
                ManualOutcome::Failed => "failed",
            }
            .to_owned(),
            what: (&self.what).into(),
            attachment_digest: self.attachment_digest.as_ref().map(String::from),
            actor_id: caller.user_id.clone(),
            actor: caller.username.clone(),
            done_at,
            created_at: cx.now(),
        };
        for unit in &units {
            (evidence.id, evidence.unit_hash) = (cx.new_id(), unit.hash.clone());
            manual::insert(cx.tx, &evidence)?;
        }
        counted::count(cx, std::slice::from_ref(&entity.id))?;
        let subject = Subject {
            project_id: Some(&entity.project_id),
            kind: entity.kind.name(),
            id: &entity.id,
            reference_id: Some(&entity.reference_id),
            version: entity.version,
        };
        let after = serde_json::json!({ "evidence": to_value(&evidence)? });
        cx.record(&subject, None, Some(&after))?;
        let units = units.into_iter().map(|unit| unit.text).collect();
        Ok(ManualAdded { reference_id: entity.reference_id, units, evidence })
    }
}

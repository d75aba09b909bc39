//! Derives the state of threats from proposals, decisions, and the evidence for the criteria. Used by the thread, the work
//! packet and the
//! gate.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::model::{Kind, Time};
use store::status::StatusOutcome;
use store::thread::text::{self, CitableText};
use store::thread::threat::{self, Decision, ThreatLink};

use super::library::{ThreatLibrary, ThreatProposal};
use crate::context::Cx;
use crate::error::Result;
use crate::thread::judge::{self, Head, Judged};

/// How many words are named that reopened a dismissed threat.
const WORDS_TOLD: usize = 5;

/// A threat to a requirement or a user story.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct ItemThreat {
    /// The id of the pattern.
    pub(crate) pattern: String,
    /// Its name.
    pub(crate) name: String,
    /// `critical`, `high`, `medium` or `low`.
    pub(crate) severity: String,
    /// Its state.
    pub(crate) state: ThreatState,
    /// Why it is open, if there is more to say than that there is no decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) why_open: Option<String>,
    /// Whether the library is unsure that the pattern fits, and there is no decision: then it does not count as open.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) unsure: bool,
    /// The threatened entity, if it is another one: a criterion is against a threat to its story or a requirement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) threatens: Option<String>,
    /// Why the pattern fits the text; absent if it does not.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) reasons: Vec<String>,
    /// The decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) decision: Option<DecisionMade>,
    /// The criteria against it, with their verdicts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) criteria: Vec<ThreatCriterion>,
}

impl ItemThreat {
    /// Whether it needs work: there is no valid decision, or evidence does not close all
    /// criteria against it.
    pub(crate) fn is_open(&self) -> bool {
        !self.unsure && matches!(self.state, ThreatState::Open | ThreatState::Applies)
    }
}

impl ItemThreat {
    /// A threat after a decision, before its criteria exist.
    pub(super) fn decided(link: &ThreatLink) -> ItemThreat {
        let state = match link.decision {
            Decision::Applies => ThreatState::Applies,
            Decision::NotApplicable => ThreatState::Dismissed,
            Decision::RiskAccepted => ThreatState::Accepted,
        };
        ItemThreat {
            pattern: link.pattern.clone(),
            name: link.name.clone(),
            severity: link.severity.clone(),
            state,
            why_open: None,
            unsure: false,
            threatens: None,
            reasons: Vec::new(),
            decision: Some(DecisionMade::from(link)),
            criteria: Vec::new(),
        }
    }
}

/// The state of a threat. Only decisions are stored; the state is derived from texts, the library and evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(crate) enum ThreatState {
    /// There is no valid decision.
    Open,
    /// It applies, and evidence does not close all criteria against it.
    Applies,
    /// It applies, and evidence closes all criteria against it.
    Closed,
    /// It was decided that it does not apply.
    Dismissed,
    /// The risk is accepted until a future date.
    Accepted,
}

/// The decision about a threat.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct DecisionMade {
    /// `applies`, `not_applicable` or `risk_accepted`.
    pub(crate) decision: &'static str,
    /// The reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
    /// The owner of the risk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) owner: Option<String>,
    /// Until when it is accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) review_by: Option<Time>,
    /// Who decided.
    pub(crate) by: String,
    /// When.
    pub(crate) at: Time,
}

/// A criterion against a threat.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct ThreatCriterion {
    /// Its reference id.
    pub(crate) reference_id: String,
    /// The text of the criterion.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) text: String,
    /// Its verdict.
    pub(crate) verdict: String,
    /// Whether that closes it.
    pub(crate) closed: bool,
    /// Why it is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) why_open: Option<String>,
}

impl From<&ThreatLink> for DecisionMade {
    fn from(link: &ThreatLink) -> DecisionMade {
        DecisionMade {
            decision: link.decision.name(),
            reason: link.reason.clone(),
            owner: link.owner.clone(),
            review_by: link.review_by,
            by: link.actor.clone(),
            at: link.updated_at,
        }
    }
}

/// The threats to texts of one project, in the order of the texts; for each the best proposal first, then decisions
/// about other patterns. It takes three queries and one judgement, however many texts there are.
///
/// A requirement or a user story has proposals and decisions; a criterion has the threats that it is
/// against. Without a threat library there are only decisions.
pub(crate) fn of_texts(
    cx: &mut Cx<'_, '_>,
    heads: &[Head],
    texts: &[CitableText],
) -> Result<Vec<Vec<ItemThreat>>> {
    let mut facts = Facts::read(cx, heads, texts)?;
    // If the library cannot be read, a thread has no proposals; operations for proposals report the error.
    let library = cx.request.threats.clone().filter(|library| library.coverage().is_ok());
    let now = cx.now();
    let mut found = Vec::with_capacity(texts.len());
    for text in texts {
        let mut threats = match text.kind {
            Kind::AcceptanceCriteria => facts.of_criterion(text, now),
            _ => facts.of_item(text, proposed(library.as_deref(), text)?, now),
        };
        // Deleted and obsolete entities have no threats.
        if is_over(text) {
            threats.retain(|threat| !threat.is_open());
        }
        found.push(threats);
    }
    Ok(found)
}

/// The open ones among them, for the work packet and the gate.
///
/// `heads` are those of the texts' project (`judge::heads`), so that verdicts are those of the checkout that the caller works in,
/// where there is one. Results are in the order of the texts.
pub(crate) fn open_of(
    cx: &mut Cx<'_, '_>,
    heads: &[Head],
    texts: &[CitableText],
) -> Result<Vec<Vec<ItemThreat>>> {
    let mut found = of_texts(cx, heads, texts)?;
    found.iter_mut().for_each(|threats| threats.retain(ItemThreat::is_open));
    Ok(found)
}

/// The criteria against a threat: those created, or the pattern's checks, from which they would be.
pub(crate) fn checks_of(cx: &Cx<'_, '_>, threat: &ItemThreat) -> Vec<String> {
    if !threat.criteria.is_empty() {
        return threat.criteria.iter().map(|criterion| criterion.text.clone()).collect();
    }
    // The pattern of a decision may have been removed from the library.
    let pattern = cx.request.threats.as_ref().and_then(|library| library.pattern(&threat.pattern).ok());
    pattern.map(|pattern| pattern.criteria()).unwrap_or_default()
}

/// The library's proposals for a text; none if it no longer applies.
pub(super) fn proposed(
    library: Option<&dyn ThreatLibrary>,
    text: &CitableText,
) -> Result<Vec<ThreatProposal>> {
    match library {
        Some(library) if !is_over(text) => library.propose(&format!("{}\n{}", text.title, text.description)),
        _ => Ok(Vec::new()),
    }
}

/// Whether a text no longer applies.
fn is_over(text: &CitableText) -> bool {
    text.is_deleted || matches!(text.outcome, Some(StatusOutcome::Cancelled | StatusOutcome::Obsolete))
}

/// The stored data about the threats to some texts.
struct Facts {
    links: HashMap<String, Vec<ThreatLink>>,
    /// The criteria of each decision.
    criteria: HashMap<String, Vec<ThreatCriterion>>,
    /// The decisions of each criterion, and their threatened entities.
    against: HashMap<String, Vec<(ThreatLink, String)>>,
}

impl Facts {
    fn read(cx: &mut Cx<'_, '_>, heads: &[Head], texts: &[CitableText]) -> Result<Facts> {
        let (criteria, items): (Vec<&CitableText>, Vec<&CitableText>) =
            texts.iter().partition(|text| text.kind == Kind::AcceptanceCriteria);
        let ids = |texts: &[&CitableText]| texts.iter().map(|text| text.id.clone()).collect::<Vec<_>>();
        let item_ids = ids(&items);
        let item_ids: Vec<&str> = item_ids.iter().map(String::as_str).collect();
        let links = if item_ids.is_empty() { Vec::new() } else { threat::of_entities(cx.tx, &item_ids)? };
        let criterion_ids = ids(&criteria);
        let criterion_ids: Vec<&str> = criterion_ids.iter().map(String::as_str).collect();
        let mut against =
            if criterion_ids.is_empty() { Vec::new() } else { threat::against(cx.tx, &criterion_ids)? };
        against.retain(|(_, link)| link.decision == Decision::Applies);

        let mut applying: Vec<&str> = links
            .iter()
            .chain(against.iter().map(|(_, link)| link))
            .filter(|link| link.decision == Decision::Applies)
            .map(|link| link.id.as_str())
            .collect();
        // A requirement and the criteria against its threats are often asked about together.
        applying.sort_unstable();
        applying.dedup();
        let pairs = if applying.is_empty() { Vec::new() } else { threat::criteria_of(cx.tx, &applying)? };
        let told = judged(cx, heads, &pairs)?;
        let mut by_link: HashMap<String, Vec<ThreatCriterion>> = HashMap::new();
        for (link_id, criterion_id) in pairs {
            by_link.entry(link_id).or_default().extend(told.get(&criterion_id).cloned());
        }
        let threatened: Vec<&str> = against.iter().map(|(_, link)| link.entity_id.as_str()).collect();
        let names = if threatened.is_empty() { Vec::new() } else { text::of_ids(cx.tx, &threatened)? };
        let names: HashMap<String, String> =
            names.into_iter().map(|text| (text.id, text.reference_id)).collect();
        let mut by_criterion: HashMap<String, Vec<(ThreatLink, String)>> = HashMap::new();
        for (criterion_id, link) in against {
            let threatens = names.get(&link.entity_id).cloned().unwrap_or_default();
            by_criterion.entry(criterion_id).or_default().push((link, threatens));
        }
        let mut by_entity: HashMap<String, Vec<ThreatLink>> = HashMap::new();
        for link in links {
            by_entity.entry(link.entity_id.clone()).or_default().push(link);
        }
        Ok(Facts { links: by_entity, criteria: by_link, against: by_criterion })
    }

    fn of_item(&mut self, text: &CitableText, proposals: Vec<ThreatProposal>, now: Time) -> Vec<ItemThreat> {
        let mut links = self.links.remove(&text.id).unwrap_or_default();
        let mut found = Vec::new();
        for proposal in proposals {
            let place = links.iter().position(|link| link.pattern == proposal.pattern.id);
            let link = place.map(|place| links.remove(place));
            let mut threat = self.told(link.as_ref(), Some(&proposal), now);
            if !proposal.is_sure && link.is_none() {
                threat.unsure = true;
                threat.why_open = Some("unsure whether it fits; no decision needed".to_owned());
            }
            found.push(threat);
        }
        found.extend(links.iter().map(|link| self.told(Some(link), None, now)));
        found
    }

    fn of_criterion(&mut self, text: &CitableText, now: Time) -> Vec<ItemThreat> {
        let against = self.against.remove(&text.id).unwrap_or_default();
        let told = |(link, threatens)| ItemThreat {
            threatens: Some(threatens),
            decision: None,
            criteria: Vec::new(),
            ..self.told(Some(&link), None, now)
        };
        against.into_iter().map(told).collect()
    }

    /// The state of a threat with a proposal, a decision, or both. An unsure proposal does not reopen a dismissed one.
    fn told(&self, link: Option<&ThreatLink>, proposal: Option<&ThreatProposal>, now: Time) -> ItemThreat {
        let criteria = link.and_then(|link| self.criteria.get(&link.id)).cloned().unwrap_or_default();
        let (state, why_open) = match link {
            Some(link) => state(link, proposal.filter(|proposal| proposal.is_sure), &criteria, now),
            None => (ThreatState::Open, None),
        };
        let (pattern, name, severity) = match (proposal, link) {
            (Some(ThreatProposal { pattern, .. }), _) => (&pattern.id, &pattern.name, &pattern.severity),
            (None, Some(link)) => (&link.pattern, &link.name, &link.severity),
            (None, None) => unreachable!("a threat was proposed or decided"),
        };
        ItemThreat {
            pattern: pattern.clone(),
            name: name.clone(),
            severity: severity.clone(),
            state,
            why_open,
            unsure: false,
            threatens: None,
            reasons: proposal.map(|proposal| proposal.reasons.clone()).unwrap_or_default(),
            decision: link.map(DecisionMade::from),
            criteria,
        }
    }
}

/// The verdicts of the criteria of decisions, by their ids.
fn judged(
    cx: &mut Cx<'_, '_>,
    heads: &[Head],
    pairs: &[(String, String)],
) -> Result<HashMap<String, ThreatCriterion>> {
    let mut ids: Vec<&str> = pairs.iter().map(|(_, criterion_id)| criterion_id.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    let texts = text::of_ids(cx.tx, &ids)?;
    let told = |judged: Judged| {
        let closed = judged.is_verified();
        // A criterion is one unit.
        let unit = judged.units.into_iter().next();
        let (verdict, why_open) =
            unit.map(|unit| (judge::name_of(unit.verdict), unit.why_open)).unwrap_or_default();
        let CitableText { id, reference_id, description: text, .. } = judged.text;
        (id, ThreatCriterion { reference_id, text, verdict, closed, why_open })
    };
    Ok(judge::judge(cx, heads, texts)?.into_iter().map(told).collect())
}

/// The state of a threat with a decision, and why it is open.
fn state(
    link: &ThreatLink,
    proposal: Option<&ThreatProposal>,
    criteria: &[ThreatCriterion],
    now: Time,
) -> (ThreatState, Option<String>) {
    match link.decision {
        Decision::NotApplicable => match proposal.and_then(|proposal| news(link, proposal)) {
            Some(news) => (ThreatState::Open, Some(format!("dismissed before, and {news}"))),
            None => (ThreatState::Dismissed, None),
        },
        Decision::RiskAccepted => match link.review_by {
            Some(until) if until < now => {
                let day = until.to_string();
                let day = day.split('T').next().unwrap_or_default();
                (ThreatState::Open, Some(format!("the risk was accepted until {day}, which is over")))
            }
            _ => (ThreatState::Accepted, None),
        },
        Decision::Applies if criteria.is_empty() => {
            (ThreatState::Applies, Some("no criterion is against it any more".to_owned()))
        }
        Decision::Applies => {
            let mut open = criteria.iter().filter(|criterion| !criterion.closed);
            let Some(first) = open.next() else { return (ThreatState::Closed, None) };
            let more = match open.count() {
                0 => String::new(),
                n_more => format!(" (and {n_more} more)"),
            };
            let why = first.why_open.as_deref().unwrap_or(&first.verdict);
            (ThreatState::Applies, Some(format!("{}: {why}{more}", first.reference_id)))
        }
    }
}

/// What is new since a threat was dismissed: the pattern's major version, or words that it is proposed for.
fn news(link: &ThreatLink, proposal: &ThreatProposal) -> Option<String> {
    let version = &proposal.pattern.version;
    if major(version) != major(&link.pattern_version) {
        return Some(format!("version {version} of the pattern is another than {}", link.pattern_version));
    }
    let new: Vec<&str> = proposal
        .telling()
        .iter()
        .filter(|sign| !link.signs.contains(sign))
        .take(WORDS_TOLD)
        .map(String::as_str)
        .collect();
    (!new.is_empty()).then(|| format!("the text now has other words of it: {}", new.join(", ")))
}

fn major(version: &str) -> &str {
    version.trim().trim_start_matches('v').split('.').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::threat::ThreatPattern;

    #[test]
    fn a_dismissal_is_reopened_only_by_new_words_or_a_new_major_version() {
        let signs = ["job", "queue", "file"];
        let told = |version: &str, telling: &[&str]| {
            let proposal = ThreatProposal {
                pattern: ThreatPattern { version: version.to_owned(), ..ThreatPattern::default() },
                reasons: Vec::new(),
                signs: telling.iter().chain(&["late", "words"]).map(|&sign| sign.to_owned()).collect(),
                n_telling: telling.len(),
                is_sure: true,
            };
            let link = ThreatLink {
                id: String::new(),
                project_id: String::new(),
                entity_id: String::new(),
                pattern: "T-1".to_owned(),
                pattern_version: "1.4.0".to_owned(),
                name: String::new(),
                severity: String::new(),
                decision: Decision::NotApplicable,
                reason: None,
                signs: signs.map(str::to_owned).to_vec(),
                owner_id: None,
                owner: None,
                review_by: None,
                content_version: 1,
                actor_id: String::new(),
                actor: String::new(),
                version: 1,
                created_at: Time::from_microseconds(0),
                updated_at: Time::from_microseconds(0),
            };
            news(&link, &proposal)
        };
        for (version, telling) in [("1.4.0", &signs[..]), ("1.5.0", &signs[..1]), ("v1", &signs[2..])] {
            assert_eq!(told(version, telling), None, "{version} {telling:?}");
        }
        let major = told("2.0.0", &signs);
        assert_eq!(major.as_deref(), Some("version 2.0.0 of the pattern is another than 1.4.0"));
        let words = told("1.4.0", &["job", "worker"]);
        assert_eq!(words.as_deref(), Some("the text now has other words of it: worker"));
    }
}

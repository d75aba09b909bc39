//! The answer to a query: short for an agent with a token budget, long for a person.

use serde::Serialize;
use unicode_segmentation::UnicodeSegmentation;

use crate::pattern::{AttackStep, CodeExample, Impact, List, Mitigation, Pattern};
use crate::search::{self, Hit};

/// The default number of patterns for an agent.
pub const AGENT_PATTERNS_MAX: usize = 3;
/// The default number of patterns for a person on the command line.
pub const HUMAN_PATTERNS_MAX: usize = 10;
/// The number of patterns in an answer over MCP, for an agent or a person.
pub const MCP_PATTERNS_MAX: usize = 3;
/// The maximal number of tokens of the whole agent answer, as compact JSON.
pub const AGENT_TOKENS_MAX: usize = 500;

/// The limits of an answer, and the requested code.
#[derive(Clone, Copy, Debug)]
pub struct Room<'a> {
    /// The maximal number of patterns.
    pub patterns_max: usize,
    /// The maximal number of tokens. Without it nothing is counted.
    pub tokens_max: Option<usize>,
    /// The required language of the code; default: the pattern's.
    pub language: Option<&'a str>,
    /// The preferred framework of the code.
    pub framework: Option<&'a str>,
    /// A note in addition to the patterns; see [`crate::Found`].
    pub note: Option<&'a str>,
}

impl Default for Room<'_> {
    fn default() -> Self {
        Room {
            patterns_max: AGENT_PATTERNS_MAX,
            tokens_max: Some(AGENT_TOKENS_MAX),
            language: None,
            framework: None,
            note: None,
        }
    }
}

impl Room<'_> {
    fn written_for(&self, pattern: &Pattern) -> Option<String> {
        search::written_for(pattern, self.language, self.framework)
    }
}

/// The answer to a query. An agent answer has `patterns`, a human one `verbose_patterns`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Answer {
    /// How many patterns fit the query.
    pub pattern_count: usize,
    /// How many of them are in the answer.
    pub patterns_included: usize,
    /// The tokens of this whole answer as compact JSON, estimated: rarely too low.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_count: Option<usize>,
    /// Whether something was left out or cut because of the budget.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub token_limit_reached: bool,
    /// The patterns in short, best first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub patterns: Vec<Summary>,
    /// The patterns in full, best first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub verbose_patterns: Vec<Detail>,
    /// Code to start from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code_pattern: Option<CodePattern>,
    /// What the library covers, if nothing fits or the result is unsure, and whether patterns are for another stack.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A pattern in short.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Its id.
    pub id: String,
    /// Its severity.
    pub severity: String,
    /// The threat.
    pub threat: String,
    /// The check.
    pub check: String,
    /// The fix.
    pub fix: String,
    /// Such as `Python/Flask`, if that is not what was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub written_for: Option<String>,
}

/// Code to start from.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CodePattern {
    /// Its language.
    pub language: String,
    /// Its framework.
    pub framework: String,
    /// The code.
    pub secure_template: String,
}

/// A pattern in full.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Detail {
    /// Its id.
    pub id: String,
    /// Its title.
    pub name: String,
    /// Its severity.
    pub severity: String,
    /// How likely it is.
    pub likelihood: String,
    /// The threat.
    pub threat: String,
    /// The check.
    pub check: String,
    /// The fix.
    pub fix: String,
    /// The threat in prose.
    pub description: String,
    /// How it is exploited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attack_scenario: Option<Scenario>,
    /// How it is prevented.
    pub mitigations: Vec<Measure>,
    /// The ids of related patterns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub related_patterns: Vec<String>,
    /// CWE ids.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cwe_references: Vec<String>,
    /// OWASP ids.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub owasp_references: Vec<String>,
    /// Such as `Python/Flask`, if that is not what was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub written_for: Option<String>,
}

/// How a threat is exploited.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Scenario {
    /// The story.
    pub narrative: String,
    /// The text of the criterion.
    pub preconditions: List<String>,
    /// The story step by step.
    pub steps: List<AttackStep>,
    /// What is lost.
    pub impact: Impact,
}

/// A mitigation, whose name is present even if it is empty.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measure {
    /// Its id.
    pub id: String,
    /// Its title, or nothing.
    pub name: String,
    /// In prose.
    pub description: String,
    /// How well it works.
    pub effectiveness: String,
    /// What it takes.
    pub implementation_effort: String,
    /// What it costs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tradeoffs: Vec<String>,
    /// Code before and after.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub code_examples: Vec<CodeExample>,
}

/// Builds the short answer: patterns in order while they fit, then code if it still fits.
pub fn agent(hits: &[Hit<'_>], room: &Room<'_>) -> Answer {
    let note = room.note.map(str::to_owned);
    let mut answer = Answer { pattern_count: hits.len(), note, ..Answer::default() };
    if hits.is_empty() {
        return answer;
    }

    let mut included: Vec<&Pattern> = hits.iter().take(room.patterns_max).map(|hit| hit.pattern).collect();
    answer.patterns = included.iter().map(|pattern| summary(pattern, room)).collect();
    while !fits(&mut answer, room.tokens_max) && answer.patterns.len() > 1 {
        answer.patterns.pop();
        answer.token_limit_reached = true;
    }
    if !fits(&mut answer, room.tokens_max) {
        answer.token_limit_reached = true;
        shorten(&mut answer, room.tokens_max);
    }
    included.truncate(answer.patterns.len());

    let examples = included.iter().map(|pattern| examples(pattern, room)).find(|list| !list.is_empty());
    for example in examples.unwrap_or_default() {
        answer.code_pattern = Some(CodePattern {
            language: example.language.clone(),
            framework: example.framework.clone(),
            secure_template: example.secure_code.clone(),
        });
        if fits(&mut answer, room.tokens_max) {
            return answer;
        }
        answer.code_pattern = None;
    }
    fits(&mut answer, room.tokens_max);
    answer
}

/// Builds the long answer, without regard to the budget.
pub fn human(hits: &[Hit<'_>], room: &Room<'_>) -> Answer {
    let verbose_patterns: Vec<Detail> =
        hits.iter().take(room.patterns_max).map(|hit| detail(hit.pattern, room)).collect();
    Answer {
        pattern_count: hits.len(),
        patterns_included: verbose_patterns.len(),
        verbose_patterns,
        note: room.note.map(str::to_owned),
        ..Answer::default()
    }
}

/// Builds the long answer within a budget: patterns in order while they fit, the first one shortened if it does not
/// fit alone. The note says which budget the whole answer needs.
pub fn human_within(hits: &[Hit<'_>], room: &Room<'_>, n_tokens_max: usize) -> Answer {
    let mut answer = human(hits, room);
    let count =
        |answer: &Answer| tokens::count(&serde_json::to_string(answer).expect("an answer is plain data"));
    let n_tokens = count(&answer);
    if n_tokens <= n_tokens_max {
        return answer;
    }
    let advice = format!("cut; \"max_tokens\": {n_tokens} answers all of it");
    answer.note = Some(answer.note.map_or(advice.clone(), |note| format!("{note}; {advice}")));
    answer.token_limit_reached = true;
    while count(&answer) > n_tokens_max && !answer.verbose_patterns.is_empty() {
        let is_shorter = match answer.verbose_patterns.as_mut_slice() {
            [only] => only.shorten(),
            _ => false,
        };
        if !is_shorter {
            answer.verbose_patterns.pop();
        }
        answer.patterns_included = answer.verbose_patterns.len();
    }
    answer
}

impl Detail {
    /// Leaves out the least important part. Returns whether there was one.
    fn shorten(&mut self) -> bool {
        let code = self.mitigations.iter_mut().rev().find_map(|measure| measure.code_examples.pop());
        if code.is_some() || self.attack_scenario.take().is_some() || self.mitigations.pop().is_some() {
            return true;
        }
        !std::mem::take(&mut self.description).is_empty()
    }
}

/// Counts an answer, stores the count in it, and returns whether it is within the budget.
fn fits(answer: &mut Answer, tokens_max: Option<usize>) -> bool {
    answer.patterns_included = answer.patterns.len();
    let Some(tokens_max) = tokens_max else {
        return true;
    };
    // The count is part of what is counted. Up to 999 any number is one token, so the second round agrees with
    // the first; the third is for larger budgets.
    let mut n_tokens = answer.token_count.unwrap_or(AGENT_TOKENS_MAX);
    for _ in 0..3 {
        answer.token_count = Some(n_tokens);
        let found = tokens::count(&serde_json::to_string(answer).expect("an answer is plain data"));
        if found == n_tokens {
            break;
        }
        n_tokens = found;
    }
    answer.token_count = Some(n_tokens);
    n_tokens <= tokens_max
}

/// Cuts the sentences of the only pattern until the answer fits; drops it if even that is not enough.
fn shorten(answer: &mut Answer, tokens_max: Option<usize>) {
    let whole = answer.patterns[0].clone();
    let longest = [&whole.threat, &whole.check, &whole.fix].map(|text| text.graphemes(true).count());
    let (mut fitting, mut too_long) = (None, longest.into_iter().max().unwrap_or_default());
    let mut length = too_long / 2;
    while length < too_long {
        answer.patterns[0] = cut(&whole, length);
        if fits(answer, tokens_max) {
            fitting = Some(length);
        } else {
            too_long = length;
        }
        let low = fitting.map_or(0, |length| length + 1);
        length = low + too_long.saturating_sub(low) / 2;
    }
    match fitting {
        Some(length) => answer.patterns[0] = cut(&whole, length),
        None => answer.patterns.clear(),
    }
    fits(answer, tokens_max);
}

fn cut(whole: &Summary, n_graphemes_max: usize) -> Summary {
    let cut = |text: &str| match text.grapheme_indices(true).nth(n_graphemes_max) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text.to_owned(),
    };
    Summary {
        threat: cut(&whole.threat),
        check: cut(&whole.check),
        fix: cut(&whole.fix),
        id: whole.id.clone(),
        severity: whole.severity.clone(),
        written_for: whole.written_for.clone(),
    }
}

/// Lists the secure code of a pattern in the requested language: effective mitigations and the requested framework first.
fn examples<'a>(pattern: &'a Pattern, room: &Room<'_>) -> Vec<&'a CodeExample> {
    let language = room.language.unwrap_or(&pattern.language);
    let framework = room.framework.filter(|framework| !framework.eq_ignore_ascii_case("any"));
    let is_foreign = room.written_for(pattern).is_some();
    let mut examples: Vec<(bool, bool, &CodeExample)> = Vec::new();
    for mitigation in pattern.mitigations.iter() {
        for example in &mitigation.code_examples {
            let any_language = language.is_empty() || language.eq_ignore_ascii_case("any");
            if example.secure_code.is_empty()
                || !(any_language || example.language.eq_ignore_ascii_case(language))
            {
                continue;
            }
            let effective = mitigation.effectiveness.to_lowercase().ends_with("high");
            let in_framework = framework
                .is_none_or(|framework| example.framework.to_lowercase().contains(&framework.to_lowercase()));
            if in_framework || !is_foreign {
                examples.push((!in_framework, !effective, example));
            }
        }
    }
    examples.sort_by_key(|(other_framework, less_effective, _)| (*other_framework, *less_effective));
    examples.into_iter().map(|(_, _, example)| example).collect()
}

fn summary(pattern: &Pattern, room: &Room<'_>) -> Summary {
    Summary {
        id: pattern.id.clone(),
        severity: pattern.severity.clone(),
        threat: pattern.agent_summary.threat.clone(),
        check: pattern.agent_summary.check.clone(),
        fix: pattern.agent_summary.fix.clone(),
        written_for: room.written_for(pattern),
    }
}

fn detail(pattern: &Pattern, room: &Room<'_>) -> Detail {
    let references = &pattern.provenance.public_references;
    let written_for = room.written_for(pattern);
    let mut mitigations: Vec<Measure> = pattern.mitigations.iter().map(measure).collect();
    if written_for.is_some() {
        mitigations.iter_mut().for_each(|measure| measure.code_examples.clear());
    }
    Detail {
        id: pattern.id.clone(),
        name: pattern.name.clone(),
        severity: pattern.severity.clone(),
        likelihood: pattern.likelihood.clone(),
        threat: pattern.agent_summary.threat.clone(),
        check: pattern.agent_summary.check.clone(),
        fix: pattern.agent_summary.fix.clone(),
        description: pattern.description.clone(),
        attack_scenario: pattern.attack_scenario.as_ref().map(|scenario| Scenario {
            narrative: scenario.narrative.clone(),
            preconditions: scenario.preconditions.clone(),
            steps: scenario.attack_steps.clone(),
            impact: scenario.impact.clone(),
        }),
        mitigations,
        related_patterns: pattern.related_patterns.iter().map(|related| related.id.clone()).collect(),
        cwe_references: present(references.iter().map(|reference| &reference.cwe)),
        owasp_references: present(references.iter().map(|reference| &reference.owasp)),
        written_for,
    }
}

fn measure(mitigation: &Mitigation) -> Measure {
    Measure {
        id: mitigation.id.clone(),
        name: mitigation.name.clone(),
        description: mitigation.description.clone(),
        effectiveness: mitigation.effectiveness.clone(),
        implementation_effort: mitigation.implementation_effort.clone(),
        tradeoffs: mitigation.tradeoffs.clone(),
        code_examples: mitigation.code_examples.clone(),
    }
}

fn present<'a>(texts: impl Iterator<Item = &'a String>) -> Vec<String> {
    texts.filter(|text| !text.is_empty()).cloned().collect()
}

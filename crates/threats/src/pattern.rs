//! A threat pattern: every field of its file, serialized the way `tmkb get -f json` prints it.
//!
//! What is absent from a file shows in JSON in one of three ways, and consumers rely on which:
//! a plain text is `""`, a [`List`] is `null`, and what is marked `skip_serializing_if` is left out.

use std::ops::Deref;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// One threat: when it applies, how it is exploited, how it is prevented.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Pattern {
    /// Such as `TMKB-AUTHZ-001`.
    #[serde(deserialize_with = "text")]
    pub id: String,
    /// A short title.
    #[serde(deserialize_with = "text")]
    pub name: String,
    /// `A` for the most consequential patterns, which say more; otherwise `B`.
    #[serde(deserialize_with = "text")]
    pub tier: String,
    /// The version of this pattern's text.
    #[serde(deserialize_with = "text")]
    pub version: String,
    /// The day of the last change, such as `2026-11-15`.
    #[serde(deserialize_with = "text")]
    pub last_updated: String,
    /// The area of security, such as `authorization`.
    #[serde(deserialize_with = "text")]
    pub category: String,
    /// A narrower area, in kebab case.
    #[serde(deserialize_with = "text")]
    pub subcategory: String,
    /// The programming language it was written for, or `any`.
    #[serde(deserialize_with = "text")]
    pub language: String,
    /// The framework it was written for, or `any`.
    #[serde(deserialize_with = "text")]
    pub framework: String,
    /// `critical`, `high`, `medium` or `low`.
    #[serde(deserialize_with = "text")]
    pub severity: String,
    /// `high`, `medium` or `low`.
    #[serde(deserialize_with = "text")]
    pub likelihood: String,
    /// Other stacks in which the same threat lives.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub generalizes_to: Vec<String>,
    /// Where the knowledge comes from.
    pub provenance: Provenance,
    /// What a task says or touches when this pattern applies to it.
    pub triggers: Triggers,
    /// What a code generator tends to get wrong here.
    pub differentiation: Differentiation,
    /// The threat in prose.
    #[serde(deserialize_with = "text")]
    pub description: String,
    /// The threat in three sentences, for an agent with little room.
    pub agent_summary: AgentSummary,
    /// How it is exploited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attack_scenario: Option<AttackScenario>,
    /// How it is prevented.
    pub mitigations: List<Mitigation>,
    /// The general lessons.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub security_principles: Vec<Principle>,
    /// Neighbouring patterns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub related_patterns: Vec<Related>,
    /// How to verify, in whatever shape the author chose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub testing: Option<Value>,
    /// How the pattern itself was tried, in whatever shape the author chose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validation: Option<Value>,
    /// STRIDE classes, such as `tampering`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stride: Vec<String>,
    /// Ids in public catalogues.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mappings: Option<Mappings>,
    /// The trust boundary that is crossed.
    #[serde(deserialize_with = "text", skip_serializing_if = "String::is_empty")]
    pub boundary: String,
    /// Signs to look for in a diff.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub signals: Vec<String>,
    /// Sentences ready to become acceptance criteria of a story.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub acceptance_criteria: Vec<String>,
    /// A program that exploits the vulnerable code and fails on the secure code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exploit_test: Option<ExploitTest>,
}

/// Where the knowledge comes from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Provenance {
    /// Such as `generalized_observation`.
    #[serde(deserialize_with = "text")]
    pub source_type: String,
    /// In prose.
    #[serde(deserialize_with = "text")]
    pub description: String,
    /// Public catalogue entries and articles.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub public_references: Vec<CatalogueEntry>,
}

/// A public catalogue entry or article.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CatalogueEntry {
    /// Such as `CWE-862`.
    #[serde(deserialize_with = "text", skip_serializing_if = "String::is_empty")]
    pub cwe: String,
    /// Such as `API1:2023`.
    #[serde(deserialize_with = "text", skip_serializing_if = "String::is_empty")]
    pub owasp: String,
    /// Its title.
    #[serde(deserialize_with = "text", skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Where to read it.
    #[serde(deserialize_with = "text", skip_serializing_if = "String::is_empty")]
    pub url: String,
}

/// What a task says or touches when a pattern applies to it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Triggers {
    /// Words and phrases that name the boundary.
    pub keywords: List<String>,
    /// What somebody is about to do.
    pub actions: List<String>,
    /// Globs of files in which such code usually lives.
    pub file_patterns: List<String>,
}

/// What a code generator tends to get wrong.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Differentiation {
    /// What it usually knows already.
    #[serde(deserialize_with = "text")]
    pub llm_knowledge_state: String,
    /// What the pattern adds.
    #[serde(deserialize_with = "text")]
    pub tmkb_value: String,
    /// Typical slips.
    pub llm_blindspots: List<String>,
}

/// The threat in three sentences.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentSummary {
    /// What goes wrong.
    #[serde(deserialize_with = "text")]
    pub threat: String,
    /// What to verify.
    #[serde(deserialize_with = "text")]
    pub check: String,
    /// What to write.
    #[serde(deserialize_with = "text")]
    pub fix: String,
}

/// How a threat is exploited.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AttackScenario {
    /// The story.
    #[serde(deserialize_with = "text")]
    pub narrative: String,
    /// What must hold for it to work.
    pub preconditions: List<String>,
    /// The story step by step.
    pub attack_steps: List<AttackStep>,
    /// What is lost.
    pub impact: Impact,
}

/// One step of an attack.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AttackStep {
    /// Its number.
    pub step: i64,
    /// What the attacker does.
    #[serde(deserialize_with = "text")]
    pub action: String,
    /// How.
    #[serde(deserialize_with = "text")]
    pub detail: String,
}

/// What is lost when an attack works.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Impact {
    /// `high`, `medium`, `low` or `none`.
    #[serde(deserialize_with = "text")]
    pub confidentiality: String,
    /// `high`, `medium`, `low` or `none`.
    #[serde(deserialize_with = "text")]
    pub integrity: String,
    /// `high`, `medium`, `low` or `none`.
    #[serde(deserialize_with = "text")]
    pub availability: String,
    /// How far it reaches.
    #[serde(deserialize_with = "text")]
    pub scope: String,
    /// What it means to the business.
    #[serde(deserialize_with = "text", skip_serializing_if = "String::is_empty")]
    pub business_impact: String,
}

/// One way to prevent a threat.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Mitigation {
    /// Such as `MIT-AUTHZ-001a`.
    #[serde(deserialize_with = "text")]
    pub id: String,
    /// A short title.
    #[serde(deserialize_with = "text", skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// In prose.
    #[serde(deserialize_with = "text")]
    pub description: String,
    /// `high`, `medium` or `low`.
    #[serde(deserialize_with = "text")]
    pub effectiveness: String,
    /// `high`, `medium` or `low`.
    #[serde(deserialize_with = "text")]
    pub implementation_effort: String,
    /// What it costs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tradeoffs: Vec<String>,
    /// Code before and after.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub code_examples: Vec<CodeExample>,
}

/// Code before and after a mitigation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CodeExample {
    /// Its programming language.
    #[serde(deserialize_with = "text")]
    pub language: String,
    /// Its framework, such as `flask` or `flask-celery`.
    #[serde(deserialize_with = "text")]
    pub framework: String,
    /// What it shows.
    #[serde(deserialize_with = "text")]
    pub description: String,
    /// What is usually written.
    #[serde(deserialize_with = "text", skip_serializing_if = "String::is_empty")]
    pub vulnerable_code: String,
    /// What should be written.
    #[serde(deserialize_with = "text", skip_serializing_if = "String::is_empty")]
    pub secure_code: String,
}

/// A general lesson: a sentence with its explanation, or a sentence alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Principle {
    /// A sentence alone.
    Sentence(String),
    /// A mapping, usually of `principle` and `explanation`.
    Mapping(serde_json::Map<String, Value>),
}

/// A neighbouring pattern.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Related {
    /// Its id.
    #[serde(deserialize_with = "text")]
    pub id: String,
    /// Such as `related`, `extends` or `specializes`.
    #[serde(deserialize_with = "text")]
    pub relationship: String,
    /// In what way.
    #[serde(deserialize_with = "text")]
    pub description: String,
}

/// Ids in public catalogues.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Mappings {
    /// Such as `CWE-862`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cwe: Vec<String>,
    /// Such as `CAPEC-1`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub capec: Vec<String>,
    /// Such as `v5.0.0-8.2.2`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub asvs: Vec<String>,
}

/// A program that exploits the vulnerable code and fails on the secure code.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ExploitTest {
    /// Its programming language.
    #[serde(deserialize_with = "text")]
    pub language: String,
    /// What the code examples take for granted.
    #[serde(deserialize_with = "text", skip_serializing_if = "String::is_empty")]
    pub prelude: String,
    /// The test.
    #[serde(deserialize_with = "text")]
    pub code: String,
}

impl Pattern {
    /// Returns 0 for critical to 3 for low; what is unknown comes last.
    pub fn severity_rank(&self) -> usize {
        position(&SEVERITIES, &self.severity)
    }

    /// Returns 0 for high to 2 for low; what is unknown comes last.
    pub fn likelihood_rank(&self) -> usize {
        position(&LEVELS, &self.likelihood)
    }
}

/// The severities, worst first.
pub const SEVERITIES: [&str; 4] = ["critical", "high", "medium", "low"];
/// The levels of likelihood, effectiveness and effort.
pub const LEVELS: [&str; 3] = ["high", "medium", "low"];

fn position(values: &[&str], value: &str) -> usize {
    values.iter().position(|known| known.eq_ignore_ascii_case(value)).unwrap_or(values.len())
}

/// A list that remembers whether it was written at all: `null` in JSON when it was not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct List<T>(Option<Vec<T>>);

impl<T> Default for List<T> {
    fn default() -> Self {
        List(None)
    }
}

impl<T> From<Vec<T>> for List<T> {
    fn from(items: Vec<T>) -> Self {
        List(Some(items))
    }
}

impl<T> Deref for List<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.0.as_deref().unwrap_or_default()
    }
}

/// A key without a value means the empty text, as it does in the original.
fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Ok(Option::<String>::deserialize(deserializer)?.unwrap_or_default())
}

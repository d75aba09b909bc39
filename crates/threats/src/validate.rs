//! Checks patterns beyond what loading needs: required fields, known values, references that lead somewhere.

use std::fmt;

use crate::library::Library;
use crate::pattern::{LEVELS, Pattern, SEVERITIES};

/// What the three sentences of an agent summary may have together, in characters: some 100 tokens.
const SUMMARY_SIZE_MAX: usize = 400;
/// What an impact may be.
const IMPACTS: &[&str] = &["critical", "high", "medium", "low", "none"];
/// How well a mitigation may work.
const EFFECTIVENESS: &[&str] = &["very high", "high", "medium", "low"];
/// The classes of STRIDE.
const STRIDE: &[&str] = &[
    "spoofing",
    "tampering",
    "repudiation",
    "information-disclosure",
    "denial-of-service",
    "elevation-of-privilege",
];

/// How grave a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The pattern must not be used like this.
    Error,
    /// The pattern could be better.
    Warning,
}

/// Something that is wrong with a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How grave it is.
    pub severity: Severity,
    /// The id of the pattern.
    pub pattern: String,
    /// Where, such as `mitigations[0].id`.
    pub field: String,
    /// What was expected and what was found.
    pub message: String,
}

impl Finding {
    /// Tells whether the pattern must not be served. A reference that leads nowhere does no harm to an answer.
    pub fn is_fatal(&self) -> bool {
        self.severity == Severity::Error && !self.field.starts_with("related_patterns")
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        write!(f, "[{severity}] {}: {} - {}", self.pattern, self.field, self.message)
    }
}

/// Checks every pattern of a library, in its order.
pub fn all(library: &Library) -> Vec<(&Pattern, Vec<Finding>)> {
    library.patterns().iter().map(|pattern| (pattern, one(pattern, library))).collect()
}

/// Checks one pattern: errors first, each in the order of the fields.
pub fn one(pattern: &Pattern, library: &Library) -> Vec<Finding> {
    let mut check = Check { pattern: &pattern.id, findings: Vec::new() };
    check.head(pattern);
    check.summary(pattern);
    check.triggers(pattern);
    check.mitigations(pattern);
    if pattern.tier == "A" {
        check.tier_a(pattern);
    }
    check.references(pattern, library);
    check.extras(pattern);
    check.findings.sort_by_key(|finding| finding.severity);
    check.findings
}

struct Check<'a> {
    pattern: &'a str,
    findings: Vec<Finding>,
}

impl Check<'_> {
    fn head(&mut self, pattern: &Pattern) {
        self.required("id", &pattern.id);
        if !pattern.id.is_empty() && !is_pattern_id(&pattern.id) {
            self.error("id", format!("expected an id such as TMKB-AUTHZ-001, found {:?}", pattern.id));
        }
        self.required("name", &pattern.name);
        self.required("tier", &pattern.tier);
        self.one_of("tier", &pattern.tier, &["A", "B"], Severity::Error);
        self.required("category", &pattern.category);
        self.required("severity", &pattern.severity);
        self.one_of("severity", &pattern.severity, &SEVERITIES, Severity::Error);
        self.one_of("likelihood", &pattern.likelihood, &LEVELS, Severity::Error);
        self.required("description", &pattern.description);
        self.recommended("version", pattern.version.is_empty());
        self.recommended("language", pattern.language.is_empty());
        self.recommended("framework", pattern.framework.is_empty());
        self.recommended("likelihood", pattern.likelihood.is_empty());
        self.recommended("provenance.source_type", pattern.provenance.source_type.is_empty());
        if !pattern.last_updated.is_empty() && !is_date(&pattern.last_updated) {
            let message = format!("expected a day such as 2026-11-15, found {:?}", pattern.last_updated);
            self.warning("last_updated", message);
        }
    }

    fn summary(&mut self, pattern: &Pattern) {
        let summary = &pattern.agent_summary;
        self.required("agent_summary.threat", &summary.threat);
        self.required("agent_summary.check", &summary.check);
        self.required("agent_summary.fix", &summary.fix);
        let size: usize =
            [&summary.threat, &summary.check, &summary.fix].map(|text| text.chars().count()).iter().sum();
        if size > SUMMARY_SIZE_MAX {
            let message =
                format!("expected at most {SUMMARY_SIZE_MAX} characters (some 100 tokens), found {size}");
            self.warning("agent_summary", message);
        }
    }

    fn triggers(&mut self, pattern: &Pattern) {
        let triggers = &pattern.triggers;
        self.recommended("triggers.keywords", triggers.keywords.is_empty());
        for (field, items) in [
            ("triggers.keywords", &triggers.keywords),
            ("triggers.actions", &triggers.actions),
            ("triggers.file_patterns", &triggers.file_patterns),
        ] {
            self.no_blanks(field, items);
            for (index, item) in items.iter().enumerate() {
                if items[..index].iter().any(|other| other.eq_ignore_ascii_case(item)) {
                    self.warning(
                        format!("{field}[{index}]"),
                        format!("expected each once, found {item:?} again"),
                    );
                }
            }
        }
    }

    fn mitigations(&mut self, pattern: &Pattern) {
        if pattern.mitigations.is_empty() {
            self.error("mitigations", "expected at least one, found none");
        }
        for (index, mitigation) in pattern.mitigations.iter().enumerate() {
            let at = |field: &str| format!("mitigations[{index}].{field}");
            self.required(at("id"), &mitigation.id);
            let earlier = pattern.mitigations[..index].iter().any(|other| other.id == mitigation.id);
            if earlier && !mitigation.id.is_empty() {
                self.error(at("id"), format!("expected each id once, found {} again", mitigation.id));
            }
            self.required(at("description"), &mitigation.description);
            self.one_of(at("effectiveness"), &mitigation.effectiveness, EFFECTIVENESS, Severity::Error);
            self.one_of(
                at("implementation_effort"),
                &mitigation.implementation_effort,
                &LEVELS,
                Severity::Error,
            );
            for (number, example) in mitigation.code_examples.iter().enumerate() {
                let at = format!("mitigations[{index}].code_examples[{number}]");
                if example.vulnerable_code.trim().is_empty() && example.secure_code.trim().is_empty() {
                    self.warning(&at, "expected vulnerable_code or secure_code, found neither");
                }
                self.recommended(format!("{at}.language"), example.language.is_empty());
            }
        }
    }

    fn tier_a(&mut self, pattern: &Pattern) {
        match &pattern.attack_scenario {
            None => self.error("attack_scenario", "required for Tier A, found none"),
            Some(scenario) => {
                if scenario.narrative.trim().is_empty() {
                    self.error("attack_scenario.narrative", "required for Tier A, found none");
                }
                self.recommended("attack_scenario.preconditions", scenario.preconditions.is_empty());
            }
        }
        self.recommended("generalizes_to", pattern.generalizes_to.is_empty());
        self.recommended("security_principles", pattern.security_principles.is_empty());
        if pattern.mitigations.iter().all(|mitigation| mitigation.code_examples.is_empty()) {
            self.warning("mitigations", "expected code_examples for Tier A, found none");
        }
    }

    fn references(&mut self, pattern: &Pattern, library: &Library) {
        for (index, related) in pattern.related_patterns.iter().enumerate() {
            let field = format!("related_patterns[{index}].id");
            if related.id.eq_ignore_ascii_case(&pattern.id) {
                self.warning(field, "expected another pattern, found this one");
            } else if let Err(unknown) = library.get(&related.id) {
                let hint = hint(unknown.nearest.first().map(String::as_str));
                self.error(
                    field,
                    format!("expected the id of a loaded pattern, found {:?}{hint}", related.id),
                );
            }
        }
        for (index, reference) in pattern.provenance.public_references.iter().enumerate() {
            let field = format!("provenance.public_references[{index}]");
            if !reference.cwe.is_empty() && !is_numbered(&reference.cwe, "CWE-") {
                self.warning(
                    format!("{field}.cwe"),
                    format!("expected an id such as CWE-862, found {:?}", reference.cwe),
                );
            }
            if !reference.url.is_empty()
                && !reference.url.starts_with("https://")
                && !reference.url.starts_with("http://")
            {
                self.warning(
                    format!("{field}.url"),
                    format!("expected a web address, found {:?}", reference.url),
                );
            }
        }
        if let Some(scenario) = &pattern.attack_scenario {
            let impact = &scenario.impact;
            for (field, value) in [
                ("confidentiality", &impact.confidentiality),
                ("integrity", &impact.integrity),
                ("availability", &impact.availability),
            ] {
                self.one_of(format!("attack_scenario.impact.{field}"), value, IMPACTS, Severity::Warning);
            }
        }
    }

    fn extras(&mut self, pattern: &Pattern) {
        for (index, class) in pattern.stride.iter().enumerate() {
            self.one_of(format!("stride[{index}]"), class, STRIDE, Severity::Error);
        }
        if let Some(mappings) = &pattern.mappings {
            for (field, ids, is_id, example) in [
                ("cwe", &mappings.cwe, is_cwe as fn(&str) -> bool, "CWE-862"),
                ("capec", &mappings.capec, is_capec, "CAPEC-1"),
                ("asvs", &mappings.asvs, is_asvs, "v5.0.0-8.2.2"),
            ] {
                for (index, id) in ids.iter().enumerate().filter(|(_, id)| !is_id(id)) {
                    let message = format!("expected an id such as {example}, found {id:?}");
                    self.error(format!("mappings.{field}[{index}]"), message);
                }
            }
        }
        self.no_blanks("signals", &pattern.signals);
        self.no_blanks("acceptance_criteria", &pattern.acceptance_criteria);
        if let Some(test) = &pattern.exploit_test {
            self.required("exploit_test.language", &test.language);
            self.required("exploit_test.code", &test.code);
        }
    }

    fn required(&mut self, field: impl Into<String>, value: &str) {
        if value.trim().is_empty() {
            self.error(field, "required, found nothing");
        }
    }

    fn recommended(&mut self, field: impl Into<String>, missing: bool) {
        if missing {
            self.warning(field, "recommended, found nothing");
        }
    }

    fn no_blanks(&mut self, field: &str, items: &[String]) {
        for (index, _) in items.iter().enumerate().filter(|(_, item)| item.trim().is_empty()) {
            self.error(format!("{field}[{index}]"), "expected text, found nothing");
        }
    }

    fn one_of(&mut self, field: impl Into<String>, value: &str, known: &[&str], severity: Severity) {
        // Severities and levels are read in any case; tiers, which are capitals, as they stand.
        let lower = value.to_lowercase();
        if value.is_empty() || known.iter().any(|known| *known == value || *known == lower) {
            return;
        }
        let hint = hint(nearest::nearest(value, known.iter().copied()));
        self.add(severity, field, format!("expected {}, found {value:?}{hint}", known.join(", ")));
    }

    fn error(&mut self, field: impl Into<String>, message: impl Into<String>) {
        self.add(Severity::Error, field, message);
    }

    fn warning(&mut self, field: impl Into<String>, message: impl Into<String>) {
        self.add(Severity::Warning, field, message);
    }

    fn add(&mut self, severity: Severity, field: impl Into<String>, message: impl Into<String>) {
        let (field, message) = (field.into(), message.into());
        self.findings.push(Finding { severity, pattern: self.pattern.to_owned(), field, message });
    }
}

fn hint(nearest: Option<&str>) -> String {
    nearest.map_or(String::new(), |nearest| format!("; did you mean {nearest:?}?"))
}

/// `TMKB-AUTHZ-001`: capitals and digits in three parts or more, the last of them three digits.
fn is_pattern_id(id: &str) -> bool {
    let parts: Vec<&str> = id.split('-').collect();
    let is_name = |part: &&str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
    };
    let (last, names) = parts.split_last().expect("a split has one part at least");
    names.len() >= 2 && names.iter().all(is_name) && last.len() == 3 && is_number(last)
}

fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
    lengths == [4, 2, 2] && parts.iter().all(|part| is_number(part))
}

fn is_cwe(id: &str) -> bool {
    is_numbered(id, "CWE-")
}

fn is_capec(id: &str) -> bool {
    is_numbered(id, "CAPEC-")
}

/// `v5.0.0-8.2.2`, or `8.2.2` alone.
fn is_asvs(id: &str) -> bool {
    let dotted = |text: &str| text.split('.').count() == 3 && text.split('.').all(is_number);
    match id.split_once('-') {
        Some((version, number)) => version.strip_prefix('v').is_some_and(dotted) && dotted(number),
        None => dotted(id),
    }
}

fn is_numbered(id: &str, prefix: &str) -> bool {
    id.strip_prefix(prefix).is_some_and(is_number)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

//! What evidence says about the requirements that a change touches, on both sides of it: the reports in the checkout, and what was
//! pushed for these contents before.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use evidence::Results;
use ops::known;
use ops::thread::{PushedFile, SideOfChange};
use serde::Deserialize;
use serde_json::json;
use store::model::{Kind, Reference};
use trace::project::{Documents, Project, Texts};

use super::change::Change;
use super::rule::{Fact, Rule, Standing};
use super::side::CitedHere;
use super::{Ask, CannotTell};
use crate::managed::{Checkout, PROJECT_FILE, ProjectFile, Reports, matching_reports};

/// References that are judged at once.
const REFERENCES_AT_ONCE: usize = 200;
/// Tests that a finding names.
const TESTS_SHOWN: usize = 3;

/// What is judged.
pub struct Judged<'a> {
    /// The project, to read texts with.
    pub project: &'a Project,
    /// Its specifications, as far as they were read.
    pub documents: &'a mut Documents,
    /// What says which reports there are.
    pub file: &'a ProjectFile,
    /// The verdict that closes, as the base says.
    pub closes_at: &'a str,
    /// The lease that the change is for.
    pub lease: Option<&'a LeasedWork>,
    /// What the change changes.
    pub change: &'a Change,
    /// The citations that it touches, after it.
    pub touched: Vec<&'a CitedHere>,
    /// Files that the change leaves as they are and that cite what it touches; all files where there are reports.
    pub rest: Texts,
}

/// The lease that a change is for.
pub struct LeasedWork {
    /// Its name: `REQ-012.3`.
    pub name: String,
    /// The requirement, as citations name it.
    pub reference: String,
    /// What a file that cites it has in it.
    pub needle: String,
}

/// What evidence made worse.
#[derive(Default)]
pub struct Proof {
    /// What is worse.
    pub findings: Vec<Fact>,
    /// What could not be judged.
    pub notes: Vec<String>,
}

#[derive(Deserialize)]
struct Answer {
    units: Vec<Unit>,
    // A server of an earlier version says nothing of threats.
    #[serde(default)]
    threats: Vec<Threat>,
}

#[derive(Deserialize)]
struct Threat {
    reference_id: String,
    threatens: String,
    pattern: String,
    name: String,
    severity: String,
    decided: bool,
    applies: bool,
    why_open: Option<String>,
    was_open: bool,
}

#[derive(Deserialize)]
struct Unit {
    reference_id: String,
    unit: String,
    text: String,
    #[serde(default)]
    demanded: bool,
    before: Judgement,
    after: Judgement,
}

#[derive(Deserialize)]
struct Judgement {
    cited: bool,
    ran: bool,
    verdict: String,
    closes: bool,
    why_open: Option<String>,
    #[serde(default)]
    tests: Vec<String>,
}

impl Judgement {
    /// What nothing cites needs no evidence.
    fn standing(&self) -> Standing {
        if self.cited { Standing::of(&self.verdict, self.closes) } else { Standing::Closed }
    }
}

/// The reports that a project file names.
pub fn report_paths(root: &Path, file: &ProjectFile) -> Result<Vec<PathBuf>, CannotTell> {
    let mut paths = Vec::new();
    for pattern in &file.reports {
        paths.extend(matching_reports(root, pattern).map_err(CannotTell)?);
    }
    Ok(paths)
}

/// Judges what a change touches.
pub fn judge(asked: Judged<'_>, paths: &[PathBuf], ask: &Ask<'_>) -> Result<Proof, CannotTell> {
    let Judged { project, documents, file, closes_at, lease, change, touched, rest } = asked;
    let root = &project.options.root;
    let mut proof = Proof::default();
    let (mut before, mut after) = (rest.clone(), rest);
    for file in &change.files {
        before.extend(file.before.clone().map(|text| (file.path_before().clone(), text)));
        after.extend(file.after.clone().map(|text| (file.path.clone(), text)));
    }
    let mut checkout = |texts: &Texts| {
        let model = project.load_texts(documents, texts);
        Checkout::of_texts(root, &model, file, texts.iter())
    };
    let (before, mut after) = (checkout(&before), checkout(&after));
    let reports = Reports::read(root, paths, &after.paths())
        .map_err(|problem| CannotTell(format!("what the tests showed is not known: {problem}")))?;
    let results = Results::new(&reports.found, &after.tests, &after.paths(), None);
    proof.notes.extend(reports.foreign.iter().cloned());
    proof.notes.extend(after.link(&results, &file.project));
    if let Some(reason) = &results.incomplete {
        proof.notes.push(format!("the test run is incomplete, and shows nothing: {reason}"));
    }
    untested(&mut proof, change, &touched, &reports, root);

    let wanted: BTreeSet<&str> = touched
        .iter()
        .filter(|cited| cited.target.is_managed)
        .map(|cited| cited.target.name.as_str())
        .collect();
    // Criteria may be against threats to what is touched.
    let is_of = |reference: &str| {
        wanted.contains(reference)
            || is_criterion(reference)
            || lease.is_some_and(|lease| lease.reference == reference)
    };
    let mut sides = [SideOfChange::default(), SideOfChange::default()];
    for (side, checkout) in sides.iter_mut().zip([&before, &after]) {
        side.files = checkout.pushed_files();
        for file in &mut side.files {
            file.citations.retain(|cited| is_of(&cited.reference));
        }
        side.files.retain(|file| !file.citations.is_empty());
    }
    if !reports.found.is_empty() {
        let (_, last) = reports.written.unwrap_or((std::time::UNIX_EPOCH, std::time::UNIX_EPOCH));
        sides[1].tests = Some(after.pushed_tests(&results, &reports));
        sides[1].tool = reports.tools();
        sides[1].is_whole = results.incomplete.is_none();
        sides[1].at = last.duration_since(std::time::UNIX_EPOCH).unwrap_or_default().as_micros() as i64;
    }
    let [before, after] = sides;
    let places = Places { touched: &touched, cited: cited_at(&after.files) };
    let content = json!({"before": before, "after": after}).to_string();
    let names: Vec<&str> = wanted.iter().copied().collect();
    let mut units = Vec::new();
    let mut threats = Vec::new();
    let mut chunks: Vec<&[&str]> = names.chunks(REFERENCES_AT_ONCE).collect();
    if chunks.is_empty() {
        chunks.push(&[]);
    }
    for (index, references) in chunks.into_iter().enumerate() {
        let mut arguments = json!({
            "project": file.project, "references": references, "closes_at": closes_at, "content": content,
        });
        if let Some(repository) = &file.repository {
            arguments["repository"] = json!(repository);
        }
        if let Some(lease) = lease.filter(|_| index == 0) {
            arguments["lease"] = json!(lease.name);
        }
        let answer = match ask(known::JUDGE_CHANGE, arguments) {
            Ok(answer) => answer,
            Err(problem) if lease.is_some() => return Err(CannotTell(problem)),
            Err(problem) => {
                let note = format!("evidence was not judged, because the store cannot be asked: {problem}");
                proof.notes.push(note);
                return Ok(proof);
            }
        };
        let answer: Answer = serde_json::from_value(answer).map_err(|error| CannotTell(error.to_string()))?;
        units.extend(answer.units);
        threats.extend(answer.threats);
    }
    let has_evidence = !file.reports.is_empty() || units.iter().any(|unit| unit.before.ran || unit.after.ran);
    if !has_evidence {
        let note = "evidence was not judged: no run of a test is known, and `reports` in .spexus/project.toml names none";
        proof.notes.push(note.to_owned());
        units.retain(|unit| unit.demanded);
        threats.retain(|threat| !threat.applies);
    }
    let has_no_report = reports.found.is_empty();
    proof.findings.extend(units.iter().filter_map(|unit| finding(unit, lease, &places, has_no_report)));
    // One for the requirement and for the criteria against it, and if it can be, where the requirement is cited.
    threats.sort_by_key(|threat| threat.reference_id != threat.threatens);
    let mut known = BTreeSet::new();
    for threat in threats {
        if known.insert((threat.threatens.clone(), threat.pattern.clone())) {
            proof.findings.extend(open_threat(&threat, &touched));
        }
    }
    Ok(proof)
}

fn is_criterion(reference: &str) -> bool {
    matches!(Reference::parse(reference), Some(Reference::Numbered { kind: Kind::AcceptanceCriteria, .. }))
}

/// The places that messages about requirements name.
struct Places<'a> {
    touched: &'a [&'a CitedHere],
    /// The first citation of each requirement after the change.
    cited: BTreeMap<String, (String, u32)>,
}

fn cited_at(files: &[PushedFile]) -> BTreeMap<String, (String, u32)> {
    let mut places = BTreeMap::new();
    for file in files {
        for citation in &file.citations {
            places.entry(citation.reference.clone()).or_insert_with(|| (file.path.clone(), citation.line));
        }
    }
    places
}

/// A threat that the change leaves open. One that was as open before is nothing that it made worse, except that nobody has decided.
fn open_threat(threat: &Threat, touched: &[&CitedHere]) -> Option<Fact> {
    let Threat { reference_id, threatens, pattern, name, severity, .. } = threat;
    let rule = match (threat.decided, threat.was_open) {
        (false, _) => Rule::NewThreat,
        (true, false) => Rule::OpenThreat,
        (true, true) => return None,
    };
    let place = touched.iter().find(|cited| cited.target.name == *reference_id)?;
    let why = match (&threat.why_open, threat.applies) {
        (Some(why), true) => format!("it applies, and evidence does not close it: {why}"),
        (Some(why), false) => why.clone(),
        (None, true) => "it applies, and evidence does not close it".to_owned(),
        (None, false) => "nobody has decided whether it applies".to_owned(),
    };
    let help = match threat.applies {
        true => {
            "let tests cite the criteria against it, and run them with coverage where the policy asks for it"
                .to_owned()
        }
        false => format!(
            "decide: spexus threat decide {threatens} {pattern} applies, not_applicable or risk_accepted"
        ),
    };
    Some(Fact {
        rule,
        key: format!("{pattern}\0{threatens}"),
        path: place.path.to_string(),
        line: *place.comment.start(),
        is_changed: true,
        subject: threatens.clone(),
        message: format!("{threatens}: threat {pattern} ({severity}, {name}): {why}"),
        help: vec![help],
    })
}

/// What is worse about a unit, at the first touched citation of it; or what a lease demands of it.
fn finding(
    unit: &Unit,
    lease: Option<&LeasedWork>,
    places: &Places<'_>,
    has_no_report: bool,
) -> Option<Fact> {
    let lease = lease.filter(|_| unit.demanded && !unit.after.closes);
    let rule = match lease {
        Some(_) => Standing::of(&unit.after.verdict, false).rule()?,
        None => Standing::broken(unit.before.standing(), unit.after.standing())?,
    };
    let is_of_unit =
        |cited: &&&CitedHere| cited.target.name == unit.reference_id && cited.units.contains(&unit.unit);
    let touched = places.touched.iter().find(is_of_unit);
    let (path, line) = match (touched, lease) {
        (Some(cited), _) => (cited.path.to_string(), *cited.comment.start()),
        (None, Some(_)) => {
            places.cited.get(&unit.reference_id).cloned().unwrap_or((PROJECT_FILE.to_owned(), 0))
        }
        (None, None) => return None,
    };
    let verdict = unit.after.verdict.replace('_', " ");
    let why = unit.after.why_open.as_deref().unwrap_or(&verdict);
    let before = match (lease, unit.before.cited, unit.before.closes) {
        (Some(lease), ..) => format!("the work of {} is done once it is closed", lease.name),
        (None, false, _) => "the change cites it first".to_owned(),
        (None, true, true) => format!("it was {} before", unit.before.verdict.replace('_', " ")),
        (None, true, false) => {
            format!("it was {} before, too, and not in this way", unit.before.verdict.replace('_', " "))
        }
    };
    let message = format!("{}: {why}; {before}: {}", unit.reference_id, unit.text);
    let help = match rule {
        Rule::FailedEvidence => "make the test pass, or change what it tests with the requirement",
        Rule::FlakyEvidence => {
            "make the test pass at once: one that passes only when it is tried again shows nothing"
        }
        Rule::OldEvidence if has_no_report => {
            "run the tests, and let `reports` in .spexus/project.toml name what they write"
        }
        Rule::OldEvidence => "run the tests again: these files have changed since",
        _ if has_no_report => {
            "let a test cite it, run it, and let `reports` in .spexus/project.toml name what it writes"
        }
        _ => "let a test cite it that runs, with coverage where the policy asks for it",
    };
    let mut help = vec![help.to_owned()];
    help.extend(unit.after.tests.iter().take(TESTS_SHOWN).map(|test| format!("test: {test}")));
    Some(Fact {
        rule,
        key: format!("{}\0{}", unit.reference_id, unit.unit),
        path,
        line,
        is_changed: true,
        subject: unit.reference_id.clone(),
        message,
        help,
    })
}

/// The changed lines of a function that were not executed, and what it cites.
#[derive(Default)]
struct Untested {
    lines: BTreeSet<u32>,
    names: BTreeSet<String>,
}

/// Finds the changed lines of cited code that a report of coverage knows and that were not executed.
fn untested(proof: &mut Proof, change: &Change, touched: &[&CitedHere], reports: &Reports, root: &Path) {
    let coverage: Vec<_> = reports.found.iter().flat_map(|report| &report.coverage).collect();
    if coverage.is_empty() {
        if !reports.found.is_empty() {
            let note = "untested-change was not judged: no report says which lines were executed";
            proof.notes.push(note.to_owned());
        }
        return;
    }
    let mut found: BTreeMap<(Arc<str>, Arc<str>), Untested> = BTreeMap::new();
    for cited in touched.iter().filter(|cited| cited.kind == trace::AnnotationKind::Citation) {
        let Some(file) = change.files.iter().find(|file| file.path == cited.path) else { continue };
        if reports.is_older_than(&root.join(&*cited.path)) {
            continue;
        }
        let (mut known, mut executed) = (BTreeSet::new(), BTreeSet::new());
        for covered in &coverage {
            let is_it = match covered.is_suffix {
                true => cited
                    .path
                    .strip_suffix(covered.file.as_str())
                    .is_some_and(|rest| rest.is_empty() || rest.ends_with('/')),
                false => covered.file == *cited.path,
            };
            if is_it {
                known.extend(covered.lines.iter().map(|(line, _)| *line));
                executed.extend(covered.lines.iter().filter(|(_, was_hit)| *was_hit).map(|(line, _)| *line));
            }
        }
        let is_changed = |line: &u32| file.hunks.iter().any(|hunk| hunk.after.contains(line));
        let lines = cited
            .body
            .iter()
            .copied()
            .filter(|line| is_changed(line) && known.contains(line) && !executed.contains(line));
        let lines: BTreeSet<u32> = lines.collect();
        if lines.is_empty() {
            continue;
        }
        let symbol = cited.symbol.clone().unwrap_or_default();
        let entry = found.entry((cited.path.clone(), symbol)).or_default();
        entry.lines.extend(lines);
        entry.names.insert(cited.target.name.clone());
    }
    for ((path, symbol), Untested { lines, names }) in found {
        let names = names.into_iter().collect::<Vec<_>>().join(", ");
        let shown = super::text::ranges(lines.iter().copied());
        proof.findings.push(Fact {
            rule: Rule::UntestedChange,
            key: format!("{path}\0{symbol}"),
            path: path.to_string(),
            line: lines.first().copied().unwrap_or_default(),
            is_changed: true,
            subject: names.clone(),
            message: format!("no test executed the changed lines {shown} of {symbol}, which cites {names}"),
            help: vec!["add a test that executes them, or let an existing one".to_owned()],
        });
    }
}

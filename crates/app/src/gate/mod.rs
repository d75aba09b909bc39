//! The gate: what a change makes worse. `check_change` compares the files of a change with what they were at its base, judged by
//! the same texts of requirements, and tells what was not wrong before.
//!
//! `repository.rs` reads commits, `change.rs` makes of them texts and changed lines, `side.rs` finds citations and what is wrong with
//! them, `proof.rs` asks what evidence says. `rule.rs` and `policy.rs` decide, and read nothing.

mod change;
mod command;
mod json;
mod junit;
mod markdown;
mod patch;
mod policy;
mod proof;
mod repository;
mod rule;
mod sarif;
mod side;
mod text;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use serde_json::Value;
use trace::Config;
use trace::managed::ManagedName;
use trace::project::{CONFIG_PATH, Documents, Options, Project, Texts};

use self::change::{Change, ChangedFile};
use self::policy::Policies;
use self::proof::LeasedWork;
use self::repository::{Files, Repository};
use self::rule::{Fact, worse};
use self::side::{CitedHere, Side, When};
use crate::managed::{PROJECT_FILE, ProjectFile};

pub(crate) use self::command::{called, described};
pub use self::command::{command, failing, run};
pub use self::rule::Rule;

/// What a change is compared with where nobody says: the main branch, as the remote has it or as it is here.
const BASES: [&str; 5] = [
    "refs/remotes/origin/HEAD",
    "refs/remotes/origin/main",
    "refs/remotes/origin/master",
    "refs/heads/main",
    "refs/heads/master",
];
/// How references of criteria begin.
const CRITERION: &str = "AC-";
/// The most places shown for a touched requirement.
const PLACES_SHOWN: usize = 3;

/// Runs an operation, wherever the requirements are.
pub type Ask<'a> = dyn Fn(&'static ops::Entry, Value) -> Result<Value, String> + 'a;

/// What is to be checked.
#[derive(Debug, Default)]
pub struct Question {
    /// The ref or commit to compare with; the main branch if nobody says.
    pub base: Option<String>,
    /// A unified diff that is applied to the base in memory, in place of the work tree.
    pub diff: Option<String>,
    /// The lease that the change is for: what the work has to show must be closed.
    pub lease: Option<String>,
    /// Rules that fail the check though they are for information.
    pub deny: Vec<Rule>,
}

/// Why a check has no answer: it must not be taken for one that found nothing.
#[derive(Debug, PartialEq, Eq)]
pub struct CannotTell(pub String);

/// What a change makes worse.
#[derive(Debug)]
pub struct Findings {
    /// What the change was compared with, as it was named.
    pub base: String,
    /// The commit that it was compared with.
    pub base_commit: String,
    /// What was compared with it: the commit that is checked out, or that a diff was read.
    pub head: String,
    /// How many source files the change changes.
    pub n_files: usize,
    /// What is worse.
    pub findings: Vec<Fact>,
    /// What the reader should know: what was left out or could not be judged.
    pub notes: Vec<String>,
    deny: Vec<Rule>,
}

impl Findings {
    /// Whether a finding fails the check.
    pub fn fails(&self, finding: &Fact) -> bool {
        !finding.rule.is_information() || self.deny.contains(&finding.rule)
    }

    /// How many findings fail the check.
    pub fn n_failing(&self) -> usize {
        self.findings.iter().filter(|finding| self.fails(finding)).count()
    }
}

/// Checks a change of a project, whose options say where texts of managed requirements come from.
pub fn check_change(
    options: &Options,
    file: Option<&ProjectFile>,
    question: &Question,
    ask: &Ask<'_>,
) -> Result<Findings, CannotTell> {
    let repository = Repository::open(&options.root)?;
    let (named, base, head) = base_of(&repository, question)?;
    let all = repository.files(base, &|_| true)?;
    let mut notes = Vec::new();
    let before = policies_before(&repository, &all, options, &mut notes)?;

    // What the base calls source code is checked whatever the change says of it.
    let mut options = options.clone();
    let shown = |problems: Vec<trace::Diagnostic>| {
        let lines: Vec<String> = problems.iter().map(crate::duvet::server::line).collect();
        CannotTell(lines.join("\n"))
    };
    let environment = &crate::duvet::environment;
    let opened = Project::open(options.clone(), environment).map_err(shown)?;
    let after = Policies {
        project: file.cloned(),
        sources: opened.config.as_ref().map(policy::patterns).unwrap_or_default(),
    };
    let missing = before.sources.iter().filter(|pattern| !after.sources.contains(pattern)).cloned();
    let of_file = before.project.iter().flat_map(ProjectFile::source_patterns);
    let mut added: Vec<String> = missing.chain(of_file).collect();
    added.retain(|pattern| !options.source_patterns.contains(pattern));
    options.source_patterns.extend(added);
    let project = Project::open(options, environment).map_err(shown)?;
    let sources = project.sources();
    let old: Files = all.into_iter().filter(|(path, _)| sources.has(path)).collect();

    let change = match &question.diff {
        Some(diff) => change::of_diff(&repository, &old, diff, &|path| sources.has(path))?,
        None => change::of_work_tree(&repository, &project.options.root, &old, &project.source_paths())?,
    };
    notes.extend(change.notes.iter().cloned());
    let mut findings = match &question.diff {
        // A diff leaves the files alone by which this project is read.
        Some(_) => Vec::new(),
        None => policy::weakened(&before, &after),
    };

    let mut documents = Documents::new(&project, None);
    let [was, is] = sides(&project, &mut documents, &change, &mut notes);
    let unknown = worse(&was.unknown, is.unknown);
    if let Some(fact) = unknown.first() {
        return Err(CannotTell(format!("{}:{}: {}", fact.path, fact.line, fact.message)));
    }
    // Whoever cites it in a wrong way has not removed it.
    let cited_wrongly: BTreeSet<String> = is.facts.iter().map(|fact| fact.subject.clone()).collect();
    findings.extend(worse(&was.facts, is.facts));

    let touched = touched(&change, &was.cited, &is.cited);
    let rest = Rest {
        repository: &repository,
        project: &project,
        old: &old,
        change: &change,
        is_diff: question.diff.is_some(),
    };
    let missed = removed(&rest, &mut documents, &change, &was.cited, &is.cited)?;
    findings.extend(missed.into_iter().filter(|fact| !cited_wrongly.contains(&fact.subject)));
    let policy_file = before.project.as_ref().or(file);
    let lease = question.lease.as_deref().map(|name| leased(name, policy_file)).transpose()?;
    if let Some(policy_file) = policy_file {
        let asked = Asked { file: policy_file, lease: lease.as_ref(), ask };
        findings.extend(evidence(&rest, &mut documents, asked, touched.clone(), &mut notes)?);
    }
    findings.extend(told(&touched));
    // Both sides are in the order of rules; here they come together.
    let findings = worse(&[], findings);
    Ok(Findings {
        base: named,
        base_commit: repository::short(base),
        head,
        n_files: change.files.len(),
        findings,
        notes,
        deny: question.deny.clone(),
    })
}

/// What a change is compared with: how it was named, its commit, and what is compared with it.
fn base_of(
    repository: &Repository,
    question: &Question,
) -> Result<(String, gix_hash::ObjectId, String), CannotTell> {
    let head = repository.head()?;
    if question.diff.is_some() {
        let named = question.base.clone().unwrap_or_else(|| "HEAD".to_owned());
        let base = repository.resolve(&named)?;
        return Ok((named, base, "a diff".to_owned()));
    }
    let (named, other) = match &question.base {
        Some(name) => (name.clone(), repository.resolve(name)?),
        None => repository.first_of(&BASES).ok_or_else(|| {
            CannotTell(
                "there is no main branch to compare with; name what to compare with: `--base REF`".to_owned(),
            )
        })?,
    };
    let base = repository.merge_base(other, head)?;
    let named = named.trim_start_matches("refs/remotes/").trim_start_matches("refs/heads/").to_owned();
    Ok((named, base, repository::short(head)))
}

/// What the base says of what is checked.
fn policies_before(
    repository: &Repository,
    all: &Files,
    options: &Options,
    notes: &mut Vec<String>,
) -> Result<Policies, CannotTell> {
    let text = |path: &str| -> Result<Option<String>, CannotTell> {
        let Some(id) = all.get(path) else { return Ok(None) };
        Ok(String::from_utf8(repository.content(path, id)?).ok())
    };
    let mut policies = Policies::default();
    if let Some(text) = text(PROJECT_FILE)? {
        match ProjectFile::parse(&text) {
            Ok(file) => policies.project = Some(file),
            Err(_) => notes.push(format!("{PROJECT_FILE} of the base cannot be used; the present one is")),
        }
    }
    let config_path =
        options.config_path.as_deref().map_or(CONFIG_PATH.into(), |path| path.to_string_lossy());
    if let Some(text) = text(&config_path)? {
        match Config::parse(&Arc::from(&*config_path), &text, &crate::duvet::environment) {
            Ok(config) => policies.sources = policy::patterns(&config),
            Err(_) => notes.push(format!("{config_path} of the base cannot be used; the present one is")),
        }
    }
    Ok(policies)
}

/// Reads both sides of a change, with the same specifications.
fn sides(
    project: &Project,
    documents: &mut Documents,
    change: &Change,
    notes: &mut Vec<String>,
) -> [Side; 2] {
    let mut side = |when: When| {
        let path = |file: &ChangedFile| match when {
            When::Before => file.path_before().clone(),
            When::After => file.path.clone(),
        };
        let text = |file: &ChangedFile| match when {
            When::Before => file.before.clone(),
            When::After => file.after.clone(),
        };
        let texts: Texts = change.files.iter().filter_map(|file| Some((path(file), text(file)?))).collect();
        let paths: Vec<(Arc<str>, &ChangedFile)> =
            change.files.iter().map(|file| (path(file), file)).collect();
        let changed: HashMap<&str, &ChangedFile> =
            paths.iter().map(|(path, file)| (&**path, *file)).collect();
        let model = project.load_texts(documents, &texts);
        for problem in model.general.iter() {
            if !notes.contains(&problem.message) {
                notes.push(problem.message.clone());
            }
        }
        Side::read(&model, &texts, &changed, when)
    };
    [side(When::Before), side(When::After)]
}

/// The citations whose code or comment a change touches: after it, and those that it removes.
#[derive(Clone)]
struct Touched<'a> {
    after: Vec<&'a CitedHere>,
    before: Vec<&'a CitedHere>,
}

fn touched<'a>(change: &Change, was: &'a [CitedHere], is: &'a [CitedHere]) -> Touched<'a> {
    let after: HashMap<&str, &ChangedFile> = change.files.iter().map(|file| (&*file.path, file)).collect();
    let before: HashMap<&str, &ChangedFile> =
        change.files.iter().map(|file| (&**file.path_before(), file)).collect();
    let is_touched =
        |cited: &&CitedHere| after.get(&*cited.path).is_some_and(|file| file.has_changed(&cited.lines));
    let was_touched =
        |cited: &&CitedHere| before.get(&*cited.path).is_some_and(|file| file.had_changed(&cited.lines));
    Touched {
        after: is.iter().filter(is_touched).collect(),
        before: was.iter().filter(was_touched).collect(),
    }
}

/// Files that a change leaves as they are.
struct Rest<'a> {
    repository: &'a Repository,
    project: &'a Project,
    old: &'a Files,
    change: &'a Change,
    /// Whether the change is a diff, so that the other files are those of the base.
    is_diff: bool,
}

impl Rest<'_> {
    /// The texts of those that have one of some words in them; all of them where there are no words.
    fn texts(&self, needles: Option<&BTreeSet<&str>>) -> Result<Texts, CannotTell> {
        let changed: BTreeSet<&str> =
            self.change.files.iter().flat_map(|file| [&**file.path_before(), &*file.path]).collect();
        let finders: Option<Vec<_>> = needles.map(|needles| {
            needles.iter().map(|needle| memchr::memmem::Finder::new(needle.as_bytes())).collect()
        });
        let is_wanted = |bytes: &[u8]| match &finders {
            Some(finders) => finders.iter().any(|finder| finder.find(bytes).is_some()),
            None => true,
        };
        let mut texts = Texts::new();
        let mut add = |path: &str, bytes: Vec<u8>| {
            if is_wanted(&bytes)
                && let Ok(text) = String::from_utf8(bytes)
            {
                texts.insert(path.into(), text.into());
            }
        };
        if self.is_diff {
            for (path, id) in self.old.iter().filter(|(path, _)| !changed.contains(path.as_str())) {
                add(path, self.repository.content(path, id)?);
            }
            return Ok(texts);
        }
        let paths = self.project.source_paths();
        for path in paths.iter().filter(|path| !changed.contains(&***path)) {
            if let Ok(Some(bytes)) = change::read_one(&self.project.options.root.join(&**path)) {
                add(path, bytes);
            }
        }
        Ok(texts)
    }
}

/// The requirements whose last citation a change removes.
fn removed(
    rest: &Rest<'_>,
    documents: &mut Documents,
    change: &Change,
    was: &[CitedHere],
    is: &[CitedHere],
) -> Result<Vec<Fact>, CannotTell> {
    let mut gone = side::by_requirement(was);
    let kept = side::by_requirement(is);
    gone.retain(|key, _| !kept.contains_key(key));
    if gone.is_empty() {
        return Ok(Vec::new());
    }
    let needles: BTreeSet<&str> = gone.values().map(|cited| cited[0].target.needle.as_str()).collect();
    let texts = rest.texts(Some(&needles))?;
    let model = rest.project.load_texts(documents, &texts);
    let others = Side::read(&model, &texts, &HashMap::new(), When::After).cited;
    let elsewhere = side::by_requirement(&others);
    gone.retain(|key, _| !elsewhere.contains_key(key));
    let found = gone.into_values().map(|cited| {
        let last = cited[0];
        let file = change.files.iter().find(|file| *file.path_before() == last.path);
        let (path, line) = match file {
            // The line after the change that is where the comment was.
            Some(file) if file.after.is_some() => {
                (file.path.clone(), line_after(file, *last.comment.start()))
            }
            _ => (last.path.clone(), 0),
        };
        let requirement = &last.target;
        Fact {
            rule: Rule::RemovedCitation,
            key: format!("{}\0{}", requirement.name, requirement.hash),
            path: path.to_string(),
            line,
            is_changed: true,
            subject: requirement.name.clone(),
            message: format!(
                "nothing cites {} any more: its last citation was at {}:{}: {}",
                requirement.name,
                last.path,
                last.comment.start(),
                requirement.text
            ),
            help: vec!["cite it where it is implemented now, or make the requirement obsolete".to_owned()],
        }
    });
    Ok(found.collect())
}

/// A citation that a change touches, at the place where it is, or would be, after the change.
fn moved(change: &Change, cited: &CitedHere) -> Option<CitedHere> {
    let file = change.files.iter().find(|file| *file.path_before() == cited.path)?;
    let line = if file.after.is_some() { line_after(file, *cited.comment.start()) } else { 0 };
    Some(CitedHere {
        path: file.path.clone(),
        comment: line..=line,
        lines: line..=line,
        body: Arc::from([]),
        ..cited.clone()
    })
}

/// Where a line is, or would be, after a change.
fn line_after(file: &ChangedFile, line: u32) -> u32 {
    let mut moved = i64::from(line);
    for hunk in file.hunks.iter().take_while(|hunk| hunk.before.start <= line) {
        if hunk.before.contains(&line) {
            return hunk.after.start.min(n_lines(file)).max(1);
        }
        moved +=
            i64::from(hunk.after.end - hunk.after.start) - i64::from(hunk.before.end - hunk.before.start);
    }
    u32::try_from(moved).unwrap_or(1).clamp(1, n_lines(file).max(1))
}

fn n_lines(file: &ChangedFile) -> u32 {
    file.after.as_ref().map_or(0, |text| text.lines().count() as u32)
}

/// What a lease is for, by its name.
fn leased(name: &str, file: Option<&ProjectFile>) -> Result<LeasedWork, CannotTell> {
    let file = file.ok_or_else(|| {
        CannotTell(format!(
            "--lease is about work in a store, and there is no {PROJECT_FILE} that names its project"
        ))
    })?;
    let reference = name.rsplit_once('.').map(|(reference, _)| reference);
    let target = reference.and_then(trace::managed::bare_reference);
    let named = target.and_then(|target| ManagedName::parse(&target).ok());
    let named =
        named.ok_or_else(|| CannotTell(format!("expected a lease such as REQ-012.3, found {name:?}")))?;
    let named = named.within(&file.project);
    Ok(LeasedWork { name: name.to_owned(), reference: side::reference(&named), needle: named.reference })
}

/// By what evidence is judged.
struct Asked<'a> {
    file: &'a ProjectFile,
    lease: Option<&'a LeasedWork>,
    ask: &'a Ask<'a>,
}

/// What evidence made worse for what a change touches.
fn evidence(
    rest: &Rest<'_>,
    documents: &mut Documents,
    Asked { file, lease, ask }: Asked<'_>,
    touched: Touched<'_>,
    notes: &mut Vec<String>,
) -> Result<Vec<Fact>, CannotTell> {
    let mut named: BTreeMap<&str, &str> = BTreeMap::new();
    for cited in touched.after.iter().chain(&touched.before).filter(|cited| cited.target.is_managed) {
        named.insert(&cited.target.name, &cited.target.needle);
    }
    if named.is_empty() && lease.is_none() {
        return Ok(Vec::new());
    }
    if rest.is_diff {
        notes.push("evidence was not judged: no test has run with this diff".to_owned());
        return Ok(Vec::new());
    }
    let paths = proof::report_paths(&rest.project.options.root, file)?;
    let mut needles: BTreeSet<&str> = named.values().copied().collect();
    needles.extend(lease.map(|lease| lease.needle.as_str()));
    // Criteria may be against threats to what is touched.
    needles.insert(CRITERION);
    // Matching a case needs all tests: two that fit are an error.
    let texts = rest.texts(Some(&needles).filter(|_| paths.is_empty()))?;
    // What was removed is missed where it was.
    let gone: Vec<CitedHere> = touched.before.iter().filter_map(|cited| moved(rest.change, cited)).collect();
    let all = touched.after.into_iter().chain(&gone).collect();
    let judged = proof::Judged {
        project: rest.project,
        documents,
        file,
        closes_at: &file.policy.closes,
        lease,
        change: rest.change,
        touched: all,
        rest: texts,
    };
    let proof = proof::judge(judged, &paths, ask)?;
    notes.extend(proof.notes);
    Ok(proof.findings)
}

/// What a change touches, for information: each requirement with the places.
fn told(touched: &Touched<'_>) -> Vec<Fact> {
    let after = touched.after.iter().copied().cloned().collect::<Vec<_>>();
    let by_requirement = side::by_requirement(&after);
    let found = by_requirement.into_values().map(|cited| {
        let first = cited[0];
        let mut places: Vec<String> = Vec::new();
        for cited in &cited {
            let symbol = cited.symbol.as_ref().map(|symbol| format!(" ({symbol})")).unwrap_or_default();
            let place = format!("{}:{}{symbol}", cited.path, cited.comment.start());
            if !places.contains(&place) {
                places.push(place);
            }
        }
        let more = places.len().saturating_sub(PLACES_SHOWN);
        places.truncate(PLACES_SHOWN);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let requirement = &first.target;
        Fact {
            rule: Rule::Touched,
            key: format!("{}\0{}", requirement.name, requirement.hash),
            path: first.path.to_string(),
            line: *first.comment.start(),
            is_changed: true,
            subject: requirement.name.clone(),
            message: format!("{}: {}; {}{more}", requirement.name, requirement.text, places.join(", ")),
            help: Vec::new(),
        }
    });
    found.collect()
}

//! Pushes the citations of a checkout.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use store::Mode;
use store::sizes::{self, Grown};
use store::thread::repository::Repository;
use store::thread::snapshot::{self, Citation, CitationKind, Snapshot, TracedFile};

use super::counted;
use super::lines::{self, PushFormat, PushedFile, case_id};
use super::pushing::{self, Meant, Pusher};
use super::tidy::{self, Leftover};
use crate::context::{Cx, Subject};
use crate::error::{Error, ErrorKind, Result};
use crate::input::Text;
use crate::operation::{Command, Effect, FileArguments, Operation, Output, Route, command, post};

/// How many rows are written in one transaction.
const ROWS_AT_ONCE: usize = 1_000;
/// How many unknown references are listed.
const UNKNOWN_TOLD: usize = 50;

/// Push the citations of a repository: all of a checkout, replacing the previous ones.
///
/// The content has a line of JSON for each file: `{"path", "blob", "citations": [{"line", "last_line", "kind", "reference",
/// "units", "pin",
/// "symbol", "covered"}]}`; `spexus push` writes it. It becomes visible when all of it has arrived. Pushing the same content again
/// changes nothing. Citations of entities that you cannot see are reported as unknown and left out.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PushTrace {
    /// The repository: its name or id.
    repository: Text<1, 200>,
    /// The ref of the checkout; default: the repository's main ref.
    #[serde(rename = "ref")]
    ref_name: Option<Text<1, 200>>,
    /// The commit of the checkout.
    commit: Option<Text<7, 64>>,
    /// Whether files differ from that commit.
    #[serde(default)]
    dirty: bool,
    /// The format of the content.
    #[serde(default)]
    #[allow(dead_code)]
    format: PushFormat,
    /// A line of JSON for each file.
    content: String,
    #[serde(skip)]
    #[schemars(skip)]
    work: Option<Mutex<Work>>,
    #[serde(skip)]
    #[schemars(skip)]
    is_taken: bool,
}

/// The result of a push.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TracePushed {
    /// The repository's name.
    repository: String,
    /// The ref whose head it is now.
    #[serde(rename = "ref")]
    ref_name: String,
    /// The commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<String>,
    /// How far its origin is trusted: `unverified`, `local`, `token` or `oidc`.
    trust: String,
    /// Whether the head had the same content before.
    unchanged: bool,
    /// How many files it has.
    n_files: i64,
    /// How many citations it has.
    n_citations: i64,
    /// How many requirements and criteria they cite.
    n_cited: usize,
    /// References that name nothing visible in the repository's projects; the first 50.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unknown: Vec<String>,
    /// Their total number.
    n_unknown: usize,
}

impl Output for TracePushed {}

/// What a push writes.
struct Work {
    repository: Repository,
    snapshot: Snapshot,
    files: Vec<TracedFile>,
    citations: Vec<Citation>,
    leftovers: Vec<Leftover>,
    /// The entities whose verification may have changed.
    entities: Vec<String>,
    answer: TracePushed,
    /// Whether the head has this content already, so that nothing is written; and whether it was counted.
    is_head: bool,
    /// The remaining parts, planned once: leftovers only become fewer.
    parts: Vec<Part>,
}

/// The work of a part.
#[derive(Clone, Copy)]
enum Part {
    Tidy,
    Files(usize),
    Citations(usize),
    Look,
    MakeHead,
    Count(usize),
}

impl Work {
    fn planned(&self) -> Vec<Part> {
        let n_of = |n: usize, at_once: usize| n.div_ceil(at_once);
        let counts = (0..n_of(self.entities.len(), counted::AT_ONCE)).map(Part::Count);
        if self.is_head {
            return counts.collect();
        }
        let mut parts: Vec<Part> = (0..tidy::n_slices(&self.leftovers)).map(|_| Part::Tidy).collect();
        parts.extend((0..n_of(self.files.len(), ROWS_AT_ONCE)).map(Part::Files));
        parts.extend((0..n_of(self.citations.len(), ROWS_AT_ONCE)).map(Part::Citations));
        if self.citations.len() >= sizes::MANY_ROWS {
            parts.push(Part::Look);
        }
        parts.push(Part::MakeHead);
        parts.extend(counts);
        parts
    }
}

impl Operation for PushTrace {
    type Output = TracePushed;
    const NAME: &'static str = "push_trace";
    const COMMANDS: &'static [Command] = &[command("trace push")];
    const ROUTES: &'static [Route] = &[post("/repositories/{repository}/trace")];
    const EFFECT: Effect = Effect::Pushes;
    const TAKES_FILE: Option<FileArguments> = Some(FileArguments { content: "content", format: "format" });
    const MODE: Option<Mode> = Some(Mode::Long);
    const POSITIONAL: &'static [&'static str] = &["repository", "content"];
    const PREPARES: bool = true;
    const IS_UNBOUNDED: bool = true;

    fn prepare(&mut self, cx: &mut Cx<'_, '_>) -> Result<()> {
        if self.work.is_some() {
            return Ok(());
        }
        if std::mem::replace(&mut self.is_taken, true) {
            let message = "the connection to the database was lost while the push was read; try again";
            return Err(Error::new(ErrorKind::Unavailable, message));
        }
        let (repository, seen) = pushing::repository(cx, &self.repository)?;
        let pusher = pushing::pusher(
            cx,
            &repository,
            self.ref_name.as_ref().map(Text::as_str),
            self.commit.as_ref().map(Text::as_str),
        )?;
        pushing::check_head(&repository, &pusher)?;
        let (files, hash): (Vec<PushedFile>, String) = match cx.upload.take() {
            Some(upload) => {
                let hash = upload.hash();
                (lines::read(upload.into_reader())?, hash)
            }
            None => {
                let content = std::mem::take(&mut self.content);
                (lines::read(content.as_bytes())?, blake3::hash(content.as_bytes()).to_hex().to_string())
            }
        };
        let references = files.iter().flat_map(|file| &file.citations).map(|cited| cited.reference.as_str());
        let meant = pushing::meant(cx, &repository, &seen, references)?;
        let n_cited: usize = files.iter().map(|file| file.citations.len()).sum();
        if n_cited > 0 && meant.is_empty() {
            let projects = repository.projects.join(", ");
            let message = format!(
                "none of {n_cited} citations is of a requirement in a project of {} ({projects}), such as {}; is `project` in \
                 .spexus/project.toml right?",
                repository.name,
                meant.unknown.first().map_or("", String::as_str),
            );
            return Err(Error::field("content", message));
        }
        self.work = Some(Mutex::new(self.plan(cx, repository, pusher, files, hash, meant)?));
        Ok(())
    }

    fn n_parts(&self) -> usize {
        self.work().map_or(0, |work| work.parts.len())
    }

    fn part(&self, cx: &mut Cx<'_, '_>, index: usize) -> Result<()> {
        let Some(mut work) = self.work() else { return Ok(()) };
        let some = |index: usize, at_once: usize, n: usize| index * at_once..((index + 1) * at_once).min(n);
        match work.parts.get(index).copied() {
            Some(Part::Tidy) => tidy::remove_slice(cx, &mut work.leftovers),
            Some(Part::Files(index)) => {
                snapshot::begin(cx.tx, &work.snapshot)?;
                let some = some(index, ROWS_AT_ONCE, work.files.len());
                Ok(snapshot::add_files(cx.tx, &work.snapshot.id, &work.files[some])?)
            }
            Some(Part::Citations(index)) => {
                let some = some(index, ROWS_AT_ONCE, work.citations.len());
                Ok(snapshot::add_citations(cx.tx, &work.citations[some])?)
            }
            Some(Part::Look) => Ok(sizes::look(cx.tx, Grown::Thread)?),
            Some(Part::MakeHead) => self.make_head(cx, &work),
            Some(Part::Count(index)) => {
                let some = some(index, counted::AT_ONCE, work.entities.len());
                counted::count(cx, &work.entities[some])
            }
            None => Ok(()),
        }
    }

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<TracePushed> {
        let Some(work) = self.work() else {
            return Err(Error::new(ErrorKind::InternalError, "the push was not read"));
        };
        snapshot::note_counted(cx.tx, &work.repository.id, &work.snapshot.ref_name, true)?;
        Ok(work.answer.clone())
    }
}

impl PushTrace {
    fn work(&self) -> Option<MutexGuard<'_, Work>> {
        let work = self.work.as_ref()?;
        Some(work.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn plan(
        &self,
        cx: &mut Cx<'_, '_>,
        repository: Repository,
        pusher: Pusher,
        files: Vec<PushedFile>,
        hash: String,
        meant: Meant,
    ) -> Result<Work> {
        let id = cx.new_id();
        let mut citations: Vec<Citation> =
            files.iter().flat_map(|file| citations(&repository, &id, file, &meant)).collect();
        // Sorted as in the store, so that each part is written into one place.
        citations.sort_by(|one, other| one.key().cmp(&other.key()));
        let digest = blake3::hash(
            json!([hash, pusher.ref_name, pusher.commit_id, self.dirty, pusher.trust, meant.unknown])
                .to_string()
                .as_bytes(),
        );
        let caller = cx.caller()?;
        let snapshot = Snapshot {
            id,
            repository_id: repository.id.clone(),
            ref_name: pusher.ref_name,
            commit_id: pusher.commit_id,
            is_dirty: self.dirty,
            digest: digest.to_hex().to_string(),
            trust: pusher.trust,
            n_files: files.len() as i64,
            n_citations: citations.len() as i64,
            actor_id: Some(caller.user_id.clone()),
            token_id: caller.token_id.clone(),
            created_at: cx.now(),
        };
        let head = snapshot::head(cx.tx, &repository.id, &snapshot.ref_name)?;
        let is_head = head.as_ref().is_some_and(|head| head.digest == snapshot.digest);
        let mut entities: BTreeSet<String> =
            citations.iter().map(|citation| citation.entity_id.clone()).collect();
        let n_cited = entities.len();
        let is_main = snapshot.ref_name == repository.main_ref;
        let is_counted = snapshot::is_counted(cx.tx, &repository.id, &snapshot.ref_name)?;
        match &head {
            _ if !is_main || (is_head && is_counted) => entities.clear(),
            Some(head) if !is_head => entities.extend(counted::cited(cx, &head.id)?),
            _ => {}
        }
        let mut files: Vec<TracedFile> = files.into_iter().map(|file| traced(file, &meant)).collect();
        files.sort_by(|one, other| one.path.cmp(&other.path));
        if let Some([twice, _]) = files.array_windows().find(|[one, other]| one.path == other.path) {
            return Err(Error::field(
                "content",
                format!("expected a line for each file, found two for {}", twice.path),
            ));
        }
        let answer = TracePushed {
            repository: repository.name.clone(),
            ref_name: snapshot.ref_name.clone(),
            commit: snapshot.commit_id.clone(),
            trust: snapshot.trust.clone(),
            unchanged: is_head,
            n_files: snapshot.n_files,
            n_citations: snapshot.n_citations,
            n_cited,
            n_unknown: meant.unknown.len(),
            unknown: meant.unknown.into_iter().take(UNKNOWN_TOLD).collect(),
        };
        let mut work = Work {
            parts: Vec::new(),
            leftovers: tidy::leftovers(cx, &repository)?,
            repository,
            snapshot,
            files,
            citations,
            entities: entities.into_iter().collect(),
            answer,
            is_head,
        };
        work.parts = work.planned();
        Ok(work)
    }

    /// Makes the snapshot visible, which is the only change in the history.
    fn make_head(&self, cx: &mut Cx<'_, '_>, work: &Work) -> Result<()> {
        snapshot::begin(cx.tx, &work.snapshot)?;
        snapshot::make_head(cx.tx, &work.snapshot, cx.now())?;
        let subject = Subject {
            project_id: work.repository.project_ids.first().map(String::as_str),
            kind: "repository",
            id: &work.repository.id,
            reference_id: None,
            version: work.repository.version,
        };
        let after = json!({
            "ref": work.snapshot.ref_name,
            "commit": work.snapshot.commit_id,
            "n_citations": work.snapshot.n_citations,
            "trust": work.snapshot.trust,
        });
        cx.record(&subject, None, Some(&after))
    }
}

fn traced(file: PushedFile, meant: &Meant) -> TracedFile {
    let cited: BTreeSet<&str> =
        file.citations.iter().filter_map(|cited| meant.id(&cited.reference)).collect();
    let entities = cited.into_iter().map(str::to_owned).collect();
    TracedFile { path: file.path, blob: file.blob, entities }
}

/// The citations of a file, a row for each unit that they quote.
pub(super) fn citations<'a>(
    repository: &'a Repository,
    snapshot_id: &'a str,
    file: &'a PushedFile,
    meant: &'a Meant,
) -> impl Iterator<Item = Citation> + 'a {
    let known = file.citations.iter().filter_map(|cited| Some((cited, meant.id(&cited.reference)?)));
    known.flat_map(move |(cited, entity_id)| {
        let kind = CitationKind::from_name(&cited.kind).unwrap_or(CitationKind::Code);
        let symbol = cited.symbol.as_deref();
        let case_id =
            symbol.filter(|_| kind.is_test()).map(|symbol| case_id(&repository.id, &file.path, symbol));
        let (first, last) = cited.covered.unwrap_or((cited.line, cited.last_line));
        let row = move |unit_hash: &str| Citation {
            snapshot_id: snapshot_id.to_owned(),
            entity_id: entity_id.to_owned(),
            path: file.path.clone(),
            line: i64::from(cited.line),
            last_line: i64::from(cited.last_line),
            unit_hash: unit_hash.to_owned(),
            kind,
            pin: cited.pin.map(i64::from),
            symbol: cited.symbol.clone(),
            covered: (i64::from(first), i64::from(last)),
            blob: file.blob.clone(),
            case_id: case_id.clone(),
        };
        let hashes: Vec<&str> = match cited.units.is_empty() {
            true => vec![""],
            false => cited.units.iter().map(String::as_str).collect(),
        };
        hashes.into_iter().map(row).collect::<Vec<_>>()
    })
}

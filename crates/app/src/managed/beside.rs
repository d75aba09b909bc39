//! The checkout that somebody works in, for questions about the thread: its citations and its last test run as they are now.

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use evidence::Results;
use ops::thread::{CheckoutBeside, RunBeside};
use ops::{Credentials, Engine};
use store::model::{Time, Via};
use trace::model::Model;
use trace::project::{CONFIG_PATH, Index, Options};

use super::ProjectFile;
use super::checkout::Checkout;
use super::commit::{CheckedOut, checked_out, differs};
use super::file::Policy;
use super::live::{Live, Source, ask_store};
use super::pulled::Pulled;
use super::reports::{self, Reports};
use crate::gate;
use crate::spexus::tell;

/// Looks at the checkout that a command is run in, if its requirements are in a store on this machine.
pub fn look_from_here(engine: &Engine, credentials: &Credentials) -> Option<Arc<CheckoutBeside>> {
    let mut options = crate::duvet::nearest_project()?;
    let file = match super::with_pulled(&mut options) {
        Ok(file) => file.filter(|file| file.server.is_none())?,
        Err(problems) => {
            problems.iter().for_each(|problem| tell(&crate::duvet::server::line(problem)));
            tell("this checkout is left out of the answer");
            return None;
        }
    };
    let (engine, credentials) = (engine.clone(), credentials.clone());
    let source: Source =
        Box::new(move |entry, arguments| ask_store(&engine, credentials.clone(), Via::Cli, entry, arguments));
    let source = Arc::new(source);
    let asked = source.clone();
    let live = Live::new(
        Box::new(move |entry, arguments| asked(entry, arguments)),
        Box::new(|| 0),
        Pulled::new(&options.root, &file),
    );
    options.managed = Some(Arc::new(live));
    let beside = Beside::new(options.clone(), file, source);
    Some(beside.look(Index::open(options, Box::new(crate::duvet::environment)).model()))
}

/// A checkout that is looked at again and again.
pub struct Beside {
    options: Options,
    file: ProjectFile,
    source: Arc<Source>,
    last: Mutex<Option<Looked>>,
}

/// What was seen, and what it was seen of.
struct Looked {
    model: Arc<Model>,
    reports: Vec<(PathBuf, Option<SystemTime>)>,
    checked_out: CheckedOut,
    seen: Arc<CheckoutBeside>,
}

impl Beside {
    /// The checkout of a project whose requirements are in the store that `source` asks.
    pub fn new(options: Options, file: ProjectFile, source: Arc<Source>) -> Beside {
        Beside { options, file, source, last: Mutex::default() }
    }

    /// Looks at it. As long as nothing has changed, what was seen last is returned.
    pub fn look(&self, model: Arc<Model>) -> Arc<CheckoutBeside> {
        let reports = self.reports();
        let checked_out = checked_out(&self.options.root);
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(looked) = &*last
            && Arc::ptr_eq(&looked.model, &model)
            && looked.reports == reports
            && looked.checked_out == checked_out
        {
            return looked.seen.clone();
        }
        let seen = Arc::new(self.seen(&model, &reports, &checked_out));
        *last = Some(Looked { model, reports, checked_out, seen: seen.clone() });
        seen
    }

    fn reports(&self) -> Vec<(PathBuf, Option<SystemTime>)> {
        let paths = self.file.reports.iter().flat_map(|pattern| {
            reports::matching(&self.options.root, pattern).unwrap_or_else(|problem| {
                tracing::warn!("{problem}");
                Vec::new()
            })
        });
        paths
            .map(|path| {
                let written = fs::metadata(&path).and_then(|about| about.modified()).ok();
                (path, written)
            })
            .collect()
    }

    fn seen(
        &self,
        model: &Model,
        reports: &[(PathBuf, Option<SystemTime>)],
        checked_out: &CheckedOut,
    ) -> CheckoutBeside {
        let root = &self.options.root;
        let mut checkout = Checkout::read(root, model, &self.file);
        let paths: Vec<PathBuf> = reports.iter().map(|(path, _)| path.clone()).collect();
        let reports = Reports::read(root, &paths, &checkout.paths()).unwrap_or_else(|problem| {
            tracing::warn!("the last test run counts for nothing: {problem}");
            Reports::default()
        });
        let results = Results::new(&reports.found, &checkout.tests, &checkout.paths(), None);
        for problem in &reports.foreign {
            tracing::warn!("{problem}");
        }
        for problem in checkout.link(&results, &self.file.project) {
            tracing::warn!("{problem}");
        }
        let name = self.file.repository.clone().unwrap_or_else(|| "this checkout".to_owned());
        let Policy { closes, trust, refs } = self.file.policy.clone();
        let mut seen = CheckoutBeside::new(name, self.file.project.clone(), closes, checkout.pushed_files());
        (seen.trust_min, seen.closing_refs) = (trust, refs);
        seen.styles = model.styles_used().to_vec();
        seen.cites_sections = root.join(CONFIG_PATH).is_file();
        let CheckedOut { commit, ref_name } = checked_out.clone();
        let differs = |commit: &str| differs(root, commit, checkout.paths().into_iter());
        seen.is_dirty = commit.as_deref().and_then(differs) == Some(true);
        (seen.commit, seen.ref_name) = (commit, ref_name);
        let (options, source) = (self.options.clone(), self.source.clone());
        seen.check = Some(Box::new(move |base| gate::failing(&options, base, &*source)));
        seen.run = (!reports.found.is_empty()).then(|| run(&checkout, &reports, &results));
        seen
    }
}

fn run(checkout: &Checkout, reports: &Reports, results: &Results) -> RunBeside {
    let (_, last) = reports.written.unwrap_or((UNIX_EPOCH, UNIX_EPOCH));
    let since = last.duration_since(UNIX_EPOCH).unwrap_or_default();
    RunBeside {
        tool: reports.tools(),
        is_whole: results.incomplete.is_none(),
        tests: checkout.pushed_tests(results, reports),
        at: Time::from_microseconds(since.as_micros() as i64),
    }
}

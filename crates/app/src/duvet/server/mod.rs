//! `duvet mcp`: the traces of a project, for agents.
//!
//! The project stays in memory and is followed as it changes. Every answer comes from one [`Model`], so that an edit
//! never shows half of itself.

mod advice;
mod citations;
mod descriptions;
mod instructions;
mod list;
mod meant;
mod paths;
mod pending;
mod resources;
mod rows;
mod schemas;
mod specifications;
mod tools;
mod tree;
mod watch;

pub use instructions::line;
pub use paths::Code;
pub use rows::level;
pub use tools::is_managed;

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mcp::{
    Cache, CacheScope, Capabilities, Changed, Completion, CompletionReference, Contents, Context, Failure,
    FailureKind, Instead, Interest, ListCapability, Page, Profile, Request, Resource, ResourceCapability,
    Server, Tool, ToolOutput,
};
use serde_json::{Value, json};
use trace::managed::ManagedName;
use trace::model::Model;
use trace::project::{Index, Options};
use trace::{Diagnostic, Specification};

use self::descriptions::Descriptions;

/// How the server introduces itself.
pub fn profile() -> Profile {
    let mut profile = Profile::new("duvet", env!("CARGO_PKG_VERSION"));
    profile.title = Some("Requirements traceability".into());
    profile.capabilities = Capabilities {
        tools: Some(ListCapability { list_changed: false }),
        resources: Some(ResourceCapability { list_changed: true, subscribe: true, by_path: true }),
        completions: true,
        ..Capabilities::default()
    };
    // Files change under it.
    profile.cache = Cache { ttl_ms: 0, scope: CacheScope::Private };
    profile
}

/// How long somebody who asks waits for the project to be read.
const LOADING_TIME_MAX: Duration = Duration::from_secs(20);

/// The same for somebody who connects: hosts give up on servers that are slow to start.
const CONNECTING_TIME_MAX: Duration = Duration::from_secs(5);

const LOADING: &str = "the project is still being read; ask again";

/// How long a citation whose file changes is looked for again, and how often.
const SETTLING_TIME_MAX: Duration = Duration::from_secs(1);
const SETTLING_INTERVAL: Duration = Duration::from_millis(5);

/// How long to wait before the project is read again after that failed.
const RESTART_DELAY: Duration = Duration::from_secs(2);

/// Serves one project.
pub struct TraceServer {
    options: Options,
    tools: Descriptions,
    current: Mutex<Option<Arc<Model>>>,
    loaded: Condvar,
    changed: Mutex<Option<Changed>>,
    /// What the client wants to hear of, if the transport says it.
    interest: Mutex<Option<Interest>>,
    pending: pending::Pending,
    /// The edition of managed requirements that is shown.
    edition: AtomicU64,
}

impl TraceServer {
    /// Makes the server and begins to read the project. With output schemas, programs get answers as values that fit them.
    pub fn start(options: Options, output_schemas: bool) -> Arc<TraceServer> {
        TraceServer::start_with(options, output_schemas, super::environment)
    }

    /// The same with another environment for the expressions in a configuration.
    pub fn start_with(
        options: Options,
        output_schemas: bool,
        environment: fn(&str) -> Option<String>,
    ) -> Arc<TraceServer> {
        let server = Arc::new(TraceServer {
            options: options.clone(),
            tools: Descriptions::new(output_schemas),
            current: Mutex::default(),
            loaded: Condvar::new(),
            changed: Mutex::default(),
            interest: Mutex::default(),
            pending: pending::Pending::default(),
            edition: AtomicU64::new(0),
        });
        let loading = server.clone();
        let spawned = std::thread::Builder::new().name("index".into()).spawn(move || {
            loop {
                let reading = AssertUnwindSafe(|| {
                    let index = Index::open(options.clone(), Box::new(environment));
                    loading.edition.store(index.edition(), Ordering::SeqCst);
                    loading.publish(index.model());
                    watch::follow(index, &loading);
                });
                if catch_unwind(reading).is_ok() {
                    return;
                }
                // What panicked has been logged, and may be gone with the next edit.
                loading.publish(problem("the project could not be read; the log of the server says more"));
                std::thread::sleep(RESTART_DELAY);
            }
        });
        if let Err(error) = spawned {
            tracing::error!("the project cannot be read: {error}");
            server.publish(problem("the project could not be read; the system gives us no threads"));
        }
        server
    }

    /// The tools with everything that they accept, which is the same for every project.
    pub fn described() -> Vec<Arc<Tool>> {
        Descriptions::new(false).accepted
    }

    /// Tells whether there is a tool of that name.
    pub fn has_tool(&self, name: &str) -> bool {
        self.tools.accepted.iter().any(|tool| tool.name == name)
    }

    /// Finds requirements that specifications state, by words: some of them, from a place on, and how many there are.
    pub fn search_stated(
        &self,
        query: &str,
        specification: Option<&str>,
        start: usize,
        limit: usize,
    ) -> Result<(Vec<Value>, usize), Failure> {
        self.ask(|model| tools::search_stated(model, query, specification, start, limit))
    }

    /// What is wrong with the project as a whole, in a line each.
    pub fn problems(&self) -> Vec<String> {
        self.model().map(|model| instructions::problems(&model)).unwrap_or_default()
    }

    /// What is known of the project, for somebody who connects and must not wait long.
    pub fn known_soon(&self) -> Result<Arc<Model>, String> {
        self.model_within(CONNECTING_TIME_MAX).map_err(|failure| failure.message)
    }

    /// What is known of the project now, without waiting until it is read.
    pub fn known_now(&self) -> Option<Arc<Model>> {
        if self.is_loaded() {
            self.settle();
        }
        lock(&self.current).clone()
    }

    /// The folder that paths are relative to.
    pub fn root(&self) -> &std::path::Path {
        &self.options.root
    }

    /// Checks a citation.
    pub fn verdict(
        &self,
        model: &Model,
        citation: &str,
        file: Option<&str>,
    ) -> trace::model::CitationVerdict {
        citations::verdict(self, model, citation, file)
    }

    /// The document of a managed requirement, if the project can cite it.
    pub fn managed(&self, name: &ManagedName) -> Option<Arc<Specification>> {
        citations::managed(self, name)
    }

    /// What is known now. Who asks before the project is read waits for it, and for a moment if something changed.
    pub fn model(&self) -> Result<Arc<Model>, Failure> {
        if self.is_loaded() {
            self.settle();
        }
        self.model_within(LOADING_TIME_MAX)
    }

    /// Waits for a moment until what has changed so far is read.
    fn settle(&self) {
        self.pending.settle();
        let texts = self.options.managed.as_ref().filter(|texts| texts.is_live());
        if texts.is_some_and(|texts| texts.edition() != self.edition.load(Ordering::SeqCst)) {
            self.pending.settle_managed();
        }
    }

    fn model_within(&self, patience: Duration) -> Result<Arc<Model>, Failure> {
        let wait = self.loaded.wait_timeout_while(lock(&self.current), patience, |model| model.is_none());
        let (model, _) = wait.unwrap_or_else(PoisonError::into_inner);
        // An empty list would be a lie.
        model.clone().ok_or_else(|| Failure::new(FailureKind::Unavailable, LOADING))
    }

    /// Asks of what is known. A file that changes in this moment is soon known as it is now.
    fn ask<T>(&self, question: impl Fn(&Model) -> Result<T, Failure>) -> Result<T, Failure> {
        let start = Instant::now();
        loop {
            let answer = question(&*self.model()?);
            match answer {
                Err(failure)
                    if failure.kind == FailureKind::Conflict && start.elapsed() < SETTLING_TIME_MAX =>
                {
                    std::thread::sleep(SETTLING_INTERVAL);
                }
                answer => return answer,
            }
        }
    }

    fn publish(&self, model: Arc<Model>) {
        *lock(&self.current) = Some(model);
        self.loaded.notify_all();
    }

    fn is_loaded(&self) -> bool {
        lock(&self.current).is_some()
    }

    fn tell(&self, changes: impl Iterator<Item = mcp::Change>) {
        if let Some(changed) = &*lock(&self.changed) {
            changes.for_each(changed);
        }
    }

    /// The resources that somebody wants to hear of; `None` if that may be any.
    fn watched(&self) -> Option<BTreeSet<String>> {
        lock(&self.interest).as_ref().map(|interest| interest.uris.clone())
    }
}

/// What is known of a project that could not be read.
fn problem(message: &str) -> Arc<Model> {
    let mut model = Model::default();
    model.general = [Diagnostic::error(trace::Code::Unreadable, message)].into();
    Arc::new(model)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Server for TraceServer {
    fn instructions(&self, _context: &Context<'_>) -> Option<String> {
        let model = self.model_within(CONNECTING_TIME_MAX);
        Some(instructions::write(&model.unwrap_or_else(|_| problem(LOADING))))
    }

    fn tools(&self, _context: &Context<'_>, cursor: Option<&str>) -> Result<Page<Arc<Tool>>, Failure> {
        mcp::page_of(&self.tools.shown, cursor, self.tools.shown.len())
    }

    fn tool(&self, _context: &Context<'_>, name: &str) -> Result<Option<Arc<Tool>>, Failure> {
        Ok(self.tools.accepted.iter().find(|tool| tool.name == name).cloned())
    }

    fn normalise(&self, _context: &Context<'_>, tool: &Tool, arguments: &mut Value) -> Vec<String> {
        meant::normalise(&tool.input_schema, arguments)
    }

    fn instead_of(&self, _context: &Context<'_>, name: &str, _arguments: &Value) -> Option<Instead> {
        meant::instead_of(name)
    }

    fn call_tool(
        &self,
        _context: &Context<'_>,
        tool: &Tool,
        arguments: Value,
    ) -> Result<ToolOutput, Failure> {
        let output = self.ask(|model| {
            // Whoever asks shall know that the project is not as it should be.
            let budget = list::tokens_max(&arguments);
            let problems = instructions::brief_problems(model, budget / 4);
            if problems.is_empty() {
                return tools::call(self, model, &tool.name, &arguments);
            }
            let text = json!({ "problems": problems }).to_string();
            let mut arguments = arguments.clone();
            arguments["max_tokens"] = json!(budget.saturating_sub(tokens::count(&text)));
            let mut output = tools::call(self, model, &tool.name, &arguments)?;
            output.content.push(json!({"type": "text", "text": text}));
            output.meta.insert("duvet/problems".into(), json!(problems));
            Ok(output)
        })?;
        Ok(if tool.output_schema.is_some() { list::under_result(output) } else { output })
    }

    fn resources(&self, _context: &Context<'_>, cursor: Option<&str>) -> Result<Page<Resource>, Failure> {
        let model = &*self.model()?;
        let n_resources = resources::count(model);
        mcp::page_from(n_resources, cursor, resources::PAGE_SIZE, |range| resources::some(model, range))
    }

    fn resources_under(
        &self,
        _context: &Context<'_>,
        path: &str,
        cursor: Option<&str>,
    ) -> Result<Page<Resource>, Failure> {
        let model = &*self.model()?;
        let under = resources::Under::find(model, path)?;
        mcp::page_from(under.count(), cursor, resources::PAGE_SIZE, |range| under.some(range))
    }

    fn templates(&self, _context: &Context<'_>, cursor: Option<&str>) -> Result<Page<Resource>, Failure> {
        mcp::page_of(&resources::templates(), cursor, resources::PAGE_SIZE)
    }

    fn read(&self, _context: &Context<'_>, uri: &str) -> Result<Contents, Failure> {
        self.ask(|model| resources::read(&self.options.root, model, uri))
    }

    fn check_subscription(&self, _context: &Context<'_>, uri: &str) -> Result<(), Failure> {
        resources::check_subscription(&*self.model()?, uri)
    }

    fn complete(
        &self,
        _context: &Context<'_>,
        reference: &CompletionReference,
        completion: &Completion,
    ) -> Result<Vec<String>, Failure> {
        Ok(resources::complete(&*self.model()?, reference, completion))
    }

    fn watch(&self, changed: Changed) {
        *lock(&self.changed) = Some(changed);
    }

    fn interest(&self, interest: Interest) {
        *lock(&self.interest) = Some(interest);
    }

    fn is_quick(&self, request: &Request) -> bool {
        match request {
            // Those that read a file may wait for a disk.
            Request::CallTool { name, .. } => self.is_loaded() && !tools::reads_files(name),
            // A collection may be large.
            Request::ReadResource(uri) => {
                self.is_loaded() && !uri.contains("/citations/") && !resources::is_collection(uri)
            }
            Request::Initialize(_) | Request::Discover => self.is_loaded(),
            Request::ListTools(_) | Request::ListTemplates(_) | Request::Ping | Request::Unsubscribe(_) => {
                true
            }
            _ => self.is_loaded(),
        }
    }
}

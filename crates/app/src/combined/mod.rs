//! `spexus mcp`: requirements in the local store, their traces in the project of the current folder, and the threats
//! to them, for one agent in one session.

mod daily;
mod follow;
mod instructions;
mod local;
pub mod manual;
mod search;
mod texts;
mod turns;

use std::sync::Arc;

use clap::ArgMatches;
use mcp::{
    Capabilities, Change, Changed, Completion, CompletionReference, Contents, Context, Failure, FailureKind,
    Instead, Interest, ListCapability, Page, Profile, Prompt, Request, Resource, ResourceCapability, Server,
    Tool, ToolOutput,
};
use serde_json::{Map, Value};
use store::model::Via;

use self::daily::{Daily, DailyTools};
use self::local::Local;
use crate::budget::bad_cursor;
use crate::duvet::{self, server::TraceServer};
use crate::requirements::{self, Requirements, ToolOptions, Tools, changes};
use crate::spexus::{Exit, config};
use crate::tmkb::{self, ThreatServer};
use crate::{gate, logging, managed, override_profile, stdio};

/// The sets in addition to those of requirements.
const TRACE: &str = "trace";
const THREATS: &str = "threats";

/// The set with the tool that checks a change.
const GATE_SET: &str = "thread";

/// All sets.
const ALL: &str = "all";

/// The default sets.
pub const DEFAULT_SET: &str = daily::SET;

/// All valid choices.
pub fn sets() -> impl Iterator<Item = &'static str> {
    [daily::SET].into_iter().chain(requirements::SETS).chain([TRACE, THREATS, ALL])
}

/// Serves until the client leaves.
pub fn run(matches: &ArgMatches) -> Exit {
    let mut settings = config::settings(matches);
    logging::start(&mut settings);
    let remote: Option<String> = settings.optional("SPEXUS_SERVER");
    if remote.is_some() {
        let problem =
            "--server: this works on the local store; for a server use requirements-mcp-server".to_owned();
        settings.problem(problem);
    }
    config::refuse_token(&mut settings);
    let acting: Option<String> = settings.optional("SPEXUS_AS");
    let config = config::read(&mut settings);
    let default = stdio::Options::default();
    let options = stdio::Options {
        request_timeout: settings.value("MCP_REQUEST_TIMEOUT", default.request_timeout),
        ..default
    };
    let mut chosen: Vec<String> = matches.get_many("parts").into_iter().flatten().cloned().collect();
    if chosen.iter().any(|name| name == ALL) {
        chosen = sets().map(str::to_owned).collect();
    }
    let tools = ToolOptions { sets: chosen.clone(), ..config.http.tools };
    let combined = Combined::new(&chosen, &tools, |tools| Local::new(config.store, acting, tools));
    let mut profile = combined.profile();
    override_profile(&mut profile, &mut settings);
    if let Err(problems) = settings.check() {
        eprintln!("{problems}");
        return Exit::Usage;
    }
    stdio::greet(&profile, "`spexus agent add` connects an agent");
    match stdio::serve(profile, combined.start(), options) {
        0 => Exit::Done,
        _ => Exit::Refused,
    }
}

/// The parts under one roof.
pub struct Combined {
    /// The tools for daily work, where they were chosen.
    daily: Option<DailyTools>,
    /// The tools of the store.
    tools: Arc<Tools>,
    /// The sets that were chosen. Tools of other sets may be called, too, but are not shown.
    chosen: Vec<String>,
    local: Option<Arc<Local>>,
    trace: Trace,
    threats: Option<Arc<ThreatServer>>,
    output_schemas: bool,
    /// The tool that searches both kinds of requirements, where there are both.
    search: Option<Arc<Tool>>,
    /// The tool that checks a change, with the project that it is of.
    gate: Option<(Arc<Tool>, trace::project::Options)>,
}

/// What there is of traceability.
enum Trace {
    NotChosen,
    /// The current folder is in no project.
    NoProject,
    /// The project is there, and read when serving begins.
    Chosen(trace::project::Options),
    Served(Arc<TraceServer>),
}

impl Combined {
    fn new(
        chosen: &[String],
        options: &ToolOptions,
        local: impl FnOnce(Arc<Tools>) -> Arc<Local>,
    ) -> Combined {
        let is_chosen = |name: &str| chosen.iter().any(|chosen| chosen == name);
        let has_daily = is_chosen(daily::SET);
        let mut options = options.clone();
        if has_daily && !is_chosen(requirements::SETS[0]) {
            options.sets.push(requirements::SETS[0].to_owned());
        }
        let tools = Arc::new(Tools::new(&options));
        let has_requirements = has_daily || requirements::SETS.into_iter().any(is_chosen);
        let local = has_requirements.then(|| local(tools.clone()));
        let trace = match (has_daily || is_chosen(TRACE), duvet::nearest_project()) {
            (false, _) => Trace::NotChosen,
            (true, None) => Trace::NoProject,
            (true, Some(mut project)) => {
                texts::add(&mut project, local.as_ref());
                Trace::Chosen(project)
            }
        };
        let managed = tools.list().iter().find(|tool| tool.name == search::NAME);
        let search =
            managed.filter(|_| matches!(trace, Trace::Chosen(_))).map(|tool| Arc::new(search::tool(tool)));
        let gate = match &trace {
            Trace::Chosen(project) => Some((Arc::new(gate::described()), project.clone())),
            _ => None,
        };
        let has_threats = has_daily || is_chosen(THREATS);
        let mut combined = Combined {
            daily: None,
            local,
            tools,
            chosen: chosen.to_vec(),
            trace,
            threats: has_threats
                .then(|| ThreatServer::new(tmkb::Source::from_environment(), options.output_schemas)),
            output_schemas: options.output_schemas,
            search,
            gate,
        };
        combined.daily = has_daily.then(|| DailyTools::new(&combined, options.read_only));
        combined
    }

    fn is_chosen(&self, set: &str) -> bool {
        self.chosen.iter().any(|chosen| chosen == set)
    }

    /// Begins to open and read what the parts need, beside the handshake and not before it.
    fn start(mut self) -> Arc<Combined> {
        if let Some(threats) = &self.threats {
            threats.load_soon();
        }
        self.trace = match self.trace {
            Trace::Chosen(options) => {
                let beside = texts::beside(&options, self.local.as_ref());
                let trace = TraceServer::start(options, self.output_schemas);
                if let (Some(beside), Some(local)) = (beside, &self.local) {
                    let trace = trace.clone();
                    local.join(Arc::new(move || Some(beside.look(trace.model().ok()?))));
                }
                Trace::Served(trace)
            }
            Trace::NoProject => {
                tracing::info!("no traceability: {}", instructions::NO_PROJECT);
                Trace::NoProject
            }
            other => other,
        };
        if let Some(local) = &self.local {
            local.clone().open_soon();
        }
        Arc::new(self)
    }

    fn profile(&self) -> Profile {
        let has_trace = matches!(self.trace, Trace::Chosen(_) | Trace::Served(_));
        let has_resources = self.local.is_some() || has_trace;
        let mut profile = Profile::new("spexus", env!("CARGO_PKG_VERSION"));
        profile.title = Some("Requirements, traceability and threats".into());
        profile.capabilities = Capabilities {
            tools: Some(ListCapability { list_changed: false }),
            prompts: self.local.as_ref().map(|_| ListCapability { list_changed: true }),
            resources: has_resources.then_some(ResourceCapability {
                list_changed: true,
                subscribe: true,
                by_path: has_trace,
            }),
            completions: has_resources,
        };
        profile.canonical = |uri| if is_traced(uri) { uri.to_owned() } else { changes::canonical(uri) };
        profile
    }

    fn requirements(&self) -> Result<Arc<Requirements>, Failure> {
        match &self.local {
            Some(local) => local.server(),
            None => Err(Failure::new(FailureKind::NotFound, "requirements were not chosen with --toolsets")),
        }
    }

    /// Whether the store answers so fast; until it is open it would have to be waited for.
    fn is_quick_in_store(&self, request: &Request) -> bool {
        self.local
            .as_ref()
            .and_then(|local| local.server_if_open())
            .is_some_and(|server| server.is_quick(request))
    }

    fn trace(&self) -> Option<&Arc<TraceServer>> {
        match &self.trace {
            Trace::Served(trace) => Some(trace),
            _ => None,
        }
    }

    /// Runs an operation on the store of the session.
    fn ask(&self, entry: &'static ops::Entry, arguments: Value) -> Result<Value, String> {
        let local = self.local.as_ref().ok_or("the session has no store")?;
        let opened = local.opened().map_err(|failure| failure.message)?;
        managed::ask_store(&opened.engine, local.credentials(), Via::Mcp, entry, arguments)
    }

    /// Which part a tool belongs to.
    fn owner(&self, tool: &str) -> Owner<'_> {
        if let Some(tools) = self.daily.as_ref().filter(|tools| tools.find(tool).is_some()) {
            return Owner::Daily(tools);
        }
        if let Some((_, project)) = self.gate.as_ref().filter(|(gate, _)| gate.name == tool) {
            return Owner::Gate(project);
        }
        match (self.trace(), &self.threats) {
            (Some(trace), _) if self.search.is_some() && tool == search::NAME => Owner::Both(trace),
            (Some(trace), _) if trace.has_tool(tool) => Owner::Trace(trace),
            (_, Some(threats)) if tool == tmkb::TOOL => Owner::Threats(threats),
            _ => Owner::Requirements,
        }
    }

    /// The part that reads a URI, if it is not the requirements.
    fn trace_of(&self, uri: &str) -> Result<Option<&Arc<TraceServer>>, Failure> {
        match (is_traced(uri), self.trace()) {
            (false, _) => Ok(None),
            (true, Some(trace)) => Ok(Some(trace)),
            (true, None) => {
                Err(Failure::new(FailureKind::NotFound, format!("Resource not found: {}", mcp::shown(uri))))
            }
        }
    }
}

/// Which part a tool belongs to.
enum Owner<'a> {
    Daily(&'a DailyTools),
    Requirements,
    Trace(&'a TraceServer),
    Both(&'a TraceServer),
    Threats(&'a ThreatServer),
    /// The check of a change of this project.
    Gate(&'a trace::project::Options),
}

impl Server for Combined {
    fn instructions(&self, context: &Context<'_>) -> Option<String> {
        Some(instructions::write(self, context))
    }

    fn tools(&self, context: &Context<'_>, cursor: Option<&str>) -> Result<Page<Arc<Tool>>, Failure> {
        if cursor.is_some() {
            return Err(bad_cursor());
        }
        let mut tools: Vec<Arc<Tool>> = self.daily.iter().flat_map(DailyTools::shown).collect();
        let own = self
            .tools
            .list()
            .iter()
            .filter(|tool| requirements::set_of(&tool.name).is_some_and(|set| self.is_chosen(set)));
        tools.extend(own.map(|tool| match &self.search {
            Some(both) if both.name == tool.name => both.clone(),
            _ => tool.clone(),
        }));
        let others = [
            self.trace().filter(|_| self.is_chosen(TRACE)).map(|trace| trace.as_ref() as &dyn Server),
            self.threats.as_deref().filter(|_| self.is_chosen(THREATS)).map(|threats| threats as _),
        ];
        if self.is_chosen(GATE_SET) {
            tools.extend(self.gate.iter().map(|(tool, _)| tool.clone()));
        }
        for other in others.into_iter().flatten() {
            let theirs = other.tools(context, None)?.items;
            let new: Vec<Arc<Tool>> =
                theirs.into_iter().filter(|tool| tools.iter().all(|known| known.name != tool.name)).collect();
            tools.extend(new);
        }
        Ok(Page::whole(tools))
    }

    fn tool(&self, context: &Context<'_>, name: &str) -> Result<Option<Arc<Tool>>, Failure> {
        match self.owner(name) {
            Owner::Daily(tools) => Ok(tools.find(name).cloned()),
            Owner::Requirements => self.tools.find(name),
            Owner::Trace(trace) => trace.tool(context, name),
            Owner::Both(_) => Ok(self.search.clone()),
            Owner::Threats(threats) => threats.tool(context, name),
            Owner::Gate(_) => Ok(self.gate.as_ref().map(|(tool, _)| tool.clone())),
        }
    }

    fn normalise(&self, context: &Context<'_>, tool: &Tool, arguments: &mut Value) -> Vec<String> {
        match (self.owner(&tool.name), self.requirements()) {
            (Owner::Daily(_), _) => Daily::new(self, context).normalise(tool, arguments),
            (Owner::Requirements | Owner::Both(_), Ok(requirements)) => {
                requirements.normalise(context, tool, arguments)
            }
            (Owner::Trace(trace), _) => trace.normalise(context, tool, arguments),
            _ => tool.input_schema.normalise(arguments),
        }
    }

    fn instead_of(&self, context: &Context<'_>, name: &str, arguments: &Value) -> Option<Instead> {
        if let Some(daily) = &self.daily
            && let Some(instead) = daily::instead_of(daily, self.tools.list(), name)
        {
            return Some(instead);
        }
        match &self.daily {
            Some(_) => requirements::instead::instead_of(self.tools.list(), name, arguments),
            None => {
                requirements::instead::instead_of(&self.tools(context, None).ok()?.items, name, arguments)
            }
        }
    }

    fn check_arguments(&self, context: &Context<'_>, tool: &Tool, arguments: &Value) -> Result<(), Failure> {
        match self.owner(&tool.name) {
            Owner::Threats(threats) => threats.check_arguments(context, tool, arguments),
            Owner::Trace(trace) => trace.check_arguments(context, tool, arguments),
            Owner::Daily(_) => Daily::check(tool, arguments),
            Owner::Requirements | Owner::Both(_) | Owner::Gate(_) => {
                requirements::meant::check(tool, arguments)
            }
        }
    }

    fn call_tool(&self, context: &Context<'_>, tool: &Tool, arguments: Value) -> Result<ToolOutput, Failure> {
        match self.owner(&tool.name) {
            Owner::Daily(tools) => Daily::new(self, context).call(tools, &tool.name, arguments),
            Owner::Requirements => self.requirements()?.call_tool(context, tool, arguments),
            Owner::Trace(trace) if self.is_chosen(TRACE) || self.output_schemas => {
                trace.call_tool(context, tool, arguments)
            }
            Owner::Trace(trace) => {
                Ok(daily::rows(trace.call_tool(context, tool, daily::with_room(tool, arguments))?))
            }
            Owner::Both(trace) => search::search(&*self.requirements()?, trace, context, arguments),
            Owner::Threats(threats) => threats.call_tool(context, tool, arguments),
            Owner::Gate(project) => {
                gate::called(project, &arguments, &|entry, arguments| self.ask(entry, arguments))
            }
        }
    }

    fn resources(&self, context: &Context<'_>, cursor: Option<&str>) -> Result<Page<Resource>, Failure> {
        // The letter says which part goes on.
        let rest = |letter: &str| cursor.and_then(|cursor| cursor.strip_prefix(letter));
        if let (Some(trace), Some(cursor)) = (self.trace(), rest("t")) {
            let cursor = Some(cursor).filter(|cursor| !cursor.is_empty());
            return Ok(lettered("t", trace.resources(context, cursor)?));
        }
        if cursor.is_some() && rest("r").is_none() {
            return Err(bad_cursor());
        }
        let mut page = match &self.local {
            Some(_) => lettered("r", self.requirements()?.resources(context, rest("r"))?),
            None => Page::whole(Vec::new()),
        };
        if let Some(trace) = self.trace().filter(|_| page.next_cursor.is_none()) {
            let next = lettered("t", trace.resources(context, None)?);
            if page.items.len() + next.items.len() <= PAGE_SIZE || page.items.is_empty() {
                page.items.extend(next.items);
                page.next_cursor = next.next_cursor;
            } else {
                page.next_cursor = Some("t".into());
            }
        }
        Ok(page)
    }

    fn resources_under(
        &self,
        context: &Context<'_>,
        path: &str,
        cursor: Option<&str>,
    ) -> Result<Page<Resource>, Failure> {
        match self.trace() {
            Some(trace) => trace.resources_under(context, path, cursor),
            None => {
                Err(Failure::new(FailureKind::NotFound, format!("Resource not found: {}", mcp::shown(path))))
            }
        }
    }

    fn templates(&self, context: &Context<'_>, cursor: Option<&str>) -> Result<Page<Resource>, Failure> {
        if cursor.is_some() {
            return Err(bad_cursor());
        }
        let mut templates = match &self.local {
            Some(_) => requirements::templates(),
            None => Vec::new(),
        };
        if let Some(trace) = self.trace() {
            templates.extend(trace.templates(context, None)?.items);
        }
        Ok(Page::whole(templates))
    }

    fn read(&self, context: &Context<'_>, uri: &str) -> Result<Contents, Failure> {
        match self.trace_of(uri)? {
            Some(trace) => trace.read(context, uri),
            None => self.requirements()?.read(context, uri),
        }
    }

    fn check_subscription(&self, context: &Context<'_>, uri: &str) -> Result<(), Failure> {
        match self.trace_of(uri)? {
            Some(trace) => trace.check_subscription(context, uri),
            None => self.requirements()?.check_subscription(context, uri),
        }
    }

    fn prompts(&self, context: &Context<'_>, cursor: Option<&str>) -> Result<Page<Prompt>, Failure> {
        self.requirements()?.prompts(context, cursor)
    }

    fn fill_prompt(
        &self,
        context: &Context<'_>,
        prompt: &Prompt,
        arguments: &Map<String, Value>,
    ) -> Result<Vec<Value>, Failure> {
        self.requirements()?.fill_prompt(context, prompt, arguments)
    }

    fn complete(
        &self,
        context: &Context<'_>,
        reference: &CompletionReference,
        completion: &Completion,
    ) -> Result<Vec<String>, Failure> {
        let trace = match reference {
            CompletionReference::Resource(uri) => self.trace_of(uri)?,
            CompletionReference::Prompt(_) => None,
        };
        match trace {
            Some(trace) => trace.complete(context, reference, completion),
            None => self.requirements()?.complete(context, reference, completion),
        }
    }

    fn watch(&self, changed: Changed) {
        let changed = Arc::new(changed);
        if let Some(trace) = self.trace() {
            let changed = changed.clone();
            trace.watch(Box::new(move |change: Change| changed(change)));
        }
        if let Some(local) = &self.local {
            follow::start(local, changed);
        }
    }

    fn interest(&self, interest: Interest) {
        if let Some(trace) = self.trace() {
            trace.interest(interest);
        }
    }

    fn is_quick(&self, request: &Request) -> bool {
        match request {
            Request::Ping | Request::Unsubscribe(_) | Request::ListTemplates(_) => true,
            Request::ListTools(_) => self.threats.as_ref().is_none_or(|threats| threats.is_quick(request)),
            Request::CallTool { name, .. } => match self.owner(name) {
                Owner::Trace(trace) => trace.is_quick(request),
                Owner::Requirements => self.is_quick_in_store(request),
                Owner::Both(_) | Owner::Threats(_) | Owner::Daily(_) | Owner::Gate(_) => false,
            },
            Request::ReadResource(uri) => match self.trace_of(uri) {
                Ok(Some(trace)) => trace.is_quick(request),
                Ok(None) => self.is_quick_in_store(request),
                Err(_) => true,
            },
            _ => false,
        }
    }
}

/// Whether a URI is one of traceability's.
fn is_traced(uri: &str) -> bool {
    uri.starts_with("duvet:") || uri.starts_with('/')
}

/// Entries of one page.
const PAGE_SIZE: usize = 100;

fn lettered<T>(letter: &str, page: Page<T>) -> Page<T> {
    Page { next_cursor: page.next_cursor.map(|cursor| format!("{letter}{cursor}")), ..page }
}

//! `tmkb serve`: one tool, `tmkb_query`, with the texts of the original.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use mcp::{
    Cache, CacheScope, Capabilities, Context, Failure, FailureKind, FieldError, ListCapability, Page,
    Profile, Request, Server, Tool, ToolOutput,
};
use serde_json::{Map, Value, json};
use threats::{
    FoundPatterns, Hit, Library, Query,
    answer::{self, Room},
};

use super::source::Source;
use super::tool::{
    self, Choice, HUMAN_TOKENS_DEFAULT, HUMAN_TOKENS_MAX, HUMAN_TOKENS_MIN, MAX_TOKENS, PARAMETERS,
    VERBOSITIES,
};

/// Longer lists of problems do not help.
const PROBLEMS_MAX: usize = 50;

/// The server's profile.
pub fn profile() -> Profile {
    let mut profile = Profile::new("tmkb", env!("CARGO_PKG_VERSION"));
    profile.description = Some("Threat Model Knowledge Base - Query authorization security threats".into());
    profile.capabilities =
        Capabilities { tools: Some(ListCapability { list_changed: false }), ..Capabilities::default() };
    // The tool and its patterns are the same for every caller and for the life of the process.
    profile.cache = Cache { ttl_ms: 3_600_000, scope: CacheScope::Public };
    profile
}

/// Answers `tmkb_query` from a library that is loaded during the handshake, not before it.
pub struct ThreatServer {
    source: Source,
    /// Whether a language or framework without patterns is an error.
    is_strict: bool,
    output_schemas: bool,
    loaded: Mutex<Slot>,
}

/// The pause before reading an unusable folder again.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

#[derive(Default)]
struct Slot {
    loaded: Option<Arc<Loaded>>,
    failure: Option<(Instant, Failure)>,
}

struct Loaded {
    library: Library,
    tool: Arc<Tool>,
    is_strict: bool,
    languages: Vec<String>,
    frameworks: Vec<String>,
}

impl ThreatServer {
    /// Creates the server of `tmkb serve` and starts loading its patterns.
    pub fn start(source: Source) -> Arc<Self> {
        let server =
            Arc::new(Self { source, is_strict: true, output_schemas: false, loaded: Mutex::default() });
        server.load_soon();
        server
    }

    /// The part of `spexus mcp`, which has loaded nothing yet.
    pub fn new(source: Source, output_schemas: bool) -> Arc<Self> {
        Arc::new(Self { source, is_strict: false, output_schemas, loaded: Mutex::default() })
    }

    /// Starts loading the patterns.
    pub fn load_soon(self: &Arc<Self>) {
        let loading = self.clone();
        // Without a thread they are loaded on first use.
        let _ = std::thread::Builder::new().spawn(move || drop(loading.loaded()));
    }

    /// Returns the patterns. Reading an unusable folder is retried from time to time, so that the server
    /// recovers when it is repaired.
    fn loaded(&self) -> Result<Arc<Loaded>, Failure> {
        let mut slot = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(loaded) = &slot.loaded {
            return Ok(loaded.clone());
        }
        if let Some((at, failure)) = &slot.failure
            && at.elapsed() < RETRY_INTERVAL
        {
            return Err(failure.clone());
        }
        match self.load() {
            Ok(loaded) => {
                slot.loaded = Some(loaded.clone());
                Ok(loaded)
            }
            Err(failure) => {
                slot.failure = Some((Instant::now(), failure.clone()));
                Err(failure)
            }
        }
    }

    fn load(&self) -> Result<Arc<Loaded>, Failure> {
        let (library, problems) = self.source.load_valid().map_err(|message| {
            tracing::error!("{message}");
            Failure::new(FailureKind::Unavailable, "Query failed: the pattern folder cannot be read")
        })?;
        for problem in problems {
            tracing::error!("{problem}");
        }
        if library.patterns().is_empty() {
            tracing::error!("no pattern could be loaded");
            return Err(Failure::new(FailureKind::Unavailable, "Query failed: no patterns are loaded"));
        }
        tracing::debug!("{} patterns loaded", library.patterns().len());
        library.prepare();
        Ok(Arc::new(Loaded::new(library, self.is_strict)))
    }
}

impl Loaded {
    fn new(library: Library, is_strict: bool) -> Self {
        let (languages, frameworks) = (library.languages(), library.frameworks());
        let known = Choice::Known { languages: &languages, frameworks: &frameworks };
        let tool = Arc::new(tool::shown(known, false));
        Self { library, tool, is_strict, languages, frameworks }
    }

    //@= spexus://REQ-205
    //@# 004 Validation Rules: arguments that do not fit are tool errors, word for word
    fn check(&self, arguments: &Map<String, Value>) -> Vec<Problem> {
        let mut problems = Vec::new();
        match arguments.get("context") {
            None => problems.push(Problem::new(
                "context",
                "context parameter is required",
                "Missing context parameter",
            )),
            Some(Value::String(text)) if text.trim().is_empty() => {
                problems.push(Problem::new(
                    "context",
                    "context must be non-empty",
                    "Empty context parameter",
                ));
            }
            Some(Value::String(_)) => {}
            Some(other) => problems.push(Problem::new(
                "context",
                format!("context must be a string, found {}", shown(other)),
                format!("Invalid context parameter: {}", shown(other)),
            )),
        }
        let verbosities = VERBOSITIES.map(str::to_owned);
        let choices: [(&str, &str, &[String]); 3] = [
            ("language", "Supported languages", &self.languages),
            ("framework", "Supported frameworks", &self.frameworks),
            ("verbosity", "Supported values", &verbosities),
        ];
        for (name, label, supported) in choices {
            let Some(value) = arguments.get(name) else { continue };
            if !self.is_strict && name != "verbosity" && value.is_string() {
                continue;
            }
            if value.as_str().is_none_or(|text| !supported.iter().any(|known| known == text)) {
                let shown = shown(value);
                let text = format!("Invalid {name} '{shown}'. {label}: {}", supported.join(", "));
                let mut problem = Problem::new(name, text, format!("Invalid {name} parameter: {shown}"));
                problem.allowed = supported.iter().map(|value| json!(value)).collect();
                problems.push(problem);
            }
        }
        let is_known = |name: &str| PARAMETERS.contains(&name) || !self.is_strict && name == MAX_TOKENS;
        if !self.is_strict
            && let Some(value) = arguments.get(MAX_TOKENS)
            && !value.as_u64().is_some_and(|n| (HUMAN_TOKENS_MIN..=HUMAN_TOKENS_MAX).contains(&n))
        {
            let expected = format!("an integer from {HUMAN_TOKENS_MIN} to {HUMAN_TOKENS_MAX}");
            let text = format!("{MAX_TOKENS}: expected {expected}, found {}", shown(value));
            let log = format!("Invalid {MAX_TOKENS} parameter: {}", shown(value));
            problems.push(Problem::new(MAX_TOKENS, text, log));
        }
        let unknown = arguments.keys().filter(|name| !is_known(name));
        for name in unknown.take(PROBLEMS_MAX) {
            let shown = mcp::shown(name);
            let text =
                format!("Unknown parameter '{shown}'. Supported parameters: {}", PARAMETERS.join(", "));
            problems.push(Problem::new(name, text, format!("Unknown parameter: {shown}")));
        }
        problems
    }
}

impl Server for ThreatServer {
    /// The specification fixes the answers to invalid names and arguments.
    fn is_literal(&self) -> bool {
        true
    }

    fn is_quick(&self, request: &Request) -> bool {
        match request {
            Request::CallTool { .. } => false,
            // It would have to wait until the patterns are loaded.
            Request::ListTools(_) if !self.is_strict => true,
            Request::ListTools(_) => self.loaded.try_lock().is_ok_and(|slot| slot.loaded.is_some()),
            _ => true,
        }
    }

    fn tools(&self, _context: &Context<'_>, cursor: Option<&str>) -> Result<Page<Arc<Tool>>, Failure> {
        if !self.is_strict {
            return mcp::page_of(&[Arc::new(tool::shown(Choice::Any, self.output_schemas))], cursor, 1);
        }
        let tool = self.loaded().map_or_else(
            // A client must see the tool even while its patterns cannot be read.
            |_| {
                let (languages, frameworks) = (&["python".into()], &["flask".into(), "any".into()]);
                Arc::new(tool::shown(Choice::Known { languages, frameworks }, false))
            },
            |loaded| loaded.tool.clone(),
        );
        mcp::page_of(&[tool], cursor, 1)
    }

    fn tool(&self, context: &Context<'_>, name: &str) -> Result<Option<Arc<Tool>>, Failure> {
        if !self.is_strict {
            return Ok(Some(tool::accepted(self.output_schemas)).filter(|tool| tool.name == name));
        }
        Ok(self.tools(context, None)?.items.into_iter().find(|tool| tool.name == name))
    }

    fn check_arguments(&self, context: &Context<'_>, _tool: &Tool, arguments: &Value) -> Result<(), Failure> {
        let problems =
            arguments.as_object().map(|arguments| self.loaded().map(|loaded| loaded.check(arguments)));
        let problems = problems.transpose()?.unwrap_or_default();
        for problem in &problems {
            tracing::error!(req_id = %context.id, "{}", problem.log);
        }
        if problems.is_empty() {
            return Ok(());
        }
        let message = problems.iter().map(|problem| problem.text.as_str()).collect::<Vec<_>>().join("\n");
        let errors = problems.into_iter().map(Problem::into_field_error).collect();
        Err(Failure { errors, ..Failure::new(FailureKind::InvalidArguments, message) })
    }

    //@= spexus://REQ-203
    //@# 004 Tool Invocation: an answer is one text block of JSON
    fn call_tool(
        &self,
        context: &Context<'_>,
        _tool: &Tool,
        arguments: Value,
    ) -> Result<ToolOutput, Failure> {
        let loaded = self.loaded()?;
        let text = |name: &str| arguments.get(name).and_then(Value::as_str);
        let query = Query {
            context: text("context").unwrap_or_default(),
            language: text("language"),
            framework: text("framework"),
            category: None,
        };
        let FoundPatterns { hits, note } = loaded.library.ask(&query);
        let is_human = text("verbosity") == Some("human");
        let room = Room {
            patterns_max: answer::MCP_PATTERNS_MAX,
            language: query.language,
            framework: query.framework,
            note: note.as_deref(),
            ..Room::default()
        };
        let n_tokens_max = arguments.get(MAX_TOKENS).and_then(Value::as_u64).unwrap_or(HUMAN_TOKENS_DEFAULT);
        let answer = match (is_human, self.is_strict) {
            (false, _) => answer::agent(&hits, &room),
            // Clients of `tmkb serve` expect the whole form.
            (true, true) => answer::human(&hits, &room),
            (true, false) => answer::human_within(&hits, &room, n_tokens_max as usize),
        };
        tracing::info!(
            req_id = %context.id,
            "Query executed successfully: {} patterns returned",
            answer.patterns_included
        );
        let mut output = ToolOutput::text(json!(answer).to_string());
        output.structured = self.output_schemas.then(|| json!(answer).into());
        if is_human && answer.patterns_included > 0 {
            output.meta.insert("tmkb/matched".into(), reasons(&hits, answer.patterns_included));
        }
        Ok(output)
    }
}

/// Why each of the first patterns is in the answer, by id.
pub fn reasons(hits: &[Hit<'_>], n_included: usize) -> Value {
    let reasons_of = |hit: &Hit<'_>| hit.reasons.iter().map(ToString::to_string).collect::<Vec<_>>();
    hits.iter().take(n_included).map(|hit| (hit.pattern.id.clone(), json!(reasons_of(hit)))).collect()
}

/// An invalid argument: the text for the client, and the text for the log.
struct Problem {
    field: String,
    text: String,
    log: String,
    allowed: Vec<Value>,
}

impl Problem {
    fn new(field: &str, text: impl Into<String>, log: impl Into<String>) -> Self {
        Self { field: field.into(), text: text.into(), log: log.into(), allowed: Vec::new() }
    }

    fn into_field_error(self) -> FieldError {
        FieldError { allowed: self.allowed, ..FieldError::new(self.field, self.text) }
    }
}

/// A value in a message.
fn shown(value: &Value) -> String {
    mcp::shown(&value.as_str().map_or_else(|| value.to_string(), str::to_owned))
}

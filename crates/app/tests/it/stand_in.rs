//! A small MCP server over HTTP in revision 2026-07-28, for tests that need to see what the bridge asks.
//!
//! It runs on the protocol core, so what it says is right; it counts, remembers and waits as a test wants.

use std::{
    collections::HashMap,
    io::{self, BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, AtomicUsize, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use mcp::{
    Capabilities, Change, Completion, CompletionReference, Contents, Context, Failure, FailureKind,
    FieldError, Page, Profile, Prompt, PromptArgument, Resource, Revision, Server, Session, Step, Tool,
    ToolErrors, ToolOutput,
};
use serde_json::{Map, Value, json};

/// The token that it knows.
pub const TOKEN: &str = "mcp_pat_abcdefghijklmnopqrstuvwxyz0123456789ABCDEFG";

/// A running stand-in. It ends with the process.
#[derive(Clone)]
pub struct StandIn {
    pub url: String,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    requests: Mutex<Vec<Request>>,
    answers: Mutex<HashMap<String, Vec<u8>>>,
    streams: Mutex<Vec<mpsc::Sender<Change>>>,
    n_connections: AtomicUsize,
    n_written: AtomicU64,
    is_plain: Mutex<bool>,
    has_more_tools: Mutex<bool>,
    refuses: Mutex<bool>,
}

/// A request as it came.
#[derive(Clone, Debug, Default)]
pub struct Request {
    pub line: String,
    pub headers: HashMap<String, String>,
    pub body: Vec<u8>,
}

impl Request {
    /// A header's text.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }

    /// The JSON-RPC message.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("a request is JSON")
    }

    /// Reads a request; none at the end of the connection.
    pub fn read(reader: &mut impl BufRead) -> io::Result<Option<Self>> {
        let mut request = Self::default();
        if reader.read_line(&mut request.line)? == 0 {
            return Ok(None);
        }
        loop {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            let Some((name, value)) = line.trim_end().split_once(':') else { break };
            request.headers.insert(name.to_lowercase(), value.trim().to_owned());
        }
        let n_bytes: usize = request.header("content-length").parse().unwrap_or(0);
        request.body = vec![0; n_bytes];
        reader.read_exact(&mut request.body)?;
        Ok(Some(request))
    }
}

impl StandIn {
    pub fn start() -> Self {
        Self::start_at("127.0.0.1:0")
    }

    pub fn start_at(address: &str) -> Self {
        let listener = TcpListener::bind(address).expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let stand_in = Self { url, shared: Arc::default() };
        let serving = stand_in.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let serving = serving.clone();
                serving.shared.n_connections.fetch_add(1, Ordering::Relaxed);
                thread::spawn(move || serving.serve(&stream));
            }
        });
        stand_in
    }

    /// Speaks plain JSON-RPC from now on, without what belongs to the revision.
    pub fn be_plain(&self) {
        *self.shared.is_plain.lock().expect("not poisoned") = true;
    }

    /// Refuses whatever token is shown, or takes the right one again.
    pub fn refuse_tokens(&self, refuses: bool) {
        *self.shared.refuses.lock().expect("not poisoned") = refuses;
    }

    /// Lists one more tool from now on, and says so.
    pub fn add_tool(&self) {
        *self.shared.has_more_tools.lock().expect("not poisoned") = true;
        self.change(&Change::Tools);
    }

    /// Tells everybody who listens of a change.
    pub fn change(&self, change: &Change) {
        self.shared
            .streams
            .lock()
            .expect("not poisoned")
            .retain(|stream| stream.send(change.clone()).is_ok());
    }

    /// Ends every stream of changes.
    pub fn drop_streams(&self) {
        self.shared.streams.lock().expect("not poisoned").clear();
    }

    /// Every request of a method so far.
    pub fn requests(&self, method: &str) -> Vec<Request> {
        let requests = self.shared.requests.lock().expect("not poisoned");
        requests.iter().filter(|request| request.header("mcp-method") == method).cloned().collect()
    }

    /// How many requests there were, of whichever method.
    pub fn n_requests(&self) -> usize {
        self.shared.requests.lock().expect("not poisoned").len()
    }

    /// Waits until there were so many requests of a method.
    pub fn wait_for(&self, method: &str, n_requests: usize) {
        let started = Instant::now();
        while self.requests(method).len() < n_requests {
            assert!(started.elapsed() < Duration::from_secs(10), "{method} was not asked {n_requests} times");
            thread::sleep(Duration::from_millis(5));
        }
    }

    pub fn n_connections(&self) -> usize {
        self.shared.n_connections.load(Ordering::Relaxed)
    }

    /// How many epics were created.
    pub fn n_written(&self) -> u64 {
        self.shared.n_written.load(Ordering::Relaxed)
    }

    fn serve(&self, stream: &TcpStream) {
        let mut reader = BufReader::new(stream);
        while let Ok(Some(request)) = Request::read(&mut reader) {
            self.shared.requests.lock().expect("not poisoned").push(request.clone());
            let is_last = request.header("connection") == "close";
            if self.answer(&request, stream).is_err() || is_last {
                let _ = stream.shutdown(std::net::Shutdown::Both);
                return;
            }
        }
    }

    fn answer(&self, request: &Request, stream: &TcpStream) -> io::Result<()> {
        let is_known = request.header("authorization") == format!("Bearer {TOKEN}");
        if !is_known || *self.shared.refuses.lock().expect("not poisoned") {
            let error = json!({"code": -32001, "message": "the token has expired", "data": {"code": "UNAUTHENTICATED"}});
            return respond(request, stream, "401 Unauthorized", &error_body(&request.json(), error));
        }
        let mut session = Session::http(Arc::new(profile()), "stand-in", Revision::V2026_07_28);
        let mut answer = Vec::new();
        for step in session.handle(&request.body, Instant::now()) {
            match step {
                Step::Send(message) => answer = message,
                Step::Call(call) => answer = self.run(request, call, &mut session),
                Step::Stop | Step::Refused(..) | Step::Cancel(_) => {}
            }
        }
        if session.is_listening() {
            if *self.shared.is_plain.lock().expect("not poisoned") {
                let error = json!({"code": -32601, "message": "Method not found"});
                return respond(request, stream, "200 OK", &error_body(&request.json(), error));
            }
            return self.stream(stream, &session, &answer);
        }
        let value: Value = serde_json::from_slice(&answer).expect("an answer is JSON");
        if *self.shared.is_plain.lock().expect("not poisoned") {
            return respond(request, stream, "200 OK", without_revision(value).to_string().as_bytes());
        }
        respond(request, stream, "200 OK", &answer)
    }

    fn run(&self, request: &Request, call: mcp::Call, session: &mut Session) -> Vec<u8> {
        let key = request.header("idempotency-key").to_owned();
        if let Some(answer) = self.shared.answers.lock().expect("not poisoned").get(&key) {
            return answer.clone();
        }
        let answer = session.finish(mcp::run(self, call, &|_| {})).expect("an answer");
        if !key.is_empty() {
            self.shared.answers.lock().expect("not poisoned").insert(key, answer.clone());
        }
        answer
    }

    fn stream(&self, mut stream: &TcpStream, session: &Session, acknowledged: &[u8]) -> io::Result<()> {
        let (sender, changes) = mpsc::channel();
        self.shared.streams.lock().expect("not poisoned").push(sender);
        stream
            .write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")?;
        let mut send = |message: &[u8]| {
            stream.write_all(b"event: message\ndata: ")?;
            stream.write_all(message)?;
            stream.write_all(b"\n\n")
        };
        send(acknowledged)?;
        for change in changes {
            for message in session.notify(&change) {
                send(&message)?;
            }
        }
        Err(io::ErrorKind::UnexpectedEof.into())
    }
}

fn profile() -> Profile {
    let mut profile = Profile::new("stand-in", "1");
    profile.capabilities = Capabilities::all();
    profile.tool_errors = ToolErrors::ByRevision;
    profile
}

fn respond(request: &Request, mut stream: &TcpStream, status: &str, body: &[u8]) -> io::Result<()> {
    // Who is not told would send the next request to a connection that is being closed.
    let last = if request.header("connection") == "close" { "connection: close\r\n" } else { "" };
    let n_bytes = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\n{last}content-type: application/json\r\ncontent-length: {n_bytes}\r\n\r\n"
    );
    stream.write_all(&[head.as_bytes(), body].concat())
}

fn error_body(request: &Value, error: Value) -> Vec<u8> {
    json!({"jsonrpc": "2.0", "id": request["id"], "error": error}).to_string().into_bytes()
}

/// An answer as a server gives it that knows nothing of the revision.
fn without_revision(mut answer: Value) -> Value {
    if let Some(result) = answer["result"].as_object_mut() {
        // Servers before us described failures there.
        if let Some(error) = result.get("_meta").and_then(|meta| meta.get(mcp::ERROR_META)).cloned() {
            result.insert("structuredContent".into(), error);
        }
        result.retain(|name, _| !matches!(name.as_str(), "resultType" | "ttlMs" | "cacheScope" | "_meta"));
    }
    answer
}

impl Server for StandIn {
    fn instructions(&self, _: &Context<'_>) -> Option<String> {
        Some("Ask the stand-in.".into())
    }

    fn tools(&self, _: &Context<'_>, cursor: Option<&str>) -> Result<Page<Arc<Tool>>, Failure> {
        let tool = |name: &str, properties: Value| {
            let required: Vec<&String> = properties.as_object().expect("an object").keys().collect();
            let schema = json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false});
            let mut tool = Tool::new(name, format!("About {name}"), schema);
            tool.annotations = Some(json!({"readOnlyHint": name != "create_epic"}));
            Arc::new(tool)
        };
        let priority = json!({"type": "integer", "minimum": 1, "maximum": 4});
        // Two pages, so that the bridge has to turn one.
        match cursor {
            None => Ok(Page {
                items: vec![
                    tool("create_epic", json!({"title": {"type": "string"}, "priority": priority})),
                    tool("fail", json!({"kind": {"type": "string"}})),
                ],
                next_cursor: Some("2".into()),
            }),
            Some(_) => {
                let mut tools = vec![tool("wait", json!({"ms": {"type": "integer"}}))];
                if *self.shared.has_more_tools.lock().expect("not poisoned") {
                    tools.push(tool("another", json!({})));
                }
                Ok(Page::whole(tools))
            }
        }
    }

    fn call_tool(&self, _: &Context<'_>, tool: &Tool, arguments: Value) -> Result<ToolOutput, Failure> {
        match tool.name.as_str() {
            "create_epic" => {
                let number = self.shared.n_written.fetch_add(1, Ordering::Relaxed) + 1;
                Ok(ToolOutput::json(
                    json!({"reference_id": format!("EP-{number:03}"), "title": arguments["title"]}),
                ))
            }
            "wait" => {
                thread::sleep(Duration::from_millis(arguments["ms"].as_u64().unwrap_or(0)));
                Ok(ToolOutput::text("waited"))
            }
            "fail" => {
                let (kind, message) = match arguments["kind"].as_str().unwrap_or_default() {
                    "conflict" => (FailureKind::Conflict, "the epic has stories"),
                    "not found" => (FailureKind::NotFound, "EP-999 is not there"),
                    "token" => (FailureKind::Other, TOKEN),
                    _ => (FailureKind::InvalidArguments, "title: is blank"),
                };
                let errors = vec![FieldError::new("title", "is blank")];
                Err(Failure { errors, ..Failure::new(kind, message) })
            }
            _ => Ok(ToolOutput::text("done")),
        }
    }

    fn resources(&self, _: &Context<'_>, cursor: Option<&str>) -> Result<Page<Resource>, Failure> {
        let number: u32 = cursor.map_or(1, |cursor| cursor.parse().unwrap_or(1));
        let next_cursor = (number < 3).then(|| (number + 1).to_string());
        Ok(Page { items: vec![resource(&format!("epic://EP-00{number}"))], next_cursor })
    }

    fn templates(&self, _: &Context<'_>, _: Option<&str>) -> Result<Page<Resource>, Failure> {
        Ok(Page::whole(vec![resource("epics://list?status={status}&priority={priority}")]))
    }

    fn read(&self, _: &Context<'_>, uri: &str) -> Result<Contents, Failure> {
        let text = match uri.split_once("://") {
            Some(("epic", "EP-001")) => json!({"reference_id": "EP-001"}).to_string(),
            // Letters that JSON has to write differently are among them.
            Some(("large", n_mib)) => {
                "a line\n\"ä\"\t".repeat(n_mib.parse::<usize>().expect("a number") * 1024 * 1024 / 12)
            }
            _ => return Err(Failure::new(FailureKind::NotFound, format!("Resource not found: {uri}"))),
        };
        Ok(Contents::json(uri, text))
    }

    fn check_subscription(&self, _: &Context<'_>, _: &str) -> Result<(), Failure> {
        Ok(())
    }

    fn prompts(&self, _: &Context<'_>, _: Option<&str>) -> Result<Page<Prompt>, Failure> {
        let argument =
            PromptArgument { name: "epic_id".into(), description: "The epic".into(), required: true };
        Ok(Page::whole(vec![Prompt {
            name: "decompose_epic".into(),
            title: None,
            description: Some("Break an epic down".into()),
            arguments: vec![argument],
        }]))
    }

    fn fill_prompt(
        &self,
        _: &Context<'_>,
        _: &Prompt,
        arguments: &Map<String, Value>,
    ) -> Result<Vec<Value>, Failure> {
        let text = format!("Break {} down", arguments["epic_id"].as_str().unwrap_or_default());
        Ok(vec![json!({"role": "user", "content": {"type": "text", "text": text}})])
    }

    fn complete(
        &self,
        _: &Context<'_>,
        _: &CompletionReference,
        completion: &Completion,
    ) -> Result<Vec<String>, Failure> {
        Ok(vec![format!("{}1", completion.value)])
    }
}

fn resource(uri: &str) -> Resource {
    Resource {
        uri: uri.into(),
        name: uri.into(),
        title: None,
        description: Some("An epic".into()),
        mime_type: Some("application/json".into()),
        more: Map::new(),
    }
}

//! What a server does. Everything has a default, so that a server writes only what it offers.

use std::{cell::Cell, collections::BTreeSet, sync::Arc, time::Instant};

use serde::Serialize;
use serde_json::{Map, Value};

use crate::{
    call::Ticket,
    contents::Contents,
    error::notification_bytes,
    failure::{Failure, FailureKind},
    id::Id,
    listed::{Prompt, Resource},
    notification::{Change, Interest},
    page::Page,
    request::{Completion, CompletionReference, Request},
    revision::Revision,
    tool::{Tool, ToolOutput},
};

/// What to do instead of calling a tool that there is not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instead {
    /// The tool to call.
    pub tool: Option<String>,
    /// The end of the message: which tool, how, or why this one cannot be called.
    pub advice: String,
}

/// What a server offers. Methods run on any thread, several at once.
pub trait Server: Send + Sync {
    /// The instructions that agents receive when they connect.
    fn instructions(&self, _context: &Context<'_>) -> Option<String> {
        None
    }

    /// Lists the tools, in an order that does not change from call to call.
    fn tools(&self, _context: &Context<'_>, _cursor: Option<&str>) -> Result<Page<Arc<Tool>>, Failure> {
        Ok(Page::whole(Vec::new()))
    }

    /// Returns the tool of that name.
    fn tool(&self, context: &Context<'_>, name: &str) -> Result<Option<Arc<Tool>>, Failure> {
        let mut cursor = None;
        loop {
            let page = self.tools(context, cursor.as_deref())?;
            if let Some(tool) = page.items.iter().find(|tool| tool.name == name) {
                return Ok(Some(tool.clone()));
            }
            cursor = page.next_cursor;
            if cursor.is_none() {
                return Ok(None);
            }
        }
    }

    /// Whether names and arguments are taken by the letter, and messages are the shortest there are.
    fn is_literal(&self) -> bool {
        false
    }

    /// Changes arguments into what they mean before they are checked, and returns what the caller should know about it.
    fn normalise(&self, _context: &Context<'_>, tool: &Tool, arguments: &mut Value) -> Vec<String> {
        tool.input_schema.normalise(arguments)
    }

    /// What somebody is to use instead who called a tool that there is not.
    fn instead_of(&self, context: &Context<'_>, name: &str, _arguments: &Value) -> Option<Instead> {
        let known: Vec<Arc<Tool>> = self.tools(context, None).map(|page| page.items).unwrap_or_default();
        let nearest = nearest::nearest(name, known.iter().map(|tool| tool.name.as_str()))?;
        Some(Instead { tool: Some(nearest.to_owned()), advice: format!("did you mean {nearest}?") })
    }

    /// Checks arguments before the tool runs. A server overrides this only to speak in its own words.
    fn check_arguments(&self, _context: &Context<'_>, tool: &Tool, arguments: &Value) -> Result<(), Failure> {
        let errors = tool.input_schema.check(arguments);
        if errors.is_empty() { Ok(()) } else { Err(Failure::invalid_arguments(&tool.name, errors)) }
    }

    /// Runs a tool whose arguments, an object, have been checked.
    fn call_tool(
        &self,
        _context: &Context<'_>,
        tool: &Tool,
        _arguments: Value,
    ) -> Result<ToolOutput, Failure> {
        Err(Failure::new(FailureKind::NotFound, format!("Unknown tool: {}", tool.name)))
    }

    /// Lists the resources.
    fn resources(&self, _context: &Context<'_>, _cursor: Option<&str>) -> Result<Page<Resource>, Failure> {
        Ok(Page::whole(Vec::new()))
    }

    /// Lists the resources under a path, where the profile says that they are served by path.
    fn resources_under(
        &self,
        _context: &Context<'_>,
        path: &str,
        _cursor: Option<&str>,
    ) -> Result<Page<Resource>, Failure> {
        Err(Failure::new(FailureKind::NotFound, format!("Resource not found: {path}")))
    }

    /// Lists the families of resources; the `uri` of each is an RFC 6570 template.
    fn templates(&self, _context: &Context<'_>, _cursor: Option<&str>) -> Result<Page<Resource>, Failure> {
        Ok(Page::whole(Vec::new()))
    }

    /// Reads a resource.
    fn read(&self, _context: &Context<'_>, uri: &str) -> Result<Contents, Failure> {
        Err(Failure::new(FailureKind::NotFound, format!("Resource not found: {uri}")))
    }

    /// Says whether a resource may be subscribed to; by default, if it can be read.
    fn check_subscription(&self, context: &Context<'_>, uri: &str) -> Result<(), Failure> {
        self.read(context, uri).map(drop)
    }

    /// Returns which of some resources can be listened to: those that can be subscribed to.
    fn watchable(&self, context: &Context<'_>, uris: Vec<String>) -> Result<BTreeSet<String>, Failure> {
        let mut watchable = BTreeSet::new();
        for uri in uris {
            if context.is_cancelled() {
                return Err(Failure::new(FailureKind::Timeout, "nobody waits any more"));
            }
            match self.check_subscription(context, &uri) {
                Ok(()) => drop(watchable.insert(uri)),
                Err(Failure {
                    kind: FailureKind::NotFound | FailureKind::InvalidArguments | FailureKind::Forbidden,
                    ..
                }) => {}
                Err(failure) => return Err(failure),
            }
        }
        Ok(watchable)
    }

    /// Lists the prompts.
    fn prompts(&self, _context: &Context<'_>, _cursor: Option<&str>) -> Result<Page<Prompt>, Failure> {
        Ok(Page::whole(Vec::new()))
    }

    /// Fills in a prompt whose required arguments are there: its messages, as the protocol has them.
    fn fill_prompt(
        &self,
        _context: &Context<'_>,
        prompt: &Prompt,
        _arguments: &Map<String, Value>,
    ) -> Result<Vec<Value>, Failure> {
        Err(Failure::new(FailureKind::NotFound, format!("Unknown prompt: {}", prompt.name)))
    }

    /// Completes the value of an argument, best first.
    fn complete(
        &self,
        _context: &Context<'_>,
        _reference: &CompletionReference,
        _completion: &Completion,
    ) -> Result<Vec<String>, Failure> {
        Ok(Vec::new())
    }

    /// Hands over what to call when something changed. A transport does this once, at the start.
    fn watch(&self, _changed: Changed) {}

    /// Hands over what the client wants to hear of, whenever that changes. It must not wait. Most servers need not
    /// know: they tell of every change, and the session passes on what is wanted.
    fn interest(&self, _interest: Interest) {}

    /// Tells whether a request is answered so fast, without ever waiting, that handing it to another thread
    /// would cost more. Such requests are run where messages are read: nothing else is read meanwhile.
    fn is_quick(&self, request: &Request) -> bool {
        matches!(request, Request::Ping | Request::Unsubscribe(_))
    }
}

/// What a server calls when something changed, from any thread.
pub type Changed = Box<dyn Fn(Change) + Send + Sync>;

/// What a request brings with it beside its parameters.
pub struct Context<'a> {
    /// The request's own id.
    pub id: &'a Id,
    /// The revision the answer is for.
    pub revision: Revision,
    /// Reports how far a long call has come.
    pub progress: Progress<'a>,
    pub(crate) ticket: &'a Ticket,
}

impl Context<'_> {
    /// Names this request in the log and in internal errors.
    pub fn request_id(&self) -> String {
        self.ticket.request_id()
    }

    /// When the request arrived: its time limit counts from here.
    pub fn started(&self) -> Instant {
        self.ticket.started
    }

    /// Sets what is done when nobody waits for the answer any more; at once, if that is so already.
    pub fn on_cancel(&self, hook: impl FnOnce() + Send + 'static) {
        self.ticket.on_cancel(Box::new(hook));
    }

    /// Tells whether nobody waits for the answer any more. Long work asks now and then, and stops.
    pub fn is_cancelled(&self) -> bool {
        self.ticket.is_cancelled()
    }
}

/// Reports progress, where the client asked for it.
pub struct Progress<'a> {
    pub(crate) token: Option<&'a Id>,
    pub(crate) send: &'a dyn Fn(Vec<u8>),
    pub(crate) has_message: bool,
    pub(crate) last: Cell<f64>,
    pub(crate) ticket: &'a Ticket,
}

impl Progress<'_> {
    /// Tells whether the client wants to hear of progress.
    pub fn is_wanted(&self) -> bool {
        self.token.is_some()
    }

    /// Says how far the call has come, of how much, and what it is doing. Progress only grows: a
    /// value that is not above the last one is not sent, as the protocol wants.
    pub fn report(&self, progress: f64, total: Option<f64>, message: Option<&str>) {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Params<'a> {
            progress_token: &'a Id,
            progress: f64,
            #[serde(skip_serializing_if = "Option::is_none")]
            total: Option<f64>,
            #[serde(skip_serializing_if = "Option::is_none")]
            message: Option<&'a str>,
        }
        let Some(token) = self.token else { return };
        let has_grown = progress > self.last.get();
        if !has_grown || self.ticket.is_cancelled() {
            return;
        }
        self.last.set(progress);
        let message = message.filter(|_| self.has_message);
        let params = Params { progress_token: token, progress, total, message };
        (self.send)(notification_bytes("notifications/progress", Some(&params)));
    }
}

//! The behaviour of a server. Every method has a default, so that a server implements only what it offers.

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

/// A replacement for an unknown tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instead {
    /// The tool to call.
    pub tool: Option<String>,
    /// The end of the message: which tool to call and how, or why this one cannot be called.
    pub advice: String,
}

/// The features of a server. Methods run on any thread, several at once.
pub trait Server: Send + Sync {
    /// The instructions that agents receive when they connect.
    fn instructions(&self, _context: &Context<'_>) -> Option<String> {
        None
    }

    /// Lists the tools, always in the same order.
    fn tools(&self, _context: &Context<'_>, _cursor: Option<&str>) -> Result<Page<Arc<Tool>>, Failure> {
        Ok(Page::whole(Vec::new()))
    }

    /// Returns the tool with this name.
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

    /// Whether names and arguments must match exactly, and messages are as short as possible.
    fn is_literal(&self) -> bool {
        false
    }

    /// Normalizes arguments before they are validated, and returns notes for the caller.
    fn normalise(&self, _context: &Context<'_>, tool: &Tool, arguments: &mut Value) -> Vec<String> {
        tool.input_schema.normalise(arguments)
    }

    /// Suggests a replacement for an unknown tool.
    fn instead_of(&self, context: &Context<'_>, name: &str, _arguments: &Value) -> Option<Instead> {
        let known: Vec<Arc<Tool>> = self.tools(context, None).map(|page| page.items).unwrap_or_default();
        let nearest = nearest::nearest(name, known.iter().map(|tool| tool.name.as_str()))?;
        Some(Instead { tool: Some(nearest.to_owned()), advice: format!("did you mean {nearest}?") })
    }

    /// Validates arguments before the tool runs. A server overrides this only to word errors differently.
    fn check_arguments(&self, _context: &Context<'_>, tool: &Tool, arguments: &Value) -> Result<(), Failure> {
        let errors = tool.input_schema.check(arguments);
        if errors.is_empty() { Ok(()) } else { Err(Failure::invalid_arguments(&tool.name, errors)) }
    }

    /// Runs a tool with validated arguments, an object.
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

    /// Lists the resources under a path, if the profile says that they are served by path.
    fn resources_under(
        &self,
        _context: &Context<'_>,
        path: &str,
        _cursor: Option<&str>,
    ) -> Result<Page<Resource>, Failure> {
        Err(Failure::new(FailureKind::NotFound, format!("Resource not found: {path}")))
    }

    /// Lists the resource templates; the `uri` of each is an RFC 6570 template.
    fn templates(&self, _context: &Context<'_>, _cursor: Option<&str>) -> Result<Page<Resource>, Failure> {
        Ok(Page::whole(Vec::new()))
    }

    /// Reads a resource.
    fn read(&self, _context: &Context<'_>, uri: &str) -> Result<Contents, Failure> {
        Err(Failure::new(FailureKind::NotFound, format!("Resource not found: {uri}")))
    }

    /// Returns whether a resource can be subscribed to; by default, if it can be read.
    fn check_subscription(&self, context: &Context<'_>, uri: &str) -> Result<(), Failure> {
        self.read(context, uri).map(drop)
    }

    /// Returns those resources that can be subscribed to.
    fn watchable(&self, context: &Context<'_>, uris: Vec<String>) -> Result<BTreeSet<String>, Failure> {
        let mut watchable = BTreeSet::new();
        for uri in uris {
            if context.is_cancelled() {
                return Err(Failure::new(FailureKind::Timeout, "the caller no longer waits"));
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

    /// Fills in a prompt with its required arguments: its messages, in the form of the protocol.
    fn fill_prompt(
        &self,
        _context: &Context<'_>,
        prompt: &Prompt,
        _arguments: &Map<String, Value>,
    ) -> Result<Vec<Value>, Failure> {
        Err(Failure::new(FailureKind::NotFound, format!("Unknown prompt: {}", prompt.name)))
    }

    /// Completes the value of an argument, best completions first.
    fn complete(
        &self,
        _context: &Context<'_>,
        _reference: &CompletionReference,
        _completion: &Completion,
    ) -> Result<Vec<String>, Failure> {
        Ok(Vec::new())
    }

    /// Receives the callback for changes. A transport calls this once, at the start.
    fn watch(&self, _changed: Changed) {}

    /// Receives the interest of the client, whenever it changes. It must not block. Most servers ignore it:
    /// they report every change, and the session forwards those of interest.
    fn interest(&self, _interest: Interest) {}

    /// Returns whether a request is answered so fast, without blocking, that handing it to another thread
    /// would take longer. Such requests run on the reading thread: nothing else is read meanwhile.
    fn is_quick(&self, request: &Request) -> bool {
        matches!(request, Request::Ping | Request::Unsubscribe(_))
    }
}

/// The callback for changes, callable from any thread.
pub type Changed = Box<dyn Fn(Change) + Send + Sync>;

/// The context of a request, in addition to its parameters.
pub struct Context<'a> {
    /// The request's own id.
    pub id: &'a Id,
    /// The revision of the answer.
    pub revision: Revision,
    /// Reports the progress of a long call.
    pub progress: Progress<'a>,
    pub(crate) ticket: &'a Ticket,
}

impl Context<'_> {
    /// Identifies this request in the log and in internal errors.
    pub fn request_id(&self) -> String {
        self.ticket.request_id()
    }

    /// When the request arrived: its time limit starts here.
    pub fn started(&self) -> Instant {
        self.ticket.started
    }

    /// Sets a callback for when nobody waits for the answer any more; called immediately if that is the case already.
    pub fn on_cancel(&self, hook: impl FnOnce() + Send + 'static) {
        self.ticket.on_cancel(Box::new(hook));
    }

    /// Returns whether nobody waits for the answer any more. Long work checks this from time to time, and stops.
    pub fn is_cancelled(&self) -> bool {
        self.ticket.is_cancelled()
    }
}

/// Reports progress, if the client requested it.
pub struct Progress<'a> {
    pub(crate) token: Option<&'a Id>,
    pub(crate) send: &'a dyn Fn(Vec<u8>),
    pub(crate) has_message: bool,
    pub(crate) last: Cell<f64>,
    pub(crate) ticket: &'a Ticket,
}

impl Progress<'_> {
    /// Returns whether the client requested progress notifications.
    pub fn is_wanted(&self) -> bool {
        self.token.is_some()
    }

    /// Reports how far the call has come, of how much, and its current step. Progress must increase: a
    /// value that is not above the last one is not sent, as the protocol requires.
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

//! What commands write: answers for people or as JSON on stdout, and what is wrong on stderr.

mod render;
mod stale;
mod table;
mod thread;

use std::io::{ErrorKind, IsTerminal as _, Write as _};

use ops::{Entry, Error};
use serde_json::{Value, json};

use super::Exit;
use crate::duvet::printable;

/// Prints the answer of an operation for people.
pub fn answer(entry: &Entry, answer: &Value) -> Exit {
    // In a pipe nothing is cut to fit: whoever reads it may want all.
    let size = std::io::stdout().is_terminal().then(terminal_size::terminal_size).flatten();
    raw(&render::render(entry, answer, size.map(|(width, _)| usize::from(width.0))))
}

/// Prints an answer for programs.
pub fn json(answer: &Value) -> Exit {
    raw(&format!("{answer}\n"))
}

/// Prints text as it is.
pub fn raw(text: &str) -> Exit {
    let mut stdout = std::io::stdout();
    written(stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()))
}

/// How a command ends that has printed its answer.
pub fn written(result: std::io::Result<()>) -> Exit {
    match result {
        Ok(()) => Exit::Done,
        // A reader that has seen enough, such as `head`, is no failure.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Exit::Done,
        Err(error) => {
            tell(&format!("standard output cannot be written: {error}"));
            Exit::Refused
        }
    }
}

/// Tells people something on stderr, without characters that a terminal would obey. If nobody can read it there, there is nobody
/// left to tell.
pub fn tell(message: &str) {
    let _ = writeln!(std::io::stderr(), "{}", printable(message));
}

/// Prints an error, and what is wrong with which argument.
pub fn error(error: &Error, as_json: bool) {
    if as_json {
        let mut body =
            json!({ "code": error.kind.code(), "message": error.message, "details": error.fields });
        // As over REST: the present state, when something was deleted, the id of the request.
        if let (Some(body), Some(Value::Object(more))) = (body.as_object_mut(), error.more.as_deref()) {
            body.extend(more.clone());
        }
        json(&json!({ "error": body }));
        return;
    }
    tell(&error.in_full());
    if error.fields.len() > 1 {
        for field in &error.fields {
            tell(&format!("  {}: {}", field.field, field.message));
        }
    }
}

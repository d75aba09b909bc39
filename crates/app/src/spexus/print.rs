//! What commands write: answers for people or as JSON on stdout, and what is wrong on stderr.

mod brief;
mod change;
mod item;
mod look;
mod render;
mod revisions;
mod stale;
mod suspect;
mod table;
mod thread;

use std::io::{ErrorKind, Write as _};

use ops::{Entry, Error};
use serde_json::{Value, json};

use super::Exit;
use crate::duvet::printable;

pub use change::written as field_text;
pub use item::{ItemAnswers, page as item_page};
pub use look::{HEADING, Look};

/// Prints the answer of an operation for people.
pub fn answer(entry: &Entry, answer: &Value) -> Exit {
    paged(&render::render(entry, answer, &Look::of_stdout()))
}

/// Prints text, through the pager that `PAGER` names where it is longer than the terminal.
pub fn paged(text: &str) -> Exit {
    let height = Look::terminal().map(|(_, height)| height);
    let is_long = height.is_some_and(|height| text.lines().count() >= height);
    match std::env::var("PAGER") {
        Ok(pager) if is_long && !pager.trim().is_empty() => through(&pager, text),
        _ => raw(text),
    }
}

/// Writes text to a pager. One that cannot be started is left out.
fn through(pager: &str, text: &str) -> Exit {
    // A pager may have arguments, as `less -R`; colours are for terminals that show them raw.
    let mut command = super::shell(pager);
    if std::env::var_os("LESS").is_none() {
        command.env("LESS", "FRX");
    }
    let Ok(mut child) = command.stdin(std::process::Stdio::piped()).spawn() else { return raw(text) };
    let written = child.stdin.take().map_or(Ok(()), |mut stdin| stdin.write_all(text.as_bytes()));
    match child.wait() {
        Ok(status) if status.success() => self::written(written),
        // The shell did not find it.
        _ => raw(text),
    }
}

/// Prints an answer for programs.
pub fn json(answer: &Value) -> Exit {
    raw(&format!("{answer}\n"))
}

/// Prints text as it is, but for colours where nobody wants them.
pub fn raw(text: &str) -> Exit {
    let mut stdout = anstream::stdout();
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

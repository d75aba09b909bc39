//! Idempotency keys: a call with a key is executed once, and repeated calls get its answer.

use std::io::{self, Write};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use store::{Mode, Tx, idempotency};

use super::Call;
use crate::caller::{Caller, Request};
use crate::context::Cx;
use crate::error::{Error, ErrorKind, FieldError, Result};
use crate::identity::Issuers;
use crate::operation::{Answer, Effect, Prepared};

/// The maximal length of a key.
const KEY_MAX: usize = 255;

/// The key of a call, and the hash of its content.
pub fn key(call: &Call) -> Result<Option<(String, String)>> {
    let Some(key) = call.idempotency_key.as_ref().filter(|_| call.entry.takes_key()) else { return Ok(None) };
    if key.is_empty() || key.len() > KEY_MAX || !key.bytes().all(|byte| byte.is_ascii_graphic()) {
        let message = format!("expected 1 to {KEY_MAX} visible ASCII characters");
        return Err(Error::field("Idempotency-Key", message));
    }
    let mut hash = hash_of(&call.arguments);
    if let Some(upload) = &call.upload {
        hash = blake3::hash(format!("{hash} {}", upload.hash()).as_bytes()).to_hex().to_string();
    }
    Ok(Some((key.clone(), hash)))
}

/// Replaces an operation whose arguments are invalid.
pub struct Refused(pub Error);

impl Prepared for Refused {
    fn prepare(&mut self, _: &mut Cx<'_, '_>) -> Result<()> {
        Ok(())
    }

    fn computes(&self) -> bool {
        false
    }

    fn compute(&mut self, _: &Issuers) -> Result<()> {
        Ok(())
    }

    fn mode(&self) -> Option<Mode> {
        None
    }

    fn n_parts(&self) -> usize {
        0
    }

    fn part(&self, _: &mut Cx<'_, '_>, _: usize) -> Result<()> {
        Ok(())
    }

    fn interrupted(&self, error: Error, _: usize) -> Error {
        error
    }

    fn run(&self, _: &mut Cx<'_, '_>) -> Result<Answer> {
        Err(self.0.clone())
    }
}

/// A stored answer.
#[derive(Serialize, Deserialize)]
enum Kept {
    Answer { json: String, version: Option<i64>, reference: Option<String> },
    Error { code: String, message: String, fields: Vec<FieldError>, more: Option<Box<Value>> },
}

impl Kept {
    fn to_json(&self) -> Result<String> {
        serde_json::to_string(self).map_err(|error| Error::new(ErrorKind::InternalError, error.to_string()))
    }
}

/// Stores the answer of a request, with its projects, for repeated requests. Failures that are not the caller's are not stored,
/// but undo the request.
pub fn keep(
    tx: &mut Tx<'_>,
    user_id: &str,
    operation: &str,
    key: &str,
    result: &Result<Answer>,
    projects: &str,
) -> Result<()> {
    let kept = match result {
        Ok(answer) => Kept::Answer {
            json: answer.json.clone(),
            version: answer.version,
            reference: answer.reference.clone(),
        },
        Err(error) if error.kind.is_callers() => Kept::Error {
            code: error.kind.code().to_owned(),
            message: error.message.clone(),
            fields: error.fields.clone(),
            more: error.more.clone(),
        },
        Err(error) => return Err(error.clone()),
    };
    Ok(idempotency::keep(tx, user_id, operation, key, &kept.to_json()?, projects)?)
}

/// A request with the same key is still running.
pub fn still_running() -> Error {
    let error = Error::new(ErrorKind::StillRunning, "a request with this Idempotency-Key is still running");
    Error { retry_after_s: Some(1), ..error }
}

/// Replaces a stored answer whose text was purged.
pub(crate) fn erased() -> Result<String> {
    let kept = Kept::Error {
        code: ErrorKind::NotFound.code().to_owned(),
        message: "what this request was about has been purged, and the answer with it".to_owned(),
        fields: Vec::new(),
        more: None,
    };
    kept.to_json()
}

/// The stored answer of the same request, if the caller may still see and change its subject.
pub fn replay(
    tx: &mut Tx<'_>,
    caller: &Caller,
    doing: (&'static str, Effect),
    key: &str,
    hash: &str,
    request: &Request,
) -> Result<Answer> {
    let found = idempotency::find(tx, &caller.user_id, doing.0, key)?;
    let Some(found) = found.filter(|found| found.status != 0) else { return Err(still_running()) };
    if found.body_hash != hash {
        let message = "this Idempotency-Key was used with another request; use a new key for a new request";
        return Err(Error::new(ErrorKind::IdempotencyKeyReused, message));
    }
    let mut cx = Cx::new(tx, request, doing, Some(caller));
    for project_id in &found.projects {
        if !cx.sees(project_id)? {
            return Err(Error::new(ErrorKind::NotFound, "what this request was about does not exist"));
        }
    }
    match serde_json::from_str(&found.answer) {
        Ok(Kept::Answer { json, version, reference }) => Ok(Answer { json, version, reference }),
        Ok(Kept::Error { code, message, fields, more }) => {
            let kind = ErrorKind::from_code(&code).unwrap_or(ErrorKind::InternalError);
            Err(Error { fields, more, ..Error::new(kind, message) })
        }
        Err(error) => Err(Error::new(ErrorKind::InternalError, format!("a kept answer is damaged: {error}"))),
    }
}

/// The hash of arguments, regardless of the order of their fields. They are hashed while they are serialized, without a copy.
fn hash_of(arguments: &Value) -> String {
    let mut hasher = blake3::Hasher::new();
    // Hashing does not fail.
    let _ = write_sorted(&mut hasher, arguments);
    hasher.finalize().to_hex().to_string()
}

/// Writes JSON with the fields of every object sorted.
fn write_sorted(out: &mut impl Write, value: &Value) -> io::Result<()> {
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                out.write_all(if index == 0 { b"[" } else { b"," })?;
                write_sorted(out, item)?;
            }
            out.write_all(if items.is_empty() { b"[]" } else { b"]" })
        }
        Value::Object(members) => {
            let mut members: Vec<(&String, &Value)> = members.iter().collect();
            members.sort_unstable_by_key(|(name, _)| *name);
            for (index, (name, value)) in members.iter().enumerate() {
                out.write_all(if index == 0 { b"{" } else { b"," })?;
                serde_json::to_writer(&mut *out, name)?;
                out.write_all(b":")?;
                write_sorted(out, value)?;
            }
            out.write_all(if members.is_empty() { b"{}" } else { b"}" })
        }
        scalar => Ok(serde_json::to_writer(out, scalar)?),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::write_sorted;

    #[test]
    fn arguments_are_hashed_as_the_sorted_copy_would_be() {
        let arguments = json!({"b": [1, {"d": null, "c": "\"\n"}], "a": {}, "e": [], "": 1.5, "ä": [[true]]});
        let mut sorted: Value = arguments.clone();
        sorted.sort_all_objects();
        let mut written = Vec::new();
        write_sorted(&mut written, &arguments).expect("memory can be written");
        assert_eq!(String::from_utf8(written).as_deref(), Ok(sorted.to_string().as_str()));
    }
}

//! Leased work: leasing the next requirement, and finishing it.

use mcp::Failure;
use ops::known;
use serde_json::{Value, json};

use super::lines::Row;
use super::{Arguments, Daily};

/// Alternatives to finishing leased work.
pub const INSTEAD: [&str; 2] = ["keep", "release"];

impl Daily<'_> {
    /// Leases the next requirement.
    pub fn take(&self, arguments: Arguments) -> Result<String, Failure> {
        let under = arguments.get("under").and_then(Value::as_str).unwrap_or_default();
        if let Ok(model) = self.model()
            && self.named(&model, under).is_some()
        {
            let problem = "names something in a specification or in code, which is not leased; \
                           expected a reference such as REQ-027 or EP-001";
            return Err(Failure::invalid_argument("under", problem));
        }
        for name in ["limit", "cursor"] {
            if arguments.contains_key(name) {
                return Err(Failure::invalid_argument(
                    name,
                    "cannot be combined with take, which leases one",
                ));
            }
        }
        let taken = self.store()?.call(known::NEXT_WORK, Value::Object(arguments), self.context)?;
        let packet = text(&taken, "packet");
        // The tool does not list arguments that few calls need; the holder of a lease learns of them here.
        Ok(match taken["lease"].as_str() {
            Some(lease) => format!(
                "{packet}\nfinish takes lease {lease}; with it, instead \"keep\" renews it (with paths: more files that you change), \
                 and instead \"release\" gives it back."
            ),
            None => packet.to_owned(),
        })
    }

    /// Finishes, renews or releases work.
    pub fn finish(&self, mut arguments: Arguments) -> Result<String, Failure> {
        let instead = arguments.shift_remove("instead");
        let entry = match instead.as_ref().and_then(Value::as_str) {
            Some("keep") => known::RENEW_WORK,
            Some("release") => known::RELEASE_WORK,
            _ => known::FINISH_WORK,
        };
        let takes = entry.input_schema();
        if let Some((name, _)) = arguments.iter().find(|(name, _)| takes["properties"].get(name).is_none()) {
            let problem = match instead {
                Some(instead) => format!("cannot be combined with instead {instead}"),
                None => "only allowed with instead".to_owned(),
            };
            return Err(Failure::invalid_argument(name, &problem));
        }
        let answer = self.store()?.call(entry, Value::Object(arguments), self.context)?;
        let mut lines = match entry.name {
            name if name == known::FINISH_WORK.name => finished(&answer),
            name if name == known::RENEW_WORK.name => vec![kept(&answer)],
            _ => vec![format!("{} is free again", text(&answer, "reference_id"))],
        };
        if let Some(changed) = answer["changed"].as_str() {
            lines.push(format!("its text has changed: {changed}"));
        }
        Ok(lines.join("\n"))
    }
}

/// Open work as a line: `REQ-001 Draft P1 Mask card numbers (begun)`.
pub fn row(open: &Value) -> Row {
    let mut row = Row::managed(open);
    let why = open["why"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let why: Vec<&str> = why.filter(|reason| !reason.starts_with("priority")).collect();
    if !why.is_empty() {
        row.line += &format!(" ({})", why.join("; "));
    }
    row
}

fn finished(answer: &Value) -> Vec<String> {
    let reference = text(answer, "reference_id");
    let list = |name: &str| answer[name].as_array().cloned().unwrap_or_default();
    let mut lines = vec![match answer["finished"] == json!(true) {
        true => format!("{reference} is finished, {}", text(answer, "status")),
        false => format!("{reference} is not finished; {}", kept(&answer["lease"])),
    }];
    lines.extend(list("missing").iter().map(|missing| {
        let (of, verdict, why) =
            (text(missing, "reference_id"), text(missing, "verdict"), text(missing, "why"));
        format!("missing: {of} {} ({verdict}: {why})", text(missing, "text"))
    }));
    lines.extend(list("findings").iter().map(|finding| {
        format!("{} {}: {}", text(finding, "place"), text(finding, "rule"), text(finding, "message"))
    }));
    lines.extend(list("notes").iter().filter_map(Value::as_str).map(|note| format!("note: {note}")));
    lines
}

fn kept(lease: &Value) -> String {
    let until = text(lease, "expires_at");
    format!("{} is yours until {until}, {} at most", text(lease, "lease"), text(lease, "ends_at"))
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

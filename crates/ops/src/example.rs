//! A small example project: a web shop's checkout, created by other operations.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use store::project;

use crate::context::Cx;
use crate::error::{Error, ErrorKind, Result};
use crate::input::Text;
use crate::operation::{Command, Effect, Operation, Output, Route, command, post};

/// Fill an empty project with an example: a web shop's checkout, from epics to links and a comment.
///
/// A project is empty if nothing was ever created in it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoadExample {
    /// The key or id of the project.
    project: Text<1, 64>,
}

/// The created example.
#[derive(Serialize, JsonSchema)]
pub struct ExampleLoaded {
    /// The key of the project.
    project: String,
    /// The number of created entities.
    created: usize,
}

impl Output for ExampleLoaded {}

/// A step of the example. In its arguments `EP-001` is the first epic that it creates, whatever number that gets.
#[derive(Deserialize)]
struct ExampleStep {
    operation: String,
    arguments: serde_json::Map<String, Value>,
}

const STEPS: &str = include_str!("example.json");

impl Operation for LoadExample {
    type Output = ExampleLoaded;
    const NAME: &'static str = "load_example";
    const COMMANDS: &'static [Command] = &[command("project example")];
    const ROUTES: &'static [Route] = &[post("/projects/{project}/example")];
    const EFFECT: Effect = Effect::Writes;
    const POSITIONAL: &'static [&'static str] = &["project"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<ExampleLoaded> {
        let project = crate::project::find(cx, &self.project)?;
        // Two concurrent calls must not both find it empty.
        cx.tx.lock(&format!("example {}", project.id))?;
        if !project::is_empty(cx.tx, &project.id)? {
            let message =
                format!("the project {} is not empty; the example goes into a new project", project.key);
            return Err(Error::new(ErrorKind::Conflict, message));
        }
        let steps: Vec<ExampleStep> = serde_json::from_str(STEPS).map_err(internal)?;
        let mut made: HashMap<String, String> = HashMap::new();
        let mut n_of: HashMap<String, usize> = HashMap::new();
        for step in steps {
            let entry = crate::find(&step.operation).ok_or_else(|| internal(&step.operation))?;
            let mut arguments = step.arguments;
            for value in arguments.values_mut() {
                if let Some(reference) = value.as_str().and_then(|text| made.get(text)) {
                    *value = Value::String(reference.clone());
                }
            }
            if entry.input_schema()["properties"].get("project").is_some()
                && !arguments.contains_key("epic_id")
            {
                arguments.insert("project".to_owned(), Value::String(project.key.clone()));
            }
            let operation = entry.parse(&Value::Object(arguments))?;
            let answer = cx.within(entry.doing(), |cx| operation.run(cx))?;
            let answer: Value = serde_json::from_str(&answer.json).map_err(internal)?;
            if step.operation.starts_with("create_")
                && let Some(reference) = answer["reference_id"].as_str()
                && let Some((prefix, _)) = reference.rsplit_once('-')
            {
                let prefix = prefix.rsplit('-').next().unwrap_or(prefix);
                let number = n_of.entry(prefix.to_owned()).or_default();
                *number += 1;
                made.insert(format!("{prefix}-{number:03}"), reference.to_owned());
            }
        }
        Ok(ExampleLoaded { project: project.key, created: made.len() })
    }
}

fn internal(error: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::InternalError, format!("the example is wrong: {error}"))
}

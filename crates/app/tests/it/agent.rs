//! A project in a temporary folder, and an agent that asks `duvet mcp` or `spexus mcp` about it.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::backend::Backend;
use crate::bridge;
use crate::process::{PATIENCE, Serving};

/// Source code in `src`, and the two specifications.
pub const CONFIG: &str = r#"
'$schema' = 'https://awslabs.github.io/duvet/config/v0.4.0.json'
[[source]]
pattern = 'src/**/*.rs'
[[specification]]
source = 'https://www.rfc-editor.org/rfc/rfc9999'
[[specification]]
source = 'docs/kettle.md'
"#;

/// Written as RFCs are.
pub const RFC: &str = "\
Network Working Group                                            A. Author
Request for Comments: 9999                                      April 2026


                     A Protocol for Pots

1.  Introduction

   This document is about pots.

2.  Pots

   A pot has a lid.

2.1.  Brewing

   A pot MUST brew coffee.  A pot SHOULD
   keep it hot.  A pot MAY sing.  A pot MUST NOT leak.

2.2.  Delivery

   A pot MUST pour, and it MUST
   stop when the cup is full.
";

pub const KETTLE: &str = "\
# Kettles

All about kettles.

## 3.1 Error Handling

A kettle MUST switch itself off. Handling of errors is OPTIONAL.

## Lid

The lid MUST close. A pot MUST brew coffee.
";

pub const PATH_OF_RFC: &str = ".duvet/specifications/www.rfc-editor.org/rfc/rfc9999.txt";

/// A project and somebody who asks about it.
pub struct Agent {
    pub serving: Serving,
    /// What the server said of its own accord.
    pub notes: Vec<Value>,
    root: PathBuf,
    _folder: TempDir,
    revision: &'static str,
    n_asked: u64,
}

impl Agent {
    /// A project with the two specifications and some source files.
    pub fn new(sources: &[(&str, &str)]) -> Agent {
        Agent::with(&[&usual()[..], sources].concat())
    }

    /// A project with these files alone.
    pub fn with(files: &[(&str, &str)]) -> Agent {
        Agent::start(folder(files), "2025-11-25", &[])
    }

    pub fn start(folder: TempDir, revision: &'static str, arguments: &[&str]) -> Agent {
        Agent::start_in(folder, "", revision, arguments)
    }

    /// Asks `spexus mcp` in a folder.
    pub fn spexus(folder: TempDir, revision: &'static str, arguments: &[&str]) -> Agent {
        let serving = Serving::spexus(folder.path(), arguments);
        Agent::connect(serving, folder.path().to_path_buf(), folder, revision)
    }

    /// Asks `spexus mcp` in a folder that stays.
    pub fn spexus_at(root: &Path, revision: &'static str) -> Agent {
        let folder = folder(&[]);
        let serving = Serving::spexus_in(root, folder.path(), &[]);
        Agent::connect(serving, root.to_path_buf(), folder, revision)
    }

    /// Asks a server through the bridge.
    pub fn bridge(folder: TempDir, backend: &Backend, revision: &'static str) -> Agent {
        Agent::bridge_with(folder, backend, revision, &[])
    }

    /// The same with more settings.
    pub fn bridge_with(
        folder: TempDir,
        backend: &Backend,
        revision: &'static str,
        more: &[(&str, &str)],
    ) -> Agent {
        let settings = [&[("MCP_PAT_TOKEN", backend.token.as_str())], more].concat();
        let serving = Serving::spawn(bridge::command(&backend.url, &settings));
        Agent::connect(serving, folder.path().to_path_buf(), folder, revision)
    }

    /// The project may be in a folder of the folder.
    pub fn start_in(folder: TempDir, name: &str, revision: &'static str, arguments: &[&str]) -> Agent {
        let root = folder.path().join(name);
        let serving = Serving::duvet(&root, arguments);
        Agent::connect(serving, root, folder, revision)
    }

    fn connect(serving: Serving, root: PathBuf, folder: TempDir, revision: &'static str) -> Agent {
        let mut agent = Agent { serving, notes: Vec::new(), root, _folder: folder, revision, n_asked: 0 };
        if revision != "2026-07-28" {
            agent.serving.handshake(revision);
        }
        agent
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// Sends a request and returns the answer, also an error.
    #[track_caller]
    pub fn ask(&mut self, method: &str, mut params: Value) -> Value {
        self.n_asked += 1;
        let id = self.n_asked;
        if self.revision == "2026-07-28" {
            let Value::Object(meta) = stateless() else { unreachable!("it is an object") };
            meta.into_iter().for_each(|(name, value)| params["_meta"][name] = value);
        }
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.serving.send(&request.to_string());
        loop {
            let answer = self.serving.receive();
            if answer["id"] == id && answer.get("method").is_none() {
                return answer;
            }
            self.notes.push(answer);
        }
    }

    /// Calls a tool; returns the result.
    #[track_caller]
    pub fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.ask("tools/call", json!({"name": tool, "arguments": arguments}));
        assert!(answer["result"].is_object(), "{answer}");
        answer["result"].clone()
    }

    /// Calls a tool that must succeed; returns the JSON in its first text.
    #[track_caller]
    pub fn json(&mut self, tool: &str, arguments: Value) -> Value {
        let result = self.call(tool, arguments);
        assert_ne!(result["isError"], true, "{result}");
        serde_json::from_str(text(&result)).expect("the text is JSON")
    }

    /// Calls a tool that must refuse; returns why.
    #[track_caller]
    pub fn refused(&mut self, tool: &str, arguments: Value) -> String {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], true, "{result}");
        text(&result).to_owned()
    }

    /// Reads a resource that must be there.
    #[track_caller]
    pub fn read(&mut self, uri: &str) -> Value {
        let answer = self.ask("resources/read", json!({"uri": uri}));
        let contents = &answer["result"]["contents"][0];
        assert_eq!(contents["uri"], uri, "{answer}");
        serde_json::from_str(contents["text"].as_str().expect("a text")).expect("the text is JSON")
    }

    /// The ids of all citations.
    #[track_caller]
    pub fn citations(&mut self) -> Vec<String> {
        column(&self.read("duvet:///citations"), "id")
    }

    /// How many citations there are, also if they are not read at once.
    #[track_caller]
    pub fn n_citations(&mut self) -> usize {
        let answer = self.ask("resources/read", json!({"uri": "duvet:///citations"}));
        let part = |number: usize| {
            let text = answer["result"]["contents"][number]["text"].as_str();
            text.map_or(Value::Null, |text| serde_json::from_str(text).expect("the text is JSON"))
        };
        let n_remaining = part(1)["remaining"].as_u64().unwrap_or_default();
        part(0).as_array().expect("a list").len() + n_remaining as usize
    }

    /// What is told to be wrong with the project.
    #[track_caller]
    pub fn problems(&mut self) -> String {
        self.call("list_uncited_requirements", json!({}))["_meta"]["duvet/problems"].to_string()
    }

    pub fn write(&self, path: &str, text: &str) {
        write(self.root(), path, text);
    }

    /// Asks again and again until the answer is as it should be. Returns how long that took.
    #[track_caller]
    pub fn until(&mut self, what: &str, is_so: impl Fn(&mut Agent) -> bool) -> Duration {
        let start = Instant::now();
        while !is_so(self) {
            assert!(start.elapsed() < PATIENCE, "it never came to this: {what}");
            thread::sleep(Duration::from_millis(1));
        }
        start.elapsed()
    }

    /// Waits until the citations are these.
    #[track_caller]
    pub fn until_citations(&mut self, expected: &[&str]) -> Duration {
        self.until(&format!("{expected:?}"), |agent| agent.citations() == expected)
    }
}

/// What every project here starts with.
pub fn usual() -> [(&'static str, &'static str); 3] {
    [(".duvet/config.toml", CONFIG), (PATH_OF_RFC, RFC), ("docs/kettle.md", KETTLE)]
}

/// A folder with files.
pub fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    files.iter().for_each(|(path, text)| write(folder.path(), path, text));
    folder
}

pub fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().expect("a file is in a folder")).expect("folders can be made");
    fs::write(path, text).expect("files can be written");
}

/// The text of the first block.
#[track_caller]
pub fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().expect("the first block is text")
}

/// The JSON in the first block.
#[track_caller]
pub fn json_of(result: &Value) -> Value {
    serde_json::from_str(text(result)).expect("the text is JSON")
}

/// One member of each item.
#[track_caller]
pub fn column(items: &Value, key: &str) -> Vec<String> {
    let text = |item: &Value| item[key].as_str().unwrap_or_else(|| panic!("no {key}: {item}")).to_owned();
    items.as_array().expect("a list").iter().map(text).collect()
}

/// What each request of the stateless revision carries.
pub fn stateless() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

//! Starts `tmkb serve`, `duvet mcp` or `spexus mcp` and talks to it as an AI host does.
//!
//! Each message that it sends is held against the official schema of its revision.

use std::{
    io::{BufRead, BufReader, Read, Write},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio},
    sync::mpsc::{self, Receiver},
    thread,
    time::{Duration, Instant},
};

use interop::Conversation;
use serde_json::{Value, json};

/// Nothing in these tests takes longer than this unless it hangs.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// A running server.
pub struct Serving {
    pub child: Child,
    pub input: Option<ChildStdin>,
    lines: Receiver<String>,
    conversation: Conversation,
    log: Option<thread::JoinHandle<String>>,
}

impl Serving {
    /// Starts the server with its built-in patterns.
    pub fn start() -> Self {
        Self::start_with(&[], &[])
    }

    pub fn start_with(arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let mut command = command(environment);
        command.args(arguments).arg("serve");
        Self::spawn(command)
    }

    /// Starts `duvet mcp` in a folder.
    pub fn duvet(folder: &Path, arguments: &[&str]) -> Self {
        let mut command = clean(Command::new(env!("CARGO_BIN_EXE_duvet")), &[]);
        command.arg("mcp").args(arguments).current_dir(folder);
        Self::spawn(command)
    }

    /// Starts `spexus mcp` in a folder, with a store of its own.
    pub fn spexus(folder: &Path, arguments: &[&str]) -> Self {
        Self::spexus_in(folder, folder, arguments)
    }

    /// The same where the store is in another folder than the project.
    pub fn spexus_in(project: &Path, folder: &Path, arguments: &[&str]) -> Self {
        let folder_name = folder.display().to_string();
        let data = format!("{folder_name}/data");
        let environment = [("HOME", folder_name.as_str()), ("XDG_DATA_HOME", data.as_str())];
        let mut command = clean(Command::new(env!("CARGO_BIN_EXE_spexus")), &environment);
        command.arg("mcp").args(arguments).current_dir(project);
        Self::spawn(command)
    }

    pub fn spawn(mut command: Command) -> Self {
        let mut child = command.spawn().expect("the server starts");
        let lines = read_lines(child.stdout.take().expect("stdout is piped"));
        let mut stderr = child.stderr.take().expect("stderr is piped");
        let log = thread::spawn(move || {
            let mut log = String::new();
            let _ = stderr.read_to_string(&mut log);
            log
        });
        let conversation = Conversation::default();
        Self { input: child.stdin.take(), child, lines, conversation, log: Some(log) }
    }

    /// Starts the server and goes through the handshake.
    pub fn ready(revision: &str) -> Self {
        let mut serving = Self::start();
        serving.handshake(revision);
        serving
    }

    pub fn handshake(&mut self, revision: &str) -> Value {
        let params = json!({"protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}});
        let answer = self.request("handshake", "initialize", params);
        self.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        answer
    }

    /// Sends one line.
    pub fn send(&mut self, line: &str) {
        self.send_bytes(format!("{line}\n").as_bytes());
    }

    pub fn send_bytes(&mut self, bytes: &[u8]) {
        self.announce(bytes);
        self.input.as_mut().expect("stdin is open").write_all(bytes).expect("the server reads");
    }

    /// Says what will be sent, for a test that takes the input and writes by itself.
    pub fn announce(&mut self, bytes: &[u8]) {
        bytes.split(|byte| *byte == b'\n').for_each(|line| self.conversation.sent(line));
    }

    /// Returns the next line.
    #[track_caller]
    pub fn receive(&mut self) -> Value {
        let line = self.lines.recv_timeout(PATIENCE).expect("the server answers");
        check(&mut self.conversation, &line);
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    /// Sends a request and returns its answer.
    #[track_caller]
    pub fn request(&mut self, id: impl Into<Value>, method: &str, params: Value) -> Value {
        let id = id.into();
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string());
        let answer = self.receive();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// Sends a request to a server that may tell of changes before it answers.
    pub fn ask(&mut self, id: impl Into<Value>, method: &str, params: Value) -> Value {
        let id = id.into();
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string());
        loop {
            let received = self.receive();
            if received.get("id").is_some() {
                assert_eq!(received["id"], id, "{received}");
                return received;
            }
        }
    }

    /// Calls `tmkb_query`.
    #[track_caller]
    pub fn query(&mut self, arguments: Value) -> Value {
        self.request(7, "tools/call", json!({"name": "tmkb_query", "arguments": arguments}))
    }

    /// Closes stdin and returns the exit status, the lines that were left, and the log.
    pub fn end(mut self) -> (ExitStatus, Vec<String>, String) {
        drop(self.input.take());
        self.wait()
    }

    /// Waits for the server to end by itself.
    pub fn wait(&mut self) -> (ExitStatus, Vec<String>, String) {
        let started = Instant::now();
        let status = loop {
            match self.child.try_wait().expect("the child can be waited for") {
                Some(status) => break status,
                None if started.elapsed() > PATIENCE => panic!("the server did not end"),
                None => thread::sleep(Duration::from_millis(5)),
            }
        };
        let lines: Vec<String> = self.lines.iter().collect();
        lines.iter().for_each(|line| check(&mut self.conversation, line));
        (status, lines, self.log.take().expect("waited for once").join().expect("the log can be read"))
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Fails where a message from the server does not fit the official schema.
#[track_caller]
pub fn check(conversation: &mut Conversation, line: &str) {
    if let Err(problem) = conversation.received(line.as_bytes()) {
        panic!("{problem}");
    }
}

/// The program with a clean environment.
pub fn command(environment: &[(&str, &str)]) -> Command {
    clean(Command::new(env!("CARGO_BIN_EXE_tmkb")), environment)
}

/// Gives a program pipes and only the environment that is named.
pub fn clean(mut command: Command, environment: &[(&str, &str)]) -> Command {
    // What measures coverage tells its programs so in the environment.
    let measuring = std::env::vars_os().filter(|(name, _)| name == "LLVM_PROFILE_FILE");
    command.env_clear().envs(measuring).envs(environment.iter().copied());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs a command to its end: exit code, stdout, stderr.
pub fn run(arguments: &[&str]) -> (i32, String, String) {
    let output = command(&[]).args(arguments).stdin(Stdio::null()).output().expect("tmkb runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("output is UTF-8");
    (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
}

/// The twelve public pattern files and what the original program prints for them.
pub fn compatibility_data() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../threats/tests/data/tmkb"))
}

fn read_lines(output: ChildStdout) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    receiver
}

/// Copies a program that is to be started. Another process does it: while a file is open for writing here, whatever another thread starts
/// would keep it open, and a file that somebody may write cannot be run.
pub fn copy_program(from: impl AsRef<Path>, to: &Path) {
    let copied = Command::new("cp").arg(from.as_ref()).arg(to).status().expect("cp can be started");
    assert!(copied.success(), "the program can be copied");
}

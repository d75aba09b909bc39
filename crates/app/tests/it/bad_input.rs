//! Bytes that no client should send, and folders that nobody should keep: each has its answer.

use std::{fs, io::BufRead, process::Stdio, thread, time::Duration};

use interop::Conversation;
use serde_json::json;

use crate::process::{Serving, check, command, compatibility_data, run};

#[test]
fn invalid_utf8_is_a_parse_error_and_the_next_line_is_served() {
    let mut serving = Serving::ready("2025-11-25");
    serving.send_bytes(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"pi\xff\xfeng\"}\n");
    let answer = serving.receive();
    assert_eq!(answer["error"], json!({"code": -32700, "message": "Parse error: invalid UTF-8 at byte 36"}));
    assert_eq!(serving.request(2, "ping", json!({}))["result"], json!({}));
}

#[test]
fn a_line_of_100_megabytes_is_refused_with_bounded_memory() {
    let mut serving = Serving::ready("2025-11-25");
    let chunk = vec![b'x'; 1024 * 1024];
    for _ in 0..100 {
        serving.send_bytes(&chunk);
    }
    serving.send("");
    assert_eq!(serving.receive()["error"]["message"], "Message too large (limit 10485760 bytes)");
    assert_eq!(serving.request(2, "ping", json!({}))["result"], json!({}));
    let peak = peak_memory_kib(serving.child.id());
    assert!(peak < 100 * 1024, "{peak} KiB");
}

#[test]
fn deep_nesting_is_refused_and_does_not_overflow() {
    let mut serving = Serving::ready("2025-11-25");
    for depth in [200, 1_000_000] {
        let nested = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        serving.send(&format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":{nested}}}}}"#
        ));
        let answer = serving.receive();
        assert_eq!(answer["error"]["code"], -32600, "{answer}");
        assert_eq!(answer["id"], 1);
        serving.send(&nested);
        assert_eq!(serving.receive()["error"]["code"], -32600);
    }
    assert_eq!(serving.request(2, "ping", json!({}))["result"], json!({}));
}

#[test]
fn blank_lines_and_carriage_returns_do_not_matter() {
    let mut serving = Serving::start();
    serving.send_bytes(b"\n\r\n   \n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\r\n");
    assert_eq!(serving.receive(), json!({"jsonrpc": "2.0", "id": 1, "result": {}}));
}

#[test]
fn a_last_line_without_a_line_break_is_answered() {
    let mut serving = Serving::start();
    serving.send_bytes(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}");
    let (status, lines, _) = serving.end();
    assert!(status.success());
    assert_eq!(lines, [r#"{"jsonrpc":"2.0","id":1,"result":{}}"#]);
}

#[test]
fn nothing_at_all_ends_cleanly() {
    let (status, lines, log) = Serving::start().end();
    assert!(status.success());
    assert_eq!((lines, log), (Vec::new(), String::new()));
}

#[test]
fn a_closed_stdout_is_logged_and_ends_the_server() {
    let mut child = command(&[]).arg("serve").spawn().expect("tmkb starts");
    drop(child.stdout.take());
    let mut input = child.stdin.take().expect("stdin is piped");
    let line = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";
    for _ in 0..2000 {
        // The server may be gone already, which is what is tested.
        if std::io::Write::write_all(&mut input, line).is_err() {
            break;
        }
        thread::sleep(Duration::from_millis(1));
    }
    let output = child.wait_with_output().expect("the server ends while stdin is open");
    assert_eq!(output.status.code(), Some(1));
    let log = String::from_utf8(output.stderr).expect("the log is UTF-8");
    assert!(log.contains("[ERROR] writing stdout failed"), "{log}");
}

#[test]
fn a_probe_that_closes_both_pipes_at_once_is_fine() {
    for line in [
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}",
    ] {
        let mut child = command(&[]).arg("serve").spawn().expect("tmkb starts");
        drop(child.stdout.take());
        let mut input = child.stdin.take().expect("stdin is piped");
        std::io::Write::write_all(&mut input, line.as_bytes()).expect("the server reads");
        drop(input);
        assert_eq!(child.wait_with_output().expect("the server ends").status.code(), Some(0));
    }
}

#[test]
fn a_host_that_closes_stderr_or_does_not_read_it_gets_every_answer() {
    for is_closed in [true, false] {
        let mut child = command(&[("LOG_LEVEL", "debug")]).arg("serve").spawn().expect("tmkb starts");
        // Unread, the pipe is full after some hundred lines.
        let stderr = child.stderr.take().filter(|_| !is_closed);
        let mut input = child.stdin.take().expect("stdin is piped");
        let output = child.stdout.take().expect("stdout is piped");
        let reading = thread::spawn(move || {
            let mut conversation = Conversation::default();
            let lines = std::io::BufReader::new(output).lines().map_while(Result::ok);
            lines.inspect(|line| check(&mut conversation, line)).count()
        });
        for id in 0..3000 {
            let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"no/such/method\"}}\n");
            std::io::Write::write_all(&mut input, line.as_bytes()).expect("the server reads");
        }
        drop(input);
        assert_eq!(reading.join().expect("reading does not panic"), 3000);
        assert_eq!(child.wait().expect("the server ends").code(), Some(0));
        drop(stderr);
    }
}

#[test]
fn arguments_without_number_are_answered_with_a_few_problems() {
    let mut serving = Serving::ready("2025-11-25");
    for (n_arguments, told) in [(50_000, "a0"), (100_000, "limit 100000 JSON values")] {
        let arguments: serde_json::Map<String, serde_json::Value> =
            (0..n_arguments).map(|number| (format!("a{number}"), json!(1))).collect();
        let answer = serving.query(serde_json::Value::Object(arguments)).to_string();
        assert!(answer.len() < 20_000 && answer.contains(told), "{answer}");
    }
}

#[test]
fn a_context_of_megabytes_is_answered() {
    let mut serving = Serving::ready("2025-11-25");
    let answer = serving.query(json!({"context": "word ".repeat(1_000_000)}));
    assert_eq!(answer["result"]["isError"], false);
}

#[cfg(unix)]
#[test]
fn a_pipe_among_the_patterns_is_named_and_not_waited_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let pipe = folder.path().join("pipe.yaml");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs");
    assert!(made.success());
    let mut serving = Serving::start_with(&["-p", folder.path().to_str().expect("UTF-8")], &[]);
    serving.handshake("2025-11-25");
    assert_eq!(serving.query(json!({"context": "celery"}))["result"]["isError"], true);
    let (_, _, log) = serving.end();
    assert!(log.contains("pipe.yaml: not a file"), "{log}");
}

#[cfg(unix)]
#[test]
fn links_that_lead_in_circles_end() {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["a", "b", "c", "d"] {
        std::os::unix::fs::symlink(".", folder.path().join(name)).expect("a link");
    }
    let pattern = compatibility_data().join("patterns/authorization/tier-a/TMKB-AUTHZ-001.yaml");
    fs::copy(pattern, folder.path().join("one.yaml")).expect("a pattern can be copied");
    let (code, stdout, stderr) = run(&["-p", folder.path().to_str().expect("UTF-8"), "list"]);
    assert_eq!((code, stderr.as_str()), (0, ""));
    assert!(stdout.starts_with("Found 1 pattern(s):"), "{stdout}");
}

#[test]
fn an_empty_folder_is_not_taken_for_safety() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().to_str().expect("UTF-8");
    let (code, _, stderr) = run(&["-p", path, "query", "-c", "celery"]);
    assert_eq!((code, stderr.as_str()), (0, "tmkb: no pattern could be loaded\n"));
    let mut serving = Serving::start_with(&["-p", path], &[]);
    serving.handshake("2025-11-25");
    let answer = serving.query(json!({"context": "celery"}));
    assert_eq!(answer["result"]["isError"], true, "{answer}");
}

#[test]
fn a_bad_file_in_a_folder_is_named_and_the_rest_loads() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().to_str().expect("UTF-8");
    let patterns = compatibility_data().join("patterns/authorization");
    for (tier, name) in [("tier-a", "TMKB-AUTHZ-001"), ("tier-b", "TMKB-AUTHZ-012")] {
        let file = format!("{name}.yaml");
        fs::copy(patterns.join(tier).join(&file), folder.path().join(&file))
            .expect("a pattern can be copied");
    }
    fs::write(folder.path().join("TMKB-AUTHZ-006.yaml"), "threat_pattern:\n  id: X\n  name: [unclosed\n")
        .expect("written");
    fs::write(folder.path().join("binary.yml"), b"threat_pattern: \xff\xfe").expect("written");
    fs::write(folder.path().join("empty.yaml"), "").expect("written");
    fs::write(folder.path().join("notes.txt"), "not a pattern").expect("written");

    let (code, stdout, stderr) = run(&["-p", path, "list"]);
    assert_eq!(code, 0);
    assert!(stdout.starts_with("Found 2 pattern(s):"), "{stdout}");
    let problems: Vec<&str> = stderr.lines().collect();
    assert_eq!(problems.len(), 3, "{stderr}");
    assert!(problems[0].contains("TMKB-AUTHZ-006.yaml:"), "{stderr}");
    assert!(problems[1].contains("binary.yml: expected UTF-8"), "{stderr}");
    assert!(problems[2].contains("empty.yaml: expected the key `threat_pattern`"), "{stderr}");

    let (code, stdout, _) = run(&["-p", path, "validate"]);
    assert_eq!(code, 1, "{stdout}");
    assert!(stdout.contains("TMKB-AUTHZ-006.yaml:"), "{stdout}");

    let mut serving = Serving::start_with(&["-p", path], &[]);
    serving.handshake("2025-11-25");
    let answer = serving.query(json!({"context": "celery background job"}));
    assert!(answer.to_string().contains("TMKB-AUTHZ-001"), "{answer}");
    let (_, _, log) = serving.end();
    assert!(log.contains("TMKB-AUTHZ-006.yaml:"), "{log}");
}

#[test]
fn a_folder_that_is_not_there_is_named_with_its_setting() {
    let (code, stdout, stderr) = run(&["-p", "no/such/folder", "list"]);
    assert_eq!((code, stdout.as_str()), (2, ""));
    assert_eq!(
        stderr,
        "tmkb: patterns (-p, --patterns or TMKB_PATTERNS): cannot read the folder no/such/folder: No such file or directory (os error 2)\n"
    );
}

#[test]
fn settings_that_make_no_sense_are_all_reported_before_anything_is_read() {
    let environment =
        [("LOG_LEVEL", "loud"), ("MCP_REQUEST_TIMEOUT", "soon"), ("MCP_VERSION_POLICY", "maybe")];
    let output = command(&environment).arg("serve").stdin(Stdio::null()).output().expect("tmkb runs");
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty());
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        "tmkb: LOG_LEVEL (from the environment): expected one of off, error, warn, info, debug, trace, found \"loud\"\n\
         MCP_VERSION_POLICY (from the environment): expected strict or negotiate, found \"maybe\"\n\
         MCP_REQUEST_TIMEOUT (from the environment): expected a time up to a day such as 30s, 500ms, 1m or a number of seconds, found \"soon\"\n"
    );
}

#[test]
fn the_environment_renames_the_server_and_makes_it_strict() {
    let environment =
        [("MCP_SERVER_NAME", "ours"), ("MCP_SERVER_VERSION", "9"), ("MCP_VERSION_POLICY", "strict")];
    let mut serving = Serving::start_with(&[], &environment);
    let answer = serving.handshake("1999-01-01");
    assert_eq!(answer["error"]["data"]["code"], "INVALID_PROTOCOL_VERSION");
    let answer = serving.handshake("2025-06-18");
    assert_eq!(answer["result"]["serverInfo"], json!({"name": "ours", "version": "9"}));
}

/// The most memory the process ever held.
pub fn peak_memory_kib(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("the tests run on Linux");
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("the process is alive");
    line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).expect("a number")
}

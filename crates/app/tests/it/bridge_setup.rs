//! Setting the bridge up: files, environment, what is wrong with them, and the wizard.

use std::{
    fs,
    io::Write,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Output},
};

use serde_json::{Value, json};

use crate::{
    backend::{Backend, on_sqlite},
    bridge_backend::ask,
    process::{Serving, clean},
    stand_in::{StandIn, TOKEN},
};

fn program(environment: &[(&str, &str)]) -> Command {
    clean(Command::new(env!("CARGO_BIN_EXE_requirements-mcp-server")), environment)
}

/// Runs it with some input, to its end: exit code, stdout, stderr.
fn run(mut command: Command, input: &str) -> (Option<i32>, String, String) {
    let mut child = command.spawn().expect("it starts");
    child.stdin.take().expect("piped").write_all(input.as_bytes()).ok();
    let Output { status, stdout, stderr } = child.wait_with_output().expect("it ends");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (status.code(), text(stdout), text(stderr))
}

fn write_config(home: &Path, config: &Value, mode: u32) {
    let folder = home.join(".requirements-mcp");
    fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join("config.json");
    fs::write(&path, config.to_string()).expect("written");
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("permissions");
}

//@= spexus://REQ-032
//@= type=test
//@# 002 R1.1: the bridge is a console program
//@= spexus://REQ-033
//@= type=test
//@# 002 R1.2: it reads ~/.requirements-mcp/config.json
#[test]
fn the_file_in_the_home_folder_is_enough() {
    let server = StandIn::start();
    let home = tempfile::tempdir().expect("a folder");
    write_config(
        home.path(),
        &json!({"backend_api_url": server.url, "pat_token": TOKEN, "request_timeout": 5, "max_retries": 1, "log_level": "info"}),
        0o600,
    );
    let home = home.path().to_str().expect("UTF-8");
    let mut bridge = Serving::spawn(program(&[("HOME", home)]));
    assert_eq!(
        bridge.handshake("2025-06-18")["result"]["instructions"],
        "Ask the stand-in.",
        "[002 R1.1] [002 R1.2]"
    );
    let (status, _, log) = bridge.end();
    assert!(status.success());
    assert!(!log.contains("WARN"), "{log}");
}

//@= spexus://REQ-148
//@= type=test
//@# 002 R14.1: BACKEND_API_URL is read
//@= spexus://REQ-149
//@= type=test
//@# 002 R14.2: MCP_PAT_TOKEN is read
//@= spexus://REQ-154
//@= type=test
//@# 002 R14.7: Claude Desktop passes the environment
#[test]
fn the_environment_goes_before_the_file() {
    let server = StandIn::start();
    let home = tempfile::tempdir().expect("a folder");
    write_config(
        home.path(),
        &json!({"backend_api_url": "http://127.0.0.1:1", "pat_token": "mcp_pat_old"}),
        0o644,
    );
    let home = home.path().to_str().expect("UTF-8");
    let environment = [("HOME", home), ("BACKEND_API_URL", &server.url), ("MCP_PAT_TOKEN", TOKEN)];
    let mut bridge = Serving::spawn(program(&environment));
    assert_eq!(
        bridge.handshake("2025-06-18")["result"]["instructions"],
        "Ask the stand-in.",
        "[002 R14.1] [002 R14.2] [002 R14.7]"
    );
    let (_, _, log) = bridge.end();
    assert!(log.contains("others can read it (mode 644): chmod 600"), "{log}");
}

//@= spexus://REQ-040
//@= type=test
//@# 002 R1.9: an invalid configuration is told on stderr, with an exit status
//@= spexus://REQ-150
//@= type=test
//@# 002 R14.3: missing configuration is reported clearly
//@= spexus://REQ-155
//@= type=test
//@# 002 R14.8: invalid values fail at once
//@= spexus://REQ-151
//@= type=test
//@# 002 R14.4: MCP_REQUEST_TIMEOUT is read, 30 s by default
//@= spexus://REQ-152
//@= type=test
//@# 002 R14.5: LOG_LEVEL is read, info by default
//@= spexus://REQ-153
//@= type=test
//@# 002 R14.6: MCP_MAX_RETRIES is read, 3 by default
//@= spexus://REQ-141
//@= type=test
//@# 002 R13.3: the log has no tokens
#[test]
fn missing_or_invalid_settings_are_reported_before_anything_is_read() {
    let (code, stdout, stderr) = run(program(&[]), "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n");
    assert_eq!((code, stdout.as_str()), (Some(2), ""), "[002 R1.9] [002 R14.3]: {stderr}");
    let lines: Vec<&str> = stderr.lines().collect();
    assert_eq!(lines.len(), 2, "{stderr}");
    assert!(
        lines[0].contains("BACKEND_API_URL is not set") && lines[1].contains("MCP_PAT_TOKEN is not set"),
        "[002 R14.3]: {stderr}"
    );

    let wrong = [
        ("BACKEND_API_URL", "http://me:secret@host"),
        ("MCP_PAT_TOKEN", "my secret"),
        ("MCP_REQUEST_TIMEOUT", "soon"),
        ("MCP_MAX_RETRIES", "-1"),
        ("MCP_VERSION_POLICY", "lax"),
        ("MCP_TOOLSETS", "requirments"),
        ("LOG_LEVEL", "loud"),
    ];
    let (code, _, stderr) = run(program(&wrong), "");
    assert_eq!(code, Some(2), "[002 R14.8]: {stderr}");
    assert_eq!(stderr.lines().count(), wrong.len(), "{stderr}");
    for (name, _) in wrong {
        let line =
            stderr.lines().find(|line| line.contains(name)).unwrap_or_else(|| panic!("{name}: {stderr}"));
        assert!(
            line.contains("expected") && line.contains("found"),
            "[002 R14.4] [002 R14.5] [002 R14.6] [002 R14.8]: {line}"
        );
    }
    assert!(!stderr.contains("secret"), "[002 R13.3]: {stderr}");

    let long = format!("mcp_pat_{}", "secret".repeat(1_000));
    for (token, found) in [
        (long.as_str(), "6008 characters (not shown)"),
        ("mcp_pat_\u{7}secret", "a control character in place 9 (not shown)"),
        ("mcp_pat_secret\r\nx-admin: 1", "a control character in place 15 (not shown)"),
    ] {
        let environment = [("BACKEND_API_URL", "http://127.0.0.1:1"), ("MCP_PAT_TOKEN", token)];
        let (code, stdout, stderr) = run(program(&environment), "");
        assert_eq!((code, stdout.as_str()), (Some(2), ""), "{stderr}");
        assert!(stderr.contains("MCP_PAT_TOKEN (from") && stderr.contains(found), "{stderr}");
        assert!(stderr.len() < 300 && !stderr.contains("secret"), "[002 R13.3]: {stderr}");
    }

    for (text, problem) in [
        ("{", "EOF"),
        ("[]", "expected a map"),
        (
            r#"{"backend_api_url": "http://host", "pat_token": "x", "max_retrys": 1}"#,
            "did you mean max_retries?",
        ),
        (r#"{"backend_api_url": "http://host", "pat_token": {"x": 1}}"#, "pat_token"),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("mine.json");
        fs::write(&path, text).expect("written");
        let mut command = program(&[]);
        command.arg("--config").arg(&path);
        let (code, _, stderr) = run(command, "");
        assert_eq!(code, Some(2), "{stderr}");
        assert!(stderr.contains(problem) && stderr.contains("mine.json"), "{text}: {stderr}");
    }
    let mut command = program(&[]);
    command.args(["--config", "/nowhere/config.json"]);
    let (code, _, stderr) = run(command, "");
    assert!(code == Some(2) && stderr.contains("/nowhere/config.json"), "{stderr}");
}

#[test]
fn help_and_version_are_printed() {
    let mut command = program(&[]);
    command.arg("--help");
    let (code, stdout, _) = run(command, "");
    assert!(code == Some(0) && stdout.contains("BACKEND_API_URL") && stdout.contains("init"), "{stdout}");
    let mut command = program(&[]);
    command.arg("--version");
    assert_eq!(run(command, "").1, format!("requirements-mcp-server {}\n", env!("CARGO_PKG_VERSION")));
    let mut command = program(&[]);
    command.arg("--nonsense");
    assert_eq!(run(command, "").0, Some(2));
}

//@= spexus://REQ-174
//@= type=test
//@# 002 R17.1: the guide has an example for Claude Desktop
//@= spexus://REQ-141
//@= type=test
//@# 002 R13.3: the log has no tokens
#[test]
fn init_makes_a_token_and_a_file_that_work() {
    on_sqlite(&[], &[], |server: &Backend, folder| {
        let home = folder.join("home");
        write_config(
            &home,
            &json!({"backend_api_url": "http://old", "pat_token": "mcp_pat_old", "max_retries": 7}),
            0o644,
        );
        let home = home.to_str().expect("UTF-8");
        let mut command = program(&[("HOME", home)]);
        command.args([
            "init",
            "--non-interactive",
            "--url",
            &server.url,
            "--user",
            "admin",
            "--password-stdin",
        ]);
        let (code, stdout, stderr) = run(command, &format!("{}\n", server.password));
        assert_eq!(code, Some(0), "{stderr}");
        let entry: Value = serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout}"));
        let program_path =
            entry["mcpServers"]["requirements"]["command"].as_str().expect("[002 R17.1] a command");
        assert!(program_path.ends_with("requirements-mcp-server"), "[002 R17.1]: {stdout}");

        let path = Path::new(home).join(".requirements-mcp/config.json");
        let mode = fs::metadata(&path).expect("written").permissions().mode() & 0o777;
        assert_eq!(mode, 0o600);
        let read = |path: &Path| -> Value {
            serde_json::from_str(&fs::read_to_string(path).expect("a file")).expect("JSON")
        };
        let config = read(&path);
        assert_eq!((&config["backend_api_url"], &config["max_retries"]), (&json!(server.url), &json!(7)));
        let token = config["pat_token"].as_str().expect("a token");
        assert!(
            token.starts_with("mcp_pat_") && !stderr.contains(token) && !stdout.contains(token),
            "[002 R13.3]"
        );
        let backup = path.with_file_name("config.json.backup");
        assert_eq!(read(&backup)["pat_token"], "mcp_pat_old");
        assert_eq!(fs::metadata(&backup).expect("kept").permissions().mode() & 0o777, 0o600);

        let mut bridge = Serving::spawn(program(&[("HOME", home)]));
        bridge.handshake("2025-11-25");
        let arguments = json!({"title": "Made through the bridge", "priority": 1});
        let answer = ask(&mut bridge, "tools/call", json!({"name": "create_epic", "arguments": arguments}));
        assert_eq!(answer["result"]["isError"], false, "{answer}");

        let mut command = program(&[("HOME", home)]);
        command.args(["init", "--non-interactive", "--url", &server.url, "--user", "admin"]);
        let (code, stdout, stderr) = run(command, "wrong\n");
        assert_eq!((code, stdout.as_str()), (Some(1), ""), "{stderr}");
        assert!(stderr.contains("the name or the password is wrong"), "{stderr}");
        assert_eq!(read(&path)["pat_token"], token, "a refusal leaves the file alone");
    });
}

#[test]
fn init_says_what_it_lacks() {
    for (arguments, environment, problem, expected) in [
        (&["init", "--non-interactive"][..], &[("HOME", "/nowhere")][..], "--url", 2),
        (&["init", "--non-interactive", "--url", "spexus"], &[("HOME", "/nowhere")], "expected a URL", 2),
        (&["init", "--non-interactive", "--url", "http://127.0.0.1:1"], &[("HOME", "/nowhere")], "--user", 2),
        (
            &["init", "--non-interactive", "--url", "http://127.0.0.1:1", "--user", "me"],
            &[("HOME", "/nowhere")],
            "password",
            2,
        ),
        (
            &["init", "--non-interactive", "--url", "http://127.0.0.1:1", "--user", "me"],
            &[("HOME", "/nowhere"), ("REQUIREMENTS_MCP_PASSWORD", "x")],
            "does not answer",
            1,
        ),
        (&["init", "--non-interactive"], &[], "--config", 2),
    ] {
        let mut command = program(environment);
        command.args(arguments);
        let (code, stdout, stderr) = run(command, "");
        assert_eq!((code, stdout.as_str()), (Some(expected), ""), "{arguments:?}: {stderr}");
        assert!(stderr.contains(problem), "{arguments:?}: {stderr}");
    }
}

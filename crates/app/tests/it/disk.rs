//! Stores that cannot be written to: a full disk, a file that is too large, files of somebody else. Reads go on, writes are
//! refused with the reason, and nothing is damaged.

use std::{
    env, fs,
    os::unix::{
        fs::{PermissionsExt, chown},
        process::CommandExt,
    },
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use nix::unistd::Uid;
use private_postgres::{Options, Server};
use serde_json::json;
use tempfile::TempDir;

use crate::{
    durability::check_integrity,
    process::clean,
    server::{Client, PROGRAM, Spexus, check_all_there, command, command_of, load, sqlite, wait_until},
};

const N_CLIENTS: usize = 8;
/// Whoever this is, it is not root, who may write everything.
const NOBODY: u32 = 65_534;

#[test]
fn a_full_disk_refuses_writes_until_there_is_room() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("spexus.db");
    // The disk is small and exists for the server alone; others see it below /proc.
    let Some(inner) = in_small_disk(folder.path(), command(&sqlite(&path))) else { return };
    let server = Spexus::spawn(inner);
    let token = server.token.clone();
    let disk = PathBuf::from(format!("/proc/{}/root{}", server.pid(), folder.path().display()));
    let ballast = disk.join("ballast");
    let mut client = server.client();
    assert_eq!(client.create_epic("before").expect("an answer").status, 201);

    let (seen, ()) = load(&[&server.address], &token, N_CLIENTS, |n_acknowledged| {
        wait_until("some creates", || n_acknowledged() >= 50);
        // Whatever is free is taken, however little is written at once.
        let fill = || {
            fs::OpenOptions::new()
                .append(true)
                .create(true)
                .open(&ballast)
                .and_then(|mut file| std::io::copy(&mut std::io::repeat(0), &mut file))
        };
        assert!(fill().is_err(), "a disk without end");
        wait_until("a refusal", || client.create_epic("full").expect("an answer").status != 201);
        wait_until("the disk to be seen", || {
            let health = client.get("/health/ready");
            assert_eq!(health.body["read"], "ok", "{health:?}");
            (health.status, &health.body["write"]) == (503, &"failed".into())
        });
        for _ in 0..20 {
            let answer = client.create_epic("full").expect("an answer");
            if answer.status != 201 {
                assert_eq!(answer.status, 503, "{answer:?}");
                assert_eq!(answer.body["error"]["message"], "the disk is full", "{answer:?}");
                assert!(answer.headers.contains_key("retry-after"), "{answer:?}");
            }
            assert_eq!(client.get("/api/v1/epics/EP-001").status, 200);
            assert_eq!(client.get("/api/v1/epics").status, 200);
        }
        fs::remove_file(&ballast).expect("the ballast goes");
        let n_before = n_acknowledged();
        wait_until("creates with room again", || n_acknowledged() >= n_before + 50);
        wait_until("health with room again", || client.get("/health/ready").status == 200);
    });
    assert!(seen.unanswered.is_empty(), "{:?}", seen.unanswered);
    assert!(!seen.refused.is_empty());
    for answer in &seen.refused {
        assert_eq!((answer.status, &answer.body["error"]["message"]), (503, &"the disk is full".into()));
    }
    let epics = client.epics();
    check_all_there(&seen.acknowledged, &epics);

    // After a crash, too: copied as it lies there, because the disk goes with the server.
    let copy = tempfile::tempdir().expect("a folder");
    for name in ["spexus.db", "spexus.db-wal"] {
        fs::copy(disk.join(name), copy.path().join(name)).expect("a copy");
    }
    server.kill();
    check_integrity(&copy.path().join("spexus.db"));
    let server = Spexus::on_file(&copy.path().join("spexus.db"));
    check_all_there(&epics, &Client::new(&server.address, &token).epics());
}

/// PostgreSQL keeps its journal in files that it has made before, so that it does not notice a full disk at once.
#[test]
fn a_server_whose_postgres_has_a_full_disk_is_not_ready_to_write() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut inner = Command::new(env::current_exe().expect("this program"));
    inner.args(["--exact", "disk::in_a_small_disk_with_postgres", "--ignored", "--nocapture"]);
    inner.env("TMPDIR", folder.path());
    if let Ok(required) = env::var("SPEXUS_REQUIRE_TOOLS") {
        inner.env("SPEXUS_REQUIRE_TOOLS", required);
    }
    let Some(mut inner) = in_small_disk(folder.path(), inner) else { return };
    let output = inner.output().expect("a run");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}\n{output:?}");
}

#[test]
#[ignore = "runs in a small disk, for the test above"]
fn in_a_small_disk_with_postgres() {
    let Some(postgres) = Server::own(Options::default()) else { return };
    let database = postgres.database();
    let server = Spexus::start(database.url());
    let mut client = server.client();
    assert_eq!(client.get("/health/ready").status, 200);
    let ballast = env::temp_dir().join("ballast");
    let mut file = fs::File::create(&ballast).expect("a file");
    assert!(std::io::copy(&mut std::io::repeat(0), &mut file).is_err(), "a disk without end");
    wait_until("the disk to be seen", || {
        let health = client.get("/health/ready");
        (health.status, &health.body["read"], &health.body["write"]) == (503, &"ok".into(), &"failed".into())
    });
    assert_eq!(client.get("/health/ready?for=read").status, 200);
    drop(file);
    fs::remove_file(&ballast).expect("the ballast goes");
    wait_until("health with room again", || client.get("/health/ready").status == 200);
    assert_eq!(client.create_epic("after").expect("an answer").status, 201);
}

/// Runs a command where `folder` is a disk of a few megabytes; none, or a failure where tools are required, when the
/// system does not let us.
fn in_small_disk(folder: &Path, inner: Command) -> Option<Command> {
    let folder = folder.to_str().expect("UTF-8");
    let mount = format!("mount -t tmpfs -o size=128m,mode=777 tmpfs '{folder}' && exec \"$@\"");
    let as_root: &[&str] = if Uid::effective().is_root() { &[] } else { &["--user", "--map-root-user"] };
    let outer = || {
        let mut command = clean(Command::new("unshare"), &[("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")]);
        command.args(as_root).args(["--mount", "sh", "-c", &mount, "sh"]);
        command
    };
    let tried = outer().arg("true").stdin(Stdio::null()).output();
    if let Some(problem) = match tried {
        Ok(output) if output.status.success() => None,
        Ok(output) => Some(String::from_utf8_lossy(&output.stderr).into_owned()),
        Err(error) => Some(format!("unshare: {error}")),
    } {
        assert!(env::var("SPEXUS_REQUIRE_TOOLS").as_deref() != Ok("1"), "no small disk: {problem}");
        eprintln!("skipped: no small disk: {problem}");
        return None;
    }
    let mut command = outer();
    command.arg(inner.get_program()).args(inner.get_args());
    command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    Some(command)
}

#[test]
fn a_file_that_may_not_grow_refuses_writes_until_it_may() {
    const BLOCKS: u64 = 3_000;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("spexus.db");
    let inner = command(&sqlite(&path));
    let mut limited = clean(Command::new("sh"), &[("PATH", "/usr/bin:/bin")]);
    // Who exceeds the limit is killed, unless the signal is ignored as a service manager can make it.
    let script = format!("trap '' XFSZ; ulimit -S -f {BLOCKS}; exec \"$@\"");
    limited.args(["-c", &script, "sh"]).arg(inner.get_program()).args(inner.get_args());
    limited.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let server = Spexus::spawn(limited);
    let mut client = server.client();
    let (seen, ()) = load(&[&server.address], &server.token, N_CLIENTS, |n_acknowledged| {
        // Close to the limit a small write may still fit after a large one that did not.
        let mut answer = client.create_epic("large").expect("an answer");
        wait_until("a refusal", || {
            answer = client.create_epic("large").expect("an answer");
            answer.status == 503
        });
        let message = answer.body["error"]["message"].as_str().expect("a message").to_owned();
        assert!(message.starts_with("reading or writing failed"), "{answer:?}");
        assert_eq!(client.get("/api/v1/epics/EP-001").status, 200);
        let pid = server.pid().to_string();
        let lifted = Command::new("prlimit").args(["--pid", &pid, "--fsize=unlimited:unlimited"]).status();
        assert!(lifted.expect("prlimit").success());
        let n_before = n_acknowledged();
        wait_until("creates without a limit", || n_acknowledged() >= n_before + 50);
    });
    assert!(seen.unanswered.is_empty(), "{:?}", seen.unanswered);
    assert!(seen.refused.iter().all(|answer| answer.status == 503), "{:?}", seen.refused);
    check_all_there(&seen.acknowledged, &client.epics());
    server.kill();
    check_integrity(&path);
}

#[test]
fn a_store_that_may_only_be_read_serves_reads() {
    let store = store_of_nobody();
    let path = store.folder.path().join("spexus.db");
    permit(&path, 0o444);
    let mut server = Spexus::spawn(store.command(&path));
    let mut client = Client::new(&server.address, &store.token);
    for _ in 0..2 {
        assert_eq!(client.get("/api/v1/epics/EP-001").status, 200);
        assert_eq!(client.get("/api/v1/epics").body["total_count"], 1);
        let answer = client.create_epic("not here").expect("an answer");
        assert_eq!(answer.status, 503, "{answer:?}");
        assert_eq!(answer.body["error"]["message"], "the database cannot be written to");
    }
    let health = client.get("/health/ready");
    assert_eq!(
        (health.status, &health.body["read"], &health.body["write"]),
        (503, &"ok".into(), &"failed".into())
    );
    assert_eq!(client.get("/health/ready?for=read").status, 200);
    server.terminate();
    assert!(server.wait(crate::process::PATIENCE).0.success());
    // What SQLite has put beside the file may be written as little as the file.
    for entry in fs::read_dir(store.folder.path()).expect("the folder") {
        permit(&entry.expect("an entry").path(), 0o644);
    }
    check_writable_again(&store, &path);
}

#[test]
fn a_store_in_a_folder_that_may_only_be_read_is_refused_with_the_reason() {
    let store = store_of_nobody();
    let path = store.folder.path().join("spexus.db");
    permit(store.folder.path(), 0o555);
    let (code, log) = Spexus::try_spawn(store.command(&path)).err().expect("no server");
    permit(store.folder.path(), 0o755);
    assert_eq!(code, Some(2), "{log}");
    assert!(log.contains(&format!("{} cannot be opened", path.display())), "{log}");
    check_writable_again(&store, &path);
}

#[test]
fn a_file_that_another_process_keeps_locked_refuses_writes_for_a_while() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("spexus.db");
    let server = Spexus::on_file(&path);
    let other = rusqlite::Connection::open(&path).expect("the store");
    let (seen, ()) = load(&[&server.address], &server.token, 2 * N_CLIENTS, |n_acknowledged| {
        wait_until("some creates", || n_acknowledged() >= 50);
        other.busy_timeout(crate::process::PATIENCE).expect("a timeout");
        other.execute_batch("begin immediate").expect("the lock");
        thread::sleep(Duration::from_secs(7));
        assert_eq!(server.client().get("/api/v1/epics/EP-001").status, 200);
        other.execute_batch("commit").expect("the lock goes");
        let n_before = n_acknowledged();
        wait_until("creates without the lock", || n_acknowledged() >= n_before + 50);
    });
    assert!(seen.unanswered.is_empty(), "{:?}", seen.unanswered);
    // All who wait are told when one has waited in vain, and do not wait in turn.
    assert!(seen.longest < Duration::from_secs(12), "{:?}", seen.longest);
    assert!(seen.refused.len() >= N_CLIENTS, "{:?}", seen.refused);
    for answer in &seen.refused {
        let expected = (503, &"another process keeps the database locked".into());
        assert_eq!((answer.status, &answer.body["error"]["message"]), expected);
    }
    check_all_there(&seen.acknowledged, &server.client().epics());
}

/// What was purged is on no page of the file and not in the journal when the purge is answered.
#[test]
fn purged_text_is_gone_from_the_disk_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("spexus.db");
    let server = Spexus::on_file(&path);
    let mut client = server.client();
    // Enough for several parts of the index and several levels of pages.
    for number in 0..300 {
        let title = format!("ordinary number{number} {}", "filler ".repeat(number % 30));
        assert_eq!(client.create_epic(&title).expect("an answer").status, 201);
    }
    let secrets = ["zyzzyvatitle", "zyzzyvatext", "zyzzyvalater", "zyzzyvacomment", "zyzzyvaprompt"];
    let text = |word: &str| format!("{} {word} ", "lorem ipsum".repeat(40)).repeat(20);
    let epic =
        json!({ "title": format!("about {}", secrets[0]), "priority": 1, "description": text(secrets[1]) });
    let id = client.post("/api/v1/epics", &epic).body["id"].as_str().expect("an id").to_owned();
    let changed = json!({ "description": text(secrets[2]) });
    assert_eq!(
        client.send("PATCH", &format!("/api/v1/epics/{id}"), &[], Some(&changed)).expect("an answer").status,
        200
    );
    let comment = json!({ "content": text(secrets[3]) });
    assert_eq!(client.post(&format!("/api/v1/epics/{id}/comments"), &comment).status, 201);
    let prompt = json!({ "name": "secret", "title": "Secret", "content": text(secrets[4]) });
    let prompt = client.post("/api/v1/prompts", &prompt).body["id"].as_str().expect("an id").to_owned();
    for number in 0..50 {
        assert_eq!(client.create_epic(&format!("after number{number}")).expect("an answer").status, 201);
    }
    for path in [format!("epics/{id}"), format!("prompts/{prompt}")] {
        let answer = client.send("DELETE", &format!("/api/v1/{path}"), &[], None).expect("an answer");
        assert_eq!(answer.status, 200, "{answer:?}");
    }
    assert_eq!(client.post(&format!("/api/v1/prompts/{prompt}/purge"), &json!({})).status, 200);
    assert_eq!(client.post(&format!("/api/v1/purge/{id}"), &json!({})).status, 200);
    for name in ["spexus.db", "spexus.db-wal", "spexus.db-shm"] {
        let bytes = fs::read(folder.path().join(name)).unwrap_or_default();
        for secret in secrets {
            let found = bytes.windows(secret.len()).position(|window| window == secret.as_bytes());
            assert_eq!(found, None, "{secret} is in {name}");
        }
    }
    assert_eq!(client.get("/api/v1/search?query=ordinary").status, 200);
    server.kill();
    check_integrity(&path);
}

struct StoreOfNobody {
    folder: TempDir,
    /// The program, where everybody can start it: the folders above our own may be closed to others.
    programs: TempDir,
    token: String,
}

impl StoreOfNobody {
    fn new() -> StoreOfNobody {
        let [folder, programs] = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
        permit(programs.path(), 0o755);
        let program = programs.path().join("spexus");
        if fs::hard_link(PROGRAM, &program).is_err() {
            crate::process::copy_program(PROGRAM, &program);
        }
        if Uid::effective().is_root() {
            chown(folder.path(), Some(NOBODY), Some(NOBODY)).expect("root may");
        }
        StoreOfNobody { folder, programs, token: String::new() }
    }

    /// Root reads and writes everything, so that a test of permissions needs somebody else.
    fn command(&self, path: &Path) -> Command {
        let mut command = command_of(&self.programs.path().join("spexus"), &sqlite(path));
        command.current_dir("/");
        if Uid::effective().is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    }
}

/// A store with one epic that a user without rights has made.
fn store_of_nobody() -> StoreOfNobody {
    let store = StoreOfNobody::new();
    let mut server = Spexus::spawn(store.command(&store.folder.path().join("spexus.db")));
    assert_eq!(server.client().create_epic("first").expect("an answer").status, 201);
    server.terminate();
    assert!(server.wait(crate::process::PATIENCE).0.success());
    StoreOfNobody { token: server.token.clone(), ..store }
}

#[track_caller]
fn check_writable_again(store: &StoreOfNobody, path: &Path) {
    let server = Spexus::spawn(store.command(path));
    let mut client = Client::new(&server.address, &store.token);
    assert_eq!(client.create_epic("here").expect("an answer").status, 201);
    server.kill();
    check_integrity(path);
}

fn permit(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("our own file");
}

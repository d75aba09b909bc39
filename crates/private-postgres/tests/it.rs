//! Servers and databases for tests: what they are like, how they crash, and that nothing of them stays behind.

use std::{
    env, fs,
    io::{BufRead, BufReader, ErrorKind, Read, Write},
    net::TcpStream,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use postgres::{Client, NoTls};
use private_postgres::{Options, Server};
use rustls::{
    ClientConfig, ClientConnection, RootCertStore, Stream,
    pki_types::{CertificateDer, ServerName, pem::PemObject},
};

const GONE_MAX: Duration = Duration::from_secs(20);

#[test]
fn a_database_is_empty_and_goes_with_its_owner() {
    let Some(server) = Server::shared() else { return };
    let (one, other) = (server.database(), server.database());
    connect(one.url()).batch_execute("create table pot (id int)").unwrap();
    let mut client = connect(other.url());
    assert!(client.query("select * from pot", &[]).is_err(), "a table of another database");
    assert_eq!(
        ask(
            &mut client,
            "select pg_encoding_to_char(encoding) from pg_database where datname = current_database()"
        ),
        "UTF8"
    );
    assert_eq!(
        ask(&mut client, "select datcollate::text from pg_database where datname = current_database()"),
        "C"
    );
    assert_eq!(
        ask(&mut client, "select string_agg(word, ' ' order by word) from unnest('{a,B,é}'::text[]) as word"),
        "B a é"
    );

    let name = one.url().rsplit('/').next().unwrap().to_owned();
    let is_there = "select count(*)::text from pg_database where datname = ";
    assert_eq!(ask(&mut client, &format!("{is_there}'{name}'")), "1");
    // Somebody who is still connected does not keep it.
    let _connected = connect(one.url());
    drop(one);
    assert_eq!(ask(&mut client, &format!("{is_there}'{name}'")), "0");
}

#[test]
fn many_tests_get_databases_at_once() {
    let Some(server) = Server::shared() else { return };
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let database = server.database();
                connect(database.url()).batch_execute("create table pot (id int)").unwrap();
            });
        }
    });
}

#[test]
fn what_was_committed_survives_a_kill() {
    let Some(mut server) = Server::own(Options { fsync: true, ..Options::default() }) else { return };
    let database = server.database();
    let url = database.url();
    let mut client = connect(url);
    assert_eq!(ask(&mut client, "show fsync"), "on");
    client.batch_execute("create table pot (id int); insert into pot values (1)").unwrap();
    let mut open = client.transaction().unwrap();
    open.batch_execute("insert into pot values (2)").unwrap();
    // One that works through the death of its parent unless it is killed, too.
    let mut busy = connect(url);
    let busy = thread::spawn(move || busy.batch_execute("select sum(n) from generate_series(1, 1e12) as n"));

    let before = family(&server);
    assert!(before.len() > 3, "a postmaster and its children: {before:?}");
    server.kill();
    assert!(before.iter().all(|process| !is_running(process)), "processes outlive a kill");
    assert!(busy.join().unwrap().is_err(), "a query survives a kill");
    assert!(open.commit().is_err(), "a transaction survives a kill");
    assert!(Client::connect(url, NoTls).is_err(), "a killed server answers");

    server.start();
    assert_eq!(ask(&mut connect(url), "select string_agg(id::text, ' ') from pot"), "1");
    assert!(server.log().unwrap().contains("automatic recovery in progress"));
}

#[test]
fn a_stopped_server_starts_on_its_port() {
    let Some(mut server) = Server::own(Options::default()) else { return };
    let database = server.database();
    let mut client = connect(database.url());
    client.batch_execute("create table pot as select 7::text as cups").unwrap();
    for _ in 0..2 {
        server.stop();
        assert!(client.batch_execute("select 1").is_err(), "a connection survives a stop");
        assert!(Client::connect(database.url(), NoTls).is_err(), "a stopped server answers");
        server.start();
        client = connect(database.url());
        assert_eq!(ask(&mut client, "select cups from pot"), "7");
    }
    assert!(!server.log().unwrap().contains("recovery"), "a stop was not orderly");
}

#[test]
fn connections_and_settings_are_limited_as_asked() {
    let settings = &[("deadlock_timeout", "'10ms'")];
    let Some(server) = Server::own(Options { max_connections: 4, settings, ..Options::default() }) else {
        return;
    };
    let database = server.database();
    let mut clients: Vec<Client> = (0..4).map(|_| connect(database.url())).collect();
    let refused = Client::connect(database.url(), NoTls).err().expect("a fifth connection is refused");
    assert_eq!(refused.code().map(|code| code.code()), Some("53300"), "{refused}");
    assert_eq!(ask(&mut clients[0], "show deadlock_timeout"), "10ms");
}

#[test]
fn passwords_are_asked_for() {
    let Some(server) = Server::own(Options::default()) else { return };
    let database = server.database();
    let sql = "create role guest login password 'tea'";
    connect(database.url()).batch_execute(sql).unwrap();
    let (_, address) = database.url().split_once('@').unwrap();
    connect(&format!("postgres://guest:tea@{address}"));
    for wrong in ["guest:coffee", "postgres:coffee"] {
        assert!(Client::connect(&format!("postgres://{wrong}@{address}"), NoTls).is_err(), "{wrong}");
    }
}

#[test]
fn tls_has_a_certificate_that_strict_clients_accept() {
    let Some(server) = Server::own(Options { tls: true, ..Options::default() }) else { return };
    let database = server.database();
    assert!(Client::connect(database.url(), NoTls).is_err(), "a connection without encryption");

    let certificate = CertificateDer::from_pem_slice(server.certificate().unwrap().as_bytes()).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(certificate).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let versions =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = Arc::new(versions.with_root_certificates(roots).with_no_client_auth());
    let (_, address) = database.url().split_once('@').unwrap();
    let address = address.split('/').next().unwrap();
    for name in ["localhost", "127.0.0.1"] {
        greet_encrypted(address, name, &config).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    let error = greet_encrypted(address, "example.org", &config).expect_err("another name");
    assert_eq!(error.kind(), ErrorKind::InvalidData, "{error}");
}

#[test]
fn nothing_stays_of_a_process_that_is_killed_panics_or_exits() {
    for end in ["kill", "panic", "exit", "kill while halted"] {
        let Some(mut child) = program("a_program_with_a_server", &[("END", end)]) else { return };
        let folder = PathBuf::from(child.say);
        let postmaster = postmaster(&folder);
        if end == "kill while halted" {
            // As if it had been killed in the middle of killing its server.
            Command::new("kill").args(["-STOP", &postmaster]).status().unwrap();
        }
        if end.starts_with("kill") {
            assert!(is_running(&postmaster), "a server that runs");
            child.process.kill().unwrap();
        }
        child.process.wait().unwrap();
        wait_until(&format!("{end}: the server is gone"), || !is_running(&postmaster));
        wait_until(&format!("{end}: {} is gone", folder.display()), || !folder.exists());
    }
}

#[test]
fn nothing_stays_of_a_process_that_is_killed_while_its_server_starts() {
    if Server::own(Options::default()).is_none() {
        return;
    }
    let folder = env::temp_dir().join(format!("early-{}", std::process::id()));
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
    let is_mentioned = || {
        let mut processes = fs::read_dir("/proc").unwrap().flatten();
        processes.any(|process| {
            let command = fs::read(process.path().join("cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&command).contains(folder.to_str().unwrap())
        })
    };
    for moment_ms in [50, 300, 600, 900] {
        let mut child = command("a_program_with_a_server").env("TMPDIR", &folder).spawn().unwrap();
        thread::sleep(Duration::from_millis(moment_ms));
        child.kill().unwrap();
        child.wait().unwrap();
        let is_empty = || fs::read_dir(&folder).unwrap().next().is_none();
        wait_until(&format!("{moment_ms} ms: all is gone"), || !is_mentioned() && is_empty());
    }
    fs::remove_dir(&folder).unwrap();
}

#[test]
fn a_server_that_does_not_hear_the_first_signal_is_told_again() {
    let folder = env::temp_dir().join(format!("deaf-{}", std::process::id()));
    fs::create_dir(&folder).unwrap();
    // As PostgreSQL before it has set its handlers, only longer.
    let deaf = folder.join("postgres");
    fs::write(&deaf, "#!/bin/sh\nsleep 0.5\nexec env --default-signal=QUIT sleep 600\n").unwrap();
    fs::set_permissions(&deaf, fs::Permissions::from_mode(0o755)).unwrap();
    let mut watchdog = Command::new("/bin/sh")
        .args(["-c", include_str!("../src/watchdog.sh"), "watchdog"])
        .args([&folder, &folder])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut commands = watchdog.stdin.take().unwrap();
    writeln!(commands, "start 1").unwrap();
    let answers = BufReader::new(watchdog.stdout.take().unwrap());
    let server = answers.lines().nth(1).expect("an answer").unwrap();
    assert!(is_running(&server));
    drop(commands);
    wait_until("the server is gone", || !is_running(&server));
    watchdog.wait().unwrap();
    fs::remove_file(deaf).unwrap();
    fs::remove_dir(folder).expect("nothing stays");
}

#[test]
fn nothing_stays_of_a_server_that_was_killed() {
    let Some(mut server) = Server::own(Options::default()) else { return };
    let folder = server.folder().unwrap().to_owned();
    let segment = fs::read_to_string(folder.join("data/postmaster.pid")).unwrap();
    let segment = segment.lines().nth(6).unwrap().split_whitespace().last().unwrap().to_owned();
    let is_segment_there = || {
        let segments = fs::read_to_string("/proc/sysvipc/shm").unwrap();
        segments.lines().any(|line| line.split_whitespace().nth(1) == Some(&segment))
    };
    assert!(is_segment_there());
    server.kill();
    drop(server);
    assert!(!folder.exists());
    assert!(!is_segment_there(), "shared memory {segment} stays");
}

#[test]
fn a_server_that_someone_else_runs_is_used() {
    let Some(server) = Server::own(Options::default()) else { return };
    let database = server.database();
    let url = format!("{}?application_name=tests", database.url());
    let child = program("a_program_with_a_database", &[("TEST_POSTGRES", &url)]).unwrap();
    let (address, parameters) = child.say.split_once('?').expect("the parameters are kept");
    assert_eq!(parameters, "application_name=tests");
    let (server_address, _) = database.url().rsplit_once('/').unwrap();
    assert!(address.starts_with(server_address), "{address} is not at {server_address}");
    let name = address.rsplit('/').next().unwrap();
    assert!(child.process.wait_with_output().unwrap().status.success());
    let sql = format!("select count(*)::text from pg_database where datname = '{name}'");
    assert_eq!(ask(&mut connect(database.url()), &sql), "0", "a database stays behind");
}

/// Prints where the shared server is, and exits as requested.
#[test]
#[ignore = "other tests run it as a program"]
fn a_program_with_a_server() {
    let Some(server) = Server::shared() else { return };
    let _database = server.database();
    eprintln!("says {}", server.folder().unwrap().display());
    match env::var("END").as_deref() {
        Ok("panic") => panic!("as told"),
        Ok("exit") => {}
        _ => thread::sleep(2 * GONE_MAX),
    }
}

#[test]
#[ignore = "other tests run it as a program"]
fn a_program_with_a_database() {
    let database = Server::shared().unwrap().database();
    connect(database.url()).batch_execute("create table pot (id int)").unwrap();
    eprintln!("says {}", database.url());
}

struct Program {
    process: Child,
    say: String,
}

/// Runs one of the programs above in a process of its own. Nothing, when it finds no server.
fn program(name: &str, environment: &[(&str, &str)]) -> Option<Program> {
    let mut process = command(name).envs(environment.iter().copied()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(process.stderr.take().unwrap()).lines().map_while(Result::ok);
    let mut heard = Vec::new();
    for line in lines.by_ref() {
        if let Some(say) = line.strip_prefix("says ") {
            let say = say.to_owned();
            // So that what it says in the end does not break its pipe.
            thread::spawn(move || lines.for_each(drop));
            return Some(Program { process, say });
        }
        heard.push(line);
    }
    process.wait().unwrap();
    assert!(heard.iter().any(|line| line.starts_with("skipped: ")), "{name}: {}", heard.join("\n"));
    None
}

fn command(name: &str) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "--ignored", "--nocapture", name]).env_remove("TEST_POSTGRES");
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn connect(url: &str) -> Client {
    Client::connect(url, NoTls).unwrap_or_else(|error| panic!("{url}: {error}"))
}

fn ask(client: &mut Client, sql: &str) -> String {
    client.query_one(sql, &[]).unwrap_or_else(|error| panic!("{sql}: {error}")).get(0)
}

/// Asks PostgreSQL to encrypt, and sends it a goodbye that way.
fn greet_encrypted(address: &str, name: &'static str, config: &Arc<ClientConfig>) -> std::io::Result<()> {
    let mut socket = TcpStream::connect(address)?;
    socket.write_all(&[0, 0, 0, 8, 4, 210, 22, 47])?;
    let mut answer = [0];
    socket.read_exact(&mut answer)?;
    assert_eq!(&answer, b"S", "the server does not encrypt");
    let mut connection = ClientConnection::new(config.clone(), ServerName::try_from(name).unwrap()).unwrap();
    let mut stream = Stream::new(&mut connection, &mut socket);
    stream.write_all(&[b'X', 0, 0, 0, 4])?;
    stream.flush()
}

fn postmaster(folder: &Path) -> String {
    let text = fs::read_to_string(folder.join("data/postmaster.pid")).unwrap();
    text.lines().next().unwrap().to_owned()
}

/// The postmaster and its children.
fn family(server: &Server) -> Vec<String> {
    let postmaster = postmaster(server.folder().unwrap());
    let children = fs::read_to_string(format!("/proc/{postmaster}/task/{postmaster}/children")).unwrap();
    children.split_whitespace().map(str::to_owned).chain([postmaster]).collect()
}

fn is_running(process: &String) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

#[track_caller]
fn wait_until(what: &str, is_done: impl Fn() -> bool) {
    let deadline = Instant::now() + GONE_MAX;
    while !is_done() {
        assert!(Instant::now() < deadline, "not after {} s: {what}", GONE_MAX.as_secs());
        thread::sleep(Duration::from_millis(10));
    }
}

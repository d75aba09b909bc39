//! A private server, from the creation of its data to its end.

use std::{
    fmt::Write as _,
    fs::{self, OpenOptions},
    io::Write as _,
    net::{TcpListener, TcpStream},
    os::unix::fs::PermissionsExt,
    path::Path,
};

use nix::{sys::signal::Signal, unistd::Pid};
use postgres::Config;

use crate::{Options, binaries, database::random_hex, process, watchdog::Watchdog};

const START_ATTEMPTS_MAX: u32 = 8;
const PORT_ATTEMPTS_MAX: u32 = 100;
const LOG_TAIL_LINES: usize = 20;

pub struct Private {
    watchdog: Watchdog,
    password: String,
    port: u16,
    /// The parent of the server's processes while it runs.
    postmaster: Option<Pid>,
    certificate: Option<String>,
}

impl Private {
    /// Creates and starts a server, or returns what has to be installed for it.
    pub fn start_new(options: Options) -> Result<Self, String> {
        let mut private = Self::new(random_hex(16))?;
        let status = private.watchdog.tell(&format!("initialize {}", private.password));
        assert!(status == 0, "initdb ended with {status}:\n{}", private.log_tail());
        if options.tls {
            private.certificate = Some(private.certify()?);
        }
        private.configure(&options);
        private.start_somewhere();
        Ok(private)
    }

    /// Creates and starts a standby of this server.
    pub fn start_standby(&self) -> Result<Self, String> {
        let mut standby = Self::new(self.password.clone())?;
        let status = standby.watchdog.tell(&format!("follow {} {}", self.folder().display(), self.port));
        assert!(status == 0, "pg_basebackup ended with {status}:\n{}", standby.log_tail());
        standby.start_somewhere();
        Ok(standby)
    }

    fn new(password: String) -> Result<Self, String> {
        let watchdog = Watchdog::start(&binaries::find()?, binaries::find_pooler().ok().as_deref());
        Ok(Self { watchdog, password, port: 0, postmaster: None, certificate: None })
    }

    fn start_somewhere(&mut self) {
        // Another process may take the port before the server does.
        for _ in 0..START_ATTEMPTS_MAX {
            self.port = free_port();
            if self.try_start() {
                return;
            }
        }
        panic!("PostgreSQL does not start:\n{}", self.log_tail());
    }

    /// Starts PgBouncer in front of the server, in transaction pooling, and returns where it listens.
    pub fn start_pooler(&mut self, n_connections: u16, settings: &str) -> Result<String, String> {
        binaries::find_pooler()?;
        for _ in 0..START_ATTEMPTS_MAX {
            let port = free_port();
            let folder = self.folder().to_owned();
            let users = folder.join("pgbouncer.users");
            let configuration = format!(
                "[databases]\n* = host={folder} port={} user=postgres\n\
                 [pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n\
                 auth_type = trust\nauth_file = {users}\npool_mode = transaction\nmax_client_conn = 1000\n\
                 default_pool_size = {n_connections}\nlogfile = {folder}/pgbouncer.log\n{settings}\n",
                self.port,
                folder = folder.display(),
                users = users.display(),
            );
            let file = folder.join(format!("pgbouncer-{port}.ini"));
            readable(&users, "\"postgres\" \"\"\n");
            readable(&file, &configuration);
            let pooler = Pid::from_raw(self.watchdog.tell(&format!("pool {}", file.display())));
            let is_ready = || TcpStream::connect(("127.0.0.1", port)).is_ok();
            process::wait_until("PgBouncer to start", || is_ready() || !process::is_running(pooler));
            if process::is_running(pooler) {
                return Ok(format!("127.0.0.1:{port}"));
            }
        }
        panic!("PgBouncer does not start:\n{}", self.log_tail());
    }

    pub fn start(&mut self) {
        assert!(self.postmaster.is_none(), "the server already runs");
        assert!(self.try_start(), "PostgreSQL does not start again:\n{}", self.log_tail());
    }

    pub fn stop(&mut self) {
        let postmaster = self.postmaster.take().expect("a server that runs");
        process::send(postmaster, Signal::SIGINT);
        self.watchdog.tell("wait");
    }

    pub fn kill(&mut self) {
        let postmaster = self.postmaster.take().expect("a server that runs");
        process::kill_family(postmaster);
        self.watchdog.tell("wait");
    }

    /// Through the socket, which needs neither password nor TLS.
    pub fn admin(&self) -> Config {
        let mut admin = Config::new();
        admin.host_path(self.folder()).port(self.port).user("postgres").dbname("postgres");
        admin
    }

    pub fn url(&self) -> String {
        format!("postgres://postgres:{}@127.0.0.1:{}/postgres", self.password, self.port)
    }

    pub fn certificate(&self) -> Option<&str> {
        self.certificate.as_deref()
    }

    pub fn folder(&self) -> &Path {
        self.watchdog.folder()
    }

    pub fn log(&self) -> String {
        let bytes = fs::read(self.folder().join("log")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn certify(&mut self) -> Result<String, String> {
        let status = self.watchdog.tell("certify");
        if status == 127 {
            return Err("openssl is missing; Debian's package openssl has it".to_owned());
        }
        assert!(status == 0, "openssl ended with {status}:\n{}", self.log_tail());
        Ok(fs::read_to_string(self.folder().join("server.crt")).expect("the certificate"))
    }

    fn configure(&self, options: &Options) {
        let switch = |is_on| if is_on { "on" } else { "off" };
        let mut settings = format!(
            "listen_addresses = '127.0.0.1'\nfsync = {}\nmax_connections = {}\n\
             dynamic_shared_memory_type = mmap # in the folder, so that it goes with it\n",
            switch(options.fsync),
            options.max_connections,
        );
        if options.tls {
            settings += "ssl = on\nssl_cert_file = '../server.crt'\nssl_key_file = '../server.key'\n";
        }
        for (name, value) in options.settings {
            writeln!(settings, "{name} = {value}").expect("memory");
        }
        // Changed in place, so that the server's user stays the owner.
        let data = self.folder().join("data");
        let written = OpenOptions::new()
            .append(true)
            .open(data.join("postgresql.conf"))
            .and_then(|mut file| file.write_all(settings.as_bytes()));
        written.expect("the settings");

        // The socket is in a folder that nobody else can enter. Over TCP the superuser's password is compared as it is:
        // a client without optimization connects in 10 ms, and in 70 with the hashes that other roles must compute.
        let host = if options.tls { "hostssl" } else { "host" };
        let access = format!(
            "local all all trust\n\
             local replication all trust\n\
             {host} all postgres 127.0.0.1/32 password\n\
             {host} all all 127.0.0.1/32 scram-sha-256\n"
        );
        fs::write(data.join("pg_hba.conf"), access).expect("the access rules");
    }

    /// Returns whether the server accepts connections; if not, its log has the reason.
    fn try_start(&mut self) -> bool {
        let postmaster = Pid::from_raw(self.watchdog.tell(&format!("start {}", self.port)));
        let status = self.folder().join("data/postmaster.pid");
        let is_ready = || {
            let text = fs::read_to_string(&status).unwrap_or_default();
            let mut lines = text.lines();
            // A killed server has left its own file behind.
            let state = (lines.next() == Some(&postmaster.to_string())).then(|| lines.nth(6)).flatten();
            matches!(state.map(str::trim), Some("ready" | "standby"))
        };
        process::wait_until("PostgreSQL to start", || is_ready() || !process::is_running(postmaster));
        if is_ready() {
            self.postmaster = Some(postmaster);
            return true;
        }
        self.watchdog.tell("wait");
        false
    }

    fn log_tail(&self) -> String {
        let log = self.log();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(LOG_TAIL_LINES)..].join("\n")
    }
}

/// Writes a file for the server's user into its folder, which no other user can enter.
fn readable(path: &Path, text: &str) {
    fs::write(path, text).expect("a file");
    fs::set_permissions(path, fs::Permissions::from_mode(0o644)).expect("permissions");
}

/// A port below those that the system assigns automatically, so that it is still free when the server restarts.
fn free_port() -> u16 {
    for _ in 0..PORT_ATTEMPTS_MAX {
        let random = u16::from_str_radix(&random_hex(2), 16).expect("two bytes");
        let port = 16_384 + random % 16_384;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
    panic!("no free port from 16384 to 32767 in {PORT_ATTEMPTS_MAX} attempts");
}

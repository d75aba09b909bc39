//! A server that runs for nobody else, from the first file of its data to the last signal.

use std::{
    fmt::Write as _,
    fs::{self, OpenOptions},
    io::Write as _,
    net::TcpListener,
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
    /// Creates and starts a server, or tells what has to be installed for it.
    pub fn start_new(options: Options) -> Result<Self, String> {
        let watchdog = Watchdog::start(&binaries::find()?);
        let password = random_hex(16);
        let mut private = Self { watchdog, password, port: 0, postmaster: None, certificate: None };
        let status = private.watchdog.tell(&format!("initialize {}", private.password));
        assert!(status == 0, "initdb ended with {status}:\n{}", private.log_tail());
        if options.tls {
            private.certificate = Some(private.certify()?);
        }
        private.configure(&options);
        // Another process may take the port between our look and the server's.
        for _ in 0..START_ATTEMPTS_MAX {
            private.port = free_port();
            if private.try_start() {
                return Ok(private);
            }
        }
        panic!("PostgreSQL does not start:\n{}", private.log_tail());
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
        // Changed in place, as the server's user must stay the owner.
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
             {host} all postgres 127.0.0.1/32 password\n\
             {host} all all 127.0.0.1/32 scram-sha-256\n"
        );
        fs::write(data.join("pg_hba.conf"), access).expect("the access rules");
    }

    /// Returns whether the server takes connections; if not, its log says why.
    fn try_start(&mut self) -> bool {
        let postmaster = Pid::from_raw(self.watchdog.tell(&format!("start {}", self.port)));
        let status = self.folder().join("data/postmaster.pid");
        let is_ready = || {
            let text = fs::read_to_string(&status).unwrap_or_default();
            let mut lines = text.lines();
            // A killed server has left its own file behind.
            lines.next() == Some(&postmaster.to_string()) && lines.nth(6).map(str::trim) == Some("ready")
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

/// A port below those that the system hands out by itself, so that it is still free when the server starts again.
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

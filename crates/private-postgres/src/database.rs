//! Databases that exist as long as a test.

use std::{fs::File, io::Read};

use postgres::{Client, Config, NoTls};

/// An empty database; dropped with its contents, even while clients are connected.
pub struct Database {
    admin: Config,
    name: String,
    url: String,
}

impl Database {
    pub(crate) fn create(admin: &Config, server_url: &str) -> Self {
        let name = format!("spexus_test_{}", random_hex(8));
        let mut client = connect(admin).expect("a running PostgreSQL server");
        // template0 has no connections that would prevent copying it.
        let sql =
            format!("create database {name} template template0 encoding 'UTF8' lc_collate 'C' lc_ctype 'C'");
        client.batch_execute(&sql).expect("a superuser, who may create a database");
        let url = with_database(server_url, &name);
        Self { admin: admin.clone(), name, url }
    }

    /// Where to connect to it: `postgres://user:password@host:port/name`.
    pub fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // A killed or stopped server is not a problem: its databases are removed with its folder.
        let Ok(mut client) = connect(&self.admin) else { return };
        if let Err(error) = client.batch_execute(&format!("drop database {} with (force)", self.name)) {
            eprintln!("database {} stays behind: {error}", self.name);
        }
    }
}

/// Unguessable bytes, in hexadecimal.
pub fn random_hex(n_bytes: usize) -> String {
    let mut bytes = vec![0; n_bytes];
    File::open("/dev/urandom").and_then(|mut source| source.read_exact(&mut bytes)).expect("random bytes");
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn connect(admin: &Config) -> Result<Client, postgres::Error> {
    admin.connect(NoTls)
}

/// The same URL for another database.
fn with_database(url: &str, name: &str) -> String {
    let (address, parameters) = match url.split_once('?') {
        Some((address, parameters)) => (address, format!("?{parameters}")),
        None => (url, String::new()),
    };
    let authority_start = address.find("://").expect("a URL") + "://".len();
    let authority_end = address[authority_start..].find('/').map_or(address.len(), |at| authority_start + at);
    format!("{}/{name}{parameters}", &address[..authority_end])
}

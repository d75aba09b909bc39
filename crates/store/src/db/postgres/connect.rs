//! Opens connections: to which host, with or without TLS, and with which limits. Detects poolers,
//! which give each transaction another connection to the server, so that connections must not have state.

use std::error::Error as _;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use postgres::config::{SslMode, TargetSessionAttrs};
use postgres::{CancelToken, Client, Config, NoTls};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use tokio_postgres_rustls::MakeRustlsConnect;

use super::Options;
use super::translate::translate;
use crate::error::{Error, ErrorKind, Result};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// A setting of our own, sent when connecting. A pooler rejects or drops it.
const MARK: &str = "spexus.direct";

pub(super) struct Connector {
    direct: Config,
    pooled: Config,
    tls: Option<MakeRustlsConnect>,
    /// Session settings, as statements for each transaction behind a pooler.
    settings: String,
    is_pooled: OnceLock<bool>,
}

/// A new connection.
pub(super) struct Connected {
    pub(super) client: Client,
    /// Whether it cannot have state: neither settings nor prepared statements.
    pub(super) is_pooled: bool,
}

impl Connector {
    pub(super) fn new(url: &str, options: &Options) -> Result<Connector> {
        let mut pooled: Config = url
            .parse()
            .map_err(|error| Error::new(ErrorKind::Schema, format!("not a PostgreSQL URL: {error}")))?;
        pooled.connect_timeout(CONNECT_TIMEOUT);
        // A peer that disappears silently must not block a thread for the hours of the system's time-out.
        pooled.keepalives_idle(Duration::from_secs(30)).tcp_user_timeout(Duration::from_secs(30));
        if pooled.get_application_name().is_none() {
            pooled.application_name("spexus");
        }
        // Of several servers one is writable, and it may change.
        if pooled.get_hosts().len() > 1 && pooled.get_target_session_attrs() == TargetSessionAttrs::Any {
            pooled.target_session_attrs(TargetSessionAttrs::ReadWrite);
        }
        let timeout_ms = options.statement_timeout.as_millis();
        let given = pooled.get_options().map(|options| format!("{options} ")).unwrap_or_default();
        let mut direct = pooled.clone();
        // Compiling our short statements takes many times as long as running them. And statements planned for
        // an empty table would scan it until it is analysed, a minute of writing later.
        direct.options(&format!(
            "-c jit=off -c enable_seqscan=off {given}-c statement_timeout={timeout_ms} -c lock_timeout={timeout_ms} -c timezone=UTC \
             -c {MARK}=on"
        ));
        let settings = format!(
            "; set local jit = off; set local enable_seqscan = off; set local statement_timeout = {timeout_ms}; \
             set local lock_timeout = {timeout_ms}"
        );
        let tls = match pooled.get_ssl_mode() {
            SslMode::Disable => None,
            _ => Some(tls(options.certificate_authority.as_deref())?),
        };
        Ok(Connector { direct, pooled, tls, settings, is_pooled: OnceLock::new() })
    }

    /// Whether connections go through a pooler; false until the first one was opened.
    pub(super) fn is_pooled(&self) -> bool {
        self.is_pooled.get().copied().unwrap_or_default()
    }

    /// Statements after `begin`: the settings that a session behind a pooler cannot keep.
    pub(super) fn settings(&self) -> &str {
        if self.is_pooled() { &self.settings } else { "" }
    }

    /// Cancels the statement of a connection, on a separate thread, because the canceller does not wait for it.
    pub(super) fn interrupt(self: Arc<Self>, token: CancelToken) {
        let cancel = move || {
            let _ = match &self.tls {
                Some(tls) => token.cancel_query(tls.clone()),
                None => token.cancel_query(NoTls),
            };
        };
        // Without a thread the statement runs until its time-out.
        let _ = std::thread::Builder::new().name("store interrupt".to_owned()).spawn(cancel);
    }

    pub(super) fn connect(&self) -> Result<Connected> {
        if let Some(is_pooled) = self.is_pooled.get().copied() {
            let config = if is_pooled { &self.pooled } else { &self.direct };
            let client = self.connect_to(config).map_err(|error| unreachable(&error))?;
            return Ok(Connected { client, is_pooled });
        }
        let (client, is_pooled) = match self.connect_to(&self.direct) {
            Ok(mut client) => {
                let mark = format!("select current_setting('{MARK}', true)");
                let mark = client.query_typed_one(&mark, &[]).map_err(|error| unreachable(&error))?;
                let is_pooled = mark.get::<_, Option<&str>>(0) != Some("on");
                (client, is_pooled)
            }
            Err(error) if is_unsupported(&error) => {
                (self.connect_to(&self.pooled).map_err(|error| unreachable(&error))?, true)
            }
            Err(error) => return Err(unreachable(&error)),
        };
        Ok(Connected { client, is_pooled: *self.is_pooled.get_or_init(|| is_pooled) })
    }

    fn connect_to(&self, config: &Config) -> std::result::Result<Client, postgres::Error> {
        match &self.tls {
            Some(tls) => config.connect(tls.clone()),
            None => config.connect(NoTls),
        }
    }
}

/// Whether a pooler rejected the settings of the session: PgBouncer does unless it is configured to ignore them.
fn is_unsupported(error: &postgres::Error) -> bool {
    error.as_db_error().is_some_and(|told| told.message().contains("unsupported startup parameter"))
}

fn unreachable(error: &postgres::Error) -> Error {
    let (told, _) = translate(error);
    let kind = if told.kind == ErrorKind::Schema { told.kind } else { ErrorKind::Unavailable };
    let cause = error.source().map_or_else(|| error.to_string(), ToString::to_string);
    Error::new(kind, "the database does not answer").because(cause)
}

/// Certificates are verified against the system's authorities and the given one.
fn tls(certificate_authority: Option<&Path>) -> Result<MakeRustlsConnect> {
    let wrong = |message: String| Error::new(ErrorKind::Schema, message);
    let mut roots = rustls::RootCertStore::empty();
    // A system without certificates can still reach a server without TLS or with the given certificate.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if let Some(path) = certificate_authority {
        let certificates = CertificateDer::pem_file_iter(path)
            .and_then(Iterator::collect::<std::result::Result<Vec<_>, _>>)
            .map_err(|error| wrong(format!("{}: not a PEM certificate: {error}", path.display())))?;
        for certificate in certificates {
            roots.add(certificate).map_err(|error| wrong(format!("{}: {error}", path.display())))?;
        }
    }
    let config =
        rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| wrong(error.to_string()))?
            .with_root_certificates(roots)
            .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}

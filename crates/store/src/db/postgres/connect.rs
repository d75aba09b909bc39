//! Makes connections: where to, with or without TLS, and with which limits.

use std::error::Error as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use postgres::config::SslMode;
use postgres::{CancelToken, Client, Config, NoTls};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use tokio_postgres_rustls::MakeRustlsConnect;

use super::Options;
use crate::error::{Error, ErrorKind, Result};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

pub(super) struct Connector {
    config: Config,
    tls: Option<MakeRustlsConnect>,
}

impl Connector {
    pub(super) fn new(url: &str, options: &Options) -> Result<Connector> {
        let mut config: Config = url
            .parse()
            .map_err(|error| Error::new(ErrorKind::Schema, format!("not a PostgreSQL URL: {error}")))?;
        config.connect_timeout(CONNECT_TIMEOUT);
        // A peer that vanishes without a word must not keep a thread for the hours that the system would wait.
        config.keepalives_idle(Duration::from_secs(30)).tcp_user_timeout(Duration::from_secs(30));
        if config.get_application_name().is_none() {
            config.application_name("spexus");
        }
        let given = config.get_options().map(|options| format!("{options} ")).unwrap_or_default();
        let timeout_ms = options.statement_timeout.as_millis();
        // Compiling one of our short statements would take many times as long as running it.
        config.options(&format!(
            "-c jit=off {given}-c statement_timeout={timeout_ms} -c lock_timeout={timeout_ms} -c timezone=UTC"
        ));
        let tls = match config.get_ssl_mode() {
            SslMode::Disable => None,
            _ => Some(tls(options.certificate_authority.as_deref())?),
        };
        Ok(Connector { config, tls })
    }

    /// Asks the database to stop what a connection does, on a thread of its own: whoever gave up does not wait for it.
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

    pub(super) fn connect(&self) -> Result<Client> {
        let connected = match &self.tls {
            Some(tls) => self.config.connect(tls.clone()),
            None => self.config.connect(NoTls),
        };
        connected.map_err(|error| {
            let (told, _) = super::translate(&error);
            let kind = if told.kind == ErrorKind::Schema { told.kind } else { ErrorKind::Unavailable };
            let cause = error.source().map_or_else(|| error.to_string(), ToString::to_string);
            Error::new(kind, "the database does not answer").because(cause)
        })
    }
}

/// Certificates are checked against those the system trusts and the given one.
fn tls(certificate_authority: Option<&Path>) -> Result<MakeRustlsConnect> {
    let wrong = |message: String| Error::new(ErrorKind::Schema, message);
    let mut roots = rustls::RootCertStore::empty();
    // A system without certificates of its own can still reach a server without TLS or with the given certificate.
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

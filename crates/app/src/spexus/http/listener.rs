//! Accepts connections, with TLS or without, and lets those that are open finish at the end.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulShutdown;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tower::ServiceExt;

use super::Peer;
use super::address::Proxies;
use super::body::Drained;
use super::connections::{Answering, Connection, ConnectionLimits, Connections};
use super::guard::{guarded, identified};
use super::outgoing::{STALL_TIME, Stalling};

/// Who sends a request's head slower than this is not waited for.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// Connections that cannot be accepted or kept are logged at most this often.
const LOG_EVERY: Duration = Duration::from_secs(1);
/// After a failure to accept, as when there are no files left, this long nothing is accepted.
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);
/// Requests that are open at the end have this long to finish.
const DRAIN_TIME: Duration = Duration::from_secs(30);
/// Streams of one HTTP/2 connection.
const STREAMS_MAX: u32 = 200;

/// The server's certificate and key.
pub struct Tls(TlsAcceptor);

impl Tls {
    /// Reads PEM files.
    pub fn read(certificate: &Path, key: &Path) -> Result<Tls, String> {
        let named = |path: &Path, error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let chain = CertificateDer::pem_file_iter(certificate)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(|error| named(certificate, &error))?;
        if chain.is_empty() {
            return Err(named(certificate, &"no certificate is in it"));
        }
        let secret = PrivateKeyDer::from_pem_file(key).map_err(|error| named(key, &error))?;
        let mut config =
            rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
                .with_safe_default_protocol_versions()
                .map_err(|error| error.to_string())?
                .with_no_client_auth()
                .with_single_cert(chain, secret)
                .map_err(|error| named(key, &error))?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Tls(TlsAcceptor::from(Arc::new(config))))
    }
}

/// A bound address.
pub struct Listener {
    socket: TcpListener,
    tls: Option<Tls>,
    connections: Arc<Connections>,
    options: ConnectionOptions,
}

/// What can be chosen for connections.
#[derive(Clone, Debug)]
pub struct ConnectionOptions {
    /// How many there may be.
    pub limits: ConnectionLimits,
    /// Who may say for whom they ask.
    pub proxies: Proxies,
    /// How long a peer may take no bytes.
    pub write_timeout: Duration,
}

impl Default for ConnectionOptions {
    /// As many as there are files for, and no proxies.
    fn default() -> Self {
        let limits = ConnectionLimits { per_address: 0, total: usize::MAX };
        ConnectionOptions { limits, proxies: Proxies::default(), write_timeout: STALL_TIME }
    }
}

impl Listener {
    /// Binds an address.
    pub async fn bind(
        address: SocketAddr,
        tls: Option<Tls>,
        options: ConnectionOptions,
    ) -> std::io::Result<Listener> {
        let connections = Connections::new(options.limits);
        Ok(Listener { socket: TcpListener::bind(address).await?, tls, connections, options })
    }

    /// The address that was bound.
    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Serves until `stop` is ready, then finishes what is open. Returns how many connections had to be cut.
    pub async fn serve(
        self,
        router: Router,
        stop: impl Future<Output = ()>,
        on_stop: impl FnOnce(),
    ) -> usize {
        let graceful = GracefulShutdown::new();
        let mut refused = Refused::default();
        tokio::pin!(stop);
        loop {
            let accepted = tokio::select! {
                accepted = self.socket.accept() => accepted,
                () = &mut stop => break,
            };
            let (stream, peer) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    // Out of file descriptors, or a client that has gone already: others may still come.
                    refused.note(&error);
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            };
            let is_proxy = self.options.proxies.trust(peer.ip());
            match self.connections.admit(peer.ip(), is_proxy) {
                Ok(connection) => {
                    let _ = stream.set_nodelay(true);
                    self.open(stream, peer, connection, router.clone(), &graceful);
                }
                Err(why) => refused.note(&why),
            }
        }
        drop(self.socket);
        on_stop();
        let open = graceful.count();
        match tokio::time::timeout(DRAIN_TIME, graceful.shutdown()).await {
            Ok(()) => 0,
            Err(_) => open,
        }
    }

    fn open(
        &self,
        stream: TcpStream,
        peer: SocketAddr,
        connection: Connection,
        router: Router,
        graceful: &GracefulShutdown,
    ) {
        let stream = Stalling::new(stream, self.options.write_timeout);
        let client = Client { peer, proxies: self.options.proxies.clone(), connection: Arc::new(connection) };
        let watcher = graceful.watcher();
        let acceptor = self.tls.as_ref().map(|tls| tls.0.clone());
        tokio::spawn(async move {
            let connection = client.connection.clone();
            let conversation = async {
                match acceptor {
                    None => converse(stream, client, router, watcher).await,
                    Some(acceptor) => match acceptor.accept(stream).await {
                        Ok(stream) => converse(stream, client, router, watcher).await,
                        Err(error) => tracing::debug!(address = %peer.ip(), "no TLS: {error}"),
                    },
                }
            };
            tokio::select! {
                () = conversation => {}
                why = connection.ended() => {
                    tracing::debug!(address = %peer.ip(), "a connection was closed: {why}");
                }
            }
        });
    }
}

/// Connections that were refused since this was last logged.
#[derive(Default)]
struct Refused {
    n: u64,
    logged: Option<Instant>,
}

impl Refused {
    fn note(&mut self, why: &dyn std::fmt::Display) {
        self.n += 1;
        if self.logged.is_none_or(|logged| logged.elapsed() >= LOG_EVERY) {
            tracing::warn!(connections = self.n, "a connection could not be accepted: {why}");
            *self = Refused { n: 0, logged: Some(Instant::now()) };
        }
    }
}

/// Who is at the other end.
struct Client {
    peer: SocketAddr,
    proxies: Proxies,
    connection: Arc<Connection>,
}

async fn converse<S>(
    stream: S,
    client: Client,
    router: Router,
    watcher: hyper_util::server::graceful::Watcher,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let Client { peer, proxies, connection } = client;
    let service = hyper::service::service_fn(move |mut request: hyper::Request<Incoming>| {
        let busy = connection.begin();
        let address = proxies.client(peer.ip(), request.headers());
        request.extensions_mut().insert(Peer(address));
        let running = identified(&mut request);
        let answer = router.clone().oneshot(Drained::body(request));
        async move {
            let handler = async { answer.await.unwrap_or_else(|never| match never {}) };
            let response = guarded(running.clone(), handler).await;
            Ok::<_, Infallible>(response.map(|body| Answering::new(body, busy, running)))
        }
    });
    let mut builder = Builder::new(TokioExecutor::new());
    // Between requests, too, a connection has this long to send the next head.
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HEAD_TIME).max_buf_size(64 << 10);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS_MAX)
        .keep_alive_interval(Duration::from_secs(20));
    let connection = builder.serve_connection(TokioIo::new(stream), service).into_owned();
    if let Err(error) = watcher.watch(connection).await {
        tracing::debug!(address = %peer.ip(), "a connection ended: {error}");
    }
}

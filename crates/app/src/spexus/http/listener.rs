//! Accepts connections, with TLS or without, and lets those that are open finish at the end.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

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
use super::body::Drained;

/// Who sends a request's head slower than this is not waited for.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// A TLS handshake takes at most this long.
const HANDSHAKE_TIME: Duration = Duration::from_secs(10);
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
}

impl Listener {
    /// Binds an address.
    pub async fn bind(address: SocketAddr, tls: Option<Tls>) -> std::io::Result<Listener> {
        Ok(Listener { socket: TcpListener::bind(address).await?, tls })
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
                    tracing::warn!("a connection could not be accepted: {error}");
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    continue;
                }
            };
            let _ = stream.set_nodelay(true);
            self.open(stream, peer, router.clone(), &graceful);
        }
        drop(self.socket);
        on_stop();
        let open = graceful.count();
        match tokio::time::timeout(DRAIN_TIME, graceful.shutdown()).await {
            Ok(()) => 0,
            Err(_) => open,
        }
    }

    fn open(&self, stream: TcpStream, peer: SocketAddr, router: Router, graceful: &GracefulShutdown) {
        let watcher = graceful.watcher();
        let acceptor = self.tls.as_ref().map(|tls| tls.0.clone());
        tokio::spawn(async move {
            match acceptor {
                None => converse(stream, peer, router, watcher).await,
                Some(acceptor) => match tokio::time::timeout(HANDSHAKE_TIME, acceptor.accept(stream)).await {
                    Ok(Ok(stream)) => converse(stream, peer, router, watcher).await,
                    Ok(Err(error)) => tracing::debug!(address = %peer.ip(), "no TLS: {error}"),
                    Err(_) => tracing::debug!(address = %peer.ip(), "the TLS handshake took too long"),
                },
            }
        });
    }
}

async fn converse<S>(
    stream: S,
    peer: SocketAddr,
    router: Router,
    watcher: hyper_util::server::graceful::Watcher,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = hyper::service::service_fn(move |mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(Peer(peer.ip()));
        router.clone().oneshot(Drained::body(request))
    });
    let mut builder = Builder::new(TokioExecutor::new());
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

//! The public keys of those who issue identities to CI runs: found by their discovery documents, and kept for a while.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use ops::KeySource;
use reqwest::Url;
use reqwest::blocking::{Client, Response};
use reqwest::redirect;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::answered;

/// How long keys are kept.
const KEPT: Duration = Duration::from_secs(600);
/// How often they are fetched in that time for the sake of unknown ids, which anybody can write into a token.
const REFETCHES_MAX: u32 = 10;
/// How long an issuer that could not be asked is not asked again.
const FAILED_FOR: Duration = Duration::from_secs(10);
/// How long both documents may take together.
const FETCH_TIME_MAX: Duration = Duration::from_secs(5);
/// How large each of them may be.
const DOCUMENT_SIZE_MAX_BYTES: usize = 256 << 10;
/// How many keys are kept of an issuer.
const KEYS_MAX: usize = 100;

/// The keys of the issuers that are accepted.
pub struct IssuerKeys {
    issuers: HashMap<String, Mutex<Known>>,
}

/// What is known of an issuer.
#[derive(Default)]
struct Known {
    /// Its keys by their ids, and since when.
    keys: Option<(Instant, HashMap<String, Value>)>,
    n_refetches: u32,
    failed: Option<(Instant, String)>,
}

impl IssuerKeys {
    /// Knows these issuers, and has asked none of them yet.
    pub fn new(issuers: &[String]) -> IssuerKeys {
        IssuerKeys { issuers: issuers.iter().map(|issuer| (issuer.clone(), Mutex::default())).collect() }
    }
}

impl KeySource for IssuerKeys {
    fn key(&self, issuer: &str, key_id: &str) -> Result<Option<Value>, String> {
        let known = self.issuers.get(issuer).ok_or("it is not among the issuers of this server")?;
        // Whoever comes while the keys are fetched waits for these.
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        match &known.keys {
            Some((since, keys)) if since.elapsed() < KEPT => {
                if let Some(key) = keys.get(key_id) {
                    return Ok(Some(key.clone()));
                }
                if known.n_refetches == REFETCHES_MAX {
                    return Ok(None);
                }
                known.n_refetches += 1;
            }
            _ => known.n_refetches = 0,
        }
        let keys = known.renew(issuer)?;
        Ok(keys.get(key_id).cloned())
    }
}

impl Known {
    /// Fetches the keys, unless that has failed a moment ago.
    fn renew(&mut self, issuer: &str) -> Result<&HashMap<String, Value>, String> {
        if let Some((at, reason)) = self.failed.as_ref().filter(|(at, _)| at.elapsed() < FAILED_FOR) {
            return Err(format!("{reason} ({} s ago)", at.elapsed().as_secs()));
        }
        match fetch(issuer) {
            Ok(keys) => {
                self.failed = None;
                Ok(&self.keys.insert((Instant::now(), keys)).1)
            }
            Err(reason) => {
                tracing::warn!(issuer, "the keys of an issuer cannot be read: {reason}");
                self.failed = Some((Instant::now(), reason.clone()));
                Err(reason)
            }
        }
    }
}

/// What an issuer says of itself.
#[derive(Deserialize)]
struct Discovery {
    issuer: String,
    jwks_uri: String,
}

#[derive(Deserialize)]
struct KeySet {
    keys: Vec<Value>,
}

/// Fetches the keys of an issuer, by their ids. The client ends here: its runtime must not end on a thread of the server's.
fn fetch(issuer: &str) -> Result<HashMap<String, Value>, String> {
    let until = Instant::now() + FETCH_TIME_MAX;
    // Another provider may be there already; any will do.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = Client::builder()
        .user_agent(concat!("spexus/", env!("CARGO_PKG_VERSION")))
        .redirect(redirect::Policy::none())
        .timeout(FETCH_TIME_MAX)
        .build()
        .map_err(|error| answered::reason(&error))?;
    let address = format!("{}/.well-known/openid-configuration", issuer.trim_end_matches('/'));
    let discovery: Discovery = document(&client, &parse(&address)?, until)?;
    if discovery.issuer != issuer {
        return Err(format!("{address} speaks for another issuer, {:?}", mcp::shown(&discovery.issuer)));
    }
    let keys_address = parse(&discovery.jwks_uri)?;
    // The same origin is reached by https as well, or is this machine: others are no issuers of this server.
    if keys_address.origin() != parse(issuer)?.origin() {
        return Err(format!(
            "its keys are elsewhere, at {:?}: expected the same host",
            mcp::shown(keys_address.as_str())
        ));
    }
    let set: KeySet = document(&client, &keys_address, until)?;
    let mut keys = HashMap::new();
    for key in set.keys.into_iter().take(KEYS_MAX) {
        if let Some(id) = key["kid"].as_str().map(str::to_owned) {
            keys.entry(id).or_insert(key);
        }
    }
    Ok(keys)
}

fn parse(address: &str) -> Result<Url, String> {
    Url::parse(address).map_err(|error| format!("{:?}: {error}", mcp::shown(address)))
}

fn document<T: DeserializeOwned>(client: &Client, address: &Url, until: Instant) -> Result<T, String> {
    let about = |reason: String| format!("{address}: {reason}");
    let left = until.saturating_duration_since(Instant::now());
    let request = client.get(address.clone()).header("accept", "application/json").timeout(left);
    let response = request.send().and_then(Response::error_for_status);
    let mut response = response.map_err(|error| about(answered::reason(&error)))?;
    let bytes = answered::read(&mut response, DOCUMENT_SIZE_MAX_BYTES, until).map_err(about)?;
    serde_json::from_slice(&bytes).map_err(|error| about(error.to_string()))
}

/// Whether an issuer can be accepted: it is reached by https, or it is on this machine.
pub fn is_issuer(text: &str) -> bool {
    let Ok(url) = Url::parse(text) else { return false };
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let is_loopback =
        host == "localhost" || host.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback());
    let is_plain = url.query().is_none()
        && url.fragment().is_none()
        && url.username().is_empty()
        && url.password().is_none();
    is_plain && (url.scheme() == "https" || url.scheme() == "http" && is_loopback)
}

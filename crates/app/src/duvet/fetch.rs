//! Fetches specifications that are not there, and keeps them.

use std::io::Read as _;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use std::{fs, io};

use reqwest::Url;
use reqwest::blocking::{Client, Response};
use trace::project::{Fetch, Project};

use super::progress;

/// A document that takes longer is not coming.
const FETCH_TIME_MAX: Duration = Duration::from_secs(30);
/// Nor is one that is larger a specification.
const DOCUMENT_SIZE_MAX_BYTES: u64 = 20 << 20;
const REDIRECTS_MAX: usize = 5;

/// Makes what fetches the specifications of a project. Nothing is connected before something is missing.
pub fn fetcher(project: &Project) -> Arc<Fetch> {
    let root = project.options.root.clone();
    Arc::new(move |address, local| {
        let text = fetch(address)?;
        keep(&root.join(local), &text).map_err(|error| format!("it cannot be kept: {error}"))?;
        progress("Fetched", address);
        Ok(text)
    })
}

fn fetch(address: &str) -> Result<String, String> {
    let url = Url::parse(address).map_err(|error| error.to_string())?;
    if !is_safe(&url) {
        return Err("only https is fetched".to_owned());
    }
    // Another provider may be there already; any will do.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let redirects = reqwest::redirect::Policy::custom(|attempt| {
        if attempt.previous().len() > REDIRECTS_MAX {
            attempt.error("too many redirects")
        } else if is_safe(attempt.url()) {
            attempt.follow()
        } else {
            attempt.error("redirected to what is not https")
        }
    });
    let client = Client::builder()
        .user_agent(concat!("spexus-duvet/", env!("CARGO_PKG_VERSION")))
        .timeout(FETCH_TIME_MAX)
        .redirect(redirects)
        .build()
        .map_err(|error| reason(&error))?;
    let request = client.get(url).header("accept", "text/plain, text/markdown, */*;q=0.5");
    let response = request.send().and_then(Response::error_for_status).map_err(|error| reason(&error))?;
    let mut bytes = Vec::new();
    response.take(DOCUMENT_SIZE_MAX_BYTES + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > DOCUMENT_SIZE_MAX_BYTES {
        return Err(format!("it is larger than {} MiB", DOCUMENT_SIZE_MAX_BYTES >> 20));
    }
    String::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned())
}

/// Whether nobody on the way can change the document: by https, or from this machine.
fn is_safe(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let is_local = host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    url.scheme() == "https" || url.scheme() == "http" && is_local
}

/// The cause behind a cause: "error sending request" says little.
fn reason(error: &reqwest::Error) -> String {
    let mut source: &dyn std::error::Error = error;
    while let Some(inner) = source.source() {
        source = inner;
    }
    match error.status() {
        Some(status) => format!("the server says {status}"),
        None if error.is_timeout() => format!("nothing came within {FETCH_TIME_MAX:?}"),
        None => source.to_string(),
    }
}

/// Writes a file whole or not at all.
fn keep(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut draft = PathBuf::from(path);
    draft.set_extension("txt.new");
    fs::write(&draft, text)?;
    fs::rename(&draft, path)
}

//! Fetches missing specifications, and stores them.
//!
//! Annotations and the configuration of a repository name the URLs, and the repository may be hostile. So nothing
//! is fetched from private networks unless the user names the host, whatever names and redirects say.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use reqwest::Url;
use reqwest::blocking::{Client, Response};
use reqwest::redirect;
use trace::project::{Fetch, Project};

use super::arguments::FetchArguments;
use super::output::{ChosenBy, Outputs};
use super::progress;
use crate::answered::{self, reason};

mod address;

use address::Hosts;

/// The time limit of a download.
const FETCH_TIME_MAX: Duration = Duration::from_secs(30);
/// The size limit of a specification.
const DOCUMENT_SIZE_MAX_BYTES: usize = 20 << 20;
const REDIRECTS_MAX: usize = 5;

/// Creates the fetcher for the specifications of a project. It connects only when something is missing.
pub fn fetcher(project: &Project, arguments: &FetchArguments, outputs: &Outputs) -> Arc<Fetch> {
    let root = project.options.root.clone();
    // The folder of a configuration that the user named may be outside of the project.
    let outputs = project.downloads.parent().map_or(outputs.clone(), |folder| outputs.inside(folder));
    let hosts = Arc::new(Hosts::new(&arguments.private_hosts));
    let client = OnceLock::new();
    Arc::new(move |address, local| {
        let client = client.get_or_init(|| client_for(&hosts)).as_ref().map_err(String::clone)?;
        let text = fetch(client, &hosts, address)?;
        outputs
            .replace(&root.join(local), ChosenBy::Project, |out| out.write_all(text.as_bytes()))
            .map_err(|problem| format!("it cannot be kept: {problem}"))?;
        progress("Fetched", address);
        Ok(text)
    })
}

fn client_for(hosts: &Arc<Hosts>) -> Result<Client, String> {
    // Another provider may be there already; any will do.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let redirecting = hosts.clone();
    let redirects = redirect::Policy::custom(move |attempt| {
        let was_secret = attempt.previous().iter().any(|url| url.scheme() == "https");
        if attempt.previous().len() > REDIRECTS_MAX {
            attempt.error("too many redirects")
        } else if was_secret && attempt.url().scheme() != "https" {
            attempt.error("it is redirected from https to http")
        } else if let Err(problem) = redirecting.check(attempt.url()) {
            let problem = format!("it is redirected to {}: {problem}", attempt.url());
            attempt.error(problem)
        } else {
            attempt.follow()
        }
    });
    Client::builder()
        .user_agent(concat!("spexus-duvet/", env!("CARGO_PKG_VERSION")))
        .timeout(FETCH_TIME_MAX)
        .redirect(redirects)
        // A connection goes to an address that the resolver returned, so a name cannot resolve differently a moment later.
        .dns_resolver(hosts.clone())
        .build()
        .map_err(|error| reason(&error))
}

fn fetch(client: &Client, hosts: &Hosts, address: &str) -> Result<String, String> {
    let start = Instant::now();
    let url = Url::parse(address).map_err(|error| error.to_string())?;
    hosts.check(&url)?;
    let request = client.get(url).header("accept", "text/plain, text/markdown, */*;q=0.5");
    let mut response = request.send().and_then(Response::error_for_status).map_err(|error| reason(&error))?;
    let bytes = answered::read(&mut response, DOCUMENT_SIZE_MAX_BYTES, start + FETCH_TIME_MAX)?;
    String::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned())
}

//! `spexus health`: asks a running server whether it is ready, so that health checks of containers need no other program.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use clap::ArgMatches;
use reqwest::{Certificate, Url};
use serde_json::Value;
use tracing::level_filters::LevelFilter;

use super::config::{self, Config};
use super::{Exit, print, remote};

/// Longer than a server waits for its store.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Why `--token` and `--as` are rejected.
const PUBLIC: &str = "health needs no credentials; leave it out";

/// Asks once and reports the answer by the exit code.
pub fn run(matches: &ArgMatches) -> Exit {
    let mut settings = config::settings(matches);
    crate::logging::start_with_time(&mut settings, LevelFilter::WARN);
    let server: Option<String> = settings.optional("SPEXUS_SERVER");
    settings.refuse_flag("SPEXUS_TOKEN", PUBLIC);
    settings.refuse_flag("SPEXUS_AS", PUBLIC);
    let config = config::read(&mut settings);
    if let Err(problems) = settings.check() {
        print::tell(&problems.to_string());
        return Exit::Usage;
    }
    // A second start in one process, as in tests, keeps the first.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let asked = match &server {
        Some(server) => ask(server.trim_end_matches('/'), reqwest::blocking::Client::builder()),
        None => own(&config).and_then(|(url, client)| ask(&url, client)),
    };
    let (url, answer) = match asked {
        Ok(asked) => asked,
        Err(message) => {
            print::tell(&message);
            return Exit::Refused;
        }
    };
    let is_ready = answer["status"] == "ok";
    let printed = if matches.get_flag("json") {
        print::json(&answer)
    } else {
        let text = |name: &str| answer[name].as_str().unwrap_or("unknown").to_owned();
        let state = if is_ready { "ready" } else { "not ready" };
        print::raw(&format!(
            "{url} is {state}: {}, read {}, write {}\n",
            text("store"),
            text("read"),
            text("write")
        ))
    };
    printed.and(if is_ready { Exit::Done } else { Exit::Refused })
}

/// Returns the URL of the server on this machine, and a client for it that uses no proxy. Over TLS the URL has the public name, which
/// the certificate is for, and the server's own port; only this certificate is trusted, so that a container needs no others.
fn own(config: &Config) -> Result<(String, reqwest::blocking::ClientBuilder), String> {
    let address = SocketAddr::new(reachable(config.listen.ip()), config.listen.port());
    let client = reqwest::blocking::Client::builder().no_proxy();
    let Some((certificate, _)) = &config.tls else {
        return Ok((format!("http://{address}"), client.tls_certs_only([])));
    };
    let pem = fs::read(certificate).map_err(|error| format!("{}: {error}", certificate.display()))?;
    let known = Certificate::from_pem_bundle(&pem)
        .map_err(|error| format!("{}: {}", certificate.display(), remote::cause(&error)))?;
    let public = Url::parse(&config.http.public_url).ok();
    let client = client.tls_certs_only(known);
    Ok(match public.as_ref().and_then(Url::domain) {
        Some(name) => (format!("https://{name}:{}", address.port()), client.resolve(name, address)),
        None => (format!("https://{address}"), client),
    })
}

/// Replaces the address that stands for all addresses by the loopback address.
fn reachable(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    }
}

/// Returns the URL and the answer, which has the same fields whether the server is ready or not.
fn ask(url: &str, client: reqwest::blocking::ClientBuilder) -> Result<(String, Value), String> {
    let silent = |error: reqwest::Error| format!("{url} does not answer: {}", remote::cause(&error));
    let client = client.timeout(TIMEOUT).build().map_err(silent)?;
    let response = client.get(format!("{url}/health/ready")).send().map_err(silent)?;
    let status = response.status();
    let answer = response.text().ok().and_then(|text| serde_json::from_str::<Value>(&text).ok());
    match answer.filter(|answer| answer["status"].is_string()) {
        Some(answer) => Ok((url.to_owned(), answer)),
        None => Err(format!("{url}/health/ready: expected the readiness of a Spexus server, found {status}")),
    }
}

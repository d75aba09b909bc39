//! StrictDoc's server beside ours, with a document of the same requirements: how long until its page is there, and until an edit of one
//! requirement is saved and shown.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::Context;
use bench_shared::http::Client;
use bench_shared::text;
use serde::{Deserialize, Serialize};

use crate::pages::{Ours, at};

/// The version that is compared with.
const PEER_VERSION: &str = "0.30.4";
/// How many different texts the peer's document has.
const N_TEXTS: u64 = 10_000;

/// What one side takes, in seconds and bytes.
#[derive(Clone, Serialize, Deserialize)]
pub struct Side {
    /// A page of the document: to its first byte, and to its last.
    pub page_first_byte_s: f64,
    pub page_s: f64,
    pub page_bytes: usize,
    /// The form of a requirement.
    pub form_s: f64,
    /// From sending the form until it is saved, and until a page of the document shows it.
    pub saved_s: f64,
    pub shown_s: f64,
    /// The answer to the form.
    pub saved_bytes: usize,
}

/// What StrictDoc takes besides: to start, and for the first page, which it makes then and keeps.
#[derive(Serialize, Deserialize)]
pub struct Peer {
    pub ready_s: f64,
    pub cold_page_s: f64,
    #[serde(flatten)]
    pub side: Side,
}

/// Measures StrictDoc, which is installed when it is not there.
pub fn strictdoc(program: Option<&Path>, n_requirements: u64, rounds: usize) -> anyhow::Result<Peer> {
    let program = match program {
        Some(program) => program.to_owned(),
        None => installed()?,
    };
    let folder = tempfile::tempdir()?;
    let mut driver = Command::new("python3")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("web/strictdoc.py"))
        .arg(&program)
        .arg(folder.path())
        .args([n_requirements.to_string(), rounds.to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("python3 cannot be started")?;
    let mut stdin = driver.stdin.take().context("stdin is piped")?;
    for number in 0..n_requirements.min(N_TEXTS) {
        serde_json::to_writer(&mut stdin, &(text::title(number), text::description(number)))?;
        stdin.write_all(b"\n")?;
    }
    drop(stdin);
    let output = driver.wait_with_output()?;
    anyhow::ensure!(output.status.success(), "StrictDoc could not be measured");
    serde_json::from_slice(&output.stdout).context("the driver prints no figures")
}

fn installed() -> anyhow::Result<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/peers/strictdoc");
    let program = root.join("bin/strictdoc");
    if !program.exists() {
        let run = |program: &Path, arguments: &[&str]| -> anyhow::Result<()> {
            let status = Command::new(program).args(arguments).stdout(std::io::stderr()).status()?;
            anyhow::ensure!(status.success(), "{} {arguments:?}: {status}", program.display());
            Ok(())
        };
        run(Path::new("python3"), &["-m", "venv", &root.display().to_string()])?;
        run(&root.join("bin/pip"), &["install", "--quiet", &format!("strictdoc=={PEER_VERSION}")])?;
    }
    Ok(program)
}

/// Measures the same with ours, on a store of one project.
pub fn ours(server: &Ours, n_requirements: u64, rounds: usize) -> anyhow::Result<Side> {
    let mut client = Client::open(&server.address)?;
    let page = "/p/DEFAULT/document";
    server.load(&mut client, page)?;
    let mut pages = Vec::new();
    for _ in 0..rounds {
        pages.push(server.load(&mut client, page)?);
    }
    let (mut forms, mut saved, mut shown, mut saved_bytes) = (Vec::new(), Vec::new(), Vec::new(), 0);
    for round in 0..rounds {
        let reference = format!("REQ-{:03}", 1 + (n_requirements / 2 + round as u64) % n_requirements);
        forms.push(server.load(&mut client, &format!("/r/{reference}/edit"))?.time);
        // A text that was never there: saving what is there already would write nothing.
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_nanos();
        let mark = format!("Changed in round {round} of {now}.");
        let next = format!("{page}?from={reference}");
        let body = format!(
            "requirement_id={reference}&title={}&description={}&_next={}",
            web::encode(&text::title(round as u64)),
            web::encode(&mark),
            web::encode(&next)
        );
        let sent = Instant::now();
        let answer = client.send(&server.form("/do/update_requirement", &body))?;
        anyhow::ensure!(answer.status == 303, "the form is answered with {}", answer.status);
        saved.push(sent.elapsed());
        let page = server.load(&mut client, &next)?;
        shown.push(sent.elapsed());
        saved_bytes = page.body.len();
        let text = server.plain(&mut client, &next)?;
        anyhow::ensure!(text.contains(&mark), "the page does not show the change of {reference}");
    }
    let median = |mut times: Vec<Duration>| {
        times.sort_unstable();
        at(&times, 0.5).as_secs_f64()
    };
    let page_bytes = pages.last().map_or(0, |page| page.body.len());
    // Our pages are small: the last byte comes with the first.
    let page_s = median(pages.iter().map(|page| page.time).collect());
    Ok(Side {
        page_first_byte_s: page_s,
        page_s,
        page_bytes,
        form_s: median(forms),
        saved_s: median(saved),
        shown_s: median(shown),
        saved_bytes,
    })
}

//! The web application with a large store: what each page takes of the server and of the network, beside its budget; and StrictDoc's
//! server, with a document of the same requirements.

mod pages;
mod peer;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use bench_shared::fill::{self, Layout};
use serde::Serialize;

use self::pages::{CLIENTS, Ours, PageFigures};
use self::peer::{Peer, Side};

struct Settings {
    json: bool,
    layout: Layout,
    /// Requirements of the document that both servers show.
    document: u64,
    rounds: usize,
    without_peer: bool,
    peer: Option<PathBuf>,
    program: PathBuf,
    /// Where filled stores are kept from run to run.
    folder: Option<PathBuf>,
}

#[derive(Serialize)]
struct Report {
    pages: Vec<PageFigures>,
    ours: Option<Side>,
    strictdoc: Option<Peer>,
}

fn main() -> anyhow::Result<()> {
    let settings = Settings::read()?;
    let temporary = tempfile::tempdir()?;
    let folder = settings.folder.as_deref().unwrap_or(temporary.path());
    let server = serve(&settings, folder, "pages", settings.layout)?;
    let pages = pages::measure(&server, settings.layout)?;
    drop(server);
    let mut report = Report { pages, ours: None, strictdoc: None };
    if !settings.without_peer {
        let layout = Layout::new(settings.document, 1);
        let server = serve(&settings, folder, "document", layout)?;
        report.ours = Some(peer::ours(&server, layout.n_requirements, settings.rounds)?);
        drop(server);
        eprintln!("starting StrictDoc with {} requirements", layout.n_requirements);
        report.strictdoc =
            Some(peer::strictdoc(settings.peer.as_deref(), layout.n_requirements, settings.rounds)?);
    }
    #[expect(clippy::print_stdout, reason = "the result goes where it can be redirected")]
    if settings.json {
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        println!("{}", report.text(&settings));
    }
    Ok(())
}

/// Starts our server on a store, which is filled if it is not there.
fn serve(settings: &Settings, folder: &Path, name: &str, layout: Layout) -> anyhow::Result<Ours> {
    let database = format!("sqlite:{}", folder.join(format!("{name}.db")).display());
    let kept_token = folder.join(format!("{name}.token"));
    let token = match std::fs::read_to_string(&kept_token) {
        Ok(token) => token,
        Err(_) => {
            let started = Instant::now();
            let token = fill::fill(&database, layout)?;
            let Layout { n_projects, n_requirements } = layout;
            eprintln!(
                "filled {n_projects} projects of {n_requirements} in {:.0} s",
                started.elapsed().as_secs_f64()
            );
            token
        }
    };
    std::fs::write(&kept_token, &token)?;
    Ours::start(&settings.program, &database, &token)
}

impl Report {
    fn text(&self, settings: &Settings) -> String {
        let mut text = String::new();
        let Layout { n_projects, n_requirements } = settings.layout;
        // Writing into a string does not fail.
        let _ = writeln!(
            text,
            "{n_projects} projects of {n_requirements} requirements; times in ms, bytes compressed\n"
        );
        let _ = writeln!(
            text,
            "{:<30}{:>8}{:>8}{:>8}{:>8}{:>10}{:>12}{:>10}",
            "page", "p50", "p99", "p50 ×8", "p99 ×8", "bytes", "first visit", "requests"
        );
        for page in &self.pages {
            let times: String =
                page.times_ms.iter().map(|(p50, p99)| format!("{p50:>8.1}{p99:>8.1}")).collect();
            let over = page.over().join(", ");
            let mark = if over.is_empty() { String::new() } else { format!("  over: {over}") };
            let (bytes, first, requests) = (page.bytes, page.first_bytes, page.first_requests);
            let _ = writeln!(text, "{:<30}{times}{bytes:>10}{first:>12}{requests:>10}{mark}", page.page);
        }
        if let (Some(ours), Some(peer)) = (&self.ours, &self.strictdoc) {
            let _ =
                writeln!(text, "\n{:<42}{:>12}{:>12}{:>10}", "one document", "ours", "StrictDoc", "ratio");
            let mut row = |name: &str, ours: f64, theirs: f64, unit: &str| {
                let ratio = theirs / ours;
                let _ = writeln!(text, "{name:<42}{ours:>10.1} {unit}{theirs:>9.1} {unit}{ratio:>9.1}×");
            };
            let theirs = &peer.side;
            row("page that has to be made", ours.page_s * 1e3, peer.cold_page_s * 1e3, "ms");
            row("page, first byte", ours.page_first_byte_s * 1e3, theirs.page_first_byte_s * 1e3, "ms");
            row("page, last byte", ours.page_s * 1e3, theirs.page_s * 1e3, "ms");
            row("page, transferred", ours.page_bytes as f64 / 1e3, theirs.page_bytes as f64 / 1e3, "KB");
            row("form of a requirement", ours.form_s * 1e3, theirs.form_s * 1e3, "ms");
            row("edit until saved", ours.saved_s * 1e3, theirs.saved_s * 1e3, "ms");
            row("edit until the page shows it", ours.shown_s * 1e3, theirs.shown_s * 1e3, "ms");
            row(
                "answer to the edit, transferred",
                ours.saved_bytes as f64 / 1e3,
                theirs.saved_bytes as f64 / 1e3,
                "KB",
            );
            let _ = writeln!(text, "StrictDoc takes {:.0} s to start.", peer.ready_s);
        }
        let _ = write!(text, "\n{} clients in the columns ×8.", CLIENTS[1]);
        text
    }
}

impl Settings {
    fn read() -> anyhow::Result<Settings> {
        let beside = std::env::current_exe()?.with_file_name("spexus");
        let (mut n_requirements, mut n_projects) = (100_000, 20);
        let mut settings = Settings {
            json: false,
            layout: Layout::new(n_requirements, n_projects),
            document: 10_000,
            rounds: 15,
            without_peer: false,
            peer: None,
            program: beside,
            folder: None,
        };
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            let mut value =
                || arguments.next().ok_or_else(|| anyhow::anyhow!("{argument}: expected a value"));
            match argument.as_str() {
                "--json" => settings.json = true,
                "--requirements" => n_requirements = value()?.parse()?,
                "--projects" => n_projects = value()?.parse()?,
                "--document" => settings.document = value()?.parse()?,
                "--rounds" => settings.rounds = value()?.parse::<usize>()?.max(1),
                "--without-peer" => settings.without_peer = true,
                "--peer" => settings.peer = Some(value()?.into()),
                "--spexus" => settings.program = value()?.into(),
                "--folder" => settings.folder = Some(value()?.into()),
                _ => anyhow::bail!(
                    "{argument}: expected --json, --requirements N, --projects N, --document N, --rounds N, --without-peer, \
                     --peer PATH, --spexus PATH or --folder PATH"
                ),
            }
        }
        settings.layout = Layout::new(n_requirements, n_projects);
        Ok(settings)
    }
}

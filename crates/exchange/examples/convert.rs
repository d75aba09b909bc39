//! Turns one format into another: `convert json reqif < project.json > project.reqif`.
//!
//! Problems go to stderr. It is how exports are tried with other tools by hand.

use std::io::{self, Read};

use exchange::Format;

fn main() -> io::Result<()> {
    let formats: Vec<Format> = std::env::args().skip(1).filter_map(|name| Format::find(&name)).collect();
    let [from, to] = formats[..] else {
        eprintln!("expected two of json, csv, markdown, reqif");
        std::process::exit(2);
    };
    let mut bytes = Vec::new();
    io::stdin().read_to_end(&mut bytes)?;
    let reading = exchange::read(from, &bytes);
    for problem in reading.problems.iter().chain(&reading.notes) {
        eprintln!("{problem}");
    }
    exchange::write(to, "2026-11-15T08:00:00Z", reading.records.into_iter(), &mut io::stdout().lock())
}

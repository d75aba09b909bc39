//! How long it takes to read large reports and to match them with tests.
//!
//! ```text
//! cargo build --release -p spexus-bench --bin bench-evidence
//! target/release/bench-evidence
//! ```
//!
//! Reports are made in memory, each is read a few times, and the best time is printed beside its aim. It ends with 1 if an aim is missed.

#![expect(clippy::print_stdout, reason = "the table is what it is for")]

use std::fmt::Write as _;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use evidence::{Language, Report, Results, Source, TestPlace, read, symbols};

const N_CASES: usize = 50_000;
const N_LINES: usize = 1_000_000;
const LINES_PER_FILE: usize = 500;
const ROUNDS: usize = 5;
const AIM: Duration = Duration::from_secs(1);

fn main() -> ExitCode {
    println!("| what | size | best of {ROUNDS} | aim |\n|---|---|---|---|");
    let reports = [
        ("JUnit, 50,000 cases", junit()),
        ("jest JSON, 50,000 cases", jest()),
        ("go test -json, 50,000 tests", go()),
        ("LCOV, 1,000,000 lines", lcov()),
        ("Cobertura, 1,000,000 lines", cobertura()),
    ];
    let mut is_missed = false;
    for (name, text) in &reports {
        let time = best(|| drop(parsed(text)));
        is_missed |= row(name, &format!("{:.1} MB", text.len() as f64 / 1e6), time);
    }
    let source = tests();
    let mut found = Vec::new();
    let time = best(|| found = symbols(Language::Python, &source));
    is_missed |=
        row("symbols of a file with 2,000 tests", &format!("{:.1} MB", source.len() as f64 / 1e6), time);
    let place =
        |(at, symbol)| TestPlace { file: format!("tests/test_{at}.py"), symbol, package: None, alias: None };
    let files = N_CASES / found.len();
    let places: Vec<TestPlace> = (0..files)
        .flat_map(|file| found.iter().cloned().map(move |symbol| (file, symbol)))
        .map(place)
        .collect();
    let matching = [parsed(&reports[0].1)];
    let time = best(|| assert!(Results::new(&matching, &places, &[], Some(1)).problems.is_empty()));
    is_missed |= row("matching of 50,000 cases with 50,000 tests", "", time);
    ExitCode::from(u8::from(is_missed))
}

fn row(name: &str, size: &str, time: Duration) -> bool {
    println!("| {name} | {size} | {:.0} ms | {} ms |", time.as_secs_f64() * 1e3, AIM.as_millis());
    time > AIM
}

fn best(mut run: impl FnMut()) -> Duration {
    let time = |_| {
        let begun = Instant::now();
        run();
        begun.elapsed()
    };
    (0..ROUNDS).map(time).min().unwrap_or_default()
}

fn parsed(text: &str) -> Report {
    let source = Source { name: "report", root: "/repository", folder: "" };
    read(&source, text.as_bytes()).unwrap_or_else(|refusal| panic!("{refusal}"))
}

/// One case in a hundred fails, with a message of a usual length.
fn junit() -> String {
    let failure =
        format!("<failure message=\"assert 1 == 2\">{}</failure>", "at line 3 of the test\n".repeat(40));
    let mut text = String::from("<testsuites name=\"pytest tests\"><testsuite name=\"pytest\">");
    for case in 0..N_CASES {
        let (file, test) = (case / 2_000, case % 2_000);
        let inside = if case % 100 == 0 { failure.as_str() } else { "" };
        writeln!(text, "<testcase classname=\"tests.test_{file}\" name=\"test_{test}\" time=\"0.001\">{inside}</testcase>")
            .expect("memory");
    }
    text + "</testsuite></testsuites>"
}

fn jest() -> String {
    let mut text = String::from("{\"wasInterrupted\":false,\"testResults\":[");
    for file in 0..N_CASES / 100 {
        let comma = if file > 0 { "," } else { "" };
        write!(text, "{comma}{{\"name\":\"/repository/src/{file}.test.js\",\"status\":\"passed\",\"message\":\"\",\"assertionResults\":[")
            .expect("memory");
        for case in 0..100 {
            let comma = if case > 0 { "," } else { "" };
            write!(
                text,
                "{comma}{{\"ancestorTitles\":[\"kettle\"],\"title\":\"boils {case}\",\"status\":\"passed\",\"duration\":1,\
                 \"failureMessages\":[],\"invocations\":1,\"location\":{{\"line\":{},\"column\":1}}}}",
                case + 1
            )
            .expect("memory");
        }
        text.push_str("]}");
    }
    text + "]}"
}

fn go() -> String {
    let mut text = String::new();
    for test in 0..N_CASES {
        for event in ["run", "output", "pass"] {
            writeln!(
                text,
                "{{\"Time\":\"2026-11-18T00:53:27.735707824Z\",\"Action\":\"{event}\",\"Package\":\"example.com/a\",\
                 \"Test\":\"Test{test}\",\"Output\":\"--- PASS: Test{test} (0.00s)\\n\",\"Elapsed\":0}}"
            )
            .expect("memory");
        }
    }
    text + "{\"Action\":\"pass\",\"Package\":\"example.com/a\"}\n"
}

fn lcov() -> String {
    let mut text = String::new();
    for file in 0..N_LINES / LINES_PER_FILE {
        writeln!(text, "TN:\nSF:/repository/src/module_{file}.c").expect("memory");
        (1..=LINES_PER_FILE).for_each(|line| writeln!(text, "DA:{line},{}", line % 3).expect("memory"));
        text.push_str("end_of_record\n");
    }
    text
}

fn cobertura() -> String {
    let mut text = String::from(
        "<coverage><sources><source>/repository</source></sources><packages><package><classes>\n",
    );
    for file in 0..N_LINES / LINES_PER_FILE {
        writeln!(text, "<class filename=\"src/module_{file}.c\"><lines>").expect("memory");
        (1..=LINES_PER_FILE).for_each(|line| {
            writeln!(text, "<line number=\"{line}\" hits=\"{}\"/>", line % 3).expect("memory")
        });
        text.push_str("</lines></class>\n");
    }
    text + "</classes></package></packages></coverage>"
}

fn tests() -> String {
    (0..2_000)
        .map(|test| format!("def test_{test}():\n    kettle = boil()\n    assert kettle\n\n\n"))
        .collect()
}

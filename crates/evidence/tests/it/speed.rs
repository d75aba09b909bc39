//! Reading takes time in proportion to the size of a report. `bench-evidence` measures how much.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use evidence::{Form, Language, Report, Results, Source, TestPlace, read, symbols};
use nix::time::{ClockId, clock_gettime};

/// Ten times as much may take so many times as long: linear is 10, quadratic 100.
const RATIO_MAX: f64 = 40.0;
const SMALL: usize = 2_000;

#[test]
fn junit_is_read_in_linear_time() {
    linear(junit, |text| assert!(!parsed(text).cases.is_empty()));
}

#[test]
fn attempts_at_one_test_are_read_in_linear_time() {
    let text = |n: usize| {
        let cases = "<testcase classname=\"a\" name=\"b\"/>\n".repeat(n);
        format!("<testsuites name=\"pytest tests\">\n{cases}</testsuites>")
    };
    linear(text, |text| assert_eq!(parsed(text).cases.len(), 1));
}

#[test]
fn lcov_is_read_in_linear_time() {
    linear(|n| lcov(n / 50, 49), |text| assert!(!parsed(text).coverage.is_empty()));
}

#[test]
fn the_largest_reports_that_are_usual_are_read_within_a_second() {
    for (name, text) in
        [("JUnit of 50,000 cases", junit(50_000)), ("LCOV of 1,000,000 lines", lcov(2_000, 500))]
    {
        let begun = Instant::now();
        let report = parsed(&text);
        let took = begun.elapsed();
        let n_read = report.cases.len() + report.coverage.iter().map(|file| file.lines.len()).sum::<usize>();
        assert!([50_000, 1_000_000].contains(&n_read), "{name}: {n_read}");
        assert!(took < Duration::from_secs(1), "{name}: {took:?}");
    }
}

#[test]
fn lines_of_go_are_read_in_linear_time() {
    let text = |n: usize| {
        let line = |n: usize| format!("{{\"Action\":\"run\",\"Package\":\"a\",\"Test\":\"Test{n}\"}}\n");
        (0..n).map(line).collect::<String>()
    };
    linear(text, |text| assert!(!parsed(text).cases.is_empty()));
}

#[test]
fn cases_are_matched_in_linear_time() {
    let input = |n: usize| {
        let source: String = (0..n).map(|n| format!("def test_{n}():\n    pass\n")).collect();
        let titles: String = (0..n).map(|n| format!("it('test {n}', () => {{}});\n")).collect();
        let place =
            |file: &str, symbol| TestPlace { file: file.to_owned(), symbol, package: None, alias: None };
        let mut places: Vec<TestPlace> = Vec::new();
        places.extend(symbols(Language::Python, &source).into_iter().map(|symbol| place("a.py", symbol)));
        places.extend(symbols(Language::JavaScript, &titles).into_iter().map(|symbol| place("a.js", symbol)));
        let cases: String =
            (0..n).map(|n| format!("<testcase classname=\"a\" name=\"test_{n}\"/>")).collect();
        let titled: String =
            (0..n).map(|n| format!("<testcase classname=\"\" name=\" test {n}\"/>")).collect();
        let reports = [
            parsed(&format!("<testsuites name=\"pytest tests\">{cases}</testsuites>")),
            parsed(&format!("<testsuites name=\"jest tests\">{titled}</testsuites>")),
        ];
        assert_eq!(reports[1].cases[0].name.form, Form::Joined(" "));
        (reports, places)
    };
    linear_over(1_000, input, |(reports, places)| {
        let results = Results::new(reports, places, &[], None);
        assert_eq!(results.problems, []);
        assert!(results.tests.iter().all(|test| test.n_attempts == 1));
    });
}

fn junit(n: usize) -> String {
    let mut text = String::from("<testsuites name=\"pytest tests\"><testsuite name=\"pytest\">\n");
    for case in 0..n {
        writeln!(
            text,
            "<testcase classname=\"tests.test_{}\" name=\"test_{case}[1]\" time=\"0.001\"/>",
            case / 50
        )
        .expect("memory");
    }
    text + "</testsuite></testsuites>"
}

fn lcov(n_files: usize, n_lines: usize) -> String {
    let mut text = String::new();
    for file in 0..n_files {
        write!(text, "TN:{file}\nSF:src/{file}.c\n").expect("memory");
        (1..=n_lines).for_each(|line| writeln!(text, "DA:{line},1").expect("memory"));
        text.push_str("end_of_record\n");
    }
    text
}

fn parsed(text: &str) -> Report {
    read(&Source { name: "report", root: "", folder: "" }, text.as_bytes())
        .unwrap_or_else(|error| panic!("{error}"))
}

fn linear(text: impl Fn(usize) -> String, read: impl Fn(&String)) {
    linear_over(SMALL, text, read);
}

/// Takes the best of a few times of this thread alone, because other tests run beside it.
fn linear_over<T>(small: usize, input: impl Fn(usize) -> T, run: impl Fn(&T)) {
    let best = |n: usize| {
        let input = input(n);
        let time = |_| {
            let begun = own_time();
            run(&input);
            own_time() - begun
        };
        (0..3).map(time).min().expect("some times")
    };
    let (few, many) = (best(small).max(Duration::from_millis(1)), best(10 * small));
    let ratio = many.as_secs_f64() / few.as_secs_f64();
    assert!(ratio < RATIO_MAX, "{few:?} for {small}, {many:?} for ten times as many");
}

fn own_time() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).expect("a clock of each thread").into()
}

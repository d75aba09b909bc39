//! Measures the speed. `cargo test --release -p words -- --ignored --nocapture`

use std::hint::black_box;
use std::time::{Duration, Instant};

use words::{Query, Terms, score, snippet, terms};

const ENGLISH: &str = "The system MUST store every requirement with its history, and createEpic answers within 50 ms. \
                       Users who are not allowed to read REQ-012 receive an error instead of its description. ";
const RUSSIAN: &str = "Система должна хранить все требования вместе с историей изменений, а пользователи без прав \
                       получают сообщение об ошибке вместо описания требования REQ-012. ";

#[test]
#[ignore = "prints times, which mean something in a release build only"]
fn times() {
    for (language, sentence) in [("English", ENGLISH), ("Russian", RUSSIAN)] {
        let text: String = (0..).map(|i| format!("{sentence}{i}abc ")).take(1_000).collect();
        let text: String = text.chars().take(50_000).collect();
        print(&format!("terms of 50,000 characters, {language}"), || terms("Title", &text));
        let query = Query::parse("пользователи user требования requirement").unwrap();
        print(&format!("snippet of 50,000 characters, {language}"), || snippet(&query, &text, 200));
    }
    let documents: Vec<Terms> = (0..500)
        .map(|i| {
            terms(&format!("REQ-{i} The history of users"), &format!("{i} {}", ENGLISH.repeat(3 + i % 4)))
        })
        .collect();
    let n_bytes: usize = documents.iter().map(|document| document.body.len()).sum();
    let query = Query::parse("\"every requirement\" users history descr").unwrap();
    print(&format!("score of 500 documents of {} bytes", n_bytes / 500), || {
        documents.iter().map(|Terms { title, body }| score(&query, title, body)).sum::<f32>()
    });
    print("parse of a query", || Query::parse("\"every requirement\" users history descr"));
}

/// Prints the best of some runs.
fn print<T>(what: &str, run: impl Fn() -> T) {
    let time = |_| {
        let start = Instant::now();
        black_box(run());
        start.elapsed()
    };
    let best = (0..20).map(time).min().unwrap_or(Duration::ZERO);
    eprintln!("{what}: {best:?}");
}

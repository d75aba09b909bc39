//! What was written reads back, whatever the texts hold; what was not written by us breaks nothing.

use std::cell::Cell;
use std::collections::HashSet;
use std::io;
use std::rc::Rc;

use exchange::{Form, Format, Kind, Record, read, write};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::{TIME, written};

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn records_read_back_as_they_were(records in vec(record(), 0..6).prop_map(distinct)) {
        for format in Format::ALL {
            let bytes = written(format, records.clone());
            let reading = read(format, &bytes);
            let text = String::from_utf8_lossy(&bytes);
            // Nothing to read is a mistake in a file that a person made.
            if !records.is_empty() {
                prop_assert_eq!(&reading.problems, &[], "{:?} {}", format, text);
            }
            prop_assert_eq!(&reading.notes, &[], "{:?} {}", format, text);
            let mut expected = records.clone();
            if format == Format::Reqif {
                expected.sort_by_key(|record| record.kind == Kind::Relationship);
            }
            prop_assert_eq!(reading.records, expected, "{:?} {}", format, text);
        }
    }

    #[test]
    fn no_cell_of_a_spreadsheet_begins_a_formula(records in vec(record(), 1..4)) {
        let bytes = written(Format::Csv, records);
        let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(&bytes[..]);
        for row in reader.records() {
            for cell in &row.expect("text") {
                let is_number = cell.parse::<i64>().is_ok();
                prop_assert!(is_number || !cell.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']), "{cell:?}");
            }
        }
    }

    #[test]
    fn any_bytes_are_survived(bytes in vec(any::<u8>(), 0..200)) {
        for format in Format::ALL {
            read(format, &bytes);
        }
    }

    /// Damage that leaves most of a file in order gets further into the readers than noise does.
    #[test]
    fn damaged_files_are_survived(
        records in vec(record(), 1..4),
        damage in vec((any::<Index>(), 0..40_usize, piece()), 1..6),
    ) {
        for format in Format::ALL {
            let mut bytes = written(format, records.clone());
            for (start, length, piece) in &damage {
                let start = start.index(bytes.len() + 1);
                let end = (start + length).min(bytes.len());
                bytes.splice(start..end, piece.bytes());
            }
            for problem in read(format, &bytes).problems {
                prop_assert!(!problem.to_string().is_empty());
            }
        }
    }
}

#[test]
fn cells_say_that_they_are_no_formulas() {
    for (title, cell) in [
        ("=1", "'=1"),
        ("- a list", "'- a list"),
        ("", "'"),
        ("'", "''"),
        ("'tis", "'tis"),
        ("'=1", "''=1"),
        ("a list:\n- one", "a list:\n- one"),
        // Where a spreadsheet was told another separator, a cell may begin here.
        ("text\n=HYPERLINK(A1)", "text\n'=HYPERLINK(A1)"),
        ("text;@SUM(A1)", "text;'@SUM(A1)"),
        ("text;+cmd|' /C calc'!A0", "text;'+cmd|' /C calc'!A0"),
    ] {
        let bytes = written(Format::Csv, vec![Record::new(Kind::Epic).with("title", title)]);
        let mut reader = csv::Reader::from_reader(&bytes[..]);
        let index = reader.headers().expect("text").iter().position(|name| name == "title").expect("titles");
        let row = reader.records().next().expect("a row").expect("text");
        assert_eq!(&row[index], cell);
        assert_eq!(read(Format::Csv, &bytes).records[0].text("title"), Some(title));
    }
}

#[test]
fn a_long_text_reads_back() {
    let text = format!(" {} \u{1}\n---\nkind: epic\n", "Ещё слово, and \"another\".\n".repeat(2_000));
    for description in [text.trim(), &text] {
        let record = Record::new(Kind::Epic).with("title", "Long").with("description", description);
        for format in Format::ALL {
            let reading = read(format, &written(format, vec![record.clone()]));
            assert_eq!(reading.problems, [], "{format:?}");
            assert_eq!(reading.records, std::slice::from_ref(&record), "{format:?}");
        }
    }
}

#[test]
fn records_leave_as_they_come() {
    const N_RECORDS: usize = 20_000;
    const BUFFER_MAX_BYTES: usize = 64 * 1024;
    for format in Format::ALL {
        let n_bytes = Rc::new(Cell::new(0));
        let written_so_far = Rc::clone(&n_bytes);
        let records = (0..N_RECORDS).map(|index| {
            assert!(written_so_far.get() + BUFFER_MAX_BYTES > index * 100, "{format:?} gathers records");
            Record::new(Kind::Epic).with("title", "x".repeat(100))
        });
        write(format, TIME, records, &mut Counter(n_bytes)).expect("counting cannot go wrong");
    }
}

struct Counter(Rc<Cell<usize>>);

impl io::Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.set(self.0.get() + bytes.len());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A store has no two things of one name, and ReqIF could not tell them apart.
fn distinct(mut records: Vec<Record>) -> Vec<Record> {
    let mut seen = HashSet::new();
    records.retain(|record| {
        let reference = record.text("reference_id").map(|reference| (None, reference.to_owned()));
        let id = || record.text("id").map(|id| (Some(record.kind), id.to_owned()));
        reference.or_else(id).is_none_or(|name| seen.insert(name))
    });
    records
}

fn record() -> impl Strategy<Value = Record> {
    let kinds: Vec<Kind> = Kind::all().collect();
    (select(kinds), vec((any::<bool>(), text(), any::<i64>(), any::<bool>()), 20)).prop_map(
        |(kind, values)| {
            let mut record = Record::new(kind);
            for (shape, (is_there, text, number, flag)) in kind.shape().fields().zip(values) {
                match shape.form {
                    _ if !is_there && !shape.required => {}
                    Form::Number => record.set(shape.name, Some(number)),
                    Form::Flag => record.set(shape.name, Some(flag)),
                    Form::Title | Form::Text | Form::Prose => record.set(shape.name, Some(text)),
                }
            }
            record
        },
    )
}

/// Texts made of whatever formats are built from.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => vec(piece(), 0..8).prop_map(|pieces| pieces.concat()),
        1 => "[^\\x00]{0,20}",
        1 => "(EP|US|REQ)-[0-9]{3}",
    ]
}

fn piece() -> impl Strategy<Value = String> {
    let pieces = [
        "\n",
        "\r",
        "\r\n",
        "\n\n",
        " ",
        "\t",
        ",",
        ";",
        "\"",
        "'",
        "''",
        "\\",
        "|",
        "=",
        "+",
        "-",
        "@",
        "=cmd()",
        "\n=cmd|'/C calc'!A0",
        "---",
        "\n---\n",
        "---\nkind: epic\n",
        "\\---\ntitle: x\n",
        "kind: epic",
        "# ",
        "#",
        "key: value",
        ": ",
        " #",
        "- ",
        "~",
        "null",
        "true",
        "yes",
        "1",
        "007",
        "1e5",
        "0x1F",
        "&amp;",
        "&",
        "<",
        ">",
        "]]>",
        "<!--",
        "</xhtml:div>",
        "&#10;",
        "␛",
        "␛1;",
        "␛241b;",
        "\u{1}",
        "\u{7f}",
        "\u{85}",
        "\u{b}",
        "\u{2028}",
        "\u{feff}",
        "\u{fffe}",
        "\u{ffff}",
        "\u{a0}",
        "\u{200b}",
        "_2e_",
        "__",
        "{",
        "}",
        "[",
        "]",
        "*a",
        "&a",
        "!!int",
        "%",
        "`",
        "?",
        "слово",
        "e\u{301}",
        "👩‍👩‍👧",
        "word",
        "a",
        "EP-001",
        "$",
        "${x}",
    ];
    select(pieces.map(str::to_owned).to_vec())
}

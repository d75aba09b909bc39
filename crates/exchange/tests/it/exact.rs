//! What was written reads back, whatever the texts hold; what was not written by us breaks nothing.

use std::cell::Cell;
use std::collections::HashSet;
use std::io::{self, Read as _};
use std::rc::Rc;

use exchange::{Form, Format, Record, RecordKind, read, read_each, write};
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
                expected.sort_by_key(|record| record.kind == RecordKind::Relationship);
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

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// A file arrives in pieces, and large ones are never in memory as a whole.
    #[test]
    fn files_read_in_pieces_as_they_do_whole(
        records in vec(record(), 0..4),
        damage in vec((any::<Index>(), 0..40_usize, damaging()), 0..3),
        sizes in vec(1..30_usize, 1..10),
    ) {
        for format in Format::ALL {
            let mut bytes = written(format, records.clone());
            for (start, length, piece) in &damage {
                let start = start.index(bytes.len() + 1);
                let end = (start + length).min(bytes.len());
                bytes.splice(start..end, piece.iter().copied());
            }
            let whole = read(format, &bytes);
            let (mut sound, mut unsound) = (Vec::new(), Vec::new());
            let mut pieces = Pieces { bytes: &bytes, sizes: sizes.iter().copied().cycle() };
            let reading = read_each(format, &mut pieces, &mut |record, is_sound| {
                if is_sound { &mut sound } else { &mut unsound }.push(record);
                Ok(())
            });
            let reading = reading.expect("memory can be read");
            let text = String::from_utf8_lossy(&bytes);
            let places = |records: &[Record]| records.iter().map(|record| record.place.clone()).collect::<Vec<_>>();
            prop_assert_eq!(places(&sound), places(&whole.records), "{:?} {}", format, text);
            prop_assert_eq!(sound, whole.records, "{:?} {}", format, text);
            prop_assert_eq!(unsound, whole.unsound, "{:?} {}", format, text);
            prop_assert_eq!(reading.problems, whole.problems, "{:?} {}", format, text);
            prop_assert_eq!(reading.notes, whole.notes);
            prop_assert_eq!((reading.is_incomplete, reading.lost), (whole.is_incomplete, whole.lost));
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
        let bytes = written(Format::Csv, vec![Record::new(RecordKind::Epic).with("title", title)]);
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
        let record = Record::new(RecordKind::Epic).with("title", "Long").with("description", description);
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
            Record::new(RecordKind::Epic).with("title", "x".repeat(100))
        });
        write(format, TIME, records, &mut Counter(n_bytes)).expect("counting cannot go wrong");
    }
}

#[test]
fn records_arrive_as_they_are_read() {
    const N_RECORDS: usize = 20_000;
    const BUFFER_MAX_BYTES: usize = 1 << 20;
    for format in [Format::Json, Format::Csv] {
        let records = vec![Record::new(RecordKind::Epic).with("title", "x".repeat(200)); N_RECORDS];
        let bytes = written(format, records);
        let n_read = Cell::new(0);
        let mut n_records = 0;
        let mut each = |_: Record, is_sound: bool| {
            assert!(is_sound);
            n_records += 1;
            let n_needed = n_records * bytes.len() / N_RECORDS;
            assert!(n_read.get() < n_needed + 2 * BUFFER_MAX_BYTES, "{format:?} gathers records");
            Ok(())
        };
        let reading = read_each(format, &mut Counted { bytes: &bytes, n_read: &n_read }, &mut each);
        assert_eq!((reading.expect("memory can be read").problems, n_records), (Vec::new(), N_RECORDS));
    }
}

#[test]
fn a_record_that_never_ends_is_not_gathered() {
    for (format, beginning, expected) in [
        (
            Format::Csv,
            "kind,title\nepic,One\nepic,\"",
            "row 3 (line 3): a quote (\") opens here or later and is never closed",
        ),
        (
            Format::Json,
            "[{\"kind\": \"epic\", \"title\": \"One\"},\n\"",
            "line 2: expected records of at most 8 MiB, found more",
        ),
    ] {
        let n_read = Cell::new(0);
        let mut file = beginning.as_bytes().chain(Endless(&n_read));
        let mut n_records = 0;
        let reading = read_each(format, &mut file, &mut |_, _| {
            n_records += 1;
            Ok(())
        });
        let reading = reading.expect("memory can be read");
        let told: Vec<String> = reading.problems.iter().map(ToString::to_string).collect();
        assert_eq!((n_records, told), (1, vec![expected.to_owned()]), "{format:?}");
        assert!(n_read.get() < 10 << 20, "{} bytes", n_read.get());
    }
}

#[test]
fn where_a_record_cannot_go_reading_ends() {
    let records = vec![Record::new(RecordKind::Epic).with("title", "One"); 3];
    for format in Format::ALL {
        let mut n_records = 0;
        let failed = read_each(format, &mut &*written(format, records.clone()), &mut |_, _| {
            n_records += 1;
            Err(io::ErrorKind::StorageFull.into())
        });
        assert_eq!(
            (failed.map_err(|error| error.kind()).err(), n_records),
            (Some(io::ErrorKind::StorageFull), 1)
        );
    }
}

/// Hands out bytes in pieces of some sizes.
struct Pieces<'a, S> {
    bytes: &'a [u8],
    sizes: S,
}

impl<S: Iterator<Item = usize>> io::Read for Pieces<'_, S> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let n_bytes = self.sizes.next().expect("sizes go on").min(out.len());
        self.bytes.read(&mut out[..n_bytes])
    }
}

struct Counted<'a> {
    bytes: &'a [u8],
    n_read: &'a Cell<usize>,
}

impl io::Read for Counted<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let n_read = self.bytes.read(out)?;
        self.n_read.set(self.n_read.get() + n_read);
        Ok(n_read)
    }
}

struct Endless<'a>(&'a Cell<usize>);

impl io::Read for Endless<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        out.fill(b'x');
        self.0.set(self.0.get() + out.len());
        Ok(out.len())
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
    let kinds: Vec<RecordKind> = RecordKind::all().collect();
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

/// What makes a file worse: also bytes that are not UTF-8.
fn damaging() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![4 => piece().prop_map(String::into_bytes), 1 => vec(any::<u8>(), 1..3)]
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

//! Migration files: one dialect for both engines, split into parts that run one after the other.
//!
//! Marker lines: between `-- sqlite` or `-- postgres` and `-- both` are lines for one engine. After `-- concurrently` come
//! indexes, each of which is a separate part; `-- transaction` ends them. `{sequence}` is a number that the engine
//! increments. Text compares byte by byte on both engines.

/// A part, which is run at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Statements that share a transaction, which must be a short one.
    Transaction(String),
    /// An index on a table that may be large: PostgreSQL builds it while others write.
    Index { name: String, table: String, sql: String },
}

/// The parts of a migration on one of the engines.
pub(super) fn parts(sql: &str, postgres: bool) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut text = String::new();
    let (mut is_wanted, mut is_concurrent) = (true, false);
    for line in sql.lines() {
        match line.trim() {
            "-- sqlite" => is_wanted = !postgres,
            "-- postgres" => is_wanted = postgres,
            "-- both" => is_wanted = true,
            marker @ ("-- concurrently" | "-- transaction") => {
                finish(&mut parts, &mut text, is_concurrent, postgres);
                is_concurrent = marker == "-- concurrently";
            }
            _ if is_wanted => {
                text.push_str(line);
                text.push('\n');
            }
            _ => {}
        }
    }
    finish(&mut parts, &mut text, is_concurrent, postgres);
    parts
}

fn finish(parts: &mut Vec<Part>, text: &mut String, is_concurrent: bool, postgres: bool) {
    let text = in_dialect(&std::mem::take(text), postgres);
    let is_comment = |line: &&str| line.trim_start().starts_with("--");
    let bare: String = text.lines().filter(|line| !is_comment(line)).flat_map(|line| [line, "\n"]).collect();
    if !is_concurrent {
        if !bare.trim().is_empty() {
            parts.push(Part::Transaction(text));
        }
        return;
    }
    parts.extend(bare.split(';').map(str::trim).filter(|sql| !sql.is_empty()).map(index));
}

/// `create [unique] index NAME on TABLE …`
fn index(sql: &str) -> Part {
    let words = sql.split(|char: char| char.is_whitespace() || char == '(').filter(|word| !word.is_empty());
    let mut words = words.skip_while(|word| *word != "index").skip(1).map(str::to_owned);
    let name = words.next().unwrap_or_default();
    let table = words.nth(1).unwrap_or_default();
    Part::Index { name, table, sql: sql.to_owned() }
}

/// How PostgreSQL builds an index without blocking writers. The statement is not allowed in a transaction.
pub(super) fn concurrently(sql: &str) -> String {
    sql.replacen(" index ", " index concurrently if not exists ", 1)
}

fn in_dialect(sql: &str, postgres: bool) -> String {
    if postgres {
        let sequence = "bigint generated always as identity primary key";
        sql.replace(" text", " text collate \"C\"").replace("{sequence}", sequence)
    } else {
        sql.replace("{sequence}", "integer primary key autoincrement")
    }
}

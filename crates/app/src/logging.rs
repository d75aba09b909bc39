//! The logging set-up: `tracing`, to stderr only, because stdout carries protocol messages.
//!
//! A line of text is `[ERROR] [req_id=3] what happened key=value`. Hosts add the time themselves;
//! without a host the line starts with the time. With `LOG_FORMAT=json` it is an object with a time.

use std::{
    backtrace::Backtrace,
    borrow::Cow,
    fmt::{self, Write as _},
    io::{self, Write},
    panic::PanicHookInfo,
    sync::{
        LazyLock, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use serde_json::{Map, Value, json};
use tracing::{
    Event, Subscriber,
    field::{Field, Visit},
    level_filters::LevelFilter,
};
use tracing_subscriber::{
    fmt::{
        FmtContext, FormatEvent, FormatFields,
        format::Writer,
        time::{FormatTime, SystemTime},
    },
    registry::LookupSpan,
};

use crate::{
    outbox::Outbox,
    settings::{FromSetting, Settings},
};

/// How long to wait at the end for a host that does not read our stderr.
const LAST_LINES_TIME: Duration = Duration::from_millis(500);

/// How long lines may be collected, so that not each of them wakes a thread.
const BETWEEN_WRITES: Duration = Duration::from_millis(5);

/// How many lines were lost since the last written one.
static N_LOST: AtomicU64 = AtomicU64::new(0);

/// Lines wait here for a thread that writes them. A host that does not read our stderr, or has
/// closed it, must not block us: then lines are lost.
static LINES: LazyLock<Outbox> = LazyLock::new(|| Outbox::new(io::stderr()));

/// A secret that must not be in any line.
static SECRET: OnceLock<String> = OnceLock::new();

/// The prefix of all our tokens.
const TOKEN_PREFIX: &str = "mcp_pat_";

/// The format of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// For people.
    Text,
    /// For programs.
    Json,
}

/// Starts logging under a host, with `LOG_LEVEL` and `LOG_FORMAT`.
pub fn start(settings: &mut Settings) {
    begin(settings, LevelFilter::INFO, false);
}

/// Starts logging of a program without a host.
pub fn start_with_time(settings: &mut Settings, level: LevelFilter) {
    begin(settings, level, true);
}

fn begin(settings: &mut Settings, level: LevelFilter, has_time: bool) {
    let level: LevelFilter = settings.value("LOG_LEVEL", level);
    let format = settings.value("LOG_FORMAT", Format::Text);
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(|| LogWriter)
        .event_format(Lines { format, has_time })
        .finish();
    // Without a thread nothing is written until the end; this is not a reason to stop.
    let _ = thread::Builder::new().spawn(|| LINES.write_with_pauses(BETWEEN_WRITES));
    // A second start in one process, as in tests, keeps the first.
    let _ = tracing::subscriber::set_global_default(subscriber);
    std::panic::set_hook(Box::new(|panic| log_panic(panic, Backtrace::force_capture())));
}

/// Logs a panic with the request that the thread works on, or with the name of the thread.
fn log_panic(panic: &PanicHookInfo<'_>, backtrace: Backtrace) {
    match ops::Running::now().as_deref() {
        Some(ops::Running { request_id: req_id, user, operation }) => {
            tracing::error!(req_id, user, %operation, "{panic}\n{backtrace}");
        }
        None => {
            let thread = thread::current();
            tracing::error!(thread = thread.name().unwrap_or("-"), "{panic}\n{backtrace}");
        }
    }
}

/// Removes a secret from all lines from now on. Our own tokens are always removed.
pub fn hide(secret: &str) {
    let _ = SECRET.set(secret.to_owned());
}

/// Removes secrets from a text: the registered one, and everything like one of our tokens.
//@= spexus://REQ-141
//@# 002 R13.3: the log has no tokens
pub fn without_secrets(text: &str) -> Cow<'_, str> {
    let hidden = SECRET.get().filter(|secret| text.contains(secret.as_str()));
    if hidden.is_none() && !text.contains(TOKEN_PREFIX) {
        return Cow::Borrowed(text);
    }
    let text = hidden.map_or(Cow::Borrowed(text), |secret| text.replace(secret, "[redacted]").into());
    let mut parts = text.split(TOKEN_PREFIX);
    let mut clean = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        clean += TOKEN_PREFIX;
        let rest =
            part.trim_start_matches(|letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter));
        // A bare prefix is not a token.
        if rest.len() < part.len() {
            clean += "[redacted]";
        }
        clean += rest;
    }
    Cow::Owned(clean)
}

/// Waits a moment for the last lines to be written. Otherwise they would be lost with the process.
pub fn finish() {
    LINES.finish(LAST_LINES_TIME);
}

struct LogWriter;

impl Write for LogWriter {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(line);
        let clean = without_secrets(&text);
        let n_lost = N_LOST.swap(0, Ordering::Relaxed);
        let mut has_room = true;
        if n_lost > 0 {
            has_room = LINES.push_if_room(format!("[WARN] {n_lost} log lines were lost").as_bytes());
        }
        if !has_room || !LINES.push_if_room(clean.strip_suffix('\n').unwrap_or(&clean).as_bytes()) {
            N_LOST.fetch_add(n_lost + 1, Ordering::Relaxed);
        }
        LINES.ask();
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl FromSetting for LevelFilter {
    const EXPECTED: &str = "one of off, error, warn, info, debug, trace";

    fn from_setting(text: &str) -> Option<Self> {
        match text.to_ascii_lowercase().as_str() {
            "off" => Some(Self::OFF),
            "error" => Some(Self::ERROR),
            "warn" | "warning" => Some(Self::WARN),
            "info" => Some(Self::INFO),
            "debug" => Some(Self::DEBUG),
            "trace" => Some(Self::TRACE),
            _ => None,
        }
    }
}

impl FromSetting for Format {
    const EXPECTED: &str = "text or json";

    fn from_setting(text: &str) -> Option<Self> {
        match text {
            "text" => Some(Self::Text),
            "json" => Some(Self::Json),
            _ => None,
        }
    }
}

struct Lines {
    format: Format,
    has_time: bool,
}

impl<S, N> FormatEvent<S, N> for Lines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        _context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let level = event.metadata().level().as_str();
        match self.format {
            Format::Text => {
                let mut fields = TextFields::default();
                event.record(&mut fields);
                if self.has_time {
                    SystemTime.format_time(&mut writer)?;
                    writer.write_char(' ')?;
                }
                for part in ["[", level, "]", &fields.id, " ", &fields.message, &fields.others, "\n"] {
                    writer.write_str(part)?;
                }
                Ok(())
            }
            Format::Json => {
                let mut fields = JsonFields::default();
                event.record(&mut fields);
                let mut time = String::new();
                SystemTime.format_time(&mut Writer::new(&mut time))?;
                let mut line = Map::new();
                line.insert("time".into(), json!(time));
                line.insert("level".into(), json!(level));
                line.insert("message".into(), json!(fields.message));
                line.append(&mut fields.others);
                writeln!(writer, "{}", Value::Object(line))
            }
        }
    }
}

/// Escapes a client's text, which must not look like a line of ours, or move the cursor.
struct Tamed<'a>(&'a mut String);

impl fmt::Write for Tamed<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
            self.0.push_str(text);
            return Ok(());
        }
        for character in text.chars() {
            match character {
                '\n' => self.0.push_str("\n    "),
                character if !mcp::is_plain(character) => self.0.push('\u{fffd}'),
                character => self.0.push(character),
            }
        }
        Ok(())
    }
}

/// The parts of a line of text. It is written for every request, so it is built in one pass.
#[derive(Default)]
struct TextFields {
    id: String,
    message: String,
    others: String,
}

impl TextFields {
    /// Adds a field, whose value is written by `write`.
    fn add(&mut self, field: &Field, write: impl FnOnce(&mut Tamed<'_>) -> fmt::Result) {
        let (text, before, after) = match field.name() {
            "message" => (&mut self.message, [""; 3], ""),
            "req_id" => (&mut self.id, [" [", "req_id", "="], "]"),
            name => (&mut self.others, [" ", name, "="], ""),
        };
        before.iter().for_each(|part| text.push_str(part));
        // Writing into a string does not fail.
        let _ = write(&mut Tamed(text));
        text.push_str(after);
    }
}

impl Visit for TextFields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field, |text| text.write_str(value));
    }

    /// Times to the microsecond, and whatever else is measured likewise.
    fn record_f64(&mut self, field: &Field, value: f64) {
        // Thousandths as a whole number: written exactly, a fraction takes longer than the rest of the line.
        let thousandths = (value.abs() * 1_000.0).round();
        if thousandths < 1e15 {
            let (sign, thousandths) = (if value < 0.0 { "-" } else { "" }, thousandths as u64);
            return self
                .add(field, |text| write!(text, "{sign}{}.{:03}", thousandths / 1_000, thousandths % 1_000));
        }
        self.add(field, |text| write!(text, "{value:.3}"));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.add(field, |text| write!(text, "{value:?}"));
    }
}

#[derive(Default)]
struct JsonFields {
    message: String,
    others: Map<String, Value>,
}

impl Visit for JsonFields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.others.insert(field.name().into(), json!(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.others.insert(field.name().into(), json!(value));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.others.insert(field.name().into(), json!(value));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.others.insert(field.name().into(), json!(value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.others.insert(field.name().into(), json!(value));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let text = format!("{value:?}");
        match field.name() {
            "message" => self.message = text,
            name => {
                self.others.insert(name.into(), json!(text));
            }
        }
    }
}

#[cfg(test)]
pub mod tests {
    //! What is logged is seen as it would be written.

    use std::backtrace::Backtrace;
    use std::sync::{Arc, Mutex, PoisonError};
    use std::{io, panic, thread};

    use super::{Format, Lines, log_panic, without_secrets};

    /// A process has one panic hook, so tests replace it one at a time.
    static HOOK: Mutex<()> = Mutex::new(());

    /// Runs something that panics, and returns what this thread logs meanwhile.
    pub fn logged<T>(work: impl FnOnce() -> T) -> (T, String) {
        let _hook = HOOK.lock().unwrap_or_else(PoisonError::into_inner);
        let log = Arc::new(Mutex::new(Vec::new()));
        let writer = log.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_writer(move || Buffer(writer.clone()))
            .event_format(Lines { format: Format::Text, has_time: false })
            .finish();
        // Other tests run beside this one, and theirs is the usual hook.
        let (here, usual) = (thread::current().id(), panic::take_hook());
        panic::set_hook(Box::new(move |panic| match thread::current().id() == here {
            true => log_panic(panic, Backtrace::disabled()),
            false => usual(panic),
        }));
        let result = tracing::subscriber::with_default(subscriber, work);
        let lines = String::from_utf8(log.lock().expect("no panic").clone()).expect("text");
        (result, lines)
    }

    struct Buffer(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Buffer {
        fn write(&mut self, line: &[u8]) -> io::Result<usize> {
            self.0.lock().expect("no panic").write(line)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_panic_outside_of_requests_names_its_thread() {
        let thread = thread::Builder::new().name("follower".to_owned());
        let run = || logged(|| panic::catch_unwind(|| panic!("out of cheese")).is_err());
        let (has_panicked, log) =
            thread.spawn(run).expect("a thread").join().expect("what panicked was caught");
        assert!(has_panicked);
        assert!(log.starts_with("[ERROR] panicked at "), "{log}");
        assert!(log.trim_end().ends_with("thread=follower"), "{log}");
    }

    //@= spexus://REQ-141
    //@= type=test
    //@# 002 R13.3: the log has no tokens
    #[test]
    fn tokens_are_taken_out_of_lines() {
        for (line, expected) in [
            ("nothing to hide", "nothing to hide"),
            ("Bearer mcp_pat_Ab-_9 and more", "Bearer mcp_pat_[redacted] and more"),
            ("\"mcp_pat_a\",\"mcp_pat_b\"", "\"mcp_pat_[redacted]\",\"mcp_pat_[redacted]\""),
            // This only says how a token begins.
            ("expected mcp_pat_ and 43 characters", "expected mcp_pat_ and 43 characters"),
        ] {
            assert_eq!(without_secrets(line), expected, "[002 R13.3]");
        }
    }
}

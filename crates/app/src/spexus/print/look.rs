//! How answers look where they are printed: the width of the terminal, and whether it shows colours.

use std::io::IsTerminal as _;

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};

/// What is known of the place where an answer is printed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Look {
    /// The width of the terminal; none in a pipe, where nothing is cut to fit: whoever reads it may want all.
    pub width: Option<usize>,
    /// Whether colours are shown.
    pub is_colored: bool,
}

/// What is most important on a page.
pub const HEADING: Style = Style::new().bold();
/// What is less important.
pub const FAINT: Style = Style::new().dimmed();
/// What was removed.
pub const REMOVED: Style = AnsiColor::Red.on_default().strikethrough();
/// What was added.
pub const ADDED: Style = AnsiColor::Green.on_default();
/// What needs attention.
pub const WARNING: Style = AnsiColor::Yellow.on_default();

impl Look {
    /// That of stdout.
    pub fn of_stdout() -> Look {
        let is_colored = AutoStream::choice(&std::io::stdout()) != ColorChoice::Never;
        Look { width: Look::terminal().map(|(width, _)| width), is_colored }
    }

    /// The width and the height of the terminal that stdout is, if it is one.
    pub fn terminal() -> Option<(usize, usize)> {
        let size = std::io::stdout().is_terminal().then(terminal_size::terminal_size).flatten();
        size.map(|(width, height)| (usize::from(width.0), usize::from(height.0)))
    }

    /// A text in a style, where colours are shown. What people typed must not move the cursor of who reads it.
    pub fn styled(self, style: Style, text: &str) -> String {
        let text = harmless(text);
        if self.is_colored && !text.is_empty() { format!("{style}{text}{style:#}") } else { text }
    }
}

/// A time to the minute, which is enough to read: `2026-11-19 21:33 UTC`.
pub fn minute(time: &str) -> String {
    match (time.get(..10), time.get(11..16)) {
        (Some(day), Some(minute)) if time.ends_with('Z') => format!("{day} {minute} UTC"),
        _ => time.to_owned(),
    }
}

/// A text without the characters that a terminal would obey.
pub fn harmless(text: &str) -> String {
    text.chars().filter(|c| *c == '\n' || !c.is_control()).collect()
}

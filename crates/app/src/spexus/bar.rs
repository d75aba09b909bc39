//! A line on stderr that tells how far long work has come, where somebody watches.

use std::io::{IsTerminal, Write as _};
use std::time::{Duration, Instant};

/// What is done sooner needs no line.
const WAIT: Duration = Duration::from_millis(300);
/// How often the line is drawn anew.
const DRAW_EVERY: Duration = Duration::from_millis(100);

/// The line. Nothing is drawn where stderr is a pipe.
pub struct Bar {
    is_watched: bool,
    next: Instant,
    is_drawn: bool,
}

impl Bar {
    /// A line for work that begins now.
    pub fn new() -> Bar {
        let is_watched = std::io::stderr().is_terminal();
        Bar { is_watched, next: Instant::now() + WAIT, is_drawn: false }
    }

    /// Tells how much is done, of how much where that is known.
    pub fn draw(&mut self, what: &str, done: u64, total: Option<u64>) {
        let now = Instant::now();
        if !self.is_watched || now < self.next {
            return;
        }
        (self.next, self.is_drawn) = (now + DRAW_EVERY, true);
        let text = match total {
            Some(total) => format!("{} %", done * 100 / total.max(1)),
            None => done.to_string(),
        };
        // Whatever was longer before is wiped away.
        let _ = write!(std::io::stderr(), "\r{what}: {text}\x1b[K");
        let _ = std::io::stderr().flush();
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if self.is_drawn {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

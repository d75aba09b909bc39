//! Sentences as protocol specifications have them, from a seed: the same seed always says the same.

use std::fmt::Write;

/// A stream of numbers that looks random (SplitMix64). A crate for it could change its numbers with its version, and
/// the projects measured would no longer be the same.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % end as u64) as usize
    }

    /// Returns a number between both, either included.
    pub fn between(&mut self, least: usize, most: usize) -> usize {
        least + self.below(most - least + 1)
    }

    pub fn percent(&mut self, chance: usize) -> bool {
        self.below(100) < chance
    }

    pub fn pick<'a, T: ?Sized>(&mut self, choices: &[&'a T]) -> &'a T {
        choices[self.below(choices.len())]
    }

    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

pub struct Sentence {
    pub text: String,
    pub is_requirement: bool,
}

impl Sentence {
    pub fn new(random: &mut Random, requirements_percent: usize) -> Sentence {
        let is_requirement = random.percent(requirements_percent);
        let text = if is_requirement { requirement(random) } else { explanation(random) };
        Sentence { text, is_requirement }
    }
}

fn requirement(random: &mut Random) -> String {
    let (subject, keyword) = (random.pick(SUBJECTS), random.pick(KEYWORDS));
    let (action, object) = (random.pick(ACTIONS), object(random));
    format!("{subject} {keyword} {action} {object}{}.", random.pick(CIRCUMSTANCES))
}

fn explanation(random: &mut Random) -> String {
    let (subject, other) = (random.pick(SUBJECTS), random.pick(SUBJECTS).to_lowercase());
    let (action, object) = (random.pick(ACTIONS), object(random));
    let circumstance = random.pick(CIRCUMSTANCES);
    match random.below(4) {
        0 => format!("{subject} that wants to {action} {object} has no other way to do so{circumstance}."),
        1 => format!("This gives {other} the time to {action} {object}{circumstance}."),
        2 => format!("In practice, {other} is seen to {action} {object}{circumstance}."),
        _ => format!("{subject} and {other} often {action} {object}{circumstance}."),
    }
}

/// Returns a thing with so much detail that hardly any sentence comes twice.
fn object(random: &mut Random) -> String {
    let (quality, thing) = (random.pick(QUALITIES), random.pick(THINGS));
    let number = random.between(2, 60_000);
    let mut object = format!("{} {quality} {thing} ", random.pick(&["the", "each", "any"]));
    let _ = match random.below(7) {
        0 => write!(object, "of more than {number} octets"),
        1 => write!(object, "whose counter exceeds {number}"),
        2 => write!(object, "within {number} milliseconds"),
        3 => write!(object, "that belongs to stream {number}"),
        4 => write!(object, "of type 0x{number:04x}"),
        5 => write!(object, "at most {number} times"),
        // A full stop that does not end the sentence.
        _ => write!(object, "{number} as Section {}.{} explains it", number % 7 + 1, number % 4 + 1),
    };
    object
}

/// Returns the name of a section, such as "Pending Acknowledgement".
pub fn title(random: &mut Random) -> String {
    let capital = |word: &str| format!("{}{}", word[..1].to_uppercase(), &word[1..]);
    format!("{} {}", capital(random.pick(QUALITIES)), capital(random.pick(THINGS)))
}

/// Breaks words at the width. Sentences are two blanks apart, as in RFCs.
pub fn wrap(sentences: &[&str], first_indent: &str, indent: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = first_indent.to_owned();
    let mut gap = "";
    for sentence in sentences {
        for word in sentence.split(' ') {
            if line.len() + gap.len() + word.len() > width {
                lines.push(std::mem::replace(&mut line, indent.to_owned()));
                gap = "";
            }
            line.push_str(gap);
            line.push_str(word);
            gap = " ";
        }
        gap = "  ";
    }
    lines.push(line);
    lines
}

/// The keywords as often as specifications use them.
const KEYWORDS: &[&str] = &[
    "MUST",
    "MUST",
    "MUST",
    "MUST",
    "MUST NOT",
    "MUST NOT",
    "SHOULD",
    "SHOULD",
    "SHOULD NOT",
    "MAY",
    "MAY",
    "SHALL",
    "is REQUIRED to",
    "is RECOMMENDED to",
];
const SUBJECTS: &[&str] = &[
    "An endpoint",
    "A receiver",
    "The sender",
    "A server",
    "A client",
    "An intermediary",
    "The initiating peer",
    "A relay",
    "Every implementation",
    "A gateway",
    "The responder",
    "A registrar",
    "A cache",
    "The scheduler",
    "A monitor",
    "An observer",
];
pub const ACTIONS: &[&str] = &[
    "discard",
    "acknowledge",
    "retransmit",
    "buffer",
    "ignore",
    "forward",
    "log",
    "reject",
    "delay",
    "count",
    "answer",
    "record",
    "compare",
    "announce",
    "encrypt",
    "verify",
];
pub const QUALITIES: &[&str] = &[
    "pending",
    "duplicate",
    "malformed",
    "reserved",
    "expired",
    "encrypted",
    "optional",
    "truncated",
    "unordered",
    "compressed",
    "retired",
    "probing",
    "final",
    "coalesced",
    "unsolicited",
    "oversized",
    "padded",
    "cached",
    "negotiated",
    "stale",
];
pub const THINGS: &[&str] = &[
    "packet",
    "frame",
    "datagram",
    "token",
    "handshake",
    "acknowledgement",
    "parameter",
    "certificate",
    "window",
    "timer",
    "stream",
    "header",
    "counter",
    "ticket",
    "identifier",
    "checksum",
    "extension",
    "session",
    "message",
    "challenge",
    "credit",
    "cookie",
    "digest",
    "alert",
];
const CIRCUMSTANCES: &[&str] = &[
    "",
    "",
    "",
    " before the handshake is confirmed",
    " after the first timeout",
    " while the connection is draining",
    " unless its peer has asked for it",
    " even when the window is closed",
    " once keys are available",
    " until the path has been validated",
    ", regardless of the state of the connection",
    " if no answer arrives in time",
    " as long as memory permits",
    ", and tells the application about it",
    " whenever the network changes",
    " in the order in which they were sent",
];

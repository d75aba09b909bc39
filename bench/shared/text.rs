//! Requirements to fill a store with: the same for everybody, in words of which few are common and many are rare, as in
//! language.

use std::sync::LazyLock;

/// Stories, with as many requirements each as a page holds.
pub const PER_STORY: u64 = 50;
const N_WORDS: u64 = 20_000;
const TITLE_WORDS: u64 = 7;
const TEXT_WORDS: u64 = 40;

/// The title of a requirement.
pub fn title(number: u64) -> String {
    let mut random = Random(number.wrapping_mul(2) + 1);
    let words: Vec<String> = (0..TITLE_WORDS).map(|_| random.word()).collect();
    format!("The {} must {}", words[..3].join(" "), words[3..].join(" "))
}

/// The text of a requirement.
pub fn description(number: u64) -> String {
    let mut random = Random(number.wrapping_mul(2) + 2);
    let words: Vec<String> = (0..TEXT_WORDS).map(|_| random.word()).collect();
    // A phrase that few have, and a word that every hundredth has.
    let phrase = if number.is_multiple_of(500) { " within the cooling interval" } else { "" };
    let word = if number.is_multiple_of(100) { " thermostat" } else { "" };
    format!("When {}, it shall {}{phrase}{word}.", words[..20].join(" "), words[20..].join(" "))
}

/// What search keeps of a requirement. It was computed before: that is no work of the engine.
pub fn terms(number: u64) -> (words::Terms, String) {
    const KNOWN: u64 = 2_000;
    static TERMS: LazyLock<Vec<(words::Terms, String)>> = LazyLock::new(|| {
        let one = |number| {
            let title = format!("REQ-{number} {}", title(number));
            let terms = words::terms(&title, &description(number));
            // What filters ask for are terms, too: one of its own, and those that it shares with many.
            let shared = "fkreq fj0197f0c40000700080000000000000aa fd20261115 fm202611 fy2026 fp2 ft0197f0c4000070008000000000000001";
            let people = "fc0197f0c4000070008000000000000002 fa0197f0c4000070008000000000000002";
            let marks = format!("fi{number:032x} fu{:032x} {shared} {people}", number % 100);
            let postings = format!("{} {}", terms.postings(), marks);
            (terms, postings)
        };
        (0..KNOWN).map(one).collect()
    });
    TERMS[(number % KNOWN) as usize].clone()
}

/// The word with a rank: low ranks are common.
pub fn word(rank: u64) -> String {
    const SYLLABLES: [&str; 24] = [
        "ba", "co", "de", "fi", "gu", "ha", "jo", "ke", "li", "mu", "na", "po", "qui", "re", "si", "tu",
        "va", "wo", "xe", "zi", "bra", "cle", "dri", "flo",
    ];
    let mut left = rank + 24;
    let mut word = String::new();
    while left > 0 {
        word += SYLLABLES[(left % 24) as usize];
        left /= 24;
    }
    word
}

/// Numbers that look random and are always the same.
pub struct Random(pub u64);

impl Random {
    fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.draw() % limit
    }

    /// A word whose frequency falls with its rank: the rank is a power of a number between 0 and 1.
    fn word(&mut self) -> String {
        let share = self.below(1 << 20) as f64 / f64::from(1 << 20);
        word(((N_WORDS as f64).powf(share) - 1.0) as u64)
    }
}

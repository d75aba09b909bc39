//! JSON as bytes: strings, numbers and the commas between members.

/// How a byte is written in a string: 0 unchanged, `u` as a code, any other letter after a backslash.
const ESCAPES: [u8; 256] = {
    let mut escapes = [0; 256];
    let mut byte = 0;
    while byte < 0x20 {
        escapes[byte] = b'u';
        byte += 1;
    }
    escapes[0x08] = b'b';
    escapes[b'\t' as usize] = b't';
    escapes[b'\n' as usize] = b'n';
    escapes[0x0c] = b'f';
    escapes[b'\r' as usize] = b'r';
    escapes[b'"' as usize] = b'"';
    escapes[b'\\' as usize] = b'\\';
    escapes
};

/// Writes a string.
pub fn string(out: &mut Vec<u8>, text: &str) {
    let bytes = text.as_bytes();
    out.reserve(bytes.len() + 2);
    out.push(b'"');
    match is_plain(bytes) {
        true => out.extend_from_slice(bytes),
        false => escaped(out, bytes),
    }
    out.push(b'"');
}

/// Whether all bytes are written unchanged. Reads 16 at a time, the last of which may be read twice.
fn is_plain(bytes: &[u8]) -> bool {
    // No early exit from a chunk: the compiler makes a few vector instructions of it.
    let is_plain = |chunk: &[u8; 16]| {
        !chunk.iter().fold(false, |found, byte| found | (*byte < 0x20) | (*byte == b'"') | (*byte == b'\\'))
    };
    match bytes.last_chunk() {
        Some(last) => bytes.as_chunks().0.iter().all(is_plain) && is_plain(last),
        None => bytes.iter().all(|byte| ESCAPES[*byte as usize] == 0),
    }
}

fn escaped(out: &mut Vec<u8>, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut rest = bytes;
    while let Some(at) = rest.iter().position(|byte| ESCAPES[*byte as usize] != 0) {
        out.extend_from_slice(&rest[..at]);
        let byte = rest[at];
        let escape = ESCAPES[byte as usize];
        out.extend_from_slice(&[b'\\', escape]);
        if escape == b'u' {
            out.extend_from_slice(b"00");
            out.extend_from_slice(&[DIGITS[(byte >> 4) as usize], DIGITS[(byte & 15) as usize]]);
        }
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
}

/// Writes a number.
pub fn number(out: &mut Vec<u8>, mut number: usize) {
    let mut digits = [0; 20];
    let mut start = digits.len();
    while number >= 100 {
        start -= 2;
        digits[start..start + 2].copy_from_slice(&PAIRS[number % 100]);
        number /= 100;
    }
    if number >= 10 {
        start -= 2;
        digits[start..start + 2].copy_from_slice(&PAIRS[number]);
    } else {
        start -= 1;
        digits[start] = b'0' + number as u8;
    }
    out.extend_from_slice(&digits[start..]);
}

/// The digits of the numbers below 100.
const PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[b'0'; 2]; 100];
    let mut number = 0;
    while number < 100 {
        pairs[number] = [b'0' + (number / 10) as u8, b'0' + (number % 10) as u8];
        number += 1;
    }
    pairs
};

/// Writes numbers with commas in between.
pub fn numbers(out: &mut Vec<u8>, numbers: impl Iterator<Item = u32>) {
    let mut members = Members::default();
    for one in numbers {
        members.comma(out);
        number(out, one as usize);
    }
}

/// Writes the commas between members: none before the first.
#[derive(Default)]
pub struct Members {
    is_more: bool,
}

impl Members {
    /// Starts a member.
    pub fn comma(&mut self, out: &mut Vec<u8>) {
        if std::mem::replace(&mut self.is_more, true) {
            out.push(b',');
        }
    }

    /// Starts a member with a key that needs no escapes.
    pub fn key(&mut self, out: &mut Vec<u8>, key: &str) {
        self.comma(out);
        out.push(b'"');
        out.extend_from_slice(key.as_bytes());
        out.extend_from_slice(b"\":");
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn strings_are_written_as_serde_writes_them(text in "\\PC*|[\\x00-\\xff]*") {
            let mut out = Vec::new();
            string(&mut out, &text);
            prop_assert_eq!(String::from_utf8(out).unwrap(), serde_json::to_string(&text).unwrap());
        }

        #[test]
        fn numbers_are_written_in_full(value: usize) {
            let mut out = Vec::new();
            number(&mut out, value);
            prop_assert_eq!(String::from_utf8(out).unwrap(), value.to_string());
        }
    }
}

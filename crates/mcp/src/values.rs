//! Limits the number of values in JSON before it is parsed. A parsed value takes 72 bytes, while two bytes of text are enough
//! to write one, so a limit on bytes alone would let a small message take a lot of memory.

/// The number of values in one message. The largest batches and bulk changes have a tenth of it; the file of an import is
/// a single string, and so a single value.
pub const VALUES_MAX: usize = 100_000;

/// Counts the values of JSON text as it arrives, in parts of any size.
#[derive(Debug, Default)]
pub struct ValueCounter {
    n_values: usize,
    is_in_string: bool,
    is_escaped: bool,
}

impl ValueCounter {
    /// Counts the next part of the text. Returns false when there are more than [`VALUES_MAX`] values.
    ///
    /// Each value but the first follows a comma or an opening bracket, so counting these gives an upper bound, whether or not
    /// the text is valid.
    #[must_use]
    pub fn add(&mut self, part: &[u8]) -> bool {
        for &byte in part {
            if self.is_escaped {
                self.is_escaped = false;
            } else if self.is_in_string {
                match byte {
                    b'"' => self.is_in_string = false,
                    b'\\' => self.is_escaped = true,
                    _ => {}
                }
            } else {
                match byte {
                    b',' | b'[' | b'{' => self.n_values += 1,
                    b'"' => self.is_in_string = true,
                    _ => {}
                }
            }
        }
        self.n_values < VALUES_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::{VALUES_MAX, ValueCounter};

    fn fits(text: &str, part_size: usize) -> bool {
        let mut counter = ValueCounter::default();
        text.as_bytes().chunks(part_size).all(|part| counter.add(part))
    }

    #[test]
    fn values_are_counted_and_text_is_not() {
        let list = |n: usize| format!("[{}0]", "0,".repeat(n - 2));
        let text = format!("[\"{}\\\"\\\\\"]", ",[{".repeat(VALUES_MAX));
        for part_size in [1, 3, 1 << 20] {
            assert!(fits(&list(VALUES_MAX), part_size), "the list and its items");
            assert!(!fits(&list(VALUES_MAX + 1), part_size));
            assert!(fits(&text, part_size), "brackets and commas in a string are text");
            assert!(!fits(&(text.clone() + &"[]".repeat(VALUES_MAX)), part_size), "the string has ended");
        }
    }
}

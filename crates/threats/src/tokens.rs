//! Counts tokens as `o200k_base` does.

/// Counts the tokens of a text. The first call loads the table, which takes some 50 ms.
pub fn count(text: &str) -> usize {
    bpe_openai::o200k_base().count(text)
}

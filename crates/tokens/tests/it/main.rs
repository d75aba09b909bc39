//! The estimate against the real tokenizer.

mod bounds;
mod calibration;

/// Counts tokens as `o200k_base` does.
fn exact(text: &str) -> usize {
    bpe_openai::o200k_base().count(text)
}

/// How the estimate compares with the exact number.
fn ratio(text: &str) -> f64 {
    tokens::count(text) as f64 / exact(text) as f64
}

//! The semantic similarity of texts: the cosine of sums of word vectors.
//!
//! BM25F sees nothing in common between `remove a person` and `delete a user`. Vectors of words do, and need no examples, so
//! patterns of any author gain from them. They were distilled from a sentence-embedding model; see `vectors/README.md`.

use std::sync::LazyLock;

/// The dimensions of a vector.
pub const N_DIMENSIONS: usize = 64;

/// The meaning of a text, with a length of about [`LENGTH`]; all zeros if none of its words is known.
pub type Meaning = [i8; N_DIMENSIONS];

/// The length of each meaning. Steps of 1/127 are fine enough for a cosine.
const LENGTH: f32 = 127.0;
/// How many texts of a pattern count, because a single one may be similar by chance.
const N_NEAREST: usize = 5;

/// The stems that have vectors, sorted, a line each, and the vectors in the same order.
static STEMS: &str = include_str!("../vectors/stems.txt");
static VECTORS: &[u8] = include_bytes!("../vectors/vectors.bin");

static LINES: LazyLock<Vec<&str>> = LazyLock::new(|| STEMS.lines().collect());

/// Returns the meaning of a text with these stems. Stems without a vector are ignored.
pub fn of<'a>(stems: impl Iterator<Item = &'a str>) -> Meaning {
    let mut rows: Vec<usize> = stems.filter_map(|stem| LINES.binary_search(&stem).ok()).collect();
    // Repetition adds nothing.
    rows.sort_unstable();
    rows.dedup();
    let mut sum = [0.0_f32; N_DIMENSIONS];
    for row in rows {
        let vector = &VECTORS[row * N_DIMENSIONS..(row + 1) * N_DIMENSIONS];
        sum.iter_mut().zip(vector).for_each(|(sum, component)| *sum += f32::from(component.cast_signed()));
    }
    let length = sum.iter().map(|component| component * component).sum::<f32>().sqrt().max(1.0);
    sum.map(|component| (component * LENGTH / length).round() as i8)
}

/// Returns the similarity of a context to the nearest of some texts, from -1 to 1; 0 if there are none.
pub fn nearness<'a>(context: &Meaning, texts: impl Iterator<Item = &'a Meaning>) -> f32 {
    let mut nearest: Vec<i32> = texts.map(|text| product(context, text)).collect();
    nearest.sort_unstable_by(|first, second| second.cmp(first));
    nearest.truncate(N_NEAREST);
    nearest.iter().sum::<i32>() as f32 / (LENGTH * LENGTH * nearest.len().max(1) as f32)
}

/// Returns the scalar product, which is the cosine times both lengths.
fn product(first: &Meaning, second: &Meaning) -> i32 {
    let mut sum = 0;
    let mut index = 0;
    // Thousands of texts are compared, also in unoptimized tests, where iterators take six times as long.
    while index < N_DIMENSIONS {
        sum += i32::from(first[index]) * i32::from(second[index]);
        index += 1;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text;

    #[test]
    fn each_stem_has_a_vector_and_can_be_found() {
        assert_eq!(VECTORS.len(), LINES.len() * N_DIMENSIONS);
        assert!(LINES.is_sorted());
    }

    #[test]
    fn other_words_for_the_same_are_nearer_than_words_for_something_else() {
        for [text, same, other] in [
            ["remove a person from the team", "delete a member of the group", "rotate the picture"],
            ["send the invoice by mail", "email a bill", "the compiler reports an error"],
            ["the customer may look at the record", "clients can view the file", "sort the array quickly"],
        ] {
            let [text, same, other] = [text, same, other].map(meaning);
            assert!(product(&text, &same) > product(&text, &other));
        }
    }

    #[test]
    fn unknown_words_mean_nothing() {
        assert_eq!(meaning("zorblat krumvik"), [0; N_DIMENSIONS]);
        assert_eq!(nearness(&meaning("zorblat"), [meaning("delete a user")].iter()), 0.0);
        assert_eq!(nearness(&meaning("delete a user"), [].iter()), 0.0);
    }

    fn meaning(text: &str) -> Meaning {
        of(text::words(text).words.iter().map(|word| word.stem.as_str()))
    }
}

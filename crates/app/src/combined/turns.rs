//! Alternates between two lists whose orders cannot be compared: requirements of the store and of specifications.

/// Two lists that alternate until one ends.
pub struct Turns {
    /// The number in the store.
    pub n_managed: i64,
    /// The number in specifications.
    pub n_spec: i64,
}

impl Turns {
    /// How many of the first list come before a position.
    pub fn managed_before(&self, place: i64) -> i64 {
        self.n_managed.min(((place + 1) / 2).max(place - self.n_spec))
    }

    /// Whether a position belongs to the first list.
    pub fn is_managed(&self, place: i64) -> bool {
        self.managed_before(place + 1) > self.managed_before(place)
    }
}

#[cfg(test)]
mod tests {
    use super::Turns;

    #[test]
    fn two_lists_take_turns_until_one_ends() {
        for (n_managed, n_spec, expected) in
            [(2, 2, "msms"), (3, 1, "msmm"), (1, 3, "msss"), (0, 2, "ss"), (2, 0, "mm")]
        {
            let turns = Turns { n_managed, n_spec };
            let order: String = (0..n_managed + n_spec)
                .map(|place| if turns.is_managed(place) { 'm' } else { 's' })
                .collect();
            assert_eq!(order, expected, "{n_managed} and {n_spec}");
        }
    }
}

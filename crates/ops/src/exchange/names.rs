//! Maps names to rows in little memory: only hashes of names are stored. Two of a million names have the same
//! hash less often than once in 10^16 imports.

/// Names and rows.
#[derive(Default)]
pub(super) struct Names {
    /// The first 96 bits of the hash of a name, and the number of its row plus one. An empty slot is zero.
    slots: Vec<Slot>,
    n_names: usize,
}

type Slot = [u32; 4];

/// At least one of this many slots stays empty, so that a name is near the slot of its hash.
const EMPTY_OF: usize = 8;

impl Names {
    /// Capacity for a number of names. More of them temporarily take more memory.
    pub fn with_room(n_names: usize) -> Names {
        Names { slots: vec![[0; 4]; n_names + n_names / (EMPTY_OF - 1) + EMPTY_OF], n_names: 0 }
    }

    /// The row of a name.
    pub fn get(&self, name: &str) -> Option<usize> {
        let row = self.slots.get(self.place(hashed(name)))?[3];
        (row as usize).checked_sub(1)
    }

    /// Assigns a row to a name, and returns the previous one.
    pub fn insert(&mut self, name: &str, row: usize) -> Option<usize> {
        if self.n_names + self.slots.len() / EMPTY_OF >= self.slots.len() {
            let mut larger = Names::with_room(self.n_names + self.n_names / 4);
            self.slots.iter().filter(|slot| slot[3] > 0).for_each(|slot| _ = larger.put(*slot));
            *self = larger;
        }
        let [first, second, third] = hashed(name);
        (self.put([first, second, third, row as u32 + 1]) as usize).checked_sub(1)
    }

    fn put(&mut self, slot: Slot) -> u32 {
        let place = self.place([slot[0], slot[1], slot[2]]);
        let before = std::mem::replace(&mut self.slots[place], slot)[3];
        self.n_names += usize::from(before == 0);
        before
    }

    /// The slot of a hash, or the empty slot for it.
    fn place(&self, hash: [u32; 3]) -> usize {
        let n_slots = self.slots.len();
        let wanted = u64::from(hash[0]) << 32 | u64::from(hash[1]);
        let first = (wanted as usize).checked_rem(n_slots).unwrap_or_default();
        let is_its = |place: &usize| self.slots[*place][3] == 0 || self.slots[*place][..3] == hash;
        (first..n_slots).chain(0..first).find(is_its).unwrap_or(n_slots)
    }
}

fn hashed(name: &str) -> [u32; 3] {
    let hash = blake3::hash(name.as_bytes());
    let (words, _) = hash.as_bytes().as_chunks();
    [0, 1, 2].map(|index: usize| u32::from_le_bytes(words[index]))
}

#[cfg(test)]
mod tests {
    use super::Names;

    #[test]
    fn names_lead_to_their_rows() {
        assert_eq!(Names::default().get("REQ-1"), None);
        // There are more names than expected.
        let mut names = Names::with_room(100);
        for row in 0..1_000 {
            assert_eq!(names.insert(&format!("REQ-{row}"), row), None);
        }
        assert_eq!(names.insert("REQ-7", 1_007), Some(7));
        for row in 0..1_000 {
            let expected = if row == 7 { 1_007 } else { row };
            assert_eq!(names.get(&format!("REQ-{row}")), Some(expected));
        }
        assert_eq!(names.get("REQ-1000"), None);
    }
}

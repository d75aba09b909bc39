//! Names and the rows that they lead to, in little memory: of a name its hash is kept. Two of a million names have the same
//! one by chance less often than once in 10^16 imports.

/// Names and rows.
#[derive(Default)]
pub(super) struct Names {
    /// The first 96 bits of the hash of a name, and its row after one. An empty slot is zero, so that memory which is never
    /// written to costs nothing.
    slots: Vec<[u32; 4]>,
}

impl Names {
    /// Room for so many names.
    pub fn with_room(n_names: usize) -> Names {
        // A quarter of the slots stays empty, so that a name is near the slot that its hash leads to.
        Names { slots: vec![[0; 4]; n_names + n_names / 3 + 1] }
    }

    /// The row that a name leads to.
    pub fn get(&self, name: &str) -> Option<usize> {
        let hash = hashed(name);
        let index = self.slot(hash)?;
        Some(self.slots[index][3]).filter(|row| *row > 0).map(|row| row as usize - 1)
    }

    /// Makes a name lead to a row, and returns the one that it led to before.
    pub fn insert(&mut self, name: &str, row: usize) -> Option<usize> {
        let hash = hashed(name);
        let index = self.slot(hash)?;
        let before = self.slots[index][3];
        self.slots[index] = [hash[0], hash[1], hash[2], row as u32 + 1];
        (before > 0).then(|| before as usize - 1)
    }

    /// The slot of a hash, or the empty one where it belongs. None when there is no room at all.
    fn slot(&self, hash: [u32; 3]) -> Option<usize> {
        let n_slots = self.slots.len();
        let wanted = u64::from(hash[0]) << 32 | u64::from(hash[1]);
        let first = (wanted as usize).checked_rem(n_slots)?;
        (first..n_slots).chain(0..first).find(|index| {
            let slot = &self.slots[*index];
            slot[3] == 0 || slot[..3] == hash
        })
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
        let mut names = Names::with_room(1_000);
        for row in 0..1_000 {
            assert_eq!(names.insert(&format!("REQ-{row}"), row), None);
        }
        assert_eq!(names.insert("REQ-7", 1_007), Some(7));
        for row in 0..1_000 {
            let expected = if row == 7 { 1_007 } else { row };
            assert_eq!(names.get(&format!("REQ-{row}")), Some(expected));
        }
        assert_eq!(names.get("REQ-1000"), None);
        assert_eq!((Names::default().get("REQ-1"), Names::default().insert("REQ-1", 1)), (None, None));
    }
}

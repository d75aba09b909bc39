//! The revisions of the protocol, oldest first, so that "from 2025-06-18 on" is a comparison.

/// A revision of the protocol, named by its date.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Revision {
    /// The first one in wide use.
    V2024_11_05,
    /// Batches, tool annotations, completions as a capability.
    V2025_03_26,
    /// Structured tool results, titles.
    V2025_06_18,
    /// Icons and descriptions, errors without an id; the last with a handshake.
    V2025_11_25,
    /// Stateless: every request carries its revision in `_meta`.
    V2026_07_28,
}

/// Whether a request depends on earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Era {
    /// The revision was negotiated by `initialize`, and the lifecycle applies.
    Handshake,
    /// The request is self-contained through its `_meta`.
    Stateless,
}

impl Revision {
    /// Every revision, oldest first.
    pub const ALL: [Self; 5] =
        [Self::V2024_11_05, Self::V2025_03_26, Self::V2025_06_18, Self::V2025_11_25, Self::V2026_07_28];

    /// The revisions that start with `initialize`.
    pub const HANDSHAKE: [Self; 4] =
        [Self::V2024_11_05, Self::V2025_03_26, Self::V2025_06_18, Self::V2025_11_25];

    /// The answer to an `initialize` with an unknown version, if the policy is to negotiate.
    pub const LATEST_HANDSHAKE: Self = Self::V2025_11_25;

    /// Returns the revision with this date, if it exists.
    pub fn parse(date: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|revision| revision.as_str() == date)
    }

    /// Returns the date.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// Returns whether each request is self-contained, without a handshake.
    pub fn is_stateless(self) -> bool {
        self == Self::V2026_07_28
    }

    /// Returns the dates of `revisions`.
    pub(crate) fn dates(revisions: &[Self]) -> Vec<&'static str> {
        revisions.iter().map(|revision| revision.as_str()).collect()
    }
}

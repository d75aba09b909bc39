//! The contents of source lines, as far as they matter for executions.

/// The contents of a line, which may be several at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Class(u8);

impl Class {
    /// A statement.
    pub const STATEMENT: Class = Class(1);
    /// A declaration.
    pub const DECLARATION: Class = Class(1 << 1);
    /// The start of a block.
    pub const OPENING: Class = Class(1 << 2);
    /// The end of a block.
    pub const CLOSING: Class = Class(1 << 3);
    /// A comment.
    pub const COMMENT: Class = Class(1 << 4);
    /// A part of an annotation.
    pub const ANNOTATION: Class = Class(1 << 5);
    /// Nothing.
    pub const BLANK: Class = Class(1 << 6);
    /// A jump target.
    pub const LABEL: Class = Class(1 << 7);

    /// Adds what another one holds.
    pub const fn with(self, other: Class) -> Class {
        Class(self.0 | other.0)
    }

    /// Takes away what another one holds.
    pub const fn without(self, other: Class) -> Class {
        Class(self.0 & !other.0)
    }

    /// Whether it shares anything with another one.
    pub const fn has(self, other: Class) -> bool {
        self.0 & other.0 != 0
    }
}

/// A block of code, by the lines of its braces, from 1 on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// The line where it opens.
    pub first: u32,
    /// The line where it closes.
    pub last: u32,
}

impl Block {
    /// Whether a line is in it.
    pub fn contains(self, line: u32) -> bool {
        (self.first..=self.last).contains(&line)
    }
}

/// The lines of a file in an unsupported language: blank ones, and others.
pub fn plain(text: &str) -> Vec<Option<Class>> {
    text.lines().map(|line| line.trim().is_empty().then_some(Class::BLANK)).collect()
}

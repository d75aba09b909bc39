//! The kinds of problems of a project.

use std::fmt;

/// The kinds of problems, and their names for tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Code {
    /// The configuration cannot be read or parsed.
    Configuration,
    /// A pattern is not a glob, or matches nothing.
    Pattern,
    /// A file cannot be read, or is not text.
    Unreadable,
    /// A meta line has a key that does not exist.
    UnknownKey,
    /// A meta line has a value that is not allowed.
    InvalidValue,
    /// A duplicate key.
    DuplicateKey,
    /// A key does not belong to this type of annotation.
    MisplacedKey,
    /// An annotation names no specification.
    MissingTarget,
    /// A requirement file is invalid.
    RequirementFile,
    /// A target is not a URL, though it looks like one.
    InvalidUrl,
    /// A specification does not exist.
    MissingSpecification,
    /// A target names no section.
    MissingSection,
    /// A section does not exist in its specification.
    UnknownSection,
    /// A section has no text.
    EmptySection,
    /// A quote is not in its section.
    UnknownQuote,
    /// A quote differs from the specification by one edit (drift).
    Drift,
    /// A quoted text belongs to no requirement.
    NoRequirement,
    /// A quote has one word.
    OneWord,
    /// A comment quotes something, but names no specification.
    StrayQuote,
    /// A comment has marks that its file does not use.
    CommentStyle,
    /// An exception without a reason.
    MissingReason,
    /// A specification differs from the locked one.
    Changed,
    /// The snapshot is outdated.
    Snapshot,
    /// A required implementation or test is missing.
    Incomplete,
    /// A required implementation or test is incomplete.
    Partial,
    /// A coverage report cannot be used, or source code with it.
    Coverage,
    /// There is nothing to do: no configuration, no sources, no specifications.
    Empty,
    /// A given report is invalid.
    Report,
    /// Two reports disagree.
    Conflict,
    /// A quote occurs only in an earlier version of a managed requirement.
    StaleCitation,
    /// A managed requirement changed after the version that a citation pins.
    SuspectCitation,
    /// A quote occurs in no version of a managed requirement.
    BrokenCitation,
    /// A managed requirement was deleted or is obsolete.
    GoneRequirement,
    /// A managed requirement is not in the store, or not visible.
    UnknownRequirement,
    /// A quote occurs several times in a managed requirement.
    AmbiguousQuote,
    /// A target names a managed requirement in an invalid form.
    ManagedTarget,
    /// The texts of managed requirements are unavailable.
    UnreachableStore,
}

impl Code {
    /// Every code, in order.
    pub const ALL: [Code; 37] = [
        Code::Configuration,
        Code::Pattern,
        Code::Unreadable,
        Code::UnknownKey,
        Code::InvalidValue,
        Code::DuplicateKey,
        Code::MisplacedKey,
        Code::MissingTarget,
        Code::RequirementFile,
        Code::InvalidUrl,
        Code::MissingSpecification,
        Code::MissingSection,
        Code::UnknownSection,
        Code::EmptySection,
        Code::UnknownQuote,
        Code::Drift,
        Code::NoRequirement,
        Code::OneWord,
        Code::StrayQuote,
        Code::CommentStyle,
        Code::MissingReason,
        Code::Changed,
        Code::Snapshot,
        Code::Incomplete,
        Code::Partial,
        Code::Coverage,
        Code::Empty,
        Code::Report,
        Code::Conflict,
        Code::StaleCitation,
        Code::SuspectCitation,
        Code::BrokenCitation,
        Code::GoneRequirement,
        Code::UnknownRequirement,
        Code::AmbiguousQuote,
        Code::ManagedTarget,
        Code::UnreachableStore,
    ];

    /// The name by which tools know it.
    pub fn name(self) -> &'static str {
        match self {
            Code::Configuration => "configuration",
            Code::Pattern => "pattern",
            Code::Unreadable => "unreadable",
            Code::UnknownKey => "unknown-key",
            Code::InvalidValue => "invalid-value",
            Code::DuplicateKey => "duplicate-key",
            Code::MisplacedKey => "misplaced-key",
            Code::MissingTarget => "missing-target",
            Code::RequirementFile => "requirement-file",
            Code::InvalidUrl => "invalid-url",
            Code::MissingSpecification => "missing-specification",
            Code::MissingSection => "missing-section",
            Code::UnknownSection => "unknown-section",
            Code::EmptySection => "empty-section",
            Code::UnknownQuote => "unknown-quote",
            Code::Drift => "drift",
            Code::NoRequirement => "no-requirement",
            Code::OneWord => "one-word-quote",
            Code::StrayQuote => "stray-quote",
            Code::CommentStyle => "comment-style",
            Code::MissingReason => "missing-reason",
            Code::Changed => "changed-specification",
            Code::Snapshot => "snapshot",
            Code::Incomplete => "incomplete",
            Code::Partial => "partly-covered",
            Code::Coverage => "coverage-report",
            Code::Empty => "empty",
            Code::Report => "report",
            Code::Conflict => "conflict",
            Code::StaleCitation => "stale-citation",
            Code::SuspectCitation => "suspect-citation",
            Code::BrokenCitation => "broken-citation",
            Code::GoneRequirement => "gone-requirement",
            Code::UnknownRequirement => "unknown-requirement",
            Code::AmbiguousQuote => "ambiguous-quote",
            Code::ManagedTarget => "managed-target",
            Code::UnreachableStore => "unreachable-store",
        }
    }

    /// What it means, and what to do about it.
    pub fn explanation(self) -> &'static str {
        match self {
            Code::Configuration => {
                "The configuration cannot be read or understood. Correct .duvet/config.toml at the place that is named."
            }
            Code::Pattern => {
                "A pattern is not a glob, or matches no file. Correct it in .duvet/config.toml; `duvet init` shows patterns that match."
            }
            Code::Unreadable => {
                "A file cannot be read, or is not text. Make it readable, or narrow the pattern that matches it."
            }
            Code::UnknownKey => {
                "A line of a citation has a key that does not exist. Keys are source, type, level, format, reason, feature and tracking-issue."
            }
            Code::InvalidValue => {
                "A line of a citation has a value that is not allowed. The message lists those that are."
            }
            Code::DuplicateKey => {
                "A citation has a key twice. Remove one, or leave a line free to start another citation."
            }
            Code::MisplacedKey => {
                "A key does not belong to this type of citation: `feature` and `tracking-issue` belong to a todo."
            }
            Code::MissingTarget => {
                "A citation names no specification. Give it a line with a path or URL, `#`, and a section."
            }
            Code::RequirementFile => {
                "A requirement file cannot be understood. Correct it at the place that is named."
            }
            Code::InvalidUrl => "A target looks like a URL, but is not one. Correct it.",
            Code::MissingSpecification => {
                "A specification cannot be found. Correct its path or URL; `duvet report` fetches specifications from the web."
            }
            Code::MissingSection => "A target names no section. Add `#` and the id of a section.",
            Code::UnknownSection => {
                "A specification does not have the section that is cited. Correct the id; the message names the nearest."
            }
            Code::EmptySection => "The section that is quoted has no text. Cite the section that has it.",
            Code::UnknownQuote => {
                "The section does not have the quoted text. Quote it as the specification says it, or look whether the code still fits."
            }
            Code::Drift => {
                "A quote differs from the specification by one edit. Quote it exactly; a digit that changed may change the meaning."
            }
            Code::NoRequirement => {
                "The quoted text belongs to no requirement, so the citation covers nothing. Quote a sentence with MUST, SHOULD or MAY."
            }
            Code::OneWord => {
                "A quote of one word means the first occurrence of the word. Quote the sentence."
            }
            Code::StrayQuote => {
                "A comment quotes something, but no target belongs to it, so that it is not read. Put the target directly above it."
            }
            Code::CommentStyle => {
                "A comment has marks that its file does not use, so that it is not read. Write it with the marks of `comment-style`."
            }
            Code::MissingReason => "An exception does not say why. Add a line with `reason=`.",
            Code::Changed => {
                "A specification is not the one that was locked. Look at the citations that are named, then accept the change with `duvet lock`."
            }
            Code::Snapshot => "The snapshot is not current. Write it with `duvet report`, and commit it.",
            Code::Incomplete => {
                "A requirement is not implemented or not tested. Cite it where it is, or say that it is an exception, and why."
            }
            Code::Partial => "A requirement is implemented or tested in part. Cite the rest of its text.",
            Code::Coverage => "A coverage report cannot be used, or source code with it.",
            Code::Empty => {
                "There was nothing to check: no configuration, source file, citation or requirement. Correct the configuration, or pass `--allow-empty`."
            }
            Code::Report => "A report that was given cannot be understood.",
            Code::Conflict => "Two reports disagree.",
            Code::StaleCitation => {
                "What a citation quotes stands only in an earlier version of a managed requirement. Look whether the code still fits, then write the lines that are offered."
            }
            Code::SuspectCitation => {
                "A managed requirement changed after the version that a citation pins. Look whether the code still fits, then pin the new version."
            }
            Code::BrokenCitation => {
                "What a citation quotes stands in no version of a managed requirement, or it pins a version that does not exist. Quote the nearest sentence that is offered."
            }
            Code::GoneRequirement => {
                "A managed requirement that is cited was deleted or is obsolete. Remove the citation, or cite what replaces it."
            }
            Code::UnknownRequirement => {
                "A managed requirement that is cited does not exist, or is not visible. Correct its reference."
            }
            Code::AmbiguousQuote => {
                "A quote stands in several places of a managed requirement, and covers all of them. Quote the whole sentence to cite one."
            }
            Code::ManagedTarget => {
                "A target that begins with `spexus://` does not name a managed requirement. Write `spexus://REQ-027`, `spexus://SHOP-REQ-027`, `spexus://REQ-027@4` or `spexus://SHOP/REQ-027#text`."
            }
            Code::UnreachableStore => {
                "The store with the managed requirements cannot be reached, or no project is named. What `spexus pull` wrote is used as far as it goes."
            }
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

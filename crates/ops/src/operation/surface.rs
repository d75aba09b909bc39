//! An operation's routes, commands and tools, and the properties of its answer that surfaces need.

use store::model::Kind;

/// An HTTP method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum Method {
    Get,
    Post,
    Put,
    Patch,
    Delete,
}

impl Method {
    /// The name in a request.
    pub const fn name(self) -> &'static str {
        match self {
            Method::Get => "GET",
            Method::Post => "POST",
            Method::Put => "PUT",
            Method::Patch => "PATCH",
            Method::Delete => "DELETE",
        }
    }
}

/// An HTTP route of an operation. Parts of the path in braces are arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The method.
    pub method: Method,
    /// The path below `/api/v1`.
    pub path: &'static str,
    /// Arguments that the route sets.
    pub bind: &'static [(&'static str, &'static str)],
    /// Arguments without meaning on it: filters that its kind does not have.
    pub without: &'static [&'static str],
    /// The status of success.
    pub status: u16,
}

impl Route {
    /// Sets arguments: the route of a kind sets the kind.
    #[must_use]
    pub const fn with(mut self, bind: &'static [(&'static str, &'static str)]) -> Route {
        self.bind = bind;
        self
    }

    /// Removes arguments that would be rejected.
    #[must_use]
    pub const fn without(mut self, names: &'static [&'static str]) -> Route {
        self.without = names;
        self
    }

    /// Whether a request may give an argument, in the path or elsewhere.
    pub fn takes(&self, name: &str) -> bool {
        !self.without.contains(&name) && self.bind.iter().all(|(bound, _)| *bound != name)
    }

    /// The names of the arguments in the path.
    pub fn parameters(&self) -> impl Iterator<Item = &'static str> {
        self.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
    }
}

/// `GET path`.
pub const fn get(path: &'static str) -> Route {
    Route { method: Method::Get, path, bind: &[], without: &[], status: 200 }
}

/// `POST path`, which creates something.
pub const fn create(path: &'static str) -> Route {
    Route { method: Method::Post, path, bind: &[], without: &[], status: 201 }
}

/// `POST path`, which performs an action.
pub const fn post(path: &'static str) -> Route {
    Route { method: Method::Post, path, bind: &[], without: &[], status: 200 }
}

/// `PUT path`.
pub const fn put(path: &'static str) -> Route {
    Route { method: Method::Put, path, bind: &[], without: &[], status: 200 }
}

/// `PATCH path`.
pub const fn patch(path: &'static str) -> Route {
    Route { method: Method::Patch, path, bind: &[], without: &[], status: 200 }
}

/// `DELETE path`.
pub const fn delete(path: &'static str) -> Route {
    Route { method: Method::Delete, path, bind: &[], without: &[], status: 200 }
}

/// A command of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    /// Its words.
    pub words: &'static str,
    /// Arguments that the command sets.
    pub bind: &'static [(&'static str, &'static str)],
    /// Arguments that the command does not take.
    pub without: &'static [&'static str],
    /// Values of arguments that are not given.
    pub defaults: &'static [(&'static str, &'static str)],
    /// The argument of which it takes several values: with more than one, the operation runs once for each, and all of them
    /// happen or none.
    pub several: Option<&'static str>,
    /// Its description, if it differs from the operation's.
    pub summary: Option<&'static str>,
}

/// A command.
pub const fn command(words: &'static str) -> Command {
    Command { words, bind: &[], without: &[], defaults: &[], several: None, summary: None }
}

impl Command {
    /// Sets arguments: the command of a kind sets the kind.
    #[must_use]
    pub const fn with(mut self, bind: &'static [(&'static str, &'static str)]) -> Command {
        self.bind = bind;
        self
    }

    /// Removes arguments.
    #[must_use]
    pub const fn without(mut self, names: &'static [&'static str]) -> Command {
        self.without = names;
        self
    }

    /// Assumes values for arguments that are not given.
    #[must_use]
    pub const fn defaulting(mut self, defaults: &'static [(&'static str, &'static str)]) -> Command {
        self.defaults = defaults;
        self
    }

    /// Takes several values of an argument.
    #[must_use]
    pub const fn taking_several(mut self, name: &'static str) -> Command {
        self.several = Some(name);
        self
    }

    /// Describes the command, if it does only a part of the operation.
    #[must_use]
    pub const fn about(mut self, summary: &'static str) -> Command {
        self.summary = Some(summary);
        self
    }

    /// Whether it takes an argument.
    pub fn takes(&self, name: &str) -> bool {
        !self.without.contains(&name) && self.bind.iter().all(|(bound, _)| *bound != name)
    }

    /// The value of an argument that is not given.
    pub fn default_of(&self, name: &str) -> Option<&'static str> {
        self.defaults.iter().find(|(defaulted, _)| *defaulted == name).map(|(_, value)| *value)
    }
}

/// A tool of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tool {
    /// Its tool set. Sets are chosen individually, so each must be complete in itself.
    pub set: &'static str,
    /// Whether it is in the default list for daily work, and which of its arguments are listed there.
    /// The others are accepted nevertheless.
    pub daily: Option<&'static [&'static str]>,
    /// Its name, if it differs from the operation's.
    pub name: Option<&'static str>,
    /// Its description, if it differs from the operation's.
    pub summary: Option<&'static str>,
    /// Arguments that the tool sets.
    pub bind: &'static [(&'static str, &'static str)],
    /// An argument's name in the tool, and its name in the operation.
    pub renamed: Option<(&'static str, &'static str)>,
    /// The accepted arguments, if not all: each listed argument costs tokens.
    pub shown: Option<&'static [&'static str]>,
    /// Arguments that it does not accept.
    pub hidden: &'static [&'static str],
    /// Arguments that are required, although the operation does not need them: without them the call would change nothing.
    pub required: &'static [&'static str],
    /// Choices of an argument that the operation would reject.
    pub refused: &'static [(&'static str, &'static str)],
    /// Whether the answer can include the parents, children and relationships of the entity.
    pub with_surroundings: bool,
    /// Other names that agents use for it, which may be followed by a kind: `get` for `get_epic`.
    pub also: &'static [&'static str],
    /// Example arguments, as JSON. The examples of all tools work one after the other, deletions last.
    pub example: &'static str,
}

/// A tool of a set.
pub const fn tool(set: &'static str, example: &'static str) -> Tool {
    Tool {
        set,
        daily: None,
        name: None,
        summary: None,
        bind: &[],
        renamed: None,
        shown: None,
        hidden: &[],
        required: &[],
        refused: &[],
        with_surroundings: false,
        also: &[],
        example,
    }
}

impl Tool {
    /// Gives the tool another name and description.
    #[must_use]
    pub const fn named(mut self, name: &'static str, summary: &'static str) -> Tool {
        (self.name, self.summary) = (Some(name), Some(summary));
        self
    }

    /// Describes what it does and when to use it, if agents need more or less than the operation's documentation.
    #[must_use]
    pub const fn about(mut self, summary: &'static str) -> Tool {
        self.summary = Some(summary);
        self
    }

    /// Lists it for daily work, with these of its arguments.
    #[must_use]
    pub const fn daily(mut self, arguments: &'static [&'static str]) -> Tool {
        self.daily = Some(arguments);
        self
    }

    /// Sets arguments: the tool of a kind sets the kind.
    #[must_use]
    pub const fn with(mut self, bind: &'static [(&'static str, &'static str)]) -> Tool {
        self.bind = bind;
        self
    }

    /// Renames an argument of the operation, which comes second.
    #[must_use]
    pub const fn renaming(mut self, here: &'static str, there: &'static str) -> Tool {
        self.renamed = Some((here, there));
        self
    }

    /// Adds other names that agents use for it.
    #[must_use]
    pub const fn also(mut self, names: &'static [&'static str]) -> Tool {
        self.also = names;
        self
    }

    /// Accepts only these arguments.
    #[must_use]
    pub const fn showing(mut self, names: &'static [&'static str]) -> Tool {
        self.shown = Some(names);
        self
    }

    /// Accepts all arguments but these.
    #[must_use]
    pub const fn hiding(mut self, names: &'static [&'static str]) -> Tool {
        self.hidden = names;
        self
    }

    /// Requires arguments.
    #[must_use]
    pub const fn requiring(mut self, names: &'static [&'static str]) -> Tool {
        self.required = names;
        self
    }

    /// Removes choices of arguments.
    #[must_use]
    pub const fn refusing(mut self, choices: &'static [(&'static str, &'static str)]) -> Tool {
        self.refused = choices;
        self
    }

    /// Can include the surroundings of the entity.
    #[must_use]
    pub const fn with_surroundings(mut self) -> Tool {
        self.with_surroundings = true;
        self
    }
}

/// The structure of an answer, which decides how it is truncated for a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// It is not truncated, because nobody should edit what they have read only in part.
    Whole,
    /// A paged list. The first name is the field with its items, the second the field with the total;
    /// without a second name, the answer is complete.
    Page(&'static str, &'static str),
    /// A map of names to descriptions.
    Names,
    /// The results of many operations.
    Steps,
    /// One object, in which long texts can be cut.
    Thing,
    /// A file under `content`, which is available separately elsewhere.
    File,
}

/// The effect of an operation on existing entities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It may create entities. A repeated call creates more.
    Adds,
    /// It changes entities. A repeated call changes nothing more.
    Edits,
    /// It deletes entities. A repeated call finds nothing to do.
    Removes,
}

impl Change {
    /// The effect that follows from the method of a route.
    pub(super) const fn by(routes: &[Route]) -> Change {
        match routes {
            [Route { method: Method::Put | Method::Patch, .. }, ..] => Change::Edits,
            [Route { method: Method::Delete, .. }, ..] => Change::Removes,
            _ => Change::Adds,
        }
    }
}

/// The effect of an operation on the caller's session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionChange {
    /// It begins.
    Begins,
    /// It gets a new secret.
    Renews,
    /// It ends.
    Ends,
}

/// The arguments by which an operation takes a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileArguments {
    /// The content of the file.
    pub content: &'static str,
    /// Its format, which may be derived from the file's name.
    pub format: &'static str,
}

/// The columns of a list as a table, and the kind of entity that they are for if the list may have several kinds.
pub type Columns = (Option<Kind>, &'static [&'static str]);

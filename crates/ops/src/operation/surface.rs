//! How surfaces show an operation: its routes, commands and tools, and what they need to know of its answer.

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

/// A way to an operation over HTTP. Parts of the path in braces are arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The method.
    pub method: Method,
    /// The path below `/api/v1`.
    pub path: &'static str,
    /// Arguments that the route itself decides.
    pub bind: &'static [(&'static str, &'static str)],
    /// Arguments that make no sense on it: filters that its kind does not have.
    pub without: &'static [&'static str],
    /// The status of success.
    pub status: u16,
}

impl Route {
    /// Binds arguments: the route of a kind decides the kind.
    #[must_use]
    pub const fn with(mut self, bind: &'static [(&'static str, &'static str)]) -> Route {
        self.bind = bind;
        self
    }

    /// Leaves arguments out that would be refused.
    #[must_use]
    pub const fn without(mut self, names: &'static [&'static str]) -> Route {
        self.without = names;
        self
    }

    /// Whether a request may say an argument, in the path or elsewhere.
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

/// `POST path`, which makes something new.
pub const fn create(path: &'static str) -> Route {
    Route { method: Method::Post, path, bind: &[], without: &[], status: 201 }
}

/// `POST path`, which does something.
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

/// A way to an operation on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    /// Its words.
    pub words: &'static str,
    /// Arguments that the command itself decides.
    pub bind: &'static [(&'static str, &'static str)],
    /// Arguments that the command does not take.
    pub without: &'static [&'static str],
    /// Values of arguments that are not given.
    pub defaults: &'static [(&'static str, &'static str)],
    /// The argument of which it takes several values: with more than one, the operation runs once for each, and all of them
    /// happen or none.
    pub several: Option<&'static str>,
    /// What it does, where that is not what the operation says.
    pub summary: Option<&'static str>,
}

/// A command.
pub const fn command(words: &'static str) -> Command {
    Command { words, bind: &[], without: &[], defaults: &[], several: None, summary: None }
}

impl Command {
    /// Binds arguments: the command of a kind decides the kind.
    #[must_use]
    pub const fn with(mut self, bind: &'static [(&'static str, &'static str)]) -> Command {
        self.bind = bind;
        self
    }

    /// Leaves arguments out.
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

    /// Says what the command does, where it does not do all that the operation can.
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

/// A way to an operation for agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tool {
    /// The set that has it. Sets are chosen one by one, so each must be complete in itself.
    pub set: &'static str,
    /// Whether daily work needs it, so that agents are shown it unless they chose otherwise; and which of its arguments they are
    /// shown then. The others are accepted all the same.
    pub daily: Option<&'static [&'static str]>,
    /// Its name, where that is not the operation's.
    pub name: Option<&'static str>,
    /// What it does, where that is not what the operation says.
    pub summary: Option<&'static str>,
    /// Arguments that the tool itself decides.
    pub bind: &'static [(&'static str, &'static str)],
    /// An argument's name here, and its name in the operation.
    pub renamed: Option<(&'static str, &'static str)>,
    /// The arguments that it takes, where those are not all: an agent pays for each that it is shown.
    pub shown: Option<&'static [&'static str]>,
    /// Arguments that it does not take, of those that it otherwise would.
    pub hidden: &'static [&'static str],
    /// Arguments that must be given, though the operation can do without them: the call would change nothing.
    pub required: &'static [&'static str],
    /// Choices of an argument that the operation would reject.
    pub refused: &'static [(&'static str, &'static str)],
    /// Whether the answer can bring along what is above, below and beside the entity.
    pub with_surroundings: bool,
    /// What agents call it who have not read its name, which may be followed by a kind: `get` for `get_epic`.
    pub also: &'static [&'static str],
    /// Arguments of a call, as JSON. The examples of all tools work one after the other, deletions last.
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
    /// Calls the tool by another name than the operation's, and says what it does.
    #[must_use]
    pub const fn named(mut self, name: &'static str, summary: &'static str) -> Tool {
        (self.name, self.summary) = (Some(name), Some(summary));
        self
    }

    /// Says what it does and when to use it, where agents need to know more than the operation says, or less.
    #[must_use]
    pub const fn about(mut self, summary: &'static str) -> Tool {
        self.summary = Some(summary);
        self
    }

    /// Is needed in daily work, with these of its arguments.
    #[must_use]
    pub const fn daily(mut self, arguments: &'static [&'static str]) -> Tool {
        self.daily = Some(arguments);
        self
    }

    /// Binds arguments: the tool of a kind decides the kind.
    #[must_use]
    pub const fn with(mut self, bind: &'static [(&'static str, &'static str)]) -> Tool {
        self.bind = bind;
        self
    }

    /// Calls an argument by another name than the operation's, which comes second.
    #[must_use]
    pub const fn renaming(mut self, here: &'static str, there: &'static str) -> Tool {
        self.renamed = Some((here, there));
        self
    }

    /// Knows what else agents call the tool.
    #[must_use]
    pub const fn also(mut self, names: &'static [&'static str]) -> Tool {
        self.also = names;
        self
    }

    /// Takes these arguments alone.
    #[must_use]
    pub const fn showing(mut self, names: &'static [&'static str]) -> Tool {
        self.shown = Some(names);
        self
    }

    /// Takes all arguments but these.
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

    /// Leaves out choices of arguments.
    #[must_use]
    pub const fn refusing(mut self, choices: &'static [(&'static str, &'static str)]) -> Tool {
        self.refused = choices;
        self
    }

    /// Can bring along what is around the entity.
    #[must_use]
    pub const fn with_surroundings(mut self) -> Tool {
        self.with_surroundings = true;
        self
    }
}

/// What an answer consists of, which decides how it is shortened for whoever can take only so much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// It is not shortened: whoever reads something in order to change it needs all of it.
    Whole,
    /// A list of things that can be read a page at a time. It is under the first name, and how many there are in all is at
    /// the second; where that is empty, the answer has all of them.
    Page(&'static str, &'static str),
    /// Names, and what they mean.
    Names,
    /// What came of each of many operations.
    Steps,
    /// One thing, in which long text can be cut.
    Thing,
    /// A file under `content`, which can be got by itself elsewhere.
    File,
}

/// What an operation does to the things that there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Things may appear. The same call again makes more of them.
    Adds,
    /// Things become different, and neither appear nor go. The same call again changes nothing more.
    Edits,
    /// Things go. The same call again finds nothing left to do.
    Removes,
}

impl Change {
    /// What the method of a route says, which has the same meaning.
    pub(super) const fn by(routes: &[Route]) -> Change {
        match routes {
            [Route { method: Method::Put | Method::Patch, .. }, ..] => Change::Edits,
            [Route { method: Method::Delete, .. }, ..] => Change::Removes,
            _ => Change::Adds,
        }
    }
}

/// What an operation does to the caller's session.
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
    /// What is in the file.
    pub content: &'static str,
    /// Its format, which the file's name may tell.
    pub format: &'static str,
}

/// The columns of a list as a table, and the kind of entity that they are for, where the list may be of several kinds.
pub type Columns = (Option<Kind>, &'static [&'static str]);

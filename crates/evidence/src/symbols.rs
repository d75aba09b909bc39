//! The functions, classes and tests of a source file, and the lines of their bodies.

mod go;
mod java;
mod lines;
mod python;
mod rust;
mod script;

use std::fmt;
use std::ops::RangeInclusive;

use tree_sitter::{Node, Parser, Tree};

/// Larger files are generated, and contain no citations.
pub const SOURCE_BYTES_MAX: usize = 4 << 20;

/// A supported language.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Language {
    /// `.rs`
    Rust,
    /// `.py`
    Python,
    /// `.go`
    Go,
    /// `.java`
    Java,
    /// `.ts`, `.mts`, `.cts`
    TypeScript,
    /// `.js`, `.jsx`, `.mjs`, `.cjs` and `.tsx`, which one grammar parses.
    JavaScript,
}

impl Language {
    /// The language of a file, by its extension.
    pub fn of(file: &str) -> Option<Language> {
        match file.rsplit_once('.')?.1 {
            "rs" => Some(Language::Rust),
            "py" => Some(Language::Python),
            "go" => Some(Language::Go),
            "java" => Some(Language::Java),
            "ts" | "mts" | "cts" => Some(Language::TypeScript),
            "js" | "jsx" | "mjs" | "cjs" | "tsx" => Some(Language::JavaScript),
            _ => None,
        }
    }
}

/// A function, a container of functions, or a test with a title.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// Enclosing modules, classes or titles, and its name. `HOLE` replaces the parameters of a title.
    pub path: Vec<String>,
    /// From its attributes, decorators and comments to its end.
    pub lines: RangeInclusive<u32>,
    /// The lines that run only if it is called: without any line that has a part of a signature, decorator or comment.
    pub body: Vec<u32>,
    /// Whether it is a test.
    pub is_test: bool,
    /// Whether its path consists of titles, as in `describe` and `it`.
    pub is_title: bool,
    /// Whether its title has parameters.
    pub is_pattern: bool,
    /// Whether it is expected to fail, so that a pass proves nothing.
    pub expects_failure: bool,
    /// Whether its framework generates several tests from it, with their own names.
    pub has_parameters: bool,
    separator: &'static str,
}

impl fmt::Display for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path.join(self.separator).replace(HOLE, "…"))
    }
}

/// Replaces the parameters of a title. It is not a character, so it cannot occur in a source file.
pub const HOLE: char = '\u{FDD0}';

/// Lists the symbols of a source file in the order of their starts. Text that does not parse has the recognisable
/// symbols; text longer than `SOURCE_BYTES_MAX` has none.
pub fn symbols(language: Language, source: &str) -> Vec<Symbol> {
    match parse(language, source) {
        Some(tree) => collect(language, source, &tree),
        None => Vec::new(),
    }
}

/// The innermost symbol around a line.
pub fn enclosing(symbols: &[Symbol], line: u32) -> Option<&Symbol> {
    let around = symbols.iter().filter(|symbol| symbol.lines.contains(&line));
    around.min_by_key(|symbol| symbol.lines.end() - symbol.lines.start())
}

fn parse(language: Language, source: &str) -> Option<Tree> {
    if source.len() > SOURCE_BYTES_MAX {
        return None;
    }
    let grammar = match language {
        Language::Rust => tree_sitter_rust::LANGUAGE,
        Language::Python => tree_sitter_python::LANGUAGE,
        Language::Go => tree_sitter_go::LANGUAGE,
        Language::Java => tree_sitter_java::LANGUAGE,
        Language::TypeScript => tree_sitter_typescript::LANGUAGE_TYPESCRIPT,
        Language::JavaScript => tree_sitter_typescript::LANGUAGE_TSX,
    };
    let mut parser = Parser::new();
    parser.set_language(&grammar.into()).expect("the grammar is made for this parser");
    parser.parse(source, None)
}

/// What a node declares.
struct Found<'t> {
    name: String,
    kind: Kind,
    /// The node whose lines are the symbol's: a decorated function is inside of its decoration.
    whole: Node<'t>,
    body: Option<Node<'t>>,
    is_test: bool,
    has_parameters: bool,
    expects_failure: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Its body is the bodies of its functions: other lines run when it is loaded.
    Container,
    Function,
    TitledContainer,
    TitledTest,
}

/// A symbol that is still open while its nodes are walked.
struct Open {
    end: usize,
    kind: Kind,
    symbol: usize,
}

/// Walks without recursion, because the depth of the tree depends on the file.
fn collect(language: Language, source: &str, tree: &Tree) -> Vec<Symbol> {
    let mut symbols: Vec<Symbol> = Vec::new();
    let mut open: Vec<Open> = Vec::new();
    let mut cursor = tree.walk();
    'walk: loop {
        let node = cursor.node();
        while open.last().is_some_and(|last| last.end <= node.start_byte()) {
            open.pop();
        }
        let in_title = open.iter().any(|open| open.kind == Kind::TitledTest);
        let found = match language {
            Language::Rust => rust::declared(node, source),
            Language::Python => python::declared(node, source),
            Language::Go => go::declared(node, source),
            Language::Java => java::declared(node, source),
            Language::TypeScript | Language::JavaScript => script::declared(node, source, in_title),
        };
        if let Some(found) = found {
            let kind = found.kind;
            let end = found.whole.end_byte();
            let around = open.iter().map(|open| (open.kind, open.symbol)).collect::<Vec<_>>();
            let symbol = symbol(language, source, found, &around, &symbols);
            if kind == Kind::Function || kind == Kind::TitledTest {
                for (kind, container) in around {
                    if matches!(kind, Kind::Container | Kind::TitledContainer) {
                        symbols[container].body.extend(&symbol.body);
                    }
                }
            }
            open.push(Open { end, kind, symbol: symbols.len() });
            symbols.push(symbol);
        }
        if cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                break 'walk;
            }
        }
    }
    for symbol in &mut symbols {
        symbol.body.sort_unstable();
        symbol.body.dedup();
    }
    symbols
}

fn symbol(
    language: Language,
    source: &str,
    found: Found<'_>,
    around: &[(Kind, usize)],
    symbols: &[Symbol],
) -> Symbol {
    let is_titled = |kind: Kind| matches!(kind, Kind::TitledContainer | Kind::TitledTest);
    // A helper inside a test has no title, and a test inside a function is identified by its title alone.
    let is_title = is_titled(found.kind);
    let parent = around.iter().rev().find(|(kind, _)| is_titled(*kind) == is_title);
    let mut path = parent.map_or_else(Vec::new, |(_, symbol)| symbols[*symbol].path.clone());
    path.push(found.name);
    let is_function = matches!(found.kind, Kind::Function | Kind::TitledTest);
    let body = match found.body {
        Some(body) if is_function => lines::of_body(body, source),
        _ => Vec::new(),
    };
    Symbol {
        lines: lines::of_symbol(found.whole),
        body,
        is_test: found.is_test,
        is_title,
        is_pattern: is_title && path.iter().any(|title| title.contains(HOLE)),
        has_parameters: found.has_parameters,
        expects_failure: found.expects_failure,
        path,
        separator: match language {
            _ if is_title => " > ",
            Language::Rust => "::",
            _ => ".",
        },
    }
}

/// The text of a node.
fn text<'s>(node: Node<'_>, source: &'s str) -> &'s str {
    source.get(node.byte_range()).unwrap_or_default()
}

/// The text of a node's field.
fn field<'s>(node: Node<'_>, name: &str, source: &'s str) -> Option<&'s str> {
    Some(text(node.child_by_field_name(name)?, source)).filter(|text| !text.is_empty())
}

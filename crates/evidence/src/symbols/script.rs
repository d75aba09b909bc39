//! Functions of JavaScript and TypeScript, and tests with titles.

use tree_sitter::Node;

use super::{Found, HOLE, Kind, field, text};

const SUITES: [&str; 5] = ["describe", "context", "suite", "fdescribe", "xdescribe"];
const TESTS: [&str; 6] = ["it", "test", "specify", "fit", "xit", "xtest"];
/// Names that may follow them. Others belong to the framework, such as hooks.
const MODIFIERS: [&str; 12] = [
    "only",
    "skip",
    "todo",
    "each",
    "for",
    "concurrent",
    "sequential",
    "fails",
    "failing",
    "runIf",
    "skipIf",
    "serial",
];

pub fn declared<'t>(node: Node<'t>, source: &str, in_title: bool) -> Option<Found<'t>> {
    let function = |name: &str, whole: Node<'t>, body: Option<Node<'t>>| Found {
        name: name.to_owned(),
        kind: Kind::Function,
        whole,
        body,
        is_test: false,
        has_parameters: false,
        expects_failure: false,
    };
    match node.kind() {
        "call_expression" => titled(node, source, in_title),
        "class_declaration" | "abstract_class_declaration" | "internal_module" => {
            Some(Found { kind: Kind::Container, ..function(field(node, "name", source)?, node, None) })
        }
        "function_declaration" | "generator_function_declaration" | "method_definition" => {
            Some(function(field(node, "name", source)?, node, node.child_by_field_name("body")))
        }
        "variable_declarator" | "public_field_definition" => {
            let value = node.child_by_field_name("value").filter(|value| is_function(*value))?;
            // Comments precede the whole statement.
            let whole =
                node.parent().filter(|parent| parent.kind().ends_with("_declaration")).unwrap_or(node);
            Some(function(field(node, "name", source)?, whole, value.child_by_field_name("body")))
        }
        _ => None,
    }
}

fn is_function(node: Node<'_>) -> bool {
    matches!(node.kind(), "arrow_function" | "function_expression" | "generator_function")
}

fn titled<'t>(node: Node<'t>, source: &str, in_title: bool) -> Option<Found<'t>> {
    let mut callee = node.child_by_field_name("function")?;
    // `it.each(table)("title", …)`
    if callee.kind() == "call_expression" {
        callee = callee.child_by_field_name("function")?;
    }
    let names: Vec<&str> = text(callee, source).split('.').map(str::trim).collect();
    let (base, modifiers) = names.split_first()?;
    let is_known = |name: &&str| MODIFIERS.contains(name);
    let kind = match modifiers {
        // `test.describe`, `t.test`
        [only] if SUITES.contains(only) && TESTS.contains(base) => Kind::TitledContainer,
        [only] if TESTS.contains(only) && in_title => Kind::TitledTest,
        _ if !modifiers.iter().all(is_known) => return None,
        _ if SUITES.contains(base) => Kind::TitledContainer,
        _ if TESTS.contains(base) => Kind::TitledTest,
        _ => return None,
    };
    let arguments = node.child_by_field_name("arguments").filter(|list| list.kind() == "arguments")?;
    let is_each = modifiers.iter().any(|name| matches!(*name, "each" | "for"));
    let name = title(arguments.named_child(0)?, source, is_each)?;
    let mut cursor = arguments.walk();
    let callback = arguments.named_children(&mut cursor).find(|argument| is_function(*argument));
    let body = callback.and_then(|callback| callback.child_by_field_name("body"));
    let whole = node.parent().filter(|parent| parent.kind() == "expression_statement").unwrap_or(node);
    let expects_failure = modifiers.iter().any(|name| matches!(*name, "fails" | "failing"));
    let is_test = kind == Kind::TitledTest;
    Some(Found { name, kind, whole, body, is_test, has_parameters: is_each, expects_failure })
}

/// The title in an argument; none if all of it is computed.
fn title(argument: Node<'_>, source: &str, is_each: bool) -> Option<String> {
    let mut title = String::new();
    match argument.kind() {
        "string" | "template_string" => {
            let mut cursor = argument.walk();
            for part in argument.named_children(&mut cursor) {
                match part.kind() {
                    "escape_sequence" => title.push_str(unescaped(text(part, source))),
                    "template_substitution" => title.push(HOLE),
                    _ => title.push_str(text(part, source)),
                }
            }
        }
        _ => return None,
    }
    let title = if is_each { with_holes(&title) } else { title };
    title.contains(|c: char| c != HOLE && !c.is_whitespace()).then_some(title)
}

fn unescaped(escape: &str) -> &str {
    match escape {
        "\\n" => "\n",
        "\\t" => "\t",
        "\\r" => "\r",
        other => other.strip_prefix('\\').unwrap_or(other),
    }
}

/// Replaces `%s`, `$name` and the like by holes.
fn with_holes(title: &str) -> String {
    let mut holed = String::with_capacity(title.len());
    let mut rest = title;
    while let Some(at) = rest.find(['%', '$']) {
        holed.push_str(&rest[..at]);
        let (mark, after) = rest[at..].split_at(1);
        rest = after;
        let next = after.chars().next();
        match (mark, next) {
            ("%", Some('%')) => {
                holed.push('%');
                rest = &after[1..];
            }
            ("%", Some(kind)) if "sdifjopc#$".contains(kind) => {
                holed.push(HOLE);
                rest = &after[1..];
            }
            ("$", Some(start)) if start.is_alphabetic() || "_#".contains(start) => {
                holed.push(HOLE);
                let end = after.find(|c: char| !c.is_alphanumeric() && !"_.#".contains(c));
                rest = &after[end.unwrap_or(after.len())..];
            }
            _ => holed.push_str(mark),
        }
    }
    holed + rest
}

//! Functions and tests of Python.

use tree_sitter::Node;

use super::{Found, Kind, field};

pub fn declared<'t>(node: Node<'t>, source: &str) -> Option<Found<'t>> {
    let kind = match node.kind() {
        "class_definition" => Kind::Container,
        "function_definition" => Kind::Function,
        _ => return None,
    };
    let name = field(node, "name", source)?;
    let whole = node.parent().filter(|parent| parent.kind() == "decorated_definition").unwrap_or(node);
    let is_test = kind == Kind::Function && name.starts_with("test");
    let body = node.child_by_field_name("body");
    Some(Found {
        name: name.to_owned(),
        kind,
        whole,
        body,
        is_test,
        has_parameters: false,
        expects_failure: false,
    })
}

//! Methods and tests of Java.

use tree_sitter::Node;

use super::{Found, Kind, field, text};

const TESTS: [&str; 6] =
    ["Test", "ParameterizedTest", "RepeatedTest", "TestFactory", "TestTemplate", "Property"];

pub fn declared<'t>(node: Node<'t>, source: &str) -> Option<Found<'t>> {
    let kind = match node.kind() {
        "class_declaration" | "interface_declaration" | "enum_declaration" | "record_declaration" => {
            Kind::Container
        }
        "method_declaration" | "constructor_declaration" => Kind::Function,
        _ => return None,
    };
    let name = field(node, "name", source)?.to_owned();
    let mut cursor = node.walk();
    let modifiers = node.children(&mut cursor).find(|child| child.kind() == "modifiers");
    let annotations = modifiers.map_or("", |modifiers| text(modifiers, source));
    let mut names = annotations.split('@').skip(1).map(|annotation| {
        let end = annotation.find(|c: char| !c.is_alphanumeric() && c != '.').unwrap_or(annotation.len());
        annotation[..end].rsplit('.').next().unwrap_or_default()
    });
    // Before annotations, tests were recognised by name.
    let is_old = || name.starts_with("test") && annotations.contains("public");
    let is_test = kind == Kind::Function && (names.any(|name| TESTS.contains(&name)) || is_old());
    let body = node.child_by_field_name("body");
    Some(Found { name, kind, whole: node, body, is_test, has_parameters: false, expects_failure: false })
}

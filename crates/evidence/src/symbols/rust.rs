//! Functions and tests of Rust.

use tree_sitter::Node;

use super::{Found, Kind, field, text};

/// Attributes that make a function a test, by the last part of their path.
const TESTS: [&str; 7] =
    ["test", "rstest", "test_case", "quickcheck", "proptest", "wasm_bindgen_test", "parameterized"];
/// Attributes that generate several tests from one function.
const PARAMETERS: [&str; 4] = ["rstest", "test_case", "case", "parameterized"];

pub fn declared<'t>(node: Node<'t>, source: &str) -> Option<Found<'t>> {
    let (kind, name) = match node.kind() {
        "mod_item" | "trait_item" => (Kind::Container, field(node, "name", source)?),
        "impl_item" => (Kind::Container, field(node, "type", source)?.split('<').next()?),
        "function_item" => (Kind::Function, field(node, "name", source)?),
        // Macros such as `proptest!` contain functions that the grammar sees only as tokens.
        "fn" if node.parent()?.kind() == "token_tree" => return in_macro(node, source),
        _ => return None,
    };
    let mut attributes = Vec::new();
    let mut above = node.prev_sibling();
    while let Some(before) = above {
        match before.kind() {
            "attribute_item" => attributes.push(attribute(text(before, source))),
            "line_comment" | "block_comment" => {}
            _ => break,
        }
        above = before.prev_sibling();
    }
    let has = |wanted: &[&str]| attributes.iter().any(|attribute| wanted.contains(attribute));
    Some(Found {
        name: name.trim().to_owned(),
        kind,
        whole: node,
        body: node.child_by_field_name("body"),
        is_test: kind == Kind::Function && has(&TESTS),
        has_parameters: has(&PARAMETERS),
        expects_failure: false,
    })
}

fn in_macro<'t>(node: Node<'t>, source: &str) -> Option<Found<'t>> {
    let name = node.next_sibling().filter(|name| name.kind() == "identifier")?;
    let mut after = name.next_sibling();
    let body = loop {
        let token = after?;
        match token.kind() {
            "token_tree" if text(token, source).starts_with('{') => break token,
            ";" | "fn" => return None,
            _ => after = token.next_sibling(),
        }
    };
    let mut is_test = false;
    let mut above = node.prev_sibling();
    while let Some(before) = above {
        let tokens = text(before, source);
        if before.kind() == "token_tree" && tokens.starts_with('{') {
            break;
        }
        is_test |= before.kind() == "token_tree" && tokens == "[test]";
        above = before.prev_sibling();
    }
    let name = text(name, source).to_owned();
    Some(Found {
        name,
        kind: Kind::Function,
        whole: body,
        body: Some(body),
        is_test,
        has_parameters: false,
        expects_failure: false,
    })
}

/// The last part of an attribute's path: `test` of `#[tokio::test(flavor = "…")]`.
fn attribute(text: &str) -> &str {
    let inner = text.trim_start_matches(['#', '!', '[', ' ']);
    let path = inner.split(['(', '=', ']', ' ']).next().unwrap_or_default();
    path.rsplit("::").next().unwrap_or_default()
}

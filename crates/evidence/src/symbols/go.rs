//! Functions and tests of Go.

use tree_sitter::Node;

use super::{Found, Kind, field};

/// The prefixes of functions that `go test` runs and reports.
const TESTS: [&str; 3] = ["Test", "Fuzz", "Example"];

pub fn declared<'t>(node: Node<'t>, source: &str) -> Option<Found<'t>> {
    let name = field(node, "name", source);
    let (name, is_test) = match node.kind() {
        "function_declaration" => (name?.to_owned(), is_test(name?)),
        "method_declaration" => {
            // `(k *Kettle[T])`
            let receiver =
                field(node, "receiver", source)?.trim_matches(['(', ')', ' ']).split('[').next()?;
            let kind = receiver.rsplit([' ', '*']).find(|part| !part.is_empty())?;
            (format!("{kind}.{}", name?), false)
        }
        _ => return None,
    };
    let body = node.child_by_field_name("body");
    Some(Found {
        name,
        kind: Kind::Function,
        whole: node,
        body,
        is_test,
        has_parameters: false,
        expects_failure: false,
    })
}

/// `Testify` is not a test: the character after the prefix must not be lower case.
fn is_test(name: &str) -> bool {
    let after = TESTS.iter().find_map(|prefix| name.strip_prefix(prefix));
    after.is_some_and(|rest| !rest.starts_with(char::is_lowercase))
}

//! The lines of a symbol, and those of them that run only when it is called.

use std::ops::RangeInclusive;

use tree_sitter::Node;

/// From the attributes and comments directly above a node to its end.
pub fn of_symbol(node: Node<'_>) -> RangeInclusive<u32> {
    let mut first = node.start_position().row;
    let mut above = node;
    // An exported or awaited declaration is the last part of the commented node.
    while let Some(parent) = above.parent()
        && above.prev_sibling().is_none_or(|before| before.start_position().row == first && !is_note(before))
        && parent.start_position().row == first
        && parent.parent().is_some()
    {
        above = parent;
    }
    while let Some(before) = above.prev_sibling()
        && is_note(before)
        && last_row(before) + 1 >= first
        && before.prev_sibling().is_none_or(|other| last_row(other) < before.start_position().row)
    {
        first = before.start_position().row;
        above = before;
    }
    line(first)..=line(last_row(node))
}

/// The lines of a body with code. Coverage tools mark signatures as executed when a file is loaded, and brackets and
/// comments like the code around them.
pub fn of_body(body: Node<'_>, source: &str) -> Vec<u32> {
    let mut after = body.prev_sibling().map(last_row);
    if body.child(0).is_some_and(|first| first.kind() == "{") {
        after = after.max(Some(body.start_position().row));
    }
    let is_documentation = |node: Node<'_>| {
        let text = node.kind() == "string" || node.named_child(0).is_some_and(|only| only.kind() == "string");
        body.kind() == "block" && node.kind() == "expression_statement" && text
    };
    let documentation = body.named_child(0).filter(|first| is_documentation(*first)).map(|first| first.id());
    let mut rows = Vec::new();
    let mut cursor = body.walk();
    'walk: loop {
        let node = cursor.node();
        let is_left_out = is_comment(node) || Some(node.id()) == documentation;
        if !is_left_out && node.child_count() == 0 && is_code(&source[node.byte_range()]) {
            rows.extend(node.start_position().row..=last_row(node));
        }
        if !is_left_out && cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                break 'walk;
            }
        }
    }
    rows.retain(|row| Some(*row) > after);
    rows.sort_unstable();
    rows.dedup();
    rows.into_iter().map(line).collect()
}

fn is_code(leaf: &str) -> bool {
    leaf.contains(|c: char| !c.is_whitespace() && !"{}()[];,".contains(c))
}

fn is_comment(node: Node<'_>) -> bool {
    node.kind().ends_with("comment")
}

fn is_note(node: Node<'_>) -> bool {
    is_comment(node) || node.kind() == "attribute_item" || node.kind() == "decorator"
}

/// The last row of a node: some grammars end a comment at the start of the next row.
fn last_row(node: Node<'_>) -> usize {
    let end = node.end_position();
    if end.column == 0 && end.row > node.start_position().row { end.row - 1 } else { end.row }
}

fn line(row: usize) -> u32 {
    u32::try_from(row + 1).unwrap_or(u32::MAX)
}

//! What the lines of Java source code hold.
//!
//! The lines that matter are those for which JaCoCo tells whether they ran. Which construct counts as what is
//! Duvet's choice, and verdicts depend on it.

use tree_sitter::{Node, Parser, Tree};

use super::line::{Block, Class};

/// The lines and the blocks of a file.
#[derive(Debug)]
pub struct Java {
    /// For each line what it holds, if that is known.
    pub classes: Vec<Option<Class>>,
    /// In the order in which they close.
    pub blocks: Vec<Block>,
}

/// Reads a file, or returns the lines that are not Java, in order.
pub fn read(text: &str) -> Result<Java, Vec<u32>> {
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_java::LANGUAGE.into()).expect("the grammar is made for this parser");
    let tree = parser.parse(text, None).ok_or_else(|| vec![1])?;
    if tree.root_node().has_error() {
        return Err(wrong_lines(&tree));
    }
    let mut lines = Lines::new(text);
    let mut blocks = Vec::new();
    each(&tree, |node| {
        lines.add(node);
        if is_block(node.kind()) {
            blocks.push((node.end_byte(), block(node)));
        }
    });
    blocks.sort_by_key(|(end, _)| *end);
    Ok(Java { classes: lines.finish(), blocks: blocks.into_iter().map(|(_, block)| block).collect() })
}

/// Visits all nodes, without recursion: code may be nested deeper than a stack.
fn each<'a>(tree: &'a Tree, mut visit: impl FnMut(Node<'a>)) {
    let mut cursor = tree.walk();
    loop {
        visit(cursor.node());
        if cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return;
            }
        }
    }
}

fn wrong_lines(tree: &Tree) -> Vec<u32> {
    let mut lines = Vec::new();
    each(tree, |node| {
        if node.is_error() || node.is_missing() {
            lines.push(block(node).first);
        }
    });
    lines.sort_unstable();
    lines.dedup();
    if lines.is_empty() { vec![1] } else { lines }
}

fn is_block(kind: &str) -> bool {
    matches!(
        kind,
        "block" | "class_body" | "interface_body" | "enum_body" | "switch_block" | "constructor_body"
    )
}

/// The lines of a node, from 1 on.
fn block(node: Node<'_>) -> Block {
    Block { first: node.start_position().row as u32 + 1, last: node.end_position().row as u32 + 1 }
}

struct Lines {
    /// Nothing for a line that no construct we know touches.
    classes: Vec<Option<Class>>,
    /// Whether code starts on the line, so that a comment there only trails it.
    starts: Vec<bool>,
}

impl Lines {
    fn new(text: &str) -> Lines {
        let class = |line: &str| match line.trim() {
            "" => Some(Class::BLANK),
            line if line.starts_with("//=") || line.starts_with("//#") => Some(Class::ANNOTATION),
            _ => None,
        };
        let classes: Vec<_> = text.lines().map(class).collect();
        Lines { starts: vec![false; classes.len()], classes }
    }

    fn add(&mut self, node: Node<'_>) {
        let all = block(node);
        let first = Block { last: all.first, ..all };
        match node.kind() {
            "class_declaration"
            | "interface_declaration"
            | "enum_declaration"
            | "record_declaration"
            | "method_declaration"
            | "constructor_declaration"
            | "compact_constructor_declaration"
            | "static_initializer" => self.mark(head(node), Class::DECLARATION),
            "expression_statement"
            | "return_statement"
            | "throw_statement"
            | "assert_statement"
            | "break_statement"
            | "continue_statement"
            | "yield_statement" => {
                self.mark(all, Class::STATEMENT);
            }
            "if_statement"
            | "for_statement"
            | "enhanced_for_statement"
            | "while_statement"
            | "do_statement"
            | "switch_expression"
            | "switch_rule" => self.mark(first, Class::STATEMENT),
            "try_statement" | "catch_clause" | "finally_clause" => self.mark(first, Class::DECLARATION),
            "local_variable_declaration" | "field_declaration" => {
                let is_set = has_child(node, |child| {
                    child.kind() == "variable_declarator" && child.child_by_field_name("value").is_some()
                });
                self.mark(all, declared(is_set));
            }
            "enum_constant" => {
                let has_arguments = has_child(node, |child| child.kind() == "argument_list");
                self.mark(all, declared(has_arguments));
            }
            "import_declaration" | "package_declaration" | "marker_annotation" | "annotation" => {
                self.mark(all, Class::DECLARATION);
            }
            "labeled_statement" => self.mark(first, Class::LABEL),
            "line_comment" | "block_comment" => return self.comment(node.kind(), all),
            kind if is_block(kind) => {
                self.mark(first, Class::OPENING);
                self.mark(Block { first: all.last, ..all }, Class::CLOSING);
            }
            _ => return,
        }
        if let Some(starts) = self.starts.get_mut(all.first as usize - 1) {
            *starts = true;
        }
    }

    fn comment(&mut self, kind: &str, lines: Block) {
        let class = self.classes.get(lines.first as usize - 1).copied().flatten();
        if kind == "block_comment" || !class.is_some_and(|class| class.has(Class::ANNOTATION)) {
            self.mark(lines, Class::COMMENT);
        }
    }

    fn mark(&mut self, lines: Block, class: Class) {
        let last = (lines.last as usize).min(self.classes.len());
        let first = (lines.first as usize - 1).min(last);
        for line in &mut self.classes[first..last] {
            *line = Some(line.unwrap_or_default().with(class));
        }
    }

    /// Decides what a line is that holds both code and something else.
    fn finish(self) -> Vec<Option<Class>> {
        let code = Class::STATEMENT.with(Class::DECLARATION).with(Class::LABEL);
        let clean = |(class, starts_code): (Class, bool)| {
            if class.has(Class::ANNOTATION.with(Class::BLANK)) || (class.has(Class::COMMENT) && !starts_code)
            {
                // Some construct goes on over this line, and its braces count wherever they stand.
                class.without(code)
            } else {
                class.without(Class::COMMENT)
            }
        };
        let lines = self.classes.into_iter().zip(self.starts);
        lines.map(|(class, starts_code)| Some(clean((class?, starts_code)))).collect()
    }
}

fn declared(is_set: bool) -> Class {
    if is_set { Class::DECLARATION.with(Class::STATEMENT) } else { Class::DECLARATION }
}

/// The lines of a declaration without those of its body.
fn head(node: Node<'_>) -> Block {
    let all = block(node);
    let mut cursor = node.walk();
    let body =
        node.children(&mut cursor).find(|child| is_block(child.kind()) && child.kind() != "switch_block");
    match body.map(block) {
        Some(body) => Block { last: all.first.max(body.first - 1), ..all },
        None => all,
    }
}

fn has_child(node: Node<'_>, test: impl Fn(Node<'_>) -> bool) -> bool {
    let mut cursor = node.walk();
    node.children(&mut cursor).any(test)
}

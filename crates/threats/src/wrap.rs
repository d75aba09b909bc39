//! Breaks prose at a terminal's width. Files are broken at widths of their own, which look torn anywhere else.

/// Breaks text into lines of at most `width` characters; lines after the first of each paragraph or list item
/// begin with `indent`. Indented lines, as of code, stay as they are.
pub fn wrap(text: &str, width: usize, indent: &str) -> String {
    let mut paragraphs: Vec<String> = Vec::new();
    let mut is_open = false;
    for line in text.lines() {
        let is_blank = line.trim().is_empty();
        let is_fixed = line.starts_with([' ', '\t']);
        match paragraphs.last_mut() {
            Some(paragraph) if is_open && !is_blank && !is_fixed && !is_item(line) => {
                paragraph.push(' ');
                paragraph.push_str(line.trim_end());
            }
            _ => paragraphs.push(line.trim_end().to_owned()),
        }
        is_open = !is_blank && !is_fixed;
    }
    let lines: Vec<String> =
        paragraphs.iter().map(|paragraph| break_lines(paragraph, width, indent)).collect();
    lines.join(&format!("\n{indent}"))
}

fn is_item(line: &str) -> bool {
    let number = line.trim_start_matches(|character: char| character.is_ascii_digit());
    line.starts_with(['-', '*', '•', '#']) || number.len() < line.len() && number.starts_with(['.', ')'])
}

fn break_lines(paragraph: &str, width: usize, indent: &str) -> String {
    if paragraph.starts_with([' ', '\t']) {
        return paragraph.to_owned();
    }
    let mut text = String::new();
    let mut column = 0;
    for word in paragraph.split_whitespace() {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > width {
            text.push('\n');
            text.push_str(indent);
            column = indent.chars().count();
        } else if column > 0 {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += length;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_are_joined_and_broken_anew() {
        let text = "one two\nthree four five\n\n- an item that\n  code()\n1. first\n2. second";
        assert_eq!(
            wrap(text, 12, ""),
            "one two\nthree four\nfive\n\n- an item\nthat\n  code()\n1. first\n2. second"
        );
    }

    #[test]
    fn later_lines_are_indented_and_long_words_stand_alone() {
        assert_eq!(wrap("ab cdefghijklmnop qr", 8, "  "), "ab\n  cdefghijklmnop\n  qr");
        assert_eq!(wrap("", 8, "  "), "");
    }
}

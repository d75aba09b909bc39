//! Marks around users' texts, for readers who might take them for instructions.

/// A text between marks, on one line.
pub fn marked(text: &str) -> String {
    format!("<data>{}</data>", tame(text))
}

/// A text between marks on separate lines.
pub fn marked_lines(text: &str) -> String {
    format!("<data>\n{}\n</data>", tame(text))
}

/// Text in which nothing can close the mark.
fn tame(text: &str) -> String {
    let mut tame = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('<') {
        tame.push_str(before);
        tame.push('<');
        let name = after.trim_start().strip_prefix('/').unwrap_or_default().trim_start();
        if name.get(..4).is_some_and(|name| name.eq_ignore_ascii_case("data")) {
            tame.push('\u{200b}');
        }
        rest = after;
    }
    tame + rest
}

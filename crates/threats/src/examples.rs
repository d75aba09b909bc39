//! How people ask for what patterns are about, when they know nothing of the pattern's words.

/// Subjects, each with indented lines of examples.
static SOURCE: &str = include_str!("examples.txt");

/// Lists the examples for those keywords that are subjects.
pub fn lines(keywords: &[String]) -> Vec<&'static str> {
    let mut lines = Vec::new();
    let mut wanted = false;
    for line in SOURCE.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        match line.strip_suffix(':').filter(|_| !line.starts_with(' ')) {
            Some(subject) => wanted = keywords.iter().any(|keyword| keyword.eq_ignore_ascii_case(subject)),
            None if wanted => lines.push(line.trim()),
            None => {}
        }
    }
    lines
}

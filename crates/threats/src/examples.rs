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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library::Library;

    #[test]
    fn each_subject_is_a_keyword_of_a_built_in_pattern() {
        let library = Library::builtin(&["all"]).unwrap();
        let subjects = SOURCE
            .lines()
            .filter(|line| !line.starts_with([' ', '#']))
            .filter_map(|line| line.strip_suffix(':'));
        for subject in subjects {
            let has_it = library
                .patterns()
                .iter()
                .any(|pattern| pattern.triggers.keywords.iter().any(|keyword| keyword == subject));
            assert!(has_it, "{subject}");
            assert!(lines(&[subject.to_uppercase()]).len() > 5, "{subject}");
        }
        assert!(lines(&["no such subject".to_owned()]).is_empty());
    }
}

//! File paths in a context, and the globs they match.

/// Further paths are ignored.
const PATHS_MAX: usize = 16;

/// Finds words that are file paths: `app/tasks/export.py`, `workers/`; not routes such as `/users/7`.
pub fn paths(context: &str) -> impl Iterator<Item = &str> {
    let around = |character: char| !(character.is_alphanumeric() || "/._-".contains(character));
    context
        .split(|character: char| character.is_whitespace() || "()'\"`,;<>{}|".contains(character))
        .map(move |word| word.trim_matches(around).trim_end_matches('.').trim_start_matches("./"))
        .filter(|word| is_path(word))
        .take(PATHS_MAX)
}

/// Tells whether a path matches a glob of `**`, `*` and `?`.
pub fn matches(glob: &str, path: &str) -> bool {
    let path: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
    let glob: Vec<&str> = glob.split('/').filter(|segment| !segment.is_empty()).collect();
    wildcard(
        &glob,
        &path,
        |segment| *segment == "**",
        |segment, name| {
            let characters: Vec<char> = segment.chars().collect();
            let name: Vec<char> = name.chars().collect();
            wildcard(
                &characters,
                &name,
                |character| *character == '*',
                |character, other| *character == '?' || character == other,
            )
        },
    )
}

/// Matches a whole sequence, with a wildcard for any number of items, in time linear in both lengths' product.
fn wildcard<T>(
    pattern: &[T],
    items: &[T],
    is_any: impl Fn(&T) -> bool,
    same: impl Fn(&T, &T) -> bool,
) -> bool {
    let (mut at, mut item) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while item < items.len() {
        if at < pattern.len() && is_any(&pattern[at]) {
            retry = Some((at + 1, item));
            at += 1;
        } else if at < pattern.len() && same(&pattern[at], &items[item]) {
            at += 1;
            item += 1;
        } else if let Some((after, from)) = retry {
            retry = Some((after, from + 1));
            at = after;
            item = from + 1;
        } else {
            return false;
        }
    }
    pattern[at..].iter().all(is_any)
}

fn is_path(word: &str) -> bool {
    if word.contains("://") || word.starts_with('/') && !word.contains('.') {
        return false;
    }
    let name = word.rsplit('/').next().unwrap_or(word);
    match name.rsplit_once('.') {
        Some((stem, extension)) => !stem.is_empty() && EXTENSIONS.contains(&extension),
        None => name.is_empty() && word.trim_matches('/').contains(char::is_alphabetic),
    }
}

// Without a list, every `object.method` would be a path.
const EXTENSIONS: &[&str] = &[
    "py", "rs", "go", "ts", "tsx", "js", "jsx", "mjs", "java", "kt", "rb", "php", "cs", "html", "jinja",
    "j2", "sql", "graphql", "yaml", "yml", "toml", "tf",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_match_whole_paths() {
        assert!(matches("**/tasks.py", "app/tasks.py"));
        assert!(matches("**/tasks.py", "tasks.py"));
        assert!(matches("**/tasks/**", "app/tasks/export.py"));
        assert!(matches("**/*_task.py", "app/mail_task.py"));
        assert!(matches("*.py", "tasks.py"));
        assert!(!matches("**/tasks.py", "app/mytasks.py"));
        assert!(!matches("**/tasks/**", "app/task/export.py"));
        assert!(!matches("*.py", "app/tasks.py"));
    }

    #[test]
    fn a_hostile_glob_is_not_slow() {
        let glob = "*a".repeat(500);
        assert!(!matches(&glob, &"a".repeat(20_000)[..10_000].replace('a', "ab")));
    }

    #[test]
    fn paths_are_told_from_routes_and_code() {
        let found = |context| paths(context).collect::<Vec<_>>();
        assert_eq!(found("edit `app/tasks/export.py`, please."), ["app/tasks/export.py"]);
        assert_eq!(found("everything in workers/ and tasks.py"), ["workers/", "tasks.py"]);
        assert!(found("GET /users/7 calls Model.query.get(id) / etc").is_empty());
        assert!(found("https://example.org/a.py").is_empty());
    }
}

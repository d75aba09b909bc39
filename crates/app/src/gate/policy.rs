//! What a change does to the files by which it is checked. They come with the change, so that the base's are what counts, and
//! weakening them is a finding.

use std::collections::BTreeSet;

use trace::Config;

use super::rule::{Fact, Rule};
use crate::managed::{PROJECT_FILE, ProjectFile};

/// The files that say what is checked, and how strictly.
#[derive(Debug, Default)]
pub struct Policies {
    /// `.spexus/project.toml`.
    pub project: Option<ProjectFile>,
    /// The source code that `.duvet/config.toml` names, as patterns with their marks.
    pub sources: Vec<String>,
}

/// What closes a requirement, from least to most.
const VERDICTS: [&str; 3] = ["passed", "witnessed", "proven"];
/// How far a run is trusted, from least to most.
const TRUST: [&str; 3] = ["local", "token", "oidc"];

/// The source code that a configuration names, as options of a project name it.
pub fn patterns(config: &Config) -> Vec<String> {
    let named = config
        .sources
        .iter()
        .map(|source| format!("({},{}){}", source.style.meta, source.style.content, source.pattern));
    named.collect()
}

/// What is weaker after a change.
pub fn weakened(before: &Policies, after: &Policies) -> Vec<Fact> {
    let mut found = Vec::new();
    let mut weaker = |path: &str, key: &str, message: String| {
        found.push(Fact {
            rule: Rule::WeakenedPolicy,
            key: key.to_owned(),
            path: path.to_owned(),
            line: 0,
            is_changed: true,
            subject: path.to_owned(),
            message,
            help: vec!["the base's policy was used; change the policy by itself, with a reason that people can look at".to_owned()],
        });
    };
    let missing: BTreeSet<&String> =
        before.sources.iter().filter(|pattern| !after.sources.contains(pattern)).collect();
    for pattern in missing {
        weaker(
            ".duvet/config.toml",
            pattern,
            format!("{pattern} is not source code any more, so that citations in it are not checked"),
        );
    }
    let Some(old) = &before.project else { return found };
    let Some(new) = &after.project else {
        weaker(PROJECT_FILE, "file", "the file was removed, and with it the policy".to_owned());
        return found;
    };
    let rank = |known: &[&str], name: &str| known.iter().position(|known| *known == name);
    for (key, known, old, new) in [
        ("closes", &VERDICTS, &old.policy.closes, &new.policy.closes),
        ("trust", &TRUST, &old.policy.trust, &new.policy.trust),
    ] {
        if rank(known, new) < rank(known, old) {
            weaker(
                PROJECT_FILE,
                key,
                format!("`policy.{key}` was {old:?} and is {new:?}, which asks for less"),
            );
        }
    }
    let added: Vec<&String> = new.policy.refs.iter().filter(|name| !old.policy.refs.contains(name)).collect();
    if !old.policy.refs.is_empty() && new.policy.refs.is_empty() {
        weaker(
            PROJECT_FILE,
            "refs",
            "`policy.refs` named the refs whose runs close, and names none any more".to_owned(),
        );
    } else if let (false, Some(name)) = (old.policy.refs.is_empty(), added.first()) {
        weaker(PROJECT_FILE, "refs", format!("`policy.refs` lets runs of {name} close, too"));
    }
    for (key, old, new) in [
        ("project", Some(&old.project), Some(&new.project)),
        ("repository", old.repository.as_ref(), new.repository.as_ref()),
        ("server", old.server.as_ref(), new.server.as_ref()),
    ] {
        if let Some(old) = old.filter(|old| Some(*old) != new) {
            let new = new.map_or("nothing".to_owned(), |new| format!("{new:?}"));
            weaker(
                PROJECT_FILE,
                key,
                format!("`{key}` was {old:?} and is {new}, so that other requirements and evidence count"),
            );
        }
    }
    for pattern in old.reports.iter().filter(|pattern| !new.reports.contains(pattern)) {
        weaker(
            PROJECT_FILE,
            pattern,
            format!("`reports` does not name {pattern} any more, so that what it says is not looked at"),
        );
    }
    for source in old.sources.iter().filter(|source| !new.sources.contains(source)) {
        let pattern = &source.pattern;
        weaker(
            PROJECT_FILE,
            pattern,
            format!("{pattern} is not source code any more, so that citations in it are not checked"),
        );
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "project = 'SHOP'\nrepository = 'a'\nreports = ['r/*.xml']\n[policy]\ncloses = 'witnessed'\ntrust = 'token'\n\
                        refs = ['refs/heads/main']\n[[source]]\npattern = 'src/*.rs'\n";

    #[track_caller]
    fn check(replaced: &[(&str, &str)], expected: &[&str]) {
        let text = replaced.iter().fold(FILE.to_owned(), |text, (from, to)| text.replace(from, to));
        let policies = |text: &str| Policies {
            project: Some(ProjectFile::parse(text).unwrap()),
            sources: vec!["a".to_owned()],
        };
        let found = weakened(&policies(FILE), &policies(&text));
        let found: Vec<&str> = found.iter().map(|fact| fact.message.split(',').next().unwrap()).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn asking_for_less_is_told_and_asking_for_more_is_not() {
        check(&[], &[]);
        check(&[("witnessed", "passed")], &["`policy.closes` was \"witnessed\" and is \"passed\""]);
        check(&[("witnessed", "proven")], &[]);
        check(&[("token", "local")], &["`policy.trust` was \"token\" and is \"local\""]);
        check(&[("token", "oidc")], &[]);
        check(&[("['refs/heads/main']", "[]")], &["`policy.refs` named the refs whose runs close"]);
        check(&[("main']", "main', 'refs/heads/x']")], &["`policy.refs` lets runs of refs/heads/x close"]);
        check(&[("'r/*.xml'", "")], &["`reports` does not name r/*.xml any more"]);
        check(&[("'r/*.xml'", "'r/*.xml', 's/*.xml'")], &[]);
        check(&[("src/*.rs", "lib/*.rs")], &["src/*.rs is not source code any more"]);
        check(&[("SHOP", "LIB")], &["`project` was \"SHOP\" and is \"LIB\""]);
        check(&[("repository = 'a'\n", "")], &["`repository` was \"a\" and is nothing"]);
    }

    #[test]
    fn removing_the_files_is_told() {
        let before =
            Policies { project: ProjectFile::parse(FILE).ok(), sources: vec!["(//=,//#)a".to_owned()] };
        let found = weakened(&before, &Policies::default());
        assert_eq!(found.len(), 2);
        assert!(weakened(&Policies::default(), &before).is_empty(), "adding a policy weakens nothing");
    }
}

//! `duvet init`: starts a project.

use std::fmt::Write as _;
use std::path::Path;

use trace::extract::render::string;

use super::arguments::{InitArguments, Languages, WriteArguments};
use super::output::Outputs;
use super::{Failure, current_folder, progress};

const FOLDER: &str = ".duvet";

/// Writes the configuration and what git shall ignore. What is there already stays.
pub fn run(arguments: &InitArguments) -> Result<u8, Failure> {
    let languages = match arguments.languages {
        languages if languages == Languages::default() => detect(),
        languages => languages,
    };
    let outputs = Outputs::new(&current_folder()?, &WriteArguments::default());
    for (name, text) in [
        ("config.toml", config(languages, &arguments.specification)),
        (".gitignore", "reports/\n".to_owned()),
    ] {
        let path = Path::new(FOLDER).join(name);
        let shown = path.display();
        match outputs.create(&path, &text).map_err(Failure::new)? {
            true => progress("Wrote", &shown.to_string()),
            false => progress("Kept", &format!("{shown}, which is there already")),
        }
    }
    Ok(super::DONE)
}

fn config(languages: Languages, specifications: &[String]) -> String {
    let mut text = format!("'$schema' = {}\n\n", string(trace::config::SCHEMA));
    let mut has_source = false;
    for (_, pattern, marks) in SOURCES.iter().filter(|(is_wanted, ..)| is_wanted(&languages)) {
        has_source = true;
        let _ = writeln!(text, "[[source]]\npattern = {}", string(pattern));
        if let Some((meta, content)) = marks {
            let (meta, content) = (string(meta), string(content));
            let _ = writeln!(text, "comment-style = {{ meta = {meta}, content = {content} }}");
        }
        text.push('\n');
    }
    if !has_source {
        text += "# Which files may have annotations\n# [[source]]\n# pattern = \"src/**/*.rs\"\n\n";
    }
    if specifications.is_empty() {
        text += "# Which specifications are to be fulfilled\n# [[specification]]\n\
                 # source = \"https://www.rfc-editor.org/rfc/rfc2324\"\n";
    }
    for specification in specifications {
        let _ = writeln!(text, "[[specification]]\nsource = {}", string(specification));
    }
    text += "\n[report.html]\nenabled = true\n\n\
             # Keeps coverage from getting worse: `duvet report` writes it, `duvet report --ci` compares\n\
             [report.snapshot]\nenabled = true\n";
    text
}

type Wanted = fn(&Languages) -> bool;
type Marks = Option<(&'static str, &'static str)>;

/// Where the source code of a language is, and the marks of annotations if they are not the usual ones.
const SOURCES: &[(Wanted, &str, Marks)] = &[
    (|languages| languages.c, "src/**/*.c", Some(("*=", "*#"))),
    (|languages| languages.cryptoverif, "**/*.cv", Some(("*=", "*#"))),
    (|languages| languages.go, "src/**/*.go", None),
    (|languages| languages.java, "src/**/*.java", None),
    (|languages| languages.javascript, "src/**/*.js", None),
    (|languages| languages.proverif, "**/*.pv", Some(("*=", "*#"))),
    (|languages| languages.python, "src/**/*.py", Some(("##=", "##%"))),
    (|languages| languages.typescript, "src/**/*.ts", None),
    (|languages| languages.ruby, "lib/**/*.rb", Some(("##=", "##%"))),
    (|languages| languages.rust, "src/**/*.rs", None),
];

/// Guesses the languages from the files that their build tools leave.
fn detect() -> Languages {
    let any = |names: &[&str]| names.iter().any(|name| Path::new(name).exists());
    Languages {
        c: any(&["CMakeLists.txt"]),
        go: any(&["go.mod"]),
        java: any(&["pom.xml", "build.gradle", "build.gradle.kts"]),
        javascript: any(&["package.json"]),
        python: any(&["requirements.txt", "pyproject.toml", "setup.py"]),
        typescript: any(&["tsconfig.json"]),
        ruby: any(&["Gemfile"]),
        rust: any(&["Cargo.toml"]),
        ..Languages::default()
    }
}

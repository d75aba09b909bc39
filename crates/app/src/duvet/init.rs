//! `duvet init`: starts a project with patterns that match its files.

use std::fmt::Write as _;
use std::path::Path;

use trace::extract::render::string;

use super::arguments::{InitArguments, WriteArguments};
use super::output::Outputs;
use super::survey::{self, Survey};
use super::{Failure, current_folder, progress};

const FOLDER: &str = ".duvet";

/// Writes the configuration and `.gitignore`. Existing files stay.
pub fn run(arguments: &InitArguments) -> Result<u8, Failure> {
    let survey = Survey::of(Path::new("."), &arguments.languages, &arguments.specification);
    let outputs = Outputs::new(&current_folder()?, &WriteArguments::default());
    let mut is_new = false;
    for (name, text) in [("config.toml", config(&survey)), (".gitignore", "reports/\n".to_owned())] {
        let path = Path::new(FOLDER).join(name);
        let shown = path.display();
        match outputs.create(&path, &text).map_err(Failure::new)? {
            true => {
                is_new |= name == "config.toml";
                progress("Wrote", &shown.to_string());
            }
            false => progress("Kept", &format!("{shown}, which is there already")),
        }
    }
    if is_new {
        tell(&survey);
    }
    Ok(super::DONE)
}

/// Prints what the configuration finds, a sample citation, and the next step.
fn tell(survey: &Survey) {
    for source in &survey.sources {
        let what = match source.n_files {
            0 => "no file yet".to_owned(),
            1 => "1 file".to_owned(),
            n => format!("{n} files"),
        };
        progress("Source", &format!("{} matches {what}", source.pattern));
    }
    for specification in &survey.specifications {
        let count =
            specification.n_requirements.map(|n| format!(" has {n} requirements")).unwrap_or_default();
        progress("Specification", &format!("{}{count}", specification.name));
    }
    let (meta, content) = survey.sources.first().map_or(survey::USUAL_MARKS, |source| source.marks);
    let file = survey.sources.first().and_then(|source| source.example.as_deref());
    let place = file.map(|file| format!(", for instance in {file}")).unwrap_or_default();
    let sample = survey.specifications.iter().find_map(|specification| specification.sample.as_ref());
    let (target, quote) = match sample {
        Some((target, quote)) => (target.as_str(), quote.as_str()),
        None => ("TARGET#SECTION", "the sentence with MUST, SHOULD or MAY"),
    };
    let _ = std::io::Write::write_all(
        &mut anstream::stderr(),
        format!(
            "\nCite a requirement above the code that implements it{place}:\n\n    {meta} {target}\n    {content} {quote}\n\n\
             Next: duvet report\n"
        )
        .as_bytes(),
    );
}

fn config(survey: &Survey) -> String {
    let mut text = format!("'$schema' = {}\n\n", string(trace::config::SCHEMA));
    for source in &survey.sources {
        let _ = writeln!(text, "[[source]]\npattern = {}", string(&source.pattern));
        if source.marks != survey::USUAL_MARKS {
            let (meta, content) = source.marks;
            let (meta, content) = (string(meta), string(content));
            let _ = writeln!(text, "comment-style = {{ meta = {meta}, content = {content} }}");
        }
        text.push('\n');
    }
    if survey.sources.is_empty() {
        text += "# Which files may have annotations\n# [[source]]\n# pattern = \"src/**/*.rs\"\n\n";
    }
    if survey.specifications.is_empty() {
        text += "# Which specifications are to be fulfilled\n# [[specification]]\n\
                 # source = \"https://www.rfc-editor.org/rfc/rfc2324\"\n";
    }
    for specification in &survey.specifications {
        let _ = writeln!(text, "[[specification]]\nsource = {}", string(&specification.name));
    }
    text += "\n[report.html]\nenabled = true\n\n\
             # Keeps coverage from getting worse: `duvet report` writes it, `duvet report --ci` compares\n\
             [report.snapshot]\nenabled = true\n";
    text
}

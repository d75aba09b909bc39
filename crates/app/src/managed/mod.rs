//! Managed requirements in a project: `.spexus/project.toml`, where their texts come from, `spexus pull`,
//! `spexus cite` and `spexus push`.

mod arguments;
mod beside;
mod checkout;
mod cite;
mod cited;
mod commit;
mod file;
mod live;
mod pull;
mod pulled;
mod push;
mod reports;

use std::path::Path;
use std::sync::Arc;

use trace::managed::{Lookup, ManagedName, ManagedTexts};
use trace::project::{CONFIG_PATH, Options};

pub use arguments::commands;
pub use beside::{Beside, look_from_here};
pub(crate) use checkout::Checkout;
pub use cite::run as cite;
pub(crate) use commit::{GitFolders, folders as git_folders};
pub use file::{PROJECT_FILE, Policy, ProjectFile, origin};
pub use live::{Live, Seen, Source, ask_store, store_edition};
pub use pull::run as pull;
pub(crate) use pull::source;
pub use pulled::Pulled;
pub use push::run as push;
pub(crate) use reports::{Reports, matching as matching_reports};

/// Whether a folder is the root of a project.
pub fn is_root(folder: &Path) -> bool {
    folder.join(CONFIG_PATH).is_file() || folder.join(PROJECT_FILE).is_file()
}

/// Adds what `.spexus/project.toml` says to the options of a project, with the texts that `spexus pull` wrote. Returns the
/// file, if there is one.
pub fn with_pulled(options: &mut Options) -> Result<Option<ProjectFile>, Vec<trace::Diagnostic>> {
    let file = ProjectFile::read(&options.root)?;
    if let Some(file) = &file {
        options.source_patterns.extend(file.source_patterns());
        // What failed is quoted there with its citations.
        options.excluded_patterns.extend(file.reports.iter().cloned());
        options.managed = Some(Arc::new(Pulled::new(&options.root, file)));
    }
    Ok(file)
}

/// The same for a server, which starts even with an invalid file: every answer names the problems.
pub fn with_pulled_or_problem(options: &mut Options) -> Option<ProjectFile> {
    with_pulled(options).unwrap_or_else(|problems| {
        let problems = problems.iter().map(crate::duvet::server::line).collect();
        options.managed = Some(Arc::new(Unusable(problems)));
        None
    })
}

/// Texts of a project whose file cannot be used.
#[derive(Debug)]
struct Unusable(Vec<String>);

impl ManagedTexts for Unusable {
    fn project(&self) -> &str {
        "DEFAULT"
    }

    fn look_up(&self, names: &[ManagedName]) -> Vec<Lookup> {
        names.iter().map(|_| Lookup::Unreachable(format!("{PROJECT_FILE} cannot be used"))).collect()
    }

    fn edition(&self) -> u64 {
        0
    }

    fn notes(&self) -> Vec<String> {
        self.0.clone()
    }
}

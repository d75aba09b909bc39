//! What `spexus pull` wrote: a text file for each cited requirement, which Duvet reads too, and one file with what else there
//! is to know about them: versions, and the earlier texts that citations quote.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use trace::managed::{self, Gone, Lookup, ManagedKind, ManagedName, ManagedText, ManagedTexts};
use trace::project::read_if_there;
use trace::text::fingerprint;

use super::file::ProjectFile;

/// What there is to know beside the texts.
pub const PULLED_FILE: &str = ".spexus/pulled.json";
/// Where the texts are: where Duvet looks for specifications.
const TEXTS: &str = ".duvet/specifications";
/// Larger files are refused.
const SIZE_MAX_BYTES: usize = 16 << 20;
/// The form of the file.
const FORM: u32 = 1;

/// The file with versions and earlier texts.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PulledFile {
    /// The form of the file.
    pub form: u32,
    /// What is known of each requirement, by project and reference.
    pub requirements: BTreeMap<String, PulledEntry>,
    /// Names that no requirement had.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub unknown: BTreeSet<String>,
}

/// What is known of a requirement beside its text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PulledEntry {
    /// Its title.
    pub title: String,
    /// The version in which its text changed last.
    pub content_version: u64,
    /// Its newest version.
    pub version: u64,
    /// The fingerprint of its text file.
    pub hash: String,
    /// `deleted` or `obsolete`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gone: Option<String>,
    /// Earlier texts that citations quote, each by the version in which it was written.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub earlier: BTreeMap<u64, String>,
}

impl PulledFile {
    /// A file without any requirement.
    pub fn new() -> PulledFile {
        PulledFile { form: FORM, ..PulledFile::default() }
    }

    /// Reads the file of a project; nothing was pulled if there is none.
    pub fn read(root: &Path) -> Result<PulledFile, String> {
        let Some(text) = read_if_there(root, PULLED_FILE.as_ref())? else { return Ok(PulledFile::new()) };
        let wrong = |problem: String| format!("{PULLED_FILE}: {problem}; `spexus pull` writes it anew");
        if text.len() > SIZE_MAX_BYTES {
            return Err(wrong(format!("it has more than {SIZE_MAX_BYTES} bytes")));
        }
        let file: PulledFile = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        match file.form {
            FORM => Ok(file),
            form => Err(wrong(format!("its form is {form}, and {FORM} is known"))),
        }
    }
}

/// The key of a requirement in the file.
pub fn key(name: &ManagedName) -> String {
    format!("{}/{}", name.project.as_deref().unwrap_or("DEFAULT"), name.reference)
}

/// The text file of a requirement, relative to the root. The parts of a name are letters and digits alone.
pub fn text_path(name: &ManagedName) -> PathBuf {
    Path::new(TEXTS).join(format!("{}.txt", key(name)))
}

/// The texts that were pulled into a project.
#[derive(Debug)]
pub struct Pulled {
    root: PathBuf,
    project: String,
    /// The only project whose texts may be told.
    only: Option<String>,
    /// What whoever asks must know of them.
    note: Option<String>,
}

impl Pulled {
    /// Those of the project in a folder.
    pub fn new(root: &Path, file: &ProjectFile) -> Pulled {
        Pulled { root: root.to_path_buf(), project: file.project.clone(), only: None, note: None }
    }

    /// The same without the texts of other projects than this one, which are answered like what is not there.
    pub fn only(self, project: &str) -> Pulled {
        Pulled { only: Some(project.to_owned()), ..self }
    }

    /// The same with something to know of them.
    pub fn noted(self, note: String) -> Pulled {
        Pulled { note: Some(note), ..self }
    }

    fn find(&self, file: &PulledFile, name: &ManagedName) -> Result<Lookup, String> {
        let key = key(name);
        let is_hidden = self.only.is_some() && self.only != name.project;
        if is_hidden || file.unknown.contains(&key) {
            return Ok(Lookup::Unknown { nearest: None });
        }
        let (Some(entry), Some(kind)) = (file.requirements.get(&key), ManagedKind::of(&name.reference))
        else {
            return Err("it was not pulled; `spexus pull` does so".to_owned());
        };
        let path = text_path(name);
        let shown = path.display();
        let text = read_if_there(&self.root, &path)?;
        let text = text.ok_or_else(|| format!("{shown} is missing; `spexus pull` writes it"))?;
        if fingerprint(&text) != entry.hash {
            return Err(format!("{shown} is not as it was pulled; `spexus pull` writes it anew"));
        }
        Ok(Lookup::Found(ManagedText {
            project: name.project.clone().unwrap_or_default(),
            reference: name.reference.clone(),
            kind,
            title: entry.title.clone(),
            text: managed::body(&text).to_owned(),
            content_version: entry.content_version,
            version: entry.version,
            gone: entry.gone.as_deref().map(|gone| Gone::from_name(gone).unwrap_or(Gone::Obsolete)),
            earlier: entry.earlier.iter().map(|(version, text)| (*version, text.clone())).collect(),
        }))
    }
}

impl ManagedTexts for Pulled {
    fn project(&self) -> &str {
        &self.project
    }

    fn look_up(&self, names: &[ManagedName]) -> Vec<Lookup> {
        let file = PulledFile::read(&self.root);
        let find = |name: &ManagedName| {
            let found = file.as_ref().map_err(Clone::clone).and_then(|file| self.find(file, name));
            found.unwrap_or_else(Lookup::Unreachable)
        };
        names.iter().map(find).collect()
    }

    fn edition(&self) -> u64 {
        0
    }

    fn files(&self, names: &[ManagedName]) -> Vec<PathBuf> {
        [PULLED_FILE.into()].into_iter().chain(names.iter().map(text_path)).collect()
    }

    fn notes(&self) -> Vec<String> {
        self.note.iter().cloned().collect()
    }
}

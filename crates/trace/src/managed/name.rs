//! Parses names of managed requirements: `spexus://REQ-027`, `spexus://SHOP-REQ-027@4`, `spexus://SHOP/REQ-027#text`.

use std::fmt;

use super::ManagedKind;
use super::document::SECTION;

/// The prefix of such names.
pub const SCHEME: &str = "spexus://";

/// The project whose references have no key.
const DEFAULT_PROJECT: &str = "DEFAULT";
/// The prefixes of references of other kinds.
const OTHER_PREFIXES: [&str; 4] = ["EP", "US", "STD", "PROMPT"];
/// The maximal number of digits.
const DIGITS_MAX: usize = 12;
/// Longer input is not a typo.
const NAME_BYTES_MAX: usize = 100;

/// The name of a managed requirement.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ManagedName {
    /// The key of the project, if given.
    pub project: Option<String>,
    /// The reference without the project: `REQ-027`.
    pub reference: String,
    /// The pinned version.
    pub version: Option<u64>,
}

/// Why a target does not name a managed requirement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameError {
    /// The problem.
    pub message: String,
    /// The target that was probably meant.
    pub nearest: Option<String>,
}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.nearest {
            Some(nearest) => write!(f, "; did you mean `{nearest}`?"),
            None => Ok(()),
        }
    }
}

/// Whether a target is meant as the name of a managed requirement.
pub fn is_managed(target: &str) -> bool {
    target.get(..SCHEME.len()).is_some_and(|start| start.eq_ignore_ascii_case(SCHEME))
}

/// Whether a text can be the key of a project: 2 to 10 capitals and digits, a letter first, not the prefix of a reference.
pub fn is_project_key(text: &str) -> bool {
    (2..=10).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
        && text.as_bytes()[0].is_ascii_uppercase()
        && !OTHER_PREFIXES.contains(&text)
        && !["REQ", "AC"].contains(&text)
}

/// The target for a bare reference such as `LIB-REQ-001`. The reference is not a target itself, because a file could have
/// that name.
pub fn bare_reference(target: &str) -> Option<String> {
    let is_short = target.len() <= NAME_BYTES_MAX && !target.contains(['/', '.']);
    let name = is_short.then(|| ManagedName::meant(target.split('#').next()?)).flatten()?;
    Some(name.to_string())
}

impl ManagedName {
    /// Parses a target in any form, with or without `#text`. Each name has one spelling, so that a search finds every citation.
    pub fn parse(target: &str) -> Result<ManagedName, NameError> {
        let error = |message: String, nearest: Option<String>| Err(NameError { message, nearest });
        let Some(rest) = target.strip_prefix(SCHEME) else {
            let lower = is_managed(target).then(|| format!("{SCHEME}{}", &target[SCHEME.len()..]));
            let nearest = lower.filter(|target| ManagedName::parse(target).is_ok());
            let message = format!("the name of a managed requirement begins with `{SCHEME}`");
            return error(message, nearest.or_else(|| bare_reference(target)));
        };
        if rest.len() > NAME_BYTES_MAX {
            return error("the name is too long for a managed requirement".to_owned(), None);
        }
        let (path, section) = rest.split_once('#').map_or((rest, None), |(path, id)| (path, Some(id)));
        let name = match ManagedName::read(path) {
            Ok(name) => name,
            Err(message) => {
                let nearest = ManagedName::meant(path).map(|name| name.to_string());
                return error(message, nearest);
            }
        };
        match section {
            None | Some(SECTION) => Ok(name),
            Some(other) => {
                let message =
                    format!("a managed requirement has one section, `{SECTION}`, and not `{other}`");
                error(message, Some(name.to_string()))
            }
        }
    }

    fn read(path: &str) -> Result<ManagedName, String> {
        let (path, version) = match path.split_once('@') {
            None => (path, None),
            Some((path, digits)) => {
                let is_number = !digits.is_empty()
                    && digits.len() <= DIGITS_MAX
                    && !digits.starts_with('0')
                    && digits.bytes().all(|byte| byte.is_ascii_digit());
                let version = digits.parse().ok().filter(|_| is_number);
                let message = || format!("expected a version such as `@4`, found `@{digits}`");
                (path, Some(version.ok_or_else(message)?))
            }
        };
        let (project, reference) = match path.split_once('/') {
            Some((project, reference)) => (Some(project), reference),
            None => match path.split_once('-') {
                Some((project, rest)) if rest.contains('-') => (Some(project), rest),
                _ => (None, path),
            },
        };
        if let Some(key) = project.filter(|key| !is_project_key(key)) {
            return Err(format!("`{key}` is not the key of a project: 2 to 10 capitals and digits"));
        }
        let kind = ManagedKind::of(reference);
        let Some((prefix, digits)) = reference.split_once('-').filter(|_| kind.is_some()) else {
            let is_other = OTHER_PREFIXES.iter().any(|prefix| reference.split('-').next() == Some(prefix));
            return Err(match is_other {
                true => format!(
                    "{reference} cannot be cited: only requirements (REQ) and acceptance criteria (AC) can"
                ),
                false => "expected a reference such as `REQ-027` or `AC-031`".to_owned(),
            });
        };
        let is_number = !digits.is_empty()
            && digits.len() <= DIGITS_MAX
            && digits.bytes().all(|byte| byte.is_ascii_digit())
            && digits.bytes().any(|byte| byte != b'0');
        let is_padded = digits.len() == 3 || digits.len() > 3 && !digits.starts_with('0');
        if !is_number || !is_padded {
            return Err(format!("expected a number of three digits or more, such as `{prefix}-027`"));
        }
        let project = project.map(str::to_owned);
        Ok(ManagedName { project, reference: reference.to_owned(), version })
    }

    /// Corrects a name in other case or with other zeros.
    fn meant(path: &str) -> Option<ManagedName> {
        let upper = path.trim_matches('/').to_ascii_uppercase().replace('_', "-");
        let (name, version) = upper.split_once('@').map_or((&*upper, ""), |(name, version)| (name, version));
        let (head, digits) = name.rsplit_once('-')?;
        let number: u64 = digits.parse().ok().filter(|_| digits.len() <= DIGITS_MAX)?;
        let name = format!("{head}-{number:03}");
        let version = version.trim_start_matches(['V', '0']);
        let with_version = format!("{name}@{version}");
        ManagedName::read(&with_version).or_else(|_| ManagedName::read(&name)).ok()
    }

    /// The same name with the project that it belongs to, and without the version.
    pub fn within(&self, project: &str) -> ManagedName {
        let project = self.project.clone().unwrap_or_else(|| project.to_owned());
        ManagedName { project: Some(project), reference: self.reference.clone(), version: None }
    }

    /// The reference id in the store's form: `REQ-027` in the default project, otherwise `SHOP-REQ-027`.
    pub fn reference_id(&self) -> String {
        match self.project.as_deref() {
            None | Some(DEFAULT_PROJECT) => self.reference.clone(),
            Some(project) => format!("{project}-{}", self.reference),
        }
    }

    /// The form that Duvet accepts, too, without the section: `spexus://SHOP/REQ-027`.
    pub fn long(&self) -> String {
        let project = self.project.as_deref().unwrap_or(DEFAULT_PROJECT);
        format!("{SCHEME}{project}/{}{}", self.reference, self.pin())
    }

    fn pin(&self) -> String {
        self.version.map(|version| format!("@{version}")).unwrap_or_default()
    }
}

/// Shows the short form.
impl fmt::Display for ManagedName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.project {
            Some(project) => write!(f, "{SCHEME}{project}-{}{}", self.reference, self.pin()),
            None => write!(f, "{SCHEME}{}{}", self.reference, self.pin()),
        }
    }
}

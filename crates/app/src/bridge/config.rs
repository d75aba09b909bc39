//! The settings of the bridge: environment over file over default, validated before anything is read from the host.

use std::{
    env, fmt,
    path::{Path, PathBuf},
    time::Duration,
};

use mcp::{Profile, VersionPolicy};

use crate::{
    logging,
    requirements::ToolOptions,
    settings::{FromSetting, Problems, Settings},
    stdio,
};

/// The path of the file, relative to the home folder.
const FILE: &str = ".requirements-mcp/config.json";

/// The maximal length of a token: servers reject longer headers.
const TOKEN_CHARACTERS_MAX: usize = 1_024;

/// The maximal number of retries, whatever is configured.
const RETRIES_MAX: u32 = 20;

/// The configuration.
#[derive(Debug)]
pub struct Config {
    /// The server.
    pub backend: BackendUrl,
    /// The token.
    pub token: Token,
    /// How long a request may take, retries included.
    pub timeout: Duration,
    /// How often a request is retried.
    pub retries_max: u32,
    /// The listed tool sets, if not the server's choice.
    pub toolsets: Option<String>,
    /// Whether tools are listed with output schemas.
    pub output_schemas: bool,
    /// The bridge's own profile.
    pub profile: Profile,
}

/// Reads the configuration and starts the log. All problems are reported together.
//@= spexus://REQ-033
//@# 002 R1.2: it reads ~/.requirements-mcp/config.json
//@= spexus://REQ-150
//@# 002 R14.3: missing configuration is reported clearly
//@= spexus://REQ-155
//@# 002 R14.8: invalid values fail at once
pub fn read(path: Option<&Path>, mut profile: Profile) -> Result<Config, Problems> {
    let mut settings = Settings::default();
    let file = path.map(Path::to_owned).or_else(|| default_path().filter(|path| path.exists()));
    if let Some(file) = &file {
        settings.read_json(file);
    }
    logging::start_with_time(&mut settings, tracing::level_filters::LevelFilter::INFO);
    let advice = "run `requirements-mcp-server init`, or set it in the environment";
    let backend: Option<BackendUrl> =
        settings.required("BACKEND_API_URL", &format!("the address of the Spexus server; {advice}"));
    let token: Option<Token> =
        settings.required("MCP_PAT_TOKEN", &format!("a personal access token; {advice}"));
    let timeout = settings.value("MCP_REQUEST_TIMEOUT", stdio::Options::default().request_timeout);
    let Retries(retries_max) = settings.value("MCP_MAX_RETRIES", Retries(3));
    let toolsets = settings.optional("MCP_TOOLSETS").map(|Toolsets(names)| names);
    let output_schemas = settings.value("MCP_OUTPUT_SCHEMAS", false);
    crate::override_profile(&mut profile, &mut settings);
    if matches!(profile.versions, VersionPolicy::Strict { .. }) {
        profile.versions = VersionPolicy::Strict { terminate: true };
    }
    settings.check()?;
    let (Some(backend), Some(token)) = (backend, token) else {
        unreachable!("what is missing is a problem, and problems were checked")
    };
    logging::hide(&token.0);
    if let Some(file) = &file {
        warn_if_others_can_read(file);
    }
    if backend.is_unprotected() {
        tracing::warn!("{backend} is not https: anyone on the network can read the token");
    }
    Ok(Config { backend, token, timeout, retries_max, toolsets, output_schemas, profile })
}

/// The default path of the file.
pub fn default_path() -> Option<PathBuf> {
    let home = env::var_os("HOME").or_else(|| env::var_os("USERPROFILE")).filter(|home| !home.is_empty())?;
    Some(PathBuf::from(home).join(FILE))
}

#[cfg(unix)]
fn warn_if_others_can_read(path: &Path) {
    use std::os::unix::fs::PermissionsExt;

    let mode = std::fs::metadata(path).map(|metadata| metadata.permissions().mode() & 0o777).unwrap_or(0);
    if mode & 0o077 != 0 {
        let path = path.display();
        tracing::warn!("{path} holds a token and others can read it (mode {mode:o}): chmod 600 {path}");
    }
}

#[cfg(not(unix))]
fn warn_if_others_can_read(_: &Path) {}

/// A token that is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(pub String);

impl fmt::Debug for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Token([redacted])")
    }
}

impl FromSetting for Token {
    const EXPECTED: &str = "a token such as mcp_pat_…, of at most 1024 letters, digits and -._~+/=";

    fn from_setting(text: &str) -> Option<Self> {
        let text = text.trim();
        let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte);
        let fits = (1..=TOKEN_CHARACTERS_MAX).contains(&text.len());
        (fits && text.bytes().all(is_token)).then(|| Self(text.to_owned()))
    }

    fn shown(text: &str) -> String {
        let text = text.trim();
        let n_characters = text.chars().count();
        match text.chars().position(char::is_control) {
            _ if n_characters > TOKEN_CHARACTERS_MAX => format!("{n_characters} characters (not shown)"),
            Some(place) => format!("a control character in place {} (not shown)", place + 1),
            None => "something else (not shown)".into(),
        }
    }
}

/// The address of the server, without the path of its interfaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackendUrl(String);

impl BackendUrl {
    /// The URL of one of its interfaces, such as `/mcp`.
    pub fn api(&self, path: &str) -> String {
        format!("{}/api/v1{path}", self.0)
    }

    /// Returns whether a token would travel to another machine unencrypted.
    fn is_unprotected(&self) -> bool {
        let is_here = |host: &str| matches!(host, "localhost" | "[::1]") || host.starts_with("127.");
        let url = reqwest::Url::parse(&self.0).ok();
        url.is_some_and(|url| url.scheme() == "http" && !url.host_str().is_some_and(is_here))
    }
}

impl fmt::Display for BackendUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl FromSetting for BackendUrl {
    const EXPECTED: &str = "a URL such as https://spexus.example.org, without user, query or fragment";

    fn from_setting(text: &str) -> Option<Self> {
        let url = reqwest::Url::parse(text.trim()).ok()?;
        let is_plain = url.username().is_empty()
            && url.password().is_none()
            && url.query().is_none()
            && url.fragment().is_none();
        if !is_plain || !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return None;
        }
        let base = url.as_str().trim_end_matches('/');
        let base = base.strip_suffix("/mcp").filter(|base| base.ends_with("/api/v1")).unwrap_or(base);
        let base = base.strip_suffix("/api/v1").unwrap_or(base);
        Some(Self(base.trim_end_matches('/').to_owned()))
    }

    fn shown(text: &str) -> String {
        // There may be a password before the @.
        let text = text.rsplit('@').next().unwrap_or_default();
        format!("\"{}\"", mcp::shown(text))
    }
}

struct Toolsets(String);

impl FromSetting for Toolsets {
    const EXPECTED: &str = "some of daily, requirements, comments, steering, prompts, bulk, views, thread, all, with commas in between";

    fn from_setting(text: &str) -> Option<Self> {
        ToolOptions::parse_sets(text).ok().map(|names| Self(names.join(",")))
    }
}

struct Retries(u32);

impl FromSetting for Retries {
    const EXPECTED: &str = "a whole number from 0 to 20";

    fn from_setting(text: &str) -> Option<Self> {
        text.parse().ok().filter(|number| *number <= RETRIES_MAX).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_understood_with_and_without_its_path() {
        for text in [
            "https://spexus.example.org",
            "https://spexus.example.org/",
            "https://spexus.example.org/api/v1",
            "https://spexus.example.org/api/v1/",
            "https://spexus.example.org/api/v1/mcp",
        ] {
            let url = BackendUrl::from_setting(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(url.api("/mcp"), "https://spexus.example.org/api/v1/mcp", "{text}");
        }
        let below = BackendUrl::from_setting("http://host:8080/tools/mcp").expect("a path in front is fine");
        assert_eq!(below.api("/mcp"), "http://host:8080/tools/mcp/api/v1/mcp");
        for nonsense in [
            "",
            "spexus",
            "ftp://host",
            "https://",
            "http://me:secret@host",
            "http://host?x=1",
            "http://host/#x",
        ] {
            assert_eq!(BackendUrl::from_setting(nonsense), None, "{nonsense}");
        }
        assert!(!BackendUrl::shown("http://me:secret@host").contains("secret"));
    }

    #[test]
    fn a_token_does_not_show_itself() {
        let token = Token::from_setting(" mcp_pat_abc\n").expect("blanks around it do not count");
        assert_eq!((token.0.as_str(), format!("{token:?}").as_str()), ("mcp_pat_abc", "Token([redacted])"));
        let longest = "x".repeat(TOKEN_CHARACTERS_MAX);
        assert!(Token::from_setting(&longest).is_some());
        for (nonsense, found) in [
            ("", "something else (not shown)"),
            (" ", "something else (not shown)"),
            ("two words", "something else (not shown)"),
            ("käse", "something else (not shown)"),
            ("line\nbreak", "a control character in place 5 (not shown)"),
            (&format!("{longest}x"), "1025 characters (not shown)"),
        ] {
            assert_eq!(Token::from_setting(nonsense), None, "{nonsense}");
            assert_eq!(Token::shown(nonsense), found, "{nonsense}");
        }
    }

    #[test]
    fn only_what_leaves_the_machine_is_unprotected() {
        let is_unprotected = |text| BackendUrl::from_setting(text).expect("a URL").is_unprotected();
        assert!(is_unprotected("http://spexus.example.org"));
        for fine in
            ["https://spexus.example.org", "http://localhost:8080", "http://127.0.0.1", "http://[::1]:1"]
        {
            assert!(!is_unprotected(fine), "{fine}");
        }
    }
}

//! What the server and the commands are told: flags, the environment, a file, defaults.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::ArgMatches;
use store::model::is_project_key;
use store::{Location, Options, Store};

use super::http::{HttpOptions, LimitSettings, Proxies, is_issuer, outgoing};
use super::now;
use crate::requirements::{self, ToolOptions};
use crate::settings::{FromSetting, Settings};

/// Settings of the store, which every command has.
#[derive(Clone, Debug)]
pub struct StoreConfig {
    /// Where it is.
    pub location: Location,
    /// Whether somebody has named it, so that it is not where stores are by default.
    pub is_named: bool,
    /// How it is opened.
    pub options: Options,
}

impl StoreConfig {
    /// Opens the store for a few calls at once. One that was named must be there, or a mistyped name would become an empty
    /// store; where stores are by default, one is created.
    pub fn open(&self, connections: usize) -> Result<Store, String> {
        let options = Options { connections, ..self.options.clone() };
        let opened = if self.is_named {
            Store::open_existing(&self.location, options, now())
        } else {
            Store::open_to_serve(&self.location, options, now()).map(Some)
        };
        let location = &self.location;
        match opened {
            Ok(Some(store)) => Ok(store),
            Ok(None) => Err(format!(
                "{location}: there is no store; check the name, or create one: spexus migrate --database {location}"
            )),
            Err(error) => Err(format!("{location}: {error}")),
        }
    }
}

/// All settings.
#[derive(Debug)]
pub struct Config {
    /// The store.
    pub store: StoreConfig,
    /// The address to listen on.
    pub listen: SocketAddr,
    /// The certificate and its key, for TLS.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// Who may say for whom they ask.
    pub proxies: Proxies,
    /// Connections from one address.
    pub connections_per_address: usize,
    /// The rest.
    pub http: HttpOptions,
}

/// Connections from one address, unless a setting says otherwise: more than the people behind one have.
const CONNECTIONS_PER_ADDRESS: u32 = 1_000;

/// How large the file of an import may be in MiB, unless a setting says otherwise.
const IMPORT_LIMIT_MIB: u32 = 50;

/// Begins to read settings: flags, and the file if one is named.
pub fn settings(matches: &ArgMatches) -> Settings {
    let mut settings = Settings::default();
    for (flag, name) in FLAGS {
        let given = matches.try_get_many::<String>(flag).ok().flatten();
        // A flag that is given several times is a list.
        let given = given.map(|values| values.cloned().collect::<Vec<_>>().join(","));
        let is_set = matches.try_get_one::<bool>(flag).ok().flatten().copied().unwrap_or_default();
        let value = given.or_else(|| is_set.then(|| "true".to_owned()));
        settings.flag(&format!("--{flag}"), name, value.as_ref());
    }
    if let Some(path) = settings.optional::<PathBuf>("SPEXUS_CONFIG") {
        settings.read_file(&path);
    }
    settings
}

/// Flags and the settings that they stand for.
const FLAGS: &[(&str, &str)] = &[
    ("config", "SPEXUS_CONFIG"),
    ("database", "SPEXUS_DATABASE"),
    ("database-ca", "SPEXUS_DATABASE_CA"),
    ("listen", "SPEXUS_LISTEN"),
    ("listen-database", "SPEXUS_LISTEN_DATABASE"),
    ("public-url", "SPEXUS_PUBLIC_URL"),
    ("trusted-proxy", "SPEXUS_TRUSTED_PROXY"),
    ("trace", "SPEXUS_TRACE"),
    ("import-limit", "SPEXUS_IMPORT_LIMIT"),
    ("tls-cert", "SPEXUS_TLS_CERT"),
    ("tls-key", "SPEXUS_TLS_KEY"),
    ("server", "SPEXUS_SERVER"),
    ("token", "SPEXUS_TOKEN"),
    ("as", "SPEXUS_AS"),
    ("toolsets", "SPEXUS_TOOLSETS"),
    ("read-only", "SPEXUS_READ_ONLY"),
    ("output-schemas", "SPEXUS_OUTPUT_SCHEMAS"),
];

/// Why a server cannot be given to a command that opens the store itself.
const ONLY_LOCAL: &str =
    "this command works on the local store alone; run it without a server, where the store is";

/// Why a token cannot be given without a server.
const ONLY_FOR_SERVER: &str = "a token is for a server, and none is given: add --server URL, or act as somebody on the local store with --as USER";

/// Refuses a server, wherever it comes from: who set it would take what happens to the local store for what happens there.
pub fn refuse_server(settings: &mut Settings) {
    settings.refuse("SPEXUS_SERVER", ONLY_LOCAL);
    refuse_identity(settings);
}

/// Refuses the flag alone: whoever starts a server means this machine, whatever their commands are set to ask.
pub fn refuse_server_flag(settings: &mut Settings) {
    settings.refuse_flag("SPEXUS_SERVER", ONLY_LOCAL);
    refuse_identity(settings);
}

/// Refuses to act as somebody where nobody is asked who they are.
fn refuse_identity(settings: &mut Settings) {
    refuse_token(settings);
    settings.refuse_flag("SPEXUS_AS", "this command works on the whole store, and as nobody");
}

/// Refuses a token where no server is asked.
pub fn refuse_token(settings: &mut Settings) {
    settings.refuse_flag("SPEXUS_TOKEN", ONLY_FOR_SERVER);
}

/// The server to ask, if any. There the token says who acts, so `--as` cannot.
pub fn server(settings: &mut Settings) -> Option<String> {
    let server = settings.optional("SPEXUS_SERVER");
    if server.is_some() {
        let why = "on a server the token says who acts; give the token of that user, or leave --server out";
        settings.refuse_flag("SPEXUS_AS", why);
    } else {
        refuse_token(settings);
    }
    server
}

/// A file may hold settings of other commands.
fn ignore_others(settings: &mut Settings) {
    for name in ["SPEXUS_SERVER", "SPEXUS_TOKEN", "SPEXUS_AS"] {
        let _: Option<String> = settings.optional(name);
    }
}

/// The settings of the store.
fn store(settings: &mut Settings) -> StoreConfig {
    let default = Location::Sqlite(data_folder().join("spexus.db"));
    let named = settings.optional("SPEXUS_DATABASE");
    let password = database_password(settings);
    let (is_named, location) =
        (named.is_some(), with_password(named.unwrap_or(default), password.as_deref()));
    let defaults = Options::default();
    let options = Options {
        connections: settings.value("SPEXUS_DATABASE_CONNECTIONS", defaults.connections as u32).clamp(1, 500)
            as usize,
        statement_timeout: settings.value("SPEXUS_STATEMENT_TIMEOUT", defaults.statement_timeout),
        wait_max: settings.value("SPEXUS_DATABASE_WAIT", defaults.wait_max),
        certificate_authority: settings.optional("SPEXUS_DATABASE_CA"),
        notice: |line| tracing::info!("{line}"),
        listen_url: listen_url(settings, password.as_deref()),
    };
    StoreConfig { location, is_named, options }
}

/// Reads the password of PostgreSQL from a file, because containers and service managers provide secrets as files.
fn database_password(settings: &mut Settings) -> Option<String> {
    const NAME: &str = "SPEXUS_DATABASE_PASSWORD_FILE";
    let path: PathBuf = settings.optional(NAME)?;
    match std::fs::read_to_string(&path) {
        Ok(text) if !text.trim_end().is_empty() => Some(text.trim_end_matches(['\r', '\n']).to_owned()),
        Ok(_) => {
            settings.problem(format!("{NAME}: {}: expected a password, found nothing", path.display()));
            None
        }
        Err(error) => {
            settings.problem(format!("{NAME}: {}: {error}", path.display()));
            None
        }
    }
}

/// Adds the password to a URL of PostgreSQL as a parameter, which takes precedence over one before the host and is never printed.
fn with_password(location: Location, password: Option<&str>) -> Location {
    match (location, password) {
        (Location::Postgres(url), Some(password)) => {
            let password =
                percent_encoding::utf8_percent_encode(password, percent_encoding::NON_ALPHANUMERIC);
            let sign = if url.contains('?') { '&' } else { '?' };
            Location::Postgres(format!("{url}{sign}password={password}"))
        }
        (location, _) => location,
    }
}

/// Where to hear of changes, if not from the store's own server.
fn listen_url(settings: &mut Settings, password: Option<&str>) -> Option<String> {
    match with_password(settings.optional("SPEXUS_LISTEN_DATABASE")?, password) {
        Location::Postgres(url) => Some(url),
        Location::Sqlite(_) => {
            settings.problem("SPEXUS_LISTEN_DATABASE: expected postgres://USER@HOST/DATABASE".to_owned());
            None
        }
    }
}

/// All settings, of which a command takes what it needs: one file serves them all.
pub fn read(settings: &mut Settings) -> Config {
    let listen: SocketAddr = settings.value("SPEXUS_LISTEN", SocketAddr::from(([127, 0, 0, 1], 8080)));
    let certificate: Option<PathBuf> = settings.optional("SPEXUS_TLS_CERT");
    let key: Option<PathBuf> = settings.optional("SPEXUS_TLS_KEY");
    let tls = match (certificate, key) {
        (Some(certificate), Some(key)) => Some((certificate, key)),
        (None, None) => None,
        (Some(_), None) => {
            settings.problem("--tls-key: is required with --tls-cert".to_owned());
            None
        }
        (None, Some(_)) => {
            settings.problem("--tls-cert: is required with --tls-key".to_owned());
            None
        }
    };
    let scheme = if tls.is_some() { "https" } else { "http" };
    let mut profile = requirements::profile();
    crate::override_profile(&mut profile, settings);
    let http = HttpOptions {
        public_url: settings.value("SPEXUS_PUBLIC_URL", Url(format!("{scheme}://{listen}"))).0,
        allowed_origins: settings.value("SPEXUS_ALLOWED_ORIGINS", Origins::default()).0,
        request_timeout: settings.value("SPEXUS_REQUEST_TIMEOUT", Duration::from_secs(30)),
        write_timeout: settings.value("SPEXUS_WRITE_TIMEOUT", outgoing::STALL_TIME),
        import_max_bytes: (settings.value("SPEXUS_IMPORT_LIMIT", IMPORT_LIMIT_MIB) as usize) << 20,
        limits: LimitSettings {
            requests: settings.value("SPEXUS_RATE_LIMIT", LimitSettings::default().requests),
            failures: settings.value("SPEXUS_FAILED_LOGIN_LIMIT", LimitSettings::default().failures),
            sessions: settings.value("SPEXUS_SESSION_LIMIT", LimitSettings::default().sessions),
            streams: settings.value("SPEXUS_STREAM_LIMIT", LimitSettings::default().streams),
        },
        is_loopback: listen.ip().is_loopback(),
        is_demo: false,
        profile,
        tools: ToolOptions {
            sets: settings.value("SPEXUS_TOOLSETS", ToolSets::default()).0,
            read_only: settings.value("SPEXUS_READ_ONLY", false),
            output_schemas: settings.value("SPEXUS_OUTPUT_SCHEMAS", false),
        },
        traces: settings.value("SPEXUS_TRACE", TraceFolders::default()).0,
        oidc_issuers: settings.value("SPEXUS_OIDC_ISSUERS", OidcIssuers::default()).0,
    };
    let proxies = settings.value("SPEXUS_TRUSTED_PROXY", Proxies::default());
    let per_address = settings.value("SPEXUS_CONNECTION_LIMIT", CONNECTIONS_PER_ADDRESS);
    ignore_others(settings);
    let connections_per_address = per_address as usize;
    Config { store: store(settings), listen, tls, proxies, connections_per_address, http }
}

/// Sets of tools.
struct ToolSets(Vec<String>);

impl Default for ToolSets {
    fn default() -> Self {
        ToolSets(ToolOptions::default().sets)
    }
}

impl FromSetting for ToolSets {
    const EXPECTED: &str = "some of daily, requirements, comments, steering, prompts, bulk, views, thread, all, with commas between them";

    fn from_setting(text: &str) -> Option<Self> {
        ToolOptions::parse_sets(text).ok().map(ToolSets)
    }
}

/// Where a user's data belongs.
fn data_folder() -> PathBuf {
    user_folder("XDG_DATA_HOME", ".local/share")
}

/// Where a user's configuration belongs.
pub fn config_folder() -> PathBuf {
    user_folder("XDG_CONFIG_HOME", ".config")
}

fn user_folder(xdg: &str, otherwise: &str) -> PathBuf {
    let base = if cfg!(windows) {
        variable("APPDATA").unwrap_or_else(home)
    } else if cfg!(target_os = "macos") {
        home().join("Library/Application Support")
    } else {
        // A path that is not absolute is invalid, and ignored.
        variable(xdg).filter(|folder| folder.is_absolute()).unwrap_or_else(|| home().join(otherwise))
    };
    base.join("spexus")
}

/// The user's home.
pub fn home() -> PathBuf {
    variable("HOME").unwrap_or_else(|| PathBuf::from("."))
}

fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

impl FromSetting for Location {
    const EXPECTED: &str = "sqlite:PATH or postgres://USER@HOST/DATABASE";

    fn from_setting(text: &str) -> Option<Self> {
        Location::parse(text).ok()
    }
}

/// A URL of a server.
pub struct Url(pub String);

impl FromSetting for Url {
    const EXPECTED: &str = "a URL such as https://spexus.example.org";

    fn from_setting(text: &str) -> Option<Self> {
        let (scheme, rest) = text.split_once("://")?;
        let fits =
            matches!(scheme, "http" | "https") && !rest.is_empty() && !rest.contains(char::is_whitespace);
        fits.then(|| Url(text.trim_end_matches('/').to_owned()))
    }
}

/// Folders with the keys of their projects.
#[derive(Default)]
struct TraceFolders(Vec<(String, PathBuf)>);

impl FromSetting for TraceFolders {
    const EXPECTED: &str =
        "keys of projects and folders that are there, such as SHOP=/srv/shop, with commas between them";

    fn from_setting(text: &str) -> Option<Self> {
        let pairs = text.split(',').map(str::trim).filter(|pair| !pair.is_empty());
        let one = |pair: &str| {
            let (key, folder) = pair.split_once('=')?;
            let (key, folder) = (key.trim().to_ascii_uppercase(), PathBuf::from(folder.trim()));
            (is_project_key(&key) && folder.is_dir()).then_some((key, folder))
        };
        pairs.map(one).collect::<Option<Vec<_>>>().map(TraceFolders)
    }
}

/// Issuers, exactly as their tokens name them.
#[derive(Default)]
struct OidcIssuers(Vec<String>);

impl FromSetting for OidcIssuers {
    const EXPECTED: &str = "issuers such as https://token.actions.githubusercontent.com, with commas between them; http is for this machine alone";

    fn from_setting(text: &str) -> Option<Self> {
        let issuers = text.split(',').map(str::trim).filter(|issuer| !issuer.is_empty());
        issuers
            .map(|issuer| is_issuer(issuer).then(|| issuer.to_owned()))
            .collect::<Option<Vec<_>>>()
            .map(OidcIssuers)
    }
}

#[derive(Default)]
struct Origins(Vec<String>);

impl FromSetting for Origins {
    const EXPECTED: &str = "origins such as https://spexus.example.org, with commas between them";

    fn from_setting(text: &str) -> Option<Self> {
        let origins = text.split(',').map(str::trim).filter(|origin| !origin.is_empty());
        origins
            .map(|origin| Url::from_setting(origin).map(|url| url.0))
            .collect::<Option<Vec<_>>>()
            .map(Origins)
    }
}

//! `requirements-mcp-server init`: creates a token, writes the configuration, checks it, and prints the configuration of the host.

use std::{
    env, fs,
    io::{self, BufRead, IsTerminal, Write},
    path::{Path, PathBuf},
    time::Duration,
};

use serde_json::{Map, Value, json};

use super::{
    Ending,
    arguments::Init,
    config::{self, BackendUrl, Config, Token},
    question::Question,
    retry, server,
    upstream::{Upstream, cause},
};
use crate::{logging, settings::FromSetting};

/// How long the server may take to answer each request.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Runs the wizard, or does the same without prompts.
pub fn run(options: &Init, path: Option<&Path>) -> Result<u8, Ending> {
    let path = path.map(Path::to_owned).or_else(config::default_path);
    let path =
        path.ok_or_else(|| Ending::misused("there is no home folder: say where with --config PATH"))?;
    let is_asking = !options.non_interactive && io::stdin().is_terminal();
    let url = options.url.clone().or_else(|| variable("BACKEND_API_URL"));
    let url = given(url, is_asking, "Address of the Spexus server", "--url")?;
    let backend = BackendUrl::from_setting(&url).ok_or_else(|| {
        let found = BackendUrl::shown(&url);
        Ending::misused(format!("the address: expected {}, found {found}", BackendUrl::EXPECTED))
    })?;
    let token = match variable("MCP_PAT_TOKEN").filter(|_| options.user.is_none()) {
        Some(text) => Token::from_setting(&text)
            .ok_or_else(|| Ending::misused(format!("MCP_PAT_TOKEN: expected {}", Token::EXPECTED)))?,
        None => {
            let user = options.user.clone().or_else(|| variable("REQUIREMENTS_MCP_USER"));
            let user = given(user, is_asking, "User", "--user")?;
            let password = password(options, is_asking)?;
            make_token(&backend, options, &user, &password)?
        }
    };
    logging::hide(&token.0);
    let backup = write(&path, &backend, &token)?;
    say(&format!("wrote {}", path.display()));
    if let Some(backup) = backup {
        say(&format!("the old one is {}", backup.display()));
    }
    let n_tools = check(backend, token)?;
    say(&format!("it works: {n_tools} tools\n\nFor claude_desktop_config.json:"));
    let _ = writeln!(io::stdout(), "{:#}", entry(&path));
    Ok(super::DONE)
}

fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|text| !text.is_empty())
}

/// A given value, or the answer to a prompt.
fn given(value: Option<String>, is_asking: bool, question: &str, flag: &str) -> Result<String, Ending> {
    let value = match value {
        Some(value) => value,
        None if is_asking => {
            let _ = write!(io::stderr(), "{question}: ");
            read_line()?
        }
        None => String::new(),
    };
    match value.trim() {
        "" => Err(Ending::misused(format!("{} is missing: say it with {flag}", question.to_lowercase()))),
        value => Ok(value.to_owned()),
    }
}

fn password(options: &Init, is_asking: bool) -> Result<String, Ending> {
    let password = match variable("REQUIREMENTS_MCP_PASSWORD").filter(|_| !options.password_stdin) {
        Some(password) => password,
        None if is_asking && !options.password_stdin => {
            let _ = write!(io::stderr(), "Password: ");
            rpassword::read_password().map_err(Ending::failed)?
        }
        None => read_line()?,
    };
    let is_empty = password.is_empty();
    if is_empty {
        Err(Ending::misused("the password is missing: it is read from stdin"))
    } else {
        Ok(password)
    }
}

fn read_line() -> Result<String, Ending> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line).map_err(Ending::failed)?;
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}

/// Logs in, creates the token, and logs out again.
fn make_token(backend: &BackendUrl, options: &Init, user: &str, password: &str) -> Result<Token, Ending> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::blocking::Client::builder()
        .timeout(TIMEOUT)
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .map_err(Ending::failed)?;
    let rest = Rest { client, backend };
    let login = rest.post("/auth/login", None, json!({ "username": user, "password": password }))?;
    let session = login["session"].as_str().unwrap_or_default();
    let name = options.token_name.clone();
    let name = name.unwrap_or_else(|| format!("{} {:08x}", super::NAME, retry::random() as u32));
    let mut wanted = json!({ "name": name, "scopes": options.scopes });
    if let Some(time) = &options.expires_in {
        wanted["expires_in"] = json!(time);
    }
    let made = rest.post("/tokens", Some(session), wanted);
    // If this fails, the session expires.
    let _ = rest.post("/auth/logout", Some(session), json!({}));
    let made = made?;
    say(&format!("made the token \"{name}\" for {user}"));
    let token = made["token"].as_str().and_then(Token::from_setting);
    token.ok_or_else(|| Ending::failed(format!("{backend} made a token but did not say it")))
}

struct Rest<'a> {
    client: reqwest::blocking::Client,
    backend: &'a BackendUrl,
}

impl Rest<'_> {
    fn post(&self, path: &str, bearer: Option<&str>, body: Value) -> Result<Value, Ending> {
        let address = self.backend.api(path);
        let mut request = self.client.post(&address).header("content-type", "application/json");
        if let Some(bearer) = bearer {
            request = request.bearer_auth(bearer);
        }
        let away = |error: reqwest::Error| {
            Ending::failed(format!("{} does not answer: {}", self.backend, cause(&error)))
        };
        let response = request.body(body.to_string()).send().map_err(away)?;
        let status = response.status();
        let answer: Value = serde_json::from_str(&response.text().map_err(away)?).unwrap_or_default();
        if status.is_success() {
            return Ok(answer);
        }
        Err(Ending::failed(match answer["error"]["message"].as_str() {
            Some(message) => format!("{} refused: {message}", self.backend),
            None => format!("{address} answered with status {}: is this a Spexus server?", status.as_u16()),
        }))
    }
}

/// Writes the file, readable only by its owner. Other settings of an existing file are kept, and the file is renamed.
fn write(path: &Path, backend: &BackendUrl, token: &Token) -> Result<Option<PathBuf>, Ending> {
    let problem = |error: io::Error| Ending::failed(format!("{}: {error}", path.display()));
    let old = match fs::read_to_string(path) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(problem(error)),
    };
    let kept = old.as_deref().and_then(|text| serde_json::from_str::<Map<String, Value>>(text).ok());
    let mut settings = kept.unwrap_or_default();
    settings.insert("backend_api_url".into(), json!(backend.to_string()));
    settings.insert("pat_token".into(), json!(token.0));
    let text = format!("{:#}\n", Value::Object(settings));
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        make_folder(folder).map_err(problem)?;
    }
    let beside = |ending: &str| {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(ending);
        path.with_file_name(name)
    };
    let backup = old.is_some().then(|| beside(".backup"));
    if let (Some(backup), Some(old)) = (&backup, &old) {
        write_private(&beside(".new"), old)
            .and_then(|()| fs::rename(beside(".new"), backup))
            .map_err(problem)?;
    }
    write_private(&beside(".new"), &text).and_then(|()| fs::rename(beside(".new"), path)).map_err(problem)?;
    Ok(backup)
}

fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

fn write_private(path: &Path, text: &str) -> io::Result<()> {
    // A leftover file may have other permissions.
    let _ = fs::remove_file(path);
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// Asks the server for its tools, as the bridge will.
fn check(backend: BackendUrl, token: Token) -> Result<usize, Ending> {
    let profile = server::profile();
    let config = Config {
        backend,
        token,
        timeout: TIMEOUT,
        retries_max: 1,
        toolsets: None,
        output_schemas: false,
        profile,
    };
    let upstream = Upstream::new(&config).map_err(Ending::failed)?;
    let question = Question::new("tools/list", Map::new(), "init".into());
    let result = upstream.ask(question, || true, |_| {});
    let result = result.map_err(|failure| {
        Ending::failed(format!("the file is written, but the server cannot be used: {}", failure.message))
    })?;
    Ok(result.get("tools").and_then(Value::as_array).map_or(0, Vec::len))
}

/// The configuration for a host. It has no token, because that is in the file.
fn entry(path: &Path) -> Value {
    let program =
        env::current_exe().map_or_else(|_| super::NAME.to_owned(), |path| path.display().to_string());
    let mut server = json!({ "command": program });
    if config::default_path().is_none_or(|default| default != path) {
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        server["args"] = json!(["--config", path.display().to_string()]);
    }
    json!({ "mcpServers": { "requirements": server } })
}

/// Prints to stderr, for people.
fn say(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

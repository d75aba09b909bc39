//! `spexus auth login` and `logout` on a server: later commands use the session that the login began.

use std::io::{self, IsTerminal as _, Write as _};

use clap::ArgMatches;
use ops::{Error, ErrorKind, known};
use serde_json::{Value, json};

use super::commands::CommandProblem;
use super::credentials::{self, Login};
use super::remote::Remote;
use super::{Exit, config, print};

/// Whether the command is about a server: on the local store nobody has to log in.
pub fn is_for_server(matches: &ArgMatches) -> bool {
    server_of(matches).is_some() && !matches.get_flag("json")
}

fn server_of(matches: &ArgMatches) -> Option<String> {
    config::settings(matches).optional("SPEXUS_SERVER")
}

/// Logs in, and keeps the secret of the session.
pub fn login(mut arguments: Value, matches: &ArgMatches) -> Result<Exit, CommandProblem> {
    let server = server_of(matches).unwrap_or_default();
    let given = |name: &str| arguments.get(name).is_some_and(Value::is_string);
    if !given("token") {
        if !given("username") {
            arguments["username"] = json!(asked("User: ", "--username NAME")?);
        }
        if arguments.get("password").is_none() {
            arguments["password"] = json!(hidden("Password: ")?);
        }
    }
    let session = Remote::new(&server, None)?.call(known::LOGIN, arguments, None)?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (user, expires_at) = (text(&session["user"]["username"]), text(&session["expires_at"]));
    let login =
        Login { user: user.clone(), secret: text(&session["session"]), expires_at: expires_at.clone() };
    credentials::keep(&server, login).map_err(CommandProblem::Usage)?;
    Ok(print::raw(&format!(
        "Logged in to {server} as {user} until {expires_at}.\nCommands with --server {server} use it; spexus auth logout --server {server} \
         ends it.\n"
    )))
}

/// Ends the session and forgets its secret.
pub fn logout(matches: &ArgMatches) -> Result<Exit, CommandProblem> {
    let server = server_of(matches).unwrap_or_default();
    let Some(login) = credentials::find(&server) else {
        let message =
            format!("there is no login to {server}; spexus auth login --server {server} begins one");
        return Err(CommandProblem::Refused(Error::new(ErrorKind::Unauthenticated, message)));
    };
    match Remote::new(&server, Some(login.secret))?.call(known::LOGOUT, json!({}), None) {
        // A session that has ended needs no end.
        Ok(_) => {}
        Err(CommandProblem::Refused(error)) if error.kind == ErrorKind::Unauthenticated => {}
        Err(problem) => return Err(problem),
    }
    credentials::forget(&server).map_err(CommandProblem::Usage)?;
    Ok(print::raw(&format!("Logged out of {server}.\n")))
}

/// What somebody types at a prompt.
fn asked(prompt: &str, flag: &str) -> Result<String, CommandProblem> {
    let stdin = io::stdin();
    if !stdin.is_terminal() {
        return Err(CommandProblem::Usage(format!("pass {flag}: nobody can be asked without a terminal")));
    }
    let _ = write!(io::stderr(), "{prompt}").and_then(|()| io::stderr().flush());
    let mut line = String::new();
    stdin.read_line(&mut line).map_err(|error| CommandProblem::Usage(format!("standard input: {error}")))?;
    Ok(line.trim().to_owned())
}

/// The same without showing it.
fn hidden(prompt: &str) -> Result<String, CommandProblem> {
    if !io::stdin().is_terminal() {
        let message = "pass --password-stdin: nobody can be asked without a terminal";
        return Err(CommandProblem::Usage(message.to_owned()));
    }
    let _ = write!(io::stderr(), "{prompt}");
    rpassword::read_password().map_err(|error| CommandProblem::Usage(format!("the terminal: {error}")))
}

//! The first start on an empty store: an administrator, a token, and the prompt that agents get at the start.

use store::model::{DEFAULT_PROJECT_ID, Kind, Role, reference_id};
use store::prompt::Prompt;
use store::token::{self, Token};
use store::user::{self, User};
use store::{Mode, Store};

use crate::caller::{Caller, Reach, Request, Scope};
use crate::context::Cx;
use crate::error::Result;
use crate::operation::Effect;
use crate::secret;

/// The secrets of the first start, to be shown once.
#[derive(Debug)]
pub struct First {
    /// The administrator's name.
    pub username: String,
    /// The administrator's password.
    pub password: String,
    /// A token of the administrator's.
    pub token: String,
}

const FIRST_START: (&str, Effect) = ("first_start", Effect::Administers);
const NAME: &str = "admin";
const EMAIL: &str = "admin@localhost";
/// The name of the default prompt. While it has its first version, nobody has edited it.
pub const FIRST_PROMPT: &str = "spexus";
const CONTENT: &str = include_str!("start/prompt.md");

/// Fills an empty store; does nothing if it has users. Of two servers that start at once, one does it.
pub fn first_start(store: &Store, request: &Request) -> Result<Option<First>> {
    if store.wait(Mode::Point, user::count)? > 0 {
        return Ok(None);
    }
    let password = secret::generate("")?[..20].to_owned();
    let password_hash = secret::hash_password(&password)?;
    let token = secret::generate(secret::TOKEN_PREFIX)?;
    let first = First { username: NAME.to_owned(), password, token: token.clone() };
    let made = fill(store, request, Some((password_hash, token)))?;
    Ok(made.then_some(first))
}

/// The same if secrets cannot be shown: the administrator has neither password nor token. Anyone with access to the store
/// can create them. Returns whether the store was empty.
pub fn silent_first_start(store: &Store, request: &Request) -> Result<bool> {
    Ok(store.wait(Mode::Point, user::count)? == 0 && fill(store, request, None)?)
}

/// Fills an empty store. The secrets are the hash of the password and the token.
fn fill(store: &Store, request: &Request, secrets: Option<(String, String)>) -> Result<bool> {
    let request = request.clone();
    store.wait(Mode::Write, move |tx| -> Result<bool> {
        user::lock_administrators(tx)?;
        if user::count(tx)? > 0 {
            return Ok(false);
        }
        let mut cx = Cx::new(tx, &request, FIRST_START, None);
        let administrator = add_administrator(&mut cx, secrets.as_ref().map(|(hash, _)| hash.as_str()))?;
        let caller = Caller::of(&administrator, Reach::Everywhere);
        let mut cx = Cx::new(cx.tx, &request, FIRST_START, Some(&caller));
        if let Some((_, token)) = &secrets {
            add_token(&mut cx, &administrator, token)?;
        }
        add_prompt(&mut cx)?;
        Ok(true)
    })
}

fn add_administrator(cx: &mut Cx<'_, '_>, password_hash: Option<&str>) -> Result<User> {
    let new = User {
        id: cx.new_id(),
        username: NAME.to_owned(),
        email: EMAIL.to_owned(),
        role: Role::Administrator,
        disabled: false,
        version: 1,
        created_at: cx.now(),
        updated_at: cx.now(),
    };
    user::insert(cx.tx, &new, password_hash)?;
    crate::user::record(cx, None, Some(&new), 1)?;
    Ok(new)
}

fn add_token(cx: &mut Cx<'_, '_>, user: &User, secret: &str) -> Result<()> {
    let new = Token {
        id: cx.new_id(),
        user_id: user.id.clone(),
        user: user.username.clone(),
        name: "first start".to_owned(),
        prefix: secret[..secret::VISIBLE].to_owned(),
        scopes: vec![Scope::FullAccess.name().to_owned()],
        projects: None,
        repositories: None,
        expires_at: None,
        last_used_at: None,
        version: 1,
        created_at: cx.now(),
        updated_at: cx.now(),
    };
    token::insert(cx.tx, &new, &secret::hash(secret))?;
    Ok(())
}

fn add_prompt(cx: &mut Cx<'_, '_>) -> Result<()> {
    let number = cx.next_number(DEFAULT_PROJECT_ID, Kind::Prompt)?;
    let caller = cx.caller()?;
    let new = Prompt {
        id: cx.new_id(),
        reference_id: reference_id("", Kind::Prompt, number),
        number,
        name: FIRST_PROMPT.to_owned(),
        title: "How to work with Spexus".to_owned(),
        description: Some("What an agent should know before it works with these requirements.".to_owned()),
        content: CONTENT.trim_end().to_owned(),
        role: "user".to_owned(),
        active: true,
        creator_id: Some(caller.user_id.clone()),
        creator: Some(caller.username.clone()),
        version: 1,
        created_at: cx.now(),
        updated_at: cx.now(),
        deleted_at: None,
        deletion_id: None,
        purged_at: None,
    };
    crate::prompt::add(cx, new)?;
    Ok(())
}

//! Users, for administrators.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{self, Deserializer};
use serde_json::json;
use store::Mode;
use store::model::Role;
use store::user::{self, Name, User};

use crate::context::{Cx, Subject, check_version, difference, overtaken, to_value};
use crate::error::{Error, Result};
use crate::identity::Issuers;
use crate::input::{Limit, Offset, Set, Text, Version, shortened};
use crate::operation::{
    Columns, Command, Effect, Operation, Route, command, create, delete, get, patch, versioned_output,
};
use crate::page::{Cursor, Page, page, window_from};
use crate::secret;

versioned_output!(User, version, id);

/// The role of a user.
#[derive(Clone, Copy, JsonSchema)]
#[schemars(inline)]
pub(crate) enum RoleName {
    /// Reads and comments.
    Commenter,
    /// Also writes.
    User,
    /// Everything.
    Administrator,
}

/// In any case. Written by hand, because a derived error would list every spelling.
impl<'de> Deserialize<'de> for RoleName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'_, str>::deserialize(deserializer)?;
        match text.to_ascii_lowercase().as_str() {
            "commenter" => Ok(RoleName::Commenter),
            "user" => Ok(RoleName::User),
            "administrator" | "admin" => Ok(RoleName::Administrator),
            _ => Err(de::Error::unknown_variant(&shortened(&text), &["Commenter", "User", "Administrator"])),
        }
    }
}

impl From<RoleName> for Role {
    fn from(name: RoleName) -> Role {
        match name {
            RoleName::Commenter => Role::Commenter,
            RoleName::User => Role::User,
            RoleName::Administrator => Role::Administrator,
        }
    }
}

/// Shorter passwords are rejected.
pub(crate) type Password = Text<8, 1_000>;

/// Create a user.
///
/// Without a password the user can sign in only with a token or a sign-in link. A token needs the scope `full_access` to create an
/// administrator.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateUser {
    /// The name to log in with: letters, digits and `.`, `_`, `-`.
    username: Text<3, 50>,
    /// The e-mail address.
    email: Text<3, 254>,
    /// The role.
    role: RoleName,
    /// The password.
    password: Option<Password>,
    #[serde(skip)]
    password_hash: Option<String>,
}

impl Operation for CreateUser {
    type Output = User;
    const NAME: &'static str = "create_user";
    const COMMANDS: &'static [Command] = &[command("user create")];
    const ROUTES: &'static [Route] = &[create("/users")];
    const EFFECT: Effect = Effect::Administers;
    const POSITIONAL: &'static [&'static str] = &["username"];

    fn computes(&self) -> bool {
        self.password.is_some()
    }

    fn compute(&mut self, _: &Issuers) -> Result<()> {
        self.password_hash =
            self.password.as_ref().map(|password| secret::hash_password(password.as_str())).transpose()?;
        Ok(())
    }

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<User> {
        check_names(cx, Some(self.username.as_str()), Some(self.email.as_str()), None)?;
        if Role::from(self.role) == Role::Administrator {
            check_whole_power(cx)?;
        }
        let new = User {
            id: cx.new_id(),
            username: self.username.as_str().trim().to_owned(),
            email: self.email.as_str().trim().to_owned(),
            role: self.role.into(),
            disabled: false,
            version: 1,
            created_at: cx.now(),
            updated_at: cx.now(),
        };
        user::insert(cx.tx, &new, self.password_hash.as_deref())?;
        record(cx, None, Some(&new), 1)?;
        Ok(new)
    }
}

/// List users.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListUsers {
    /// How many items to return; default 50.
    limit: Option<Limit>,
    /// How many items to skip.
    offset: Option<Offset>,
    /// Continue after a page: its `next_cursor`.
    cursor: Option<Cursor>,
}

impl Operation for ListUsers {
    type Output = Page<User>;
    const NAME: &'static str = "list_users";
    const COMMANDS: &'static [Command] = &[command("user list")];
    const ROUTES: &'static [Route] = &[get("/users")];
    const EFFECT: Effect = Effect::Administers;
    const COLUMNS: &'static [Columns] = &[(None, &["username", "email", "role", "disabled", "created_at"])];
    const MODE: Option<Mode> = Some(Mode::Snapshot);

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Page<User>> {
        let window = window_from(self.limit, self.offset, self.cursor.as_ref())?;
        let users = user::list(cx.tx, window.0, window.1)?;
        Ok(page(users, user::count(cx.tx)?, window))
    }
}

/// Read a user.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetUser {
    /// The user's id, name or address.
    user: Text<1, 254>,
}

impl Operation for GetUser {
    type Output = User;
    const NAME: &'static str = "get_user";
    const COMMANDS: &'static [Command] = &[command("user show")];
    const ROUTES: &'static [Route] = &[get("/users/{user}")];
    const EFFECT: Effect = Effect::Administers;
    const MODE: Option<Mode> = Some(Mode::Point);
    const POSITIONAL: &'static [&'static str] = &["user"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<User> {
        find(cx, &self.user)
    }
}

/// Change a user: name, e-mail address, role, password, or whether the user is disabled.
///
/// Changes take effect at the next request. The last administrator cannot be removed. A token
/// needs the scope `full_access` to make somebody an administrator or to set an administrator's password.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateUser {
    /// The user's id, name or address.
    user: Text<1, 254>,
    /// The new name.
    #[serde(default)]
    username: Set<Text<3, 50>>,
    /// The new e-mail address.
    #[serde(default)]
    email: Set<Text<3, 254>>,
    /// The new role.
    #[serde(default)]
    role: Set<RoleName>,
    /// Whether the user is disabled.
    #[serde(default)]
    disabled: Set<bool>,
    /// The new password. All sessions of the user end.
    #[serde(default)]
    password: Set<Password>,
    /// Reject the change if the current version differs.
    expected_version: Option<Version>,
    #[serde(skip)]
    password_hash: Option<String>,
}

/// Whether anything but disabling is requested.
const BESIDE_DISABLED: &[&str] = &["username", "email", "role", "password"];

impl Operation for UpdateUser {
    type Output = User;
    const NAME: &'static str = "update_user";
    const COMMANDS: &'static [Command] = &[
        command("user update"),
        command("user disable").with(&[("disabled", "true")]).without(BESIDE_DISABLED).about(
            "Disable a user. Tokens and sessions become invalid at once; what the user created stays.",
        ),
        command("user enable")
            .with(&[("disabled", "false")])
            .without(BESIDE_DISABLED)
            .about("Enable a disabled user."),
    ];
    const ROUTES: &'static [Route] = &[patch("/users/{user}")];
    const EFFECT: Effect = Effect::Administers;
    const POSITIONAL: &'static [&'static str] = &["user"];

    fn computes(&self) -> bool {
        self.password.0.is_some()
    }

    fn compute(&mut self, _: &Issuers) -> Result<()> {
        self.password_hash =
            self.password.0.as_ref().map(|password| secret::hash_password(password.as_str())).transpose()?;
        Ok(())
    }

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<User> {
        user::lock_administrators(cx.tx)?;
        let before = find(cx, &self.user)?;
        check_version(self.expected_version, &before.username, before.version, &before)?;
        let username = self.username.0.as_ref().map(Text::as_str);
        let email = self.email.0.as_ref().map(Text::as_str);
        check_names(cx, username, email, Some(&before.id))?;
        let mut after = before.clone();
        if let Some(username) = username {
            after.username = username.trim().to_owned();
        }
        if let Some(email) = email {
            after.email = email.trim().to_owned();
        }
        if let Some(role) = self.role.0 {
            after.role = role.into();
        }
        if let Some(disabled) = self.disabled.0 {
            after.disabled = disabled;
        }
        if after == before && self.password_hash.is_none() {
            return Ok(before);
        }
        keep_an_administrator(cx, &before, &after)?;
        let is_made = after.role != before.role;
        if after.role == Role::Administrator && (is_made || self.password_hash.is_some()) {
            check_whole_power(cx)?;
        }
        after.version += 1;
        after.updated_at = cx.now();
        if !user::update(cx.tx, &after)? {
            return Err(overtaken(&before.username));
        }
        if let Some(hash) = &self.password_hash {
            user::set_password(cx.tx, &after.id, hash)?;
        }
        if self.password_hash.is_some() || after.disabled {
            store::session::end_others(cx.tx, &after.id, None)?;
        }
        let mut changes = difference(Some(&to_value(&before)?), Some(&to_value(&after)?));
        if self.password_hash.is_some() {
            changes.insert("password".to_owned(), json!([null, "changed"]));
        }
        cx.record_changes(&subject(&after.id, after.version), &changes)?;
        Ok(after)
    }
}

/// Delete a user without references. Others can be disabled.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteUser {
    /// The user's id, name or address.
    user: Text<1, 254>,
    /// Reject if the current version differs.
    expected_version: Option<Version>,
}

impl Operation for DeleteUser {
    type Output = User;
    const NAME: &'static str = "delete_user";
    const COMMANDS: &'static [Command] = &[command("user delete")];
    const ROUTES: &'static [Route] = &[delete("/users/{user}")];
    const EFFECT: Effect = Effect::Administers;
    const POSITIONAL: &'static [&'static str] = &["user"];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<User> {
        user::lock_administrators(cx.tx)?;
        let gone = find(cx, &self.user)?;
        check_version(self.expected_version, &gone.username, gone.version, &gone)?;
        keep_an_administrator(cx, &gone, &User { disabled: true, ..gone.clone() })?;
        if user::is_referenced(cx.tx, &gone.id)? {
            let message = format!(
                "{} has made or changed things, which keep the name; disable the user instead",
                gone.username
            );
            return Err(Error::conflict(message));
        }
        if !user::delete(cx.tx, &gone)? {
            return Err(overtaken(&gone.username));
        }
        record(cx, Some(&gone), None, gone.version + 1)?;
        Ok(gone)
    }
}

/// List the names of users, for assigning work.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListUserDirectory {
    /// How many items to return; default 50.
    limit: Option<Limit>,
    /// How many items to skip.
    offset: Option<Offset>,
    /// Continue after a page: its `next_cursor`.
    cursor: Option<Cursor>,
}

impl Operation for ListUserDirectory {
    type Output = Page<Name>;
    const NAME: &'static str = "list_user_directory";
    const COMMANDS: &'static [Command] = &[command("user directory")];
    const ROUTES: &'static [Route] = &[get("/users/directory")];
    const EFFECT: Effect = Effect::Reads;
    const COLUMNS: &'static [Columns] = &[(None, &["username", "id"])];

    fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Page<Name>> {
        let window = window_from(self.limit, self.offset, self.cursor.as_ref())?;
        let (names, total) = user::directory(cx.tx, window.0, window.1)?;
        Ok(page(names, total, window))
    }
}

fn find(cx: &mut Cx<'_, '_>, who: &Text<1, 254>) -> Result<User> {
    user::find(cx.tx, who.as_str())?.ok_or_else(|| Error::not_found("user", who.as_str()))
}

fn keep_an_administrator(cx: &mut Cx<'_, '_>, before: &User, after: &User) -> Result<()> {
    let was = before.role == Role::Administrator && !before.disabled;
    let is = after.role == Role::Administrator && !after.disabled;
    if was && !is && user::count_administrators(cx.tx)? <= 1 {
        return Err(Error::conflict(format!("{} is the only administrator who can log in", before.username)));
    }
    Ok(())
}

pub(crate) fn check_names(
    cx: &mut Cx<'_, '_>,
    username: Option<&str>,
    email: Option<&str>,
    own_id: Option<&str>,
) -> Result<()> {
    if let Some(name) = username.map(str::trim) {
        let fits = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-');
        if name.chars().count() < 3 || !name.chars().all(fits) {
            let message =
                format!("expected 3 to 50 letters, digits, dots, underscores and hyphens, found {name:?}");
            return Err(Error::field("username", message));
        }
        refuse_taken(cx, "username", name, own_id)?;
    }
    if let Some(address) = email.map(str::trim) {
        let parts = address.split_once('@');
        let fits = parts.is_some_and(|(name, host)| {
            !name.is_empty()
                && !host.is_empty()
                && !host.contains('@')
                && !address.contains(char::is_whitespace)
        });
        if !fits {
            return Err(Error::field(
                "email",
                format!("expected an address such as ann@example.org, found {address:?}"),
            ));
        }
        refuse_taken(cx, "email", address, own_id)?;
    }
    Ok(())
}

fn refuse_taken(cx: &mut Cx<'_, '_>, field: &str, name: &str, own_id: Option<&str>) -> Result<()> {
    match user::find(cx.tx, name)? {
        Some(other) if own_id != Some(&other.id) => {
            Err(Error::conflict(format!("the {field} {name:?} is taken")).about(field))
        }
        _ => Ok(()),
    }
}

/// Whoever creates an administrator, or logs in as one, has all rights of administrators, so a token without all of them
/// must not do so.
fn check_whole_power(cx: &Cx<'_, '_>) -> Result<()> {
    cx.caller()?.may(Effect::OwnsAccount)
}

fn subject(id: &str, version: i64) -> Subject<'_> {
    Subject { project_id: None, kind: "user", id, reference_id: None, version }
}

pub(crate) fn record(
    cx: &mut Cx<'_, '_>,
    before: Option<&User>,
    after: Option<&User>,
    version: i64,
) -> Result<()> {
    let id = after.or(before).map(|user| user.id.clone()).unwrap_or_default();
    let subject = subject(&id, version);
    let before = before.map(to_value).transpose()?;
    let after = after.map(to_value).transpose()?;
    cx.record(&subject, before.as_ref(), after.as_ref())
}

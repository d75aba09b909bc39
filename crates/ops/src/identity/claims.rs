//! The claims of an identity token about a CI run, for GitHub Actions and GitLab, and which of them are trusted.

use serde::Deserialize;
use store::model::Time;

use super::refused;
use crate::error::Result;

/// The tolerated difference between the clocks of an issuer and of this server.
const LEEWAY_S: i64 = 60;
/// The maximal length of a token's id, which is stored until the token has expired.
const TOKEN_ID_MAX_BYTES: usize = 200;
/// How long the name of a ref may be.
const REF_MAX_CHARS: usize = 200;
/// The latest accepted time: in the year 9999.
const SECONDS_MAX: i64 = 253_402_300_799;

/// The events that run a ref's own code, in GitHub Actions and then in GitLab. Others may run untrusted code while the token
/// names a
/// ref of the repository: `pull_request_target`, `workflow_run`, comments, pipelines of merge requests.
const OWN_CODE: &[&str] = &[
    "push",
    "schedule",
    "workflow_dispatch",
    "repository_dispatch",
    "merge_group",
    "release",
    "web",
    "api",
    "trigger",
    "pipeline",
];

/// The claims of an identity token.
#[derive(Debug, Deserialize)]
pub struct Claims {
    /// Who has issued it.
    pub iss: String,
    aud: Audience,
    jti: Option<String>,
    exp: i64,
    iat: i64,
    nbf: Option<i64>,
    sha: Option<String>,
    #[serde(rename = "ref")]
    ref_name: Option<String>,
    event_name: Option<String>,
    repository_id: Option<Number>,
    repository: Option<String>,
    head_repository_id: Option<Number>,
    head_repository: Option<String>,
    // The same in GitLab.
    ref_path: Option<String>,
    ref_type: Option<String>,
    pipeline_source: Option<String>,
    project_id: Option<Number>,
    source_project_id: Option<Number>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Audience {
    One(String),
    Several(Vec<String>),
}

/// The number of a repository, which issuers write as a number or as text.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Number {
    Number(u64),
    Text(String),
}

impl Number {
    /// Its digits.
    fn digits(&self) -> Option<String> {
        match self {
            Number::Number(number) => Some(number.to_string()),
            Number::Text(text) => {
                let fits =
                    !text.is_empty() && text.len() <= 100 && text.bytes().all(|byte| byte.is_ascii_digit());
                fits.then(|| text.clone())
            }
        }
    }
}

/// The proved facts about a run.
#[derive(Debug)]
pub struct Proved {
    /// The issuer of its identity.
    pub issuer: String,
    /// The id of the identity token.
    pub token_id: String,
    /// Until when the identity token could be used again.
    pub used_until: Time,
    /// The number of the repository.
    pub external_id: String,
    /// The ref.
    pub ref_name: String,
    /// The commit.
    pub commit: String,
    /// Why the executed code may differ from that of the ref.
    pub doubt: Option<String>,
}

impl Claims {
    /// Parses claims, which may be trusted only if the signature is valid.
    pub fn parse(payload: &[u8]) -> Result<Claims> {
        serde_json::from_slice(payload)
            .map_err(|error| refused(format!("the claims of the identity token cannot be read: {error}")))
    }

    /// Checks that the token was issued for this server only.
    pub fn check_audience(&self, expected: &str) -> Result<()> {
        let found = match &self.aud {
            Audience::One(one) => std::slice::from_ref(one),
            Audience::Several(several) => several.as_slice(),
        };
        if found == [expected] {
            return Ok(());
        }
        let found: Vec<String> = found.iter().take(5).map(|one| crate::shortened(one)).collect();
        Err(refused(format!(
            "the identity token is for the audience {:?}: expected {expected:?} alone",
            found.join(", ")
        )))
    }

    /// The facts that are proved at this time.
    pub fn proved(&self, now: Time) -> Result<Proved> {
        let used_until = self.check_time(now)?;
        let token_id = self.jti.clone().filter(|id| !id.is_empty() && id.len() <= TOKEN_ID_MAX_BYTES);
        let Some(token_id) = token_id else {
            return Err(refused(format!(
                "the identity token has no id (jti) of up to {TOKEN_ID_MAX_BYTES} bytes"
            )));
        };
        Ok(Proved {
            issuer: self.iss.clone(),
            token_id,
            used_until,
            external_id: self.external_id()?,
            ref_name: self.ref_name()?,
            commit: self.commit()?,
            doubt: self.doubt(),
        })
    }

    /// Checks that the token is valid now, and returns until when it can be.
    fn check_time(&self, now: Time) -> Result<Time> {
        let now_s = now.microseconds().div_euclid(1_000_000);
        let Claims { exp, iat, nbf, .. } = *self;
        if [Some(exp), Some(iat), nbf]
            .into_iter()
            .flatten()
            .any(|second| !(0..=SECONDS_MAX).contains(&second))
        {
            return Err(refused(
                "the times of the identity token (exp, iat, nbf) are not seconds since 1970",
            ));
        }
        if exp + LEEWAY_S <= now_s {
            return Err(refused(format!("the identity token has expired, {} seconds ago", now_s - exp)));
        }
        let begin = nbf.map_or(iat, |nbf| nbf.max(iat));
        if begin - LEEWAY_S > now_s {
            return Err(refused(format!(
                "the identity token is not valid yet, for {} seconds",
                begin - now_s
            )));
        }
        Ok(Time::from_microseconds((exp + LEEWAY_S + 1) * 1_000_000))
    }

    fn external_id(&self) -> Result<String> {
        let id = match (&self.repository_id, &self.project_id) {
            (Some(id), None) | (None, Some(id)) => id.digits(),
            (Some(_), Some(_)) => {
                return Err(refused(
                    "the identity token has both repository_id and project_id: expected one of them",
                ));
            }
            (None, None) => None,
        };
        id.ok_or_else(|| {
            refused("the identity token has no number of a repository (repository_id or project_id)")
        })
    }

    /// The full name of the ref. GitLab's `ref` is a short name, and for merge requests a branch that may be a fork's.
    fn ref_name(&self) -> Result<String> {
        let short = || {
            let name = self.ref_name.as_deref()?;
            match self.ref_type.as_deref() {
                _ if name.starts_with("refs/") => Some(name.to_owned()),
                Some("branch") if self.pipeline_source.is_some() => Some(format!("refs/heads/{name}")),
                Some("tag") if self.pipeline_source.is_some() => Some(format!("refs/tags/{name}")),
                _ => None,
            }
        };
        let full = match &self.ref_path {
            Some(path) => Some(path.clone()).filter(|path| path.starts_with("refs/")),
            None => short(),
        };
        let fits = |name: &String| name.chars().count() <= REF_MAX_CHARS && !name.contains(char::is_control);
        full.filter(fits).ok_or_else(|| {
            refused("the identity token does not say which ref the run is of, such as refs/heads/main")
        })
    }

    fn commit(&self) -> Result<String> {
        let fits =
            |sha: &&String| matches!(sha.len(), 40 | 64) && sha.bytes().all(|byte| byte.is_ascii_hexdigit());
        let sha = self.sha.as_ref().filter(fits);
        sha.cloned()
            .ok_or_else(|| refused("the identity token does not say which commit the run is of (sha)"))
    }

    /// Why the executed code may not be that of the ref.
    fn doubt(&self) -> Option<String> {
        let own = self.repository_id.as_ref().or(self.project_id.as_ref()).and_then(Number::digits);
        let differs = |head: &Option<Number>| head.as_ref().is_some_and(|head| head.digits() != own);
        let is_fork = differs(&self.head_repository_id)
            || differs(&self.source_project_id)
            || self.head_repository.is_some() && self.head_repository != self.repository;
        if is_fork {
            return Some("the code that ran is that of a fork".to_owned());
        }
        let event = self.event_name.as_deref().or(self.pipeline_source.as_deref());
        match event {
            Some(event) if OWN_CODE.contains(&event) => None,
            Some(event) => {
                let event = crate::shortened(event);
                Some(format!("a run that was started by {event} may run other code than that of its ref"))
            }
            None => Some(
                "the identity token does not say what started the run (event_name or pipeline_source)"
                    .to_owned(),
            ),
        }
    }
}

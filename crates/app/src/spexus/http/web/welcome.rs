//! `/welcome`: what follows a one-time link. Looking at it does not use it up; its form does.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::Response;
use ops::{Call, Credentials, Error, ErrorKind, known};
use serde_json::{Value, json};
use store::model::{DEFAULT_PROJECT_KEY, Via};
use web::Problem;

use super::super::answer::status;
use super::super::endpoint::call_engine;
use super::super::refusals::{Place, Tried};
use super::super::request::{check_once, decode, request_id, user_agent};
use super::super::{App, Peer};
use super::html;
use super::page::problem;
use crate::spexus::now;

/// `GET /welcome`.
pub async fn page(State(app): State<Arc<App>>, request: Request) -> Response<Body> {
    let (parts, _) = request.into_parts();
    let mut pairs = parts.uri.query().unwrap_or_default().split('&');
    let code = pairs.find_map(|pair| pair.strip_prefix("code=")).and_then(|code| decode(code, true));
    let code = code.unwrap_or_default();
    let next = if app.options.is_demo { format!("/p/{DEFAULT_PROJECT_KEY}") } else { "/".to_owned() };
    Following { app: &app, parts: &parts, code: &code }.show(StatusCode::OK, &next, None).await
}

/// A link that somebody follows.
pub struct Following<'a> {
    pub app: &'a App,
    pub parts: &'a Parts,
    pub code: &'a str,
}

impl Following<'_> {
    /// Shows the form again, with what was wrong with it; or that the link does not work.
    pub async fn show_again(&self, status: StatusCode, next: &str, problem: Problem) -> Response<Body> {
        match status {
            StatusCode::UNAUTHORIZED | StatusCode::TOO_MANY_REQUESTS => {
                html(status, web::no_welcome(&problem))
            }
            _ => self.show(status, next, Some(problem)).await,
        }
    }

    async fn show(&self, with: StatusCode, next: &str, trouble: Option<Problem>) -> Response<Body> {
        match self.look().await {
            Ok(link) => {
                let is_pressed =
                    self.app.options.is_demo && link["sets_password"] == false && trouble.is_none();
                html(with, web::welcome(self.code, &link, next, is_pressed, trouble.as_ref()))
            }
            Err(error) => html(status(error.kind), web::no_welcome(&problem(&error))),
        }
    }

    /// Finds out whom the link signs in. A wrong code counts as a guess.
    async fn look(&self) -> Result<Value, Error> {
        check_once(&self.parts.headers)?;
        let entry = known::GET_SIGN_IN_LINK;
        let request_id = request_id(&self.parts.headers);
        let address = self.parts.extensions.get::<Peer>().map(|peer| peer.0);
        let request = ops::Request {
            via: Via::Web,
            now: now(),
            request_id: Some(request_id.clone()),
            address: address.map(|address| address.to_string()),
            user_agent: user_agent(&self.parts.headers),
            checkout: None,
            threats: None,
        };
        let call = Call::new(entry, json!({ "code": self.code }), Credentials::None, request);
        match call_engine(self.app, call).await.result {
            Ok(answer) => serde_json::from_str(&answer.json).map_err(|error| {
                Error::new(ErrorKind::InternalError, format!("the answer is not JSON: {error}"))
            }),
            Err(error) if error.kind == ErrorKind::Unauthenticated => {
                let place = Place { operation: entry.name, address, request_id: &request_id };
                Err(self.app.refused(error, &Tried::Link, place))
            }
            Err(error) if error.kind == ErrorKind::ValidationError => {
                Err(Error::new(error.kind, "this link is incomplete; copy all of it"))
            }
            Err(error) => Err(error),
        }
    }
}

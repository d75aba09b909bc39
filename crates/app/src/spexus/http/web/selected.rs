//! `POST /p/{key}/list/{kind}/change`: tries out a change of selected rows. It changes nothing; the page that it answers has a form
//! that does, by the way of all writes.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use ops::{ErrorKind, known};
use serde_json::json;
use web::{Answers, Asked, Selection, Shown, View};

use super::super::App;
use super::super::body::{self, Bounds};
use super::super::request::{decode, request_id};
use super::page::{Asking, caller, me, problem, to_sign_in};
use super::{html, own_path, see_other, site};
use crate::spexus::now;

/// How much the form may hold: 500 rows and what is to become of them.
const FORM: Bounds = Bounds { bytes_max: 256 << 10, is_json: false };

/// Tries a change, and shows what would come of it.
pub async fn try_out(
    State(app): State<Arc<App>>,
    Path((key, kind)): Path<(String, String)>,
    request: Request,
) -> Response<Body> {
    let (parts, form) = request.into_parts();
    let caller = match caller(&app, &parts).await {
        Ok(caller) => caller,
        Err(error) if error.kind == ErrorKind::Unauthenticated => return to_sign_in(&parts),
        Err(error) => {
            return html(
                super::super::answer::status(error.kind),
                web::sign_in("/", "", Some(&problem(&error))),
            );
        }
    };
    let asked = Asked {
        path: format!("/p/{key}/list/{kind}"),
        parameters: [("key".to_owned(), key.clone()), ("kind".to_owned(), kind.clone())].into(),
        query: Vec::new(),
    };
    let read = tokio::time::timeout(app.options.request_timeout, body::collect(form, FORM)).await;
    let Ok(Ok(bytes)) = read else { return see_other(own_path(&asked.path)) };
    let id = request_id(&parts.headers);
    let asking = Asking { app: &app, parts: &parts, id: &id, caller: &caller, file: None };
    let (answers, site, me) = (Answers::default(), site(&app), me(&caller, &parts));
    let view = View { asked: &asked, answers: &answers, me: &me, site: &site, now: now().microseconds() };
    let tried = async {
        let selection = Selection::read(&key, &kind, &fields(&bytes))?;
        let next = own_path(selection.next()).to_owned();
        let selection = selection.going_to(&next);
        let refused = |error: ops::Error| problem(&error);
        let before = asking.ask(known::BULK_UPDATE, selection.looks()).await.map_err(refused)?;
        let operations = selection.operations(&before);
        let arguments = json!({ "operations": operations, "dry_run": true });
        let tried = asking.ask(known::BULK_UPDATE, arguments).await.map_err(refused)?;
        Ok(selection.show(&before, &operations, &tried))
    };
    let tried: Result<Shown, web::Problem> = tried.await;
    let (status, shown) = match tried {
        Ok(shown) => (StatusCode::OK, shown),
        Err(problem) => (
            StatusCode::from_u16(problem.status).unwrap_or(StatusCode::BAD_REQUEST),
            web::selection_failed(&problem, &asked.path),
        ),
    };
    html(status, web::whole(&view, &shown))
}

/// The fields of a form, in order.
fn fields(bytes: &[u8]) -> Vec<(String, String)> {
    let text = String::from_utf8_lossy(bytes);
    let pairs = text.split('&').filter(|pair| !pair.is_empty());
    let fields = pairs.filter_map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        Some((decode(name, true)?, decode(value, true)?))
    });
    fields.collect()
}

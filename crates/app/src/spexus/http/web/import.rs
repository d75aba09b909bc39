//! The steps of an import that no page can do: taking the file, and handing out what is wrong with it as a table.

use std::io::Write as _;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::response::Response;
use multer::{Constraints, Multipart, SizeLimit};
use ops::{Upload, known};
use serde_json::{Value, json};

use super::super::App;
use super::super::answer::insert;
use super::super::request::{decode, request_id};
use super::super::upload::write;
use super::page::{Asking, caller, to_sign_in};
use super::{html, see_other};

/// What a form may hold beside the file.
const REST_MAX_BYTES: u64 = 64 << 10;
/// How much of a file is gathered before it is written.
const PART_BYTES: usize = 256 << 10;
/// The longest name of a file that is shown.
const NAME_MAX_CHARS: usize = 100;

/// `POST /p/{key}/import`: keeps the file, and leads to the page for its columns.
pub async fn take(State(app): State<Arc<App>>, request: Request) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let path = parts.uri.path().to_owned();
    let caller = match caller(&app, &parts).await {
        Ok(caller) => caller,
        Err(_) => return to_sign_in(&parts),
    };
    let again = |problem: &str| see_other(&format!("{path}?problem={problem}"));
    if caller.may(known::IMPORT.effect).is_err() {
        return again("forbidden");
    }
    let content_type = parts.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let Ok(boundary) = multer::parse_boundary(content_type.unwrap_or_default()) else { return again("form") };
    let bytes_max = app.options.import_max_bytes as u64;
    let limits = SizeLimit::new().whole_stream(bytes_max + REST_MAX_BYTES).for_field("file", bytes_max);
    let form =
        Multipart::with_constraints(body.into_data_stream(), boundary, Constraints::new().size_limit(limits));
    let (name, upload) = match read(form, app.options.request_timeout).await {
        Ok(Some(read)) => read,
        Ok(None) => return again("empty"),
        Err(problem) => return again(problem),
    };
    let Some(format) = format_of(&name) else { return again("format") };
    let id = app.uploads.keep(&caller.user_id, upload);
    let name = words::cut(&name, NAME_MAX_CHARS);
    see_other(&format!("{path}/{id}?format={format}&name={}", web::encode(name)))
}

/// The file of a form, and its name; none where nothing was chosen. Each part arrives within the time.
async fn read(
    mut form: Multipart<'_>,
    patience: std::time::Duration,
) -> Result<Option<(String, Upload)>, &'static str> {
    let in_time = |result: Result<_, _>| result.map_err(|_| "slow");
    let refused = |error: multer::Error| match error {
        multer::Error::FieldSizeExceeded { .. } | multer::Error::StreamSizeExceeded { .. } => "large",
        _ => "form",
    };
    loop {
        let next = tokio::time::timeout(patience, form.next_field()).await.map_err(|_| "slow")?;
        let Some(mut field) = next.map_err(refused)? else { return Ok(None) };
        let Some(name) = field.file_name().map(str::to_owned).filter(|name| !name.is_empty()) else {
            continue;
        };
        let (mut upload, mut part) = (Upload::new(), Vec::new());
        loop {
            let chunk = in_time(tokio::time::timeout(patience, field.chunk()).await)?.map_err(refused)?;
            let is_last = chunk.is_none();
            part.extend_from_slice(&chunk.unwrap_or_default());
            if is_last || part.len() >= PART_BYTES {
                upload = write(upload, std::mem::take(&mut part)).await.map_err(|_| "disk")?;
            }
            if is_last {
                return Ok(Some((name, upload)).filter(|(_, upload)| upload.n_bytes() > 0));
            }
        }
    }
}

/// The format that a file's name says.
fn format_of(name: &str) -> Option<&'static str> {
    Some(match name.rsplit_once('.')?.1.to_ascii_lowercase().as_str() {
        "csv" | "tsv" | "txt" => "csv",
        "xlsx" | "xlsm" => "xlsx",
        "md" | "markdown" => "markdown",
        "json" => "json",
        "reqif" | "xml" => "reqif",
        _ => return None,
    })
}

/// `GET /p/{key}/import/{file}/mistakes.csv`: what has to be corrected, as a table.
pub async fn mistakes(State(app): State<Arc<App>>, request: Request) -> Response<Body> {
    let (parts, _) = request.into_parts();
    let caller = match caller(&app, &parts).await {
        Ok(caller) => caller,
        Err(_) => return to_sign_in(&parts),
    };
    let mut steps = parts.uri.path().split('/').skip(2).map(|step| decode(step, false).unwrap_or_default());
    let (key, file) = (steps.next().unwrap_or_default(), steps.nth(1).unwrap_or_default());
    let mut arguments = json!({ "project": key, "content": "", "dry_run": true });
    for pair in parts.uri.query().unwrap_or_default().split('&') {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        if let (true, Some(value)) = (["format", "map", "scheme"].contains(&name), decode(value, true)) {
            arguments[name] = Value::String(value);
        }
    }
    let id = request_id(&parts.headers);
    let asking = Asking { app: &app, parts: &parts, id: &id, caller: &caller, file: Some(&file) };
    match asking.ask(known::IMPORT, arguments).await {
        Ok(report) => attachment(&report),
        Err(error) => {
            let problem = super::page::problem(&error);
            let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::BAD_REQUEST);
            html(status, web::inline_problem(&problem))
        }
    }
}

fn attachment(report: &Value) -> Response<Body> {
    let text = |problem: &Value, name: &str| problem[name].as_str().unwrap_or_default().to_owned();
    let mut table = Vec::from("\u{feff}row,column,what is wrong\r\n".as_bytes());
    for problem in report["problems"].as_array().into_iter().flatten() {
        let cells = ["row", "field", "message"].map(|name| cell(&text(problem, name)));
        // Memory takes everything.
        let _ = write!(table, "{}\r\n", cells.join(","));
    }
    let mut response = Response::new(Body::from(table));
    let headers = response.headers_mut();
    insert(headers, header::CONTENT_TYPE, "text/csv; charset=utf-8");
    insert(headers, header::CONTENT_DISPOSITION, "attachment; filename=\"mistakes.csv\"");
    insert(headers, header::CACHE_CONTROL, "no-store");
    insert(headers, header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    response
}

/// A text as a cell, which no spreadsheet calculates.
fn cell(text: &str) -> String {
    let guard = if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { "'" } else { "" };
    format!("\"{guard}{}\"", text.replace('"', "\"\""))
}

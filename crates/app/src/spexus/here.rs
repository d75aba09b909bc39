//! `spexus` alone: where commands run, which project this is, and what needs attention.

use clap::ArgMatches;
use ops::{Entry, known};
use serde_json::{Value, json};

use super::commands::{CommandProblem, Place, place_of, told};
use super::print::{self, Look};
use super::{Exit, config, credentials};
use crate::managed::{self, PROJECT_FILE, ProjectFile};

/// Says where one is.
pub fn run(matches: &ArgMatches) -> Exit {
    match overview(matches) {
        Ok(text) => print::raw(&text),
        Err(problem) => told(problem),
    }
}

fn overview(matches: &ArgMatches) -> Result<String, CommandProblem> {
    let look = Look::of_stdout();
    let heading = |text: &str| format!("{}\n", look.styled(print::HEADING, text));
    let mut text = heading(&format!("Spexus {}", env!("CARGO_PKG_VERSION")));
    let file = project_file();
    let server = file.as_ref().and_then(|file| file.server.as_deref());
    let mut settings = config::settings(matches);
    let asked = config::server(&mut settings)
        .or_else(|| server.filter(|named| credentials::find(named).is_some()).map(str::to_owned));
    let config::Config { store, .. } = config::read(&mut settings);
    settings.check().map_err(|problems| CommandProblem::Usage(problems.to_string()))?;
    match &asked {
        Some(server) => text.push_str(&format!("server   {server}\n")),
        None => text.push_str(&format!("store    {}\n", store.location)),
    }
    if let Some(file) = &file {
        let repository =
            file.repository.as_deref().map(|name| format!(", repository {name}")).unwrap_or_default();
        text.push_str(&format!("project  {} ({PROJECT_FILE}{repository})\n", file.project));
        if let Some(server) = server.filter(|_| asked.is_none()) {
            text.push_str(&format!("         on {server}: spexus auth login --server {server}\n"));
        }
    }
    if asked.is_none() && store.location.is_missing() {
        text.push_str("\nThere is no store there yet. Begin with one of these:\n");
        text.push_str("  spexus serve --demo             a server with an example, in the browser\n");
        text.push_str("  spexus epic create \"Checkout\"   the first epic, here\n");
        text.push_str("  spexus import FILE              requirements that you have\n");
        return Ok(text);
    }
    let place = place_of(matches, server)?;
    let me = place.call(known::WHO_AM_I, json!({}))?;
    let word = |name: &str| me[name].as_str().unwrap_or_default();
    text.push_str(&format!("user     {} ({})\n\n", word("username"), word("role")));
    let project = file.as_ref().map(|file| file.project.as_str());
    let found = attention(&place, project);
    if found.is_empty() {
        text.push_str("Nothing needs attention.\n");
    } else {
        text.push_str(&heading("Needs attention"));
        for (count, what, command) in found {
            text.push_str(&format!("  {count:>6}  {what:<26}  {command}\n"));
        }
    }
    text.push_str(
        "\nspexus --help lists the commands; spexus ls, spexus search and spexus show REQ-001 look around.\n",
    );
    Ok(text)
}

/// The file of the project that this folder is in. A broken one is told by the commands that need it.
fn project_file() -> Option<ProjectFile> {
    let folder = std::env::current_dir().ok()?;
    let root = folder.ancestors().find(|folder| managed::is_root(folder))?;
    ProjectFile::read(root).ok().flatten()
}

/// What somebody should look at: how much there is, what it is, and the command that shows it.
fn attention(place: &Place, project: Option<&str>) -> Vec<(String, &'static str, String)> {
    let of_project = project.map(|key| format!(" --project {key}")).unwrap_or_default();
    let count = |entry: &'static Entry, mut arguments: Value| {
        if let Some(project) = project {
            arguments["project"] = json!(project);
        }
        let page = place.call(entry, arguments).unwrap_or_default();
        let n_rows = page["data"].as_array().map_or(0, Vec::len);
        match (page["total_count"].as_i64(), page["next_cursor"].is_string()) {
            (Some(total), _) => total.to_string(),
            (None, true) => format!("{n_rows}+"),
            (None, false) => n_rows.to_string(),
        }
    };
    let mine = |kind: &str| count(known::LIST_ENTITIES, json!({"kind": kind, "mine": true, "limit": 1}));
    let rows = [
        (mine("requirement"), "requirements for you", format!("spexus ls --mine{of_project}")),
        (mine("user_story"), "user stories for you", format!("spexus ls stories --mine{of_project}")),
        (
            count(known::LIST_SUSPECT_LINKS, json!({"limit": 1})),
            "suspect links",
            format!("spexus suspect-link list{of_project}"),
        ),
        (
            count(known::LIST_STALE_CITATIONS, json!({"limit": 100})),
            "outdated citations",
            format!("spexus stale-citation list{of_project}"),
        ),
        (
            count(known::LIST_COMMENTS, json!({"resolved": false, "limit": 1})),
            "open comments",
            format!("spexus comment list --resolved=false{of_project}"),
        ),
        (
            count(known::LIST_THREATS, json!({"state": "applies", "limit": 100})),
            "threats without evidence",
            format!("spexus threat list --state applies{of_project}"),
        ),
    ];
    rows.into_iter().filter(|(count, ..)| count != "0").collect()
}

//! The reading tools: what to do next, one thing, lists and searches, reports, and the check of a citation.

use std::sync::Arc;

use mcp::Failure;
use ops::known;
use serde_json::{Value, json};
use store::model::{Kind as EntityKind, Reference};
use trace::Code;
use trace::model::{Model, Named, TraceStatus};

use super::lines::{self, Row, Wanted};
use super::{Arguments, Daily, traced, work};
use crate::budget::TOKENS_DEFAULT;
use crate::combined::turns::Turns;
use crate::duvet::server::{TraceServer, is_managed};
use crate::requirements::include;

/// What can be included with an entity.
pub const PARTS: [&str; 5] = include::PARTS;

/// The default number of rows of a list, and of things to do next.
const ROWS: usize = 20;
const ROWS_NEXT: usize = 5;
/// The kind for requirements of specifications.
const SPEC: &str = "spec";

/// The parent of a list.
enum Under {
    Everything,
    /// In the store: the kind and the reference.
    Managed(EntityKind, String),
    /// Requirements of specifications, in the order of documents.
    Traced(Vec<u32>),
}

impl Daily<'_> {
    pub fn next(&self, mut arguments: Arguments) -> Result<String, Failure> {
        if arguments.shift_remove("take") == Some(json!(true)) {
            return self.take(arguments);
        }
        if arguments.contains_key("paths") {
            return Err(Failure::invalid_argument("paths", "only allowed with take, which leases them"));
        }
        let wanted = Wanted::take(&mut arguments, ROWS_NEXT)?;
        let project = arguments.shift_remove("project");
        let under = self.under(&mut arguments)?;
        let open = match &under {
            Under::Traced(_) => None,
            Under::Managed(_, reference) => Some(json!({ "under": reference })),
            Under::Everything => Some(json!({ "project": project })),
        };
        let spec = match (&under, self.model()) {
            (Under::Managed(..), _) | (_, Err(_)) => Vec::new(),
            (under, Ok(model)) => {
                let is_wanted = |number: &u32| match under {
                    Under::Traced(numbers) => numbers.binary_search(number).is_ok(),
                    _ => true,
                };
                let is_open = |number: &u32| model.state(*number).status != TraceStatus::Done;
                let is_new = |number: &u32| !self.is_listed(&model, *number);
                let open = model.priorities().iter().copied().filter(is_open);
                open.filter(is_wanted).filter(is_new).collect()
            }
        };
        let text = self.rows(&wanted, open.map(|open| (known::LIST_OPEN_WORK, open)), &spec)?;
        Ok(if text.is_empty() { "nothing is open".to_owned() } else { text })
    }

    pub fn get(&self, arguments: Arguments) -> Result<String, Failure> {
        let reference = arguments.get("reference").and_then(Value::as_str).unwrap_or_default().trim();
        let model = self.model().ok();
        if let (Some(trace), Some(model)) = (self.trace(), &model) {
            if reference.trim_matches('/').trim_start_matches("duvet:///") == "specifications" {
                return self.report(Arguments::new());
            }
            if let Some(named) = self.named(model, reference) {
                return read(trace, model, named);
            }
        }
        let is_managed = Reference::parse(reference).is_some() || model.is_none();
        if !is_managed || self.combined.local.is_none() {
            return Err(traced::not_found(model.as_deref(), reference));
        }
        let store = self.store()?;
        if let Some(Reference::Numbered { kind: EntityKind::Prompt, .. }) = Reference::parse(reference) {
            let prompt = store.call(known::GET_PROMPT, json!({ "prompt_id": reference }), self.context)?;
            return Ok(lines::shortened(lines::entity(&prompt), TOKENS_DEFAULT));
        }
        let entity = store.call(known::GET_ENTITY, json!({ "reference": reference }), self.context)?;
        let include = include::Include::take(&mut arguments.clone());
        let around = include::around(&store, self.context, &entity, &include, TOKENS_DEFAULT)?;
        let mut text = vec![lines::entity(&entity)];
        text.extend(around.iter().map(|(name, part)| lines::part(name, part)));
        if let (Some(trace), Some(model)) = (self.trace(), &model) {
            text.extend(traced::managed(trace, model, entity["reference_id"].as_str().unwrap_or_default()));
        }
        // An agent that reads an entity in order to change it needs all of it.
        Ok(text.join("\n"))
    }

    pub fn find(&self, mut arguments: Arguments) -> Result<String, Failure> {
        let wanted = Wanted::take(&mut arguments, ROWS)?;
        let under = self.under(&mut arguments)?;
        let kind = arguments.shift_remove("kind").and_then(|kind| kind.as_str().map(str::to_owned));
        let status = arguments.get("status").and_then(Value::as_str).map(str::to_lowercase);
        let trace_status = TraceStatus::ALL.into_iter().find(|known| status.as_deref() == Some(known.name()));
        let query =
            arguments.get("query").and_then(Value::as_str).map(str::trim).unwrap_or_default().to_owned();
        if !query.is_empty() {
            words::Query::parse(&query)
                .map_err(|problem| Failure::invalid_argument("query", &problem.to_string()))?;
        }
        if !query.is_empty() && arguments.contains_key("label") {
            return Err(Failure::invalid_argument(
                "label",
                "cannot be combined with a query; list without one",
            ));
        }
        let is_filtered = ["priority", "type", "assignee", "label", "project"];
        let is_filtered = is_filtered.into_iter().any(|name| arguments.contains_key(name));
        let can_be_traced = matches!(kind.as_deref(), None | Some(SPEC)) && !is_filtered;
        let can_be_managed = match kind.as_deref() {
            Some(SPEC) => false,
            Some(_) => true,
            None => trace_status.is_none(),
        };
        let model =
            self.model().ok().filter(|_| can_be_traced && (status.is_none() || trace_status.is_some()));
        let spec = match (&under, &model) {
            (Under::Managed(..), _) | (_, None) => Vec::new(),
            (under, Some(model)) => {
                let mut numbers = match query.is_empty() {
                    true => (0..model.catalogue.requirements.len() as u32).collect(),
                    false => model.search(&query),
                };
                if let Under::Traced(known) = under {
                    numbers.retain(|number| known.binary_search(number).is_ok());
                }
                numbers.retain(|number| !self.is_listed(model, *number));
                numbers
                    .retain(|number| trace_status.is_none_or(|status| model.state(*number).status == status));
                numbers
            }
        };
        let managed = match under {
            Under::Traced(_) => None,
            _ if !can_be_managed => None,
            Under::Everything => Some(managed_search(arguments, kind, &query, None)),
            Under::Managed(above, reference) => {
                Some(managed_search(arguments, kind, &query, Some((above, &reference))))
            }
        };
        if self.combined.local.is_none() && spec.is_empty() && model.is_none() {
            return Err(self.model().map(drop).err().unwrap_or_else(Failure::internal));
        }
        let text = self.rows(&wanted, managed, &spec)?;
        Ok(if text.is_empty() {
            "nothing was found; try other words, or fewer conditions".to_owned()
        } else {
            text
        })
    }

    pub fn report(&self, mut arguments: Arguments) -> Result<String, Failure> {
        let wanted = Wanted::take(&mut arguments, 100)?;
        let under = arguments.get("under").and_then(Value::as_str).unwrap_or_default().to_owned();
        let model = self.model().ok();
        if let (false, Some(model)) = (under.is_empty(), &model)
            && let (Some(trace), Some(named)) = (self.trace(), self.named(model, &under))
        {
            return match named {
                Named::Specification(specification) => {
                    let rows = traced::sections(model, specification);
                    let rows: Vec<Row> = rows.into_iter().skip(wanted.offset).collect();
                    Ok(wanted.page(&rows, wanted.offset + rows.len()))
                }
                named => read(trace, model, named),
            };
        }
        let mut text = String::new();
        if self.combined.local.is_some() && wanted.offset == 0 {
            let about = match under.as_str() {
                "" => json!({}),
                epic => json!({ "epic_id": epic }),
            };
            text += &statuses(&self.store()?.call(known::STATUS_REPORT, about, self.context)?);
        }
        let Some(model) = model.filter(|_| under.is_empty()) else { return Ok(text) };
        if wanted.offset == 0 {
            for line in traced::problems(&model) {
                text += &format!("{line}\n");
            }
        }
        let (mut traced, bare): (Vec<_>, Vec<_>) = model
            .catalogue
            .specifications
            .iter()
            .partition(|one| !model.catalogue.requirements_of(one).is_empty());
        traced.sort_by_key(|one| std::cmp::Reverse(traced::n_open(&model, one)));
        let mut lines: Vec<String> = traced.into_iter().map(|one| traced::about(&model, one)).collect();
        if !bare.is_empty() {
            let ids: Vec<&str> = bare.iter().map(|one| one.id.as_str()).collect();
            lines.push(format!("without requirements: {}", ids.join(", ")));
        }
        let n_all = lines.len();
        let rows: Vec<Row> =
            lines.into_iter().skip(wanted.offset).map(|line| Row { heading: String::new(), line }).collect();
        Ok(text + &wanted.page(&rows, n_all))
    }

    pub fn check_citation(&self, arguments: &Arguments) -> Result<String, Failure> {
        let text = |name: &str| arguments.get(name).and_then(Value::as_str);
        let model = self.model()?;
        let Some(trace) = self.trace() else { return Err(Failure::internal()) };
        let verdict = trace.verdict(&model, text("citation").unwrap_or_default(), text("file"));
        let mut lines = Vec::new();
        match &verdict.error {
            None => lines.push("valid".to_owned()),
            Some(error) => lines.push(match &verdict.detail {
                Some(detail) => format!("invalid: {error}: {detail}"),
                None => format!("invalid: {error}"),
            }),
        }
        for quoted in &verdict.requirements {
            let share = (quoted.share * 100.0).floor();
            let id = model.catalogue.short_id(quoted.number);
            let rest = match quoted.rest.as_str() {
                "" => String::new(),
                rest => format!(", not: {rest}"),
            };
            lines.push(format!("covers {share} % of {id}{rest}"));
        }
        for unit in &verdict.units {
            let share = (unit.share * 100.0).floor();
            let rest = if unit.rest.is_empty() { String::new() } else { format!(", not: {}", unit.rest) };
            lines.push(format!("covers {share} % of: {}{rest}", unit.text));
        }
        if verdict.is_valid() && verdict.requirements.is_empty() && verdict.units.is_empty() {
            lines.push("covers no requirement".to_owned());
        }
        lines.extend(verdict.warnings.iter().map(|warning| format!("warning: {warning}")));
        lines.extend(verdict.difference.iter().map(|difference| format!("difference: {difference}")));
        match (&verdict.lines, &verdict.nearest) {
            (Some(better), _) => lines.push(format!("write instead:\n{better}")),
            (None, Some(nearest)) => lines.push(format!("nearest: {nearest}")),
            (None, None) => {}
        }
        // The last pull may be outdated, so it is not shown as current.
        let unreachable = model.general.iter().filter(|problem| problem.code == Code::UnreachableStore);
        lines.extend(unreachable.map(|problem| format!("note: {}", problem.message)));
        Ok(lines::shortened(lines.join("\n"), TOKENS_DEFAULT))
    }

    /// The part of the project that a reference names. Entities of the store are not searched there, although code cites them.
    pub fn named<'m>(&self, model: &'m Model, reference: &str) -> Option<Named<'m>> {
        let is_stored = self.combined.local.is_some() && Reference::parse(reference).is_some();
        if is_stored { None } else { model.named(reference) }
    }

    /// Whether a requirement is in the store, too, so that it would be listed twice.
    fn is_listed(&self, model: &Model, number: u32) -> bool {
        self.combined.local.is_some() && is_managed(model, number)
    }

    /// Resolves `under`.
    fn under(&self, arguments: &mut Arguments) -> Result<Under, Failure> {
        let Some(Value::String(reference)) = arguments.shift_remove("under") else {
            return Ok(Under::Everything);
        };
        let model = self.model().ok();
        if let Some(model) = &model {
            match self.named(model, &reference) {
                Some(Named::Specification(specification)) => {
                    return Ok(Under::Traced(model.catalogue.requirements_of(specification).collect()));
                }
                Some(_) => return Ok(Under::Traced(model.find(&reference))),
                None => {}
            }
        }
        match Reference::parse(&reference) {
            Some(Reference::Numbered { kind, .. }) => Ok(Under::Managed(kind, reference)),
            Some(Reference::Id(_)) if self.combined.local.is_some() => {
                Ok(Under::Managed(self.kind_of(&reference)?, reference))
            }
            _ => {
                let Failure { message, .. } = traced::not_found(model.as_deref(), &reference);
                Err(Failure::invalid_argument("under", &message))
            }
        }
    }

    /// The kind of something in the store.
    pub fn kind_of(&self, reference: &str) -> Result<EntityKind, Failure> {
        if let Some(Reference::Numbered { kind, .. }) = Reference::parse(reference) {
            return Ok(kind);
        }
        let entity =
            self.store()?.call(known::GET_ENTITY, json!({ "reference": reference }), self.context)?;
        let kind = EntityKind::ALL.into_iter().find(|kind| entity["kind"] == kind.name());
        kind.ok_or_else(Failure::internal)
    }

    /// Rows of both lists, alternating because their orders cannot be compared.
    fn rows(
        &self,
        wanted: &Wanted,
        managed: Option<(&'static ops::Entry, Value)>,
        spec: &[u32],
    ) -> Result<String, Failure> {
        let managed = managed.filter(|_| self.combined.local.is_some());
        let ask = |limit: usize, offset: usize| -> Result<(Vec<Value>, usize), Failure> {
            let Some((entry, arguments)) = &managed else { return Ok((Vec::new(), 0)) };
            let mut arguments = arguments.clone();
            (arguments["limit"], arguments["offset"]) = (json!(limit.max(1)), json!(offset));
            let mut page = self.store()?.call(entry, arguments, self.context)?;
            let n_all = page["total_count"].as_u64().unwrap_or_default() as usize;
            match page["data"].take() {
                Value::Array(rows) => Ok((rows.into_iter().take(limit).collect(), n_all)),
                _ => Ok((Vec::new(), n_all)),
            }
        };
        let (_, n_managed) = ask(0, 0)?;
        let turns = Turns { n_managed: n_managed as i64, n_spec: spec.len() as i64 };
        let n_before = turns.managed_before(wanted.offset as i64) as usize;
        let (managed, _) = ask(wanted.limit, n_before)?;
        let model = if spec.is_empty() { None } else { Some(self.model()?) };
        let mut managed = managed.iter();
        let mut spec_rows = spec.iter().skip(wanted.offset - n_before);
        let n_all = n_managed + spec.len();
        let mut rows = Vec::new();
        for place in wanted.offset..(wanted.offset + wanted.limit).min(n_all) {
            let row = match turns.is_managed(place as i64) {
                true => managed.next().map(work::row),
                false => {
                    spec_rows.next().zip(model.as_ref()).map(|(number, model)| traced::row(model, *number))
                }
            };
            rows.extend(row);
        }
        Ok(wanted.page(&rows, n_all))
    }
}

/// A part of the project in full.
fn read(trace: &Arc<TraceServer>, model: &Model, named: Named<'_>) -> Result<String, Failure> {
    let text = match named {
        Named::Requirements(numbers) => {
            let texts: Vec<String> =
                numbers.into_iter().map(|number| traced::requirement(model, number)).collect();
            texts.join("\n\n")
        }
        Named::Section(section) => traced::section(model, section),
        Named::Citation(citation) => traced::citation(trace, model, &citation)?,
        Named::Specification(specification) => {
            let rows = traced::sections(model, specification);
            let mut text = format!("{}\n{}", specification.url, traced::about(model, specification));
            rows.iter().for_each(|row| text += &format!("\n  {}", row.line));
            text
        }
    };
    Ok(lines::shortened(text, TOKENS_DEFAULT))
}

/// The query to the store: the operation, and its arguments.
fn managed_search(
    mut arguments: Arguments,
    kind: Option<String>,
    query: &str,
    under: Option<(EntityKind, &str)>,
) -> (&'static ops::Entry, Value) {
    if query.is_empty() {
        arguments.shift_remove("query");
        let kind = kind.unwrap_or_else(|| EntityKind::Requirement.name().to_owned());
        arguments.insert("kind".into(), json!(kind));
        if let Some((above, reference)) = under {
            arguments.insert(id_of(above), json!(reference));
        }
        return (known::LIST_ENTITIES, as_lists(arguments));
    }
    if let Some(kind) = kind {
        arguments.insert("entity_types".into(), json!([kind]));
    }
    if let Some((above, reference)) = under {
        arguments.insert(above.name().to_owned(), json!(reference));
    }
    (known::SEARCH_GLOBAL, as_lists(arguments))
}

/// Arguments that accept several values.
fn as_lists(mut arguments: Arguments) -> Value {
    for name in ["status", "priority", "label"] {
        if let Some(value) = arguments.get_mut(name).filter(|value| !value.is_array()) {
            *value = json!([value.clone()]);
        }
    }
    Value::Object(arguments)
}

/// The argument that names something of a kind.
pub fn id_of(kind: EntityKind) -> String {
    format!("{}_id", kind.name())
}

/// The progress of the work in the store, a line for each kind.
fn statuses(report: &Value) -> String {
    let mut text = String::new();
    for kind in report["kinds"].as_array().into_iter().flatten() {
        let groups = kind["groups"].as_array().into_iter().flatten();
        let groups: Vec<String> = groups
            .map(|group| format!("{} {}", group["count"], group["name"].as_str().unwrap_or_default()))
            .collect();
        let name = kind["kind"].as_str().unwrap_or_default();
        let total = &kind["total"];
        text += &match groups.is_empty() {
            true => format!("{name}: {total}\n"),
            false => format!("{name}: {total} ({})\n", groups.join(", ")),
        };
    }
    text
}

//! Every statement of a list, a count, a report and a delete uses indexes: its plan is read on both
//! engines, and must not scan a growing table.

use std::collections::HashMap;
use std::slice;
use std::time::{Duration, Instant};

use crate::alias::{self, Alias, NewAlias};
use crate::db::{Location, Mode, Options, Store, Tx, seen};
use crate::deletion::Deletion;
use crate::entity::{self, Entity, EntityFilter, Lack, Page, Place, Sort};
use crate::error::{Error, Result};
use crate::member::Viewer;
use crate::model::{Kind, Reference, Time};
use crate::project::Projects;
use crate::report::{self, Gap, Grouping, Scope};
use crate::value::Value;
use crate::{activity, audit, comment, deletion, relationship, revision, thread};

/// The growing tables.
const GROWING: &[&str] = &[
    "entity",
    "comment",
    "relationship",
    "revision",
    "authentication_event",
    "change",
    "search_document",
    "search_text",
    "deletion",
    "entity_alias",
    "lease",
    "threat_link",
    "threat_criterion",
];

/// Deliberate scans: the statement, why scanning an index is right, and the time limit with [`N_ROWS`] rows
/// of each.
const MEANT: &[(&str, &str, Duration)] = &[
    // The newest or oldest rows are at the start of an index in this order; the limit ends the scan.
    ("audit", "SCAN t USING INDEX revision_created", FEW),
    ("audit", "SCAN t USING INDEX authentication_event_created", FEW),
    ("comments", "SCAN c USING INDEX comment_created", FEW),
    // The index has only the wanted rows.
    ("suspects", "SCAN r USING INDEX relationship_suspect", FEW),
    // Only administrators query one kind of event, and rarely. An index of all events would be as large as that of times.
    ("audit of an event", "SCAN t", ALL),
    ("audit of an event", "Seq Scan on authentication_event t", ALL),
    ("audit of an event", "Seq Scan on revision t", ALL),
];
/// The number of revisions, events and comments when scans are timed.
const N_ROWS: usize = 5_000;
/// The time limits for the first few of them, and for scanning all.
const FEW: Duration = Duration::from_millis(100);
const ALL: Duration = Duration::from_millis(300);
/// How often a statement is timed; the shortest time counts, because other tests run concurrently.
const ROUNDS: usize = 3;

fn now() -> Time {
    Time::from_microseconds(1_000_000)
}

fn viewer() -> Projects {
    Projects::VisibleTo(Viewer { user_id: "u".to_owned(), token_id: Some("t".to_owned()) })
}

fn one() -> Projects {
    Projects::One("p".to_owned())
}

/// An epic, of which only the ids matter.
fn epic(tx: &mut Tx<'_>, number: i64) -> Result<Entity> {
    let id = uuid::Uuid::from_u128(number as u128).to_string();
    tx.execute(
        "insert into user_account (id, username, username_folded, email, email_folded, role, disabled, version, created_at,
             updated_at)
         values ('u', 'ann', 'ann', 'ann@example.org', 'ann@example.org', 'User', 0, 1, 1, 1) on conflict do nothing",
        &[],
    )?;
    tx.execute(
        "insert into entity (project_id, id, kind, number, title, priority, status, creator_id, version, content_version,
             created_at, updated_at)
         values ('00000000-0000-7000-8000-000000000001', ?1, 'epic', ?2, 'Epic', 1, 'Backlog', 'u', 1, 1, 1, 1)",
        crate::values![&id, number],
    )?;
    entity::find(tx, &Reference::Id(id))?.ok_or_else(|| Error::internal("it was just made"))
}

/// Something that runs statements.
type Body<'a> = &'a mut dyn FnMut(&mut Tx<'_>) -> Result<()>;

/// The statements that a list, a count, a report or a delete ran, and the longest time of each.
#[derive(Default)]
struct Ran {
    statements: Vec<(&'static str, String)>,
    took: HashMap<&'static str, Duration>,
}

/// Runs the selected lists, counts, reports and deletes.
fn run_some(tx: &mut Tx<'_>, is_wanted: impl Fn(&str) -> bool) -> Ran {
    let mut ran = Ran::default();
    let mut run = |name: &'static str, body: Body<'_>| {
        if !is_wanted(name) {
            return;
        }
        let started = Instant::now();
        let seen = seen::during(|| body(tx).unwrap_or_else(|error| panic!("{name}: {error}")));
        let took = ran.took.entry(name).or_default();
        *took = started.elapsed().max(*took);
        ran.statements.extend(seen.into_iter().map(|sql| (name, sql)));
    };
    let of = |kind| EntityFilter { kind: Some(kind), ..EntityFilter::default() };
    let text = || Some("x".to_owned());
    for projects in [Projects::All, one(), viewer()] {
        let filter = |change: &dyn Fn(&mut EntityFilter)| {
            let mut filter = EntityFilter { projects: projects.clone(), ..of(Kind::Requirement) };
            change(&mut filter);
            filter
        };
        let filters = [
            filter(&|_| {}),
            filter(&|filter| filter.statuses = vec!["Draft".to_owned()]),
            filter(&|filter| filter.statuses = vec!["Draft".to_owned(), "Active".to_owned()]),
            filter(&|filter| filter.priorities = vec![1, 2]),
            filter(&|filter| (filter.statuses, filter.priorities) = (vec!["Draft".to_owned()], vec![1])),
            filter(&|filter| filter.assignee_id = text()),
            filter(&|filter| filter.creator_id = text()),
            filter(&|filter| filter.type_id = text()),
            filter(&|filter| filter.parent_id = text()),
            filter(&|filter| filter.epic_id = text()),
            filter(&|filter| filter.criterion_id = text()),
            filter(&|filter| filter.linked_with = text()),
            filter(&|filter| filter.created_from = Some(now())),
            filter(&|filter| filter.updated_to = Some(now())),
            filter(&|filter| filter.lacks = Some(Lack::Criterion)),
            filter(&|filter| filter.lacks = Some(Lack::Relationship)),
            filter(&|filter| filter.include_deleted = true),
        ];
        for filter in &filters {
            for sort in [
                Sort::Number,
                Sort::NumberDescending,
                Sort::Title,
                Sort::Priority,
                Sort::Created,
                Sort::Updated,
            ] {
                let by = match sort {
                    Sort::Number | Sort::NumberDescending => entity::By::Number,
                    Sort::Title => entity::By::Title("x".to_owned()),
                    Sort::Priority => entity::By::Priority(1),
                    Sort::Created | Sort::Updated => entity::By::Time(1),
                };
                let after = Place { by, project: "P".to_owned(), number: 1 };
                for after in [None, Some(after)] {
                    let page = Page { after, offset: 0, limit: 51 };
                    run("list", &mut |tx| entity::list(tx, filter, sort, &page).map(drop));
                }
            }
            run("count", &mut |tx| entity::count(tx, filter).map(drop));
        }
        let place = (1, "x".to_owned());
        for (entity_id, author_id) in [(None, None), (text(), None)] {
            let filter = comment::CommentFilter {
                entity_id,
                author_id,
                projects: projects.clone(),
                ..comment::CommentFilter::default()
            };
            for after in [None, Some(&place)] {
                run("comments", &mut |tx| comment::list(tx, &filter, after, 51, 0).map(drop));
            }
            run("comments", &mut |tx| comment::count(tx, &filter).map(drop));
        }
        run("names", &mut |tx| entity::names(tx, Kind::Requirement, &projects, None, 101).map(drop));
        for after in [None, Some(&place)] {
            run("suspects", &mut |tx| relationship::suspects(tx, &projects, after, 51, 0).map(drop));
        }
        reports(&mut run, &Scope::Projects(projects.clone()));
    }
    reports(&mut run, &Scope::Epic("x".to_owned()));
    let trails = [
        ("audit", audit::AuditFilter::default()),
        ("audit of an actor", audit::AuditFilter { actor_id: text(), ..audit::AuditFilter::default() }),
        ("audit of an entity", audit::AuditFilter { entity_id: text(), ..audit::AuditFilter::default() }),
        ("audit of an event", audit::AuditFilter { event: text(), ..audit::AuditFilter::default() }),
        ("audit of a time", audit::AuditFilter { from: Some(now()), ..audit::AuditFilter::default() }),
    ];
    for (name, filter) in &trails {
        let place = (1, "x".to_owned());
        for after in [None, Some(&place)] {
            run(name, &mut |tx| audit::list(tx, filter, after, 51, 0).map(drop));
        }
        run(name, &mut |tx| audit::count(tx, filter).map(drop));
    }
    thread_statements(&mut run);
    work_statements(&mut run);
    for after in [None, Some(&(1, "x".to_owned()))] {
        run("deletions", &mut |tx| deletion::list(tx, "p", after, 51, 0).map(drop));
    }
    run("deletions", &mut |tx| deletion::count(tx, "p").map(drop));
    for (projects, by_agents) in
        [one(), Projects::All, viewer()].into_iter().flat_map(|some| [(some.clone(), false), (some, true)])
    {
        let filter = activity::ChangeFilter { projects, by_agents };
        let place = (1, "x".to_owned());
        for after in [None, Some(&place)] {
            run("changes", &mut |tx| activity::list(tx, &filter, after, 51, 0).map(drop));
        }
        run("changes", &mut |tx| activity::count(tx, &filter).map(drop));
    }
    specification(&mut run);
    run("tree", &mut |tx| entity::leaves(tx, &["x"], 3, 100).map(drop));
    run("tree", &mut |tx| entity::count_children(tx, &["x"]).map(drop));
    for after in [None, Some(("requirement", 1))] {
        run("tree", &mut |tx| entity::children(tx, "x", after, 101, 0).map(drop));
    }
    aliases(&mut run);
    run("path", &mut |tx| entity::ancestors(tx, "x").map(drop));
    run("history", &mut |tx| revision::history(tx, "x", 51, 0).map(drop));
    run("relationships", &mut |tx| relationship::of(tx, "x", 51, 0).map(drop));
    run("relationships", &mut |tx| relationship::count_of(tx, "x").map(drop));
    run("relationships", &mut |tx| relationship::of_many(tx, &["x", "y"], 51).map(drop));
    run("criteria", &mut |tx| entity::criteria_of(tx, &["x", "y"], 51).map(drop));
    for loose in [false, true] {
        run("impact", &mut |tx| report::affected_by(tx, &["x", "y"], loose, 51).map(drop));
    }
    run("relationships", &mut |tx| relationship::suspects_to(tx, "x").map(drop));
    run("history", &mut |tx| revision::each_after(tx, "x", 1, 51, |_, _| {}));
    let mut gone = None;
    run("delete", &mut |tx| {
        let epic = epic(tx, 1)?;
        entity::count_attached(tx, &epic.id)?;
        entity::lock_below(tx, &epic.id)?;
        let deletion = Deletion { id: "d".to_owned(), actor_id: "u".to_owned(), at: now() };
        entity::delete(tx, &epic, &deletion)?;
        entity::deletion_members(tx, "d")?;
        gone = Some(epic);
        Ok(())
    });
    run("purge", &mut |tx| gone.as_ref().map_or(Ok(()), |gone| entity::purge(tx, gone, now())));
    run("restore", &mut |tx| {
        entity::restore(tx, "d", now())?;
        relationship::of_deletion(tx, "d")?;
        comment::of_deletion(tx, "d").map(drop)
    });
    ran
}

/// The statements about external ids.
fn aliases(run: &mut dyn FnMut(&'static str, Body<'_>)) {
    let wanted = Alias { scheme: "jira".to_owned(), external_id: "SHOP-12".to_owned() };
    let new = NewAlias {
        project_id: "00000000-0000-7000-8000-000000000001",
        entity_id: "00000000-0000-0000-0000-000000000003",
        entity_kind: "epic",
        scheme: &wanted.scheme,
        external_id: &wanted.external_id,
        with_entity: false,
    };
    run("aliases", &mut |tx| {
        epic(tx, 3)?;
        alias::insert(tx, slice::from_ref(&new), Some("x"), now()).map(drop)
    });
    run("aliases", &mut |tx| alias::find(tx, new.project_id, slice::from_ref(&wanted)).map(drop));
    run("aliases", &mut |tx| alias::of_entities(tx, &["x", "y"]).map(drop));
    run("aliases", &mut |tx| alias::called(tx, slice::from_ref(&wanted.external_id)).map(drop));
    run("aliases", &mut |tx| alias::remove(tx, "x", &["y"]));
    run("aliases", &mut |tx| alias::remove_from_others(tx, "x"));
}

/// The statements of a specification and of its file.
fn specification(run: &mut dyn FnMut(&'static str, Body<'_>)) {
    for epic_id in [None, Some("x".to_owned())] {
        let extent = entity::Extent { project_id: "p".to_owned(), epic_id, include_deleted: false };
        for kind in [Kind::Epic, Kind::UserStory] {
            run("specification", &mut |tx| entity::page_of_kind(tx, &extent, kind, 1, 51).map(drop));
        }
        run("specification", &mut |tx| entity::numbers(tx, &extent).map(drop));
        run("specification", &mut |tx| entity::last_change(tx, &extent).map(drop));
    }
    let stories = [1, 2].map(|number| Entity { id: format!("s{number}"), ..Entity::empty(Kind::UserStory) });
    let stories: Vec<&Entity> = stories.iter().collect();
    for from in [None, Some((Kind::Requirement, 2))] {
        run("specification", &mut |tx| entity::below_stories(tx, &stories, from, 51).map(drop));
    }
    run("specification", &mut |tx| entity::n_epics_before(tx, "p", 2).map(drop));
    run("specification", &mut |tx| entity::n_children_before(tx, "x", Kind::Requirement, 2).map(drop));
}

/// The statements of the thread: reading, pushing and cleaning up.
fn thread_statements(run: &mut dyn FnMut(&'static str, Body<'_>)) {
    run("thread", &mut |tx| thread::snapshot::citations_of(tx, "s", &["x"]).map(drop));
    run("thread", &mut |tx| thread::snapshot::citations_in(tx, "s", "src/a.rs").map(drop));
    run("thread", &mut |tx| thread::snapshot::cited_after(tx, "s", "", 500).map(drop));
    run("thread", &mut |tx| thread::snapshot::count_in_projects(tx, "s", &["p"]).map(drop));
    run("thread", &mut |tx| thread::snapshot::cited_in(tx, "s", &["src/a.rs"]).map(drop));
    run("thread", &mut |tx| thread::snapshot::superseded(tx, "r", now()).map(drop));
    run("thread", &mut |tx| thread::run::results_of(tx, &["c"]).map(drop));
    run("thread", &mut |tx| thread::run::executions_of(tx, &["c"], &["x"]).map(drop));
    run("thread", &mut |tx| thread::run::list(tx, "r", 20, 0).map(drop));
    run("thread", &mut |tx| thread::run::newest(tx, "r", "refs/heads/main").map(drop));
    run("thread", &mut |tx| thread::run::superseded(tx, "r", (20, 500), now()).map(drop));
    run("thread", &mut |tx| thread::manual::of_entities(tx, &["x"]).map(drop));
    run("thread", &mut |tx| thread::threat::find(tx, "x", "T-1").map(drop));
    run("thread", &mut |tx| thread::threat::of_entities(tx, &["x"]).map(drop));
    run("thread", &mut |tx| thread::threat::of_pattern(tx, "T-1", 500).map(drop));
    run("thread", &mut |tx| thread::threat::criteria_of(tx, &["l"]).map(drop));
    run("thread", &mut |tx| thread::threat::against(tx, &["x"]).map(drop));
    run("thread", &mut |tx| thread::threat::criteria_in_story(tx, "x", "T-1").map(drop));
    run("thread", &mut |tx| thread::threat::decided_after(tx, "p", "", 500).map(drop));
    run("thread", &mut |tx| thread::text::threatened_after(tx, "p", "", 500).map(drop));
    for kind in [Kind::Epic, Kind::UserStory] {
        run("thread", &mut |tx| thread::text::threatened_below(tx, "x", kind, "", 500).map(drop));
    }
    run("thread", &mut |tx| thread::text::of_ids(tx, &["x"]).map(drop));
    run("thread", &mut |tx| thread::text::of_numbers(tx, "p", Kind::Requirement, &[1]).map(drop));
    for (kind, is_open) in
        [(Kind::Epic, true), (Kind::Epic, false), (Kind::UserStory, true), (Kind::UserStory, false)]
    {
        run("thread", &mut |tx| thread::text::below(tx, "x", kind, is_open, (20, 0)).map(drop));
        run("thread", &mut |tx| thread::text::count_below(tx, "x", kind, is_open).map(drop));
        run("thread", &mut |tx| thread::verification::count_below(tx, "x", kind).map(drop));
    }
    run("thread", &mut |tx| thread::verification::of_entities(tx, &["x"]).map(drop));
    for scope in [Scope::Projects(one()), Scope::Epic("x".to_owned())] {
        run("verified", &mut |tx| thread::verification::count(tx, &scope, Kind::Requirement).map(drop));
    }
}

/// The statements of finding and leasing work.
fn work_statements(run: &mut dyn FnMut(&'static str, Body<'_>)) {
    use thread::lease::{self, NewLease};
    use thread::work::{self, WorkScope};

    let x = || "x".to_owned();
    for scope in [WorkScope::Project, WorkScope::Epic(x()), WorkScope::Story(x()), WorkScope::One(x())] {
        run("work", &mut |tx| work::not_begun(tx, "p", &scope, (50, 0)).map(drop));
        run("work", &mut |tx| work::begun(tx, "p", &scope, 50).map(drop));
        run("work", &mut |tx| work::among(tx, "p", &scope, &["x", "y"]).map(drop));
    }
    run("work", &mut |tx| work::waits_of(tx, &["x", "y"]).map(drop));
    run("work", &mut |tx| work::count_waiting(tx, &["x", "y"]).map(drop));
    run("leases", &mut |tx| lease::in_project(tx, "p", 50, 0).map(drop));
    run("leases", &mut |tx| lease::count_in_project(tx, "p").map(drop));
    run("leases", &mut |tx| lease::held_by(tx, "x").map(drop));
    run("leases", &mut |tx| lease::last_story(tx, "x").map(drop));
    run("leases", &mut |tx| {
        let epic = epic(tx, 4)?;
        let new = NewLease {
            entity_id: &epic.id,
            project_id: &epic.project_id,
            story_id: None,
            holder: "x",
            user_id: "u",
            token_id: None,
            paths: "[]",
            content_version: 1,
        };
        assert!(lease::take(tx, &new)? && !lease::take(tx, &new)?);
        let lease = lease::of_entity(tx, &epic.id)?.ok_or_else(|| Error::internal("it was just taken"))?;
        lease::note_told(tx, &epic.id, lease.fence, 2)?;
        assert!(
            lease::renew(tx, &lease, "[]")?
                && lease::end(tx, &lease, None)?
                && !lease::renew(tx, &lease, "[]")?
        );
        Ok(())
    });
}

/// The statements of every report about a scope.
fn reports(run: &mut dyn FnMut(&'static str, Body<'_>), scope: &Scope) {
    run("status report", &mut |tx| report::summaries(tx, scope).map(drop));
    if let Scope::Projects(projects) = scope {
        run("burn-up", &mut |tx| report::burn_up(tx, projects, Kind::UserStory, now(), 12).map(drop));
    }
    for by in [Grouping::Status, Grouping::Priority, Grouping::Type, Grouping::Assignee] {
        run("status report", &mut |tx| report::groups(tx, scope, by, 100).map(drop));
    }
    run("done over drafts", &mut |tx| report::done_over_drafts(tx, scope, 0).map(drop));
    run("work under way", &mut |tx| report::oldest_under_way(tx, scope, 5).map(drop));
    run("hierarchy report", &mut |tx| report::counts(tx, scope).map(drop));
    run("hierarchy report", &mut |tx| report::epics(tx, scope, 50, 0).map(drop));
    run("hierarchy report", &mut |tx| report::stories(tx, scope, 50, 0, 1_000).map(drop));
    for gap in [
        Gap::EpicWithoutStories,
        Gap::StoryWithoutCriteria,
        Gap::StoryWithoutRequirements,
        Gap::CriterionWithoutRequirements,
        Gap::RequirementWithoutCriterion,
    ] {
        // If the list is full, the total is counted, too.
        run("hierarchy report", &mut |tx| report::gap(tx, scope, gap, 0).map(drop));
    }
}

/// The aliases of growing tables in a statement.
fn names(sql: &str) -> Vec<&str> {
    let words: Vec<&str> = sql
        .split(|char: char| !(char.is_alphanumeric() || char == '_'))
        .filter(|word| !word.is_empty())
        .collect();
    let mut names = Vec::new();
    for pair in words.windows(3) {
        if matches!(pair[0], "from" | "join" | "update") && GROWING.contains(&pair[1]) {
            names.extend([pair[1], pair[2]]);
        }
    }
    names
}

fn explained(tx: &mut Tx<'_>, sql: String, n_values: usize) -> Result<Vec<String>> {
    let column = if tx.is_postgres() { 0 } else { 3 };
    // The dialect has no dynamic statements; a test has a few.
    tx.rows(Box::leak(sql.into_boxed_str()), &vec![Value::Null; n_values], |row| row.get(column))
}

/// The scans in a plan.
fn walks(tx: &mut Tx<'_>, sql: &str) -> Result<Vec<String>> {
    let n_values = (1..100).take_while(|number| sql.contains(&format!("?{number}"))).count();
    if !tx.is_postgres() {
        let names = names(sql);
        let is_walk = |line: &String| {
            let mut words = line.split(' ');
            words.next() == Some("SCAN") && words.next().is_some_and(|name| names.contains(&name))
        };
        return Ok(explained(tx, format!("explain query plan {sql}"), n_values)?
            .into_iter()
            .filter(is_walk)
            .collect());
    }
    let nulls = vec!["null"; n_values].join(", ");
    tx.script(&format!("prepare planned as {}", sql.replace('?', "$")))?;
    let nulls = if nulls.is_empty() { nulls } else { format!("({nulls})") };
    let plan = explained(tx, format!("explain execute planned{nulls}"), 0)?;
    tx.script("deallocate planned")?;
    let is_walk = |line: &String| GROWING.iter().any(|table| line.contains(&format!("Seq Scan on {table} ")));
    Ok(plan.into_iter().filter(is_walk).collect())
}

fn check(location: &Location) {
    let store = Store::open(location, Options::default(), now()).expect("a store");
    let bad = store.wait(Mode::Write, |tx| {
        if tx.is_postgres() {
            tx.script("set local enable_seqscan = off; set local plan_cache_mode = force_generic_plan")?;
        }
        let mut bad = Vec::new();
        for (name, sql) in run_some(tx, |_| true).statements {
            let is_plain =
                ["select", "with", "update", "delete"].iter().any(|word| sql.trim_start().starts_with(word));
            if !is_plain || sql.contains("for update") {
                continue;
            }
            for walk in walks(tx, &sql)? {
                let is_meant = MEANT.iter().any(|(of, meant, _)| *of == name && walk.contains(meant));
                if !is_meant {
                    bad.push(format!("{name}: {walk}\n{sql}\n"));
                }
            }
        }
        Ok::<_, Error>(bad)
    });
    let mut bad = bad.expect("plans");
    bad.sort();
    bad.dedup();
    assert!(bad.is_empty(), "{location}: {} statements\n{}", bad.len(), bad.join("\n"));
    check_times(&store);
}

/// Scans take no longer than their limit, in a store with many rows.
fn check_times(store: &Store) {
    let took = store.wait(Mode::Write, |tx| {
        let epic = epic(tx, 2)?;
        let numbers = format!(
            "with recursive row (n) as (select 1 union all select n + 1 from row where n < {N_ROWS}) select"
        );
        let (id, project_id) = (&epic.id, &epic.project_id);
        tx.script(&format!(
            "insert into revision (id, project_id, entity_kind, entity_id, version, actor_id, via, operation, changes, created_at)
             {numbers} 'r' || n, '{project_id}', 'epic', '{id}', n, 'u', 'rest', 'update_epic', '{{}}', n from row;
             insert into authentication_event (id, username, event, created_at) {numbers} 'e' || n, 'ann', 'login', n from row;
             insert into comment (project_id, id, entity_id, entity_kind, author_id, content, detached, resolved, version,
                 created_at, updated_at)
             {numbers} '{project_id}', 'c' || n, '{id}', 'epic', 'u', 'Why?', 0, 0, 1, n, n from row"
        ))?;
        let is_meant = |name: &str| MEANT.iter().any(|(of, ..)| *of == name);
        let mut shortest: HashMap<&str, Duration> = HashMap::new();
        for _ in 0..ROUNDS {
            for (name, took) in run_some(tx, is_meant).took {
                let known = shortest.entry(name).or_insert(took);
                *known = took.min(*known);
            }
        }
        Ok::<_, Error>(shortest)
    });
    let took = took.expect("times");
    for (name, _, bound) in MEANT {
        assert!(took[name] <= *bound, "{name} took {:?}, more than {bound:?}", took[name]);
    }
}

#[test]
fn no_statement_goes_through_a_table_that_grows() {
    let folder = tempfile::tempdir().expect("a folder");
    check(&Location::Sqlite(folder.path().join("spexus.db")));
    let Some(server) = private_postgres::Server::shared() else { return };
    let database = server.database();
    check(&Location::parse(database.url()).expect("a URL"));
}

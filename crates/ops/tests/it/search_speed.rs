//! How long searches take among 100,000 requirements, and what indexing costs.
//! `cargo test --release -p ops --test it search_speed -- --ignored --nocapture --test-threads 1`

use std::time::{Duration, Instant};

use ops::new_id;
use private_postgres::Server;
use serde_json::{Value, json};
use store::entity::{self, Entity};
use store::model::{DEFAULT_PROJECT_ID, Kind, Time, reference_id};
use store::{Location, Mode, Result, Store, values};

use crate::stores::World;

const REQUIREMENTS: i64 = 100_000;
const STORIES: i64 = 1_000;
const RUNS: usize = 200;

#[test]
#[ignore = "fills a store with 100,000 requirements and prints times, which mean something in a release build only"]
fn times_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let folder = std::env::var_os("SPEED_FOLDER").map_or(folder.path().to_owned(), Into::into);
    let path = folder.join("spexus.db");
    let location = Location::Sqlite(path.clone());
    let token = folder.join("token");
    let world = match std::fs::read_to_string(&token) {
        Ok(token) => World::open_filled(&location, token),
        Err(_) => {
            let world = World::open(&location);
            fill(&world);
            std::fs::write(&token, &world.first.token).unwrap();
            world
        }
    };
    measure(&world);
    eprintln!("the file has {} MB", std::fs::metadata(path).unwrap().len() / 1_000_000);
}

#[test]
#[ignore = "fills a store with 100,000 requirements and prints times, which mean something in a release build only"]
fn times_on_postgres() {
    if let (Ok(url), Ok(token)) = (std::env::var("SPEED_POSTGRES"), std::env::var("SPEED_TOKEN")) {
        return measure(&World::open_filled(&Location::parse(&url).unwrap(), token));
    }
    let Some(server) = Server::own(private_postgres::Options {
        fsync: true,
        settings: &[("shared_buffers", "'1GB'"), ("max_wal_size", "'4GB'")],
        ..Default::default()
    }) else {
        return;
    };
    let database = server.database();
    let world = World::open(&Location::parse(database.url()).unwrap());
    fill(&world);
    measure(&world);
    for relation in ["entity", "search_document", "search_document_terms", "search_text"] {
        let bytes: i64 = world
            .engine
            .store()
            .wait(Mode::Point, move |tx| -> Result<i64> {
                let sql = "select pg_total_relation_size(cast(cast(?1 as text) as regclass))";
                Ok(tx.row(sql, &[relation.into()], |row| row.get(0))?.unwrap_or_default())
            })
            .unwrap();
        eprintln!("{relation} has {} MB", bytes / 1_000_000);
    }
}

fn measure(world: &World) {
    let rare = Text::new(1).rare();
    let common = |more: Value| {
        let mut arguments = json!({ "query": "system " });
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        arguments
    };
    for (what, arguments) in [
        ("rare word", json!({ "query": format!("{rare} ") })),
        ("rare word, open", json!({ "query": rare })),
        ("two words", json!({ "query": "payment export " })),
        ("common word", common(json!({}))),
        ("common word, open", json!({ "query": "system" })),
        ("three common words", json!({ "query": "the system must " })),
        ("phrase of common words, common", json!({ "query": "\"the system\"" })),
        ("phrase of common words, rare", json!({ "query": "\"must the must\"" })),
        ("long phrase of common words", json!({ "query": "\"the system must the\"" })),
        ("exclusion of a common word", json!({ "query": "payment -system" })),
        ("common without common", json!({ "query": "must -system" })),
        ("exclusion alone", json!({ "query": "-the" })),
        ("prefix of 2 letters", json!({ "query": "pa" })),
        ("prefix of 2 letters, rare", json!({ "query": "zy" })),
        ("prefix of 3 letters", json!({ "query": "sys" })),
        ("reference id", json!({ "query": "REQ-54321" })),
        ("Russian", json!({ "query": "требования системы" })),
        ("nothing found", json!({ "query": "xyzzyplugh " })),
        ("common, rare assignee", common(json!({ "assignee": "admin" }))),
        ("common, story", common(json!({ "user_story": "US-500" }))),
        ("common, epic", common(json!({ "epic": "EP-005" }))),
        ("common, rare day", common(json!({ "created_from": "2020-03-03", "created_to": "2020-03-03" }))),
        ("common, no day", common(json!({ "created_from": "2019-01-01", "created_to": "2019-12-31" }))),
        ("common, half of the years", common(json!({ "created_to": "2023-06-30T12:00:00Z" }))),
        ("common, status and priority", common(json!({ "status": ["active"], "priority": [1] }))),
        ("two words, type", json!({ "query": "payment export ", "type": "data" })),
        ("common, by priority", common(json!({ "sort": "priority" }))),
        ("common, by change", common(json!({ "sort": "updated" }))),
        ("common, page 21", common(json!({ "offset": 1_000 }))),
    ] {
        time(world, what, "search_global", &arguments);
    }
    time(world, "suggestions for 2 letters", "search_suggestions", &json!({ "query": "pa" }));
    time(world, "suggestions for a common word", "search_suggestions", &json!({ "query": "system" }));
    time(world, "suggestions for an id", "search_suggestions", &json!({ "query": "REQ-54" }));
    creates(world);
}

/// Prints how long a call takes.
fn time(world: &World, what: &str, name: &str, arguments: &Value) {
    let mut answer = world.ok(name, arguments.clone());
    let cpu_before = cpu_ms();
    let mut times: Vec<Duration> = (0..RUNS)
        .map(|_| {
            let started = Instant::now();
            answer = world.ok(name, arguments.clone());
            started.elapsed()
        })
        .collect();
    times.sort();
    let cpu = (cpu_ms() - cpu_before) / RUNS as f64;
    let (low, middle, high) = (ms(times[0]), ms(times[RUNS / 2]), ms(times[RUNS * 99 / 100]));
    let more = if answer["more_than_counted"] == json!(true) { "+" } else { "" };
    let count = answer["total_count"].as_i64().unwrap_or_default();
    eprintln!(
        "{what:34} best {low:6.2}  p50 {middle:6.2}  p99 {high:6.2} ms, processor {cpu:6.2} ms: {count}{more}"
    );
}

/// Prints what a create costs by the store alone, with and without its document.
fn creates(world: &World) {
    const CREATES: usize = 1_000;
    let started = Instant::now();
    for number in 0..CREATES {
        let mut text = Text::new(9_000_000 + number as u64);
        let arguments = json!({ "user_story_id": "US-001", "title": text.sentence(7), "type_id": "data", "priority": 2,
                                "description": text.body() });
        world.ok("create_requirement", arguments);
    }
    eprintln!("a create, one after the other: {:.2} ms", ms(started.elapsed()) / CREATES as f64);
    let store = world.engine.store();
    let admin = store.wait(Mode::Point, store::user::first_administrator).unwrap().unwrap().id;
    let story = world.ok("get_entity", json!({ "reference": "US-001" }))["id"].as_str().unwrap().to_owned();
    for is_indexed in [true, false] {
        let started = Instant::now();
        for number in 0..CREATES as i64 {
            let first = if is_indexed { 200_000 } else { 210_000 };
            let mut new = requirement(first + number);
            (new.user_story_id, new.creator_id) = (Some(story.clone()), admin.clone());
            let outcome: Result<()> = world.engine.store().wait(Mode::Write, move |tx| {
                if is_indexed {
                    return entity::insert(tx, &new).map(|_| ());
                }
                let sql = "insert into entity (project_id, id, kind, number, parent_id, parent_kind, title, description,
                               priority, status, type_id, creator_id, version, content_version, created_at, updated_at)
                           values (?1, ?2, 'requirement', ?3, ?4, 'user_story', ?5, ?6, 1, 'Draft', ?7, ?8, 1, 1, 1, 1)";
                let values = values![
                    &new.project_id,
                    &new.id,
                    new.number,
                    &new.user_story_id,
                    &new.title,
                    &new.description,
                    &new.type_id,
                    &new.creator_id
                ];
                tx.execute(sql, values).map(|_| ())
            });
            outcome.unwrap();
        }
        let what = if is_indexed { "with its document" } else { "without" };
        eprintln!("an insert {what}: {:.2} ms", ms(started.elapsed()) / CREATES as f64);
    }
}

/// Ten epics with a hundred stories each and a hundred requirements in each of those, made over six years.
fn fill(world: &World) {
    let started = Instant::now();
    let store = world.engine.store();
    let admin = store.wait(Mode::Point, store::user::first_administrator).unwrap().unwrap().id;
    world.ok(
        "create_user",
        json!({ "username": "writer", "email": "w@example.com", "role": "User", "password": "long enough 123" }),
    );
    let writer = store.wait(Mode::Point, |tx| store::user::find(tx, "writer")).unwrap().unwrap().id;
    for number in 1..=10 {
        world.ok("create_epic", json!({ "title": format!("Epic {number}"), "priority": 2 }));
    }
    for number in 0..STORIES {
        let epic = format!("EP-{:03}", 1 + number / 100);
        world.ok(
            "create_user_story",
            json!({ "epic_id": epic, "title": format!("Story {number}"), "priority": 2 }),
        );
    }
    let stories: Vec<String> = store
        .wait(Mode::Snapshot, |tx| {
            tx.rows("select id from entity where kind = 'user_story' order by number", &[], |row| row.get(0))
        })
        .unwrap();
    let is_postgres = store.is_remote();
    if is_postgres {
        // As one would before an import: all at once is much quicker than one by one.
        statement(store, "drop index search_document_terms");
    }
    const AT_ONCE: i64 = 200;
    for first in (0..REQUIREMENTS).step_by(AT_ONCE as usize) {
        let (admin, writer, stories) = (admin.clone(), writer.clone(), stories.clone());
        let outcome: Result<()> = store.wait(Mode::Write, move |tx| {
            for number in first..first + AT_ONCE {
                let mut new = requirement(number + 1);
                new.user_story_id = Some(stories[(number % STORIES) as usize].clone());
                new.creator_id.clone_from(&admin);
                new.assignee_id = Some(if number % 3_001 == 0 { admin.clone() } else { writer.clone() });
                entity::insert(tx, &new)?;
            }
            Ok(())
        });
        outcome.unwrap();
    }
    if is_postgres {
        statement(
            store,
            "create index search_document_terms on search_document using gin (terms) with (gin_pending_list_limit = 256)",
        );
    }
    store
        .wait(Mode::Write, |tx| -> Result<()> {
            tx.execute("update counter set next = 1000001 where kind = 'requirement'", &[])?;
            Ok(())
        })
        .unwrap();
    statement(store, "analyze");
    eprintln!("filled in {:.0?}, {:.0} s of this process", started.elapsed(), cpu_ms() / 1e3);
}

fn statement(store: &Store, sql: &'static str) {
    let is_postgres = store.is_remote();
    let outcome: Result<()> = store.wait(Mode::Write, move |tx| {
        if is_postgres {
            tx.execute("set local statement_timeout = 0", &[])?;
            tx.execute("set local maintenance_work_mem = '1GB'", &[])?;
        }
        tx.execute(sql, &[]).map(|_| ())
    });
    outcome.unwrap();
}

fn requirement(number: i64) -> Entity {
    let mut text = Text::new(number as u64);
    let start = Time::parse("2020-01-01T00:00:00Z").unwrap();
    let created_at = start.plus_seconds(number * 6 * 365 * 86_400 / REQUIREMENTS);
    Entity {
        id: new_id(created_at),
        reference_id: reference_id("DEFAULT", Kind::Requirement, number),
        project: "DEFAULT".to_owned(),
        project_id: DEFAULT_PROJECT_ID.to_owned(),
        number,
        title: Some(text.sentence(7)),
        description: Some(text.body()),
        priority: Some(1 + number % 4),
        status: Some(if number % 10 == 0 { "Active" } else { "Draft" }.to_owned()),
        type_id: Some(format!("00000000-0000-7000-8000-00000000010{}", 1 + number % 5)),
        created_at,
        updated_at: created_at,
        ..Entity::empty(Kind::Requirement)
    }
}

/// Words by how often they are used: each of them half as often as one at half its place.
const COMMON: &str = "the system must a to of and is in be when user with for every shall that an not it within are on by
    request after before as from each can its this only error data one time no than message or access all at list value
    second other more if was which payment export account report file token server page client field order event status
    name record change version number search project role screen button address session password email limit service";
const RUSSIAN: &str =
    "система должна хранить все требования пользователь получает сообщение об ошибке отчёт в формате истории
    изменений доступ к данным проекта системы";

/// Text that is the same for the same seed.
struct Text(u64);

impl Text {
    fn new(seed: u64) -> Text {
        Text(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    /// The word at a place: a real one, and then made of syllables.
    fn word_at(place: u64, words: &[&str]) -> String {
        if let Some(word) = words.get(place as usize) {
            return (*word).to_owned();
        }
        const SYLLABLES: [&str; 16] = [
            "ba", "con", "de", "fer", "gi", "lo", "men", "na", "par", "qui", "re", "so", "ta", "vi", "xe",
            "zy",
        ];
        let mut word = String::new();
        let mut rest = place;
        while rest > 0 {
            word.push_str(SYLLABLES[(rest % 16) as usize]);
            rest /= 16;
        }
        word
    }

    fn word(&mut self, words: &[&str]) -> String {
        // A place between 1 and 60,000 whose logarithm is even: that is Zipf's law.
        let share = (self.next() % 1_000_000) as f64 / 1e6;
        Text::word_at((60_000_f64.powf(share) - 1.0) as u64, words)
    }

    fn sentence(&mut self, n_words: usize) -> String {
        let words: Vec<&str> = COMMON.split_whitespace().collect();
        (0..n_words).map(|_| self.word(&words)).collect::<Vec<_>>().join(" ")
    }

    /// About a kilobyte, every fiftieth in Russian.
    fn body(&mut self) -> String {
        if self.next().is_multiple_of(50) {
            let words: Vec<&str> = RUSSIAN.split_whitespace().collect();
            return (0..80)
                .map(|_| words[(self.next() % words.len() as u64) as usize])
                .collect::<Vec<_>>()
                .join(" ");
        }
        let mut body = String::new();
        while body.len() < 1_000 {
            let n_words = 8 + (self.next() % 12) as usize;
            body.push_str(&self.sentence(n_words));
            body.push_str(". ");
        }
        body
    }

    fn rare(&self) -> String {
        Text::word_at(31_234, &[])
    }
}

/// What this process has used of the processors so far, which on a busy machine says more than a clock.
fn cpu_ms() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: f64 = after_name.skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum();
    ticks * 10.0
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

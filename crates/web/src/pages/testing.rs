//! Pages made from literal answers, for tests.

use ops::Effect;
use serde_json::Value;
use store::model::Role;

use crate::page::{Answers, Asked, Me, Page, Site, View};

/// What a page shows at an address to somebody who may do everything.
pub fn shown(page: &Page, address: &str, answers: &[(&'static str, Value)]) -> String {
    let (path, query) = address.split_once('?').unwrap_or((address, ""));
    let parameters = page.path.split('/').zip(path.split('/')).filter_map(|(name, value)| {
        Some((name.strip_prefix('{')?.strip_suffix('}')?.to_owned(), value.to_owned()))
    });
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let asked = Asked {
        path: path.to_owned(),
        parameters: parameters.collect(),
        query: pairs.map(|(name, value)| (name.to_owned(), value.replace("%20", " "))).collect(),
    };
    let mut given = Answers::default();
    for (name, answer) in answers {
        given.add(name, Ok(answer.clone()));
    }
    let me = Me {
        username: "ann".to_owned(),
        role: Role::User,
        may: Effect::ALL.to_vec(),
        theme: None,
        has_keys: true,
    };
    let site = Site { url: "http://127.0.0.1:1".to_owned(), version: "0", newest_change: None };
    let view = View { asked: &asked, answers: &given, me: &me, site: &site, now: 1_794_938_400_000_000 };
    (page.show)(&view).body.into_string()
}

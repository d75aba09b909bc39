//! All pages. This is the only list: routes, navigation and tests follow from it.

mod account;
mod activity;
mod admin;
mod baselines;
mod board;
mod card;
mod cited;
mod code;
mod connect;
mod deleted;
mod document;
mod edit;
mod export;
mod history;
mod home;
mod impact;
mod import;
mod import_check;
mod imported;
mod imports;
mod item;
mod item_threats;
mod keys;
mod list;
mod matrix;
mod members;
mod new;
mod operation;
mod operations;
mod palette;
mod project;
mod prompts;
mod search;
mod sign_in;
mod stale;
mod steering;
mod suggest;
mod suspects;
#[cfg(test)]
mod testing;
mod thread;
mod threads;
mod threats;
mod trace;
mod traces;
mod tree;
mod work;

use crate::page::Page;

pub use self::admin::projects::NEW as NEW_PROJECT;
pub use self::admin::{PLACES, Place};
pub use self::connect::{configurations, waiting};
pub use self::import::{
    FILE as IMPORT_FILE, FORM_BACK as IMPORT_FORM_BACK, FORM_FILE as IMPORT_FORM_FILE, PATH as IMPORT,
};
pub use self::import_check::MISTAKES as IMPORT_MISTAKES;
pub use self::imported::NOTHING as NO_IMPORT;
pub use self::list::{chosen, has_status, statuses};
pub use self::new::types;
pub use self::operation::{OPERATION_FORM, operation_form};
pub use self::sign_in::{SIGN_IN, WELCOME, no_welcome, sign_in, sign_in_dialog, welcome};
pub use self::suggest::USER;

/// Every page for people who have signed in.
pub const PAGES: &[Page] = &[
    home::PAGE,
    project::PAGE,
    tree::PAGE,
    list::PAGE,
    board::PAGE,
    document::PAGE,
    document::EPIC,
    matrix::PAGE,
    suspects::PAGE,
    threads::PAGE,
    work::PAGE,
    activity::PAGE,
    import::PAGE,
    import::COLUMNS,
    import_check::PAGE,
    imports::PAGE,
    imported::PAGE,
    export::PAGE,
    new::PAGE,
    item::PAGE,
    edit::PAGE,
    history::PAGE,
    impact::PAGE,
    search::PAGE,
    account::PAGE,
    connect::PAGE,
    keys::PAGE,
    operation::PAGE,
    operations::PAGE,
    members::PAGE,
    deleted::PAGE,
    prompts::PAGE,
    steering::PAGE,
    traces::PAGE,
    trace::PAGE,
    code::PAGE,
    threats::PAGE,
    threats::PATTERN,
    item_threats::PAGE,
    thread::PAGE,
    cited::CODE,
    cited::TESTS,
    stale::PAGE,
    baselines::PAGE,
    admin::PAGE,
    admin::users::PAGE,
    admin::projects::PAGE,
    admin::repositories::PAGE,
    admin::tokens::PAGE,
    admin::types::PAGE,
    admin::statuses::PAGE,
    admin::audit::PAGE,
];

/// Parts that scripts fetch and put into other pages. They are asked and made like pages, and sent without what surrounds one.
pub const PARTS: &[Page] = &[card::PAGE, connect::STATE, palette::PAGE, stale::COUNT, suggest::PAGE];

//! All pages. This is the only list: routes, navigation and tests follow from it.

mod account;
mod activity;
mod connect;
mod document;
mod edit;
mod history;
mod home;
mod item;
mod list;
mod new;
mod operation;
mod project;
mod search;
mod sign_in;
mod tree;

use crate::page::Page;

pub use self::connect::configurations;
pub use self::list::{chosen, has_status, statuses};
pub use self::operation::{OPERATION_FORM, operation_form};
pub use self::sign_in::{SIGN_IN, WELCOME, no_welcome, sign_in, welcome};

/// Every page for people who have signed in.
pub const PAGES: &[Page] = &[
    home::PAGE,
    project::PAGE,
    tree::PAGE,
    list::PAGE,
    document::PAGE,
    document::EPIC,
    activity::PAGE,
    new::PAGE,
    item::PAGE,
    edit::PAGE,
    history::PAGE,
    search::PAGE,
    account::PAGE,
    connect::PAGE,
    operation::PAGE,
];

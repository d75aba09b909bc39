//! All pages. This is the only list: routes, navigation and tests follow from it.

mod account;
mod activity;
mod board;
mod card;
mod connect;
mod document;
mod edit;
mod history;
mod home;
mod impact;
mod item;
mod keys;
mod list;
mod matrix;
mod new;
mod operation;
mod palette;
mod project;
mod search;
mod sign_in;
mod suggest;
mod suspects;
#[cfg(test)]
mod testing;
mod tree;

use crate::page::Page;

pub use self::connect::{configurations, waiting};
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
    activity::PAGE,
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
];

/// Parts that scripts fetch and put into other pages. They are asked and made like pages, and sent without what surrounds one.
pub const PARTS: &[Page] = &[card::PAGE, connect::STATE, palette::PAGE, suggest::PAGE];

//! The web application: what people see in a browser.
//!
//! A page is two pure functions: the questions that it asks, and the HTML for the answers. Questions are operations, asked through the
//! one door like everybody else's. So a page knows no HTTP, no store and no clock, and is tested with literal JSON.

pub mod assets;
pub mod conflict;
mod diff;
mod form;
mod item;
mod keys;
mod layout;
mod markdown;
mod page;
mod pages;
mod parts;
pub mod result;
mod table;
mod thread;
mod time;

pub use self::diff::{TEXTS, pieces as changed_words};
pub use self::form::{Field, form};
pub use self::item::BELOW;
pub use self::layout::{inline_problem, nowhere, problem, whole};
pub use self::markdown::render as markdown;
pub use self::page::{
    Answers, Asked, KEYS, Me, PREFERENCES, Page, Problem, Question, Shown, Site, Source, THEME, THEMES, View,
    encode, own_path,
};
pub use self::pages::{
    IMPORT, IMPORT_FILE, IMPORT_FORM_BACK, IMPORT_FORM_FILE, IMPORT_MISTAKES, NO_IMPORT, OPERATION_FORM,
    PAGES, PARTS, SIGN_IN, WELCOME, no_welcome, operation_form, sign_in, sign_in_dialog, welcome,
};
pub use self::parts::NEXT;
pub use self::table::{Selection, failed as selection_failed};

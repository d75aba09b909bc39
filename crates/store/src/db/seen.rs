//! Records the statements that a thread runs, for the test of their plans.

use std::cell::RefCell;

thread_local! {
    static STATEMENTS: RefCell<Option<Vec<String>>> = const { RefCell::new(None) };
}

/// Records a statement if recording is on.
pub(super) fn note(sql: &str) {
    STATEMENTS.with_borrow_mut(|statements| {
        if let Some(statements) = statements {
            statements.push(sql.to_owned());
        }
    });
}

/// The statements that `body` runs.
pub(crate) fn during(body: impl FnOnce()) -> Vec<String> {
    STATEMENTS.set(Some(Vec::new()));
    body();
    STATEMENTS.take().unwrap_or_default()
}

//! The keys that do something, said once: `/keys` shows them, and the script opens it over any page.

use maud::{Markup, html};

/// Keys and what they do, by where they do it.
const KEYS: &[(&str, &[(&str, &str)])] = &[
    (
        "Everywhere",
        &[
            ("Ctrl K", "find or open anything"),
            ("/", "search"),
            (
                "g then a letter",
                "open a page of the project: o overview, t tree, l list, b board, d document, m matrix, s suspects, a activity, h thread, c traces",
            ),
            ("c", "create"),
            ("?", "show these keys"),
            ("Esc", "leave a field, close a dialog"),
        ],
    ),
    (
        "In a list",
        &[
            ("j, k", "next, previous row"),
            ("Enter", "open the row"),
            ("Space", "look at the row without opening it"),
            ("x", "select the row"),
            ("s, p, a", "change status, priority, assignee of the row"),
            ("e", "edit its title and labels"),
        ],
    ),
    (
        "On one item",
        &[
            ("e", "edit the text"),
            ("s, p, a", "change status, priority, assignee"),
            ("r", "link with another requirement"),
            ("m", "comment; on selected text, comment on that passage"),
            ("y", "copy reference, title and address"),
        ],
    ),
    (
        "In suspect links and on the board",
        &[
            ("j, k", "next, previous link or card"),
            ("c", "confirm that the link is still right"),
            ("e", "edit the requirement that the link starts from"),
            ("s", "choose the status of the card"),
        ],
    ),
    ("In a form", &[("Ctrl Enter", "save"), ("Esc", "leave the field, then cancel")]),
];

/// All keys, as tables.
pub fn table() -> Markup {
    html! {
        div #keys.keys {
            @for (place, keys) in KEYS {
                section {
                    h2 { (place) }
                    dl { @for (key, meaning) in *keys { dt { (pressed(key)) } dd { (meaning) } } }
                }
            }
        }
    }
}

/// Keys to press: one of several, or one and then another.
fn pressed(keys: &str) -> Markup {
    let (first, rest) =
        keys.split_once(' ').filter(|(_, rest)| rest.starts_with("then ")).unwrap_or((keys, ""));
    html! {
        @for (index, key) in first.split(", ").enumerate() { @if index > 0 { " " } kbd { (key) } }
        @if !rest.is_empty() { " " (rest) }
    }
}

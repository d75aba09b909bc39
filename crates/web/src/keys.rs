//! The keys that do something, said once: `/keys` shows them, and the script opens it over any page.

use maud::{Markup, html};

use crate::pages::PAGES;

/// How a page of a project is opened. The letters are those of the pages.
const PAGE: &str = "g then a letter";

/// Keys and what they do, by where they do it.
const KEYS: &[(&str, &[(&str, &str)])] = &[
    (
        "Everywhere",
        &[
            ("Ctrl K", "find or open anything"),
            ("/", "search"),
            (PAGE, "open a page of the project:"),
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
            ("y", "copy its reference, title and address"),
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
                    dl { @for (key, meaning) in *keys { dt { (pressed(key)) } dd { (meaning) @if *key == PAGE { (letters()) } } } }
                }
            }
        }
    }
}

/// The letters that open pages of a project.
fn letters() -> Markup {
    html! {
        @for (index, (label, letter)) in PAGES.iter().filter_map(|page| page.nav).enumerate() {
            @if index > 0 { "," } " " kbd { (letter) } " " (label.to_lowercase())
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

//! The common style of all pages: colours in light and dark, typography, and the marks of states. The page of `duvet report` and
//! the web application share it.

/// Colours and fonts, as custom properties.
pub const TOKENS: &str = include_str!("tokens.css");

/// Marks, bars and levels: states differ by shape and pattern as well as by colour.
pub const STATES: &str = include_str!("states.css");

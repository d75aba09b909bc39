//! Makes text of a repository safe for a terminal.

use std::borrow::Cow;

use trace::Diagnostic;
use trace::diagnostic::Place;

/// Replaces characters that a terminal would interpret: control characters except tabs and line
/// ends, and those that change the direction of text.
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_obeyed) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(
        text.chars().map(|character| if is_obeyed(character) { '\u{fffd}' } else { character }).collect(),
    )
}

fn is_obeyed(character: char) -> bool {
    let is_direction = matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    is_direction || character.is_control() && !matches!(character, '\n' | '\t')
}

/// Does so with all texts of a problem. Columns stay the same.
pub fn printable_problem(problem: &Diagnostic) -> Diagnostic {
    let text = |text: &String| printable(text).into_owned();
    let place = |place: &Place| Place {
        path: printable(&place.path).into(),
        excerpt: text(&place.excerpt),
        label: text(&place.label),
        ..place.clone()
    };
    Diagnostic {
        message: text(&problem.message),
        help: problem.help.iter().map(text).collect(),
        places: problem.places.iter().map(place).collect(),
        ..problem.clone()
    }
}

//! Text of a repository as a terminal may show it.

use std::borrow::Cow;

use trace::Diagnostic;
use trace::diagnostic::Place;

/// Replaces characters that a terminal would obey instead of showing: control characters but for tabs and ends of
/// lines, and those that turn the direction of text.
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

/// Does so with all texts of a problem. Columns stay what they are.
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

//! The comment that cites a text, in the style of the file that it is for.

use trace::comment::StyleUse;
use trace::{Annotation, AnnotationKind, Style};

/// The usual marks for the language of a file. A project may have chosen others.
pub(crate) fn usual_style(path: &str) -> StyleUse {
    StyleUse { style: Style::usual(path), ..StyleUse::default() }
}

/// The lines of a comment that cites a quote from a target; all of its text without a quote.
pub(crate) fn comment(used: &StyleUse, kind: AnnotationKind, target: &str, quote: &str) -> String {
    trace::model::lines(used, &Annotation::new(kind, target), target, quote)
}

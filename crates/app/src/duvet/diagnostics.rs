//! Shows what is wrong with a project: place, source line, cause, and the nearest right thing.

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Element, Group, Level, Origin, Renderer, Snippet};
use trace::diagnostic::Place;
use trace::{Diagnostic, Severity};

/// Renders a problem, coloured.
pub fn render(diagnostic: &Diagnostic) -> String {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let mut group = Group::with_title(level.primary_title(&diagnostic.message).id(diagnostic.code.name()));
    for (index, place) in diagnostic.places.iter().enumerate() {
        group = group.element(element(place, index == 0));
    }
    for help in &diagnostic.help {
        group = group.element(Level::HELP.message(help.as_str()));
    }
    Renderer::styled().decor_style(DecorStyle::Unicode).render(&[group]) + "\n"
}

fn element(place: &Place, is_primary: bool) -> Element<'_> {
    if place.line == 0 || place.excerpt.is_empty() {
        let origin = Origin::path(&*place.path);
        return match place.line {
            0 => origin.into(),
            line => origin.line(line as usize).char_column(place.column.max(1) as usize).into(),
        };
    }
    let offset = |n_characters: u32| {
        let mut characters = place.excerpt.char_indices();
        characters.nth(n_characters as usize).map_or(place.excerpt.len(), |(offset, _)| offset)
    };
    let start = offset(place.column.saturating_sub(1));
    let end = offset(place.column.saturating_sub(1) + place.width).max(start);
    let kind = if is_primary { AnnotationKind::Primary } else { AnnotationKind::Context };
    Snippet::source(place.excerpt.as_str())
        .line_start(place.line as usize)
        .path(&*place.path)
        .annotation(kind.span(start..end).label(place.label.as_str()))
        .into()
}

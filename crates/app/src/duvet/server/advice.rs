//! Suggestions for unknown names, as text to paste.

use nearest::nearest;
use trace::model::{Citation, Model, Named};

/// Finds the requirement that was probably meant: the nearest section, citation or sentence.
pub fn requirement(model: &Model, name: &str) -> Option<String> {
    match model.named(name) {
        Some(Named::Specification(specification)) => {
            let sections = specification.sections();
            let section = sections.into_iter().find(|section| n_requirements(model, *section) > 0)?;
            let target = model.catalogue.target(section);
            return Some(format!(
                "this is a specification; name a section or requirement, such as \"{target}\""
            ));
        }
        Some(Named::Section(section)) => {
            let target = model.catalogue.target(section);
            return Some(format!("the section {target} has no requirements"));
        }
        Some(Named::Citation(citation)) => {
            let target = model.catalogue.target(citation.section);
            return Some(match n_requirements(model, citation.section) {
                0 => format!("{} cites {target}, which has no requirements", citation.id()),
                _ => format!("{} quotes no requirement; did you mean \"{target}\"?", citation.id()),
            });
        }
        Some(Named::Requirements(_)) | None => {}
    }
    if let Some(target) = section(model, name) {
        return Some(format!("did you mean \"{target}\"?"));
    }
    if let Some(id) = citation(model, name) {
        return Some(format!("did you mean \"{id}\"?"));
    }
    // A sentence, or words of one.
    let number = *model.search(name).first()?;
    let (id, text) = (model.catalogue.short_id(number), model.catalogue.text(number));
    Some(format!("did you mean \"{id}\"? {text}"))
}

fn n_requirements(model: &Model, section: u32) -> usize {
    model.catalogue.sections[section as usize].requirements().len()
}

/// Finds the target that was probably meant by one with an unknown section.
pub fn section(model: &Model, target: &str) -> Option<String> {
    let (_, name) = target.split_once('#')?;
    let specification = model.resolve(target)?;
    let ids = specification.document.sections.iter().map(|section| &*section.id);
    let id = nearest(name, ids)?;
    Some(format!("{}#{id}", specification.target))
}

/// Finds the citation that was probably meant: the nearest line of the same file, or the same line of a file with a similar name.
pub fn citation(model: &Model, id: &str) -> Option<String> {
    let (path, line) = id.rsplit_once(':')?;
    let line: u32 = line.parse().ok()?;
    let path = path.trim_start_matches("./");
    let distance = |citation: &Citation| citation.annotation().line.abs_diff(line);
    let in_file = model.all_citations().filter(|citation| &**citation.path() == path).min_by_key(distance);
    if let Some(citation) = in_file {
        return Some(citation.id());
    }
    let paths: Vec<_> = model.files().iter().map(|file| file.path().clone()).collect();
    let by_name = || {
        let mut same = paths.iter().filter(|known| known.rsplit('/').next() == path.rsplit('/').next());
        same.next().filter(|_| same.next().is_none()).map(|known| &**known)
    };
    let meant = nearest(path, paths.iter().map(|path| &**path)).or_else(by_name)?;
    let citations = model.all_citations().filter(|citation| &**citation.path() == meant);
    citations.min_by_key(distance).map(|citation| citation.id())
}

/// Finds the id of the specification that was probably meant.
pub fn specification(model: &Model, name: &str) -> Option<String> {
    let all = &model.catalogue.specifications;
    let names = all.iter().flat_map(|one| {
        let own = [one.id.as_str(), one.name.as_str()].into_iter().chain(one.title.as_deref());
        own.chain(one.spellings.iter().map(String::as_str)).map(|name| (name, &one.id))
    });
    let names: Vec<(&str, &String)> = names.collect();
    let name = name.split('#').next().unwrap_or(name);
    let meant = nearest(name, names.iter().map(|(name, _)| *name))?;
    names.iter().find(|(name, _)| *name == meant).map(|(_, id)| (*id).clone())
}

/// Finds the path that was probably meant.
pub fn resource(model: &Model, uri: &str) -> Option<String> {
    let path = uri.strip_prefix("duvet://").unwrap_or(uri).strip_prefix('/')?;
    let (first, rest) = path.split_once('/').unwrap_or((path, ""));
    if first != "specifications" {
        return nearest(first, ["specifications", "requirements", "citations"])
            .map(|name| format!("/{name}"));
    }
    let (id, rest) = rest.split_once('/').unwrap_or((rest, ""));
    let Some(known) = model.catalogue.specification(id) else {
        return specification(model, id).map(|id| format!("/specifications/{id}"));
    };
    let name = rest.strip_prefix("sections/")?.split('/').next()?;
    if model.catalogue.section(known, name).is_some() {
        return None;
    }
    let index = known.document.sections.iter().position({
        let near = nearest(name, known.document.sections.iter().map(|section| &*section.id))?;
        move |section| &*section.id == near
    })?;
    Some(model.catalogue.section_path(known.first_section + index as u32))
}

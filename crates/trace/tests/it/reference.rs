//! A requirement, a section, a specification and a citation are found by whatever names them.

use std::fs;

use trace::model::{Model, Named};
use trace::project::{Index, Options};

const SPECIFICATION: &str =
    "# Pot\n\nA pot MUST brew.\n\n# Lid\n\nA lid MUST close.\n\nA lid SHOULD shine.\n";
const CODE: &str = "//= pot.md#pot\n//= type=spec\n//# A pot MUST brew.\n\n\
                    //= pot.md#lid\n//= type=spec\n//# A lid MUST close.\n\n\
                    //= pot.md#lid\n//= type=spec\n//# A lid SHOULD shine.\n\n\
                    //= pot.md#lid\n//# A lid MUST close.\nfn close() {}\n";

#[test]
fn whatever_names_a_requirement_finds_it() {
    with_project(|model| {
        let pot = model.find("pot.md#pot");
        assert_eq!(pot.len(), 1);
        let (number, catalogue) = (pot[0], &model.catalogue);
        let path = catalogue.requirement_path(number);
        let root = model.setting.root.display();
        for reference in [
            catalogue.short_id(number).to_owned(),
            catalogue.short_id(number).to_uppercase(),
            catalogue.identifier(number).to_owned(),
            catalogue.identifier(number)[..12].to_owned(),
            format!("duvet://{path}"),
            path.clone(),
            path.replace(catalogue.identifier(number), catalogue.short_id(number)),
            "//= pot.md#pot".to_owned(),
            "./pot.md#Pot".to_owned(),
        ] {
            assert_eq!(model.find(&reference), pot, "{reference}");
        }
        // A section with several, and places near a citation in several spellings.
        let lid = model.find("pot.md section lid");
        assert_eq!(lid.len(), 2);
        for place in
            ["src/a.rs:13", "./src/a.rs:14", "src/a.rs:15", &format!("{root}/src/a.rs:11"), "src\\a.rs:13"]
        {
            assert_eq!(model.find(place), lid[..1], "{place}");
        }
        for nothing in ["src/a.rs:1", "src/b.rs:13", "cup.md#pot", "pot.md#cup", "abcdef", "", ":", "#"] {
            assert!(model.named(nothing).is_none(), "{nothing}");
        }
        assert!(
            matches!(model.named("pot.md"), Some(Named::Specification(found)) if found.target == "pot.md")
        );
    });
}

#[test]
fn the_place_for_new_code_is_beside_what_stands_beside_it() {
    with_project(|model| {
        let shine = model.find("pot.md#lid")[1];
        let places =
            |number| model.nearby(number, 3).iter().map(|citation| citation.id()).collect::<Vec<_>>();
        assert_eq!(places(shine), ["src/a.rs:13"]);
        // Its own section has no citation, the next one has.
        assert_eq!(places(model.find("pot.md#pot")[0]), ["src/a.rs:13"]);
    });
}

fn with_project(check: impl FnOnce(&Model)) {
    let folder = tempfile::tempdir().unwrap();
    let config = "'$schema' = 'https://awslabs.github.io/duvet/config/v0.4.0.json'\n\
                  [[source]]\npattern = 'src/**/*.rs'\n[[specification]]\nsource = 'pot.md'\n";
    for (path, text) in [(".duvet/config.toml", config), ("pot.md", SPECIFICATION), ("src/a.rs", CODE)] {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let options = Options { root: folder.path().to_path_buf(), is_confined: true, ..Options::default() };
    check(&Index::open(options, Box::new(|_| None)).model());
}

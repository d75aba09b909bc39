//! What is in the page before any browser looks at it.

use serde_json::{Value, json};
use trace::model::Model;
use trace::report::html::Page;

use crate::documents::load;
use crate::managed::stale_model;

#[test]
fn nothing_in_the_data_can_end_it() {
    let hostile = "A </script><!--<script>\u{2028}\u{2029}&{{nonce}}";
    let specification = format!("# {hostile}\n\n## Brewing\n\nThe pot MUST show {hostile} as text.\n");
    let source = format!("//= coffee.md#{hostile}\n");
    let page = write(&[("coffee.md", &specification), ("lib.rs", &source)]);
    let (_, rest) = page.split_once("id=\"data\">").expect("the page has data");
    let (data, _) = rest.split_once("</script>").expect("the data ends");
    assert!(!data.contains(['<', '>', '&', '\u{2028}', '\u{2029}']), "{data}");
    let data: Value = serde_json::from_str(data).expect("the data is JSON");
    assert_eq!(data["specifications"][0]["name"], hostile);
    assert_eq!(data["problems"].as_array().map(Vec::len), Some(1));
}

#[test]
fn the_page_needs_nothing_else() {
    let page = write(&[("coffee.md", "# Coffee\n\nThe pot MUST brew.\n"), ("lib.rs", "")]);
    assert!(!page.contains("{{"), "everything is filled in");
    for outside in ["src=", "@import", "url(", "fetch(", "import(", "XMLHttpRequest", "innerHTML", "eval("] {
        assert!(!page.contains(outside), "the page has `{outside}`");
    }
    let policies = page.matches("default-src 'none'").count();
    assert_eq!(policies, 1, "the browser is told to load nothing");
}

#[test]
fn the_same_project_gives_the_same_page() {
    let files = [("coffee.md", "# Coffee\n\nThe pot MUST brew.\n"), ("lib.rs", "")];
    assert_eq!(write(&files), write(&files));
}

#[test]
fn a_stale_citation_is_shown_with_both_versions_and_the_lines_to_write() {
    let data = data_of(&stale_model());
    let problem = &data["problems"][0];
    assert_eq!((&problem["code"], &problem["is_error"]), (&json!("stale-citation"), &json!(true)));
    let message = "SHOP-REQ-027 changed in version 7: this quote is from version 4";
    assert_eq!(problem["message"], message);
    let help = [
        "the difference is: A link MUST stop working after [-an hour.-]{+two hours.+}",
        "write instead:\n//= spexus://REQ-027\n//# A link MUST stop working after two hours.",
    ];
    assert_eq!(problem["help"], json!(help));
}

fn write(files: &[(&str, &str)]) -> String {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (_, model) = load(folder.path(), files, "coffee.md");
    written(&model)
}

fn written(model: &Model) -> String {
    let page = Page::new("coffee & <tea>".to_owned(), model);
    let mut out = Vec::new();
    page.write(&mut out).expect("memory can be written");
    String::from_utf8(out).expect("the page is text")
}

fn data_of(model: &Model) -> Value {
    let page = written(model);
    let (_, rest) = page.split_once("id=\"data\">").expect("the page has data");
    let (data, _) = rest.split_once("</script>").expect("the data ends");
    serde_json::from_str(data).expect("the data is JSON")
}

//! What is in the page before any browser looks at it.

use trace::report::html::Page;

use crate::documents::load;

#[test]
fn nothing_in_the_data_can_end_it() {
    let hostile = "A </script><!--<script>\u{2028}\u{2029}&{{nonce}}";
    let specification = format!("# {hostile}\n\n## Brewing\n\nThe pot MUST show {hostile} as text.\n");
    let source = format!("//= coffee.md#{hostile}\n");
    let page = write(&[("coffee.md", &specification), ("lib.rs", &source)]);
    let (_, rest) = page.split_once("id=\"data\">").expect("the page has data");
    let (data, _) = rest.split_once("</script>").expect("the data ends");
    assert!(!data.contains(['<', '>', '&', '\u{2028}', '\u{2029}']), "{data}");
    let data: serde_json::Value = serde_json::from_str(data).expect("the data is JSON");
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

fn write(files: &[(&str, &str)]) -> String {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (_, model) = load(folder.path(), files, "coffee.md");
    let page = Page::new("coffee & <tea>".to_owned(), &model);
    let mut out = Vec::new();
    page.write(&mut out).expect("memory can be written");
    String::from_utf8(out).expect("the page is text")
}

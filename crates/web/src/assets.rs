//! The files that pages load: one style, htmx, and one script of our own. Their names change with their content, so that
//! browsers may keep them for good.

use std::sync::LazyLock;

/// A file.
pub struct Asset {
    /// Its path.
    pub path: String,
    /// What it is.
    pub content_type: &'static str,
    /// What is in it.
    pub content: Vec<u8>,
}

/// htmx as the npm package `htmx.org` has it; a test compares the two.
pub const HTMX: &str = include_str!("../assets/htmx-4.0.1.min.js");

/// The parts of our script, in the order in which they run.
const SCRIPTS: &[&str] = &[
    include_str!("../assets/script/start.js"),
    include_str!("../assets/script/time.js"),
    include_str!("../assets/script/write.js"),
    include_str!("../assets/script/edit.js"),
    include_str!("../assets/script/peek.js"),
    include_str!("../assets/script/keys.js"),
    include_str!("../assets/script/palette.js"),
    include_str!("../assets/script/live.js"),
    include_str!("../assets/script/table.js"),
    include_str!("../assets/script/tree.js"),
    include_str!("../assets/script/document.js"),
    include_str!("../assets/script/board.js"),
    include_str!("../assets/script/change.js"),
    include_str!("../assets/script/file.js"),
];

/// The parts of the style; later ones win.
const STYLES: &[&str] = &[
    design::TOKENS,
    design::STATES,
    include_str!("../assets/style/base.css"),
    include_str!("../assets/style/table.css"),
    include_str!("../assets/style/tree.css"),
    include_str!("../assets/style/item.css"),
    document::STYLE,
    include_str!("../assets/style/document.css"),
    include_str!("../assets/style/dashboard.css"),
    include_str!("../assets/style/change.css"),
    include_str!("../assets/style/board.css"),
    include_str!("../assets/style/admin.css"),
    include_str!("../assets/style/trace.css"),
    include_str!("../assets/style/thread.css"),
    include_str!("../assets/style/import.css"),
    include_str!("../assets/style/narrow.css"),
];

/// All files: the style first, then the scripts.
pub static ASSETS: LazyLock<[Asset; 3]> = LazyLock::new(|| {
    [
        asset("app", "css", "text/css; charset=utf-8", STYLES.concat()),
        asset("htmx", "js", "text/javascript; charset=utf-8", HTMX.to_owned()),
        asset("app", "js", "text/javascript; charset=utf-8", SCRIPTS.concat()),
    ]
});

fn asset(name: &str, extension: &str, content_type: &'static str, content: String) -> Asset {
    let hash = blake3::hash(content.as_bytes()).to_hex();
    let path = format!("/assets/{name}-{}.{extension}", &hash[..12]);
    Asset { path, content_type, content: content.into_bytes() }
}

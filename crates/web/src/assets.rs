//! The files that pages load: one style and one script. Their names change with their content, so that browsers may keep
//! them for good.

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

const SCRIPT: &str = include_str!("../assets/app.js");
const STYLE: &str = include_str!("../assets/app.css");

/// All files.
pub static ASSETS: LazyLock<[Asset; 2]> = LazyLock::new(|| {
    let style = [design::TOKENS, design::STATES, STYLE].concat();
    [
        asset("app", "css", "text/css; charset=utf-8", style),
        asset("app", "js", "text/javascript; charset=utf-8", SCRIPT.to_owned()),
    ]
});

fn asset(name: &str, extension: &str, content_type: &'static str, content: String) -> Asset {
    let hash = blake3::hash(content.as_bytes()).to_hex();
    let path = format!("/assets/{name}-{}.{extension}", &hash[..12]);
    Asset { path, content_type, content: content.into_bytes() }
}

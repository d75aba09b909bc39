//! Sets of tools: which there are, and which ones a server or a request has chosen.

/// The sets that tools are in, each tool in one.
pub const SETS: [&str; 8] =
    ["requirements", "comments", "steering", "prompts", "bulk", "views", "thread", "work"];
/// The default: of `requirements`, the tools that daily work needs. The others of that set can be called, though they are
/// not listed.
pub const DAILY: &str = "daily";
/// All sets at once.
const ALL: &str = "all";

/// The HTTP headers by which a request says what it wants to be shown.
pub mod headers {
    /// The names of tool sets.
    pub const TOOLSETS: &str = "x-mcp-toolsets";
    /// The schemas of answers, and answers as structured content, too.
    pub const OUTPUT_SCHEMAS: &str = "spexus-output-schemas";
    /// Also the tools that can be called but are not listed, for a program that passes tools on.
    pub const UNLISTED: &str = "spexus-unlisted-tools";
}

/// Which tools are shown.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ToolOptions {
    /// The chosen sets.
    pub sets: Vec<String>,
    /// Only what changes nothing.
    pub read_only: bool,
    /// With the schemas of answers, which cost three times as much as the rest.
    pub output_schemas: bool,
}

impl ToolOptions {
    /// The names that can be chosen.
    pub fn choices() -> impl Iterator<Item = &'static str> {
        [DAILY].into_iter().chain(SETS).chain([ALL])
    }

    /// Reads the names of sets, with commas in between.
    pub fn parse_sets(names: &str) -> Result<Vec<String>, String> {
        let expected = || format!("expected some of {}", Self::choices().collect::<Vec<_>>().join(", "));
        let mut sets = Vec::new();
        for name in names.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            let known = Self::choices().find(|known| known.eq_ignore_ascii_case(name));
            match known.ok_or_else(|| format!("{} is not a tool set; {}", mcp::shown(name), expected()))? {
                ALL => sets.extend(SETS.map(str::to_owned)),
                known => sets.push(known.to_owned()),
            }
        }
        sets.sort();
        sets.dedup();
        if sets.is_empty() { Err(expected()) } else { Ok(sets) }
    }

    /// Whether a tool is listed.
    pub(super) fn lists(&self, tool: &ops::Tool) -> bool {
        self.has(tool.set) || (tool.daily.is_some() && self.has(DAILY))
    }

    /// Whether a tool can be called.
    pub(super) fn serves(&self, tool: &ops::Tool) -> bool {
        self.has(tool.set) || (tool.set == SETS[0] && self.has(DAILY))
    }

    /// The chosen sets and another one, as they are written.
    pub(super) fn sets_with(&self, set: &str) -> String {
        let sets: Vec<&str> = self.sets.iter().map(String::as_str).chain([set]).collect();
        sets.join(",")
    }

    fn has(&self, set: &str) -> bool {
        self.sets.iter().any(|chosen| chosen == set)
    }
}

impl Default for ToolOptions {
    fn default() -> Self {
        ToolOptions { sets: vec![DAILY.to_owned()], read_only: false, output_schemas: false }
    }
}

//! Tool sets, and the choice of a server or a request.

/// The tool sets; each tool is in one.
pub const SETS: [&str; 8] =
    ["requirements", "comments", "steering", "prompts", "bulk", "views", "thread", "work"];
/// The default: the tools of `requirements` for daily work. The others of that set can be called, but are
/// not listed.
pub const DAILY: &str = "daily";
/// All sets at once.
const ALL: &str = "all";

/// The HTTP headers with which a request chooses.
pub mod headers {
    /// The names of tool sets.
    pub const TOOLSETS: &str = "x-mcp-toolsets";
    /// Output schemas, and answers as structured content, too.
    pub const OUTPUT_SCHEMAS: &str = "spexus-output-schemas";
    /// Also the unlisted tools, for a program that forwards tools.
    pub const UNLISTED: &str = "spexus-unlisted-tools";
}

/// The choice of tools.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ToolOptions {
    /// The chosen sets.
    pub sets: Vec<String>,
    /// Only tools that change nothing.
    pub read_only: bool,
    /// With output schemas, which cost three times as many tokens as the rest.
    pub output_schemas: bool,
}

impl ToolOptions {
    /// The names that can be chosen.
    pub fn choices() -> impl Iterator<Item = &'static str> {
        [DAILY].into_iter().chain(SETS).chain([ALL])
    }

    /// Parses the names of sets, separated by commas.
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

    /// The chosen sets and another one, as a setting.
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

//! What an agent is doing.

use serde::{Deserialize, Serialize};

use crate::words::words;

words! {
    /// The kind of an activity.
    #[derive(Default)]
    ActivityKind {
        /// It thinks; also if it reports no kind.
        #[default]
        Reasoning = "reasoning",
        /// It uses a tool, which has a name.
        ToolCall = "tool_call",
        /// It uses its memory.
        Memory = "memory",
        /// It waits for a permission.
        Permission = "permission",
    }
}

/// The name of a tool: ASCII letters, digits, and `_-.:/`, at most [`Self::MAX_CHARS`].
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ToolName(String);

impl ToolName {
    /// The maximum number of characters.
    pub const MAX_CHARS: usize = 128;

    /// Cuts a name to its length, and replaces other characters by `_`.
    pub fn new(text: &str) -> Self {
        let kept = |c: char| if c.is_ascii_alphanumeric() || "_-.:/".contains(c) { c } else { '_' };
        Self(text.trim().chars().take(Self::MAX_CHARS).map(kept).collect())
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What an agent is doing.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Activity {
    /// The kind.
    pub kind: ActivityKind,
    /// The tool that it uses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<ToolName>,
}

/// What an agent reports about itself in a chat: what it is doing, or nothing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReportedWork(pub Option<Activity>);

impl From<bool> for ReportedWork {
    fn from(is_working: bool) -> Self {
        Self(is_working.then(Activity::default))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_cut_to_its_alphabet() {
        for (given, name) in [
            ("Read_file-2", "Read_file-2"),
            (" mcp:git/log.v1 ", "mcp:git/log.v1"),
            ("lire été\n<b>", "lire__t___b_"),
        ] {
            assert_eq!(ToolName::new(given).as_str(), name);
        }
        assert_eq!(ToolName::new(&"é".repeat(200)).as_str(), "_".repeat(ToolName::MAX_CHARS));
    }
}

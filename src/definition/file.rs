//! A file that describes an agent.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::Context;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use toml::Spanned;

use super::text::{Id, Instructions, Program, Seconds, ToolName, Variable};

/// An agent.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AgentFile {
    pub(super) name: Id,
    #[serde(default)]
    pub(super) description: String,
    #[serde(default, rename = "type")]
    pub(super) kind: Kind,
    #[serde(default)]
    pub(super) version: Option<String>,
    #[serde(default)]
    pub(super) model: Option<String>,
    #[serde(default)]
    pub(super) instructions: Option<Instructions>,
    #[serde(default)]
    pub(super) temperature: Option<f64>,
    #[serde(default)]
    pub(super) limits: LimitsTable,
    #[serde(default)]
    pub(super) budget: BudgetTable,
    #[serde(default, rename = "skill")]
    pub(super) skills: Vec<SkillTable>,
    #[serde(default, rename = "tool")]
    pub(super) tools: Vec<Spanned<ToolTable>>,
    /// The names of tools that the settings define.
    #[serde(default, rename = "tools")]
    pub(super) named: Vec<Spanned<String>>,
}

/// Nothing but tools.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ToolsFile {
    #[serde(default, rename = "tool")]
    pub(super) tools: Vec<Spanned<ToolTable>>,
}

/// What an agent is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    #[default]
    Worker,
    Supervisor,
}

/// `[limits]`
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct LimitsTable {
    pub(super) turns: Option<std::num::NonZeroU32>,
    pub(super) tool_calls: Option<u32>,
    pub(super) agent_timeout_s: Option<Seconds>,
    pub(super) model_timeout_s: Option<Seconds>,
}

/// `[budget]`
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct BudgetTable {
    pub(super) tokens: Option<u64>,
    pub(super) calls: Option<u64>,
    pub(super) time_s: Option<Seconds>,
    pub(super) depth: Option<u32>,
}

/// `[[skill]]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SkillTable {
    pub(super) id: Id,
    #[serde(default)]
    pub(super) name: Option<String>,
    pub(super) description: String,
    #[serde(default)]
    pub(super) tags: Vec<String>,
    #[serde(default)]
    pub(super) examples: Vec<String>,
}

/// `[[tool]]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ToolTable {
    pub(super) name: Spanned<ToolName>,
    pub(super) description: String,
    pub(super) command: Program,
    #[serde(default)]
    pub(super) input: Option<Spanned<Map<String, Value>>>,
    #[serde(default)]
    pub(super) timeout_s: Seconds,
    #[serde(default)]
    pub(super) env: Vec<Variable>,
}

/// The text of a file, and where it is.
#[derive(Debug)]
pub(super) struct Source {
    path: PathBuf,
    text: String,
}

impl Source {
    /// Reads a file.
    pub(super) fn read(path: &Path) -> anyhow::Result<Self> {
        let text =
            fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        Ok(Self {
            path: path.to_owned(),
            text,
        })
    }

    /// The definition in the text.
    ///
    /// # Errors
    ///
    /// The fault, with the file, the line and the column, and what is allowed there.
    pub(super) fn parse<T: DeserializeOwned>(&self) -> anyhow::Result<T> {
        toml::from_str(&self.text).map_err(|error| {
            let start = error.span().map_or(0, |span| span.start);
            self.error(start, error.message())
        })
    }

    /// An error about what stands at this byte.
    pub(super) fn error(&self, byte: usize, what: &str) -> anyhow::Error {
        anyhow::anyhow!("{}: {what}", self.place(byte))
    }

    /// Place of a byte, as `file:line:column`.
    pub(super) fn place(&self, byte: usize) -> String {
        let (line, column) = position(&self.text, byte);
        format!("{}:{line}:{column}", self.path.display())
    }

    /// The file's folder, absolute.
    pub(super) fn folder(&self) -> anyhow::Result<PathBuf> {
        let folder = match self.path.parent() {
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        };
        folder
            .canonicalize()
            .with_context(|| format!("cannot use the folder {}", folder.display()))
    }
}

/// The line and the column of a byte, both from 1; columns count characters.
fn position(text: &str, byte: usize) -> (usize, usize) {
    let before = text.get(..byte).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default();
    (line, column.chars().count() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_lines_and_characters() {
        assert_eq!(position("", 0), (1, 1));
        assert_eq!(position("ä = 1\nbc", 3), (1, 3));
        assert_eq!(position("ä = 1\nbc", 8), (2, 2));
        assert_eq!(position("a", 99), (1, 2));
    }
}

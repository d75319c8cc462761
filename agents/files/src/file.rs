//! A file that describes an agent.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::Context;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use toml::Spanned;

use crate::values::{Id, Instructions, NamedTool, Program, Seconds, ToolName, Variable};

/// An agent.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AgentFile {
    pub(crate) name: Id,
    #[serde(default)]
    pub(crate) description: String,
    #[serde(default, rename = "type")]
    pub(crate) kind: Kind,
    #[serde(default)]
    pub(crate) version: Option<String>,
    #[serde(default)]
    pub(crate) model: Option<String>,
    #[serde(default)]
    pub(crate) instructions: Option<Instructions>,
    #[serde(default)]
    pub(crate) temperature: Option<f64>,
    #[serde(default)]
    pub(crate) limits: LimitsTable,
    #[serde(default)]
    pub(crate) budget: BudgetTable,
    #[serde(default, rename = "skill")]
    pub(crate) skills: Vec<SkillTable>,
    #[serde(default, rename = "tool")]
    pub(crate) tools: Vec<Spanned<ToolTable>>,
    /// The names of tools that the settings define.
    #[serde(default, rename = "tools")]
    pub(crate) named: Vec<Spanned<NamedTool>>,
}

/// The tools of a file that describes nothing else.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ToolsFile {
    #[serde(default, rename = "tool")]
    pub(crate) tools: Vec<Spanned<ToolTable>>,
}

/// Worker or supervisor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    #[default]
    Worker,
    Supervisor,
}

/// `[limits]`
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct LimitsTable {
    pub(crate) turns: Option<std::num::NonZeroU32>,
    pub(crate) tool_calls: Option<u32>,
    pub(crate) agent_timeout_s: Option<Seconds>,
    pub(crate) model_timeout_s: Option<Seconds>,
}

/// `[budget]`
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct BudgetTable {
    pub(crate) tokens: Option<u64>,
    pub(crate) calls: Option<u64>,
    pub(crate) time_s: Option<Seconds>,
    pub(crate) depth: Option<u32>,
}

/// `[[skill]]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SkillTable {
    pub(crate) id: Id,
    #[serde(default)]
    pub(crate) name: Option<String>,
    pub(crate) description: String,
    #[serde(default)]
    pub(crate) tags: Vec<String>,
    #[serde(default)]
    pub(crate) examples: Vec<String>,
}

/// `[[tool]]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ToolTable {
    pub(crate) name: Spanned<ToolName>,
    pub(crate) description: String,
    pub(crate) command: Program,
    #[serde(default)]
    pub(crate) input: Option<Spanned<Map<String, Value>>>,
    #[serde(default)]
    pub(crate) timeout_s: Seconds,
    #[serde(default)]
    pub(crate) env: Vec<Variable>,
}

/// The text of a file, and where it is.
#[derive(Debug)]
pub(crate) struct Source {
    path: PathBuf,
    text: String,
}

impl Source {
    /// Reads a file.
    pub(crate) fn read(path: &Path) -> anyhow::Result<Self> {
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
    pub(crate) fn parse<T: DeserializeOwned>(&self) -> anyhow::Result<T> {
        toml::from_str(&self.text).map_err(|error| {
            let start = error.span().map_or(0, |span| span.start);
            self.error(start, error.message())
        })
    }

    /// An error about what stands at this byte.
    pub(crate) fn error(&self, byte: usize, what: &str) -> anyhow::Error {
        anyhow::anyhow!("{}: {what}", self.place(byte))
    }

    /// Place of a byte, as `file:line:column`.
    pub(crate) fn place(&self, byte: usize) -> String {
        let (line, column) = position(&self.text, byte);
        format!("{}:{line}:{column}", self.path.display())
    }

    /// The file's folder, absolute.
    pub(crate) fn folder(&self) -> anyhow::Result<PathBuf> {
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

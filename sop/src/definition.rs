//! Definition of an SOP, read and checked.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Fault, Place, Rule};

/// Definition of an agent, read from an SOP. It does not change any more.
#[derive(Clone, Debug, PartialEq)]
pub struct Definition {
    /// The agent's id: at most 128 printable bytes.
    pub name: String,
    /// Its purpose, as other agents see it.
    pub description: String,
    /// Its version, if it has one.
    pub version: Option<String>,
    /// Worker or orchestrator.
    pub kind: Kind,
    /// The tools that it may use, as the file names them.
    pub tools: Vec<ToolName>,
    /// The JSON Schema 2020-12 of what it takes besides a task: an object whose properties stand in the order of the file. `{}` properties
    /// where it takes nothing.
    pub schema: Value,
    /// Instructions for its model: the file without its front matter.
    pub body: String,
    /// Rules of the procedure, in its own words.
    pub rules: Vec<Rule>,
    /// The file.
    pub path: PathBuf,
    /// Format of the file.
    pub format: Format,
    /// The model that it asks for, as `provider/model`.
    pub model: Option<String>,
    /// Temperature of the model, from 0.
    pub temperature: Option<f64>,
    /// Times that the model is asked for one request, at most.
    pub turns: Option<u32>,
    /// Reaction to the failure of an agent that it asks.
    pub error_mode: Option<ErrorMode>,
    /// The files of its own that it may read: of a skill, the folder. Paths are relative to the folder of the file, and sorted.
    pub files: Vec<PathBuf>,
    /// SHA-256 of the file, in hexadecimal.
    pub digest: String,
}

impl Definition {
    /// Something wrong at a place of its file, which is read again to show the line.
    pub fn fault_at(&self, place: Place, message: impl Into<String>) -> Fault {
        Fault::error(&self.path, message).at_place(place)
    }
}

/// Role of an SOP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// An agent.
    #[default]
    Agent,
    /// The one that hands the work out.
    Orchestrator,
}

/// Format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// Front matter and a body: `NAME.md`.
    Sop,
    /// The public Agent SOP format: `NAME.sop.md`, with a title, Overview, Parameters and Steps.
    AgentSop,
    /// An Agent Skill: `NAME/SKILL.md`.
    Skill,
}

/// Reaction to the failure of an agent that was asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorMode {
    /// The request fails at once, and what else is under way is called back.
    #[default]
    FailFast,
    /// The others go on; the answer says what is missing, and why.
    Continue,
}

/// A tool, as a file names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolName {
    /// The name.
    pub name: String,
    /// Its place in the file.
    pub place: Place,
}

//! The values of a file that have a form of their own.

use std::time::Duration;

use serde::Deserialize;

/// The longest id, in bytes.
const MAX_ID: usize = 128;

/// The longest time, in seconds.
const MAX_SECONDS: u64 = 24 * 60 * 60;

/// The time that a tool has if its file does not say, in seconds.
const DEFAULT_SECONDS: u64 = 60;

/// The id of an agent or of a skill.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Id(pub(crate) String);

/// The name of a tool.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct ToolName(pub(crate) String);

/// The name of a tool or an agent of the settings.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(
    untagged,
    expecting = "`tools` has names of the settings: \"files\" or \"web.search\"; a tool of this file's own is a [[tool]]"
)]
pub(crate) enum NamedTool {
    Name(String),
}

/// Instructions of an agent: a text, or the file in which it stands.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "String")]
pub(crate) enum Instructions {
    /// The text.
    Text(String),
    /// A file of text; what is relative begins where the one who names it is.
    File(std::path::PathBuf),
}

/// A program and its arguments.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Vec<String>")]
pub(crate) struct Program(pub(crate) Vec<String>);

/// The name of a variable of the environment.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Variable(pub(crate) String);

/// A time in whole seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "u64")]
pub(crate) struct Seconds(u64);

impl Seconds {
    pub(crate) fn duration(self) -> Duration {
        Duration::from_secs(self.0)
    }

    pub(crate) fn millis(self) -> u64 {
        self.0 * 1_000
    }
}

impl Default for Seconds {
    fn default() -> Self {
        Self(DEFAULT_SECONDS)
    }
}

impl TryFrom<u64> for Seconds {
    type Error = String;

    fn try_from(seconds: u64) -> Result<Self, String> {
        match (1..=MAX_SECONDS).contains(&seconds) {
            true => Ok(Self(seconds)),
            false => Err(format!("{seconds} is not 1 to {MAX_SECONDS} seconds")),
        }
    }
}

impl TryFrom<String> for Id {
    type Error = String;

    fn try_from(id: String) -> Result<Self, String> {
        let is_printable = !id.trim().is_empty() && !id.chars().any(char::is_control);
        match is_printable && id.len() <= MAX_ID {
            true => Ok(Self(id)),
            false => Err(format!("{id:?} is no id: 1 to {MAX_ID} printable bytes")),
        }
    }
}

impl TryFrom<String> for ToolName {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        let is_allowed = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
        match (1..=64).contains(&name.len()) && name.bytes().all(is_allowed) {
            true => Ok(Self(name)),
            false => Err(format!(
                "{name:?} is no name of a tool: 1 to 64 of the characters A-Z, a-z, 0-9, _ and -"
            )),
        }
    }
}

impl From<String> for Instructions {
    fn from(text: String) -> Self {
        match text.strip_prefix('@') {
            Some(file) => Self::File(file.into()),
            None => Self::Text(text),
        }
    }
}

impl TryFrom<Vec<String>> for Program {
    type Error = &'static str;

    fn try_from(line: Vec<String>) -> Result<Self, Self::Error> {
        match line.first().is_some_and(|program| !program.is_empty()) {
            true => Ok(Self(line)),
            false => Err("a command is a program and its arguments, such as [\"wc\", \"-l\"]"),
        }
    }
}

impl TryFrom<String> for Variable {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        match !name.is_empty() && !name.contains(['=', '\0']) {
            true => Ok(Self(name)),
            false => Err(format!(
                "{name:?} is no name of a variable; its value comes from the environment of the agent"
            )),
        }
    }
}

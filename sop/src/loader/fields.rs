//! Fields of front matter, checked one by one.

use agenthub_documents::{
    Place, meant,
    yaml::{Node, Value},
};

use super::{
    faults::Faults,
    front::BEGIN,
    inputs::{self, Input, written},
    mapping::{Field, Mapping, Placed},
    name,
};
use crate::{ErrorMode, Format, Kind, ToolName};

/// Keys of front matter.
const KEYS: [&str; 10] = [
    "name",
    "description",
    "version",
    "type",
    "tools",
    "inputs",
    "model",
    "temperature",
    "turns",
    "error_mode",
];

/// Further keys of a skill's front matter.
const SKILL_KEYS: [&str; 4] = ["license", "compatibility", "metadata", "allowed-tools"];

/// Kinds of an SOP.
const KINDS: [(&str, Kind); 2] = [("agent", Kind::Agent), ("orchestrator", Kind::Orchestrator)];

/// Reactions to the failure of an agent.
const ERROR_MODES: [(&str, ErrorMode); 2] = [
    ("fail-fast", ErrorMode::FailFast),
    ("continue", ErrorMode::Continue),
];

/// The most tools.
const MAX_TOOLS: usize = 128;

/// Times that a model may be asked for one request.
const MAX_TURNS: f64 = 1000.0;

/// The highest temperature that a model takes.
const MAX_TEMPERATURE: f64 = 2.0;

/// Fields of front matter. A wrong one is left out here, and is a fault.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Fields {
    pub(crate) name: Option<Placed<String>>,
    pub(crate) description: Option<Placed<String>>,
    pub(crate) version: Option<String>,
    pub(crate) kind: Kind,
    pub(crate) tools: Vec<ToolName>,
    /// `None` if there is no such field.
    pub(crate) inputs: Option<Vec<Input>>,
    pub(crate) model: Option<String>,
    pub(crate) temperature: Option<f64>,
    pub(crate) turns: Option<u32>,
    pub(crate) error_mode: Option<ErrorMode>,
}

/// Reads front matter. What it lacks is a fault, but for an Agent SOP, whose sections say it.
pub(crate) fn fields(node: &Node, format: Format, faults: &mut Faults<'_>) -> Fields {
    let entries = match &node.value {
        Value::Map(entries) => entries.as_slice(),
        Value::Null => &[],
        other => {
            faults.error(
                node.place,
                format!("front matter consists of fields; this is {}", other.kind()),
                "write a field in each line, such as `name: researcher`; there is a space behind the colon",
            );
            return Fields::default();
        }
    };
    let known: &[&str] = match format {
        Format::Skill => &[&KEYS[..], &SKILL_KEYS].concat(),
        Format::Sop | Format::AgentSop => &KEYS,
    };
    let entries = Mapping::of(entries, "front matter", known, faults);
    if let Some(field) = entries.get("allowed-tools") {
        faults.warning(
            field.key.place,
            "`allowed-tools` is not used here: they are tools of another program",
            "name tools of your settings under `tools:`, if this skill needs any",
        );
    }
    let is_required = format != Format::AgentSop;
    Fields {
        name: name(&entries, is_required, faults),
        description: description(&entries, is_required, faults),
        version: version(&entries, faults),
        kind: entries.word("type", &KINDS, faults).unwrap_or_default(),
        tools: tools(&entries, faults),
        inputs: entries
            .get("inputs")
            .map(|field| inputs::inputs(&field, faults)),
        model: entries
            .text("model", faults)
            .map(|text| text.value.to_owned()),
        temperature: entries.number("temperature", (0.0, MAX_TEMPERATURE), false, faults),
        turns: entries
            .number("turns", (1.0, MAX_TURNS), true, faults)
            .map(|turns| turns as u32),
        error_mode: entries.word("error_mode", &ERROR_MODES, faults),
    }
}

/// A text that has to be there.
fn needed<'n>(
    entries: &Mapping<'n>,
    key: &str,
    is_required: bool,
    help: &str,
    faults: &mut Faults<'_>,
) -> Option<Placed<&'n str>> {
    match entries.get(key) {
        Some(field) if is_empty(&field) => {
            match commented(&field, faults) {
                Some(comment) => {
                    let help = format!("put the text into quotes: `{key}: {comment:?}`");
                    let message = format!("`{key}` is empty: `#` begins a comment");
                    faults.error(field.key.place, message, help);
                }
                None => faults.error(field.key.place, format!("`{key}` is empty"), help),
            }
            None
        }
        Some(_) => entries.text(key, faults),
        None => {
            if is_required {
                let likely = entries.unknown_like(key);
                let place = likely.map_or(BEGIN, |field| field.key.place);
                faults.error(place, format!("`{key}` is missing"), help);
            }
            None
        }
    }
}

/// The comment that stands in the place of a value, if nothing but that stands there.
fn commented(field: &Field<'_>, faults: &Faults<'_>) -> Option<String> {
    let rest = Place {
        column: field.key.place.column + field.key.place.length,
        length: u32::MAX,
        ..field.key.place
    };
    let value = faults.source(rest).trim_start().strip_prefix(':')?.trim();
    let is_comment = field.node.value == Value::Null && value.starts_with('#');
    is_comment.then(|| value.to_owned())
}

fn is_empty(field: &Field<'_>) -> bool {
    match &field.node.value {
        Value::Null => true,
        Value::Text(text) => text.trim().is_empty(),
        _ => false,
    }
}

fn name(
    entries: &Mapping<'_>,
    is_required: bool,
    faults: &mut Faults<'_>,
) -> Option<Placed<String>> {
    let help = "add a line such as `name: researcher`";
    let found = needed(entries, "name", is_required, help, faults)?;
    match name::usable(found.value) {
        Ok(()) => Some(Placed {
            value: found.value.to_owned(),
            place: found.place,
        }),
        Err(unusable) => {
            faults.error(found.place, unusable.why, unusable.help);
            None
        }
    }
}

fn description(
    entries: &Mapping<'_>,
    is_required: bool,
    faults: &mut Faults<'_>,
) -> Option<Placed<String>> {
    let help = "add a line such as `description: Finds facts and names their sources`; by it others decide whom to ask";
    let found = needed(entries, "description", is_required, help, faults)?;
    Some(Placed {
        value: found.value.to_owned(),
        place: found.place,
    })
}

/// A version, as it was written: 1.10 is not 1.1. A skill's stands in its metadata.
fn version(entries: &Mapping<'_>, faults: &mut Faults<'_>) -> Option<String> {
    let Some(field) = entries.get("version") else {
        let metadata = entries.get("metadata")?;
        let version = metadata.node.get("version")?;
        return match &version.value {
            Value::Text(text) => Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
            Value::Number(number) => Some(written(number, version.place, faults)),
            _ => None,
        };
    };
    match &field.node.value {
        Value::Number(number) => Some(written(number, field.node.place, faults)),
        _ => entries
            .text("version", faults)
            .map(|text| text.value.to_owned()),
    }
}

fn tools(entries: &Mapping<'_>, faults: &mut Faults<'_>) -> Vec<ToolName> {
    let Some(field) = entries.get("tools") else {
        return Vec::new();
    };
    let items = match &field.node.value {
        Value::Null => return Vec::new(),
        Value::List(items) => items,
        other => {
            let help = match other {
                Value::Text(text) => {
                    let names: Vec<&str> = text
                        .split([',', ' '])
                        .filter(|name| !name.is_empty())
                        .collect();
                    format!("write `tools: [{}]`", names.join(", "))
                }
                _ => "such as `tools: [search, files.read]`".to_owned(),
            };
            faults.error(
                field.spot(),
                format!("`tools` takes a list; this is {}", other.kind()),
                help,
            );
            return Vec::new();
        }
    };
    if let Some(item) = items.get(MAX_TOOLS) {
        faults.error(
            item.place,
            format!("there are {} tools; at most {MAX_TOOLS}", items.len()),
            "a model that has fewer chooses better; part the work among several agents",
        );
    }
    let mut tools: Vec<ToolName> = Vec::new();
    for item in items.iter().take(MAX_TOOLS) {
        let place = field.spot_of(item);
        match &item.value {
            Value::Text(name) if !name.trim().is_empty() => {
                let name = name.trim().to_owned();
                match tools.iter().any(|tool| tool.name == name) {
                    true => faults.warning(
                        place,
                        format!("the tool `{name}` is there twice"),
                        "name each tool once",
                    ),
                    false => tools.push(ToolName { name, place }),
                }
            }
            _ => faults.error(
                place,
                "a tool is no name",
                "such as `tools: [search, files.read]`",
            ),
        }
    }
    tools
}

impl<'n> Mapping<'n> {
    /// The field that somebody may have meant to call so.
    fn unknown_like(&self, name: &str) -> Option<Field<'n>> {
        self.iter()
            .filter(|field| !KEYS.contains(&field.key.name.as_str()))
            .find(|field| meant(&field.key.name, KEYS) == Some(name))
    }
}

/// The place of a missing field of a file without front matter.
pub(crate) fn beginning(text: &str) -> Place {
    let length = text.lines().next().map_or(0, |line| line.chars().count());
    Place {
        line: 1,
        column: 1,
        length: u32::try_from(length.max(1)).unwrap_or(u32::MAX),
    }
}

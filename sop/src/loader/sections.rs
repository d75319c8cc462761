//! The public Agent SOP format: what a file without front matter says in its sections.

use super::{
    faults::Faults,
    inputs::{Input, Kind, TASK, is_name},
    mapping::Placed,
    markdown::{Block, blocks},
};
use crate::Place;

/// Contents of the sections.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Sections {
    /// The first heading.
    pub(crate) title: Option<String>,
    /// The section *Overview* on one line.
    pub(crate) overview: Option<Placed<String>>,
    /// The section *Parameters*.
    pub(crate) inputs: Vec<Input>,
    /// True if there is a section *Steps*.
    pub(crate) has_steps: bool,
}

/// The section that is being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Section {
    Overview,
    Parameters,
    /// The rules below the parameters.
    Constraints,
    Other,
}

/// Reads the sections of a body that begins on a line of its file.
pub(crate) fn sections(body: &str, first_line: u32, faults: &mut Faults<'_>) -> Sections {
    let blocks = blocks(body);
    let place = |block: &Block| place(body, first_line, block);
    let mut sections = Sections::default();
    let mut section = Section::Other;
    let mut overview: Vec<&str> = Vec::new();
    let mut at = None;
    for (index, block) in blocks.iter().enumerate() {
        match block.heading {
            Some(1) if sections.title.is_none() => sections.title = Some(block.text.clone()),
            Some(1 | 2) => {
                let title = block.text.trim_end_matches(':').to_lowercase();
                section = match title.as_str() {
                    "overview" => Section::Overview,
                    "parameters" => Section::Parameters,
                    _ => Section::Other,
                };
                sections.has_steps |= title == "steps";
            }
            Some(_) => {}
            None => match section {
                Section::Overview => {
                    at = at.or_else(|| Some(place(block)));
                    overview.push(&block.text);
                }
                Section::Parameters if block.text.to_lowercase().starts_with("constraints") => {
                    section = Section::Constraints;
                }
                Section::Parameters if block.depth == 1 && block.is_item => {
                    let below = below(&blocks[index + 1..]);
                    parameter(block, &below, place(block), &mut sections.inputs, faults);
                }
                Section::Parameters | Section::Constraints | Section::Other => {}
            },
        }
    }
    sections.overview = at.map(|place| Placed {
        value: overview.join(" "),
        place,
    });
    sections
}

/// The words below a parameter, such as its values.
fn below(blocks: &[Block]) -> Vec<&str> {
    blocks
        .iter()
        .take_while(|block| block.heading.is_none() && block.depth >= 1)
        .take_while(|block| !(block.depth == 1 && block.is_item))
        .map(|block| block.text.as_str())
        .collect()
}

/// `**name** (required): …` or `**name** (optional, default: "x"): …`.
fn parameter(
    block: &Block,
    below: &[&str],
    place: Place,
    inputs: &mut Vec<Input>,
    faults: &mut Faults<'_>,
) {
    let written = block.text[..block.lead].trim().trim_end_matches(':');
    if written.is_empty() {
        faults.warning(
            place,
            "this is no parameter; it is ignored",
            "a parameter is written as `- **name** (required): What it is`",
        );
        return;
    }
    let name: String = written
        .split_whitespace()
        .collect::<Vec<_>>()
        .join("_")
        .to_lowercase();
    if name == TASK {
        faults.warning(
            place,
            "the parameter `task` is the request itself; it is no input of its own",
            "whoever asks this agent says the task in any case",
        );
        return;
    }
    if !is_name(&name) {
        faults.error(
            place,
            format!("`{written}` can't be the name of a parameter"),
            "a name is made of letters from a to z, digits and `_`, and has at most 64 of them",
        );
        return;
    }
    if name != written {
        faults.warning(
            place,
            format!("the parameter `{written}` is called `{name}` when the agent is asked"),
            "a name is written in small letters, with `_` for spaces",
        );
    }
    if inputs.iter().any(|input| input.name == name) {
        faults.error(
            place,
            format!("the parameter `{name}` is there twice"),
            "keep one of them",
        );
        return;
    }
    let (marks, rest) = marks(&block.text[block.lead..]);
    let (required, default) = demands(marks.unwrap_or_default());
    let description = format!("{rest} {}", below.join("; "));
    let description = description.trim();
    inputs.push(Input {
        name,
        kind: Kind::String,
        required,
        default: default.map(Into::into),
        description: (!description.is_empty()).then(|| description.to_owned()),
    });
}

/// The text in the brackets behind a name, and the one behind them.
fn marks(text: &str) -> (Option<&str>, &str) {
    let text = text.trim_start();
    let rest = |rest: &'_ str| -> usize { rest.len() - rest.trim_start_matches([':', ' ']).len() };
    let Some(inside) = text.strip_prefix('(') else {
        return (None, &text[rest(text)..]);
    };
    let mut open = 1;
    let mut is_quoted = false;
    for (at, c) in inside.char_indices() {
        match c {
            '"' => is_quoted = !is_quoted,
            '(' if !is_quoted => open += 1,
            ')' if !is_quoted => open -= 1,
            _ => {}
        }
        if open == 0 {
            let after = &inside[at + 1..];
            return (Some(&inside[..at]), after[rest(after)..].trim());
        }
    }
    (None, text)
}

/// Tells whether a parameter is required, and its default.
fn demands(marks: &str) -> (bool, Option<String>) {
    let lower = marks.to_ascii_lowercase();
    let default = lower.find("default").map(|at| {
        let said = marks[at + "default".len()..].trim_start_matches([':', '=', ' ']);
        let quoted = said.strip_prefix('"').and_then(|said| said.split_once('"'));
        match quoted {
            Some((inside, _)) => inside.to_owned(),
            None => said.trim().trim_matches('\'').to_owned(),
        }
    });
    let default = default.filter(|default| !default.is_empty() || lower.contains("\"\""));
    let optional = lower.contains("optional") || default.is_some();
    (!optional, default)
}

/// The line of a block.
fn place(body: &str, first_line: u32, block: &Block) -> Place {
    let origin = block.origin(0).min(body.len());
    let before = &body[..origin];
    let line = before.bytes().filter(|byte| *byte == b'\n').count();
    let begin = before.rfind('\n').map_or(0, |at| at + 1);
    let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let text = body[origin..].lines().next().unwrap_or_default();
    Place {
        line: first_line.saturating_add(number(line)),
        column: number(body[begin..origin].chars().count() + 1),
        length: number(text.chars().count()),
    }
}

//! Reads a file.

use std::path::{Path, PathBuf};

use agenthub_documents::{
    choice, explain, quoted,
    yaml::{self, Node},
};
use sha2::{Digest, Sha256};

use super::{
    faults::Faults,
    fields::{self, Fields},
    files::{files, is_skill},
    front::{self, BEGIN, Parts},
    inputs,
    mapping::Placed,
    name,
    path::{stem, text},
    rules::rules,
    sections::{Sections, sections},
};
use crate::{Definition, Fault, Format, Place, discover::FOR_PEOPLE};

/// The largest description and schema together, in bytes: a card that the hub takes has room for them.
const MAX_CARD: usize = 48 * 1024;

/// The longest description that every model's provider takes, in characters.
const LONG_DESCRIPTION: usize = 1024;

/// Beginning of a file, for a sentence.
const BEGINS: &str = "with `---`, a line `name: …`, a line `description: …`, and `---`";

/// Lines of a skill's front matter that are put into quotes, at most.
const MAX_QUOTED: usize = 8;

/// A file that can be used, and what is odd about it.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// Its definition.
    pub definition: Definition,
    /// Warnings for its author.
    pub warnings: Vec<Fault>,
}

/// Reads a file in any of the three formats, which its name tells: `NAME/SKILL.md`, `NAME.sop.md` or `NAME.md`.
///
/// # Errors
///
/// All that is wrong with it, warnings included, in the order of the file: it cannot be read, has more than 256 KiB, is no UTF-8, or
/// does not say what it has to.
pub fn load(path: &Path) -> Result<Loaded, Vec<Fault>> {
    let text = text(path).map_err(|fault| vec![fault])?;
    let files = match format(path) {
        Format::Skill => files(path.parent().unwrap_or(Path::new(""))),
        Format::Sop | Format::AgentSop => Vec::new(),
    };
    parse(path, &text, files)
}

/// Reads the text of a file. `files` are the further files of a skill's folder.
///
/// # Errors
///
/// As those of [`load`].
pub fn parse(path: &Path, text: &str, files: Vec<PathBuf>) -> Result<Loaded, Vec<Fault>> {
    let format = format(path);
    let digest = Sha256::digest(text)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let text = plain(text);
    let mut faults = Faults::of(path, &text);
    let read = read(path, &text, format, &mut faults);
    let definition = read.map(|read| Definition {
        files,
        digest,
        ..read
    });
    let warnings = faults.warnings()?;
    match definition {
        Some(definition) => Ok(Loaded {
            definition,
            warnings,
        }),
        None => Err(warnings),
    }
}

/// The text without the mark at its beginning, with one character for the end of a line.
pub(super) fn plain(text: &str) -> String {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    text.replace("\r\n", "\n").replace('\r', "\n")
}

/// Format of a file, by its name.
pub(crate) fn format(path: &Path) -> Format {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if is_skill(path) {
        Format::Skill
    } else if name.to_lowercase().ends_with(".sop.md") {
        Format::AgentSop
    } else {
        Format::Sop
    }
}

/// Reads a text, as far as that can be. Files and digest are left out.
fn read(path: &Path, text: &str, format: Format, faults: &mut Faults<'_>) -> Option<Definition> {
    let parts = front::parts(text, faults).ok()?;
    let begin = match parts.front {
        Some(_) => BEGIN,
        None => fields::beginning(text),
    };
    let fields = match parts.front {
        Some(front) => Some(fields::fields(
            &node(front, format, faults)?,
            format,
            faults,
        )),
        None if format == Format::AgentSop => None,
        None => {
            match text.trim().is_empty() {
                true => faults.error(begin, "the file is empty", format!("begin it {BEGINS}")),
                false => faults.error(begin, "the front matter is missing", begins(format)),
            }
            None
        }
    };
    let fields = match (fields, format) {
        (Some(fields), _) => fields,
        (None, Format::AgentSop) => Fields::default(),
        (None, _) => return None,
    };
    let fields = match format {
        Format::AgentSop => completed(fields, &parts, path, begin, faults),
        Format::Sop | Format::Skill => fields,
    };
    check(&fields, &parts, path, format, faults);
    let schema = inputs::schema(&fields.inputs.unwrap_or_default());
    let description = fields.description?;
    if description.value.len() + schema.to_string().len() > MAX_CARD {
        faults.error(
            description.place,
            format!(
                "the description and the inputs have more than {} KiB",
                MAX_CARD / 1024
            ),
            "shorten them; how the agent works belongs below the front matter",
        );
    }
    Some(Definition {
        name: fields.name?.value,
        description: description.value,
        version: fields.version,
        kind: fields.kind,
        tools: fields.tools,
        schema,
        body: parts.body.trim().to_owned(),
        rules: rules(parts.body, parts.body_line),
        path: path.to_owned(),
        format,
        model: fields.model,
        temperature: fields.temperature,
        turns: fields.turns,
        error_mode: fields.error_mode,
        files: Vec::new(),
        digest: String::new(),
    })
}

/// The front matter as it stands; of a skill, with what other programs read as well.
pub(super) fn node(front: &str, format: Format, faults: &mut Faults<'_>) -> Option<Node> {
    let mut text = front.to_owned();
    for _ in 0..=MAX_QUOTED {
        let unread = match yaml::tree(&text) {
            Ok(node) => return Some(node),
            Err(unread) => unread,
        };
        let mended = match format {
            Format::Skill => quoted(&text, &unread),
            Format::Sop | Format::AgentSop => None,
        };
        let (Some(mended), Some(place)) = (mended, unread.place) else {
            let (place, message, help) = explain(&unread, &text, "front matter");
            faults.error(place, message, help);
            return None;
        };
        text = mended;
        faults.warning(
            place,
            "a colon stands here where none can be; it is taken as part of the text",
            "put the whole text into quotes",
        );
    }
    None
}

/// Fills in what the sections of an Agent SOP say.
fn completed(
    fields: Fields,
    parts: &Parts<'_>,
    path: &Path,
    begin: Place,
    faults: &mut Faults<'_>,
) -> Fields {
    let Sections {
        title,
        overview,
        inputs,
        has_steps,
    } = sections(parts.body, parts.body_line, faults);
    if title.is_none() {
        faults.warning(
            begin,
            "the title is missing",
            "begin with a line such as `# Code review`",
        );
    }
    if !has_steps {
        faults.warning(
            begin,
            "the section Steps is missing",
            "add a line `## Steps`, and below it what is to be done",
        );
    }
    let description = fields.description.or(overview);
    if description.is_none() {
        faults.error(
            begin,
            "the section Overview is missing, or empty",
            "add a line `## Overview`, and below it what this is for; by it others decide whom to ask",
        );
    }
    let name = fields.name.or_else(|| {
        let name = stem(path);
        match name::usable(&name) {
            Ok(()) => Some(Placed {
                value: name,
                place: begin,
            }),
            Err(unusable) => {
                faults.error(
                    begin,
                    unusable.why,
                    "the file's name is that of the agent; rename it",
                );
                None
            }
        }
    });
    Fields {
        name,
        description,
        inputs: fields.inputs.or(Some(inputs)),
        ..fields
    }
}

/// Warnings on a file that can be read.
fn check(fields: &Fields, parts: &Parts<'_>, path: &Path, format: Format, faults: &mut Faults<'_>) {
    if let Some(name) = &fields.name {
        let expected = stem(path);
        if !expected.is_empty() && name.value != expected {
            let what = match format {
                Format::Skill => "folder",
                Format::Sop | Format::AgentSop => "file",
            };
            faults.warning(
                name.place,
                format!(
                    "the name is `{}`, but the {what} is called `{expected}`",
                    name.value
                ),
                format!("call both the same, so that the {what} is found by the agent's name"),
            );
        }
    }
    if let Some(description) = &fields.description {
        let characters = description.value.chars().count();
        if characters > LONG_DESCRIPTION {
            faults.warning(
                description.place,
                format!("the description has {characters} characters; some models take {LONG_DESCRIPTION}"),
                "say in a few sentences what the agent is for and when to ask it",
            );
        }
    }
    if parts.body.trim().is_empty() {
        let lines = u32::try_from(parts.front.unwrap_or_default().lines().count()).unwrap_or(0);
        let place = Place {
            line: lines + 1,
            ..BEGIN
        };
        faults.warning(
            place,
            "nothing stands below the front matter",
            "write there how the agent works; it is what its model is told",
        );
    }
}

/// The advice on a file that has no front matter: it may be no SOP at all.
fn begins(format: Format) -> String {
    if format != Format::Sop {
        return format!("begin the file {BEGINS}");
    }
    let names = FOR_PEOPLE.map(|name| format!("{}.md", name.to_uppercase()));
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    format!(
        "if it is an agent, begin the file {BEGINS}; if it is a note for people, end its name in `.txt`, move it to another folder, or call it {}: these are skipped",
        choice(&names)
    )
}

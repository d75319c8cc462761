//! Names in a file that stand for nothing, and what was meant.

use std::{collections::BTreeSet, path::Path, sync::Arc};

use agenthub_mcp::toolshed::{Toolshed, closest};
use agenthub_sdk::model::offline::steps_that_name_none;
use agenthub_terminal::output;

use crate::{Definition, Fault, Kind, Place, ToolName, asked, discover, quoted};

/// The most characters of a step in a message.
const MAX_STEP: usize = 80;

/// The names that are listed in a help text.
const MAX_SHOWN: usize = 12;

/// Words that every SOP may have in backticks.
const USUAL: [&str; 2] = ["task", "read_file"];

/// The folder whose agents a file may name.
pub(super) fn folder_of(file: &Path) -> &Path {
    let is_skill = file
        .file_name()
        .is_some_and(|name| name.eq_ignore_ascii_case("SKILL.md"));
    let folder = match is_skill {
        true => file.parent().and_then(Path::parent),
        false => file.parent(),
    };
    folder
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

/// The fault of a name that is no tool, and what to do. `agents` are those of its folder.
pub(super) fn unknown(
    tool: &ToolName,
    path: &Path,
    agents: &BTreeSet<String>,
    shed: &Toolshed,
) -> Fault {
    let name = &tool.name;
    let found = discover(folder_of(path)).unwrap_or_default();
    let is_own = |agent: &str| match found.agents.get(agent) {
        Some(definition) => definition.path == path,
        None => path.file_stem().is_some_and(|stem| stem == agent),
    };
    let agents = agents.iter().map(String::as_str);
    let others: Vec<&str> = agents.filter(|agent| !is_own(agent)).collect();
    if found.orchestrators.iter().any(|leads| leads.name == *name) {
        let message = format!("`{name}` leads this folder, and can be no tool of its agents");
        return Fault::error(path, message)
            .at_place(tool.place)
            .helped(format!(
                "take `{name}` out of `tools`: it asks the agents, and they answer it"
            ));
    }
    Fault::error(path, format!("there is no tool `{name}`"))
        .at_place(tool.place)
        .helped(known(name, &others, &shed.names()))
}

/// The name that was probably meant, and those that there are.
fn known(name: &str, others: &[&str], settings: &[String]) -> String {
    let settings = settings.iter().map(String::as_str);
    let names: Vec<&str> = settings.clone().chain(others.iter().copied()).collect();
    if names.is_empty() {
        return "no tools are defined: add [mcp.NAME] to agenthub.toml for the tools of an MCP server, or name another agent of this folder".to_owned();
    }
    // `server.tool` of a server whose name is misspelt.
    let server = name.split_once('.').and_then(|(server, tool)| {
        let close = closest(server, settings)?;
        Some(format!("{close}.{tool}"))
    });
    let close = closest(name, names.iter().copied()).map(str::to_owned);
    let meant = match close.or(server) {
        Some(close) => format!("did you mean `{close}`? "),
        None => String::new(),
    };
    let some: Vec<String> = names
        .iter()
        .take(MAX_SHOWN)
        .map(|n| format!("`{n}`"))
        .collect();
    let more = match names.len().saturating_sub(MAX_SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!(
        "{meant}what there is: {}{more} (the settings and the agents of this folder)",
        some.join(", ")
    )
}

/// Words in backticks that nobody has as a name, where an agent of the folder has nearly that one, or where the text asks them. `all` are the definitions that are known.
pub(super) fn misspelt(
    definition: &Definition,
    all: &[&Arc<Definition>],
    agents: &BTreeSet<String>,
    shed: &Toolshed,
) -> Vec<Fault> {
    let mut words: BTreeSet<String> = USUAL.map(str::to_owned).into();
    words.extend(shed.names().iter().map(|name| plain(name)));
    words.extend(agents.iter().map(|name| plain(name)));
    for definition in all {
        words.insert(plain(&definition.name));
        words.extend(definition.tools.iter().map(|tool| plain(&tool.name)));
        let inputs = definition.schema["properties"].as_object();
        for (name, input) in inputs.into_iter().flatten() {
            words.insert(plain(name));
            let values = input["enum"].as_array().into_iter().flatten();
            words.extend(values.filter_map(|value| value.as_str()).map(plain));
        }
    }
    let asked = asked_places(definition, agents, shed);
    let faults = quoted(&definition.path).into_iter().filter_map(|word| {
        let name = word.name.strip_prefix("agent_").unwrap_or(&word.name);
        if words.contains(&plain(name)) || words.contains(&plain(&word.name)) {
            return None;
        }
        let meant = agents.iter().find(|agent| is_slip(name, agent));
        let help = match meant {
            Some(meant) => format!("did you mean `{meant}`?"),
            None if asked.contains(&word.place) && !is_written(name, &definition.path) => {
                who_there_is(name, &definition.name, agents)
            }
            None => return None,
        };
        let message = format!("nobody here is called `{name}`");
        let fault = Fault::warning(&definition.path, message).at_place(word.place);
        Some(fault.helped(help))
    });
    faults.collect()
}

/// Warnings on steps of an orchestrator that name neither an agent of the folder nor a tool of the settings; not on those of which a name
/// is told as `misspelt`.
pub(super) fn steps_of_nobody(
    leads: &Definition,
    agents: &BTreeSet<String>,
    shed: &Toolshed,
    misspelt: &[Fault],
) -> Vec<Fault> {
    let known = shed.names();
    let names: Vec<&str> = agents.iter().chain(&known).map(String::as_str).collect();
    let steps = steps_that_name_none(&leads.body, &names).into_iter();
    let is_told = |step: &String| {
        let mut names = misspelt
            .iter()
            .filter_map(|fault| fault.message.split('`').nth(1));
        names.any(|name| step.contains(&format!("`{name}`")))
    };
    let faults = steps.filter(|step| !is_told(step)).map(|step| {
        let message = format!("a step names nobody of the team: \"{}\"", first_words(&step));
        Fault::warning(&leads.path, message)
            .helped("say who is to do it (\"Ask `NAME` to …\"); nobody checked whether the one who leads can")
    });
    faults.collect()
}

/// The beginning of a step, on one line.
fn first_words(step: &str) -> String {
    output::cut(step.lines().next().unwrap_or_default(), MAX_STEP)
}

/// Places of the names that a file has asked; none where it may ask nobody, or has all tools of a server, whose names only the server
/// knows.
fn asked_places(
    definition: &Definition,
    agents: &BTreeSet<String>,
    shed: &Toolshed,
) -> BTreeSet<Place> {
    let leads = definition.kind == Kind::Orchestrator;
    let mut tools = definition.tools.iter().map(|tool| tool.name.as_str());
    let has_server = tools.any(|tool| !agents.contains(tool) && shed.is_server(tool));
    if has_server || !leads && definition.tools.is_empty() {
        return BTreeSet::new();
    }
    let names = asked(&definition.path).into_iter();
    names
        .filter(|word| can_be_name(&word.name))
        .map(|word| word.place)
        .collect()
}

/// True if a word looks like the name of an agent, and does not stand for whoever asks.
fn can_be_name(word: &str) -> bool {
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    let is_person = matches!(word, "user" | "human" | "person" | "caller");
    word.starts_with(char::is_alphabetic) && word.chars().all(is_name) && !is_person
}

/// True if a file beside this one is called so: it may be wrong, and its agent is there once it is mended.
fn is_written(name: &str, path: &Path) -> bool {
    let folder = folder_of(path);
    let files = [
        format!("{name}.md"),
        format!("{name}.sop.md"),
        format!("{name}/SKILL.md"),
    ];
    files.iter().any(|file| folder.join(file).is_file())
}

/// The agents that a file can have meant.
fn who_there_is(name: &str, own: &str, agents: &BTreeSet<String>) -> String {
    let others = || agents.iter().map(String::as_str).filter(|a| *a != own);
    let meant = match closest(name, others()) {
        Some(close) => format!("did you mean `{close}`? "),
        None => String::new(),
    };
    let some: Vec<String> = others()
        .take(MAX_SHOWN)
        .map(|name| format!("`{name}`"))
        .collect();
    if some.is_empty() {
        return "this folder has no other agent; name one that there is, or write its file"
            .to_owned();
    }
    let more = match others().count().saturating_sub(MAX_SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!(
        "{meant}the agents of this folder are: {}{more}",
        some.join(", ")
    )
}

/// A name as it is compared.
fn plain(name: &str) -> String {
    name.to_lowercase().replace(['_', ' '], "-")
}

/// True if a word is a name with a letter wrong, or of a long one two.
fn is_slip(word: &str, name: &str) -> bool {
    let slips = match name.chars().count() {
        0..=3 => 0,
        4..=7 => 1,
        _ => 2,
    };
    let distance = strsim::osa_distance(&plain(word), &plain(name));
    (1..=slips).contains(&distance)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_nearly_a_name_is_a_slip() {
        for (word, name) in [
            ("quik", "quick"),
            ("crtic", "critic"),
            ("reseacher", "researcher"),
            ("Note-Takr", "note_taker"),
        ] {
            assert!(is_slip(word, name), "{word}");
        }
        for (word, name) in [
            ("cat", "car"),
            ("quick", "quick"),
            ("notes", "note-taker"),
            ("research", "critic"),
            ("README.md", "reader"),
        ] {
            assert!(!is_slip(word, name), "{word}");
        }
    }

    #[test]
    fn what_there_is_is_listed_also_where_one_is_close() {
        let help = known("critc", &["critic", "poet"], &["search".to_owned()]);
        assert_eq!(
            help,
            "did you mean `critic`? what there is: `search`, `critic`, `poet` (the settings and the agents of this folder)"
        );
        let help = known("zzz", &["critic"], &[]);
        assert!(help.starts_with("what there is: `critic`"), "{help}");
        assert!(known("zzz", &[], &[]).contains("no tools are defined"));
    }
}

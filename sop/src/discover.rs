//! Reads a folder.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use agenthub_documents::choice;
use agenthub_sdk::proto::slug::slug;

use crate::{
    Definition, Fault, Format, Kind, Loaded,
    loader::{files::is_skipped, load, load::format},
    overlooked::overlooked,
    parse,
};

/// The folder that is read where none is named.
pub const DEFAULT_DIR: &str = "./sops";

/// The one who leads where nobody else does.
const BUILT_IN: &str = include_str!("../prompts/orchestrator.md");

/// The most files of one folder.
const MAX_FILES: usize = 1000;

/// Files that stand beside SOPs in many folders, and are for people.
pub(crate) const FOR_PEOPLE: [&str; 9] = [
    "readme",
    "changelog",
    "contributing",
    "code_of_conduct",
    "license",
    "security",
    "agents",
    "claude",
    "index",
];

/// Contents of a folder.
#[derive(Clone, Debug, Default)]
pub struct Discovered {
    /// The agents, by name.
    pub agents: BTreeMap<String, Arc<Definition>>,
    /// The orchestrators, in the order of their files.
    pub orchestrators: Vec<Arc<Definition>>,
    /// The errors and warnings of all files, in the order of the files.
    pub faults: Vec<Fault>,
}

/// Reads all files of a folder: `*.md`, `*.sop.md`, and one level down `*/SKILL.md`. What is hidden is left out.
///
/// # Errors
///
/// There is no such folder, it cannot be read, or it holds more than 1,000 such files. What is wrong with a file is in
/// [`Discovered::faults`].
pub fn discover(dir: &Path) -> Result<Discovered, Fault> {
    discover_beside(dir, &BTreeMap::new())
}

/// Reads a folder whose agents are at work: where two files claim one name, the one whose agent has it keeps it, also while that file cannot be
/// used.
///
/// # Errors
///
/// As those of [`discover`].
pub(crate) fn discover_beside(
    dir: &Path,
    at_work: &BTreeMap<String, Arc<Definition>>,
) -> Result<Discovered, Fault> {
    let paths = paths(dir)?;
    let mut found = Discovered {
        faults: overlooked(dir),
        ..Discovered::default()
    };
    let mut taken: BTreeMap<String, Arc<Definition>> = BTreeMap::new();
    let mut definitions = Vec::new();
    for path in &paths {
        let before = found.faults.len();
        match read(path, &mut found.faults) {
            Some(loaded) => {
                found.faults.extend(loaded.warnings);
                definitions.push(Arc::new(loaded.definition));
            }
            None if found.faults[before..].iter().any(Fault::is_error) => {
                let holders = at_work.values().filter(|d| d.path == *path);
                taken.extend(holders.map(|d| (slug(&d.name), Arc::clone(d))));
            }
            None => {}
        }
    }
    let holds = |d: &Definition| at_work.get(&d.name).is_some_and(|held| held.path == d.path);
    definitions.sort_by_key(|definition| !holds(definition));
    for definition in definitions {
        if let Some(first) = taken.get(&slug(&definition.name)) {
            found.faults.push(same(&definition, first));
            continue;
        }
        taken.insert(slug(&definition.name), Arc::clone(&definition));
        match definition.kind {
            Kind::Agent => {
                found.agents.insert(definition.name.clone(), definition);
            }
            Kind::Orchestrator => found.orchestrators.push(definition),
        }
    }
    found.orchestrators.sort_by(|a, b| a.path.cmp(&b.path));
    found.faults.sort_by(|a, b| a.path.cmp(&b.path));
    if paths.is_empty() {
        let fault = Fault::warning(dir, "the folder holds no SOPs");
        found.faults.push(fault.helped(
            "an SOP is a file such as `researcher.md`; `agenthub sop new researcher` writes one to begin with",
        ));
    }
    Ok(found)
}

impl Discovered {
    /// The one who leads: the orchestrator of the folder, or, where it has none and `default_orchestrator` is set, a built-in one.
    ///
    /// # Errors
    ///
    /// There is none, or there are several.
    pub fn orchestrator(
        &self,
        dir: &Path,
        default_orchestrator: bool,
    ) -> Result<Arc<Definition>, Fault> {
        match self.orchestrators.as_slice() {
            [one] => Ok(Arc::clone(one)),
            [] if default_orchestrator => self.built_in(dir),
            [] => {
                let message = match self.has_errors() {
                    true => "no orchestrator was found among the files that can be used",
                    false => "no orchestrator was found in this folder",
                };
                Err(Fault::error(dir, message).helped(self.advice()))
            }
            several => {
                let names: Vec<String> = several
                    .iter()
                    .map(|definition| definition.path.display().to_string())
                    .collect();
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                Err(Fault::error(
                    dir,
                    format!(
                        "only one orchestrator is allowed in a folder; this one has {}",
                        several.len()
                    ),
                )
                .helped(format!(
                    "keep `type: orchestrator` in one of {}, and make the others agents or move them to another folder",
                    choice(&names)
                )))
            }
        }
    }

    fn has_errors(&self) -> bool {
        self.faults.iter().any(Fault::is_error)
    }

    /// The advice where nobody leads.
    fn advice(&self) -> &'static str {
        match self.has_errors() {
            true => {
                "a file of the folder could not be read: mend that first; otherwise write `type: orchestrator` into the front matter of the one who leads"
            }
            false => {
                "write `type: orchestrator` into the front matter of the one who leads, or set `default_orchestrator = true` under `[sop]` in the settings for a built-in one"
            }
        }
    }

    /// The built-in one, under a name that no agent of the folder has.
    fn built_in(&self, dir: &Path) -> Result<Arc<Definition>, Fault> {
        let path = Path::new("built-in/orchestrator.md");
        let loaded =
            parse(path, BUILT_IN, Vec::new()).map_err(|mut faults| faults.swap_remove(0))?;
        let mut definition = loaded.definition;
        definition.path = dir.join(path);
        let is_taken = |name: &str| self.agents.keys().any(|taken| slug(taken) == slug(name));
        let base = definition.name.clone();
        for number in 2.. {
            if !is_taken(&definition.name) {
                break;
            }
            definition.name = format!("{base}-{number}");
        }
        Ok(Arc::new(definition))
    }
}

/// The files of a folder that may be SOPs, sorted.
pub(crate) fn paths(dir: &Path) -> Result<Vec<PathBuf>, Fault> {
    let unreadable = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => Fault::error(dir, "there is no such folder")
            .helped("look at the spelling, and at the folder that you are in"),
        io::ErrorKind::NotADirectory => {
            Fault::error(dir, "this is no folder").helped("name the folder that holds the SOPs")
        }
        _ => Fault::error(dir, format!("the folder cannot be read: {error}")),
    };
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if is_skipped(&name) {
            continue;
        }
        let path = entry.path();
        if path.is_dir() {
            let skill = ["SKILL.md", "skill.md"]
                .map(|name| path.join(name))
                .into_iter()
                .find(|path| path.is_file());
            paths.extend(skill);
        } else if name.to_lowercase().ends_with(".md") {
            paths.push(path);
        }
        if paths.len() > MAX_FILES {
            return Err(
                Fault::error(dir, format!("the folder holds more than {MAX_FILES} SOPs"))
                    .helped("part them among several folders"),
            );
        }
    }
    paths.sort();
    Ok(paths)
}

/// A file, if it is an SOP that can be used.
fn read(path: &Path, faults: &mut Vec<Fault>) -> Option<Loaded> {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let is_for_people = FOR_PEOPLE.contains(&stem.to_lowercase().as_str());
    if is_for_people && format(path) == Format::Sop && !has_front_matter(path) {
        let fault = Fault::warning(path, "this file has no front matter; it is skipped");
        faults.push(fault.helped("that is fine for a file that is for people; one that describes an agent begins with `---`"));
        return None;
    }
    match load(path) {
        Ok(loaded) => Some(loaded),
        Err(found) => {
            faults.extend(found);
            None
        }
    }
}

/// True if a file begins as front matter does.
pub(crate) fn has_front_matter(path: &Path) -> bool {
    use std::io::Read;
    let mut begin = [0_u8; 6];
    let read = std::fs::File::open(path).and_then(|mut file| file.read(&mut begin));
    let begin = &begin[..read.unwrap_or(0)];
    begin.starts_with(b"---") || begin.starts_with(b"\xef\xbb\xbf---")
}

/// Two files for one agent.
fn same(definition: &Definition, first: &Definition) -> Fault {
    let (path, other) = (&definition.path, first.path.display());
    let name = &definition.name;
    match *name == first.name {
        true => Fault::error(
            path,
            format!("there are two agents called `{name}`: in this file and in {other}"),
        ),
        false => Fault::error(
            path,
            format!(
                "`{name}` is too like `{}` in {other}: both are `{}` in the names of tools and in addresses",
                first.name,
                slug(name)
            ),
        ),
    }
    .helped("give one of them another name; this file is not used until then")
}

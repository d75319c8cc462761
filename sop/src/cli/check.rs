//! `agenthub sop check`

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
};

use agenthub_mcp::toolshed::Toolshed;
use agenthub_terminal::{faults::show, output, usage::code_of_faults};
use futures_util::future::join_all;
use serde_json::{Value, json};

use super::{
    args::Check,
    names::{folder_of, misspelt, steps_of_nobody, unknown},
    news::count,
    program::{Program, Settings},
    team_folder::{advised, nobody_to_lead},
    workshop::uses,
};
use crate::{Definition, Discovered, Fault, Kind, discover, load, tools};

/// The files' contents, with all faults.
struct Checked {
    agents: Vec<Arc<Definition>>,
    orchestrator: Option<Arc<Definition>>,
    faults: Vec<Fault>,
}

/// Says what is wrong with the files, all at once.
pub(super) async fn run(
    args: &Check,
    settings: &Settings,
    program: &dyn Program,
) -> anyhow::Result<ExitCode> {
    let checked = check(args, settings, program).await;
    settings.tools.clone().close().await;
    let errors = checked
        .faults
        .iter()
        .filter(|fault| fault.is_error())
        .count();
    match args.json {
        true => output::line(checked.json().to_string())?,
        false => {
            checked.faults.iter().for_each(show);
            let line = checked.line(&args.path, errors);
            match errors {
                0 => output::line(output::plain(&line))?,
                _ => output::aside(output::plain(&line)),
            }
        }
    }
    Ok(match errors {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::from(code_of_faults([&*args.path])),
    })
}

async fn check(args: &Check, settings: &Settings, program: &dyn Program) -> Checked {
    let shed = &settings.tools;
    let path = args.path.as_path();
    let is_missing_file = !path.exists() && !path.is_symlink() && path.extension().is_some();
    let is_file = path.is_file() || path.is_symlink() && !path.is_dir();
    let mut checked = match is_file {
        true => file(path),
        false if is_missing_file => Checked {
            agents: Vec::new(),
            orchestrator: None,
            faults: vec![
                Fault::error(path, "there is no such file")
                    .helped("look at the spelling, and at the folder that you are in"),
            ],
        },
        false => folder(path, settings.default_orchestrator),
    };
    let mut written = match is_file {
        true => beside(path),
        false => checked.agents.iter().map(|d| d.name.clone()).collect(),
    };
    let broken: BTreeSet<PathBuf> = checked
        .faults
        .iter()
        .filter(|fault| fault.is_error() && fault.path.is_file())
        .map(|fault| fault.path.clone())
        .collect();
    // What such a file describes is there once it is mended.
    let stems = broken.iter().filter_map(|path| path.file_stem());
    written.extend(stems.map(|stem| stem.to_string_lossy().into_owned()));
    for path in &broken {
        let unknowns = tools(path)
            .into_iter()
            .filter(|tool| !shed.knows(&tool.name) && !written.contains(&tool.name));
        let faults = unknowns.map(|tool| unknown(&tool, path, &written, shed));
        checked.faults.extend(faults);
    }
    let all: Vec<&Arc<Definition>> = checked.agents.iter().chain(&checked.orchestrator).collect();
    let misspelt: Vec<Fault> = all
        .iter()
        .flat_map(|definition| misspelt(definition, &all, &written, shed))
        .collect();
    let unset = match all.iter().any(|definition| definition.model.is_none()) {
        true => program.model(None).await.err(),
        false => None,
    };
    let unset = unset.map(|error| {
        let name = program.model_name(None);
        let message = format!("the model {name} of the settings cannot be used here: {error:#}");
        Fault::error(path, message)
    });
    let more = all
        .iter()
        .map(|definition| further(definition, &written, shed, program, !args.no_connect));
    let more: Vec<Vec<Fault>> = join_all(more).await;
    checked.faults.extend(more.into_iter().flatten());
    let leads = checked.orchestrator.as_deref();
    let idle = leads.map(|leads| steps_of_nobody(leads, &written, shed, &misspelt));
    checked.faults.extend(idle.into_iter().flatten());
    checked.faults.extend(misspelt);
    checked.faults.extend(unset);
    // One file after the other, in each from top to bottom.
    let order = |fault: &Fault| (fault.path.clone(), fault.place);
    checked.faults.sort_by_key(order);
    checked
}

fn folder(dir: &Path, default_orchestrator: bool) -> Checked {
    match discover(dir) {
        Err(fault) => Checked {
            agents: Vec::new(),
            orchestrator: None,
            faults: vec![advised(fault)],
        },
        Ok(found) => {
            let leads = found.orchestrator(dir, default_orchestrator);
            let alone = leads.as_ref().ok();
            let alone = alone.and_then(|leads| nobody_to_lead(dir, leads, &found));
            let Discovered {
                agents, mut faults, ..
            } = found;
            let orchestrator = match leads {
                Ok(orchestrator) => Some(orchestrator),
                Err(fault) => {
                    faults.push(fault);
                    None
                }
            };
            faults.extend(alone);
            Checked {
                agents: agents.into_values().collect(),
                orchestrator,
                faults,
            }
        }
    }
}

fn file(path: &Path) -> Checked {
    let (definition, faults) = match load(path) {
        Ok(loaded) => (Some(Arc::new(loaded.definition)), loaded.warnings),
        Err(faults) => (None, faults),
    };
    let (leads, works) = definition
        .into_iter()
        .partition::<Vec<_>, _>(|d| d.kind == Kind::Orchestrator);
    Checked {
        agents: works,
        orchestrator: leads.into_iter().next(),
        faults,
    }
}

/// The agents of the folder that a file is in, which it may name.
fn beside(file: &Path) -> BTreeSet<String> {
    discover(folder_of(file)).map_or_else(
        |_| BTreeSet::new(),
        |found| found.agents.into_keys().collect(),
    )
}

/// Faults of a file that only this machine can tell: its tools, its model.
async fn further(
    definition: &Definition,
    agents: &BTreeSet<String>,
    shed: &Toolshed,
    program: &dyn Program,
    connect: bool,
) -> Vec<Fault> {
    let mut faults = match uses(definition, agents, shed, connect).await {
        Ok(_) => Vec::new(),
        Err(faults) => faults,
    };
    let own = definition.model.as_deref();
    if own.is_some()
        && let Err(error) = program.model(own).await
    {
        let name = program.model_name(own);
        let message = format!("its model {name} cannot be used here: {error:#}");
        faults.push(Fault::error(&definition.path, message));
    }
    faults
}

impl Checked {
    fn line(&self, path: &Path, errors: usize) -> String {
        let warnings = count(self.faults.len() - errors, "warning", "warnings");
        if errors > 0 {
            let errors = count(errors, "error", "errors");
            return format!("{}: {errors}, {warnings}", path.display());
        }
        let names: Vec<&str> = self.agents.iter().map(|d| d.name.as_str()).collect();
        let team = match (&self.orchestrator, names.as_slice()) {
            (None, names) => names.join(", "),
            (Some(leads), []) => format!("{} leads, and has nobody to lead", leads.name),
            (Some(leads), names) => format!("{} leads {}", leads.name, names.join(", ")),
        };
        let unread = match self.orchestrator {
            Some(_) => "; whether they can do what the steps say, nobody checked",
            None => "",
        };
        format!(
            "{} has no errors: {team} ({warnings}){unread}",
            path.display()
        )
    }

    fn json(&self) -> Value {
        json!({
            "ok": !self.faults.iter().any(Fault::is_error),
            "agents": self.agents.iter().map(|d| described(d)).collect::<Vec<_>>(),
            "orchestrator": self.orchestrator.as_deref().map(described),
            "faults": self.faults,
        })
    }
}

fn described(definition: &Definition) -> Value {
    let tools: Vec<&str> = definition.tools.iter().map(|t| t.name.as_str()).collect();
    json!({
        "name": definition.name,
        "file": definition.path,
        "description": definition.description,
        "version": definition.version,
        "tools": tools,
        "inputs": definition.schema,
        "rules": definition.rules.len(),
    })
}

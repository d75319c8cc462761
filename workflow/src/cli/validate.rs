//! `agenthub workflow validate`

use std::{path::PathBuf, process::ExitCode};

use agenthub_documents::Fault;
use agenthub_terminal::{connect, faults, output, partial, usage::code_of_faults};
use serde_json::json;

use super::{args::Validate, offers::Known};
use crate::{
    loading::{load, warnings},
    model::Workflow,
};

/// Says all that is wrong with the files, and what may be. Files without errors whose agents were not asked for leave with the code of what is best effort.
pub(super) async fn run(args: &Validate, hub: &str) -> anyhow::Result<ExitCode> {
    let is_named = args.hub.is_named(hub);
    let is_asked = !args.offline && (is_named || connect::listens(hub).await);
    let offers = match is_asked {
        true => Some(Known::on(hub).await?.offers),
        false => None,
    };
    let mut workflows: Vec<Workflow> = Vec::new();
    let mut found: Vec<Fault> = Vec::new();
    for file in &args.files {
        match load(file, offers.as_ref()) {
            Ok(workflow) => {
                found.extend(warnings(file, &workflow));
                if !args.json {
                    let line = sound(&file.display().to_string(), &workflow);
                    output::line(output::plain(&line))?;
                }
                workflows.push(workflow);
            }
            Err(faults) => found.extend(faults),
        }
    }
    let has_errors = found.iter().any(Fault::is_error);
    if args.json {
        let names: Vec<&str> = workflows.iter().map(|w| w.name.as_str()).collect();
        let report = json!({
            "ok": !has_errors,
            "workflows": names,
            "faults": found,
            "agentsChecked": offers.is_some(),
        });
        output::line(report.to_string())?;
    } else {
        found.iter().for_each(faults::show);
        if offers.is_none() {
            let why = match args.offline {
                true => "no hub was asked".to_owned(),
                false => format!("no hub listens at {hub}"),
            };
            output::aside(format!(
                "{why}: not checked whether the agents and skills of the steps are there and take what they get"
            ));
        }
    }
    Ok(match (!has_errors, offers.is_some()) {
        (false, _) => ExitCode::from(code_of_faults(args.files.iter().map(PathBuf::as_path))),
        (true, true) => ExitCode::SUCCESS,
        (true, false) => ExitCode::from(partial::EXIT_CODE),
    })
}

fn sound(file: &str, workflow: &Workflow) -> String {
    let steps = workflow.graph.all().len();
    let steps = match steps {
        1 => "1 step".to_owned(),
        n => format!("{n} steps"),
    };
    format!("{file} has no errors: {}, {steps}", workflow.title())
}

//! `agenthub workflow`: workflows from the command line.
//!
//! [`run`] is all that a program mounts, with [`WorkflowCommand`] for its arguments.

mod args;
mod checked;
mod input;
mod offers;
mod serve;
mod validate;

use std::process::ExitCode;

use agenthub_terminal::{faults, output, usage::code_of_faults};

pub use args::{Format, Graph, Serve, Validate, WorkflowCommand};
pub use checked::{Checked, checked};
pub use input::input;
pub use serve::serve;

use crate::{
    drawing::{dot, mermaid},
    file::schema,
    loading::load,
};

/// Checks or draws a workflow, or prints the schema of its files. `hub` is the address of the settings.
///
/// # Errors
///
/// An error to print in one line; faults of files are printed here, and end with exit code 1, or 2 where a file is not there.
pub async fn run(command: WorkflowCommand, hub: &str) -> anyhow::Result<ExitCode> {
    match command {
        WorkflowCommand::Validate(args) => validate::run(&args, hub).await,
        WorkflowCommand::Schema => {
            output::line(format!("{:#}", schema()))?;
            Ok(ExitCode::SUCCESS)
        }
        WorkflowCommand::Graph(args) => graph(&args),
    }
}

fn graph(args: &Graph) -> anyhow::Result<ExitCode> {
    let workflow = match load(&args.file, None) {
        Ok(workflow) => workflow,
        Err(found) => {
            found.iter().for_each(faults::show);
            return Ok(ExitCode::from(code_of_faults([&*args.file])));
        }
    };
    let text = match args.format {
        Format::Mermaid => mermaid(&workflow),
        Format::Dot => dot(&workflow),
    };
    output::line(text.trim_end())?;
    Ok(ExitCode::SUCCESS)
}

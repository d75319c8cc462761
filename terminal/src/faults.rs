//! Faults of files, for people.

use std::{
    env,
    io::{self, IsTerminal},
};

use agenthub_documents::Fault;

use crate::output;

/// Shows what is wrong with a file on stderr: the line, the place in it, and what to do.
pub fn show(fault: &Fault) {
    let is_coloured = io::stderr().is_terminal() && env::var_os("NO_COLOR").is_none();
    let text = fault.rendered(is_coloured);
    output::aside(text.trim_end());
}

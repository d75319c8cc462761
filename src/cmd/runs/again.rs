//! Input of runs that are done again.

use std::path::Path;

use agenthub_proto::{
    json,
    wkt::{Struct, Value},
};
use agenthub_terminal::{faults, usage::WrongUsage};
use serde_json::Value as Json;

/// The fields of a workflow's input: a file, JSON itself, or - for standard input.
pub(super) fn fields(given: &str) -> anyhow::Result<Struct> {
    Ok(json::to_struct(&read(given)?))
}

/// The input of a fork: data if it looks like some or names a file, else words.
pub(super) fn input(given: &str) -> anyhow::Result<Value> {
    let is_data = given.trim_start().starts_with('{') || Path::new(given).is_file();
    Ok(json::to_value(&match is_data {
        true => read(given)?,
        false => given.into(),
    }))
}

fn read(given: &str) -> anyhow::Result<Json> {
    match agenthub_workflow::cli::input(given) {
        Ok(input) => Ok(Json::Object(input)),
        Err(found) => {
            found.iter().for_each(faults::show);
            Err(WrongUsage("nothing was started".to_owned()).into())
        }
    }
}

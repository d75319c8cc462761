//! From a message to its body, if it fits.

use agenthub_sdk::{
    runs::schema::{CompiledSchema, Misfit},
    schemars::{JsonSchema, generate::SchemaSettings},
};
use serde_json::{Value, json};

use super::{Body, SCHEMA_VERSION, envelope::VERSION};
use crate::Message;

/// The body of a message. Fields that its schema does not know are left aside, so that those who publish may be newer.
///
/// spec: EXE-10.5
///
/// # Errors
///
/// What does not fit, in one line.
pub fn read<B: Body>(message: &Message) -> Result<B, String> {
    if let Some(version) = message.headers.get(SCHEMA_VERSION)
        && version != VERSION
    {
        return Err(format!(
            "its {SCHEMA_VERSION} is {version:?}, and {VERSION} is read here"
        ));
    }
    let body: Value = serde_json::from_slice(&message.body)
        .map_err(|error| format!("its body is no JSON: {error}"))?;
    let faults: Vec<String> = B::compiled_schema()
        .misfits(&body)
        .iter()
        .map(in_words)
        .collect();
    if !faults.is_empty() {
        return Err(faults.join("; "));
    }
    let body: B = serde_json::from_value(body).map_err(|error| error.to_string())?;
    match body.run_id() == message.key {
        true => Ok(body),
        false => Err(format!(
            "its key is {:?}, and run_id {:?}",
            message.key,
            body.run_id()
        )),
    }
}

/// The JSON Schema of a body, without references, which in an AsyncAPI document would be those of the document. Draft 7 is what readers of these
/// documents know.
pub(super) fn schema<B: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft07().with(|settings| settings.inline_subschemas = true);
    json!(settings.into_generator().into_root_schema_for::<B>())
}

/// Compiled form of that schema.
pub(super) fn compiled<B: Body>() -> CompiledSchema {
    CompiledSchema::new(schema::<B>())
}

fn in_words(misfit: &Misfit) -> String {
    match &*misfit.path {
        "" => format!("the body {}", misfit.why),
        path => format!("{path} {}", misfit.why),
    }
}

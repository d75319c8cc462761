//! Fields of the graph form that have a name and no value: what was to stand there was forgotten. In the linear form, they are as if they
//! were not there.

use serde_json::Value;

use crate::{
    file::schema,
    finding::{At, Finding, within},
    mending::{Mend, Misshapen, stand_in},
};

/// Fields of the file and of its steps without a value.
pub(crate) fn empty_fields(document: &Value) -> Vec<Misshapen> {
    let mut empty = Vec::new();
    if document.get("start_step").is_none() {
        of_fields(document, &At::new(), &schema()["properties"], &mut empty);
    }
    empty
}

/// `known` are the fields that the holder can have.
fn of_fields(holder: &Value, at: &At, known: &Value, empty: &mut Vec<Misshapen>) {
    let of_step = &schema()["$defs"]["Step"]["properties"];
    for (field, value) in holder.as_object().into_iter().flatten() {
        let at = within(at, field);
        match (field.as_str(), value) {
            (field, Value::Null) if known.get(field).is_some() => {
                let message = format!("`{field}` has no value");
                let help = format!("write it behind `{field}:`, or leave the field out");
                empty.push(Misshapen {
                    finding: Finding::at(at, message, help).key(),
                    mend: Mend::Replace(stand_in(&known[field])),
                });
            }
            ("steps", Value::Object(steps)) => {
                for (name, step) in steps {
                    of_fields(step, &within(&at, name), of_step, empty);
                }
            }
            ("steps", Value::Array(steps)) => {
                for (index, step) in steps.iter().enumerate() {
                    of_fields(step, &within(&at, index), of_step, empty);
                }
            }
            _ => {}
        }
    }
}

//! Templates as plans of runs have them, so that the checks of plans hold for workflows.

use serde_json::Value;

use crate::{
    reference::{Field, Reference, Source},
    template::{Insert, Piece, Template},
};

/// A template with references as plans of runs have them.
pub(super) fn translated(template: &Template) -> Value {
    match template {
        Template::Plain(Value::String(text)) => Value::String(text.replace("${", "$${")),
        Template::Plain(value) => value.clone(),
        Template::Whole(insert) => Value::String(translated_insert(insert)),
        Template::Text(pieces) => {
            let pieces = pieces.iter().map(|piece| match piece {
                Piece::Text(text) => text.replace("${", "$${"),
                Piece::Insert(insert) => translated_insert(insert),
            });
            Value::String(pieces.collect())
        }
        Template::List(items) => items.iter().map(translated).collect(),
        Template::Object(fields) => {
            let fields = fields
                .iter()
                .map(|(key, value)| (key.clone(), translated(value)));
            Value::Object(fields.collect())
        }
    }
}

fn translated_insert(insert: &Insert) -> String {
    match insert {
        Insert::Reference(reference) => translated_reference(reference),
        Insert::Expression(_) => "${steps.output}".to_owned(),
    }
}

/// A reference as plans of runs have it: the input and the loop are steps there.
pub(super) fn translated_reference(reference: &Reference) -> String {
    let path: String = reference
        .path
        .iter()
        .map(|part| format!(".{part}"))
        .collect();
    match &reference.source {
        Source::Input => format!("${{workflow.output.input{path}}}"),
        Source::Loop => format!("${{loop.output{path}}}"),
        Source::Step(step, Field::Output) => format!("${{{step}.output{path}}}"),
        Source::Step(..) | Source::Secret(_) => "${steps.output}".to_owned(),
    }
}

/// A fault of a plan in the words of a workflow.
pub(super) fn words(why: &str) -> String {
    why.replace("${workflow.output.input", "${workflow.input")
        .replace("`workflow` gives no", "the input has no")
        .replace("${loop.output.", "${loop.")
        .replace("`${steps.output}`", "the expression")
}

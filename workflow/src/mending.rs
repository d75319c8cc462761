//! Mends misshapen parts of a document, so that all that is wrong with the rest can be told at the same time.
//!
//! A misspelt field is read as the one that is meant, and a value of another type is replaced by one of the right type. What is found
//! in a value that the author did not write is not told.

use std::collections::BTreeSet;

use agenthub_sdk::runs::pointer::escaped;
use serde_json::{Map, Value};

use crate::{
    empty_fields::empty_fields,
    file::schema,
    finding::{At, Finding, within},
    shape::misshapen,
};

/// Rounds of mending: a field that is read under another name can be misshapen itself.
const MAX_ROUNDS: usize = 4;

/// The deepest value that is made for a schema.
const MAX_DEPTH: usize = 4;

/// A misshapen part of a document.
#[derive(Clone, Debug)]
pub(crate) struct Misshapen {
    pub(crate) finding: Finding,
    pub(crate) mend: Mend,
}

/// Replacement of a misshapen part.
#[derive(Clone, Debug)]
pub(crate) enum Mend {
    /// The field is read as another one of the same holder.
    Rename(String),
    /// The field is left out.
    Remove,
    /// The value is replaced.
    Replace(Value),
    /// The holder gets a field that it lacks.
    Add(String, Value),
}

/// A document that has the form of a workflow, and what was wrong with its form.
#[derive(Debug, Default)]
pub(crate) struct Mended {
    /// None if it cannot be mended.
    pub(crate) document: Option<Value>,
    findings: Vec<Finding>,
    /// Holders whose fields were renamed, with the name read and the name written.
    renamed: Vec<(At, String, String)>,
    /// Values that are not the author's.
    made: BTreeSet<At>,
}

impl Mended {
    /// Mends a document.
    pub(crate) fn of(document: &Value) -> Self {
        let mut mended = Self::default();
        let mut rest = document.clone();
        for one in empty_fields(document) {
            mended.mend(one, &mut rest);
        }
        for _ in 0..MAX_ROUNDS {
            let all = misshapen(&rest);
            if all.is_empty() {
                mended.document = Some(rest);
                return mended;
            }
            // A field that is written under another name is not missing.
            let is_named_otherwise = |one: &Misshapen| {
                let Mend::Add(field, _) = &one.mend else {
                    return false;
                };
                all.iter().any(|other| {
                    let holder = other.finding.at.split_last().map(|(_, holder)| holder);
                    matches!(&other.mend, Mend::Rename(to) if to == field)
                        && holder == Some(one.finding.at.as_slice())
                })
            };
            let missing: Vec<bool> = all.iter().map(is_named_otherwise).collect();
            let told = all.into_iter().zip(missing);
            for (one, _) in told.filter(|(_, is_named)| !is_named) {
                mended.mend(one, &mut rest);
            }
        }
        mended
    }

    /// All findings: those of the form, and those among `found` that are of what the author wrote, with the paths that the author knows.
    pub(crate) fn with(self, found: Vec<Finding>) -> Vec<Finding> {
        let found: Vec<Finding> = found
            .into_iter()
            .filter(|finding| !self.is_made(&finding.at) && !self.is_of_made_kind(finding))
            .map(|finding| self.as_written(finding))
            .collect();
        let mut all = self.findings;
        all.extend(found);
        all
    }

    fn mend(&mut self, one: Misshapen, rest: &mut Value) {
        let Misshapen { finding, mend } = one;
        let at = finding.at.clone();
        // A field that was only taken for another one is not that one if its value does not fit.
        let is_guess = self.renamed.iter().any(|(holder, read, _)| {
            at.split_last()
                .is_some_and(|(last, of)| of == holder && last == read)
        });
        if !is_guess {
            let finding = self.as_written(finding);
            self.findings.push(finding);
        }
        match mend {
            _ if is_guess => remove(rest, &at),
            Mend::Remove => remove(rest, &at),
            Mend::Rename(to) => self.rename(&at, to, rest),
            Mend::Replace(value) => {
                if let Some(old) = rest.pointer_mut(&pointer(&at)) {
                    *old = value;
                }
                self.made.insert(at);
            }
            Mend::Add(field, value) => {
                self.made.insert(within(&at, &field));
                if let Some(Value::Object(fields)) = rest.pointer_mut(&pointer(&at)) {
                    fields.entry(field).or_insert(value);
                }
            }
        }
    }

    /// Reads a field under another name, if its holder has none of that name.
    fn rename(&mut self, at: &At, to: String, rest: &mut Value) {
        let Some((from, holder)) = at.split_last() else {
            return;
        };
        let Some(Value::Object(fields)) = rest.pointer_mut(&pointer(holder)) else {
            return;
        };
        // The order is kept: it decides which of two steps of a name is the second.
        let is_free = !fields.contains_key(&to);
        let renamed = std::mem::take(fields)
            .into_iter()
            .filter_map(|(key, value)| match key == *from {
                true if is_free => Some((to.clone(), value)),
                true => None,
                false => Some((key, value)),
            });
        *fields = renamed.collect::<Map<_, _>>();
        if is_free {
            self.renamed.push((holder.to_vec(), to, from.clone()));
        }
    }

    /// True for a fault of a step as a whole whose `type` is not the author's.
    fn is_of_made_kind(&self, finding: &Finding) -> bool {
        finding.is_key && self.made.contains(&within(&finding.at, "type"))
    }

    fn is_made(&self, at: &At) -> bool {
        (0..=at.len()).any(|end| self.made.contains(&at[..end]))
    }

    fn as_written(&self, finding: Finding) -> Finding {
        let at = finding.at.iter().enumerate().map(|(index, part)| {
            let holder = &finding.at[..index];
            let mut renamed = self.renamed.iter();
            renamed
                .find(|(of, read, _)| of == holder && read == part)
                .map_or_else(|| part.clone(), |(_, _, written)| written.clone())
        });
        Finding {
            at: at.collect(),
            ..finding
        }
    }
}

fn remove(rest: &mut Value, at: &At) {
    let Some((last, holder)) = at.split_last() else {
        return;
    };
    if let Some(Value::Object(fields)) = rest.pointer_mut(&pointer(holder)) {
        fields.shift_remove(last);
    }
}

fn pointer(at: &[String]) -> String {
    at.iter()
        .map(|part| format!("/{}", escaped(part)))
        .collect()
}

/// A value that fits a schema of the file format.
pub(crate) fn stand_in(schema_of_value: &Value) -> Value {
    made(schema_of_value, 0)
}

fn made(of: &Value, depth: usize) -> Value {
    if depth > MAX_DEPTH {
        return Value::Null;
    }
    if let Some(name) = of["$ref"].as_str() {
        let definition = schema().pointer(name.trim_start_matches('#'));
        return definition.map_or(Value::Null, |of| made(of, depth + 1));
    }
    for alternatives in ["anyOf", "oneOf"] {
        if let Some(first) = of[alternatives].get(0) {
            return made(first, depth + 1);
        }
    }
    if let Some(first) = of["enum"].get(0).or_else(|| of.get("const")) {
        return first.clone();
    }
    let kind = of["type"].as_str().or_else(|| of["type"][0].as_str());
    match kind {
        Some("string") if of.get("pattern").is_some() => "1s".into(),
        Some("string") => "x".into(),
        Some("integer" | "number") => of.get("minimum").cloned().unwrap_or_else(|| 1.into()),
        Some("boolean") => false.into(),
        Some("array") => match of["minItems"].as_u64() {
            Some(1..) => Value::Array(vec![made(&of["items"], depth + 1)]),
            _ => Value::Array(Vec::new()),
        },
        Some("object") => {
            let required = of["required"].as_array().into_iter().flatten();
            let fields = required.filter_map(Value::as_str).map(|field| {
                let value = made(&of["properties"][field], depth + 1);
                (field.to_owned(), value)
            });
            Value::Object(fields.collect())
        }
        _ => Value::Null,
    }
}

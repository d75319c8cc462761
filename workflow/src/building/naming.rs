//! Names of steps: each has one of its own, and it can stand in references.

use std::collections::BTreeSet;

use agenthub_sdk::runs::workflow_step::is_reserved;

use crate::{
    file,
    finding::{At, Finding, within},
};

/// The longest name, in bytes.
const MAX_NAME: usize = 64;

/// Names of steps that mean something else in references and expressions.
const RESERVED: [&str; 21] = [
    "workflow",
    "loop",
    "steps",
    "input",
    "objective",
    "thread",
    "secret",
    "and",
    "or",
    "not",
    "in",
    "is",
    "if",
    "else",
    "true",
    "false",
    "none",
    "self",
    "range",
    "dict",
    "namespace",
];

/// A step as the file has it, with its path.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    pub(crate) name: String,
    pub(crate) at: At,
    pub(crate) step: file::Step,
}

/// The steps of a list or mapping, each with its name. Steps without a usable name are findings.
pub(crate) fn named(
    steps: &file::Steps,
    at: &At,
    taken: &mut BTreeSet<String>,
    findings: &mut Vec<Finding>,
) -> Vec<Written> {
    let is_map = matches!(steps, file::Steps::Map(_));
    let mut written = Vec::new();
    for (key, step) in steps.all() {
        let at = within(at, &key);
        let Some(name) = step.id.clone() else {
            let help = "give it a name of its own: `id: …`";
            findings.push(Finding::at(at, "a step has no `id`", help).key());
            continue;
        };
        let fault = |(message, help): (String, String)| match is_map && name == key {
            true => Finding::at(at.clone(), message, help).key(),
            false => Finding::at(within(&at, "id"), message, help),
        };
        if is_map && name != key {
            let message = format!("the step `{key}` has another `id`: `{name}`");
            let help = format!("leave `id` out, or write `id: {key}`");
            findings.push(fault((message, help)));
        }
        findings.extend(unusable(&name).map(&fault));
        if !taken.insert(name.clone()) {
            let message = format!("there are two steps `{name}`");
            let help = "give each a name of its own, in loops as well".to_owned();
            findings.push(fault((message, help)));
        }
        written.push(Written { name, at, step });
    }
    written
}

/// The reason why a step cannot have a name, and the advice.
fn unusable(name: &str) -> Option<(String, String)> {
    let is_allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"_-".contains(&b);
    let begins = name.bytes().next().is_some_and(|b| b.is_ascii_lowercase());
    if !begins || name.len() > MAX_NAME || !name.bytes().all(is_allowed) {
        let message = format!("`{name}` is no name for a step");
        let help =
            format!("a name is 1 to {MAX_NAME} of a-z, 0-9, `_` and `-`, and begins with a letter");
        return Some((message, help));
    }
    let message = format!("`{name}` is no name for a step: it means something else");
    if is_reserved(name) {
        let help = "names of a run's steps are made with `undo`, `time-limit`, `try-…` and `pause-…`: \
                    choose another name";
        return Some((message, help.to_owned()));
    }
    RESERVED
        .contains(&name)
        .then(|| (message, "choose another name".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_a_run_makes_are_refused_with_the_reason() {
        for name in ["pause-for-review", "try-2", "undo", "time-limit"] {
            let (message, help) = unusable(name).expect("it is reserved");
            assert!(message.contains(name), "{message}");
            assert!(help.contains("`try-…` and `pause-…`"), "{help}");
        }
        for name in ["loop", "not", "range"] {
            assert!(unusable(name).is_some(), "{name}");
        }
        for name in ["pause", "retry-2", "undone"] {
            assert_eq!(unusable(name), None);
        }
    }
}

//! Something wrong with a workflow, by its path in the document.

use std::{path::Path, sync::Arc};

use agenthub_documents::{
    Fault, Place,
    yaml::{Node, Value},
};

/// The most faults of a file that are told one by one.
const MAX_FAULTS: usize = 100;

/// The part of a text, in bytes from where a value begins, in which a snippet of it is looked for.
const MAX_LOOKED_AT: usize = 16 * 1024;

/// Keys and indexes from the document to a value.
pub(crate) type At = Vec<String>;

/// Something wrong with a workflow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    /// The value that is meant.
    pub(crate) at: At,
    /// True if its key is meant.
    pub(crate) is_key: bool,
    /// The part of its text that is meant.
    pub(crate) snippet: Option<String>,
    /// The fault, in one line.
    pub(crate) message: String,
    /// Advice.
    pub(crate) help: String,
}

impl Finding {
    /// A fault of the value at this path.
    pub(crate) fn at(
        at: impl Into<At>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        Self {
            at: at.into(),
            is_key: false,
            snippet: None,
            message: message.into(),
            help: help.into(),
        }
    }

    /// Of its key instead.
    pub(crate) fn key(self) -> Self {
        Self {
            is_key: true,
            ..self
        }
    }

    /// Of this part of its text.
    pub(crate) fn snippet(self, snippet: &str) -> Self {
        Self {
            snippet: Some(snippet.to_owned()),
            ..self
        }
    }

    /// One line, for who has no file: the path and the fault.
    pub(crate) fn line(&self) -> String {
        match self.at.is_empty() {
            true => format!("{}; {}", self.message, self.help),
            false => format!("{}: {}; {}", self.at.join("."), self.message, self.help),
        }
    }
}

/// A path, longer by a part.
pub(crate) fn within(at: &[String], part: impl ToString) -> At {
    let mut at = at.to_vec();
    at.push(part.to_string());
    at
}

/// The faults with their places in a file, in the order of the file; at most 100.
pub(crate) fn placed(
    findings: Vec<Finding>,
    path: &Path,
    text: &Arc<str>,
    tree: &Node,
) -> Vec<Fault> {
    let mut faults: Vec<Fault> = Vec::new();
    for finding in findings {
        let place = place(&finding, text, tree);
        let fault = Fault::error(path, &*finding.message).placed(place, text);
        let fault = match finding.help.is_empty() {
            true => fault,
            false => fault.helped(&*finding.help),
        };
        if !faults.contains(&fault) {
            faults.push(fault);
        }
    }
    faults.sort_by_key(|fault| fault.place);
    if faults.len() > MAX_FAULTS {
        let more = faults.split_off(MAX_FAULTS).len();
        let fault = Fault::error(path, format!("{more} more faults are in this file"));
        faults.push(fault.helped("mend those above first"));
    }
    faults
}

fn place(finding: &Finding, text: &str, tree: &Node) -> Place {
    let mut node = tree;
    let mut key = tree.place;
    for part in &finding.at {
        let inner = match &node.value {
            Value::Map(fields) => {
                // The last of two fields of a name counts.
                let field = fields.iter().rfind(|(key, _)| key.name == *part);
                field.map(|(key, node)| (key.place, node))
            }
            Value::List(items) => {
                let item = part.parse::<usize>().ok().and_then(|at| items.get(at));
                item.map(|item| (item.place, item))
            }
            _ => None,
        };
        let Some((at, inner)) = inner else { break };
        (key, node) = (at, inner);
    }
    let snippet = finding.snippet.as_deref();
    if let Some(place) = snippet.and_then(|snippet| found(snippet, node.place, text)) {
        return place;
    }
    match finding.is_key || node.place.length == 0 {
        true => key,
        false => node.place,
    }
}

/// The place of a snippet in the text, from where a value begins.
fn found(snippet: &str, begin: Place, text: &str) -> Option<Place> {
    let start = begin.bytes(text).start;
    let end = text.floor_char_boundary((start + MAX_LOOKED_AT).min(text.len()));
    let at = start + text[start..end].find(snippet)?;
    let before = &text[..at];
    let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let column = before.rsplit('\n').next().map_or(0, |l| l.chars().count());
    Some(Place {
        line: number(before.matches('\n').count() + 1),
        column: number(column + 1),
        length: number(snippet.chars().count()),
    })
}

//! Says what is wrong in the file of a brief, and where.

use agenthub_sop::{
    Place,
    yaml::{self, Unread},
};
use serde::de::DeserializeOwned;

/// What fields of a brief take, by the end of their path.
const TAKEN: [(&str, &str); 11] = [
    ("mode", "`app` or `chat`"),
    ("payload", "an object"),
    ("constraints", "an object"),
    ("budget", "an object"),
    ("qualityThreshold", "a number from 0 to 1"),
    ("executionDepth", "a whole number from 1 on"),
    ("maxTurns", "a whole number from 1 on"),
    ("acceptanceCriteria", "a list of texts and checks"),
    ("approvals", "a list of capabilities, or of `*` for all"),
    ("tokens", "a whole number"),
    ("calls", "a whole number"),
];

/// What is wrong in a document.
#[derive(Clone, Debug)]
pub(super) struct Fault {
    pub(super) place: Option<Place>,
    pub(super) why: String,
}

/// Reads a document.
pub(super) fn read<T: DeserializeOwned>(text: &str) -> Result<T, Fault> {
    yaml::read(text).map_err(|unread| Fault {
        place: unread.place,
        why: why(&unread),
    })
}

/// Where the value of a field is, by its path (`constraints.acceptanceCriteria[1]`), if it is there.
pub(super) fn find(text: &str, path: &str) -> Option<Place> {
    let tree = yaml::tree(text).ok()?;
    tree.find(path).map(|node| node.place)
}

fn why(unread: &Unread) -> String {
    let (said, path) = (unread.why.as_str(), unread.path.as_str());
    let (holder, field) = path.rsplit_once('.').unwrap_or(("", path));
    let taken = TAKEN.iter().find(|(name, _)| *name == field);
    if let Some((_, fields)) = said.split_once("expected one of ") {
        let holder = match holder {
            "" => "a brief".to_owned(),
            holder => format!("`{holder}`"),
        };
        format!("{holder} has no field `{field}`; it takes {fields}")
    } else if said.contains("duplicate mapping key") {
        let key = said.split([':', ',']).nth(1).unwrap_or_default();
        format!("`{}` is there twice", key.trim())
    } else if said.contains("multiple YAML documents") {
        "a second document begins here; a brief is one".to_owned()
    } else if said.contains("non-finite") {
        format!("`{path}` is no number; write null for a value that is missing")
    } else if matches!(path, "." | "" | "?") {
        match said.starts_with("expected mapping") {
            true => "a brief is an object with fields, such as `objective: …`".to_owned(),
            false => said.to_owned(),
        }
    } else if is_type(said) {
        let taken = taken.map_or("a text", |(_, taken)| taken);
        format!("`{path}` takes {taken}")
    } else {
        format!("`{path}`: {said}")
    }
}

/// Whether a value is of another type than its field.
fn is_type(said: &str) -> bool {
    said.starts_with("expected ") || said.starts_with("invalid ")
}

//! Says what is wrong in the file of a brief, and where.

use agenthub_documents::{
    Place,
    yaml::{self, Kind, Unread},
};
use serde::de::DeserializeOwned;

/// Values that fields of a brief take, by the end of their path.
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

/// A fault of a document.
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

/// Place of a field's value, by its path (`constraints.acceptanceCriteria[1]`), if it is there.
pub(super) fn find(text: &str, path: &str) -> Option<Place> {
    let tree = yaml::tree(text).ok()?;
    tree.find(path).map(|node| node.place)
}

fn why(unread: &Unread) -> String {
    let (said, path) = (unread.why.as_str(), unread.path.as_str());
    let (holder, field) = path.rsplit_once('.').unwrap_or(("", path));
    let is_whole = matches!(path, "." | "" | "?");
    match &unread.kind {
        Kind::UnknownField(fields) => {
            let holder = match holder {
                "" => "a brief".to_owned(),
                holder => format!("`{holder}`"),
            };
            let fields = fields.join(", ");
            format!("{holder} has no field `{field}`; it takes {fields}")
        }
        Kind::DuplicateKey(Some(key)) => format!("`{key}` is there twice"),
        Kind::DuplicateKey(None) => "a field is there twice".to_owned(),
        Kind::SecondDocument => "a second document begins here; a brief is one".to_owned(),
        Kind::NonFinite => {
            format!("`{path}` is no number; write null for a value that is missing")
        }
        Kind::OtherType if is_whole => {
            "a brief is an object with fields, such as `objective: …`".to_owned()
        }
        Kind::OtherType => {
            let taken = TAKEN.iter().find(|(name, _)| *name == field);
            let taken = taken.map_or("a text", |(_, taken)| taken);
            format!("`{path}` takes {taken}")
        }
        _ if is_whole => said.to_owned(),
        _ => format!("`{path}`: {said}"),
    }
}

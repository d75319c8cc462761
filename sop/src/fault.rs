//! What is wrong with a file, and where.

use std::{path::PathBuf, sync::Arc};

use serde::{Deserialize, Serialize};

/// A place in a file, counted from 1; columns and lengths are characters.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Place {
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
    /// How much of the line is meant; 0 where only the beginning is known.
    pub length: u32,
}

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The file is not used.
    Error,
    /// The file is used.
    Warning,
}

/// Something wrong, in words for whoever wrote the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {message}", self.at())]
pub struct Fault {
    /// How bad it is.
    pub severity: Severity,
    /// The file or folder.
    pub path: PathBuf,
    /// Where in the file, if it has a place.
    pub place: Option<Place>,
    /// What is wrong, in one line.
    pub message: String,
    /// What is allowed there, or what to do.
    pub help: Option<String>,
    /// The text of the file, to show the line; empty if it was not read.
    pub text: Arc<str>,
}

impl Fault {
    /// `path:line:column`, as far as it is known.
    pub fn at(&self) -> String {
        let path = self.path.display();
        match self.place {
            Some(place) => format!("{path}:{}:{}", place.line, place.column),
            None => path.to_string(),
        }
    }
}

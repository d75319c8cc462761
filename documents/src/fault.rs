//! Faults of a file, with their places.

use std::{
    fs,
    ops::Range,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::{Deserialize, Serialize, Serializer, ser::SerializeStruct};

/// A place in a file, counted from 1; columns and lengths are characters.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Place {
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
    /// Length of the part of the line that is meant; 0 where only the beginning is known.
    pub length: u32,
}

impl Place {
    /// The place of bytes of a text.
    pub(crate) fn of(bytes: Range<usize>, text: &str) -> Self {
        let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let before = &text[..bytes.start];
        let line = before.rsplit('\n').next().unwrap_or_default();
        Self {
            line: number(before.matches('\n').count() + 1),
            column: number(line.chars().count() + 1),
            length: number(text[bytes].chars().count()),
        }
    }

    /// Bytes of a text at this place. What is beyond its line or the text is the end of that.
    pub fn bytes(self, text: &str) -> Range<usize> {
        let before = text
            .split_inclusive('\n')
            .take(self.line.saturating_sub(1) as usize)
            .map(str::len)
            .sum::<usize>();
        let line = text[before..].lines().next().unwrap_or_default();
        let end = |characters: usize| {
            line.char_indices()
                .nth(characters)
                .map_or(line.len(), |(index, _)| index)
        };
        let column = self.column.saturating_sub(1) as usize;
        before + end(column)..before + end(column.saturating_add(self.length as usize))
    }
}

/// Severity of a fault.
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
    /// Its severity.
    pub severity: Severity,
    /// The file or folder.
    pub path: PathBuf,
    /// Its place in the file, if it has one.
    pub place: Option<Place>,
    /// The fault, in one line.
    pub message: String,
    /// The advice: what is allowed there, or what to do.
    pub help: Option<String>,
    /// The text of the file, to show the line; empty if it was not read.
    pub text: Arc<str>,
}

impl Fault {
    /// A fault for which the file is not used.
    pub fn error(path: &Path, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            path: path.to_owned(),
            place: None,
            message: message.into(),
            help: None,
            text: Arc::default(),
        }
    }

    /// A fault with which the file is used.
    pub fn warning(path: &Path, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Warning,
            ..Self::error(path, message)
        }
    }

    /// With its place in the text of the file.
    #[must_use]
    pub fn placed(self, place: Place, text: &Arc<str>) -> Self {
        Self {
            place: Some(place),
            text: Arc::clone(text),
            ..self
        }
    }

    /// With its place in its file, which is read again to show the line.
    #[must_use]
    pub fn at_place(self, place: Place) -> Self {
        match fs::read_to_string(&self.path) {
            Ok(text) => self.placed(place, &Arc::from(text)),
            Err(_) => self,
        }
    }

    /// With what is allowed there, or what to do.
    #[must_use]
    pub fn helped(self, help: impl Into<String>) -> Self {
        Self {
            help: Some(help.into()),
            ..self
        }
    }

    /// True if the file is not used for it.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// `path:line:column`, as far as it is known.
    pub fn at(&self) -> String {
        let path = self.path.display();
        match self.place {
            Some(place) => format!("{path}:{}:{}", place.line, place.column),
            None => path.to_string(),
        }
    }
}

/// As `{ severity, file, line, column, length, message, help }`; what is not known is null.
impl Serialize for Fault {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fault = serializer.serialize_struct("Fault", 7)?;
        fault.serialize_field("severity", &self.severity)?;
        fault.serialize_field("file", &self.path.to_string_lossy())?;
        fault.serialize_field("line", &self.place.map(|place| place.line))?;
        fault.serialize_field("column", &self.place.map(|place| place.column))?;
        fault.serialize_field("length", &self.place.map(|place| place.length))?;
        fault.serialize_field("message", &self.message)?;
        fault.serialize_field("help", &self.help)?;
        fault.end()
    }
}

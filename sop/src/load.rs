//! Reads a file.

use std::path::{Path, PathBuf};

use crate::{Definition, Fault};

/// A file that can be used, and what is odd about it.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// What it says.
    pub definition: Definition,
    /// What its author should look at.
    pub warnings: Vec<Fault>,
}

/// Reads a file in any of the three formats, which its name tells: `NAME/SKILL.md`, `NAME.sop.md` or `NAME.md`.
///
/// # Errors
///
/// All that is wrong with it, warnings included, in the order of the file.
pub fn load(path: &Path) -> Result<Loaded, Vec<Fault>> {
    parse(path, "", Vec::new())
}

/// Reads the text of a file. `files` are the further files of a skill's folder.
///
/// # Errors
///
/// As those of [`load`].
pub fn parse(path: &Path, _text: &str, _files: Vec<PathBuf>) -> Result<Loaded, Vec<Fault>> {
    Err(vec![Fault::error(path, "not read yet")])
}

//! Reads a folder.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use crate::{Definition, Fault};

/// The folder that is read where none is named.
pub const DEFAULT_DIR: &str = "./sops";

/// What a folder holds.
#[derive(Clone, Debug, Default)]
pub struct Discovered {
    /// The agents, by name.
    pub agents: BTreeMap<String, Arc<Definition>>,
    /// The orchestrators, in the order of their files.
    pub orchestrators: Vec<Arc<Definition>>,
    /// The errors and warnings of all files.
    pub faults: Vec<Fault>,
}

/// Reads all files of a folder: `*.md` and `*/SKILL.md`.
///
/// # Errors
///
/// There is no such folder, or it cannot be read. What is wrong with a file is in [`Discovered::faults`].
pub fn discover(_dir: &Path) -> Result<Discovered, Fault> {
    Ok(Discovered::default())
}

impl Discovered {
    /// The one who leads: the orchestrator of the folder, or, where it has none and `default_orchestrator` is set, a built-in one.
    ///
    /// # Errors
    ///
    /// There is none, or there are several.
    pub fn orchestrator(
        &self,
        dir: &Path,
        _default_orchestrator: bool,
    ) -> Result<Arc<Definition>, Fault> {
        Err(Fault::error(dir, "no orchestrator"))
    }
}

//! Contents of a folder, before anything is started.

use std::{path::Path, sync::Arc};

use agenthub_terminal::{calls, faults::show};

use super::{args::DEFAULT_DIR, program::Settings, up::folder_argument};
use crate::{Definition, Discovered, Fault, StartError, discover};

/// A folder with somebody who leads.
pub(super) struct TeamFolder {
    pub(super) leads: Arc<Definition>,
    pub(super) discovered: Discovered,
}

/// Reads the folder. `None` where it is no team; then all that is wrong with it was shown.
pub(super) fn find(dir: &Path, settings: &Settings) -> anyhow::Result<Option<TeamFolder>> {
    Ok(look(dir, settings)
        .map_err(|faults| faults.iter().for_each(show))
        .ok())
}

/// Reads the folder.
///
/// # Errors
///
/// All that is wrong with it, where it is no team.
pub(super) fn look(dir: &Path, settings: &Settings) -> Result<TeamFolder, Vec<Fault>> {
    let discovered = discover(dir).map_err(|fault| vec![advised(fault)])?;
    match discovered.orchestrator(dir, settings.default_orchestrator) {
        Ok(leads) => Ok(TeamFolder { leads, discovered }),
        Err(fault) => {
            let mut faults = discovered.faults;
            faults.push(fault);
            Err(faults)
        }
    }
}

/// Faults of a folder, with how to begin one where it is the usual one and there is none.
pub(super) fn advised(fault: Fault) -> Fault {
    match fault.path == Path::new(DEFAULT_DIR) && !fault.path.exists() {
        true => fault.helped(format!(
            "name the folder with the files of your team, or begin one: {} sop new researcher",
            calls::program()
        )),
        false => fault,
    }
}

/// Warning on somebody who leads a folder with nobody else in it, and has no tools; `None` of a team.
pub(super) fn nobody_to_lead(
    dir: &Path,
    leads: &Definition,
    discovered: &Discovered,
) -> Option<Fault> {
    let has_broken = discovered.faults.iter().any(Fault::is_error);
    let is_alone = discovered.agents.is_empty() && leads.tools.is_empty() && !has_broken;
    is_alone.then(|| {
        let message = format!("{} has nobody to lead", leads.name);
        Fault::warning(&leads.path, message).helped(format!(
            "{} sop new researcher{} begins an agent",
            calls::program(),
            folder_argument(dir, "--dir ")
        ))
    })
}

/// The reason why a team cannot start, where that was not shown: faults of files were.
pub(super) fn start_error(error: StartError) -> anyhow::Result<()> {
    match error {
        StartError::Faults(_) => Ok(()),
        StartError::Hub(error) => Err(error.into()),
    }
}

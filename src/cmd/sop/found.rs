//! What a folder holds, before anything is started.

use std::{path::Path, sync::Arc};

use agenthub_sop::{Definition, Discovered, Fault, StartError, discover};

use super::news::show;
use crate::settings::Settings;

/// A folder with somebody who leads.
pub(super) struct Found {
    pub(super) leads: Arc<Definition>,
    pub(super) discovered: Discovered,
}

/// Reads the folder. `None` where it is no team; then all that is wrong with it was shown.
pub(super) fn find(dir: &Path, settings: &Settings) -> anyhow::Result<Option<Found>> {
    let refused = |faults: &[Fault]| {
        faults.iter().for_each(show);
        Ok(None)
    };
    let discovered = match discover(dir) {
        Ok(discovered) => discovered,
        Err(fault) => return refused(&[fault]),
    };
    match discovered.orchestrator(dir, settings.sop.default_orchestrator) {
        Ok(leads) => Ok(Some(Found { leads, discovered })),
        Err(fault) => {
            let mut faults = discovered.faults;
            faults.push(fault);
            refused(&faults)
        }
    }
}

/// Why a team cannot start, where that was not shown: what is wrong with files was.
pub(super) fn start_error(error: StartError) -> anyhow::Result<()> {
    match error {
        StartError::Faults(_) => Ok(()),
        StartError::Hub(error) => Err(error.into()),
    }
}

//! A run that a command asks for, from its beginning to what is shown of it.

use std::process::ExitCode;

use agenthub_proto::cortex::ListRunsRequest;
use agenthub_terminal::{
    calls, output,
    run::{Line, ResultFile, Watching, watch},
    stop::Signals,
};

use super::place::{Here, Place};
use crate::{
    cli::{CortexAt, DisplayFlags},
    settings::Settings,
};

/// Flags of a command that asks for a run.
pub(super) struct Asking<'a> {
    pub(super) at: &'a CortexAt,
    pub(super) shown: &'a DisplayFlags,
    /// Prints the run's id and leaves it.
    pub(super) detach: bool,
    /// The run goes on in this process.
    pub(super) here: bool,
    /// The model of the command line.
    pub(super) model: Option<&'a str>,
}

impl Asking<'_> {
    /// Finds the place of the run, has it started, and shows it until it ends. `start` gets the line to Cortex and returns the run's id.
    ///
    /// # Errors
    ///
    /// There is no place for it, it does not start, or nobody answers; in one line.
    pub(super) async fn show(
        self,
        settings: &Settings,
        start: impl AsyncFnOnce(&Line) -> anyhow::Result<String>,
    ) -> anyhow::Result<ExitCode> {
        let output = self.shown.output.as_deref();
        let output = output.map(ResultFile::at).transpose()?;
        let mut signals = Signals::new()?;
        let here = match self.detach {
            true => Here::Never,
            false => Here::by_flag(self.here),
        };
        let found = Place::find(self.at, here, self.model, settings, &mut signals).await?;
        let Some(mut place) = found else {
            return Ok(ExitCode::FAILURE);
        };
        let (line, farewell, is_here) = (place.line(), place.farewell(), place.is_here());
        let shown = async {
            let run = start(&line).await?;
            if self.detach {
                output::line(&run)?;
                return Ok(0);
            }
            if is_here {
                tell_of_others(&line, &run).await;
            }
            if !self.shown.json {
                output::aside(format!("run {run}"));
            }
            let watching = Watching {
                farewell: farewell.of(&run),
                line,
                run,
                after: 0,
                json: self.shown.json,
                output,
                may_cancel: true,
            };
            watch(watching, &mut signals).await.map(|left| left.code())
        };
        let code = place.during(shown).await;
        let ended = place.leave(signals).await;
        let code = code?;
        ended?;
        Ok(ExitCode::from(code))
    }
}

/// Names the other runs that an earlier process left to this one.
async fn tell_of_others(line: &Line, run: &str) {
    let request = ListRunsRequest {
        mode: "app".to_owned(),
        ..ListRunsRequest::default()
    };
    let Ok(runs) = line.list(request, 50).await else {
        return;
    };
    let program = calls::program();
    for other in runs.iter().filter(|r| r.ended_at.is_none() && r.id != run) {
        let id = &other.id;
        output::aside(format!(
            "run {id} of an earlier process goes on meanwhile; to finish it: {program} runs watch {id}"
        ));
    }
}

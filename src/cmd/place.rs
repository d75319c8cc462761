//! Place of a run: at a hub that is there, or in this process.

use std::{
    net::TcpListener,
    path::{Path, PathBuf},
    time::Duration,
};

use agenthub_terminal::{
    Listen, calls,
    connect::listens,
    output,
    run::Line,
    stop::{Late, Signals},
};
use anyhow::bail;

use super::{CLIENT_LEVEL, up::Everything};
use crate::{cli::CortexAt, logging, settings::Settings, world::Crew};

/// Time for which a run or a turn in this process waits for agents that are away.
const RETURNING: Duration = Duration::from_secs(2);

/// The agents that are named of those that are away.
const NAMED: usize = 5;

/// Some of the names, and how many more there are; `None` where there is none.
fn listed(names: &[String]) -> Option<String> {
    let shown = names.iter().take(NAMED).map(String::as_str);
    let shown = shown.collect::<Vec<_>>().join(", ");
    match names.len() {
        0 => None,
        all if all > NAMED => Some(format!("{shown} and {} more", all - NAMED)),
        _ => Some(shown),
    }
}

/// Use of this process as the place of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Here {
    /// The run goes on here.
    Always,
    /// Only where no hub was named and none listens.
    AtNeed,
    /// The run goes on without this process.
    Never,
}

impl Here {
    /// By the flag `--here`.
    pub(super) fn by_flag(here: bool) -> Self {
        match here {
            true => Self::Always,
            false => Self::AtNeed,
        }
    }
}

/// Place of a run.
pub(super) struct Place {
    line: Line,
    /// Folder of files, if any are written.
    data: Option<PathBuf>,
    /// The parts that run in this process for the time of the run.
    here: Option<Everything>,
}

impl Place {
    /// The place that the flags name; without any, the default hub if one listens, else this process. Starts logging. `model` is that of
    /// the command line. `None` if the process was told to stop meanwhile.
    ///
    /// # Errors
    ///
    /// A part of this process cannot start, or must not; or an address is none.
    pub(super) async fn find(
        at: &CortexAt,
        here: Here,
        model: Option<&str>,
        settings: &Settings,
        signals: &mut Signals,
    ) -> anyhow::Result<Option<Self>> {
        let is_named = at.cortex.is_some() || at.hub.is_named(&settings.hub);
        let is_missing = here != Here::Always && !is_named && !listens(&settings.hub).await;
        if is_missing && here == Here::Never {
            bail!(
                "no hub listens at {}, and with this process the run would stop: start `agenthub up` first",
                settings.hub
            );
        }
        let is_here = here == Here::Always || is_missing;
        let log = logging::beside_chat(settings.data().filter(|_| is_here), "agenthub.log");
        let log = match is_here {
            true => log,
            false => logging::Target::Stderr,
        };
        logging::start(settings.log.as_deref(), CLIENT_LEVEL, &log)?;
        if !is_here {
            let url = at.cortex.as_deref().unwrap_or(&settings.hub);
            let elsewhere = format!("the Cortex at {url}");
            settings.model.cassette.refuse_elsewhere(&elsewhere)?;
            if let Some(model) = model {
                bail!(
                    "--model {model} is for a run in this process, but {elsewhere} runs it with a model of its own: add --here, or name the model \
                     where that is started"
                );
            }
            return Ok(Some(Self {
                line: Line::to(url)?,
                data: None,
                here: None,
            }));
        }
        let mut own = settings.clone();
        own.grpc = free(own.grpc);
        own.http = free(own.http);
        let everything = tokio::select! {
            started = Everything::start(&own, Crew::Ours, Some(RETURNING)) => started?,
            _ = signals.next() => return Ok(None),
        };
        let hub = everything.url();
        let kept = match settings.data() {
            Some(data) => format!("its files are in {}", data.display()),
            None => "it keeps no files".to_owned(),
        };
        let why = match is_missing {
            false => String::new(),
            true => format!("no hub listens at {}: ", settings.hub),
        };
        output::aside(format!(
            "{why}this process runs one at {hub}, with Cortex and its agents, until the run is over ({kept})"
        ));
        if let Some(names) = listed(&everything.away()) {
            let most = RETURNING.as_secs();
            output::aside(output::plain(&format!(
                "waiting {most} s at most for agents that were here before and are away: {names}"
            )));
        }
        Ok(Some(Self {
            line: Line::to(&hub)?,
            data: settings.data().map(Path::to_path_buf),
            here: Some(everything),
        }))
    }

    /// The line to its Cortex.
    pub(super) fn line(&self) -> Line {
        self.line.clone()
    }

    /// Text for whoever leaves a run.
    pub(super) fn farewell(&self) -> Farewell {
        match (&self.here, &self.data) {
            (None, _) => Farewell::GoesOn(self.line.url().to_owned()),
            (Some(_), Some(data)) => Farewell::Waits(data.clone()),
            (Some(_), None) => Farewell::Ends,
        }
    }

    /// True if it ends with this process.
    pub(super) fn is_here(&self) -> bool {
        self.here.is_some()
    }

    /// Does something, as long as what runs here does not fail.
    pub(super) async fn during<T>(
        &mut self,
        work: impl Future<Output = anyhow::Result<T>>,
    ) -> anyhow::Result<T> {
        match &mut self.here {
            None => work.await,
            Some(everything) => tokio::select! {
                done = work => done,
                error = everything.failed() => Err(error),
            },
        }
    }

    /// Ends what runs in this process.
    pub(super) async fn leave(self, signals: Signals) -> Result<(), Late> {
        match self.here {
            Some(everything) => signals.leave(everything.stop()).await,
            None => Ok(()),
        }
    }
}

/// Text for whoever leaves a run.
pub(super) enum Farewell {
    /// Goes on at this hub.
    GoesOn(String),
    /// Waits in this folder.
    Waits(PathBuf),
    /// Ends with this process.
    Ends,
}

impl Farewell {
    /// Says how the run goes on, and how to come back to it.
    pub(super) fn of(&self, run: &str) -> String {
        let program = calls::program();
        match self {
            Self::GoesOn(url) => {
                let hub = calls::hub_flag(url);
                format!(
                    "the run goes on; to come back: {program} runs watch {run}{hub}, to end it: {program} runs cancel {run}{hub}"
                )
            }
            Self::Waits(data) => {
                let data = calls::data_flag(data);
                format!(
                    "the run waits, as what it ran on ends with this process; to finish it: {program} runs watch {run}{data}, or {program} up{data}"
                )
            }
            Self::Ends => "the run ends here, as this process keeps no files".to_owned(),
        }
    }
}

/// The address if nobody has it, else any that is free.
pub(super) fn free(address: Listen) -> Listen {
    match TcpListener::bind(address.0) {
        Ok(_) => address,
        Err(_) => Listen::loopback(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use agenthub_terminal::calls::{DEFAULT_DATA, DEFAULT_HUB};

    #[test]
    fn who_leaves_is_told_how_to_come_back() {
        let said = |farewell: Farewell| farewell.of("r1");
        let goes_on = said(Farewell::GoesOn("http://127.0.0.1:7".to_owned()));
        assert!(
            goes_on.contains("runs watch r1 --hub http://127.0.0.1:7"),
            "{goes_on}"
        );
        let near = said(Farewell::GoesOn(DEFAULT_HUB.to_owned()));
        assert!(
            near.contains("runs cancel r1") && !near.contains("--hub"),
            "{near}"
        );
        let waits = said(Farewell::Waits(PathBuf::from(DEFAULT_DATA)));
        assert!(waits.contains("runs watch r1, or"), "{waits}");
        let elsewhere = said(Farewell::Waits(PathBuf::from("/d")));
        assert!(elsewhere.contains("up --data /d"), "{elsewhere}");
        assert!(said(Farewell::Ends).contains("ends here"));
    }
}

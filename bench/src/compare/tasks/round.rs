//! The loads of one round: each is measured once, for all rows that need it.

use anyhow::anyhow;

use super::rig::{Rig, TaskLoad};
use crate::compare::{
    measure::Measured,
    report::Ratio,
    rows::Figure,
    scene::{Stage, disk_sync_ms},
    trial::quieter,
};

/// Requests per lane before the measurement begins: a server may still be busy with its start.
const FIRST: u64 = 2;

/// Reference of a figure of the hub's tasks.
#[derive(Clone, Copy, Debug)]
pub(in crate::compare) enum TaskAgainst {
    /// The same figure of another load.
    Load(TaskLoad),
    /// A multiple of another load's latency, plus a number of syncs of the disk.
    LoadAndSyncs {
        load: TaskLoad,
        times: f64,
        syncs: f64,
    },
    /// A constant.
    Number(f64),
}

/// The measurements of a round; `None` for an unavailable system.
#[derive(Debug, Default)]
pub(in crate::compare) struct TaskRound {
    measured: Vec<(TaskLoad, anyhow::Result<Option<Measured>>)>,
}

impl TaskRound {
    /// The ratio of a row; `None` if a system is unavailable. The reference is measured first.
    ///
    /// # Errors
    ///
    /// A measurement has failed.
    pub(in crate::compare) async fn ratio(
        &mut self,
        load: TaskLoad,
        against: TaskAgainst,
        figure: Figure,
        stage: &Stage,
    ) -> anyhow::Result<Option<Ratio>> {
        let other = match against {
            TaskAgainst::Number(number) => number.into(),
            TaskAgainst::Load(load) => match self.measured(load, stage).await? {
                Some(measured) => figure.sample(measured),
                None => return Ok(None),
            },
            TaskAgainst::LoadAndSyncs { load, times, syncs } => {
                let Some(measured) = self.measured(load, stage).await? else {
                    return Ok(None);
                };
                let allowed = times * figure.sample(measured).figure;
                (allowed + syncs * disk_sync_ms(stage).await?).into()
            }
        };
        let hub = self.measured(load, stage).await?;
        Ok(hub.map(|hub| Ratio {
            hub: figure.sample(hub),
            other,
        }))
    }

    /// The measurement of a load in this round; `None` if its system is unavailable.
    ///
    /// # Errors
    ///
    /// It has failed, twice. It is not repeated in this round.
    pub(super) async fn measured(
        &mut self,
        load: TaskLoad,
        stage: &Stage,
    ) -> anyhow::Result<Option<&Measured>> {
        let at = match self.measured.iter().position(|(known, _)| *known == load) {
            Some(at) => at,
            None => {
                let measured = measure(load, stage).await;
                self.measured.push((load, measured));
                self.measured.len() - 1
            }
        };
        match &self.measured[at].1 {
            Ok(measured) => Ok(measured.as_ref()),
            Err(error) => Err(anyhow!("{error:#}")),
        }
    }

    /// True if a load was measured or attempted.
    pub(super) fn knows(&self, load: TaskLoad) -> bool {
        self.measured.iter().any(|(known, _)| *known == load)
    }

    /// All measurements.
    pub(super) fn all(self) -> impl Iterator<Item = (TaskLoad, Measured)> {
        let all = self.measured.into_iter();
        all.filter_map(|(load, measured)| Some((load, measured.ok()??)))
    }
}

/// Measures on a fresh server; `None` if its program is missing.
async fn measure(load: TaskLoad, stage: &Stage) -> anyhow::Result<Option<Measured>> {
    if !load.system.is_here(stage).await {
        return Ok(None);
    }
    let measured = quieter(stage.length, async || {
        let rig = Rig::start(load, stage).await?;
        rig.perform(FIRST * load.in_flight as u64).await?;
        let measured = rig.measure(stage.length).await;
        rig.stop().await;
        measured
    });
    measured.await.map(Some)
}

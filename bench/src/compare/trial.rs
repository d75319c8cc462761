//! One round of the rows: measures the figures, prints failures and leaves them out.

use std::time::Duration;

use anyhow::Context as _;

use super::{
    measure::{Load, Measured, measure},
    programs::Programs,
    report::{Ratio, Report},
    rows::{Against, Row, Source},
    scene::Stage,
    tasks::TaskRound,
};

/// Attempts at a measurement before the row is left out.
const TRIES: usize = 2;

/// Share of the machine used by others above which a measurement is repeated.
const BUSY: f64 = 0.6;

/// A shorter measurement is never repeated because of others.
const GLANCE: Duration = Duration::from_secs(1);

/// One round of all rows. Adjacent rows of a scene share one run of it.
pub(super) async fn all(
    round: u32,
    rows: &[Row],
    stage: &Stage,
    tasks: &mut TaskRound,
    report: &mut Report,
) {
    let trials = rows.chunk_by(|a, b| a.source.is_same_trial(b.source));
    for trial in trials.filter(|trial| round <= trial[0].source.rounds()) {
        match ratios(trial[0].source, stage, tasks).await {
            Ok(Some(ratios)) => {
                for row in trial {
                    report.add(row, ratios[row.source.index()]);
                }
            }
            Ok(None) => trial.iter().for_each(|row| report.skip(row)),
            Err(error) => {
                eprintln!("round {round}, {}: {error:#}", trial[0].name);
                trial.iter().for_each(|row| report.fail(row));
            }
        }
    }
}

/// Ratios of the source; `None` if a program is missing.
async fn ratios(
    source: Source,
    stage: &Stage,
    tasks: &mut TaskRound,
) -> anyhow::Result<Option<Vec<Ratio>>> {
    let (hub, against, figure) = match source {
        Source::Load {
            hub,
            against,
            figure,
        } => (hub, against, figure),
        Source::Tasks {
            load,
            against,
            figure,
        } => {
            let ratio = tasks.ratio(load, against, figure, stage).await?;
            return Ok(ratio.map(|ratio| vec![ratio]));
        }
        Source::Scene(scene, _) => return scene.play(stage).await,
    };
    let Stage {
        programs, length, ..
    } = stage;
    let other = match against {
        Against::Load(load) if !load.system.is_here(programs) => return Ok(None),
        Against::Load(load) => figure.sample(&tried(load, programs, *length).await?),
        Against::Number(number) => number.into(),
    };
    let hub = figure.sample(&tried(hub, programs, *length).await?);
    Ok(Some(vec![Ratio { hub, other }]))
}

/// Measures a load of messages.
pub(super) async fn tried(
    load: Load,
    programs: &Programs,
    length: Duration,
) -> anyhow::Result<Measured> {
    quieter(length, async || measure(load, programs, length).await).await
}

/// Measures, and repeats if that failed or the machine was too busy; then the quieter measurement counts.
pub(super) async fn quieter(
    length: Duration,
    measure: impl AsyncFn() -> anyhow::Result<Measured>,
) -> anyhow::Result<Measured> {
    let mut best: Option<anyhow::Result<Measured>> = None;
    for _ in 0..TRIES {
        let measured = measure().await;
        let is_enough = measured
            .as_ref()
            .is_ok_and(|m| m.on_others <= BUSY || length < GLANCE);
        best = match (measured, best) {
            (Ok(this), Some(Ok(last))) if this.on_others > last.on_others => Some(Ok(last)),
            (Err(_), Some(Ok(last))) => Some(Ok(last)),
            (this, _) => Some(this),
        };
        if is_enough {
            break;
        }
    }
    best.context("nothing was tried")?
}

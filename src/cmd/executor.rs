//! `agenthub executor`

use std::{
    io::{self, Read},
    process::ExitCode,
    sync::Arc,
    thread,
};

use agenthub_sdk::{
    durable::{ExecuteError, Executed, ExecutedRun, Telemetry},
    runs::{RunId, RunOutcome},
};
use agenthub_terminal::{connect::until_there, output, partial, stop::Signals};
use agenthub_workflow::executors::{NO_JOURNAL, Place, execute};
use serde_json::json;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{CLIENT_LEVEL, SERVER_LEVEL};
use crate::{
    cli::{Executor, ExecutorCommand, ServeExecutors},
    executing::{Executing, Form},
    journal::{self, Kept},
    kafka::Kafka,
    logging::{self, Target},
    metrics::Metrics,
    settings::Settings,
};

/// Exit code of an executor that has no such run.
const NO_RUN: u8 = 2;

/// Exit code of an executor that cannot go on with its run, which is not over.
const CANNOT: u8 = 70;

/// Exit code of an executor that was told to stop.
const LEFT: u8 = 130;

/// Carries out a run, or serves.
pub(super) async fn run(args: &Executor, settings: &Settings) -> anyhow::Result<ExitCode> {
    match &args.serve {
        Some(ExecutorCommand::Serve(serve)) => {
            logging::start(settings.log.as_deref(), SERVER_LEVEL, &Target::Stderr)?;
            serve_all(serve, settings).await?;
            Ok(ExitCode::SUCCESS)
        }
        None => {
            logging::start(settings.log.as_deref(), CLIENT_LEVEL, &Target::Stderr)?;
            one(args, settings).await
        }
    }
}

async fn one(args: &Executor, settings: &Settings) -> anyhow::Result<ExitCode> {
    let mut signals = Signals::new()?;
    let run = RunId::new(args.run.as_deref().unwrap_or_default());
    let journal = match journal::shared(settings).await {
        // Who watches this process is to know that the run is not to blame.
        Err(error) if args.attached => {
            output::aside(output::plain(&format!("{error:#}")));
            return Ok(ExitCode::from(NO_JOURNAL));
        }
        journal => journal?,
    };
    let telemetry = Telemetry::start()?;
    let of = telemetry.clone();
    let kafka = Kafka::connect(settings).await?;
    let place = Place {
        route: kafka.as_ref().map(Kafka::route),
        dressed: Arc::new(move |agent| of.of(agent)),
        ..Place::new(&settings.hub, journal)
    };
    let made_up = || format!("executor.{}.{run}", Uuid::new_v4().simple());
    let executed = ExecutedRun {
        run: run.clone(),
        driver: args.driver.clone().unwrap_or_else(made_up),
        give_up: None,
    };
    let stop = CancellationToken::new();
    if args.attached {
        stop_with_stdin(stop.clone())?;
    }
    let executing = execute(&place, executed, stop.clone());
    tokio::pin!(executing);
    let executed = tokio::select! {
        executed = &mut executing => executed,
        _ = signals.next() => {
            stop.cancel();
            let mut executed = Ok(Executed::Left);
            signals.leave(async { executed = executing.await }).await?;
            executed
        }
    };
    telemetry.stop().await;
    let (code, said) = told(&run, executed);
    if let Some(said) = said {
        output::aside(output::plain(&said));
    }
    Ok(ExitCode::from(code))
}

/// Exit code of an executor, and its last words.
fn told(run: &RunId, executed: Result<Executed, ExecuteError>) -> (u8, Option<String>) {
    match executed {
        Ok(Executed::Over(outcome @ RunOutcome::Completed { .. })) => match outcome.shortfall() {
            None => (0, None),
            Some(lacks) => {
                let code = match lacks.is_nothing() {
                    true => 1,
                    false => partial::EXIT_CODE,
                };
                let why = lacks.in_words();
                (
                    code,
                    Some(format!("run {run} has completed, in part: {why}")),
                )
            }
        },
        Ok(Executed::Over(RunOutcome::Failed { error })) => {
            (1, Some(format!("run {run} has failed: {error}")))
        }
        Ok(Executed::Over(RunOutcome::Cancelled { reason })) => {
            (1, Some(format!("run {run} was cancelled: {reason}")))
        }
        Ok(Executed::Left) => (LEFT, Some(format!("run {run} is let go"))),
        Err(error @ ExecuteError::NotItsRun { .. }) => (NO_RUN, Some(error.to_string())),
        Err(ExecuteError::Journal(error)) if error.is_retryable() => {
            (NO_JOURNAL, Some(error.to_string()))
        }
        Err(error) => (CANNOT, Some(error.to_string())),
    }
}

/// Cancels `stop` when standard input ends: with the process that holds its other end, whatever ends that.
fn stop_with_stdin(stop: CancellationToken) -> io::Result<()> {
    // A read of standard input cannot be taken back; nobody waits for the thread.
    thread::Builder::new()
        .name("supervisor".to_owned())
        .spawn(move || {
            let mut rest = [0; 64];
            while matches!(io::stdin().read(&mut rest), Ok(1..)) {}
            stop.cancel();
        })
        .map(drop)
}

async fn serve_all(args: &ServeExecutors, settings: &Settings) -> anyhow::Result<()> {
    let mut signals = Signals::new()?;
    let kept = Kept::of_workflows(settings).await?;
    let telemetry = Telemetry::start()?;
    let metrics = Metrics::serve(settings, Arc::new(|_| ())).await?;
    let form = Form {
        executors: args.spawn,
        most: settings.max_executors,
    };
    let hub = &settings.hub;
    let starting = async {
        let there = until_there(|| agenthub_sdk::Client::builder(&**hub).connect());
        there.await?.close().await;
        Executing::start(hub, form, settings, &telemetry, kept).await
    };
    let executing = tokio::select! {
        started = starting => started?,
        _ = signals.next() => return Ok(()),
    };
    let form = args.spawn;
    match args.json {
        true => output::line(
            json!({ "hub": hub, "spawn": form, "max": settings.max_executors }).to_string(),
        )?,
        false => output::line(output::plain(&format!(
            "Runs of workflows on {hub} are carried out here, at most {} at once\nCtrl-C stops.",
            settings.max_executors.runs()
        )))?,
    }
    let closed = tokio::select! {
        _ = signals.next() => None,
        reason = executing.closed() => Some(reason),
    };
    let stopping = async {
        executing.stop().await;
        tokio::join!(Metrics::close(metrics), telemetry.stop());
    };
    signals.leave(stopping).await?;
    match closed {
        Some(reason) => anyhow::bail!(
            "the hub has sent the agent {} away: {reason}",
            agenthub_workflow::NAME
        ),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use agenthub_sdk::{model::Undone, runs::Shortfall};

    use super::*;

    #[test]
    fn a_run_done_in_part_is_not_told_as_done() {
        let run = RunId::new("r");
        let over = |undone: Option<Undone>| {
            let lacks = undone.map(|undone| {
                let results = vec![json!({"agent": "oven", "state": "completed", "lacks": "salt"})];
                Box::new(Shortfall::new(Some(undone), results))
            });
            let outcome = RunOutcome::Completed {
                text: "bread".to_owned(),
                data: json!({"output": "bread"}),
                lacks,
            };
            told(&run, Ok(Executed::Over(outcome)))
        };
        assert_eq!(over(None), (0, None));
        let (code, said) = over(Some(Undone::Part));
        assert_eq!(code, 3);
        assert!(said.is_some_and(|said| said.contains("in part: ")));
        assert_eq!(over(Some(Undone::All)).0, 1);
    }
}

//! `agenthub runs`

mod again;
pub(super) mod limits;
mod sending;

use std::{io, process::ExitCode};

use agenthub_proto::{
    cortex::{
        ForkRunRequest, ListRunEventsRequest, ListRunsRequest, RecordResultsRequest,
        ResumeRunRequest, RetryRunRequest, Run, RunEvent,
    },
    json::{self as convert},
};
use agenthub_terminal::{
    diff::{RunDifferences, RunRecord},
    flags::Json,
    ids::{LATEST, meant},
    listing::{runs as listing, steps as attempts},
    output,
    run::{Answer, Line, ResultFile, Trouble, Watching, answer, user, watch, width},
    stop::Signals,
    usage::WrongUsage,
};
use anyhow::Context;
use serde_json::{Map, Value};

use self::limits::{budget, constraints};
use super::{
    CLIENT_LEVEL,
    place::{Here, Place},
};
use crate::{
    cli::{self, Form, Runs},
    logging::{self, Target},
    settings::Settings,
};

/// The latest runs among which the beginning of an id is looked for.
const LOOKED_AT: usize = 2_000;

/// The events that are asked for at one time.
const EVENTS_AT_A_TIME: u32 = 500;

/// The exit code of two runs that differ.
const DIFFER: u8 = 3;

/// A request that is wrong is wrong usage.
fn usage(trouble: Trouble) -> anyhow::Error {
    match trouble {
        Trouble::Invalid { why, .. } => WrongUsage(why).into(),
        trouble => trouble.into(),
    }
}

/// Shows, cancels and resumes runs, and answers what they ask.
pub(super) async fn run(args: Runs, settings: &Settings) -> anyhow::Result<ExitCode> {
    if let Runs::Watch { .. } = args {
        return watch_run(args, settings).await;
    }
    logging::start(settings.log.as_deref(), CLIENT_LEVEL, &Target::Stderr)?;
    let line = Line::to(args.at().cortex.as_deref().unwrap_or(&settings.hub))?;
    match args {
        Runs::List {
            state,
            thread,
            mode,
            first,
            all,
            json,
            ..
        } => {
            let request = ListRunsRequest {
                state: state.unwrap_or_default(),
                thread_id: thread.unwrap_or_default(),
                mode: mode.unwrap_or_default(),
                ..Default::default()
            };
            let listed = match all {
                true => line.list(request, first).await.map(|runs| (runs, 0)),
                false => line.list_asked(request, first).await,
            };
            let (runs, hidden) = listed.map_err(usage)?;
            match json.json {
                true => runs.iter().try_for_each(output::json)?,
                false => {
                    output::line(listing::runs(&runs))?;
                    if hidden > 0 {
                        output::aside(format!(
                            "{hidden} runs that these led to are not shown: --all shows them"
                        ));
                    }
                }
            }
        }
        Runs::Show { id, json, .. } => {
            let run = line.get(&run_id(&line, id).await?).await?;
            // A run that was not begun yet has none.
            let steps = match json.json {
                true => Vec::new(),
                false => line.steps(&run.id).await.unwrap_or_default(),
            };
            print(json, &run, || listing::run(&run, &steps, width()))?;
        }
        Runs::Plan { id, json, .. } => {
            let plan = line.plan(&run_id(&line, id).await?).await?;
            match json.json {
                true => output::json(&plan)?,
                false => output::line(listing::plan(&plan))?,
            }
        }
        Runs::Cancel {
            id, reason, json, ..
        } => {
            let id = run_id(&line, id).await?;
            let run = line.cancel(&id, &reason).await?;
            print(json, &run, || format!("run {} is {}", run.id, run.state))?;
        }
        Runs::Resume {
            id, limits, json, ..
        } => {
            let request = ResumeRunRequest {
                id: run_id(&line, id).await?,
                constraints: constraints(&limits),
                budget: budget(&limits),
            };
            begun(&line.resume(request).await?, json)?;
        }
        Runs::Retry {
            id,
            from,
            input,
            key,
            json,
            ..
        } => {
            let request = RetryRunRequest {
                id: run_id(&line, id).await?,
                from: from.unwrap_or_default(),
                input: input.as_deref().map(again::fields).transpose()?,
                idempotency_key: key.of_call(),
            };
            begun(&line.retry(request).await.map_err(usage)?, json)?;
        }
        Runs::Fork {
            id,
            at,
            model,
            instructions,
            input,
            key,
            json,
            ..
        } => {
            let request = ForkRunRequest {
                id: run_id(&line, id).await?,
                at,
                model: model.unwrap_or_default(),
                instructions: instructions.unwrap_or_default(),
                input: input.as_deref().map(again::input).transpose()?,
                idempotency_key: key.of_call(),
            };
            begun(&line.fork(request).await.map_err(usage)?, json)?;
        }
        Runs::Events { id, json, .. } => {
            let events = events(&line, &run_id(&line, id).await?).await?;
            match json.json {
                true => events.iter().try_for_each(output::json)?,
                false => output::line(attempts::events(&events))?,
            }
        }
        Runs::Diff {
            first,
            second,
            json,
            ..
        } => {
            let first = record(&line, first).await?;
            let second = record(&line, second).await?;
            let found = RunDifferences::of(&first, &second);
            match json.json {
                true => output::line(attempts::difference_json(&found).to_string())?,
                false => output::line(attempts::difference(&found))?,
            }
            if !found.is_empty() {
                return Ok(ExitCode::from(DIFFER));
            }
        }
        Runs::Steps { id, json, .. } => {
            let steps = line.steps(&run_id(&line, id).await?).await?;
            match json.json {
                true => steps.iter().try_for_each(output::json)?,
                false => output::line(attempts::steps(&steps))?,
            }
        }
        Runs::Graph { id, format, .. } => {
            let graph = line.graph(&run_id(&line, id).await?).await?;
            output::line(match format {
                Form::Text => listing::graph(&graph),
                Form::Mermaid => graph.mermaid.trim_end().to_owned(),
                Form::Dot => graph.dot.trim_end().to_owned(),
                Form::Json => graph
                    .graph
                    .as_ref()
                    .map_or(Value::Null, convert::from_struct)
                    .to_string(),
            })?;
        }
        Runs::Approve {
            run: None, json, ..
        } => {
            let waiting = line.pending().await?;
            match json.json {
                true => waiting.iter().try_for_each(output::json)?,
                false => {
                    output::line(listing::approvals(&waiting))?;
                    if let Some(hint) = listing::how_to_answer(&waiting) {
                        output::aside(hint);
                    }
                }
            }
        }
        Runs::Approve {
            run: Some(run),
            approval: Some(approval),
            answer: answer @ cli::Answer { agent: Some(_), .. },
            json,
            ..
        } => sending::send(&line, &settings.hub, (run, approval), (true, answer), json).await?,
        Runs::Refuse {
            run,
            approval: Some(approval),
            answer: answer @ cli::Answer { agent: Some(_), .. },
            json,
            ..
        } => sending::send(&line, &settings.hub, (run, approval), (false, answer), json).await?,
        Runs::Approve {
            run: Some(run),
            approval,
            answer,
            json,
            ..
        } => decide(&line, &run, approval.as_deref(), (true, answer), json).await?,
        Runs::Refuse {
            run,
            approval,
            answer,
            json,
            ..
        } => decide(&line, &run, approval.as_deref(), (false, answer), json).await?,
        Runs::Results {
            id, metrics, json, ..
        } => {
            let metrics: Map<String, Value> =
                metrics.into_iter().map(|(k, v)| (k, v.into())).collect();
            let request = RecordResultsRequest {
                id: run_id(&line, id).await?,
                metrics: Some(convert::to_struct(&Value::Object(metrics))),
            };
            let run = line.record(request).await.map_err(usage)?;
            let words = || format!("the results of run {} are kept", run.id);
            print(json, &run, words)?;
        }
        Runs::Watch { .. } => {}
    }
    Ok(ExitCode::SUCCESS)
}

async fn watch_run(args: Runs, settings: &Settings) -> anyhow::Result<ExitCode> {
    let Runs::Watch {
        id,
        after,
        shown,
        here,
        at,
        model,
        ..
    } = args
    else {
        return Ok(ExitCode::SUCCESS);
    };
    let output = shown.output.as_deref();
    let output = output.map(ResultFile::at).transpose()?;
    let mut signals = Signals::new()?;
    let Some(mut place) = Place::find(
        &at,
        Here::by_flag(here),
        model.model.as_deref(),
        settings,
        &mut signals,
    )
    .await?
    else {
        return Ok(ExitCode::FAILURE);
    };
    let (line, farewell) = (place.line(), place.farewell());
    let watched = async {
        let id = run_id(&line, id).await?;
        let watching = Watching {
            farewell: farewell.of(&id),
            line,
            run: id,
            after,
            json: shown.json,
            output,
            may_cancel: false,
        };
        watch(watching, &mut signals).await
    };
    let left = place.during(watched).await;
    let ended = place.leave(signals).await;
    let code = left?.code();
    ended?;
    Ok(ExitCode::from(code))
}

/// The run that is meant by an id, the beginning of one, or `latest`.
async fn run_id(line: &Line, given: String) -> anyhow::Result<String> {
    if given == LATEST {
        let (runs, _) = line.list_asked(ListRunsRequest::default(), 1).await?;
        let latest = runs.into_iter().next();
        return latest.map(|run| run.id).context("there are no runs");
    }
    match line.get(&given).await {
        Err(Trouble::NotFound(_)) => {}
        // What else is wrong is said when it is asked for.
        Ok(_) | Err(_) => return Ok(given),
    }
    let known = line.list(ListRunsRequest::default(), LOOKED_AT).await?;
    let found = meant(&given, known.iter().map(|run| run.id.as_str()))?;
    Ok(found.unwrap_or(given))
}

/// Answers an approval, which may be left out where a run has one alone.
async fn decide(
    line: &Line,
    run: &str,
    approval: Option<&str>,
    (approved, words): (bool, cli::Answer),
    json: Json,
) -> anyhow::Result<()> {
    // The beginning of an id is looked for among what waits.
    let latest = match run == LATEST {
        true => Some(run_id(line, run.to_owned()).await?),
        false => None,
    };
    let given = Answer {
        run: latest.as_deref().unwrap_or(run),
        approval,
        approved,
        by: words.by.unwrap_or_else(user),
        comment: words.comment,
    };
    let (asked, run) = answer(line, given).await?;
    print(json, &run, || listing::answered(&asked, approved))?;
    Ok(())
}

/// Prints a run as JSON, or these words about it.
fn print(json: Json, run: &Run, words: impl FnOnce() -> String) -> io::Result<()> {
    match json.json {
        true => output::json(run),
        false => output::line(words()),
    }
}

/// Prints a run that has begun: its id, or all of it.
fn begun(run: &Run, json: Json) -> io::Result<()> {
    print(json, run, || run.id.clone())
}

/// All events of a run.
async fn events(line: &Line, id: &str) -> anyhow::Result<Vec<RunEvent>> {
    let mut events = Vec::new();
    loop {
        let request = ListRunEventsRequest {
            id: id.to_owned(),
            after: events.last().map_or(0, |event: &RunEvent| event.number),
            page_size: EVENTS_AT_A_TIME,
        };
        match line.events(request).await?.events {
            more if more.is_empty() => return Ok(events),
            more => events.extend(more),
        }
    }
}

/// A run as far as it is compared with another.
async fn record(line: &Line, given: String) -> anyhow::Result<RunRecord> {
    let id = run_id(line, given).await?;
    let (run, steps) = (line.get(&id).await?, line.steps(&id).await?);
    let plan = match line.plan(&id).await {
        Ok(plan) => Some(plan),
        // Runs without a plan have none to compare.
        Err(Trouble::NotFound(_)) => None,
        Err(trouble) => return Err(trouble.into()),
    };
    Ok(attempts::record(&run, &steps, plan.as_ref()))
}

//! `agenthub run`

use std::process::ExitCode;

use agenthub_proto::cortex::{Constraints, ListRunsRequest, RunBudget, StartRunRequest};
use agenthub_terminal::{
    output,
    run::{Line, Trouble},
    usage::WrongUsage,
};
use anyhow::anyhow;
use tokio::time::{Instant, sleep};

use super::{
    asking::Asking,
    runs::limits::{budget, constraints},
};
use crate::{brief::Source, cli::Run, settings::Settings};

/// Time for which a run is tried to be started while nobody answers.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(15);

/// The pause between two tries.
const PAUSE: std::time::Duration = std::time::Duration::from_millis(500);

/// Starts a run and shows it until it ends.
pub(super) async fn run(args: Run, settings: &Settings) -> anyhow::Result<ExitCode> {
    let source = args.brief.as_deref().map(Source::read).transpose()?;
    let request = request(source.as_ref(), &args)?;
    let asking = Asking {
        at: &args.at,
        shown: &args.shown,
        detach: args.detach,
        here: args.here,
        model: args.model.model.as_deref(),
    };
    let start = async |line: &Line| start(line, request, source.as_ref()).await;
    asking.show(settings, start).await
}

/// The brief: the flags, and where they say nothing, the file.
fn request(source: Option<&Source>, args: &Run) -> anyhow::Result<StartRunRequest> {
    let mut request = match source {
        Some(source) => source.request()?,
        None => StartRunRequest::default(),
    };
    for (field, flag) in [
        (&mut request.objective, &args.objective),
        (&mut request.mode, &args.mode),
        (&mut request.agent, &args.agent),
        (&mut request.thread_id, &args.thread),
        (&mut request.series, &args.series),
    ] {
        if let Some(flag) = flag {
            field.clone_from(flag);
        }
    }
    if let Some(flags) = constraints(&args.limits) {
        let file = request.constraints.take().unwrap_or_default();
        let mut acceptance_criteria = file.acceptance_criteria;
        acceptance_criteria.extend(flags.acceptance_criteria);
        let mut approvals = file.approvals;
        approvals.extend(flags.approvals);
        request.constraints = Some(Constraints {
            quality_threshold: flags.quality_threshold.or(file.quality_threshold),
            execution_depth: flags.execution_depth.or(file.execution_depth),
            acceptance_criteria,
            max_turns: file.max_turns,
            approvals,
        });
    }
    if let Some(flags) = budget(&args.limits) {
        request.budget = Some(RunBudget {
            tokens: flags.tokens,
            ..request.budget.unwrap_or_default()
        });
    }
    request.idempotency_key = args.key.of_call();
    Ok(request)
}

/// Starts the run; its id.
pub(super) async fn start(
    line: &Line,
    request: StartRunRequest,
    source: Option<&Source>,
) -> anyhow::Result<String> {
    let begin = Instant::now();
    let mut told = None;
    loop {
        match line.start(request.clone()).await {
            Ok(run) => return Ok(run.id),
            Err(Trouble::NotReady(why)) if begin.elapsed() < PATIENCE => {
                told.get_or_insert_with(|| {
                    output::aside(format!("{why}; tried for {} s", PATIENCE.as_secs()));
                });
                sleep(PAUSE).await;
            }
            Err(Trouble::Invalid { fields, why }) => {
                let placed = source.map(|source| placed(source, &fields, &why));
                return Err(WrongUsage(placed.unwrap_or(why)).into());
            }
            Err(Trouble::Conflict(why)) => {
                let active = active(line, &request.thread_id).await;
                return Err(anyhow!(match active {
                    Some(run) =>
                        format!("{why} (`agenthub runs watch {run}`, `agenthub runs cancel {run}`)"),
                    None => why,
                }));
            }
            Err(trouble) => return Err(trouble.into()),
        }
    }
}

/// The faults, each with its place in the file.
fn placed(source: &Source, fields: &[String], why: &str) -> String {
    let faults: Vec<&str> = why.lines().collect();
    match faults.len() == fields.len() {
        true => {
            let placed = fields.iter().zip(faults);
            let placed = placed.map(|(field, fault)| source.placed(Some(field), fault));
            placed.collect::<Vec<_>>().join("\n")
        }
        false => source.placed(fields.first().map(String::as_str), why),
    }
}

/// The run at work in a thread, if there is one.
async fn active(line: &Line, thread: &str) -> Option<String> {
    if thread.is_empty() {
        return None;
    }
    let request = ListRunsRequest {
        thread_id: thread.to_owned(),
        ..Default::default()
    };
    let runs = line.list(request, 10).await.ok()?;
    let mut at_work = runs.into_iter().filter(|run| run.ended_at.is_none());
    at_work.next().map(|run| run.id)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::{Cli, Command};

    fn asked(flags: &[&str], text: &str) -> StartRunRequest {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("b.yaml");
        std::fs::write(&file, text).expect("the folder is there");
        let file = file.display().to_string();
        let line = ["agenthub", "run", &file]
            .into_iter()
            .chain(flags.iter().copied());
        let Command::Run(args) = Cli::try_parse_from(line).expect("it is right").command else {
            panic!("it is a run");
        };
        let source = Source::read(args.brief.as_deref().expect("a file")).expect("it is there");
        request(Some(&source), &args).expect("it is right")
    }

    /// spec: ORC-2.3
    #[test]
    fn flags_go_before_the_file() {
        let file = "objective: a\nthreadId: t\nconstraints: {executionDepth: 2, qualityThreshold: 0.5, acceptanceCriteria: [x]}\nbudget: {calls: 9}\n";
        let flags = [
            "--objective",
            "b",
            "--depth",
            "4",
            "--criterion",
            "y",
            "--criterion",
            "z",
            "--tokens",
            "7",
            "--idempotency-key",
            "k",
        ];
        let request = asked(&flags, file);
        let constraints = request.constraints.expect("there are some");
        let criteria = constraints
            .acceptance_criteria
            .iter()
            .map(agenthub_proto::json::from_value);
        assert_eq!(criteria.collect::<Vec<_>>(), ["x", "y", "z"]);
        assert_eq!(constraints.execution_depth, Some(4));
        assert_eq!(constraints.quality_threshold, Some(0.5));
        let budget = request.budget.expect("there is one");
        assert_eq!((budget.tokens, budget.calls), (Some(7), Some(9)));
        assert_eq!(request.objective, "b");
        assert_eq!(request.thread_id, "t");
        assert_eq!(request.idempotency_key, "k");
    }

    #[test]
    fn each_command_is_a_request_of_its_own() {
        let key = || asked(&[], "objective: a\n").idempotency_key;
        assert_ne!(key(), key());
    }
}

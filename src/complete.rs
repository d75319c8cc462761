//! Completion of a command line in a shell: commands and flags, and the ids of agents, tasks and runs, which the hub is asked for.

use std::{ffi::OsStr, path::PathBuf, time::Duration};

use agenthub_proto::{
    agenthub::{ListAgentsRequest, ListTasksRequest},
    cortex::ListRunsRequest,
};
use agenthub_terminal::{connect, ids::LATEST, output::cut, run::Line};
use clap::CommandFactory;
use clap_complete::{CompleteEnv, CompletionCandidate};
use tokio::time::timeout;

use crate::{
    cli::Cli,
    settings::{Layer, Settings},
};

/// Set by the shell's script when it asks for completions.
pub(crate) const VARIABLE: &str = "AGENTHUB_COMPLETE";

/// Time in which the hub answers, or no ids are offered.
const PATIENCE: Duration = Duration::from_secs(1);

/// Tasks and runs that are looked at, the latest first.
const LATEST_FEW: i32 = 100;

/// Agents that are looked at, in order of their ids.
const AGENTS: i32 = 1000;

/// Characters of the text beside an id.
const HELP: usize = 60;

/// Answers the shell and ends the process, if this is a request for completions.
pub(crate) fn answer() {
    CompleteEnv::with_factory(Cli::command)
        .var(VARIABLE)
        .complete();
}

/// The agents.
pub(crate) fn agents(typed: &OsStr) -> Vec<CompletionCandidate> {
    candidates(typed, async |hub| {
        let client = connect::client(&hub, None).await.ok()?;
        let request = ListAgentsRequest {
            page_size: AGENTS,
            ..Default::default()
        };
        let agents = client.agents(request).await.ok()?.agents;
        let described = agents.into_iter().map(|agent| {
            let card = agent.agent_card.unwrap_or_default();
            (agent.agent_id, card.description)
        });
        Some(described.collect())
    })
}

/// The latest tasks, each with its state and the agent at work.
pub(crate) fn tasks(typed: &OsStr) -> Vec<CompletionCandidate> {
    candidates(typed, async |hub| {
        let client = connect::client(&hub, None).await.ok()?;
        let request = ListTasksRequest {
            page_size: LATEST_FEW,
            ..Default::default()
        };
        let tasks = client.tasks(request).await.ok()?.tasks;
        let described = tasks.into_iter().map(|task| {
            let text = format!("{}, {}", task.state().label(), task.assignee());
            (task.id, text)
        });
        let latest = (LATEST.to_owned(), "the task that changed last".to_owned());
        Some([latest].into_iter().chain(described).collect())
    })
}

/// The latest runs, with what they are to do.
pub(crate) fn runs(typed: &OsStr) -> Vec<CompletionCandidate> {
    candidates(typed, async |hub| {
        let described = latest_runs(&hub, ListRunsRequest::default()).await?;
        let latest = (LATEST.to_owned(), "the latest run".to_owned());
        Some([latest].into_iter().chain(described).collect())
    })
}

/// The runs that wait for a person, with what they are to do.
pub(crate) fn runs_that_ask(typed: &OsStr) -> Vec<CompletionCandidate> {
    candidates(typed, async |hub| {
        let request = ListRunsRequest {
            state: "awaiting-approval".to_owned(),
            ..ListRunsRequest::default()
        };
        latest_runs(&hub, request).await
    })
}

async fn latest_runs(hub: &str, request: ListRunsRequest) -> Option<Vec<(String, String)>> {
    let line = Line::to(hub).ok()?;
    let most = usize::try_from(LATEST_FEW).unwrap_or_default();
    let (runs, _) = line.list_asked(request, most).await.ok()?;
    Some(
        runs.into_iter()
            .map(|run| (run.id, run.objective))
            .collect(),
    )
}

/// The ids that begin as typed, of those that a hub knows. None where there is no hub: a shell has no place for errors.
fn candidates(
    typed: &OsStr,
    known: impl AsyncFnOnce(String) -> Option<Vec<(String, String)>>,
) -> Vec<CompletionCandidate> {
    let flag = |name| flag(name, std::env::args());
    let layer = Layer {
        hub: flag("--hub"),
        ..Layer::default()
    };
    let config = flag("--config").map(PathBuf::from);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let (Some(typed), Ok(settings), Ok(runtime)) = (
        typed.to_str(),
        Settings::load(&layer, config.as_deref()),
        runtime,
    ) else {
        return Vec::new();
    };
    let known = runtime.block_on(async { timeout(PATIENCE, known(settings.hub)).await });
    // A look-up of a name goes on for longer.
    runtime.shutdown_background();
    let known = known.ok().flatten().unwrap_or_default().into_iter();
    let begin_so = known.filter(|(id, _)| id.starts_with(typed));
    begin_so
        .map(|(id, text)| {
            let text = cut(&text, HELP);
            let help = (!text.is_empty()).then(|| text.into());
            CompletionCandidate::new(id).help(help)
        })
        .collect()
}

/// The value of a flag on the unfinished command line.
fn flag(name: &str, args: impl Iterator<Item = String>) -> Option<String> {
    let mut args = args.skip_while(|arg| arg != "--");
    while let Some(arg) = args.next() {
        if arg == name {
            return args.next();
        }
        let value = arg
            .strip_prefix(name)
            .and_then(|rest| rest.strip_prefix('='));
        if let Some(value) = value {
            return Some(value.to_owned());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hub_of_a_command_line_is_asked() {
        let of = |line: &str| flag("--hub", line.split(' ').map(str::to_owned));
        let begins = "agenthub -- agenthub tasks show";
        assert_eq!(of(begins), None);
        assert_eq!(
            of(&format!("{begins} --hub http://a:1 x")).as_deref(),
            Some("http://a:1")
        );
        assert_eq!(
            of(&format!("{begins} --hub=http://a:1")).as_deref(),
            Some("http://a:1")
        );
    }
}

//! Completion of a command line in a shell: commands and flags, and the ids of agents, tasks and runs, which the hub is asked for.

use std::{ffi::OsStr, path::PathBuf, sync::OnceLock, time::Duration};

use agenthub_proto::{
    agenthub::{ListAgentsRequest, ListTasksRequest},
    cortex::ListRunsRequest,
};
use clap::Command;
use clap_complete::{CompleteEnv, CompletionCandidate};
use tokio::time::timeout;

use crate::{connect, ids::LATEST, output::cut, run::Line};

/// Set by the shell's script when it asks for completions.
pub const VARIABLE: &str = "AGENTHUB_COMPLETE";

/// Time in which the hub answers, or no ids are offered.
const PATIENCE: Duration = Duration::from_secs(1);

/// Tasks and runs that are looked at, the latest first.
const LATEST_FEW: i32 = 100;

/// Agents that are looked at, in order of their ids.
const AGENTS: i32 = 1000;

/// Characters of the text beside an id.
const HELP: usize = 60;

/// Flags of an unfinished command line that say where the hub is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Typed {
    /// `--hub`
    pub hub: Option<String>,
    /// `--config`
    pub config: Option<PathBuf>,
}

/// Finds the address of the hub that a command line means; `None` where its settings cannot be read.
pub type FindHub = fn(Typed) -> Option<String>;

/// Completers are functions without state, so this is the process's.
static FIND_HUB: OnceLock<FindHub> = OnceLock::new();

/// Answers the shell and ends the process, if this is a request for completions of this command.
pub fn answer(command: fn() -> Command, find_hub: FindHub) {
    // It is the same each time.
    let _ = FIND_HUB.set(find_hub);
    CompleteEnv::with_factory(command).var(VARIABLE).complete();
}

/// The agents.
pub fn agents(typed: &OsStr) -> Vec<CompletionCandidate> {
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
pub fn tasks(typed: &OsStr) -> Vec<CompletionCandidate> {
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
pub fn runs(typed: &OsStr) -> Vec<CompletionCandidate> {
    candidates(typed, async |hub| {
        let described = latest_runs(&hub, ListRunsRequest::default()).await?;
        let latest = (LATEST.to_owned(), "the latest run".to_owned());
        Some([latest].into_iter().chain(described).collect())
    })
}

/// The runs that wait for a person, with what they are to do.
pub fn runs_that_ask(typed: &OsStr) -> Vec<CompletionCandidate> {
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
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let hub = FIND_HUB
        .get()
        .and_then(|find_hub| find_hub(Typed::read(std::env::args().collect())));
    let (Some(typed), Some(hub), Ok(runtime)) = (typed.to_str(), hub, runtime) else {
        return Vec::new();
    };
    let known = runtime.block_on(async { timeout(PATIENCE, known(hub)).await });
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

impl Typed {
    fn read(args: Vec<String>) -> Self {
        Self {
            hub: flag("--hub", &args),
            config: flag("--config", &args).map(PathBuf::from),
        }
    }
}

/// The value of a flag on the unfinished command line.
fn flag(name: &str, args: &[String]) -> Option<String> {
    let mut args = args.iter().skip_while(|arg| *arg != "--");
    while let Some(arg) = args.next() {
        if arg == name {
            return args.next().cloned();
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
        let of = |line: &str| Typed::read(line.split(' ').map(str::to_owned).collect());
        let begins = "agenthub -- agenthub tasks show";
        assert_eq!(of(begins), Typed::default());
        let hub = Some("http://a:1".to_owned());
        let alone = Typed { hub, config: None };
        assert_eq!(of(&format!("{begins} --hub http://a:1 x")), alone);
        assert_eq!(of(&format!("{begins} --hub=http://a:1")), alone);
        let config = of(&format!("{begins} --config other.toml --hub=http://a:1"));
        assert_eq!(config.hub, alone.hub);
        assert_eq!(config.config, Some("other.toml".into()));
    }
}

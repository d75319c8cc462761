//! Answers to approvals of agents whose journals Cortex need not know: the hub sends them.

use agenthub_proto::{
    a2a::{Task, TaskState},
    agenthub::ListTasksRequest,
    cortex::Run,
};
use agenthub_sdk::{
    Agent, Client, Error,
    runs::{Decision, RunId},
};
use agenthub_terminal::{
    flags::Json,
    output,
    run::{Line, Trouble, user},
};
use anyhow::{Context, bail};
use serde_json::json;

use crate::cli;

/// The latest tasks of an agent that are over, among which that of a run is looked for.
const ENDED: i32 = 100;

/// Knowledge of a run.
enum Known {
    /// The run, as Cortex has it.
    Run(Box<Run>),
    /// Its task, as the hub has it.
    Task(TaskState),
    /// Neither Cortex nor the hub knows it.
    Nothing,
}

/// Has the hub send the agent that asks the answer to an approval. What it makes of it is in its journal.
///
/// # Errors
///
/// The run is known to be over or to wait for no such approval, or nobody knows it: nothing is sent.
pub(super) async fn send(
    line: &Line,
    hub: &str,
    (run, approval): (String, String),
    (approved, words): (bool, cli::Answer),
    json: Json,
) -> anyhow::Result<()> {
    let agent = words.agent.unwrap_or_default();
    let client = Client::builder(hub).connect().await?;
    let sent = async {
        client.agent(&*agent).await?;
        let known = known(line, &client, &agent, &run).await?;
        if let Some(why) = refusal(&known, (&agent, &run, &approval)) {
            bail!("{why}: nothing was sent");
        }
        let decision = Decision {
            approved,
            by: words.by.unwrap_or_else(user),
            comment: words.comment,
        };
        let run = RunId::new(&*run);
        let sent = client.operator().decide(&agent, &run, &approval, decision);
        Ok(sent.await?)
    };
    let sent: anyhow::Result<_> = sent.await;
    client.close().await;
    sent.with_context(|| format!("{agent} cannot be sent the answer"))?;
    match json.json {
        true => output::line(
            json!({ "runId": run, "approvalId": approval, "agent": agent, "approved": approved })
                .to_string(),
        )?,
        false => {
            let answer = match approved {
                true => "yes",
                false => "no",
            };
            output::line(output::plain(&format!(
                "{agent} is sent the {answer} to {approval} of run {run}"
            )))?;
        }
    }
    Ok(())
}

async fn known(line: &Line, client: &Client, agent: &str, run: &str) -> anyhow::Result<Known> {
    match line.get(run).await {
        Ok(run) => return Ok(Known::Run(Box::new(run))),
        // Its journal may be in another folder, and a hub may be without a Cortex.
        Err(Trouble::NotFound(_) | Trouble::NoCortex { .. } | Trouble::NotReady(_)) => {}
        Err(trouble) => return Err(trouble.into()),
    }
    let of_agent = |is_working: bool| ListTasksRequest {
        agent_id: agent.to_owned(),
        assigned: true,
        states: match is_working {
            true => vec![TaskState::Working.into(), TaskState::Submitted.into()],
            false => Vec::new(),
        },
        page_size: ENDED,
        ..Default::default()
    };
    let mut tasks = client.all_tasks(of_agent(true)).await?;
    tasks.extend(client.tasks(of_agent(false)).await?.tasks);
    for task in tasks {
        match client.task(&task.id, 0).await {
            Ok(whole) if is_of(&whole, agent, run) => return Ok(Known::Task(whole.state())),
            Ok(_) | Err(Error::NotFound(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Known::Nothing)
}

/// True if the run is the one that an agent makes of a message of this task.
fn is_of(task: &Task, agent: &str, run: &str) -> bool {
    let mut messages = task.history.iter();
    messages.any(|message| Agent::run_of(agent, &task.id, &message.message_id).as_str() == run)
}

/// The reason why an answer is not sent.
fn refusal(known: &Known, (agent, run, approval): (&str, &str, &str)) -> Option<String> {
    match known {
        Known::Run(known) => {
            let owner = &known.agent;
            let waits = known.approvals.iter().any(|asked| asked.id == approval);
            match (waits, &*known.state) {
                // A chat names the agent that it is with.
                (true, _) if owner != agent && known.mode != "chat" => {
                    Some(format!("run {run} is one of {owner}, not of {agent}"))
                }
                (true, _) => None,
                (false, state @ ("completed" | "failed" | "cancelled")) => Some(format!(
                    "run {run} is {state}, it waits for no answer any more"
                )),
                // What it asks is not known before it has begun.
                (false, "submitted") => None,
                (false, _) => Some(format!(
                    "approval {approval} of run {run} does not wait for a yes (any more)"
                )),
            }
        }
        Known::Task(state) if state.is_terminal() => Some(format!(
            "run {run} is over, its task is {}: it waits for no answer any more",
            state.label()
        )),
        Known::Task(_) => None,
        Known::Nothing => Some(format!("no task of {agent} is that of a run {run}")),
    }
}

#[cfg(test)]
mod tests {
    use agenthub_proto::cortex::Approval;

    use super::*;

    fn known(state: &str, approvals: &[&str]) -> Known {
        let asked = |id: &&str| Approval {
            id: (*id).to_owned(),
            ..Approval::default()
        };
        Known::Run(Box::new(Run {
            mode: "workflow".to_owned(),
            agent: "press".to_owned(),
            state: state.to_owned(),
            approvals: approvals.iter().map(asked).collect(),
            ..Run::default()
        }))
    }

    #[test]
    fn an_answer_goes_only_where_it_may_be_waited_for() {
        let why = |known: Known, agent| refusal(&known, (agent, "r", "a")).unwrap_or_default();
        assert_eq!(why(known("awaiting-approval", &["a"]), "press"), "");
        assert_eq!(why(Known::Task(TaskState::Working), "press"), "");
        let said = why(known("failed", &[]), "press");
        assert!(said.contains("is failed"), "{said}");
        let said = why(known("awaiting-approval", &["b"]), "press");
        assert!(said.contains("approval a of run r does not wait"), "{said}");
        let said = why(known("awaiting-approval", &["a"]), "agent_echo");
        assert!(said.contains("one of press, not of agent_echo"), "{said}");
        let said = why(Known::Task(TaskState::Failed), "press");
        assert!(said.contains("its task is failed"), "{said}");
        let said = why(Known::Nothing, "agent_echo");
        assert!(said.contains("no task of agent_echo"), "{said}");
    }
}

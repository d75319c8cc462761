//! The agent that carries out workflows.

use std::sync::Arc;

use agenthub_sdk::{
    Agent, AgentBuilder, Card, Failure, Message, Part, Reply, Role, Skill, TaskContext,
    durable::{Beginning, Conductor, Identity, Journal},
    proto::a2a::AgentCard,
    runs::{Budget, RunId, RunOutcome, Strategy, World},
};
use serde_json::{Value, json};

use crate::{
    bus::HubBus,
    connecting::Offers,
    input::{InputFault, filled},
    loading::read,
    strategy::{Input, WorkflowRun},
};

use super::{monitor::Monitor, request::RunRequest, world::RunWorld};

/// The agent's id if no other is given.
pub const NAME: &str = "workflows";

/// The skill by which it is asked, and the type of such tasks.
pub const RUN: &str = "workflow_run";

/// Runs that are at work at the same time, at most; further ones wait.
const CONCURRENCY: u32 = 256;

/// The agent that carries out workflows: each [`RunRequest`] that comes becomes a run in this journal.
pub fn agent(journal: Arc<dyn Journal>) -> AgentBuilder {
    let run = Skill::typed::<RunRequest, Value>(
        RUN,
        "Workflow run",
        "Carries out a workflow file with an input",
    )
    .tags(["workflow"]);
    let card = Card::new(NAME, "Carries out workflow files, step by step")
        .version(env!("CARGO_PKG_VERSION"))
        .skill(&run);
    Agent::worker(card)
        .watch_agents(true)
        .concurrency(CONCURRENCY)
        .journal(Arc::clone(&journal))
        .conduct(RUN, Arc::new(Workflows { journal }))
}

/// Makes a run of each request.
#[derive(Debug)]
struct Workflows {
    journal: Arc<dyn Journal>,
}

impl Conductor for Workflows {
    fn strategy(&self) -> &dyn Strategy {
        &WorkflowRun
    }

    /// spec: EXE-1.2, EXE-1.3
    fn begin(&self, task: &TaskContext) -> Result<Beginning, Failure> {
        if task.task_id().is_empty() {
            let why = "a run is a task: send the workflow with a task id";
            return Err(Failure::rejected(why));
        }
        let data = task.data().unwrap_or_default();
        let request: RunRequest = serde_json::from_value(data).map_err(|error| {
            Failure::rejected(format!("this is no request for a workflow: {error}"))
        })?;
        let known = task.client().directory().all();
        let cards: Vec<AgentCard> = known
            .into_iter()
            .map(|entry| entry.card.as_ref().clone())
            .collect();
        let document = Value::Object(request.workflow);
        let wrong = |faults: Vec<String>| Failure::rejected(faults.join("\n"));
        let workflow = read(&document, Some(&Offers::of(&cards))).map_err(wrong)?;
        let input = filled(&workflow, request.input).map_err(|faults| {
            let faults: Vec<String> = faults.iter().map(InputFault::to_string).collect();
            Failure::rejected(format!("the input does not fit: {}", faults.join("; ")))
        })?;
        Ok(Beginning {
            input: json!(Input {
                run: task.run_id().to_string(),
                workflow: document,
                input,
            }),
            budget: Budget {
                time_ms: workflow.timeout_ms,
                ..Budget::default()
            },
        })
    }

    fn world(&self, task: &TaskContext, run: &RunId) -> Arc<dyn World> {
        let bus = HubBus::new(task.client().clone());
        let monitor = Monitor::new(run.clone(), Arc::clone(&self.journal), Arc::new(bus));
        Arc::new(RunWorld::new(task.clone(), monitor))
    }

    fn identity(&self) -> Identity {
        Identity {
            workflow: WorkflowRun::NAME.to_owned(),
            ..Identity::default()
        }
    }

    /// The output as data, and in words.
    fn reply(&self, _: &TaskContext, outcome: &RunOutcome) -> Result<Reply, Failure> {
        match outcome {
            RunOutcome::Completed { text, data, .. } => {
                let mut message = Message::new(Role::Agent, text);
                message.content.push(Part::data(&data["output"]));
                Ok(message.into())
            }
            RunOutcome::Failed { error } => Err(Failure::failed(error)),
            RunOutcome::Cancelled { reason } => Err(Failure::cancelled(reason)),
        }
    }
}

//! The agent that carries out workflows.

use std::sync::Arc;

use agenthub_sdk::{
    Agent, AgentBuilder, Card, Failure, Message, Part, Reply, Role, Skill, TaskContext,
    durable::{Beginning, Conductor, ForkChanges, Identity, Journal},
    internal::position,
    proto::a2a::AgentCard,
    runs::{Budget, RunId, RunOutcome, Strategy, World, breakers::Breakers},
};
use serde_json::{Map, Value, json};

use crate::{
    RUN,
    connecting::Offers,
    input::{InputFault, filled},
    input_fields::InputFields,
    loading::read,
    model::Workflow,
    over_bus::{Beginnings, BusRoute},
    strategy::{Input, SINCE, WorkflowRun, before, outline},
};

use super::{
    children::Children,
    monitor::Monitor,
    request::RunRequest,
    secrets::SecretSource,
    taking::cut,
    world::{RunWorld, StepsOverBus},
};

/// The agent's id if no other is given.
pub const NAME: &str = "workflows";

/// Runs that are at work at the same time, at most; further ones wait.
pub(super) const CONCURRENCY: u32 = 256;

/// The agent that carries out workflows: each request, with a workflow and its input, becomes a run in this journal. `hub` is the address of the hub that
/// it is to be on. Steps go to their agents on this route, or over the hub; the secrets that they name are there.
pub fn agent(
    hub: &str,
    journal: Arc<dyn Journal>,
    route: Option<BusRoute>,
    secrets: SecretSource,
) -> AgentBuilder {
    agent_with(Children::new(hub), journal, route, secrets)
}

/// The same, for an executor of one run.
pub(crate) fn agent_of_run(
    hub: &str,
    journal: Arc<dyn Journal>,
    route: Option<BusRoute>,
    run: &RunId,
) -> AgentBuilder {
    let secrets = SecretSource::Variables;
    agent_with(Children::of_run(hub, run), journal, route, secrets)
}

fn agent_with(
    children: Children,
    journal: Arc<dyn Journal>,
    route: Option<BusRoute>,
    secrets: SecretSource,
) -> AgentBuilder {
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
        .conduct(
            RUN,
            Arc::new(Workflows {
                journal,
                route,
                breakers: Arc::default(),
                children: Arc::new(children),
                secrets,
            }),
        )
}

/// Makes a run of each request.
#[derive(Debug)]
struct Workflows {
    journal: Arc<dyn Journal>,
    route: Option<BusRoute>,
    breakers: Arc<Breakers>,
    children: Arc<Children>,
    secrets: SecretSource,
}

impl Conductor for Workflows {
    fn strategy(&self) -> &dyn Strategy {
        &WorkflowRun
    }

    /// spec: EXE-1.2, EXE-1.3
    fn begin(&self, task: &TaskContext) -> Result<Beginning, Failure> {
        let Some(data) = task.data().filter(Value::is_object) else {
            return Err(Failure::rejected(format!(
                "{NAME} takes a workflow as data (`workflow`, and its `input`), not words: `agenthub workflow run FILE` sends one"
            )));
        };
        let request: RunRequest = serde_json::from_value(data).map_err(|error| {
            Failure::rejected(format!("this is no request for a workflow: {error}"))
        })?;
        let words = task.message().text();
        let name = request.workflow.get("name").and_then(Value::as_str);
        let says_nothing =
            ["", name.unwrap_or_default(), WorkflowRun::NAME].contains(&words.trim());
        let unread = (!says_nothing).then(|| {
            format!(
                "nobody was handed the words “{}”: {NAME} takes a workflow as data",
                cut(words.trim())
            )
        });
        beginning(task, request, unread.into_iter().collect(), &self.secrets)
    }

    fn fork(&self, recorded: Value, changes: &ForkChanges) -> Result<Value, Failure> {
        of_fork(recorded, changes)
    }

    fn world(&self, task: &TaskContext, run: &RunId) -> Arc<dyn World> {
        let monitor = Monitor::of(task, run, &self.journal, self.route.as_ref());
        let breakers = Arc::clone(&self.breakers);
        let children = Arc::clone(&self.children);
        let over_bus = self.route.as_ref().map(|route| StepsOverBus {
            route: route.clone(),
            run: run.clone(),
            journal: Arc::clone(&self.journal),
            beginnings: Beginnings::default(),
        });
        let world = RunWorld::new(task.clone(), monitor, breakers, children);
        let world = world.secrets(self.secrets.clone());
        Arc::new(world.over_bus(over_bus))
    }

    fn identity(&self) -> Identity {
        Identity {
            workflow: WorkflowRun::NAME.to_owned(),
            ..Identity::default()
        }
    }

    /// The output as data, in the field `output`, and in words.
    fn reply(&self, _: &TaskContext, outcome: &RunOutcome) -> Result<Reply, Failure> {
        reply(outcome, |output| json!({ "output": output }))
    }
}

/// The beginning of a run, if workflow and input are right. `unread` says of parts of the request that the workflow has no use for, in a
/// sentence each.
pub(super) fn beginning(
    task: &TaskContext,
    request: RunRequest,
    mut unread: Vec<String>,
    secrets: &SecretSource,
) -> Result<Beginning, Failure> {
    if task.task_id().is_empty() {
        let why = "a run is a task: send the request with a task id";
        return Err(Failure::rejected(why));
    }
    let known = task.client().directory().all();
    let cards: Vec<AgentCard> = known
        .into_iter()
        .map(|entry| entry.card.as_ref().clone())
        .collect();
    let document = Value::Object(request.workflow);
    let wrong = |faults: Vec<String>| Failure::rejected(faults.join("\n"));
    let workflow = read(&document, Some(&Offers::of(&cards))).map_err(wrong)?;
    unread.extend(InputFields::of(&workflow).given_in_vain(&request.input));
    let unread = unread
        .into_iter()
        .map(|why| json!({"agent": workflow.name, "state": "completed", "lacks": why}));
    let unread = unread.collect();
    let input = fitting(&workflow, request.input)?;
    for name in workflow.secrets() {
        secrets.read(&name).map_err(Failure::rejected)?;
    }
    let retried = request.retries.unwrap_or_default();
    let reused = before(&workflow, retried.from.as_deref(), retried.steps);
    Ok(Beginning {
        input: json!(Input {
            run: task.run_id().to_string(),
            plan: outline(&workflow),
            workflow: document,
            input,
            reused: reused.map_err(Failure::rejected)?,
            since: since(task),
            resumes: (!retried.run.is_empty()).then_some(retried.run),
            unread,
        }),
        // The time is the workflow's own, so that what was done is taken back when it is over.
        budget: Budget::default(),
    })
}

/// Input of a fork: that of its run, with another input of the workflow if one is given.
///
/// # Errors
///
/// The reason why there is no fork.
pub(super) fn of_fork(recorded: Value, changes: &ForkChanges) -> Result<Value, Failure> {
    let foreign = [
        ("model", changes.model.is_some()),
        ("instructions", changes.instructions.is_some()),
    ];
    if let Some((field, _)) = foreign.into_iter().find(|(_, is_given)| *is_given) {
        let why =
            "a workflow asks no model: another model or other instructions are for its agents";
        return Err(Failure::rejected(why).at(field));
    }
    let Some(given) = &changes.input else {
        return Ok(recorded);
    };
    let Some(given) = given.as_object() else {
        return Err(Failure::rejected("the input of a workflow is an object").at("input"));
    };
    let mut input: Input = serde_json::from_value(recorded)
        .map_err(|error| Failure::rejected(format!("the run's input cannot be read: {error}")))?;
    let workflow =
        read(&input.workflow, None).map_err(|faults| Failure::rejected(faults.join("\n")))?;
    input.input = fitting(&workflow, given.clone())?;
    Ok(json!(input))
}

/// An input as its workflow takes it.
fn fitting(workflow: &Workflow, input: Map<String, Value>) -> Result<Value, Failure> {
    filled(workflow, input).map_err(|faults| {
        let faults: Vec<String> = faults.iter().map(InputFault::to_string).collect();
        Failure::rejected(format!("the input does not fit: {}", faults.join("; "))).at("input")
    })
}

/// The position in the hub's log since which events count: that of the run that has this one as a step, or of the request.
fn since(task: &TaskContext) -> String {
    match task.message().metadata_str(SINCE) {
        "" => position(task).to_owned(),
        given => given.to_owned(),
    }
}

/// The output as data, as `shaped` makes it, and in words.
pub(super) fn reply(
    outcome: &RunOutcome,
    shaped: impl FnOnce(&Value) -> Value,
) -> Result<Reply, Failure> {
    match outcome {
        RunOutcome::Completed { text, data, .. } => {
            let mut message = Message::new(Role::Agent, text);
            message.content.push(Part::data(&shaped(&data["output"])));
            let lacks = outcome
                .shortfall()
                .map(|lacks| Part::data(&lacks.to_json()));
            message.content.extend(lacks);
            Ok(message.into())
        }
        RunOutcome::Failed { error } => Err(Failure::failed(error)),
        RunOutcome::Cancelled { reason } => Err(Failure::cancelled(reason)),
    }
}

//! Makes app runs of briefs that come over the hub.

use std::sync::Arc;

use agenthub_sdk::{
    Failure, Reply, TaskContext,
    durable::{Beginning, Conductor, ForkChanges, Identity},
    proto::a2a::{Message, Part, Role},
    runs::{Budget, RunId, RunOutcome, Strategy, World},
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{kept::Input, specialists, strategy::Orchestrator, world::RunWorld};
use crate::{
    asked::Asked,
    brief::{Brief, Mode},
    chat::conduct,
    origin::context_of,
    principal::thread_of,
    shared::Shared,
};

/// Makes a run of each brief.
#[derive(Debug)]
pub(crate) struct Orchestrations(pub(crate) Arc<Shared>);

/// The brief of a message: its data part, or, from who only says something, the words as the objective.
///
/// # Errors
///
/// The reason why that is no brief in this mode.
pub(crate) fn asked(shared: &Shared, task: &TaskContext, mode: Mode) -> Result<Input, Failure> {
    if task.task_id().is_empty() {
        return Err(Failure::rejected(
            "a run is a task: send the brief with a task id",
        ));
    }
    let (brief, kept) = match Asked::of(task.message()) {
        Some(asked) => (asked.brief.clone(), Some(asked)),
        None => (of_words(task)?, None),
    };
    brief
        .check()
        .map_err(|fault| Failure::rejected(format!("the brief: {fault}")))?;
    if brief.mode != mode {
        return Err(Failure::rejected(
            "the brief's mode is not that of the task type",
        ));
    }
    let known = task.client().directory().all().into_iter();
    let cards: Vec<_> = known.map(|entry| entry.card).collect();
    brief
        .suits(&specialists::inputs(&cards))
        .map_err(|fault| Failure::rejected(format!("the brief: {fault}")))?;
    let brief = match mode {
        Mode::App => brief.with_payload_held_to(),
        Mode::Chat => brief,
    };
    let has_files = !brief.files.is_empty();
    let thread = context_of(task);
    let own = thread_of(task.on_behalf_of(), &thread);
    if let Err(other) = shared.live().hold_thread(&own, &task.run_id()) {
        let why = format!(
            "the run {other} is active in the thread {thread}: wait for its end, or cancel it"
        );
        return Err(Failure::rejected(why));
    }
    let handoff_ms = shared.settings.handoff_timeout.as_millis();
    Ok(Input {
        brief: Brief {
            series: brief.series.clone().or_else(|| Some(thread.clone())),
            thread_id: Some(thread),
            files: Vec::new(),
            ..brief
        },
        has_files,
        run: task.run_id().to_string(),
        resumes: kept.and_then(|asked| asked.resumes),
        handoff_ms: u64::try_from(handoff_ms).unwrap_or(u64::MAX),
    })
}

/// The brief of who does not send one as Cortex does: the data part, with the words as the objective where it has none.
fn of_words(task: &TaskContext) -> Result<Brief, Failure> {
    let parts = task.message().content.iter();
    if parts.filter(|part| part.as_text().is_none()).count() > 1 {
        return Err(Failure::rejected(
            "a brief is one piece of data, beside words: put all of it into that, and files as what is in them",
        ));
    }
    let mut data = task.data().unwrap_or_else(|| json!({}));
    if let Some(fields) = data.as_object_mut() {
        fields
            .entry("objective")
            .or_insert_with(|| task.text().into());
    }
    Brief::deserialize(&data)
        .map_err(|error| Failure::rejected(format!("the brief cannot be read: {error}")))
}

/// The beginning of a run that is asked for so.
pub(crate) fn beginning(input: &Input) -> Beginning {
    let budget = input.brief.budget;
    Beginning {
        input: json!(input),
        budget: Budget {
            tokens: budget.tokens,
            calls: budget.calls,
            time_ms: budget.time_ms,
            ..Budget::default()
        },
    }
}

/// Input of a fork: with another payload, if one is given.
///
/// # Errors
///
/// The reason why there is no fork.
pub(crate) fn of_fork(recorded: Value, changes: &ForkChanges) -> Result<Value, Failure> {
    conduct::no_instructions(changes)?;
    let mut input: Input = serde_json::from_value(recorded)
        .map_err(|error| Failure::rejected(format!("the run's input cannot be read: {error}")))?;
    match &changes.input {
        None => {}
        Some(Value::Object(payload)) => input.brief.payload = payload.clone(),
        Some(_) => {
            let why = "the input of a brief is its payload, an object";
            return Err(Failure::rejected(why).at("input"));
        }
    }
    input
        .brief
        .check()
        .map_err(|fault| Failure::rejected(format!("the brief: {fault}")).at("input"))?;
    Ok(json!(input))
}

impl Conductor for Orchestrations {
    fn strategy(&self) -> &dyn Strategy {
        &Orchestrator
    }

    fn begin(&self, task: &TaskContext) -> Result<Beginning, Failure> {
        Ok(beginning(&asked(&self.0, task, Mode::App)?))
    }

    fn fork(&self, recorded: Value, changes: &ForkChanges) -> Result<Value, Failure> {
        of_fork(recorded, changes)
    }

    fn identity(&self) -> Identity {
        Identity {
            workflow: Orchestrator.name().to_owned(),
            ..conduct::identity(&self.0.settings)
        }
    }

    fn world(&self, task: &TaskContext, run: &RunId) -> Arc<dyn World> {
        Arc::new(RunWorld::new(
            Arc::clone(&self.0),
            task.clone(),
            run.clone(),
            Mode::App,
        ))
    }

    /// The bundle as data, and in words what was done.
    fn reply(&self, _: &TaskContext, outcome: &RunOutcome) -> Result<Reply, Failure> {
        match outcome {
            RunOutcome::Completed { text, data, .. } => {
                let mut message = Message::new(Role::Agent, text);
                message.content.push(Part::data(&data["bundle"]));
                Ok(message.into())
            }
            RunOutcome::Failed { error } => Err(Failure::failed(error)),
            RunOutcome::Cancelled { reason } => Err(Failure::cancelled(reason)),
        }
    }
}

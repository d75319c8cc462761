//! Runs of workflows that are asked for here: they are begun by the agent that carries workflows out.

use agenthub_sdk::{
    Agent, Client, Message, Part, Role, TraceContext,
    proto::agenthub::AgentEventMetadata,
    runs::{RunId, RunStarted, workflow_step::RUN},
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use utoipa::ToSchema;
use uuid::Uuid;

use super::{
    Inner,
    asking::{AskedRun, Refusal, submitted},
    error::Error,
    forking::beginning,
    resources::StartedRun,
    steps::EndedSteps,
    viewer::{FoundRun, Viewer},
};

/// Mode of the runs: the name of their strategy.
pub(super) const MODE: &str = "workflow";

/// The space of the ids that follow from idempotency keys. It never changes.
const KEYS: Uuid = Uuid::from_u128(0x61c1_9f02_8d3b_4f0e_a7b5_20c4_d9e8_5a17);

/// Field of a request with the run that it goes on from.
const RETRIES: &str = "retries";

/// A workflow to carry out, and its input.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WorkflowRequest {
    /// The workflow, as a file has it.
    #[schema(value_type = Object)]
    pub(crate) workflow: Map<String, Value>,
    /// Its input. Defaults of the workflow's schema are filled in.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub(crate) input: Map<String, Value>,
    /// The run that it goes on from.
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    #[schema(ignore)]
    pub(super) retries: Option<Retried>,
}

/// An earlier run of the same workflow. What stands of it is not done again.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(super) struct Retried {
    run: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    steps: EndedSteps,
}

impl WorkflowRequest {
    /// A request of a first run.
    pub(crate) fn new(workflow: Map<String, Value>, input: Map<String, Value>) -> Self {
        Self {
            workflow,
            input,
            retries: None,
        }
    }

    /// The name of the workflow, for people.
    fn name(&self) -> &str {
        let name = self.workflow.get("name").and_then(Value::as_str);
        name.unwrap_or(MODE)
    }

    /// The message that asks an agent for the run, and its envelope.
    fn message(
        &self,
        agent: &str,
        task_id: &str,
        principal: &str,
        trace: Option<TraceContext>,
    ) -> (Message, AgentEventMetadata) {
        let message = Message {
            message_id: task_id.to_owned(),
            context_id: task_id.to_owned(),
            task_id: task_id.to_owned(),
            role: Role::User.into(),
            content: vec![Part::text(self.name()), Part::data(&json!(self))],
            ..Message::default()
        };
        let routing = AgentEventMetadata {
            to_agent_id: agent.to_owned(),
            traceparent: trace.unwrap_or_else(TraceContext::start).to_string(),
            idempotency_key: task_id.to_owned(),
            on_behalf_of: principal.to_owned(),
            ..AgentEventMetadata::default()
        };
        (message.with_metadata("task_type", RUN), routing)
    }
}

impl Inner {
    /// Starts a run of a workflow, or finds the one that was started under the same key. Returns when it has begun or after 5 s.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] with all that is wrong with workflow and input, [`Error::KeyReused`], [`Error::Unavailable`].
    pub(super) async fn carry_out(
        &self,
        viewer: &Viewer,
        asked: WorkflowRequest,
        key: Option<&str>,
        trace: Option<TraceContext>,
    ) -> Result<StartedRun, Error> {
        let client = self.cortex.client();
        let agent = executor(client).ok_or_else(|| {
            let why = "no agent that carries workflows out is here: start `agenthub up`";
            Error::Unavailable(why.to_owned())
        })?;
        let task_id = match key {
            Some(key) => Uuid::new_v5(&KEYS, viewer.key(key).as_bytes()),
            None => Uuid::now_v7(),
        };
        let task_id = task_id.to_string();
        let run = Agent::run_of(&agent, &task_id, &task_id);
        if let Some(key) = key
            && let Some(started) = self.started_as(key, &run, &asked).await?
        {
            return Ok(started);
        }
        let (message, routing) = asked.message(&agent, &task_id, viewer.principal(), trace);
        let view = submitted(&run, (MODE, &agent), &task_id, asked.name());
        let asked = AskedRun {
            message,
            routing,
            run,
            view,
            key: key.map(str::to_owned),
        };
        self.ask_for(asked, invalid).await
    }

    /// Starts a workflow again that has ended, as another run, or finds the one that was started so under the same key. Of the steps before `from`
    /// those are not done again that asked for the same and came to something; without `from`, of all.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], [`Error::Active`], [`Error::Unsuitable`] for a run of another kind, and those of [`carry_out`](Self::carry_out).
    pub(super) async fn retry(
        &self,
        viewer: &Viewer,
        found: &FoundRun,
        (from, input): (Option<String>, Option<Map<String, Value>>),
        key: Option<&str>,
    ) -> Result<StartedRun, Error> {
        let view = self.view_of(found).await?;
        let id = found.run.as_str();
        if view.mode != MODE {
            let why = format!("run {id} carries no workflow out: see `agenthub runs resume`");
            return Err(Error::Unsuitable(why));
        }
        if !view.state.is_over() {
            return Err(Error::Active {
                run: id.to_owned(),
                state: view.state.label().to_owned(),
            });
        }
        let (shelf, run) = self.recorded(found).await?;
        let started = beginning(&shelf, &run).await?;
        let before = started.as_ref().and_then(|started| {
            let mut data = asked_for(started)?;
            // A run again is one of the same workflow.
            data.as_object_mut()?.remove(RETRIES);
            let asked = WorkflowRequest::deserialize(data).ok()?;
            // A fork began with the message of another run, whose input it may have changed.
            let own = Agent::fork_of(started).and(started.input["input"].as_object());
            Some(WorkflowRequest {
                input: own.cloned().unwrap_or(asked.input),
                ..asked
            })
        });
        let Some(before) = before else {
            let why = format!("run {id} does not say which workflow it was");
            return Err(Error::Unsuitable(why));
        };
        let asked = WorkflowRequest {
            workflow: before.workflow,
            input: input.unwrap_or(before.input),
            retries: Some(Retried {
                run: id.to_owned(),
                from,
                steps: shelf.ended_steps(&run).await?,
            }),
        };
        self.carry_out(viewer, asked, key, None).await
    }

    /// The run that was started under a key, if there is one.
    async fn started_as(
        &self,
        key: &str,
        run: &RunId,
        asked: &WorkflowRequest,
    ) -> Result<Option<StartedRun>, Error> {
        let (shelf, run) = match self.find(run.as_str()).await {
            Ok(found) => found,
            Err(Error::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        let before = beginning(&shelf, &run).await?;
        let before = before.as_ref().and_then(asked_for);
        // Numbers may have another form once they were in a message.
        let now = Part::data(&json!(asked));
        let now = Message {
            content: vec![now],
            ..Message::default()
        };
        if before.map(without_results) != now.data().next().map(without_results) {
            return Err(Error::KeyReused {
                key: key.to_owned(),
                run: run.to_string(),
            });
        }
        let run = self.get(run.as_str()).await?;
        Ok(Some(StartedRun { run, is_new: false }))
    }
}

/// The data of the message that a run began with.
fn asked_for(started: &RunStarted) -> Option<Value> {
    Agent::message_of(started)?.data().next()
}

/// A request as it is compared with another: without the results that stand, which follow from the run that it goes on from.
fn without_results(mut data: Value) -> Value {
    if let Some(retries) = data.get_mut(RETRIES).and_then(Value::as_object_mut) {
        retries.remove("steps");
    }
    data
}

fn invalid(Refusal { why, .. }: Refusal) -> Error {
    Error::Invalid {
        at: MODE.to_owned(),
        why: format!("is not carried out: {why}"),
    }
}

/// The agent that carries workflows out; one that is online goes before one that is away.
fn executor(client: &Client) -> Option<String> {
    let known = client.directory().all();
    let mut able: Vec<_> = known
        .iter()
        .filter(|entry| entry.card.skills.iter().any(|skill| skill.id == RUN))
        .collect();
    able.sort_by_key(|entry| !entry.online);
    able.first().map(|entry| entry.card.name.clone())
}

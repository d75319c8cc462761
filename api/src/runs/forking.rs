//! Forks: runs that go on from an event of another one. The agent that has the run makes them; here it is asked.

use agenthub_cortex::CORTEX;
use agenthub_sdk::{
    Agent, Message,
    durable::{ForkChanges, ForkRequest},
    proto::agenthub::AgentEventMetadata,
    runs::{RunEvent, RunId, RunStarted},
};
use uuid::Uuid;

use super::{
    Inner,
    asking::{AskedRun, submitted},
    error::Error,
    reading::Shelf,
    resources::{ForkedView, RunView, StartedRun},
    viewer::{FoundRun, Viewer},
};

/// The space of the ids that follow from idempotency keys. It never changes.
const KEYS: Uuid = Uuid::from_u128(0x3d7e_60b4_2c19_4b8a_9f35_71ce_0a4d_82f6);

/// Metadata of a message that concerns the task that it was part of, and no other.
const OF_TASK: [&str; 2] = ["parent_task_id", "correlation_id"];

impl Inner {
    /// Starts a run that begins with what another had recorded up to an event, or finds the one that was started so under the same key. Returns when
    /// it has begun or after 5 s.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], [`Error::Invalid`] with the agent's reason, [`Error::Unsuitable`] for a run that was not asked for over the hub,
    /// [`Error::KeyReused`], [`Error::Unavailable`].
    pub(super) async fn fork(
        &self,
        viewer: &Viewer,
        found: &FoundRun,
        (at, changes): (u64, ForkChanges),
        key: Option<&str>,
    ) -> Result<StartedRun, Error> {
        let (shelf, source) = self.recorded(found).await?;
        let id = found.run.as_str();
        let unsuitable = || {
            let why = format!("run {id} was not asked for over the hub, and cannot be forked");
            Error::Unsuitable(why)
        };
        let started = beginning(&shelf, &source).await?.ok_or_else(unsuitable)?;
        let message = Agent::message_of(&started).filter(|message| !message.task_id.is_empty());
        let message = message.ok_or_else(unsuitable)?;
        let before = Agent::fork_of(&started).and_then(|fork| fork.changes.model);
        let request = ForkRequest {
            run: source,
            at,
            changes: ForkChanges {
                model: changes.model.or(before),
                ..changes
            },
        };
        let agent = match &*shelf.owner {
            "" => CORTEX.to_owned(),
            owner => owner.to_owned(),
        };
        let task_id = match key {
            Some(key) => {
                let key = viewer.key(&format!("{agent}\n{key}"));
                Uuid::new_v5(&KEYS, key.as_bytes())
            }
            None => Uuid::now_v7(),
        };
        let task_id = task_id.to_string();
        let run = Agent::run_of(&agent, &task_id, &task_id);
        if let Some(key) = key
            && let Some(started) = self.forked_as(key, &run, &request).await?
        {
            return Ok(started);
        }
        let known = shelf.known(&request.run).await?.view();
        let view = RunView {
            forked: Some(ForkedView {
                run: request.run.to_string(),
                at,
            }),
            ..submitted(&run, (&known.mode, &agent), &task_id, &known.objective)
        };
        let asked = AskedRun {
            message: again(message, &task_id, &request),
            routing: AgentEventMetadata {
                to_agent_id: agent,
                idempotency_key: task_id,
                on_behalf_of: viewer.principal().to_owned(),
                ..AgentEventMetadata::default()
            },
            run,
            view,
            key: key.map(str::to_owned),
        };
        self.ask_for(asked, |refusal| Error::FieldRefused {
            at: refusal.field.unwrap_or_else(|| "at".to_owned()),
            why: refusal.why,
        })
        .await
    }

    /// The fork that was started under a key, if there is one.
    async fn forked_as(
        &self,
        key: &str,
        run: &RunId,
        request: &ForkRequest,
    ) -> Result<Option<StartedRun>, Error> {
        let (shelf, run) = match self.find(run.as_str()).await {
            Ok(found) => found,
            Err(Error::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        let before = beginning(&shelf, &run).await?;
        if before.as_ref().and_then(Agent::fork_of).as_ref() != Some(request) {
            return Err(Error::KeyReused {
                key: key.to_owned(),
                run: run.to_string(),
            });
        }
        let run = self.get(run.as_str()).await?;
        Ok(Some(StartedRun { run, is_new: false }))
    }
}

pub(super) async fn beginning(shelf: &Shelf, run: &RunId) -> Result<Option<RunStarted>, Error> {
    let first = shelf.read(run, 0, 1).await?.into_iter().next();
    Ok(match first.map(|first| first.event) {
        Some(RunEvent::Started(started)) => Some(started),
        _ => None,
    })
}

/// The message that a run began with, for a fork that is a task and a conversation of its own.
fn again(message: Message, task_id: &str, request: &ForkRequest) -> Message {
    let mut message = Message {
        message_id: task_id.to_owned(),
        context_id: task_id.to_owned(),
        task_id: task_id.to_owned(),
        ..message
    };
    if let Some(metadata) = &mut message.metadata {
        for name in OF_TASK {
            metadata.fields.remove(name);
        }
    }
    request.in_message(message)
}

#[cfg(test)]
mod tests {
    use agenthub_sdk::Role;

    use super::*;

    #[test]
    fn a_fork_is_asked_for_as_its_run_was_under_ids_of_its_own() {
        let asked = Message {
            message_id: "m".into(),
            context_id: "c".into(),
            task_id: "t".into(),
            ..Message::new(Role::User, "hello")
        }
        .with_metadata("task_type", "chat_request")
        .with_metadata("parent_task_id", "p");
        let request = ForkRequest {
            run: RunId::new("r"),
            at: 7,
            changes: ForkChanges {
                input: Some(serde_json::json!({"n": 12_345_678_901_234_567_u64})),
                ..ForkChanges::default()
            },
        };
        let again = again(asked, "own", &request);
        assert_eq!(
            [&*again.message_id, &*again.context_id, &*again.task_id],
            ["own"; 3]
        );
        assert_eq!(
            (&*again.text(), again.task_type()),
            ("hello", "chat_request")
        );
        assert_eq!(again.metadata_str("parent_task_id"), "");
        assert_eq!(ForkRequest::of(&again), Some(request));
    }
}

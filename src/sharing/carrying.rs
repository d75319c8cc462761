//! The handler of a shared agent: a task of the one namespace becomes a task of the other, and its messages, questions and outcome go back and forth.
//!
//! The ids there follow from the ids here, so that a message that is delivered again, as after a crash, finds the task that it became.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use agenthub_access::Loan;
use agenthub_proto::{
    a2a::{Message, Role, TaskState},
    agenthub::AgentEventMetadata,
};
use agenthub_sdk::{
    ArtifactUpdate, Client, Delegation, Error, Failure, Outcome, Reply, TaskContext, TaskUpdate,
    Update,
    durable::HandedOver,
    internal::{add_use, follow_up},
};
use tokio::time::{sleep, timeout};
use uuid::Uuid;

/// Metadata of the message that asks: the task in the other namespace for which it is.
pub(super) const FOR_TASK: &str = "agenthub.shared.task";

/// The same: that namespace.
const FOR_NAMESPACE: &str = "agenthub.shared.namespace";

/// Time in which the agent is to be told that its task is cancelled: less than a handler has to end.
const CANCEL: Duration = Duration::from_secs(4);

/// Time for a task that has none.
const WITHOUT_DEADLINE: Duration = Duration::from_secs(7 * 24 * 3600);

/// Pauses between tries where the hub does not answer: the first, and the longest.
const PAUSE: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(15));

/// Messages of a task's history that are looked at for its outcome.
const HISTORY: i32 = 100;

/// Carries tasks of one loan.
pub(super) struct Carrier {
    loan: Loan,
    /// The client where the agent belongs.
    client: Client,
    /// Tasks there that have a handler.
    carried: Mutex<BTreeSet<String>>,
}

/// A task that has a handler, for as long as this lives.
struct Carried<'a> {
    carrier: &'a Carrier,
    id: &'a str,
}

impl Drop for Carried<'_> {
    fn drop(&mut self) {
        self.carrier.lock().remove(self.id);
    }
}

impl Carrier {
    pub(super) fn new(loan: Loan, client: Client) -> Self {
        Self {
            loan,
            client,
            carried: Mutex::default(),
        }
    }

    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    pub(super) fn has_work(&self) -> bool {
        !self.lock().is_empty()
    }

    pub(super) fn carries(&self, id: &str) -> bool {
        self.lock().contains(id)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.carried.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Carries a task there, and what comes of it back. Dropped at any point, it is taken up where it was when the message is delivered again.
    pub(super) async fn carry(self: Arc<Self>, task: TaskContext) -> Result<Reply, Failure> {
        if task.task_id().is_empty() && task.routing().to_agent_id.is_empty() {
            // It was said to everybody.
            return Ok(Reply::none());
        }
        let id = self.id_there(key(&task));
        self.lock().insert(id.clone());
        let _carried = Carried {
            carrier: &self,
            id: &id,
        };
        tokio::select! {
            biased;
            () = task.cancelled() => {}
            ended = self.ended(&task, &id) => {
                // One that is cancelled ends by itself, without telling the agent.
                if !task.cancellation().is_cancelled() {
                    return ended;
                }
            }
            () = self.pass_on(&task, &id) => {}
        }
        let recalled = self.client.recall(&id, "the task was cancelled");
        if timeout(CANCEL, recalled).await.is_err() {
            tracing::warn!(
                task = id,
                "a shared agent may go on with a task: it does not answer"
            );
        }
        Err(Failure::cancelled("the task was cancelled"))
    }

    async fn ended(&self, task: &TaskContext, id: &str) -> Result<Reply, Failure> {
        let delegation = self.delegation(task, id);
        let mut handed = self.hand_over(delegation).await?;
        let mut updates = handed.updates();
        let handed = handed.on_behalf_of(task).relaying_questions();
        let ended = handed.ended();
        let mut ended = Box::pin(ended);
        let result = loop {
            tokio::select! {
                biased;
                Some(update) = updates.next() => self.show(task, update).await?,
                result = &mut ended => break result,
            }
        };
        // What came at last came with the end.
        while let Some(update) = updates.next().await {
            self.show(task, update).await?;
        }
        let outcome = match self.client.task(id, HISTORY).await {
            Ok(there) => Outcome::of(&there),
            Err(error) => {
                tracing::warn!(%error, "a task of a shared agent is not known any more");
                return Err(Failure::failed(self.told(task, id, &result.error)));
            }
        };
        if let Some(used) = outcome.spent {
            // It counts for who asked, in its own namespace.
            add_use(task, used);
        }
        let why = match outcome.state.is_terminal() {
            true => self.told(task, id, &outcome.error),
            false => self.told(task, id, &result.error),
        };
        match outcome.state {
            TaskState::Completed => Ok(reply(outcome)),
            TaskState::Rejected => Err(Failure::rejected(why)),
            TaskState::Cancelled => Err(Failure::cancelled(why)),
            _ => Err(Failure::failed(why)),
        }
    }

    /// The message as it is asked there: for whom, and with ids that follow from those here.
    fn delegation(&self, task: &TaskContext, id: &str) -> Delegation {
        let mut delegation = Delegation::to(&*self.loan.agent)
            .capability(task.task_type())
            .content(task.message().content.clone())
            .context_id(self.id_there(task.context_id()))
            .task_id(id)
            .message_id(self.id_there(&task.message().message_id))
            .timeout(WITHOUT_DEADLINE)
            .budget(task.budget())
            .on_behalf_of(self.principal_there(task.on_behalf_of()))
            .hops(task.routing().hops.saturating_add(1))
            .trace(task.trace())
            .metadata(FOR_NAMESPACE, self.loan.to.as_str())
            .metadata(FOR_TASK, key(task));
        delegation.deadline = task.deadline();
        delegation
    }

    async fn hand_over(&self, delegation: Delegation) -> Result<HandedOver, Failure> {
        let mut pause = PAUSE.0;
        loop {
            // It may have been handed over by a process that has died, and be over.
            let failure = match self.client.hand_over(delegation.clone(), true).await {
                Ok(handed) => return Ok(handed),
                Err(failure) => failure,
            };
            let id = delegation.task_id.clone().unwrap_or_default();
            if !failure.is_retryable {
                // Words of that hub may name what only its own namespace is to know.
                tracing::warn!(
                    task = id,
                    agent = self.loan.name,
                    "a shared agent does not get a task: {failure}"
                );
                return Err(Failure::failed(format!(
                    "{} cannot be asked at present",
                    self.loan.name
                )));
            }
            sleep(pause).await;
            pause = (pause * 2).min(PAUSE.1);
        }
    }

    /// Shows what the agent shows while it works; what is missed here comes with the outcome.
    async fn show(&self, task: &TaskContext, update: Update) -> Result<(), Error> {
        match update {
            Update::Status(update) => {
                let status = update.status.unwrap_or_default();
                let text = status.update.as_ref().map(Message::text);
                let text = text.filter(|text| !text.is_empty());
                if let (TaskState::Working, Some(text)) = (status.state(), text) {
                    task.publish_update(TaskUpdate::new(text)).await?;
                }
            }
            Update::Artifact(update) => {
                let artifact = update.artifact.unwrap_or_default();
                let mut shown = ArtifactUpdate::new(artifact);
                if update.append {
                    shown = shown.append();
                }
                if update.last_chunk {
                    shown = shown.last_chunk();
                }
                task.publish_artifact(shown).await?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Carries there, without end, the messages that come while the agent is at work.
    async fn pass_on(&self, task: &TaskContext, id: &str) {
        loop {
            let next = follow_up(task).await;
            if let Some(message) = next.message() {
                let message = Message {
                    message_id: self.id_there(&message.message_id),
                    task_id: id.to_owned(),
                    context_id: self.id_there(task.context_id()),
                    role: Role::User.into(),
                    content: message.content.clone(),
                    ..Message::default()
                };
                let routing = AgentEventMetadata {
                    to_agent_id: self.loan.agent.clone(),
                    idempotency_key: message.message_id.clone(),
                    hops: task.routing().hops.saturating_add(1),
                    ..AgentEventMetadata::default()
                };
                self.tell(task, message, routing).await;
            }
            next.done().await;
        }
    }

    async fn tell(&self, task: &TaskContext, message: Message, routing: AgentEventMetadata) {
        let mut pause = PAUSE.0;
        loop {
            match self.client.publish(message.clone(), routing.clone()).await {
                Ok(_) => return,
                Err(error) if error.is_retryable() => {
                    sleep(error.retry_after().unwrap_or(pause)).await;
                    pause = (pause * 2).min(PAUSE.1);
                }
                Err(error) => {
                    tracing::warn!(%error, "a shared agent does not get a message");
                    // An error says that the task is not this handler's any more.
                    let said = TaskUpdate::new("the agent did not take a message");
                    let _ = task.publish_update(said).await;
                    return;
                }
            }
        }
    }

    /// The name there of a principal here.
    fn principal_there(&self, principal: &str) -> String {
        match principal {
            "" => String::new(),
            principal => agenthub_access::foreign(&self.loan.to, principal),
        }
    }

    /// The id there that follows from an id here.
    fn id_there(&self, id: &str) -> String {
        let Loan { from, to, name, .. } = &self.loan;
        let name = format!("{from}/{to}/{name}/{id}");
        Uuid::new_v5(&Uuid::NAMESPACE_OID, name.as_bytes()).to_string()
    }

    /// A reason why the agent did not do it, without ids of its namespace.
    fn told(&self, task: &TaskContext, id: &str, why: &str) -> String {
        let Loan { agent, name, .. } = &self.loan;
        let why = why.replace(id, key(task));
        let why = why.replace(self.client.agent_id(), "the requester");
        match why.contains(name.as_str()) {
            true => why,
            false => why.replace(agent.as_str(), name),
        }
    }
}

/// The reply that an outcome is. Artifacts that were shown before are the same again.
fn reply(outcome: Outcome) -> Reply {
    let message = outcome.message.map(|message| Message {
        content: message.content,
        ..Message::new(Role::Agent, "")
    });
    let reply = message.map_or_else(Reply::none, Reply::from);
    outcome.artifacts.into_iter().fold(reply, Reply::artifact)
}

/// The task by which the hub knows it; of a message without one, the message.
fn key(task: &TaskContext) -> &str {
    match task.task_id() {
        "" => &task.message().message_id,
        id => id,
    }
}

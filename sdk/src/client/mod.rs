//! A peer of the hub: it publishes, delegates and looks around.

mod builder;
mod calls;
mod events;

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use agenthub_proto::{
    a2a::Message,
    agenthub::{
        AgentEventMetadata, TaskArtifactUpdateEvent, TaskStatusUpdateEvent, publish::Payload,
    },
};
use tokio::{sync::watch, time::timeout};
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};

pub use builder::ClientBuilder;
pub(crate) use calls::{Calls, within};
pub use events::EventStream;

use crate::{
    Connection, Delegation, Directory, Error, MAX_HOPS, Outcome, Pending, Published,
    approvals::Approvals,
    connection::{Lease, Link, Scope, publish},
    deadline::Clock,
    pending::{Before, Entry, Table},
};

/// Deadline of a goodbye, with all that is still to be published.
const GOODBYE: Duration = Duration::from_secs(3);

/// A connection to the hub under an id of one's own. Cheap to clone; the clones share the connection.
///
/// It comes back by itself after a break or a restart of the hub, with growing waits up to 5 s, for as long as it takes.
/// [`close`](Self::close) says goodbye; dropping the last clone breaks the connection off without waiting for anything.
#[derive(Clone, Debug)]
pub struct Client {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    link: Link,
    calls: Calls,
    replies: Arc<Table>,
    directory: Directory,
    /// Of the agent's runs, if this is an agent's.
    approvals: Approvals,
    instance_id: String,
    clock: Clock,
    tasks: TaskTracker,
    closed: CancellationToken,
    _close_on_drop: DropGuard,
}

impl Client {
    /// Time that a publish may wait for its answer, a reconnect included.
    pub const PUBLISH_DEADLINE: Duration = Duration::from_secs(30);

    /// A client of the hub at this address, such as `http://127.0.0.1:50051`.
    pub fn builder(hub_url: impl Into<String>) -> ClientBuilder {
        ClientBuilder::new(hub_url.into())
    }

    /// The id that the hub knows this peer by.
    pub fn agent_id(&self) -> &str {
        self.inner.link.agent_id()
    }

    /// The id of this process, which stays the same over reconnects.
    pub fn instance_id(&self) -> &str {
        &self.inner.instance_id
    }

    /// The time, by the clock that deadlines are told by.
    pub(crate) fn now(&self) -> SystemTime {
        (self.inner.clock)()
    }

    /// The state of the connection, and its changes.
    pub fn connection(&self) -> watch::Receiver<Connection> {
        self.inner.link.connection()
    }

    /// The agents there are. Empty unless the client was built with `watch_agents`; who was there before comes in right after
    /// connecting ([`Directory::changed`] tells).
    pub fn directory(&self) -> Directory {
        self.inner.directory.clone()
    }

    /// Publishes a message. The sender is filled in; who gets it is up to `routing`. Once this returns, the hub has it for
    /// good. Waits through a reconnect.
    ///
    /// # Errors
    ///
    /// The hub's refusal; [`Error::Timeout`] after [`PUBLISH_DEADLINE`](Self::PUBLISH_DEADLINE), when it may still arrive;
    /// [`Error::Closed`]. Dropping the future does not take the publish back.
    pub async fn publish(
        &self,
        message: Message,
        routing: AgentEventMetadata,
    ) -> Result<Published, Error> {
        self.publish_payload(
            Payload::Message(message),
            routing,
            Scope::Any,
            Self::PUBLISH_DEADLINE,
        )
        .await
    }

    /// Reports the state of a task.
    ///
    /// # Errors
    ///
    /// As [`publish`](Self::publish).
    pub async fn publish_status(
        &self,
        update: TaskStatusUpdateEvent,
        routing: AgentEventMetadata,
    ) -> Result<Published, Error> {
        self.publish_payload(
            Payload::StatusUpdate(update),
            routing,
            Scope::Any,
            Self::PUBLISH_DEADLINE,
        )
        .await
    }

    /// Adds an artifact, or a chunk of one, to a task.
    ///
    /// # Errors
    ///
    /// As [`publish`](Self::publish).
    pub async fn publish_artifact(
        &self,
        update: TaskArtifactUpdateEvent,
        routing: AgentEventMetadata,
    ) -> Result<Published, Error> {
        self.publish_payload(
            Payload::ArtifactUpdate(update),
            routing,
            Scope::Any,
            Self::PUBLISH_DEADLINE,
        )
        .await
    }

    pub(crate) async fn publish_payload(
        &self,
        payload: Payload,
        mut routing: AgentEventMetadata,
        scope: Scope,
        within: Duration,
    ) -> Result<Published, Error> {
        if routing.from_agent_id.is_empty() {
            self.agent_id().clone_into(&mut routing.from_agent_id);
        }
        let publish = publish(payload, routing);
        self.inner.link.publish_one(publish, scope, within).await
    }

    /// Asks an agent, and waits for what becomes of it, five minutes at most.
    ///
    /// # Errors
    ///
    /// Those of [`delegate`](Self::delegate) and of [`Pending::outcome`]. That the agent fails is an [`Outcome`].
    pub async fn ask(
        &self,
        agent: impl Into<String>,
        text: impl Into<String>,
    ) -> Result<Outcome, Error> {
        let delegation = Delegation::to(agent).text(text);
        self.delegate(delegation).await?.outcome().await
    }

    /// Hands work to an agent. Returns when the hub has taken it.
    ///
    /// # Errors
    ///
    /// [`Error::TooManyHops`] past [`MAX_HOPS`]; [`Error::Conflict`] if the task is awaited already; else as [`publish`](Self::publish).
    pub async fn delegate(&self, delegation: Delegation) -> Result<Pending, Error> {
        if delegation.hops > MAX_HOPS {
            return Err(Error::TooManyHops {
                task_id: delegation.parent_task_id,
                max: MAX_HOPS,
            });
        }
        let before = match delegation.task_id {
            Some(_) => Before::GoesOn,
            None => Before::Nothing,
        };
        let delegation = delegation.with_ids();
        let within = delegation.left(self.now()).min(Self::PUBLISH_DEADLINE);
        self.ask_for(&delegation, before, within).await
    }

    /// Hands over what a step of a run sends out. Waits for the hub as long as the task may take. With `again` it may be there.
    pub(crate) async fn delegate_step(
        &self,
        delegation: &Delegation,
        again: bool,
    ) -> Result<Pending, Error> {
        let before = match again {
            true => Before::Asked,
            false => Before::Nothing,
        };
        let within = delegation.left(self.now());
        self.ask_for(delegation, before, within).await
    }

    async fn ask_for(
        &self,
        delegation: &Delegation,
        before: Before,
        within: Duration,
    ) -> Result<Pending, Error> {
        let now = self.now();
        let (message, routing) = delegation.to_wire(self.agent_id(), now);
        let asked = (&*delegation.agent, delegation.left(now));
        self.ask_with(message, routing, asked, before, within).await
    }

    /// Answers a question that is asked in a step of a run, and awaits what comes of the task then.
    pub(crate) async fn answer_step(
        &self,
        answer: Message,
        routing: AgentEventMetadata,
        step: &Delegation,
    ) -> Result<Pending, Error> {
        let left = step.left(self.now());
        let routing = AgentEventMetadata {
            idempotency_key: answer.message_id.clone(),
            ..routing
        };
        self.ask_with(answer, routing, (&step.agent, left), Before::GoesOn, left)
            .await
    }

    /// Publishes a message of a task and awaits its outcome. `asked` is the agent and the time that the task has.
    async fn ask_with(
        &self,
        message: Message,
        routing: AgentEventMetadata,
        (agent, left): (&str, Duration),
        before: Before,
        within: Duration,
    ) -> Result<Pending, Error> {
        let task_id = message.task_id.clone();
        let table = Arc::clone(&self.inner.replies);
        let ends = table.add(&task_id, agent, left, before)?;
        let pending = Pending {
            task_id: task_id.clone(),
            client: self.clone(),
            updates: Some(ends.updates),
            outcome: ends.outcome,
            _entry: Entry {
                table: Arc::clone(&table),
                task_id: task_id.clone(),
            },
            parent: None,
        };
        let connection = self.connection();
        let payload = Payload::Message(message);
        let published = self.publish_payload(payload, routing, Scope::Any, within);
        let (is_known, position) = match published.await {
            Ok(published) => (before == Before::Asked, published.position),
            // It has ended, or a hub that keeps less knows it in another form.
            Err(Error::Conflict(_)) if before == Before::Asked => (true, String::new()),
            Err(error) => return Err(error),
        };
        let may_have_missed = is_known || connection.has_changed().unwrap_or(true);
        table.accept(&task_id, &position, may_have_missed);
        Ok(pending)
    }

    /// Says goodbye, after what was published has been answered, and waits until all is over; takes 3 s at most. Clones of
    /// the client are closed too, and whoever waits for an outcome gets [`Error::Closed`].
    pub async fn close(&self) {
        self.leave(Vec::new(), "closed").await;
    }

    /// Waits until the connection is over for good; says why.
    pub(crate) fn closed(&self) -> impl Future<Output = String> + Send + use<> {
        let mut connection = self.connection();
        async move {
            let closed = connection.wait_for(|c| matches!(c, Connection::Closed { .. }));
            match closed.await.as_deref() {
                Ok(Connection::Closed { reason }) => reason.clone(),
                Ok(_) | Err(_) => "the client was closed".to_owned(),
            }
        }
    }

    /// Flushes, gives these deliveries back for others, says goodbye, and waits until all is over.
    pub(crate) async fn leave(&self, refuse: Vec<Lease>, reason: &str) {
        let leaving = async {
            // An error says that the connection is closed already.
            let _ = self.link().goodbye(refuse, reason).await;
            let mut connection = self.connection();
            let _ = connection
                .wait_for(|c| matches!(c, Connection::Closed { .. }))
                .await;
        };
        if timeout(GOODBYE, leaving).await.is_err() {
            tracing::debug!("the hub was not there to say goodbye to");
        }
        self.inner.closed.cancel();
        self.inner.tasks.close();
        self.inner.tasks.wait().await;
    }

    pub(crate) fn approvals(&self) -> &Approvals {
        &self.inner.approvals
    }

    pub(crate) fn calls(&self) -> &Calls {
        &self.inner.calls
    }

    pub(crate) fn link(&self) -> &Link {
        &self.inner.link
    }

    /// Work that ends with the connection.
    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let closed = self.inner.closed.clone();
        self.inner.tasks.spawn(async move {
            closed.run_until_cancelled(work).await;
        });
    }
}

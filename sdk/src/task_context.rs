//! The task that a handler works on, and the calls it can make meanwhile.

mod publishing;

use std::{
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::{Duration, SystemTime},
};

use agenthub_proto::{
    a2a::Message, agenthub::AgentEventMetadata, event::system_time, trace::TraceContext,
};
use agenthub_runs::{Budget, RunId, Spent};
use serde_json::{Map, Value};
use tokio::sync::RwLock;
use tokio_util::sync::CancellationToken;

use crate::{
    Agent, AgentType, Client, Delegation, Error, MAX_HOPS, Outcome, Pending,
    agent::{Asked, FollowUps, LentSlot, Questions, Slots, StopSignal},
    connection::Scope,
    correlation, usage,
};

/// The message that a handler was called with, and its task. Cheap to clone.
#[derive(Clone, Debug)]
pub struct TaskContext {
    pub(crate) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) message: Message,
    pub(crate) routing: AgentEventMetadata,
    pub(crate) attempt: u32,
    pub(crate) trace: TraceContext,
    pub(crate) client: Client,
    pub(crate) signal: Arc<StopSignal>,
    pub(crate) slots: Arc<Slots>,
    /// Stream in which the task's publishes are of use.
    pub(crate) scope: Scope,
    pub(crate) agent_type: AgentType,
    /// The run of this message began earlier, perhaps in another process.
    pub(crate) is_taken_up: bool,
    /// The run of this message, if it is one.
    pub(crate) run: OnceLock<RunId>,
    /// Position of the message in the hub's log, where it has just come.
    pub(crate) position: OnceLock<String>,
    /// Questions of this handling to its requester.
    pub(crate) asked: Asked,
    /// Places of the handlers that wait for answers.
    pub(crate) questions: Arc<Questions>,
    /// Messages of the task that came behind this one.
    pub(crate) follow_ups: Arc<FollowUps>,
    /// Use of models that the handler has told.
    pub(crate) used: Mutex<Spent>,
    /// Held for writing while a question of this message's run is out: its updates, which would say that it goes on, wait.
    pub(crate) floor: RwLock<()>,
}

impl TaskContext {
    /// Counts use of models by the handler.
    pub(crate) fn add_use(&self, used: Spent) {
        let mut known = self.lock_used();
        *known = known.plus(used);
    }

    /// Metadata of the task's end that tells what the handler used; nothing if it used nothing.
    pub(crate) fn told_use(&self) -> Map<String, Value> {
        let used = *self.lock_used();
        usage::told((used != Spent::default()).then_some(used), "")
    }

    fn lock_used(&self) -> MutexGuard<'_, Spent> {
        self.inner
            .used
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// The message.
    pub fn message(&self) -> &Message {
        &self.inner.message
    }

    /// The message's text parts, one under the other.
    pub fn text(&self) -> String {
        self.inner.message.text()
    }

    /// The message's first data part.
    pub fn data(&self) -> Option<Value> {
        self.inner.message.data().next()
    }

    /// The task type; empty if the message has none.
    pub fn task_type(&self) -> &str {
        self.inner.message.task_type()
    }

    /// The task; empty if the message belongs to none.
    pub fn task_id(&self) -> &str {
        &self.inner.message.task_id
    }

    /// The conversation; empty if the message belongs to none.
    pub fn context_id(&self) -> &str {
        &self.inner.message.context_id
    }

    /// Id of the request at the beginning of all this, in every process that does something for it: the message's `correlation_id`,
    /// or else its task, or the message itself. Delegations on behalf of this task carry it on.
    pub fn correlation_id(&self) -> &str {
        correlation::of(self.message())
    }

    /// Sender of the message; empty if unknown.
    pub fn sender(&self) -> &str {
        &self.inner.routing.from_agent_id
    }

    /// Envelope of the message: sender, recipient, hops, deadline.
    pub fn routing(&self) -> &AgentEventMetadata {
        &self.inner.routing
    }

    /// The principal who asked first for what this task is a part of; empty on a hub without identities.
    pub fn on_behalf_of(&self) -> &str {
        &self.inner.routing.on_behalf_of
    }

    /// 1 on the first delivery; more if an earlier one was not brought to an end.
    pub fn attempt(&self) -> u32 {
        self.inner.attempt
    }

    /// Time at which the hub will fail the task, by the clock of this machine.
    pub fn deadline(&self) -> Option<SystemTime> {
        system_time(self.inner.routing.deadline.as_ref()?)
    }

    /// Budget that the requester grants this task and everything that it leads to; its time is what is left until the deadline.
    pub fn budget(&self) -> Budget {
        let left = |at: SystemTime| at.duration_since(self.client().now()).unwrap_or_default();
        Budget {
            time_ms: self
                .deadline()
                .map(|at| u64::try_from(left(at).as_millis()).unwrap_or(u64::MAX)),
            ..self.granted()
        }
    }

    /// The same without the time, as it was sent.
    pub(crate) fn granted(&self) -> Budget {
        usage::from_wire(self.inner.routing.budget.as_ref())
    }

    /// Position of the message in the hub's log; empty if it is not known, as for a run that is taken up.
    pub(crate) fn position(&self) -> &str {
        self.inner.position.get().map_or("", String::as_str)
    }

    /// The run that a [`Conductor`](crate::Conductor) makes of this message, or would.
    pub fn run_id(&self) -> RunId {
        let derived = || {
            let Message {
                task_id,
                message_id,
                ..
            } = self.message();
            Agent::run_of(self.client().agent_id(), task_id, message_id)
        };
        self.inner.run.get().cloned().unwrap_or_else(derived)
    }

    /// Says which run it is. Only the first one counts.
    pub(crate) fn is_run(&self, run: &RunId) {
        self.inner.run.get_or_init(|| run.clone());
    }

    /// True if the run of this message was taken up, and began earlier.
    pub fn is_taken_up(&self) -> bool {
        self.inner.is_taken_up
    }

    /// The place in the trace that this handling is.
    pub fn trace(&self) -> TraceContext {
        self.inner.trace
    }

    /// The agent's connection. What is published with it is not bound to this task.
    pub fn client(&self) -> &Client {
        &self.inner.client
    }

    /// Cancelled when the task was cancelled or its deadline has passed. The handler is dropped 5 s later, and nothing that it
    /// still publishes leaves the agent.
    pub fn cancellation(&self) -> &CancellationToken {
        &self.inner.signal.token
    }

    /// Waits for [`cancellation`](Self::cancellation).
    pub async fn cancelled(&self) {
        self.cancellation().cancelled().await;
    }

    /// Asks an agent on behalf of this task, and waits for what becomes of it.
    ///
    /// # Errors
    ///
    /// Those of [`delegate`](Self::delegate) and [`Pending::outcome`].
    pub async fn ask(
        &self,
        agent: impl Into<String>,
        text: impl Into<String>,
    ) -> Result<Outcome, Error> {
        let delegation = Delegation::to(agent).text(text);
        self.delegate(delegation).await?.outcome().await
    }

    /// Hands work to an agent on behalf of this task: in its context unless another is given, within its deadline and budget, and as part
    /// of its trace. When this task is cancelled, [`Pending::outcome`] cancels the other and returns [`Error::Cancelled`].
    ///
    /// # Errors
    ///
    /// Those of [`Client::delegate`], and [`Error::Cancelled`].
    pub async fn delegate(&self, delegation: Delegation) -> Result<Pending, Error> {
        self.may_publish()?;
        let delegation = self.on_behalf(delegation, self.client().now())?;
        let mut pending = self.client().delegate(delegation).await?;
        pending.parent = Some(self.clone());
        Ok(pending)
    }

    /// Fills in what a delegation inherits from this task.
    fn on_behalf(&self, mut delegation: Delegation, now: SystemTime) -> Result<Delegation, Error> {
        let own = &self.inner.routing;
        delegation.hops = delegation.hops.max(own.hops.saturating_add(1));
        if delegation.hops > MAX_HOPS {
            return Err(Error::TooManyHops {
                task_id: self.task_id().to_owned(),
                max: MAX_HOPS,
            });
        }
        if delegation.context_id.is_empty() {
            self.context_id().clone_into(&mut delegation.context_id);
        }
        if delegation.parent_task_id.is_empty() {
            self.task_id().clone_into(&mut delegation.parent_task_id);
        }
        if delegation.on_behalf_of.is_empty() {
            delegation.on_behalf_of.clone_from(&own.on_behalf_of);
        }
        if let Some(deadline) = self.deadline() {
            let left = deadline.duration_since(now).unwrap_or(Duration::ZERO);
            delegation.timeout = delegation.timeout.min(left);
        }
        let granted = self.granted();
        let depth = match granted.depth {
            Some(0) => {
                return Err(Error::Denied(
                    "the budget of this task does not allow it to delegate".to_owned(),
                ));
            }
            depth => depth.map(|depth| depth - 1),
        };
        delegation.budget = delegation.budget.within(Budget { depth, ..granted });
        delegation.trace = Some(delegation.trace.unwrap_or_else(|| self.trace()));
        Ok(delegation.metadata(correlation::KEY, self.correlation_id()))
    }

    /// Lets the agent take another message while this handler waits.
    pub(crate) async fn lend_slot(&self) -> Option<LentSlot> {
        self.inner.slots.lend().await
    }

    /// Refuses once the task is no longer this handler's.
    pub(crate) fn may_publish(&self) -> Result<(), Error> {
        match self.inner.signal.why() {
            Some(why) => Err(Error::Cancelled(why.to_string())),
            None => Ok(()),
        }
    }

    /// True while a question of this message's run has no answer.
    pub(crate) fn is_asking(&self) -> bool {
        self.inner.floor.try_read().is_err()
    }

    pub(crate) fn scope(&self) -> Scope {
        self.inner.scope
    }
}

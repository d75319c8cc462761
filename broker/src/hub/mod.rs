//! The hub: a lock around its state, and the calls that services make. Nothing here waits for anything.

mod core;
mod directory;
mod hello;
mod opening;
mod publish;
mod sessions;
mod timekeeper;

use std::sync::{
    Arc, Mutex, MutexGuard,
    atomic::{AtomicBool, Ordering},
};

use agenthub_proto::{
    a2a::{AgentCard, Task, TaskState},
    agenthub::{AgentEntry, Hello, ListAgentsRequest, ListTasksRequest, ListTasksResponse},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use self::core::{Core, Now};
pub(crate) use self::{
    directory::Announce,
    opening::StreamRequest,
    publish::{Body, Receipt, Repetition},
    sessions::{End, Opened, Outgoing},
};
use crate::{
    Error,
    access::{Call, decide},
    caller::Caller,
    filter::known,
    id::{AgentId, SessionId, TaskId},
    limits,
    log::Registration,
    metrics::{Counters, Gauges},
    settings::Settings,
    tasks::Query,
};
use agenthub_proto::agenthub::AgentEventMetadata;

/// A hub. Cloning it gives another handle to the same hub.
#[derive(Clone, Debug)]
pub struct Hub {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    settings: Settings,
    core: Mutex<Core>,
    counters: Arc<Counters>,
    /// Names this hub's knowledge: it is another one after a restart.
    incarnation: String,
    is_draining: AtomicBool,
    stop: CancellationToken,
    tasks: TaskTracker,
}

impl Hub {
    /// Starts a hub that knows nothing yet. Needs a Tokio runtime; [`stop`](Self::stop) it in the end.
    pub fn start(settings: Settings) -> Self {
        let counters = Arc::new(Counters::default());
        let core = Core::new(settings.clone(), counters.clone());
        let hub = Self {
            shared: Arc::new(Shared {
                incarnation: core.log.id().to_string(),
                settings,
                core: Mutex::new(core),
                counters,
                is_draining: AtomicBool::new(false),
                stop: CancellationToken::new(),
                tasks: TaskTracker::new(),
            }),
        };
        let Shared { stop, tasks, .. } = &*hub.shared;
        tasks.spawn(timekeeper::keep_time(hub.clone(), stop.clone()));
        tasks.spawn(timekeeper::probe(hub.clone(), stop.clone()));
        hub
    }

    /// Ends every stream with a reason on which clients connect again, and opens no more.
    pub fn drain(&self) {
        self.shared.is_draining.store(true, Ordering::Relaxed);
        self.core().sessions.drain();
    }

    /// Whether [`drain`](Self::drain) was called.
    pub fn is_draining(&self) -> bool {
        self.shared.is_draining.load(Ordering::Relaxed)
    }

    /// Stops all that the hub does by itself, and waits until that has stopped.
    pub async fn stop(&self) {
        self.drain();
        self.shared.stop.cancel();
        self.shared.tasks.close();
        self.shared.tasks.wait().await;
    }

    /// Runs something that belongs to the hub, until it ends by itself or the hub stops.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let stop = self.shared.stop.clone();
        self.shared.tasks.spawn(async move {
            stop.run_until_cancelled_owned(task).await;
        });
    }

    fn admit(&self) -> Result<(), Error> {
        if self.is_draining() {
            return Err(Error::Unavailable(
                "the hub is shutting down; connect again".to_owned(),
            ));
        }
        Ok(())
    }

    /// The hub's numbers.
    pub fn settings(&self) -> &Settings {
        &self.shared.settings
    }

    pub(crate) fn incarnation(&self) -> &str {
        &self.shared.incarnation
    }

    pub(crate) fn counters(&self) -> &Counters {
        &self.shared.counters
    }

    pub(crate) fn gauges(&self) -> Gauges {
        let core = self.core();
        Gauges {
            agents: core.state.registry.len(),
            tasks: core.state.tasks.len(),
            mailboxes: core.state.mailboxes.len(),
            streams: core.sessions.len(),
        }
    }

    pub(crate) fn core(&self) -> MutexGuard<'_, Core> {
        self.shared
            .core
            .lock()
            .expect("no code panics while it holds the hub's lock")
    }

    pub(crate) fn publish(
        &self,
        caller: &Caller,
        body: Body,
        routing: AgentEventMetadata,
        repetition: Repetition,
    ) -> Result<Receipt, Error> {
        let result = self
            .core()
            .publish(caller, body, routing, repetition, Now::read());
        if result.is_err() {
            self.shared.counters.refused.inc();
        }
        result
    }

    pub(crate) fn register(
        &self,
        caller: &Caller,
        registration: Registration,
    ) -> Result<(), Error> {
        decide(Call::RegisterAgent, caller, "")?;
        self.core()
            .register(caller, registration, Announce::Always, Now::read())
            .map(|_told| ())
    }

    pub(crate) fn unregister(
        &self,
        caller: &Caller,
        agent: &str,
        reason: &str,
    ) -> Result<(), Error> {
        decide(Call::UnregisterAgent, caller, "")?;
        limits::required("agent_id", agent)?;
        limits::size("reason", reason.len())?;
        self.core()
            .unregister(caller, &agent.into(), reason, Now::read())
    }

    pub(crate) fn list_agents(
        &self,
        caller: &Caller,
        request: &ListAgentsRequest,
    ) -> Result<(Vec<AgentEntry>, String), Error> {
        decide(Call::ListAgents, caller, "")?;
        self.core().list_agents(request)
    }

    pub(crate) fn agent(&self, caller: &Caller, id: &str) -> Result<AgentEntry, Error> {
        decide(Call::GetAgent, caller, "")?;
        limits::required("agent_id", id)?;
        self.core().agent(id)
    }

    pub(crate) fn task(&self, caller: &Caller, id: &str, history: i32) -> Result<Task, Error> {
        decide(Call::GetTask, caller, "")?;
        limits::required("task_id", id)?;
        let core = self.core();
        let entry = core.state.tasks.get(id).ok_or_else(task_not_found)?;
        Ok(entry.with_history(history))
    }

    pub(crate) fn cancel_task(
        &self,
        caller: &Caller,
        id: &str,
        reason: &str,
    ) -> Result<Task, Error> {
        decide(Call::CancelTask, caller, "")?;
        limits::required("task_id", id)?;
        limits::size("reason", reason.len())?;
        let mut core = self.core();
        let entry = core.state.tasks.get(id).ok_or_else(task_not_found)?;
        if entry.is_terminal() {
            return Err(Error::FailedPrecondition(format!(
                "the task has ended ({}): it cannot be cancelled",
                entry.task().state().label()
            )));
        }
        let reason = if reason.is_empty() {
            "cancelled"
        } else {
            reason
        };
        core.end_task(&TaskId::from(id), TaskState::Cancelled, reason, Now::read());
        let entry = core.state.tasks.get(id).ok_or_else(task_not_found)?;
        Ok(entry.with_history(0))
    }

    pub(crate) fn list_tasks(
        &self,
        caller: &Caller,
        request: &ListTasksRequest,
    ) -> Result<ListTasksResponse, Error> {
        decide(Call::ListTasks, caller, "")?;
        let given = |text: &str| Some(text.to_owned()).filter(|t| !t.is_empty());
        let limit = match request.page_size {
            0 => 50,
            n => usize::try_from(n)
                .map_err(|_| {
                    Error::InvalidArgument(format!("page_size is {n}; 1 to 100, or 0 for 50"))
                })?
                .min(100),
        };
        let before = given(&request.page_token)
            .map(|token| {
                u64::from_str_radix(&token, 16).map_err(|_| {
                    Error::InvalidArgument(format!(
                        "page_token \"{token}\" is none; use next_page_token of the page before"
                    ))
                })
            })
            .transpose()?;
        let query = Query {
            agent: given(&request.agent_id).map(AgentId::from),
            context: given(&request.context_id),
            states: known(&request.states, "states", |n| TaskState::try_from(n).ok())?,
            before,
            limit,
        };
        let core = self.core();
        let (page, next) = core.state.tasks.list(&query);
        Ok(ListTasksResponse {
            tasks: page.into_iter().map(|e| e.with_history(0)).collect(),
            next_page_token: next.map(|n| format!("{n:x}")).unwrap_or_default(),
        })
    }

    pub(crate) fn card(&self, caller: &Caller) -> Result<AgentCard, Error> {
        decide(Call::GetAgentCard, caller, "")?;
        Ok(AgentCard {
            protocol_version: "0.2.9".to_owned(),
            name: "agenthub".to_owned(),
            description: "The hub where agents find each other and hand each other work".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            preferred_transport: "GRPC".to_owned(),
            capabilities: Some(agenthub_proto::a2a::AgentCapabilities {
                streaming: true,
                ..Default::default()
            }),
            ..Default::default()
        })
    }

    pub(crate) fn open_stream(
        &self,
        caller: &Caller,
        request: StreamRequest,
    ) -> Result<Session, Error> {
        self.admit()?;
        let opened = self.core().open_stream(caller, request, Now::read())?;
        Ok(self.session(caller, opened))
    }

    pub(crate) fn connect(&self, caller: &Caller, hello: Hello) -> Result<Session, Error> {
        self.admit()?;
        let opened = self.core().connect(caller, hello, Now::read())?;
        Ok(self.session(caller, opened))
    }

    fn session(&self, caller: &Caller, opened: Opened) -> Session {
        Session {
            hub: self.clone(),
            caller: caller.clone(),
            opened,
            said_goodbye: false,
        }
    }
}

fn task_not_found() -> Error {
    Error::NotFound("task not found".to_owned())
}

/// An open stream. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct Session {
    hub: Hub,
    caller: Caller,
    opened: Opened,
    said_goodbye: bool,
}

impl Session {
    fn id(&self) -> SessionId {
        self.opened.id
    }

    pub(crate) fn agent(&self) -> &AgentId {
        &self.opened.agent
    }

    /// Woken when there may be something to send.
    pub(crate) fn wake(&self) -> Arc<tokio::sync::Notify> {
        self.opened.wake.clone()
    }

    /// See [`Core::take`].
    pub(crate) fn take(&self, credits: &[u32], limit: usize) -> Outgoing {
        self.hub.core().take(self.id(), credits, limit, Now::read())
    }

    pub(crate) fn publish(
        &self,
        body: Body,
        routing: AgentEventMetadata,
    ) -> Result<Receipt, Error> {
        self.hub
            .publish(&self.caller, body, routing, Repetition::Refuse)
    }

    pub(crate) fn acknowledge(&self, subscription: u32, positions: &[String]) -> Result<(), Error> {
        self.hub.core().acknowledge(
            &self.caller,
            self.id(),
            subscription,
            positions,
            Now::read(),
        )
    }

    pub(crate) fn refuse(
        &self,
        subscription: u32,
        position: &str,
        delay: std::time::Duration,
        reason: &str,
    ) -> Result<(), Error> {
        self.hub.core().refuse(
            self.id(),
            subscription,
            position,
            delay,
            reason,
            Now::read(),
        )
    }

    pub(crate) fn extend(&self, subscription: u32, positions: &[String]) -> Result<(), Error> {
        self.hub
            .core()
            .extend(self.id(), subscription, positions, Now::read())
    }

    /// The peer goes for good: others get at once what it had.
    pub(crate) fn say_goodbye(&mut self) {
        self.said_goodbye = true;
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.hub
            .core()
            .close(self.id(), self.said_goodbye, Now::read());
    }
}

#[cfg(test)]
mod tests;

//! An agent at work.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use agenthub_proto::agenthub::RegisterAgentRequest;
use futures_util::future::BoxFuture;
use tokio::{sync::mpsc, task::JoinSet, time::timeout};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{
    Agent, AgentBuilder, InFlight, Slots,
    dispatcher::{Change, Dispatcher, LAST_WORDS},
    executing,
    handlers::Handlers,
    lost,
    own_runs::RunStarter,
    recovery,
    runs::Runs,
    wanted,
};
use crate::{
    Client, Error,
    connection::{Introduction, Lease, Work},
};

/// Time beyond its bound after which work that does not end is broken off.
const BREAK_OFF: Duration = Duration::from_secs(1);

/// An agent that is registered and works. Dropping it stops it without waiting for anything; its messages are delivered again
/// to others, later.
#[derive(Debug)]
pub struct RunningAgent {
    client: Client,
    dispatcher: JoinSet<Vec<Lease>>,
    stop: CancellationToken,
    changes: mpsc::Sender<Change>,
    starter: RunStarter,
    /// The version that the hub knows this instance by.
    version: Mutex<String>,
    /// The longest that the work may take to end.
    drain: Duration,
    _stop_on_drop: DropGuard,
}

impl RunningAgent {
    /// The agent's own connection.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Begins runs of the agent's own.
    pub fn run_starter(&self) -> RunStarter {
        self.starter.clone()
    }

    /// Takes no more work, waits for the handlers at work, 10 s unless the builder says otherwise, gives back what was not handled,
    /// says goodbye, and waits until all is over. Takes at most 7 s longer than the handlers may: what cannot end by itself, as when
    /// the hub is away and everything that waits for it is full, is broken off and delivered again later.
    pub async fn stop(mut self) {
        self.stop.cancel();
        let unhandled = match timeout(self.drain, self.dispatcher.join_next()).await {
            Ok(Some(Ok(unhandled))) => unhandled,
            Ok(Some(Err(_)) | None) => Vec::new(),
            Err(_) => {
                tracing::warn!("the work did not end in time and is broken off");
                self.dispatcher.abort_all();
                Vec::new()
            }
        };
        self.client.leave(unhandled, "the agent stops").await;
    }

    /// Makes another agent of it, of the same id: its card, its handlers, its model and all that goes with that. What is under way ends as it
    /// began; what comes from here on is for the other agent. How many messages are handled at a time, the journal, the spans and whether
    /// the directory is watched stay as they are. Where the hub is away, it learns of the card when it is back.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] for an agent of another id, [`Error::Closed`] for one that has stopped, and what the hub has against the card:
    /// then it stays as it is.
    pub async fn replace(&self, agent: Agent) -> Result<(), Error> {
        let parts = agent.parts;
        if parts.card.name != self.client.agent_id() {
            return Err(Error::Invalid(format!(
                "{} cannot become {}, which has another id",
                self.client.agent_id(),
                parts.card.name
            )));
        }
        let request = RegisterAgentRequest {
            agent_card: Some(parts.card.clone()),
            subscriptions: topics(&parts),
            health_check_url: parts.health_check_url.clone(),
            instance_id: self.client.instance_id().to_owned(),
        };
        let is_known = match self.client.register(request).await {
            Ok(()) => true,
            Err(error @ (Error::Unavailable(_) | Error::Timeout(_))) => {
                tracing::debug!(%error, "the hub learns of the card later");
                false
            }
            Err(error) => return Err(error),
        };
        let version = parts.card.version.clone();
        let before = {
            let mut known = self.version.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *known, version.clone())
        };
        let introduction = Introduction {
            card: parts.card.clone(),
            topics: topics(&parts),
            // A stream that lives on would keep from the hub what it has not heard of.
            is_at_once: before != version || !is_known,
        };
        self.client.link().introduce(introduction).await?;
        let change = Change {
            agent_type: parts.agent_type,
            handlers: Handlers::new(&parts.card, parts.handlers, parts.any),
        };
        let stopped = |_| Error::Closed("the agent has stopped".to_owned());
        self.changes.send(change).await.map_err(stopped)
    }

    /// Waits until the hub ends the connection for good; says why.
    pub async fn closed(&self) -> String {
        self.client.closed().await
    }
}

/// Starts an agent. An object, so that its work is compiled here and not where its start is polled.
pub(super) fn start(
    builder: AgentBuilder,
    hub_url: String,
) -> BoxFuture<'static, Result<RunningAgent, Error>> {
    Box::pin(connect(builder, hub_url))
}

async fn connect(builder: AgentBuilder, hub_url: String) -> Result<RunningAgent, Error> {
    let topics = topics(&builder);
    let handlers = Handlers::new(&builder.card, builder.handlers, builder.any);
    let version = builder.card.version.clone();
    let mut client = Client::builder(hub_url).watch_agents(builder.watch_agents);
    client.connector = builder.connector;
    if let Some(tls) = builder.tls {
        client = client.tls(tls);
    }
    if builder.bearer.is_some() {
        client.bearer = builder.bearer;
    }
    client.clock = builder.clock;
    match builder.duty.execution() {
        // A further connection of the agent, which does not speak for it.
        Some(execution) => {
            client.peer.agent_id.clone_from(&builder.card.name);
            client.peer.instance_id.clone_from(&execution.driver);
        }
        None => {
            client.peer.agent_id.clear();
            client.peer.topics = topics;
            client.peer.health_check_url = builder.health_check_url;
            client.peer.card = Some(builder.card);
        }
    }
    if let Some(instance_id) = builder.instance_id {
        client.peer.instance_id = instance_id;
    }
    if let Some(timeout) = builder.connect_timeout {
        client = client.connect_timeout(timeout);
    }

    let in_flight = Arc::new(InFlight::default());
    let most_in_hand = builder.concurrency as usize + builder.concurrency.max(16) as usize;
    let (deliveries, inbox) = mpsc::channel(most_in_hand);
    let work = Work {
        deliveries,
        in_flight: Arc::clone(&in_flight),
        credit: builder.concurrency,
        conversation: builder.duty.execution().map(|of| of.context.clone()),
    };
    let client = client.connect_with(Some(work)).await?;
    let drain = builder.drain_timeout + LAST_WORDS + BREAK_OFF;
    let stop = CancellationToken::new();
    let runs = Runs::new(
        client.agent_id(),
        client.instance_id(),
        builder.journal,
        builder.spans,
        builder.keep,
        builder.duty.clone(),
        stop.clone(),
    );
    let (found, orphans) = mpsc::channel(1);
    let (changes, changed) = mpsc::channel(1);
    let (start, starts) = mpsc::channel(1);
    let mut looking = JoinSet::new();
    match builder.duty.execution() {
        Some(execution) => {
            let execution = Arc::clone(execution);
            looking.spawn(executing::find(Arc::clone(&runs), execution, found));
        }
        None => {
            let most = builder.concurrency as usize;
            looking.spawn(recovery::find(Arc::clone(&runs), found, most));
            let in_flight = Arc::clone(&in_flight);
            looking.spawn(lost::fail(client.clone(), Arc::clone(&runs), in_flight));
        }
    }
    looking.spawn(wanted::watch(client.clone(), Arc::clone(&in_flight)));
    let dispatcher = Dispatcher {
        handlers,
        slots: Slots::new(client.link().clone(), builder.concurrency),
        client: client.clone(),
        questions: Arc::default(),
        agent_type: builder.agent_type,
        in_flight,
        drain_timeout: builder.drain_timeout,
        waiting: HashMap::new(),
        reading: HashMap::new(),
        working: JoinSet::new(),
        runs,
        orphans,
        starts,
        looking,
        changes: changed,
        adopted: 0,
        concurrency: builder.concurrency,
    };
    let mut running = JoinSet::new();
    running.spawn(dispatcher.run(inbox, stop.clone()));
    Ok(RunningAgent {
        client,
        dispatcher: running,
        changes,
        starter: RunStarter(start),
        version: Mutex::new(version),
        drain,
        _stop_on_drop: stop.clone().drop_guard(),
        stop,
    })
}

/// The task types that an agent registers for.
fn topics(agent: &AgentBuilder) -> Vec<String> {
    let handled = agent.handlers.iter().map(|(name, _)| name);
    let topics: BTreeSet<&String> = handled.chain(&agent.topics).collect();
    topics.into_iter().cloned().collect()
}

pub(super) async fn run_until(
    builder: AgentBuilder,
    hub_url: String,
    shutdown: impl Future,
) -> Result<(), Error> {
    let agent = start(builder, hub_url).await?;
    tracing::info!(agent = agent.client.agent_id(), "at work");
    let closed = tokio::select! {
        _ = shutdown => None,
        reason = agent.closed() => Some(reason),
    };
    agent.stop().await;
    match closed {
        None => Ok(()),
        Some(reason) => Err(Error::Closed(reason)),
    }
}

/// Waits for SIGTERM or SIGINT.
pub(super) async fn asked_to_stop() {
    let interrupted = async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let terminated = async {
            match signal(SignalKind::terminate()) {
                Ok(mut signal) => _ = signal.recv().await,
                Err(_) => std::future::pending().await,
            }
        };
        tokio::select! {
            () = interrupted => {}
            () = terminated => {}
        }
    }
    #[cfg(not(unix))]
    interrupted.await;
}

//! An agent at work.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
    time::Duration,
};

use tokio::{sync::mpsc, task::JoinSet, time::timeout};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{
    AgentBuilder, InFlight, Slots,
    dispatcher::{Dispatcher, LAST_WORDS},
    handlers::Handlers,
    recovery,
    routes::Routes,
    runs::Runs,
    wanted,
};
use crate::{
    Client, Connection, Error,
    connection::{Lease, Work},
};

/// How much longer than it should the work may take to end before it is broken off.
const BREAK_OFF: Duration = Duration::from_secs(1);

/// An agent that is registered and works. Dropping it stops it without waiting for anything; its messages are delivered again
/// to others, later.
#[derive(Debug)]
pub struct RunningAgent {
    client: Client,
    dispatcher: JoinSet<Vec<Lease>>,
    stop: CancellationToken,
    /// The longest that the work may take to end.
    drain: Duration,
    _stop_on_drop: DropGuard,
}

impl RunningAgent {
    /// The agent's own connection.
    pub fn client(&self) -> &Client {
        &self.client
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

    /// Waits until the hub ends the connection for good; says why.
    pub async fn closed(&self) -> String {
        let mut connection = self.client.connection();
        let closed = connection
            .wait_for(|c| matches!(c, Connection::Closed { .. }))
            .await;
        match closed.as_deref() {
            Ok(Connection::Closed { reason }) => reason.clone(),
            Ok(_) | Err(_) => "the client was closed".to_owned(),
        }
    }
}

pub(super) async fn start(builder: AgentBuilder, hub_url: String) -> Result<RunningAgent, Error> {
    let names: Vec<String> = builder.handlers.iter().map(|(n, _)| n.clone()).collect();
    let topics: BTreeSet<String> = names.iter().chain(&builder.topics).cloned().collect();
    let routes = Routes::new(&builder.card, names, builder.any.is_some());

    let mut client = Client::builder(hub_url).watch_agents(builder.watch_agents);
    client.connector = builder.connector;
    client.peer.agent_id.clear();
    client.peer.topics = topics.into_iter().collect();
    client.peer.health_check_url = builder.health_check_url;
    client.peer.card = Some(builder.card);
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
    };
    let client = client.connect_with(Some(work)).await?;
    let drain = builder.drain_timeout + LAST_WORDS + BREAK_OFF;
    let stop = CancellationToken::new();
    let runs = Runs::new(
        client.agent_id(),
        client.instance_id(),
        builder.journal,
        builder.spans,
        stop.clone(),
    );
    let (found, orphans) = mpsc::channel(1);
    let mut looking = JoinSet::new();
    looking.spawn(recovery::find(
        Arc::clone(&runs),
        found,
        builder.concurrency as usize,
    ));
    looking.spawn(wanted::watch(client.clone(), Arc::clone(&in_flight)));
    let dispatcher = Dispatcher {
        handlers: Handlers {
            routes,
            named: builder.handlers.into_iter().map(|(_, h)| h).collect(),
            any: builder.any,
        },
        slots: Slots::new(client.link().clone(), builder.concurrency),
        client: client.clone(),
        agent_type: builder.agent_type,
        in_flight,
        drain_timeout: builder.drain_timeout,
        waiting: HashMap::new(),
        working: JoinSet::new(),
        runs,
        orphans,
        looking,
        adopted: 0,
        concurrency: builder.concurrency,
    };
    let mut running = JoinSet::new();
    running.spawn(dispatcher.run(inbox, stop.clone()));
    Ok(RunningAgent {
        client,
        dispatcher: running,
        drain,
        _stop_on_drop: stop.clone().drop_guard(),
        stop,
    })
}

pub(super) async fn run(builder: AgentBuilder, hub_url: String) -> Result<(), Error> {
    let agent = start(builder, hub_url).await?;
    tracing::info!(agent = agent.client.agent_id(), "at work");
    let closed = tokio::select! {
        () = asked_to_stop() => None,
        reason = agent.closed() => Some(reason),
    };
    agent.stop().await;
    match closed {
        None => Ok(()),
        Some(reason) => Err(Error::Closed(reason)),
    }
}

/// Waits for SIGTERM or SIGINT.
async fn asked_to_stop() {
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

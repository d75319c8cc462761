//! The life of the connection: streams, one after the other, until somebody says goodbye.

use std::{sync::Arc, time::Duration};

use agenthub_proto::{
    a2a::AgentCard,
    agenthub::{AgentFrame, Hello, Refusal, Welcome},
    event,
    grpc::Transport,
    tls::ClientTls,
};
use tokio::{
    sync::{mpsc, watch},
    time::{Instant, sleep},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub(crate) use super::inbound::Work;
use super::{
    Connection, Dialed, Inbound, Lease, Link, backoff, dial,
    inbound::Notes,
    leases::{self, Leases},
    link::{Command, Introduction},
    outbox::Outbox,
    session::{self, End},
};
use crate::Error;

/// The orders that wait for the connection.
const COMMANDS: usize = 256;

/// A stream that held so long is no failure when it breaks.
const STEADY: Duration = Duration::from_secs(1);

/// Introduction of this process to the hub.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    pub(crate) url: String,
    /// Empty with a card.
    pub(crate) agent_id: String,
    pub(crate) card: Option<AgentCard>,
    pub(crate) instance_id: String,
    pub(crate) topics: Vec<String>,
    pub(crate) health_check_url: String,
    pub(crate) connect_timeout: Duration,
    pub(crate) tls: ClientTls,
}

impl Peer {
    /// The first frame of a stream.
    pub(crate) fn hello(&self, inbound: &Inbound) -> AgentFrame {
        AgentFrame {
            hello: Some(Hello {
                protocol_version: 2,
                agent_id: self.agent_id.clone(),
                agent_card: self.card.clone(),
                instance_id: self.instance_id.clone(),
                subscription: inbound.subscriptions(&self.instance_id),
                topics: self.topics.clone(),
                health_check_url: self.health_check_url.clone(),
            }),
            ..Default::default()
        }
    }
}

/// Everything that outlives a stream.
pub(super) struct State {
    pub(super) inbound: Inbound,
    pub(super) outbox: Outbox,
    pub(super) leases: Leases,
    pub(super) notes: Notes,
    pub(super) commands: mpsc::Receiver<Command>,
    pub(super) leaving: Option<Leaving>,
    /// The agent's description for the next stream, if it has changed.
    pub(super) introduced: Option<Introduction>,
    pub(super) epoch: u64,
    incarnation: String,
    connection: watch::Sender<Connection>,
}

/// A goodbye that was ordered.
pub(super) struct Leaving {
    pub(super) refuse: Vec<Lease>,
    pub(super) reason: String,
    pub(super) until: Instant,
}

/// Goes on with a stream that was welcomed, for as long as nobody says goodbye or cancels `closed`.
pub(crate) fn start(
    peer: Peer,
    transport: Transport,
    first: Dialed,
    inbound: Inbound,
    closed: CancellationToken,
    tasks: &TaskTracker,
) -> Link {
    let (commands, orders) = mpsc::channel(COMMANDS);
    let incarnation = first.welcome.hub_incarnation.clone();
    let (connection, watched) = watch::channel(Connection::Connected {
        incarnation: incarnation.clone(),
    });
    let link = Link {
        commands,
        connection: watched,
        agent_id: Arc::from(first.welcome.agent_id.as_str()),
    };
    let state = State {
        inbound,
        outbox: Outbox::default(),
        leases: Leases::default(),
        notes: Notes::default(),
        commands: orders,
        leaving: None,
        introduced: None,
        epoch: 0,
        incarnation,
        connection,
    };
    tasks.spawn(run(peer, transport, first, state, closed));
    link
}

async fn run(
    mut peer: Peer,
    transport: Transport,
    first: Dialed,
    mut state: State,
    closed: CancellationToken,
) {
    let mut dialed = first;
    let mut failures = 0;
    let reason = loop {
        state.welcomed(&dialed.welcome);
        let since = Instant::now();
        let reason = match session::run(&mut state, dialed, &closed).await {
            End::Broken(reason) => {
                tracing::warn!(url = peer.url, reason, "the connection to the hub broke");
                reason
            }
            End::Renewed => "the agent introduces itself anew".to_owned(),
            End::Closed(reason) => break reason,
        };
        if since.elapsed() >= STEADY {
            failures = 0;
        }
        let _ = state.connection.send(Connection::Reconnecting { reason });
        match reconnect(&mut peer, &transport, &mut state, &mut failures, &closed).await {
            Ok(again) => {
                tracing::info!(url = peer.url, "the connection to the hub is back");
                dialed = again;
            }
            Err(reason) => break reason,
        }
    };
    tracing::debug!(
        url = peer.url,
        reason,
        "the connection to the hub is closed"
    );
    state.outbox.close(&Error::Closed(reason.clone()));
    let _ = state.connection.send(Connection::Closed { reason });
}

/// Tries until the hub is back. The error is why there is no use in it.
async fn reconnect(
    peer: &mut Peer,
    transport: &Transport,
    state: &mut State,
    failures: &mut u32,
    closed: &CancellationToken,
) -> Result<Dialed, String> {
    let mut logged = None;
    loop {
        *failures = failures.saturating_add(1);
        let wait = sleep(backoff::delay(*failures, fastrand::f64()));
        tokio::pin!(wait);
        loop {
            tokio::select! {
                () = &mut wait => break,
                () = closed.cancelled() => return Err("the client was closed".to_owned()),
                command = state.commands.recv(), if !state.outbox.is_full() => match command {
                    Some(command) => state.order(command),
                    None => return Err("the client was closed".to_owned()),
                },
            }
            if let Some(leaving) = state.leaving.take() {
                return Err(leaving.reason);
            }
        }
        if let Some(Introduction { card, topics, .. }) = state.introduced.take() {
            (peer.card, peer.topics) = (Some(card), topics);
        }
        // The hello has all credit in it, what is still held, and the acknowledgements that the last stream may have lost.
        let hello = AgentFrame {
            extend: state.leases.extensions(),
            ack: leases::acks(state.leases.settled().iter()),
            ..peer.hello(&state.inbound)
        };
        state.notes = Notes::default();
        let dialing = dial(transport, &peer.url, &peer.tls, hello, peer.connect_timeout);
        match closed.run_until_cancelled(dialing).await {
            None => return Err("the client was closed".to_owned()),
            Some(Ok(dialed)) => return Ok(dialed),
            Some(Err(Error::Refused(reason))) => {
                tracing::error!(
                    url = peer.url,
                    reason,
                    "the hub does not take this peer back"
                );
                return Err(reason);
            }
            // It may be mended on either side, but hardly by itself.
            Some(Err(error @ Error::Insecure { .. })) if logged.as_ref() != Some(&error) => {
                tracing::warn!(url = peer.url, %error, "no connection yet");
                logged = Some(error);
            }
            Some(Err(error)) => tracing::debug!(url = peer.url, %error, "no connection yet"),
        }
    }
}

impl State {
    fn welcomed(&mut self, welcome: &Welcome) {
        self.outbox.restart(welcome.publish_credit);
        if let Some(directory) = &self.inbound.directory {
            let away_grace = welcome.away_grace.as_ref().and_then(event::duration);
            directory.begin_snapshot(away_grace);
        }
        if welcome.hub_incarnation != self.incarnation {
            self.incarnation.clone_from(&welcome.hub_incarnation);
            self.epoch += 1;
            self.leases.clear();
            self.notes.acks.clear();
            self.notes.refusals.clear();
            self.outbox.forget(self.epoch);
            if let Some(work) = &self.inbound.work {
                work.in_flight.lose_all();
            }
        }
        tracing::debug!(agent = welcome.agent_id, "connected to the hub");
        let incarnation = self.incarnation.clone();
        self.connection.send_if_modified(|connection| {
            let connected = Connection::Connected { incarnation };
            let changed = *connection != connected;
            *connection = connected;
            changed
        });
    }

    /// Takes an order; it is carried out as soon as the stream has room.
    pub(super) fn order(&mut self, command: Command) {
        match command {
            Command::Publish(batch) | Command::Linger { batch, .. }
                if batch.epoch.is_some_and(|e| e != self.epoch) =>
            {
                let error = "the hub restarted and no longer knows the task";
                batch.answer(Err(Error::Cancelled(error.to_owned())));
            }
            Command::Publish(batch) => self.outbox.push(batch),
            Command::Linger { task_id, batch } => {
                self.outbox.linger(task_id, batch, Instant::now());
            }
            Command::Ack(lease) if lease.epoch == self.epoch => {
                self.leases.settle(lease.clone());
                self.notes.acks.push(lease);
            }
            Command::Ack(_) => {}
            Command::Refuse(refused) if refused.lease.epoch == self.epoch => {
                self.leases.release(&refused.lease);
                self.notes.refusals.push(Refusal {
                    subscription: refused.lease.subscription,
                    position: refused.lease.position,
                    delay: refused.delay.try_into().ok(),
                    reason: refused.reason,
                });
            }
            Command::Refuse(_) => {}
            Command::Credit(messages) => self.inbound.more_work(messages, &mut self.notes),
            Command::Introduce(introduction) => self.introduced = Some(*introduction),
            Command::Goodbye { refuse, reason } => self.leave(refuse, reason),
        }
    }

    /// Flushes and goes.
    pub(super) fn leave(&mut self, refuse: Vec<Lease>, reason: String) {
        if self.leaving.is_none() {
            let until = Instant::now() + session::LEAVE;
            self.leaving = Some(Leaving {
                refuse,
                reason,
                until,
            });
        }
    }
}

//! Durable subscribers of mail, on raw `Connect` streams, which show positions. Each has one subscription and acknowledges after the
//! effect.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use agenthub_sdk::{
    Card,
    proto::agenthub::{
        Ack, AgentEvent, AgentFrame, Credit, EventKind, Extension, Filter, Heartbeat, Hello,
        HubFrame, Lifetime, Subscription, agent_event::Payload, agent_hub_client::AgentHubClient,
    },
};
use tokio::{
    sync::mpsc,
    time::{MissedTickBehavior, interval, sleep, timeout},
};
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::{Status, Streaming, transport::Endpoint};

use super::{board::Board, ledger::Witness, operation::Operation};

/// The subscriptions of each agent; each gets all of its mail.
pub(crate) const WITNESSES: [Witness; 2] = [
    Witness {
        name: "inbox",
        in_order: true,
    },
    Witness {
        name: "audit",
        in_order: true,
    },
];

/// Credit of a subscription.
const CREDIT: u32 = 64;
/// Deliveries handled and acknowledged together.
const BATCH: usize = 16;
/// Maximum time of handling a batch.
const WORK: Duration = Duration::from_millis(80);
const PAUSE: Duration = Duration::from_millis(20);
const HEARTBEAT: Duration = Duration::from_secs(2);
/// Timeout of any step with the hub.
const DEADLINE: Duration = Duration::from_secs(5);

/// A durable subscriber.
#[derive(Debug)]
pub(crate) struct Subscriber {
    agent: &'static str,
    /// Index of its subscription in [`WITNESSES`].
    witness: usize,
    url: String,
    board: Arc<Board>,
    rng: fastrand::Rng,
    /// Cancelled when the hub knows it.
    pub(crate) joined: CancellationToken,
    /// In order of arrival.
    held: VecDeque<AgentEvent>,
}

impl Subscriber {
    pub(crate) fn new(
        agent: &'static str,
        witness: usize,
        url: String,
        board: Arc<Board>,
        rng: fastrand::Rng,
    ) -> Self {
        Self {
            agent,
            witness,
            url,
            board,
            rng,
            joined: CancellationToken::new(),
            held: VecDeque::new(),
        }
    }

    /// Subscribes, and again after every break, until the run is over. In half of the cases it keeps its unhandled
    /// deliveries, and in the other half it forgets them.
    pub(crate) async fn run(mut self) {
        let over = self.board.over.clone();
        let working = async {
            loop {
                // However the stream ended, the next one begins.
                let _ = self.session().await;
                if self.rng.bool() {
                    self.held.clear();
                }
                sleep(PAUSE).await;
            }
        };
        over.run_until_cancelled(working).await;
    }

    async fn session(&mut self) -> Result<(), Status> {
        let (frames, mut incoming) = within(self.connect()).await?;
        self.joined.cancel();
        self.handle(&frames).await?;
        let mut heartbeat = interval(HEARTBEAT);
        heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                frame = incoming.message() => {
                    let frame = frame?.ok_or_else(|| Status::unavailable("the stream has ended"))?;
                    self.held.extend(frame.event);
                    self.handle(&frames).await?;
                }
                _ = heartbeat.tick() => {
                    let frame = AgentFrame {
                        heartbeat: Some(Heartbeat {}),
                        ..Default::default()
                    };
                    send(&frames, frame).await?;
                }
            }
        }
    }

    async fn connect(&self) -> Result<(mpsc::Sender<AgentFrame>, Streaming<HubFrame>), Status> {
        let channel = Endpoint::from_shared(self.url.clone())
            .map_err(|error| Status::invalid_argument(error.to_string()))?
            .connect()
            .await
            .map_err(|error| Status::unavailable(error.to_string()))?;
        let (frames, outgoing) = mpsc::channel(16);
        let claims = Extension {
            subscription: 0,
            position: self.positions(self.held.len()),
        };
        let first = AgentFrame {
            hello: Some(self.hello()),
            extend: vec![claims],
            ..Default::default()
        };
        send(&frames, first).await?;
        let mut incoming = AgentHubClient::new(channel)
            .connect(ReceiverStream::new(outgoing))
            .await?
            .into_inner();
        let welcome = incoming.message().await?.and_then(|frame| frame.welcome);
        welcome.ok_or_else(|| Status::unavailable("not welcomed"))?;
        Ok((frames, incoming))
    }

    fn hello(&self) -> Hello {
        let subscription = Subscription {
            name: WITNESSES[self.witness].name.to_owned(),
            lifetime: Lifetime::Durable.into(),
            filter: Some(Filter {
                kinds: vec![EventKind::Message.into()],
                ..Default::default()
            }),
            credit: CREDIT,
            ordered: false,
        };
        Hello {
            protocol_version: 1,
            agent_card: Some(Card::new(self.agent, "Takes the mail of a crash test").into()),
            instance_id: format!("{}-{}", self.agent, subscription.name),
            subscription: vec![subscription],
            ..Default::default()
        }
    }

    /// Positions of its first deliveries.
    fn positions(&self, count: usize) -> Vec<String> {
        let first = self.held.iter().take(count);
        first.map(|event| event.position.clone()).collect()
    }

    /// Handles all its deliveries, and acknowledges each batch after its effects.
    async fn handle(&mut self, frames: &mpsc::Sender<AgentFrame>) -> Result<(), Status> {
        while !self.held.is_empty() {
            let count = self.held.len().min(BATCH);
            self.held.iter().take(count).for_each(|e| self.effect(e));
            sleep(WORK.mul_f64(self.rng.f64())).await;
            let done = AgentFrame {
                ack: vec![Ack {
                    subscription: 0,
                    position: self.positions(count),
                }],
                credit: vec![Credit {
                    subscription: 0,
                    messages: u32::try_from(count).unwrap_or(u32::MAX),
                }],
                ..Default::default()
            };
            send(frames, done).await?;
            self.held.drain(..count);
        }
        Ok(())
    }

    /// Marks an event by its position: the same one again has no effect.
    fn effect(&self, event: &AgentEvent) {
        let Some(Payload::Message(message)) = &event.payload else {
            return;
        };
        let Ok(operation) = message.message_id.parse::<Operation>() else {
            return;
        };
        let mut ledger = self.board.ledger();
        let is_first = ledger.seen(operation, self.witness, &event.position);
        drop(ledger);
        if is_first && self.witness == 0 {
            self.board.ended(operation);
        }
    }
}

async fn send(frames: &mpsc::Sender<AgentFrame>, frame: AgentFrame) -> Result<(), Status> {
    let sending = async {
        let sent = frames.send(frame).await;
        sent.map_err(|_| Status::unavailable("the stream broke"))
    };
    within(sending).await
}

async fn within<T>(step: impl Future<Output = Result<T, Status>>) -> Result<T, Status> {
    let done = timeout(DEADLINE, step).await;
    done.unwrap_or_else(|_| Err(Status::deadline_exceeded("the hub takes too long")))
}

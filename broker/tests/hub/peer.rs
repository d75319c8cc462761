//! A peer of `Connect`: sends the test's frames and sorts the responses.

use std::{collections::VecDeque, time::Duration};

use agenthub_proto::{
    a2a::{Message, TaskState},
    agenthub::{
        Ack, AgentEvent, AgentEventMetadata, AgentFrame, Cancel, Credit, Delivery, Extension,
        Filter, Goodbye, Heartbeat, Hello, HubFrame, Lifetime, Publish, PublishResult, Refusal,
        Subscription, Welcome, publish,
    },
    wkt,
};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Status, Streaming};

use crate::{
    access::with,
    harness::{Client, TestHub, card, routing, status, within, word},
};

/// An open stream. Dropping it breaks the stream.
pub(crate) struct Peer {
    frames: Option<mpsc::Sender<AgentFrame>>,
    incoming: Streaming<HubFrame>,
    pub(crate) welcome: Welcome,
    /// With the note on each, which is synthesised if missing.
    pub(crate) deliveries: VecDeque<(Delivery, AgentEvent)>,
    pub(crate) results: VecDeque<PublishResult>,
    pub(crate) cancels: VecDeque<Cancel>,
    pub(crate) goodbye: Option<Goodbye>,
    /// End of the stream: OK, or a status.
    pub(crate) ended: Option<Result<(), Status>>,
    heartbeats: usize,
    sequence: u64,
}

pub(crate) fn durable(name: &str, credit: u32) -> Subscription {
    Subscription {
        name: name.to_owned(),
        lifetime: Lifetime::Durable.into(),
        filter: None,
        credit,
        ordered: false,
    }
}

pub(crate) fn of_instance(name: &str, credit: u32) -> Subscription {
    Subscription {
        lifetime: Lifetime::Instance.into(),
        ..durable(name, credit)
    }
}

pub(crate) fn filtered(subscription: Subscription, filter: Filter) -> Subscription {
    Subscription {
        filter: Some(filter),
        ..subscription
    }
}

/// The hello of a client, without a card.
pub(crate) fn hello(agent: &str, instance: &str, subscription: Vec<Subscription>) -> Hello {
    Hello {
        protocol_version: 1,
        agent_id: agent.to_owned(),
        instance_id: instance.to_owned(),
        subscription,
        ..Default::default()
    }
}

/// The hello of an agent with a card and one durable mailbox.
pub(crate) fn agent(name: &str, instance: &str, credit: u32) -> Hello {
    Hello {
        agent_card: Some(card(name)),
        ..hello(name, instance, vec![durable("work", credit)])
    }
}

/// Sends a first frame, and returns the hub's response.
pub(crate) async fn try_connect(client: &Client, first: AgentFrame) -> Result<Peer, Status> {
    try_connect_as(client, "", first).await
}

/// The same with a token.
pub(crate) async fn try_connect_as(
    client: &Client,
    token: &str,
    first: AgentFrame,
) -> Result<Peer, Status> {
    let (frames, outgoing) = mpsc::channel(64);
    frames.send(first).await.expect("it has room");
    let request = with(token, ReceiverStream::new(outgoing));
    let answer = within(client.clone().connect(request)).await?;
    let mut incoming = answer.into_inner();
    let first = within(incoming.message()).await?;
    let welcome = first.and_then(|f| f.welcome);
    Ok(Peer {
        frames: Some(frames),
        incoming,
        welcome: welcome.expect("the first frame is a welcome"),
        deliveries: VecDeque::new(),
        results: VecDeque::new(),
        cancels: VecDeque::new(),
        goodbye: None,
        ended: None,
        heartbeats: 0,
        sequence: 0,
    })
}

impl TestHub {
    pub(crate) async fn connect(&self, hello: Hello) -> Peer {
        let first = AgentFrame {
            hello: Some(hello),
            ..Default::default()
        };
        try_connect(&self.client, first).await.expect("welcome")
    }
}

impl TestHub {
    /// Reconnects on another stream, and claims these deliveries.
    pub(crate) async fn reconnect(&self, hello: Hello, claims: &[&Delivery]) -> Peer {
        let first = AgentFrame {
            hello: Some(hello),
            extend: claims
                .iter()
                .map(|note| Extension {
                    subscription: note.subscription,
                    position: vec![note.position.clone()],
                })
                .collect(),
            ..Default::default()
        };
        try_connect(&self.client, first).await.expect("welcome")
    }
}

impl Peer {
    pub(crate) async fn send(&self, frame: AgentFrame) {
        let frames = self.frames.as_ref().expect("not closed");
        // A hub that has ended the stream accepts no more; the test sees that when it reads.
        let _ = within(frames.send(frame)).await;
    }

    /// Half-closes the stream.
    pub(crate) fn close(&mut self) {
        self.frames = None;
    }

    /// Publishes, and waits for the result.
    pub(crate) async fn publish(
        &mut self,
        message: Message,
        routing: AgentEventMetadata,
    ) -> PublishResult {
        let payload = publish::Payload::Message(message);
        let sequence = self.publish_only(payload, routing).await;
        let result = self.result().await;
        assert_eq!(result.sequence, sequence);
        result
    }

    /// Reports a state, and waits for the result.
    pub(crate) async fn report(&mut self, task: &str, state: TaskState) -> PublishResult {
        let payload = publish::Payload::StatusUpdate(status(task, state));
        self.publish_only(payload, routing("", "")).await;
        self.result().await
    }

    pub(crate) async fn publish_only(
        &mut self,
        payload: publish::Payload,
        routing: AgentEventMetadata,
    ) -> u64 {
        self.sequence += 1;
        self.send(AgentFrame {
            publish: vec![Publish {
                sequence: self.sequence,
                payload: Some(payload),
                routing: Some(routing),
                ..Publish::default()
            }],
            ..Default::default()
        })
        .await;
        self.sequence
    }

    pub(crate) async fn acknowledge(&self, note: &Delivery) {
        self.send(AgentFrame {
            ack: vec![Ack {
                subscription: note.subscription,
                position: vec![note.position.clone()],
            }],
            ..Default::default()
        })
        .await;
    }

    pub(crate) async fn refuse(&self, note: &Delivery, delay: Duration) {
        self.send(AgentFrame {
            refuse: vec![Refusal {
                subscription: note.subscription,
                position: note.position.clone(),
                delay: wkt::Duration::try_from(delay).ok(),
                reason: "not now".to_owned(),
            }],
            ..Default::default()
        })
        .await;
    }

    pub(crate) async fn give_credit(&self, subscription: u32, messages: u32) {
        self.send(AgentFrame {
            credit: vec![Credit {
                subscription,
                messages,
            }],
            ..Default::default()
        })
        .await;
    }

    pub(crate) async fn say_goodbye(mut self) {
        self.send(AgentFrame {
            goodbye: Some(Goodbye::default()),
            ..Default::default()
        })
        .await;
        self.until_ended().await.expect("it ends well");
    }

    /// Reads one frame.
    pub(crate) async fn read(&mut self) {
        let frame = match within(self.incoming.message()).await {
            Ok(Some(frame)) => frame,
            Ok(None) => {
                self.ended = Some(Ok(()));
                return;
            }
            Err(status) => {
                self.ended = Some(Err(status));
                return;
            }
        };
        let mut notes = frame.delivery;
        for event in frame.event {
            let note = notes
                .iter()
                .position(|n| n.position == event.position && !n.position.is_empty())
                .or_else(|| notes.iter().position(|n| n.position == event.position));
            let note = match note {
                Some(at) => notes.remove(at),
                None => Delivery {
                    position: event.position.clone(),
                    subscription: 0,
                    attempt: 1,
                    waited: None,
                },
            };
            self.deliveries.push_back((note, event));
        }
        assert!(notes.is_empty(), "notes on no event: {notes:?}");
        self.results.extend(frame.result);
        self.cancels.extend(frame.cancel);
        self.goodbye = self.goodbye.take().or(frame.goodbye);
        self.heartbeats += usize::from(frame.heartbeat.is_some());
    }

    /// Reads until the predicate returns a value.
    async fn read_until<T>(&mut self, mut found: impl FnMut(&mut Self) -> Option<T>) -> T {
        loop {
            if let Some(found) = found(self) {
                return found;
            }
            assert!(self.ended.is_none(), "the stream ended: {:?}", self.ended);
            self.read().await;
        }
    }

    pub(crate) async fn result(&mut self) -> PublishResult {
        self.read_until(|p| p.results.pop_front()).await
    }

    pub(crate) async fn delivery(&mut self) -> (Delivery, AgentEvent) {
        self.read_until(|p| p.deliveries.pop_front()).await
    }

    pub(crate) async fn cancel(&mut self) -> Cancel {
        self.read_until(|p| p.cancels.pop_front()).await
    }

    /// The next event in words, with its attempt if that is not the first.
    pub(crate) async fn word(&mut self) -> String {
        let (note, event) = self.delivery().await;
        described(&note, &event)
    }

    /// Reads everything that the hub has for this peer now: a heartbeat's answer follows it.
    pub(crate) async fn settle(&mut self) {
        self.heartbeats = 0;
        self.send(AgentFrame {
            heartbeat: Some(Heartbeat {}),
            ..Default::default()
        })
        .await;
        self.read_until(|p| (p.heartbeats > 0).then_some(())).await;
    }

    /// The events so far, in words.
    pub(crate) async fn words_so_far(&mut self) -> Vec<String> {
        self.settle().await;
        self.deliveries
            .drain(..)
            .map(|(note, event)| described(&note, &event))
            .collect()
    }

    /// Reads until the stream ends.
    pub(crate) async fn until_ended(&mut self) -> Result<(), Status> {
        loop {
            if let Some(ended) = self.ended.clone() {
                return ended;
            }
            self.read().await;
        }
    }

    /// Keeps the stream alive until something is delivered.
    pub(crate) async fn beat_until_delivered(&mut self) {
        within(async {
            while self.deliveries.is_empty() {
                self.settle().await;
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        })
        .await;
    }

    /// Keeps the stream alive until the future completes.
    pub(crate) async fn beat_while<T>(&mut self, future: impl Future<Output = T>) -> T {
        tokio::pin!(future);
        loop {
            tokio::select! {
                done = &mut future => return done,
                () = tokio::time::sleep(Duration::from_millis(20)) => self.settle().await,
            }
        }
    }
}

fn described(note: &Delivery, event: &AgentEvent) -> String {
    match note.attempt {
        1 => word(event),
        n => format!("{} (attempt {n})", word(event)),
    }
}

//! The server streams of older clients: each drains a subscription of its own, and an event counts as acknowledged when the
//! transport took it.

use std::{
    collections::VecDeque,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, ready},
};

use agenthub_proto::agenthub::AgentEvent;
use tokio::{
    sync::{Notify, mpsc},
    time::timeout,
};
use tokio_stream::Stream;
use tonic::Status;

use super::status::{ended, status};
use crate::hub::{Hub, Session};

/// Events that wait for the transport.
const QUEUE: usize = 16;
/// Deliveries taken from the mailbox at a time.
const BATCH: usize = 64;

/// What the transport takes events from. It counts them, and wakes the one who acknowledges them.
#[derive(Debug)]
pub(crate) struct EventStream {
    events: mpsc::Receiver<Result<AgentEvent, Status>>,
    taken: Arc<AtomicUsize>,
    wake: Arc<Notify>,
}

impl Stream for EventStream {
    type Item = Result<AgentEvent, Status>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let event = ready!(self.events.poll_recv(cx));
        if event.is_some() {
            self.taken.fetch_add(1, Ordering::Release);
            self.wake.notify_one();
        }
        Poll::Ready(event)
    }
}

/// Sends a session's deliveries until it ends, its client is gone, or nothing was read for too long.
pub(super) fn start(hub: &Hub, session: Session) -> EventStream {
    let (tx, events) = mpsc::channel(QUEUE);
    let taken = Arc::new(AtomicUsize::new(0));
    let wake = session.wake();
    let sender = Sender {
        hub: hub.clone(),
        session,
        sent: VecDeque::new(),
        taken: taken.clone(),
        acknowledged: 0,
    };
    hub.spawn(sender.run(tx));
    EventStream {
        events,
        taken,
        wake,
    }
}

struct Sender {
    hub: Hub,
    session: Session,
    /// The positions of what was sent and not acknowledged; empty for what has none.
    sent: VecDeque<String>,
    taken: Arc<AtomicUsize>,
    acknowledged: usize,
}

impl Sender {
    async fn run(mut self, tx: mpsc::Sender<Result<AgentEvent, Status>>) {
        let wake = self.session.wake();
        let mut first = self.session.first();
        loop {
            self.acknowledge();
            let limit = match self.session.has_backlog() {
                true => first.min(BATCH),
                false => BATCH,
            };
            let outgoing = self.session.take(&[u32::MAX], limit);
            let is_idle = outgoing.deliveries.is_empty();
            first = first.saturating_sub(outgoing.events());
            for event in outgoing.deliveries.iter().flat_map(|(_, h)| h.events()) {
                // What was reread a moment ago has only to be acknowledged.
                let is_new = !self.is_sent(&event.position);
                if is_new && !self.send(&tx, &event).await {
                    return;
                }
            }
            if let Some(end) = outgoing.end {
                // A client that does not read does not learn of it, and need not.
                let _ = tx.try_send(Err(ended(&end)));
                return;
            }
            if is_idle && self.session.has_backlog() {
                first = 0;
                match self.session.reread().await {
                    Ok(events) => {
                        for event in events.into_iter().flatten() {
                            if !self.send(&tx, &event).await {
                                return;
                            }
                        }
                    }
                    Err(error) => {
                        let _ = tx.try_send(Err(status(error)));
                        return;
                    }
                }
            } else if is_idle {
                tokio::select! {
                    () = wake.notified() => {}
                    () = tx.closed() => return,
                }
            }
        }
    }

    /// Returns whether the stream goes on.
    async fn send(
        &mut self,
        tx: &mpsc::Sender<Result<AgentEvent, Status>>,
        event: &AgentEvent,
    ) -> bool {
        let stall = self.hub.settings().stream_stall;
        match timeout(stall, tx.send(Ok(event.clone()))).await {
            Ok(Ok(())) => {
                self.sent.push_back(event.position.clone());
                true
            }
            Ok(Err(_gone)) => false,
            Err(_elapsed) => {
                self.hub.counters().cut_off.inc();
                tracing::warn!(agent = %self.session.agent(), "stream cut off: nothing was read for {stall:?}");
                false
            }
        }
    }

    /// Whether it was sent, and not acknowledged yet.
    fn is_sent(&self, position: &str) -> bool {
        !position.is_empty() && self.sent.iter().any(|p| p == position)
    }

    /// Acknowledges what the transport has taken.
    fn acknowledge(&mut self) {
        let taken = self.taken.load(Ordering::Acquire) - self.acknowledged;
        let count = taken.min(self.sent.len());
        self.acknowledged += count;
        let handled: Vec<String> = self.sent.drain(..count).filter(|p| !p.is_empty()).collect();
        if !handled.is_empty() {
            // Its only errors are positions and subscriptions that do not exist.
            let _ = self.session.together().acknowledge(0, &handled);
        }
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        self.acknowledge();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        access::Call,
        caller::Caller,
        filter::Filter,
        hub::{Body, Repetition, StreamRequest},
        settings::Settings,
    };
    use agenthub_proto::{
        a2a::{Message, Role},
        agenthub::{AgentEventMetadata, EventKind},
    };
    use tokio_stream::StreamExt;

    async fn open(hub: &Hub) -> EventStream {
        let request = StreamRequest {
            call: Call::SubscribeToMessages,
            agent: "echo".into(),
            filter: Filter::kinds(&[EventKind::Message]),
            after: String::new(),
            observes: false,
        };
        let session = hub.open_stream(&Caller::anonymous(), request).await;
        start(hub, session.expect("it opens"))
    }

    #[tokio::test]
    async fn the_next_stream_goes_on_where_the_transport_stopped() {
        let hub = Hub::start(Settings::default()).expect("a log in memory opens");
        let publish = |text: &str| {
            let routing = AgentEventMetadata {
                from_agent_id: "asker".into(),
                to_agent_id: "echo".into(),
                ..Default::default()
            };
            let body = Body::Message(Message::new(Role::User, text));
            hub.publish(&Caller::anonymous(), body, routing, Repetition::Accept)
                .expect("it is good");
        };
        for n in 0..40 {
            publish(&n.to_string());
        }
        let mut next = 0;
        for read in [3, 20, 17] {
            let mut stream = open(&hub).await;
            for _ in 0..read {
                let event = stream.next().await.expect("there is more").expect("good");
                let Some(agenthub_proto::agenthub::agent_event::Payload::Message(m)) =
                    event.payload
                else {
                    panic!("not a message: {event:?}");
                };
                assert_eq!(m.text(), next.to_string());
                next += 1;
            }
            drop(stream);
            while hub.gauges().streams > 0 {
                tokio::task::yield_now().await;
            }
        }
        hub.stop().await;
    }
}

//! The server streams of older clients: each drains a subscription of its own, and an event counts as acknowledged when the
//! transport took it.

use agenthub_proto::agenthub::AgentEvent;
use tokio::{sync::mpsc, time::timeout};
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;

use super::status::ended;
use crate::hub::{Hub, Session};

pub(super) type EventStream = ReceiverStream<Result<AgentEvent, Status>>;

/// Events that wait for the transport.
const QUEUE: usize = 16;
/// Deliveries taken from the mailbox at a time.
const BATCH: usize = 64;

/// Sends a session's deliveries until it ends, its client is gone, or nothing was read for too long.
pub(super) fn start(hub: &Hub, session: Session) -> EventStream {
    let (tx, rx) = mpsc::channel(QUEUE);
    hub.spawn(run(hub.clone(), session, tx));
    ReceiverStream::new(rx)
}

async fn run(hub: Hub, session: Session, tx: mpsc::Sender<Result<AgentEvent, Status>>) {
    let stall = hub.settings().stream_stall;
    let wake = session.wake();
    loop {
        let outgoing = session.take(&[u32::MAX], BATCH);
        let is_idle = outgoing.deliveries.is_empty();
        for (_, delivery) in outgoing.deliveries {
            let event = AgentEvent::clone(&delivery.mail.event);
            let position = event.position.clone();
            match timeout(stall, tx.send(Ok(event))).await {
                Ok(Ok(())) => {}
                Ok(Err(_gone)) => return,
                Err(_elapsed) => {
                    hub.counters().cut_off.inc();
                    tracing::warn!(agent = %session.agent(), "stream cut off: nothing was read for {stall:?}");
                    return;
                }
            }
            if delivery.mail.position.is_some()
                && session.together().acknowledge(0, &[position]).is_err()
            {
                return;
            }
        }
        if let Some(end) = outgoing.end {
            // A client that does not read does not learn of it, and need not.
            let _ = tx.try_send(Err(ended(&end)));
            return;
        }
        if is_idle {
            tokio::select! {
                () = wake.notified() => {}
                () = tx.closed() => return,
            }
        }
    }
}

//! A connection without a hub: a function takes what is published.

use std::sync::Arc;

use agenthub_proto::{
    agenthub::Publish,
    grpc::{InProcess, Transport},
};
use tokio::sync::{mpsc, watch};
use tonic::Status;

use super::{Connection, Link, Published, link::Command};
use crate::Error;

/// Orders that may wait, as at a real connection.
const MAX_ORDERS: usize = 64;

/// The ordering end, and what carries its orders out until the last clone of it is dropped.
pub(crate) fn link(
    agent_id: &str,
    mut take: impl FnMut(Publish) -> Result<Published, Error> + Send + 'static,
) -> (Link, impl Future<Output = ()> + Send + 'static) {
    let (commands, mut orders) = mpsc::channel(MAX_ORDERS);
    let (state, connection) = watch::channel(Connection::Connected {
        incarnation: String::new(),
    });
    let link = Link {
        commands,
        connection,
        agent_id: Arc::from(agent_id),
    };
    let carried_out = async move {
        while let Some(order) = orders.recv().await {
            match order {
                Command::Publish(mut batch) | Command::Linger { mut batch, .. } => {
                    let publishes = std::mem::take(&mut batch.publishes);
                    let results = publishes.into_iter().map(&mut take).collect();
                    batch.answer(Ok(results));
                }
                Command::Goodbye { reason, .. } => {
                    state.send_replace(Connection::Closed { reason });
                    return;
                }
                Command::Ack(_)
                | Command::Refuse(_)
                | Command::Credit(_)
                | Command::Introduce(_) => {}
            }
        }
    };
    (link, carried_out)
}

/// A transport on which every call fails.
pub(crate) fn transport() -> Transport {
    let refused = |_| async { Status::unavailable("there is no hub here").into_http() };
    InProcess::new(refused).into()
}

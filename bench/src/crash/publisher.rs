//! Publishers of mail: SDK clients that keep many publishes in flight through every crash.

use std::{sync::Arc, time::Duration};

use agenthub_sdk::{
    Client, Error,
    proto::{
        a2a::{Message, Role},
        agenthub::AgentEventMetadata,
    },
};
use futures_util::{StreamExt, stream::FuturesUnordered};
use tokio::time::sleep;

use super::{board::Board, operation::Operation};

/// Unanswered publishes of one context.
const IN_FLIGHT: usize = 16;
/// Pause of a context after a refusal.
const AFTER_REFUSAL: Duration = Duration::from_millis(100);

/// Publishes operations one after the other to an agent, without waiting for answers in between, until the run closes.
pub(crate) async fn publish(client: Client, board: Arc<Board>, context: usize, to: &'static str) {
    begin_all(&board, context, IN_FLIGHT, |operation| {
        one(&client, &board, operation, to)
    })
    .await;
}

async fn one(client: &Client, board: &Board, operation: Operation, to: &str) {
    match client.publish(message(operation), routing(to)).await {
        Ok(_) => board.ledger().acknowledged(operation),
        Err(error) => refused(board, operation, &error).await,
    }
}

/// Begins the operations of a context in order, with this concurrency, and waits for all of them at the end.
pub(crate) async fn begin_all<F: Future<Output = ()>>(
    board: &Board,
    context: usize,
    at_once: usize,
    mut begin: impl FnMut(Operation) -> F,
) {
    let mut flying = FuturesUnordered::new();
    let mut number = 0;
    loop {
        tokio::select! {
            biased;
            () = board.closing.cancelled() => break,
            Some(()) = flying.next(), if !flying.is_empty() => {}
            () = board.may_begin(context), if flying.len() < at_once => {
                number += 1;
                flying.push(begin(Operation { context, number }));
            }
        }
    }
    while flying.next().await.is_some() {}
}

/// Records a publish that the hub did not accept, and pauses. A closed client ends.
pub(crate) async fn refused(board: &Board, operation: Operation, why: &Error) {
    if let Error::Closed(why) = why {
        board.ledger().turned_away(why);
        board.over.cancelled().await;
        return;
    }
    board.ledger().unsettled(operation, &why.to_string());
    board.ended(operation);
    sleep(AFTER_REFUSAL).await;
}

/// The message of an operation, the same however often it is sent.
pub(crate) fn message(operation: Operation) -> Message {
    Message {
        message_id: operation.to_string(),
        context_id: operation.context_id(),
        ..Message::new(Role::User, "a message of the crash test")
    }
}

pub(crate) fn routing(to: &str) -> AgentEventMetadata {
    AgentEventMetadata {
        to_agent_id: to.to_owned(),
        ..Default::default()
    }
}

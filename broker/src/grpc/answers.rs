//! Publishing of a frame, and the answers to its peer.

use agenthub_proto::agenthub::{Ack, Publish, PublishResult, publish::Payload};

use super::{
    connect::duration,
    publishes::Item,
    status::{code, explanation},
};
use crate::{
    Error,
    hub::{Body, Passing, Receipt, Together},
    log::Position,
    tasks::Spent,
};

/// Answers to the publishes of a frame, each with the position that must be durable first.
pub(super) type Answers = Vec<(Position, PublishResult)>;

/// Publishes on behalf of an agent, and acknowledges the deliveries that the publishes settle.
///
/// # Errors
///
/// An acknowledgement violates the protocol: nothing after it is published.
pub(super) fn answers(
    together: &mut Together<'_>,
    agent: &str,
    items: Vec<Item>,
) -> (Answers, Result<(), Error>) {
    let mut answers = Answers::new();
    let (mut looked_at, mut last_refused) = (0, None);
    for item in items {
        match item {
            Item::One(mut publish) => {
                let (ack, since) = (publish.ack.take(), publish.ack_since);
                answers.push(answer_with(together, agent, publish, ack.as_ref()));
                let Some(Ack {
                    subscription,
                    position,
                }) = ack
                else {
                    continue;
                };
                last_refused = refused(&answers[looked_at..]).or(last_refused);
                looked_at = answers.len();
                if last_refused.is_none_or(|sequence| sequence < since)
                    && let Err(error) = tolerate(together.acknowledge(subscription, &position))
                {
                    return (answers, Err(error));
                }
            }
            Item::TooHeavy(sequence) => {
                let error = Error::InvalidArgument(
                    "the publish consists of too many parts; send large content as a file part with a URI".to_owned(),
                );
                answers.push(answered(sequence, together.refuse_publish(error)));
            }
            Item::Passing(passing) => answers.extend(answer_passing(together, agent, passing)),
            Item::Logged(run) => {
                let results = together.publish_logged(&run);
                let each = run.publishes.iter().zip(results);
                answers.extend(each.map(|(plain, result)| answered(plain.sequence(), result)));
            }
        }
    }
    (answers, Ok(()))
}

/// Sequence of the last refused publish.
fn refused(answers: &[(Position, PublishResult)]) -> Option<u64> {
    let mut refused = answers.iter().rev().filter(|(_, r)| r.code != 0);
    refused.next().map(|(_, result)| result.sequence)
}

/// Ignores positions of an earlier log, which a peer may still have after a restart of the hub.
fn tolerate(result: Result<(), Error>) -> Result<(), Error> {
    match result {
        Err(Error::OutOfRange(_)) => Ok(()),
        result => result,
    }
}

fn answer_passing(
    together: &mut Together<'_>,
    agent: &str,
    passing: Passing,
) -> Vec<(Position, PublishResult)> {
    let error = match together.publish_passing(&passing) {
        Ok(true) => None,
        Ok(false) => {
            let publishes = passing.run.one_by_one();
            return publishes.map(|p| answer(together, agent, p)).collect();
        }
        Err(error) => Some(error),
    };
    let each = passing.run.publishes.iter().zip(passing.event_ids);
    let results = each.map(|(plain, event_id)| {
        let receipt = Receipt {
            event_id,
            position: String::new(),
            safe_at: Position(0),
            is_repeated: false,
        };
        answered(plain.sequence(), error.clone().map_or(Ok(receipt), Err))
    });
    results.collect()
}

fn answer(together: &mut Together<'_>, agent: &str, publish: Publish) -> (Position, PublishResult) {
    answer_with(together, agent, publish, None)
}

/// Publishes, and charges for what was used to answer a message that is acknowledged with it.
fn answer_with(
    together: &mut Together<'_>,
    agent: &str,
    publish: Publish,
    ack: Option<&Ack>,
) -> (Position, PublishResult) {
    let spent = match &publish.payload {
        Some(Payload::Message(message)) if message.task_id.is_empty() => {
            ack.and_then(|_| Spent::in_metadata(message.metadata.as_ref()))
        }
        _ => None,
    };
    let body = match publish.payload {
        Some(Payload::Message(message)) => Ok(Body::Message(message)),
        Some(Payload::StatusUpdate(update)) => Ok(Body::Status(update)),
        Some(Payload::ArtifactUpdate(update)) => Ok(Body::Artifact(update)),
        None => Err(Error::InvalidArgument(
            "publish.payload is required".to_owned(),
        )),
    };
    let accepted = body.and_then(|body| {
        let mut routing = publish
            .routing
            .ok_or_else(|| Error::InvalidArgument("publish.routing is required".to_owned()))?;
        if routing.from_agent_id.is_empty() {
            agent.clone_into(&mut routing.from_agent_id);
        }
        if routing.from_agent_id != agent {
            return Err(Error::PermissionDenied(format!(
                "this stream belongs to \"{agent}\": it cannot publish in the name of \"{}\"",
                routing.from_agent_id
            )));
        }
        together.publish(body, routing)
    });
    if let (Ok(receipt), Some(ack), Some(spent)) = (&accepted, ack, spent)
        && !receipt.is_repeated
    {
        together.charge(ack, spent);
    }
    answered(publish.sequence, accepted)
}

pub(super) fn answered(
    sequence: u64,
    accepted: Result<Receipt, Error>,
) -> (Position, PublishResult) {
    match accepted {
        Ok(receipt) => (
            receipt.safe_at,
            PublishResult {
                sequence,
                event_id: receipt.event_id,
                position: receipt.position,
                ..PublishResult::default()
            },
        ),
        Err(error) => (
            Position(0),
            PublishResult {
                sequence,
                code: code(&error).into(),
                error: explanation(&error),
                over_quota: matches!(error, Error::OverQuota(_)),
                retry_after: error.retry_after().and_then(duration),
                ..PublishResult::default()
            },
        ),
    }
}

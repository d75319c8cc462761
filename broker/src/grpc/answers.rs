//! Publishing what a stream brings, and what its peer is told of that.

use agenthub_proto::agenthub::{Publish, PublishResult, publish::Payload};

use super::{
    publishes::Item,
    status::{code, explanation},
};
use crate::{
    Error,
    hub::{Body, Run, Together},
    log::Position,
};

/// Publishes in an agent's name. Each answer comes with the position at which it may be given.
pub(super) fn answers(
    together: &mut Together<'_>,
    agent: &str,
    items: Vec<Item>,
) -> Vec<(Position, PublishResult)> {
    let mut answers = Vec::new();
    for item in items {
        match item {
            Item::One(publish) => answers.push(answer(together, agent, publish)),
            Item::Run(run) => answers.extend(answer_run(together, agent, run)),
        }
    }
    answers
}

fn answer_run(
    together: &mut Together<'_>,
    agent: &str,
    run: Run,
) -> Vec<(Position, PublishResult)> {
    let (code, error) = match together.publish_passing(&run) {
        Ok(true) => (0, String::new()),
        Ok(false) => {
            let publishes = run.one_by_one();
            return publishes.map(|p| answer(together, agent, p)).collect();
        }
        Err(error) => (code(&error).into(), explanation(&error)),
    };
    let results = run.publishes.into_iter().map(|(plain, event_id)| {
        let result = PublishResult {
            sequence: plain.sequence(),
            event_id: if code == 0 { event_id } else { String::new() },
            code,
            error: error.clone(),
            ..PublishResult::default()
        };
        (Position(0), result)
    });
    results.collect()
}

fn answer(together: &mut Together<'_>, agent: &str, publish: Publish) -> (Position, PublishResult) {
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
    let sequence = publish.sequence;
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
                ..PublishResult::default()
            },
        ),
    }
}

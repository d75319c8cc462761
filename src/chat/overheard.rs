//! Growing answers of the agents at work.

use std::collections::BTreeSet;

use agenthub_proto::agenthub::{AgentEvent, SubscribeToTasksRequest, agent_event::Payload};
use agenthub_sdk::{Client, internal::ANSWER_ARTIFACT};
use tokio::{sync::mpsc, task::JoinSet};

/// The agents of one turn that are listened to at the same time.
const MAX_LISTENING: usize = 16;

/// Pieces that wait to be shown; listening waits when there are more.
const PIECES: usize = 64;

/// A piece of what an agent writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// The task that the agent works on.
    pub(super) task_id: String,
    /// The text.
    pub(super) text: String,
    /// True if it goes on with the piece before; otherwise what was written so far is void.
    pub(super) append: bool,
}

/// The tasks that are listened to. Dropping it ends that.
#[derive(Debug)]
pub(super) struct Overheard {
    client: Client,
    /// Every task that was ever listened to.
    known: BTreeSet<String>,
    listening: JoinSet<()>,
    sender: mpsc::Sender<Piece>,
    pieces: mpsc::Receiver<Piece>,
}

impl Overheard {
    pub(super) fn new(client: Client) -> Self {
        let (sender, pieces) = mpsc::channel(PIECES);
        Self {
            client,
            known: BTreeSet::new(),
            listening: JoinSet::new(),
            sender,
            pieces,
        }
    }

    /// Listens to these tasks too, until each ends or its stream breaks: what is missed of a text that grows is shown at its end.
    pub(super) fn listen<'a>(&mut self, tasks: impl IntoIterator<Item = &'a str>) {
        while self.listening.try_join_next().is_some() {}
        for task_id in tasks {
            if self.listening.len() >= MAX_LISTENING || !self.known.insert(task_id.to_owned()) {
                continue;
            }
            let request = SubscribeToTasksRequest {
                agent_id: self.client.agent_id().to_owned(),
                task_ids: vec![task_id.to_owned()],
                observe: true,
                ..Default::default()
            };
            let (client, sender) = (self.client.clone(), self.sender.clone());
            self.listening.spawn(async move {
                let Ok(mut events) = client.task_events(request).await else {
                    return;
                };
                while let Some(Ok(event)) = events.next().await {
                    let is_over = event.task_state().is_some_and(|state| state.is_terminal());
                    if let Some(piece) = piece(event) {
                        // Whoever listens drops this task before its end of the queue.
                        let _ = sender.send(piece).await;
                    }
                    if is_over {
                        return;
                    }
                }
            });
        }
    }

    /// The next piece. Cancel-safe.
    pub(super) async fn next(&mut self) -> Piece {
        match self.pieces.recv().await {
            Some(piece) => piece,
            // It has a sender of its own, so this does not happen.
            None => std::future::pending().await,
        }
    }
}

fn piece(event: AgentEvent) -> Option<Piece> {
    let Some(Payload::ArtifactUpdate(update)) = event.payload else {
        return None;
    };
    let artifact = update
        .artifact
        .filter(|a| a.artifact_id == ANSWER_ARTIFACT)?;
    Some(Piece {
        task_id: update.task_id,
        text: artifact.text(),
        append: update.append,
    })
}

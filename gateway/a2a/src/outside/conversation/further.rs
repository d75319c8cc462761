//! Further messages of a task, which come while the agent is at work.

use agenthub_sdk::{Message as HubMessage, TaskUpdate, internal::follow_up};
use tokio::time::sleep;

use super::{super::tasks::RemoteTask, Conversation, MOST_TRIES, PAUSE, request};
use crate::{
    client,
    v1::{SendMessageConfiguration, SendMessageRequest},
};

impl Conversation<'_> {
    /// Hands on, without end, the messages that come while the agent is at work.
    pub(in crate::outside) async fn pass_on(&self) {
        let mut noted = self.noted.subscribe();
        loop {
            let next = follow_up(self.task).await;
            let Some(message) = next.message() else {
                next.done().await;
                continue;
            };
            let Ok(handed) = noted.wait_for(Option::is_some).await.map(|n| n.clone()) else {
                return;
            };
            let (mut tries, mut pause) = (0, PAUSE.0);
            loop {
                tries += 1;
                let is_repeated = next.attempt() > 1 || tries > 1;
                let failure = match self.tell(message, handed.as_ref(), is_repeated).await {
                    Ok(()) => break,
                    Err(failure) => failure,
                };
                if !failure.is_retryable() || tries == MOST_TRIES {
                    let text = format!("the agent did not take a message: {failure}");
                    // An error says that the task is not this handler's any more.
                    let _ = self.task.publish_update(TaskUpdate::new(text)).await;
                    break;
                }
                self.proxy.doubt.notify_one();
                sleep(pause).await;
                pause = (pause * 2).min(PAUSE.1);
            }
            next.done().await;
            self.passed.notify_one();
        }
    }

    /// Hands a message on to a task that is at work, without waiting for what comes of it.
    async fn tell(
        &self,
        message: &HubMessage,
        handed: Option<&RemoteTask>,
        is_repeated: bool,
    ) -> Result<(), client::Failure> {
        let remote = self.proxy.remote();
        let request = SendMessageRequest {
            configuration: Some(SendMessageConfiguration {
                return_immediately: true,
                ..Default::default()
            }),
            ..request(message, self.task.routing().hops.saturating_add(1), handed)
        };
        if is_repeated && remote.find_sent(&request).await.is_some() {
            return Ok(());
        }
        remote.send_message(request).await.map(drop)
    }
}

//! Calls of agents, behind their breakers.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use agenthub_a2a::{
    client::{Failure, Remote},
    v1::{Message, Role, SendMessageRequest},
};
use agenthub_bus::messages::TaskRequest;
use agenthub_sdk::runs::breakers::{Breaker, Breakers};

use super::Bridge;
use crate::{
    answer::Answer,
    failing::message_of,
    publishing::{Outbox, Stream},
};

/// An agent that has not answered, after all tries, five times in a row is left alone for half a minute.
pub(super) const BREAKER: Breaker = Breaker {
    failures: 5,
    pause_ms: 30_000,
};

/// A call of an agent.
pub(super) struct Call<'a> {
    pub(super) task: &'a TaskRequest,
    pub(super) trace: Option<String>,
    pub(super) remote: Remote,
    pub(super) message: Message,
}

impl Bridge {
    /// Asks the agent, if its breaker lets the task through.
    pub(super) async fn admitted(&self, call: Call<'_>, answer: &mut Answer) -> Result<(), String> {
        let (agent, breakers) = (&call.task.agent_name, &self.0.breakers);
        if let Some(until_ms) = breakers.admit(agent, BREAKER, now_ms()) {
            self.0.metrics.left_alone(agent);
            let seconds = until_ms.saturating_sub(now_ms()).div_ceil(1_000);
            return Err(format!(
                "the agent has not answered too often, and is not asked for {seconds} s"
            ));
        }
        let mut returned = Returned {
            breakers,
            agent,
            is_well: None,
        };
        let (since, trace) = (Instant::now(), call.trace.clone());
        let called = self.call(call, answer).await;
        let metrics = &self.0.metrics;
        metrics.called(agent, &called, since, trace.as_deref());
        returned.is_well = Some(!called.as_ref().is_err_and(Failure::is_of_health));
        drop(returned);
        called.map_err(|failure| message_of(&failure))
    }

    /// Asks the agent, and takes in all that it says.
    async fn call(&self, call: Call<'_>, answer: &mut Answer) -> Result<(), Failure> {
        let Call {
            task,
            trace,
            remote,
            message,
        } = call;
        let request = request(task, message);
        let capabilities = remote.card().capabilities.as_ref();
        if capabilities.is_some_and(|c| c.streaming()) {
            let mut following = remote.send_streaming_message(request);
            let outbox = Outbox::new(&self.0.settings.bus, &self.0.metrics);
            let mut stream = Stream::new(outbox, task, trace);
            let mut failure = None;
            while let Some(event) = following.next().await {
                match event {
                    Ok(event) => {
                        for text in answer.take(event) {
                            stream.publish(text).await;
                        }
                    }
                    Err(error) => failure = Some(error),
                }
            }
            stream.end().await;
            return failure.map_or(Ok(()), Err);
        }
        let response = remote.send_message(request).await;
        answer.take_response(response?);
        if let Some(id) = answer.working_task() {
            let mut following = remote.subscribe_to_task(id);
            while let Some(event) = following.next().await {
                answer.take(event?);
            }
        }
        Ok(())
    }
}

/// Tells a breaker how a call came back when it is dropped; one that broke off says nothing of the agent.
struct Returned<'a> {
    breakers: &'a Breakers,
    agent: &'a str,
    is_well: Option<bool>,
}

impl Drop for Returned<'_> {
    fn drop(&mut self) {
        self.breakers
            .returned(self.agent, BREAKER, self.is_well, now_ms());
    }
}

pub(super) fn now_ms() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// The message of a task. Its id is the task's, so that an agent that gets it again knows it (EXE-4, EXE-5.3).
fn request(task: &TaskRequest, message: Message) -> SendMessageRequest {
    SendMessageRequest {
        message: Some(Message {
            message_id: task.task_id.clone(),
            context_id: task.run_id.clone(),
            role: Role::User.into(),
            ..message
        }),
        ..SendMessageRequest::default()
    }
}

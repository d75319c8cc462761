//! A stream of a task that stays whole: where it breaks it begins again, and what was missed meanwhile is made up for.

use std::{collections::VecDeque, time::Duration};

use agenthub_outbound::Error as Outbound;
use futures_util::StreamExt;
use tokio::time::sleep;

use super::{
    Failure, Remote,
    catch_up::Progress,
    remote::{Ask, Events, wait},
    retry::Trying,
};
use crate::v1::{
    GetTaskRequest, SendMessageConfiguration, StreamResponse, SubscribeToTaskRequest, Task,
    TaskState, send_message_response, stream_response::Payload,
};

/// Pauses between two looks at a task of an agent that does not stream: the first, and the longest.
const LOOK: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(5));

/// Changes of a task, from the message or the subscription that begins it until it has ended or waits for its requester.
pub struct Following {
    remote: Remote,
    ask: Ask,
    source: Source,
    progress: Progress,
    ready: VecDeque<StreamResponse>,
    /// Failures since something came.
    tries: u32,
    /// The last failure leaves open whether the message arrived.
    may_have_arrived: bool,
    has_failed: bool,
}

enum Source {
    /// No stream.
    None,
    Stream(Events),
    /// The agent does not stream: the next look is after this pause.
    Look(Duration),
}

impl std::fmt::Debug for Following {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Following")
            .field("task_id", &self.progress.task_id)
            .finish_non_exhaustive()
    }
}

impl Following {
    pub(super) fn new(remote: Remote, ask: Ask, sent: &str) -> Self {
        let progress = Progress::after(sent);
        Self {
            remote,
            ask,
            source: Source::None,
            progress,
            ready: VecDeque::new(),
            tries: 0,
            may_have_arrived: false,
            has_failed: false,
        }
    }

    /// Id of the task; empty until it is known.
    pub fn task_id(&self) -> &str {
        &self.progress.task_id
    }

    /// Context of the task; empty until it is known.
    pub fn context_id(&self) -> &str {
        &self.progress.context_id
    }

    /// The state that was shown last.
    pub fn state(&self) -> Option<TaskState> {
        self.progress.state()
    }

    /// The next change: the task first, or the one message that the answer is. `None` once the task has ended or waits for its requester.
    /// Cancel-safe, but for a message that is sent meanwhile: it may be sent again.
    ///
    /// # Errors
    ///
    /// See [`Failure`]; nothing follows then.
    pub async fn next(&mut self) -> Option<Result<StreamResponse, Failure>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(Ok(event));
            }
            if self.has_failed || self.progress.is_over() {
                return None;
            }
            if let Err(failure) = self.advance().await {
                self.source = Source::None;
                self.may_have_arrived |= !failure.is_unsent();
                self.tries += 1;
                let trying = match self.known() {
                    Some(_) => Trying::Return,
                    None => self.remote.sending(),
                };
                if let Err(failure) = wait(trying, failure, self.tries).await {
                    self.has_failed = true;
                    return Some(Err(failure));
                }
            }
        }
    }

    async fn advance(&mut self) -> Result<(), Failure> {
        match &mut self.source {
            Source::Stream(events) => match events.next().await {
                Some(event) => {
                    let event = event?;
                    self.take(event);
                    Ok(())
                }
                // It ended before the task did: what is left is looked for.
                None if !self.progress.task_id.is_empty() => {
                    self.source = Source::Look(LOOK.0);
                    Ok(())
                }
                None => Err(broken("it ended before it began")),
            },
            Source::Look(pause) => {
                sleep(*pause).await;
                *pause = (*pause * 2).min(LOOK.1);
                self.look().await
            }
            Source::None => self.open().await,
        }
    }

    fn take(&mut self, event: StreamResponse) {
        self.tries = 0;
        self.ready.extend(self.progress.take(event));
    }

    fn take_task(&mut self, task: Task) {
        self.take(StreamResponse {
            payload: Some(Payload::Task(task)),
        });
    }

    /// Opens a stream: of the task, if it is known, or with the message.
    async fn open(&mut self) -> Result<(), Failure> {
        if let Some(request) = self.known() {
            return self.subscribe(request).await;
        }
        let Ask::Send(request) = &self.ask else {
            return Ok(());
        };
        if self.may_have_arrived {
            let found = self.remote.find_sent(request).await;
            if let Some(task) = found {
                self.take_task(task);
                return Ok(());
            }
        }
        if self.remote.streams() {
            self.source = Source::Stream(self.remote.open(&self.ask).await?);
            return Ok(());
        }
        let mut request = (**request).clone();
        let config = request
            .configuration
            .get_or_insert_with(SendMessageConfiguration::default);
        config.return_immediately = true;
        match self.remote.send_once(&request).await?.payload {
            Some(send_message_response::Payload::Task(task)) => self.take_task(task),
            Some(send_message_response::Payload::Message(message)) => self.take(StreamResponse {
                payload: Some(Payload::Message(message)),
            }),
            None => {
                return Err(Failure::Malformed(
                    "it has neither task nor message".to_owned(),
                ));
            }
        }
        Ok(())
    }

    fn known(&self) -> Option<SubscribeToTaskRequest> {
        let (mut request, is_named) = match &self.ask {
            Ask::Subscribe(request) => (request.clone(), true),
            Ask::Send(request) => {
                let tenant = request.tenant.clone();
                let named = SubscribeToTaskRequest {
                    tenant,
                    ..Default::default()
                };
                (named, false)
            }
        };
        match (self.progress.task_id.as_str(), is_named) {
            ("", true) => Some(request),
            ("", false) => None,
            (id, _) => {
                id.clone_into(&mut request.id);
                Some(request)
            }
        }
    }

    async fn subscribe(&mut self, request: SubscribeToTaskRequest) -> Result<(), Failure> {
        if !self.remote.streams() {
            self.source = Source::Look(LOOK.0);
            return self.look().await;
        }
        match self.remote.open(&Ask::Subscribe(request)).await {
            Ok(events) => {
                self.source = Source::Stream(events);
                Ok(())
            }
            // The task has ended, or the agent has no such stream: what it says of the task counts.
            Err(Failure::Refused {
                is_transient: false,
                ..
            }) => {
                self.source = Source::Look(LOOK.0);
                self.look().await
            }
            Err(failure) => Err(failure),
        }
    }

    /// Takes the task as it is.
    async fn look(&mut self) -> Result<(), Failure> {
        let Some(request) = self.known() else {
            return Ok(());
        };
        let get = GetTaskRequest {
            id: request.id,
            tenant: request.tenant,
            ..Default::default()
        };
        let task = self.remote.get_once(&get).await?;
        self.take_task(task);
        Ok(())
    }
}

fn broken(why: &str) -> Failure {
    Outbound::Broken {
        host: "the agent".to_owned(),
        why: why.to_owned(),
    }
    .into()
}

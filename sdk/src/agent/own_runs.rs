//! Runs that an agent begins of its own accord: first they are in its journal, then the hub knows their task, then they are driven.

use std::{sync::Arc, time::Duration};

use agenthub_proto::{
    a2a::Message,
    agenthub::{AgentEventMetadata, publish::Payload},
    trace::TraceContext,
};
use agenthub_runs::{
    Driver, RunEvent,
    journal::{self, Entry},
};
use tokio::{
    sync::{mpsc, oneshot},
    time::{Instant, sleep, timeout},
};

use super::{
    Handler, InFlight, StopReason,
    conducted::{Beginning, Conducted},
    dispatcher::Dispatcher,
    handlers::Chosen,
    origin::Origin,
    runs::ANSWER,
};
use crate::{
    Agent, Client, Error, Failure,
    connection::{Lease, Scope},
};

/// Time that a run may be in hand before it is driven: well within its lease.
const UNDRIVEN: Duration = Duration::from_secs(Driver::LEASE.as_secs() / 3);

/// Events that are read at one time.
const PAGE: usize = 128;

/// Pause before the hub is told again of a task that it could not take.
const TELL_AGAIN: Duration = Duration::from_secs(1);

/// Begins runs of an agent at work, as if their messages had come to its mailbox. Clones are the same, and do not keep the agent from stopping.
#[derive(Clone, Debug)]
pub struct RunStarter(pub(super) mpsc::Sender<Start>);

/// The reason why a run did not begin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BeginError {
    /// The agent's conductor makes no run of the message: why.
    #[error("{0}")]
    Refused(Failure),
    /// The hub does not take the run's task, so that the run has failed; or the agent stops.
    #[error(transparent)]
    Hub(#[from] Error),
    /// The journal does not take the run.
    #[error(transparent)]
    Journal(#[from] journal::JournalError),
}

/// A run that the agent is to begin.
#[derive(Debug)]
pub(super) struct Start {
    message: Message,
    routing: AgentEventMetadata,
    reply: Reply,
}

type Reply = oneshot::Sender<Result<bool, BeginError>>;

/// The reason why the hub does not know the task of a run.
pub(super) enum TellError {
    /// The hub does not take it.
    Refused(Error),
    /// The agent stops.
    Stopping,
}

impl RunStarter {
    /// Begins the run that a [`Conductor`](crate::Conductor) of the agent makes of this message, which names a task of its own. Returns
    /// when the run is written down and the hub knows its task. A run that is written down is driven to its end, also where this future is
    /// dropped, the hub is away or the process dies, if the journal survives that. It counts among the messages that the agent handles at
    /// one time; where these are too many, it waits. Whether it began with this call; `false` says that the journal had it before.
    ///
    /// # Errors
    ///
    /// [`BeginError`].
    pub async fn begin(
        &self,
        message: Message,
        routing: AgentEventMetadata,
    ) -> Result<bool, BeginError> {
        let (reply, begun) = oneshot::channel();
        let stopped = || Error::Closed("the agent stops".to_owned());
        let start = Start {
            message,
            routing,
            reply,
        };
        self.0.send(start).await.map_err(|_| stopped())?;
        begun.await.map_err(|_| stopped())?
    }
}

impl Dispatcher {
    /// Begins a run of the agent's own.
    pub(super) fn begin_own(&mut self, start: Start) {
        let Start {
            message,
            routing,
            reply,
        } = start;
        let began = self.own(message, routing);
        let (conducted, beginning) = match began {
            Ok(Some(began)) => began,
            // Who asked may be gone.
            Ok(None) => return drop(reply.send(Ok(false))),
            Err(error) => return drop(reply.send(Err(error))),
        };
        self.slots.take();
        self.adopted += 1;
        let context = conducted.context.clone();
        let span = super::intake::span(&context);
        self.spawn_run(context, conducted.run_own(beginning, reply), true, span);
    }

    /// The run of this message, and how it begins; nothing where it is in hand.
    fn own(
        &self,
        message: Message,
        routing: AgentEventMetadata,
    ) -> Result<Option<(Conducted, Beginning)>, BeginError> {
        let agent_id = self.client.agent_id();
        let routing = AgentEventMetadata {
            from_agent_id: agent_id.to_owned(),
            to_agent_id: agent_id.to_owned(),
            ..routing
        };
        let Chosen::Handle(Handler::Conduct(conductor)) = self.handlers.choose_own(&message) else {
            let why = "no conductor of this agent makes a run of such a message";
            return Err(Error::Invalid(why.to_owned()).into());
        };
        if message.task_id.is_empty() {
            let why = "a run that an agent begins is a task: the message names none";
            return Err(Error::Invalid(why.to_owned()).into());
        }
        let run = Agent::run_of(agent_id, &message.task_id, &message.message_id);
        let Some(held) = self.runs.take_delivered(&run) else {
            return Ok(None);
        };
        let guard = InFlight::take(&self.in_flight, &message.task_id);
        let origin = Origin {
            trace: TraceContext::parse_or_start(&routing.traceparent).child(),
            message,
            routing,
        };
        let context = self.context(origin, 1, Scope::Any, &guard, false);
        context.is_run(&run);
        let conducted = Conducted {
            runs: Arc::clone(&self.runs),
            held,
            conductor,
            context,
            lease: None,
            guard,
        };
        let beginning = conducted.beginning();
        let beginning = beginning.map_err(BeginError::Refused)?;
        Ok(Some((conducted, beginning)))
    }
}

impl Conducted {
    /// Writes a run down that the agent begins by itself, tells the hub of its task, says so, and drives it.
    async fn run_own(mut self, beginning: Beginning, reply: Reply) -> Option<Lease> {
        let Beginning { first, world } = match self.forked(beginning).await {
            Ok(beginning) => beginning,
            Err(failure) => {
                // Who asked may be gone, here and below.
                let _ = reply.send(Err(BeginError::Refused(failure)));
                return None;
            }
        };
        let driver = self.runs.driver();
        let taken = Instant::now();
        let opening = driver.open_with(self.held.run().clone(), self.runs.owner(), &first);
        let opened = match timeout(ANSWER, opening).await {
            Ok(opened) => opened,
            Err(_) => Err(journal::JournalError::Unavailable(
                "no answer in time".to_owned(),
            )),
        };
        let mut hand = match opened {
            Ok(hand) if hand.is_new() => hand,
            Ok(hand) => {
                // Whoever looks for runs that nobody drives finds it.
                let _ = timeout(ANSWER, hand.release()).await;
                let _ = reply.send(Ok(false));
                return None;
            }
            Err(journal::JournalError::Leased { .. }) => {
                let _ = reply.send(Ok(false));
                return None;
            }
            Err(error) => {
                tracing::warn!(run = %self.held.run(), %error, "a run could not be written down");
                let _ = reply.send(Err(error.into()));
                return None;
            }
        };
        match self.tell_of_task().await {
            Ok(()) => {}
            Err(TellError::Stopping) => return None,
            Err(TellError::Refused(error)) => {
                let why = format!("the hub does not take its task: {error}");
                let _ = reply.send(Err(error.into()));
                return self.give_up(&why, Some(why.clone())).await;
            }
        }
        let _ = reply.send(Ok(true));
        if taken.elapsed() > UNDRIVEN {
            drop(hand);
            hand = self.open(&[]).await?;
        }
        self.show_begun().await;
        self.drive(hand, world, None).await
    }

    /// True if the hub was never told of the task of this run: the agent began it by itself, and has done nothing for it since.
    ///
    /// # Errors
    ///
    /// The journal does not say.
    pub(super) async fn is_untold(&self) -> Result<bool, journal::JournalError> {
        let is_own = self.context.sender() == self.context.client().agent_id();
        let Some(journal) = self.runs.journal().filter(|_| is_own) else {
            return Ok(false);
        };
        let (run, mut seq, mut begun_ms) = (self.held.run(), 0, None);
        loop {
            let page = timeout(ANSWER, journal.read(run, seq, PAGE)).await;
            let late = || journal::JournalError::Unavailable("no answer in time".to_owned());
            let page = page.map_err(|_| late())??;
            let Some(last) = page.last() else {
                return Ok(true);
            };
            seq = last.seq;
            for Entry { event, .. } in &page {
                match (event, begun_ms) {
                    (RunEvent::Started(started), None) => begun_ms = Some(started.at_ms),
                    // A fork begins with what its run did.
                    _ if Some(event.at_ms()) < begun_ms => {}
                    _ => return Ok(false),
                }
            }
        }
    }

    /// Publishes the message of a run that the agent began by itself, which makes the run's task, for as long as that takes. The hub knows it
    /// when it comes again. A run that was told to stop meanwhile is as good as told.
    pub(super) async fn tell_of_task(&self) -> Result<(), TellError> {
        let signal = &self.guard.signal;
        let is_durable = self.runs.is_durable();
        loop {
            let payload = Payload::Message(self.context.message().clone());
            let routing = self.context.routing().clone();
            let client = self.context.client();
            let telling =
                client.publish_payload(payload, routing, Scope::Any, Client::PUBLISH_DEADLINE);
            let error = tokio::select! {
                told = telling => match told {
                    Ok(_) => return Ok(()),
                    Err(error) => error,
                },
                () = signal.token.cancelled() => return match signal.why() {
                    Some(StopReason::Stopping) => Err(TellError::Stopping),
                    _ => Ok(()),
                },
                () = self.runs.stop.cancelled(), if is_durable => return Err(TellError::Stopping),
            };
            match error {
                Error::Closed(_) => return Err(TellError::Stopping),
                error if error.is_retryable() && !error.is_used_up() => {
                    tracing::debug!(run = %self.held.run(), %error, "the hub does not know the task of a run yet");
                    sleep(error.pause(TELL_AGAIN)).await;
                }
                error => return Err(TellError::Refused(error)),
            }
        }
    }
}

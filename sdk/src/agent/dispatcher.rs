//! Gives each delivery to its handler, in the order of delivery, and lets those of one task wait for each other.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use agenthub_proto::{
    a2a::Message,
    agenthub::{AgentEventMetadata, agent_event::Payload},
    trace::TraceContext,
};
use tokio::{
    sync::mpsc,
    task::JoinSet,
    time::{Instant, sleep_until},
};
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, info_span};

use super::{
    AgentType, Handler, InFlight, Slots, StopReason,
    routes::{Choice, Routes},
    work::{self, Job},
};
use crate::{
    Client, Failure, TaskContext,
    connection::{Delivered, Lease, Scope},
    task_context::Inner,
};

/// How long it may take to come to an end after having been told to.
pub(super) const LAST_WORDS: Duration = Duration::from_secs(1);

/// What an agent works with.
pub(super) struct Dispatcher {
    pub(super) routes: Routes,
    pub(super) handlers: Vec<Handler>,
    pub(super) any: Option<Handler>,
    pub(super) client: Client,
    pub(super) agent_type: AgentType,
    pub(super) in_flight: Arc<InFlight>,
    pub(super) slots: Arc<Slots>,
    pub(super) drain_timeout: Duration,
    /// For each task at work, what waits for it.
    pub(super) waiting: HashMap<String, VecDeque<Delivered>>,
    pub(super) working: JoinSet<Done>,
}

/// A handling that is over.
pub(super) struct Done {
    task_id: String,
    /// To be given back for others.
    unhandled: Option<Lease>,
}

impl Dispatcher {
    /// Works until `stop`, then waits for the handlers at work. Returns the deliveries that were not handled.
    pub(super) async fn run(
        mut self,
        mut deliveries: mpsc::Receiver<Delivered>,
        stop: CancellationToken,
    ) -> Vec<Lease> {
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                done = self.working.join_next(), if !self.working.is_empty() => {
                    if let Some(Ok(done)) = done {
                        self.done(done).await;
                    }
                }
                delivered = deliveries.recv() => match delivered {
                    Some(delivered) => self.take(delivered).await,
                    None => break,
                },
            }
        }
        deliveries.close();
        self.drain(deliveries).await
    }

    async fn take(&mut self, delivered: Delivered) {
        let task_id = delivered.event.task_id();
        if let Some(waiting) = self.waiting.get_mut(task_id) {
            waiting.push_back(delivered);
            return;
        }
        self.begin(delivered).await;
    }

    async fn begin(&mut self, delivered: Delivered) {
        let Some(Payload::Message(message)) = delivered.event.payload else {
            return self.skip(delivered.lease, "it is no message").await;
        };
        let routing = delivered.event.routing.unwrap_or_default();
        let sender = &routing.from_agent_id;
        let is_directed = !routing.to_agent_id.is_empty();
        let choice = self.routes.choose(&message, sender, is_directed);
        if let Choice::Ignore(why) = choice {
            return self.skip(delivered.lease, why).await;
        }
        let context = self.context(
            message,
            routing,
            delivered.attempt,
            delivered.epoch,
            &delivered.guard.signal,
        );
        let span = info_span!(
            "task",
            agent = context.client().agent_id(),
            task_id = context.task_id(),
            context_id = context.context_id(),
            trace_id = context.trace().trace_id(),
        );
        let job = Job {
            lease: delivered.lease,
            guard: delivered.guard,
            context,
        };
        let handler = match choice {
            Choice::Handler(place) => self.handlers.get(place),
            Choice::Any => self.any.as_ref(),
            Choice::Reject(why) => {
                self.reject(job, why, span);
                return;
            }
            Choice::Ignore(_) => None,
        };
        let Some(handler) = handler else {
            return self
                .skip(job.lease, "the agent has no handler for it")
                .await;
        };
        let handling = job.begin(handler).instrument(span.clone()).await;
        self.spawn(job, handling, span);
    }

    fn reject(&mut self, job: Job, why: String, span: tracing::Span) {
        tracing::debug!(parent: &span, why, "rejected");
        let failure = Failure::rejected(why);
        self.spawn(job, Box::pin(std::future::ready(Err(failure))), span);
    }

    fn spawn(&mut self, job: Job, handling: work::Handling, span: tracing::Span) {
        let task_id = job.context.task_id().to_owned();
        if !task_id.is_empty() {
            self.waiting.insert(task_id.clone(), VecDeque::new());
        }
        let work = async move {
            let unhandled = job.finish(handling).await;
            Done { task_id, unhandled }
        };
        self.working.spawn(work.instrument(span));
    }

    fn context(
        &self,
        message: Message,
        routing: AgentEventMetadata,
        attempt: u32,
        epoch: u64,
        signal: &Arc<super::StopSignal>,
    ) -> TaskContext {
        TaskContext {
            inner: Arc::new(Inner {
                trace: TraceContext::parse_or_start(&routing.traceparent).child(),
                message,
                routing,
                attempt,
                client: self.client.clone(),
                signal: Arc::clone(signal),
                slots: Arc::clone(&self.slots),
                scope: Scope::Epoch(epoch),
                agent_type: self.agent_type,
                is_taken_up: false,
            }),
        }
    }

    async fn skip(&self, lease: Option<Lease>, why: &'static str) {
        tracing::debug!(why, "a message was left alone");
        if let Some(lease) = lease {
            // An error says that the connection is closed.
            let _ = self.client.link().ack(lease).await;
        }
        self.slots.free().await;
    }

    /// Lets the next message of the task go ahead, and another delivery come.
    async fn done(&mut self, done: Done) {
        self.slots.free().await;
        let mut waiting = self.waiting.remove(&done.task_id).unwrap_or_default();
        while let Some(next) = waiting.pop_front() {
            self.begin(next).await;
            // Unless it was left alone, the rest waits for it.
            if let Some(rest) = self.waiting.get_mut(&done.task_id) {
                *rest = waiting;
                return;
            }
        }
    }

    /// Waits for the handlers at work, stops those that take too long, and collects what was not handled.
    async fn drain(mut self, mut deliveries: mpsc::Receiver<Delivered>) -> Vec<Lease> {
        let mut unhandled: Vec<Lease> = Vec::new();
        let waiting = std::mem::take(&mut self.waiting);
        unhandled.extend(waiting.into_values().flatten().filter_map(|d| d.lease));
        let until = Instant::now() + self.drain_timeout;
        let mut last = until + LAST_WORDS;
        let mut is_patient = true;
        loop {
            tokio::select! {
                done = self.working.join_next() => match done {
                    Some(Ok(done)) => unhandled.extend(done.unhandled),
                    Some(Err(error)) => tracing::warn!(%error, "a handling was broken off"),
                    None => break,
                },
                () = sleep_until(until), if is_patient => {
                    is_patient = false;
                    self.in_flight.stop_all(&StopReason::Stopping);
                }
                () = sleep_until(last) => {
                    // Results that the hub does not take, or handlers that block. The goodbye gives them back.
                    self.working.abort_all();
                    last += self.drain_timeout + LAST_WORDS;
                }
            }
        }
        while let Ok(delivered) = deliveries.try_recv() {
            unhandled.extend(delivered.lease);
        }
        unhandled
    }
}

//! Begins what is done with a message: a function is called, a run begins or is taken up.

use std::{
    collections::VecDeque,
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex, OnceLock},
    time::Duration,
};

use agenthub_proto::{
    a2a::Message,
    agenthub::{AgentEvent, agent_event::Payload},
    trace::TraceContext,
};
use agenthub_runs::{RunStarted, journal};
use futures_util::FutureExt;
use tokio::{sync::RwLock, time::sleep};
use tracing::{Instrument, Span, info_span};

use super::{
    Handler, InFlight, InFlightGuard,
    conducted::Conducted,
    dispatcher::{Dispatcher, Done},
    ending,
    giving_up::{self, GivingUp},
    handlers::Chosen,
    origin::Origin,
    questions::{self, Answered, Asked, Resumed},
    recovery::Orphan,
    work::{self, Job},
};
use crate::{
    Client, Conductor, Failure, TaskContext, approvals,
    connection::{Delivered, Lease, Scope},
    task_context::Inner,
};

/// Pause before the hub is asked again for a history.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// A message of which the journal has said whether it is a run already.
pub(super) struct QueuedRun {
    pub(super) conducted: Conducted,
    /// The beginning of the run, if it has one.
    begun: Result<Option<RunStarted>, journal::JournalError>,
    /// The message is of a task that an executor has a run of.
    is_follow_up: bool,
    span: Span,
}

/// The conversation of a message, in which order matters; where it has none, its task.
pub(super) fn conversation(message: &Message) -> &str {
    match &*message.context_id {
        "" => &message.task_id,
        context_id => context_id,
    }
}

impl Dispatcher {
    /// Begins the handling of a message. An answer to a question of a handler that is not here any more is looked up first.
    pub(super) async fn begin(&mut self, delivered: Delivered) {
        let is_answer = delivered
            .event
            .routing
            .as_ref()
            .is_some_and(|r| r.is_answer);
        match is_answer {
            true => self.look_back(delivered),
            false => self.begin_with(delivered, Answered::Nothing).await,
        }
    }

    /// Looks in the task's history for the handling that goes on with a message. What comes meanwhile in the same conversation waits.
    fn look_back(&mut self, delivered: Delivered) {
        let Some(Payload::Message(answer)) = &delivered.event.payload else {
            return;
        };
        let conversation = conversation(answer).to_owned();
        self.reading.insert(conversation.clone(), VecDeque::new());
        let (answer, client) = (answer.clone(), self.client.clone());
        let stop = self.runs.stop.clone();
        self.working.spawn(async move {
            let answered = loop {
                match client.task(&answer.task_id, Client::WHOLE_HISTORY).await {
                    Ok(task) => break questions::answered(&task.history, &answer),
                    Err(error) if error.is_retryable() => {
                        tracing::debug!(%error, "not known yet which question is answered");
                    }
                    Err(error) => {
                        tracing::debug!(%error, "not known which question is answered");
                        break Answered::Nothing;
                    }
                }
                tokio::select! {
                    () = stop.cancelled() => break Answered::Nothing,
                    () = sleep(LOOK_AGAIN) => {}
                }
            };
            Done::LookedBack {
                conversation,
                delivered: Box::new(delivered),
                answered,
            }
        });
    }

    /// Begins the handling of a message, or goes on with an earlier one that it answers.
    pub(super) async fn begin_with(&mut self, delivered: Delivered, answered: Answered) {
        let Some(Payload::Message(message)) = delivered.event.payload else {
            return self.skip(delivered.lease, "it is no message").await;
        };
        if message.task_id.is_empty() && message.task_type() == approvals::DECISION {
            let routing = delivered.event.routing.as_ref();
            let principal = routing.map_or("", |routing| &*routing.on_behalf_of);
            self.client.approvals().take(&message, principal);
            return self.skip(delivered.lease, "it answers an approval").await;
        }
        let (message, answers) = match answered {
            Answered::Handling(resumed) => {
                let Resumed { handled, answers } = *resumed;
                (handled, answers)
            }
            Answered::Run => {
                let why = "it answers a question of a run, which reads it in the task";
                return self.skip(delivered.lease, why).await;
            }
            Answered::Nothing => (message, Vec::new()),
        };
        let routing = delivered.event.routing.unwrap_or_default();
        let chosen = self.handlers.choose(&message, &routing);
        let AgentEvent {
            event_id, position, ..
        } = delivered.event;
        let event = format!("{event_id}@{position}");
        let is_run = matches!(&chosen, Chosen::Handle(Handler::Conduct(_)));
        let is_durable = is_run && self.runs.is_durable();
        let scope = match is_durable {
            // What is published for a run is of use for as long as there is the run.
            true => Scope::Any,
            false => Scope::Epoch(delivered.epoch),
        };
        let above = TraceContext::parse_or_start(&routing.traceparent);
        let origin = Origin {
            // Only runs are spans: what else is done is part of the span above.
            trace: match is_run {
                true => above.child(),
                false => above,
            },
            message,
            routing,
        };
        let context = self.context(origin, delivered.attempt, scope, &delivered.guard, false);
        context.inner.asked.know(answers);
        // It is new: nothing was set.
        let _ = context.inner.position.set(position);
        let span = span(&context);
        let job = Job {
            lease: delivered.lease,
            guard: delivered.guard,
            context,
        };
        match chosen {
            Chosen::Handle(Handler::Call(function)) => {
                let handling = job.begin(&function).instrument(span.clone()).await;
                self.spawn(job, handling, span);
            }
            Chosen::Handle(Handler::Conduct(conductor)) => {
                self.conduct(job, conductor, &event, span).await;
            }
            Chosen::Reject(why) => {
                tracing::debug!(parent: &span, why, "rejected");
                self.spawn_failed(job, Failure::rejected(why), span);
            }
            Chosen::Ignore(why) => self.skip(job.lease, why).await,
        }
    }

    /// Looks whether the message is a run already. The journal is waited for beside the dispatcher; what comes meanwhile in the same
    /// conversation waits as well.
    async fn conduct(&mut self, job: Job, conductor: Arc<dyn Conductor>, event: &str, span: Span) {
        let run = self.runs.run_of(&job.context, event);
        job.context.is_run(&run);
        let Some(held) = self.runs.take_delivered(&run) else {
            let why = "its run is at work";
            return match self.runs.is_durable() {
                true => self.skip(job.lease, why).await,
                false => self.spawn_run(job.context.clone(), job.put_off(why), false, span),
            };
        };
        let found = QueuedRun {
            conducted: Conducted {
                runs: Arc::clone(&self.runs),
                held,
                conductor,
                context: job.context,
                lease: job.lease,
                guard: job.guard,
            },
            begun: Ok(None),
            is_follow_up: false,
            span,
        };
        if self.runs.journal().is_none() {
            return self.go_on(found).await;
        }
        let conversation = conversation(found.conducted.context.message()).to_owned();
        self.reading.insert(conversation.clone(), VecDeque::new());
        let runs = Arc::clone(&self.runs);
        self.working.spawn(async move {
            let begun = AssertUnwindSafe(runs.begun(&run)).catch_unwind().await;
            let begun = begun.unwrap_or_else(|panic| {
                let panic = work::panicked(panic.as_ref());
                Err(journal::JournalError::Unavailable(panic.text))
            });
            if let Err(error @ journal::JournalError::Unreadable { .. }) = &begun {
                giving_up::close(&runs, &run, &error.to_string()).await;
            }
            let is_follow_up = runs.duty.recorder().is_some()
                && matches!(&begun, Ok(None))
                && found.conducted.is_follow_up().await;
            let found = Box::new(QueuedRun {
                begun,
                is_follow_up,
                ..found
            });
            Done::Read {
                conversation,
                found,
            }
        });
    }

    /// Makes a run of the message, or goes on with the one that it is already.
    pub(super) async fn go_on(&mut self, found: QueuedRun) {
        let QueuedRun {
            mut conducted,
            begun,
            is_follow_up,
            span,
        } = found;
        let run = conducted.held.run().clone();
        match begun {
            Ok(Some(started)) => {
                if let Some(origin) = Origin::read(&started.origin) {
                    let attempt = conducted.context.attempt();
                    let scope = conducted.context.scope();
                    conducted.context =
                        self.context(origin, attempt, scope, &conducted.guard, true);
                    conducted.context.is_run(&run);
                }
                let context = conducted.context.clone();
                match self.runs.duty.recorder() {
                    Some(_) => self.spawn_run(context, conducted.leave_to_executor(), false, span),
                    None => self.spawn_run(context, conducted.take_up(), false, span),
                }
            }
            Ok(None) if is_follow_up => {
                let context = conducted.context.clone();
                self.spawn_run(context, conducted.leave_to_executor(), false, span);
            }
            Ok(None) => match conducted.begin().instrument(span.clone()).await {
                Ok(beginning) => {
                    let context = conducted.context.clone();
                    self.spawn_run(context, conducted.run(beginning), false, span);
                }
                Err(failure) => self.spawn_failed(conducted.into_job(), failure, span),
            },
            Err(error @ journal::JournalError::Unreadable { .. }) => {
                let why = error.to_string();
                tracing::error!(%run, why, "a run is given up");
                conducted.held.abandon();
                self.spawn_failed(conducted.into_job(), ending::cannot_go_on(&why), span);
            }
            Err(error) => {
                tracing::warn!(%run, %error, "the journal cannot be read");
                let why = "the agent's journal cannot be read";
                let job = conducted.into_job();
                self.spawn_run(job.context.clone(), job.put_off(why), false, span);
            }
        }
    }

    /// Goes on with a run that nobody drives any more.
    pub(super) async fn adopt(&mut self, orphan: Orphan) {
        let Orphan {
            run,
            strategy,
            origin,
        } = orphan;
        let Some(held) = self.runs.take(&run) else {
            return;
        };
        let is_behind = self.reading.contains_key(conversation(&origin.message))
            || self.waiting.contains_key(&origin.message.task_id);
        if is_behind {
            // It is found again when the message before it is done with.
            return;
        }
        let execution = self.runs.duty.execution();
        let conductor = match execution.and_then(|execution| execution.give_up.as_deref()) {
            Some(why) => Some(GivingUp::because(why)),
            None => self
                .handlers
                .conductor(&origin.message, &origin.routing, &strategy),
        };
        let guard = InFlight::take(&self.in_flight, &origin.message.task_id);
        let context = self.context(origin, 1, Scope::Any, &guard, true);
        context.is_run(&run);
        self.slots.take();
        self.adopted += 1;
        let span = span(&context);
        let conductor = conductor.unwrap_or_else(|| {
            let why = format!("nothing here knows the strategy {strategy:?}");
            tracing::error!(%run, why, "a run is given up");
            GivingUp::because(&why)
        });
        let conducted = Conducted {
            runs: Arc::clone(&self.runs),
            held,
            conductor,
            context: context.clone(),
            lease: None,
            guard,
        };
        self.spawn_run(context, conducted.take_up(), true, span);
    }

    fn spawn_failed(&mut self, job: Job, failure: Failure, span: Span) {
        self.spawn(job, Box::pin(std::future::ready(Err(failure))), span);
    }

    fn spawn(&mut self, job: Job, handling: work::Handling, span: Span) {
        let context = job.context.clone();
        self.spawn_run(context, job.finish(handling), false, span);
    }

    pub(super) fn spawn_run(
        &mut self,
        context: TaskContext,
        work: impl Future<Output = Option<Lease>> + Send + 'static,
        is_adopted: bool,
        span: Span,
    ) {
        let task_id = context.task_id().to_owned();
        if !task_id.is_empty() {
            self.waiting
                .insert(task_id.clone(), Arc::clone(&context.inner.follow_ups));
        }
        let work = async move {
            let caught = AssertUnwindSafe(work).catch_unwind().await;
            let unhandled = caught.unwrap_or_else(|panic| {
                tracing::error!(error = %work::panicked(panic.as_ref()), "a handling broke off");
                None
            });
            Done::Handled {
                task_id,
                unhandled,
                is_adopted,
            }
        };
        self.working.spawn(work.instrument(span));
    }

    pub(super) fn context(
        &self,
        origin: Origin,
        attempt: u32,
        scope: Scope,
        guard: &InFlightGuard,
        is_taken_up: bool,
    ) -> TaskContext {
        TaskContext {
            inner: Arc::new(Inner {
                message: origin.message,
                routing: origin.routing,
                trace: origin.trace,
                attempt,
                client: self.client.clone(),
                signal: Arc::clone(&guard.signal),
                slots: Arc::clone(&self.slots),
                scope,
                agent_type: self.agent_type,
                is_taken_up,
                run: OnceLock::new(),
                position: OnceLock::new(),
                asked: Asked::default(),
                questions: Arc::clone(&self.questions),
                follow_ups: Arc::default(),
                used: Mutex::default(),
                floor: RwLock::default(),
            }),
        }
    }
}

pub(super) fn span(context: &TaskContext) -> Span {
    info_span!(
        "task",
        agent = context.client().agent_id(),
        task_id = context.task_id(),
        context_id = context.context_id(),
        trace_id = context.trace().trace_id(),
        correlation_id = context.correlation_id(),
    )
}

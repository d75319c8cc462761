//! Tells of runs while they are driven: spans to who collects them, lines to the log, and numbers to the metrics of the process.
//!
//! Spans and lines follow from the run's journal ([`runs::spans`](agenthub_runs::spans)); this is the shell around that.

mod asked;
mod counted;
mod log;
#[cfg(feature = "otlp")]
mod otlp;

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use agenthub_proto::trace::TraceContext;
use agenthub_runs::{
    Journal, RunId,
    journal::{self, Entry},
    spans::{Projection, Span, Subject},
};
use tokio::time::timeout;

use asked::Asked;
#[cfg(feature = "otlp")]
pub use otlp::{Telemetry, TelemetryError};

use crate::{Identity, TaskContext, redact};

/// Deadline for reading what came before.
const CATCH_UP: Duration = Duration::from_secs(5);

/// The entries that are read at once.
const PAGE: usize = 256;

/// Collector of spans.
pub trait SpanSink: fmt::Debug + Send + Sync {
    /// Takes a span that has ended. Returns at once; what cannot be taken is dropped. Where a run was taken up, its last spans come
    /// again, the same to the byte, because the process before may have died with them.
    fn emit(&self, span: Span);
}

/// Spans and log of one run.
pub struct Spans {
    folded: Mutex<Folded>,
    sink: Option<Arc<dyn SpanSink>>,
    journal: Option<Arc<dyn Journal>>,
}

struct Folded {
    projection: Projection,
    asked: Asked,
    /// The place of the last event.
    last: u64,
}

impl Spans {
    /// A run of this agent that nothing is known of yet, at `trace` and below the position `above`. A trace that is not to be recorded
    /// is not.
    pub fn new(
        run: RunId,
        agent: &str,
        identity: Identity,
        task_id: &str,
        (above, trace): (Option<TraceContext>, TraceContext),
        sink: Option<Arc<dyn SpanSink>>,
    ) -> Self {
        let (trace_id, span_id) = trace.ids();
        let subject = Subject {
            correlation_id: run.to_string(),
            run,
            agent: agent.to_owned(),
            model: identity.model,
            workflow: identity.workflow,
            task_id: task_id.to_owned(),
            trace_id,
            span_id,
            parent: above.filter(|a| !a.is_start()).map(|a| a.ids().1),
        };
        Self {
            folded: Mutex::new(Folded {
                projection: Projection::new(subject),
                asked: Asked::default(),
                last: 0,
            }),
            sink: sink.filter(|_| trace.is_sampled()),
            journal: None,
        }
    }

    /// Journal in which to read what happened before the run was taken up.
    #[must_use]
    pub fn journal(self, journal: Option<Arc<dyn Journal>>) -> Self {
        Self { journal, ..self }
    }

    /// Id of the request that the run is a part of; the run's own id if not given.
    #[must_use]
    pub fn correlation_id(self, id: &str) -> Self {
        {
            let mut folded = self.lock();
            let subject = folded.projection.subject().clone();
            folded.projection = Projection::new(Subject {
                correlation_id: id.to_owned(),
                ..subject
            });
        }
        self
    }

    /// The run of a message.
    pub(crate) fn of_task(
        run: RunId,
        identity: Identity,
        task: &TaskContext,
        sink: Option<Arc<dyn SpanSink>>,
    ) -> Self {
        let agent = task.client().agent_id();
        let above = task.routing().traceparent.parse().ok();
        let at = (above, task.trace());
        Self::new(run, agent, identity, task.task_id(), at, sink)
            .correlation_id(task.correlation_id())
    }

    /// Tells of an event of the run. They come in order, each once it is durable; `again` says that the process before may have told of
    /// it: then the log does not. Never waits.
    pub fn tell(&self, entry: &Entry, again: bool) {
        let span = {
            let mut folded = self.lock();
            if entry.seq <= folded.last {
                return;
            }
            folded.last = entry.seq;
            let back = folded.asked.apply(&entry.event);
            let span = folded.projection.of(&entry.event);
            if !again {
                let metrics = agenthub_metrics::runs::of_process();
                counted::count(metrics, &folded.projection, &entry.event, span.as_ref());
                let Folded {
                    projection, asked, ..
                } = &*folded;
                log::event(projection, &entry.event);
                let back = back.as_ref().map(|back| (asked, back));
                log::ended(projection, &entry.event, span.as_ref(), back);
            }
            span
        };
        if let (Some(span), Some(sink)) = (span, &self.sink) {
            sink.emit(without_secrets(span));
        }
    }

    /// Takes in what happened before the event at this place, of a run that was taken up. Reads for at most 5 s.
    pub async fn catch_up(&self, seq: u64) {
        let Some(journal) = self.journal.as_ref().filter(|_| seq > 1) else {
            return;
        };
        let run = self.lock().projection.subject().run.clone();
        match timeout(CATCH_UP, self.take_in(&**journal, &run, seq)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::debug!(%run, %error, "spans begin in the middle"),
            Err(_) => tracing::debug!(%run, "spans begin in the middle"),
        }
    }

    async fn take_in(
        &self,
        journal: &dyn Journal,
        run: &RunId,
        before: u64,
    ) -> Result<(), journal::JournalError> {
        loop {
            let last = self.lock().last;
            let page = match last + 1 < before {
                true => journal.read(run, last, PAGE).await?,
                false => return Ok(()),
            };
            if page.is_empty() {
                return Ok(());
            }
            let mut folded = self.lock();
            for entry in page.iter().filter(|entry| entry.seq < before) {
                folded.last = entry.seq;
                // It ended long before the process that died did.
                let _ = folded.asked.apply(&entry.event);
                let _ = folded.projection.of(&entry.event);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Folded> {
        self.folded.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Spans {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spans")
            .field("sink", &self.sink)
            .finish_non_exhaustive()
    }
}

fn without_secrets(mut span: Span) -> Span {
    if let Some(error) = &mut span.error {
        error.message = redact::error(&error.message);
    }
    span
}

#[cfg(test)]
mod asked_tests;

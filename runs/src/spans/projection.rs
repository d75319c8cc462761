//! Fold of a run's events into spans.

use std::collections::BTreeMap;

use super::{
    Event, Kind, Parent, Span, SpanError, Value,
    conventions::{
        AGENT, ATTEMPT, CALLS, CONVERSATION, CORRELATION, ERROR_TYPE, INVOKE_AGENT,
        INVOKE_WORKFLOW, OPERATION, PROVIDER, REQUEST_MODEL, RUN, STATE, STEP, STRATEGY, TASK,
        TOKENS, WORKFLOW, model,
    },
    open::{OpenSpan, used},
    reading::{RoundScore, artifacts},
    shortened, span_of,
};
use crate::{
    budget::Spent,
    event::{RunEvent, RunOutcome, RunStarted, StepResult},
    id::{RunId, StepId, StepKey},
    model::Usage,
};

/// Maximum events in the span of a run.
const MAX_EVENTS: usize = 128;

/// Attributes of a run that its journal does not contain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// The run.
    pub run: RunId,
    /// The agent that owns the run.
    pub agent: String,
    /// The run's model, as `provider/model`; may be empty.
    pub model: String,
    /// Name of the workflow; empty for an agent's own run.
    pub workflow: String,
    /// Id of its task; may be empty.
    pub task_id: String,
    /// Correlation id of the request, the same across agents; may be empty.
    pub correlation_id: String,
    /// Trace id.
    pub trace_id: u128,
    /// Span id of the run itself.
    pub span_id: u64,
    /// Parent span, of the requester.
    pub parent: Option<u64>,
}

/// Fold of a run's events into spans, each returned when it ends.
#[derive(Clone, Debug)]
pub struct Projection {
    subject: Subject,
    started_ms: u64,
    thread: String,
    strategy: String,
    open: BTreeMap<StepId, OpenSpan>,
    usage: Usage,
    standing: RoundScore,
    events: Vec<Event>,
}

impl Projection {
    /// A fold before the first event.
    pub fn new(subject: Subject) -> Self {
        Self {
            subject,
            started_ms: 0,
            thread: String::new(),
            strategy: String::new(),
            open: BTreeMap::new(),
            usage: Usage::default(),
            standing: RoundScore::default(),
            events: Vec::new(),
        }
    }

    /// The attributes of the run.
    pub fn subject(&self) -> &Subject {
        &self.subject
    }

    /// Kind of work: the workflow's name, or else the strategy's.
    pub fn workflow(&self) -> &str {
        match self.subject.workflow.as_str() {
            "" => &self.strategy,
            workflow => workflow,
        }
    }

    /// Applies the next event. Returns the span that ends with it, if any.
    pub fn of(&mut self, event: &RunEvent) -> Option<Span> {
        match event {
            RunEvent::Started(started) => {
                self.start(started);
                None
            }
            RunEvent::StepBegun {
                step,
                attempt,
                what,
                at_ms,
                ..
            } => {
                let open = OpenSpan::of(what, &self.subject.model, *attempt, *at_ms)?;
                self.open.insert(step.clone(), open);
                None
            }
            RunEvent::StepEnded {
                step,
                attempt,
                result,
                spent,
                at_ms,
            } => {
                let mut open = self.open.remove(step).filter(|o| o.attempt == *attempt)?;
                open.ended(result, *spent, *at_ms);
                self.count(result);
                Some(self.step(step, open, *at_ms))
            }
            RunEvent::Noted { value, at_ms, .. } => {
                self.note(RoundScore::of(value)?, *at_ms);
                None
            }
            RunEvent::Ended {
                outcome,
                spent,
                at_ms,
            } => Some(self.run(outcome, *spent, *at_ms)),
            RunEvent::Observed { .. } | RunEvent::Progressed { .. } | RunEvent::Stopping { .. } => {
                None
            }
        }
    }

    fn start(&mut self, started: &RunStarted) {
        self.started_ms = started.at_ms;
        self.strategy.clone_from(&started.strategy);
        self.thread.clone_from(&started.thread);
    }

    fn count(&mut self, result: &StepResult) {
        if let StepResult::ModelAnswered(answer) = result {
            let usage = answer.usage.unwrap_or_default();
            self.usage.input_tokens = self.usage.input_tokens.saturating_add(usage.input_tokens);
            self.usage.output_tokens = self.usage.output_tokens.saturating_add(usage.output_tokens);
        }
    }

    fn note(&mut self, told: RoundScore, at_ms: u64) {
        let standing = told.over(self.standing);
        if standing != self.standing && self.events.len() < MAX_EVENTS {
            self.events.push(standing.event(at_ms));
        }
        self.standing = standing;
    }

    fn step(&self, step: &StepId, open: OpenSpan, at_ms: u64) -> Span {
        let key = StepKey {
            run: self.subject.run.clone(),
            step: step.clone(),
            attempt: open.attempt,
        };
        let mut attributes = vec![(OPERATION, open.operation.into())];
        attributes.extend(open.attributes);
        attributes.extend(self.conversation());
        attributes.push((RUN, self.subject.run.as_str().into()));
        attributes.extend(self.correlation());
        attributes.push((STEP, step.as_str().into()));
        attributes.push((ATTEMPT, u64::from(open.attempt).into()));
        attributes.extend(class_of(open.error.as_ref()));
        Span {
            trace_id: self.subject.trace_id,
            span_id: span_of(&key),
            parent: Some(Parent {
                span_id: self.subject.span_id,
                is_remote: false,
            }),
            name: named(open.operation, &open.name),
            kind: open.kind,
            start_ms: open.at_ms,
            end_ms: at_ms.max(open.at_ms),
            attributes,
            events: open.events,
            error: open.error,
        }
    }

    fn run(&mut self, outcome: &RunOutcome, spent: Spent, at_ms: u64) -> Span {
        let mut events = std::mem::take(&mut self.events);
        let error = match outcome {
            RunOutcome::Completed { data, .. } => {
                let bundle = data.get("bundle").unwrap_or(data);
                self.standing = RoundScore::at_last(bundle).over(self.standing);
                events.extend(artifacts(bundle.get("result"), at_ms));
                None
            }
            RunOutcome::Failed { error } => Some(SpanError::new("failed", error)),
            RunOutcome::Cancelled { reason } => Some(SpanError::new("cancelled", reason)),
        };
        events.truncate(MAX_EVENTS);
        let subject = &self.subject;
        let (operation, name) = match subject.workflow.as_str() {
            "" => (INVOKE_AGENT, subject.agent.as_str()),
            workflow => (INVOKE_WORKFLOW, workflow),
        };
        let mut attributes: Vec<(_, Value)> = vec![(OPERATION, operation.into())];
        attributes.push((AGENT, subject.agent.as_str().into()));
        if operation == INVOKE_WORKFLOW {
            attributes.push((WORKFLOW, name.into()));
        }
        if !subject.model.is_empty() {
            let (provider, model) = model(&subject.model);
            attributes.push((PROVIDER, provider.into()));
            attributes.push((REQUEST_MODEL, model.into()));
            attributes.extend(used(&self.usage));
        }
        attributes.extend(self.conversation());
        attributes.push((RUN, subject.run.as_str().into()));
        attributes.extend(self.correlation());
        attributes.push((STRATEGY, self.strategy.as_str().into()));
        if !subject.task_id.is_empty() {
            attributes.push((TASK, subject.task_id.as_str().into()));
        }
        attributes.push((STATE, outcome.label().into()));
        attributes.push((TOKENS, spent.tokens.into()));
        attributes.push((CALLS, spent.calls.into()));
        attributes.extend(self.standing.attributes());
        attributes.extend(class_of(error.as_ref()));
        Span {
            trace_id: subject.trace_id,
            span_id: subject.span_id,
            parent: subject.parent.map(|span_id| Parent {
                span_id,
                is_remote: true,
            }),
            name: named(operation, name),
            kind: Kind::Internal,
            start_ms: self.started_ms,
            end_ms: at_ms.max(self.started_ms),
            attributes,
            events,
            error,
        }
    }

    fn correlation(&self) -> Option<(&'static str, Value)> {
        let id = self.subject.correlation_id.as_str();
        (!id.is_empty()).then(|| (CORRELATION, id.into()))
    }

    fn conversation(&self) -> Option<(&'static str, Value)> {
        (!self.thread.is_empty()).then(|| (CONVERSATION, self.thread.as_str().into()))
    }
}

fn named(operation: &str, name: &str) -> String {
    let name = format!("{operation} {name}");
    shortened(name.trim_end())
}

fn class_of(error: Option<&SpanError>) -> Option<(&'static str, Value)> {
    error.map(|error| (ERROR_TYPE, error.kind.as_str().into()))
}

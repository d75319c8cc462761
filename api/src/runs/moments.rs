//! The journal of a run, event by event, and the run as it stood at one of them (`standing.rs`).

use std::collections::BTreeMap;

use agenthub_sdk::{
    internal::redacted_value,
    runs::{RunEvent, RunId, StepResult, journal::Entry, redact},
};
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::{
    Inner,
    error::Error,
    graph::GraphView,
    reading::{PAGE, Shelf},
    resources::{PlanView, RunView, rfc3339},
    steps::{self, StepCounts, StepKind, StepView},
    viewer::FoundRun,
};

/// Events on a page if no number is asked for.
const EVENTS: u32 = 100;

/// The most events on a page.
const MAX_EVENTS: u32 = 500;

/// The most characters of an event's words.
const MAX_WORDS: usize = 200;

/// An event of a run's journal.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = RunEvent)]
pub(crate) struct EventView {
    /// From 1.
    pub(crate) number: u64,
    /// `started`, `observed`, `noted`, `step-begun`, `progressed`, `step-ended`, `stopping` or `ended`.
    pub(crate) kind: String,
    /// Its step; empty if it is about the run.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(required = false)]
    pub(crate) step: String,
    /// Its time.
    #[serde(serialize_with = "rfc3339")]
    #[schema(value_type = String, format = DateTime)]
    pub(crate) at: u64,
    /// True for what was recorded by the run that this one was forked from.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    pub(crate) reused: bool,
    /// The state after it, in a word: of the step, or of the run.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(required = false)]
    pub(crate) state: String,
    /// Kind of the attempt that it is about; none if it is about none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) step_kind: Option<StepKind>,
    /// Its agent or tool.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(required = false)]
    pub(crate) agent: String,
    /// Its step of the plan.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(required = false)]
    pub(crate) plan_step: String,
    /// Its number, from 1; 0 if the event is about none.
    #[serde(skip)]
    pub(crate) attempt: u32,
    /// Words of a note, or why a step failed; at most 200 characters.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(required = false)]
    pub(crate) words: String,
}

/// A page of a run's journal.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
#[schema(as = RunJournal)]
pub(crate) struct EventPage {
    /// The events, in order.
    pub(crate) events: Vec<EventView>,
    /// Number of the run's last event.
    pub(crate) last: u64,
}

/// A run as it stood when an event was recorded.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = RunMoment)]
pub(crate) struct MomentView {
    /// The run.
    pub(crate) run: RunView,
    /// Its plan, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) plan: Option<PlanView>,
    /// Its steps.
    pub(crate) steps: Vec<StepView>,
    /// The event.
    pub(crate) event: EventView,
    /// Content of the event, without secrets.
    #[schema(value_type = Value)]
    pub(crate) content: Value,
    /// Number of the run's last event.
    pub(crate) last: u64,
    /// True if the run can be forked at the event.
    pub(crate) can_be_forked: bool,
    /// Its handoffs.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = GraphView)]
    pub(crate) graph: Option<GraphView>,
    /// The latest scores of its steps.
    #[serde(skip)]
    pub(crate) scores: BTreeMap<String, f64>,
    /// All attempts in numbers, by step of the plan; those of none under the empty name.
    #[serde(skip)]
    pub(crate) counts: BTreeMap<String, StepCounts>,
    /// Input of the run, in the form in which a fork takes another one.
    #[serde(skip)]
    pub(crate) input: Option<Value>,
}

impl EventView {
    /// The event; `forked_ms` is the beginning of a fork, and `steps` are those of the run.
    pub(super) fn of(entry: &Entry, forked_ms: Option<u64>, steps: &steps::Fold) -> Self {
        let (kind, step, state) = match &entry.event {
            RunEvent::Started(_) => ("started", None, "working".to_owned()),
            RunEvent::Observed { step, .. } => ("observed", Some(step), String::new()),
            RunEvent::Noted { step, .. } => ("noted", Some(step), String::new()),
            RunEvent::Progressed { step, .. } => ("progressed", Some(step), String::new()),
            RunEvent::StepBegun { step, .. } => ("step-begun", Some(step), "working".to_owned()),
            RunEvent::StepEnded { step, result, .. } => {
                ("step-ended", Some(step), steps::state_of(result))
            }
            RunEvent::Stopping { outcome, .. } => ("stopping", None, outcome.label().to_owned()),
            RunEvent::Ended { outcome, .. } => ("ended", None, outcome.label().to_owned()),
        };
        let at = entry.event.at_ms();
        let attempt = attempt(&entry.event);
        let view = step.zip(attempt);
        let view = view.and_then(|(step, attempt)| steps.attempt(step, attempt));
        Self {
            number: entry.seq,
            kind: kind.to_owned(),
            step: step.map(ToString::to_string).unwrap_or_default(),
            at,
            reused: entry.seq > 1 && forked_ms > Some(at),
            state,
            step_kind: view.map(|view| view.kind),
            agent: view.map(|view| view.agent.clone()).unwrap_or_default(),
            plan_step: view.map(|view| view.plan_step.clone()).unwrap_or_default(),
            attempt: attempt.unwrap_or_default(),
            words: words(&entry.event),
        }
    }
}

/// Number of the attempt that an event is about.
fn attempt(event: &RunEvent) -> Option<u32> {
    match event {
        RunEvent::StepBegun { attempt, .. } | RunEvent::StepEnded { attempt, .. } => Some(*attempt),
        _ => None,
    }
}

/// Words of an event that has some, without secrets and cut.
fn words(event: &RunEvent) -> String {
    let words = match event {
        RunEvent::Noted { value, .. } => value["message"].as_str().unwrap_or_default(),
        RunEvent::StepEnded { result, .. } => match result {
            StepResult::DelegationEnded(ended) => &ended.error,
            StepResult::Failed(failure) => &failure.message,
            _ => "",
        },
        _ => "",
    };
    let words = redact::error(words);
    match words.char_indices().nth(MAX_WORDS) {
        Some((end, _)) => format!("{}…", &words[..end]),
        None => words,
    }
}

/// The event as people may see it. What a run is for is told in its own fields.
pub(super) fn content(event: &RunEvent) -> Value {
    let mut content = redacted_value(&json!(event));
    if let Some(fields) = content.as_object_mut() {
        for name in ["event", "at_ms", "origin", "step"] {
            fields.remove(name);
        }
    }
    content
}

impl Inner {
    /// The events of a run behind one, in order.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], [`Error::Invalid`], [`Error::Unavailable`].
    pub(super) async fn events(
        &self,
        source: &FoundRun,
        after: u64,
        limit: Option<u32>,
    ) -> Result<EventPage, Error> {
        let limit = limit.unwrap_or(EVENTS);
        if !(1..=MAX_EVENTS).contains(&limit) {
            return Err(Error::Invalid {
                at: "limit".to_owned(),
                why: format!("is {limit}; it is a number from 1 to {MAX_EVENTS}"),
            });
        }
        // Who watches a run asks often, and mostly nothing has come.
        if let Some(shelf) = &source.shelf
            && shelf.is_last(&source.run, after).await?
        {
            return Ok(EventPage {
                events: Vec::new(),
                last: after,
            });
        }
        let (shelf, caught) = self.caught_up(source).await?;
        let standing = caught.standing();
        let mut found = shelf.read(&source.run, after, limit as usize).await?;
        // What came in between is of the next page.
        found.retain(|entry| entry.seq <= standing.at.seq);
        Ok(EventPage {
            events: found.iter().map(|entry| standing.event(entry)).collect(),
            last: standing.at.seq,
        })
    }

    /// A run as it stood when the event with this number was recorded; 0 is the last one. With `most` it has at most so many attempts of each step,
    /// and no graph.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], [`Error::Invalid`], [`Error::Unavailable`].
    pub(super) async fn moment(
        &self,
        source: &FoundRun,
        number: u64,
        most: Option<usize>,
    ) -> Result<MomentView, Error> {
        if number == 0 {
            let (_, caught) = self.caught_up(source).await?;
            let standing = caught.standing();
            return Ok(standing.view(standing.at.seq, most));
        }
        let (shelf, run) = self.recorded(source).await?;
        let mut standing = shelf.begin(&run).await?;
        if !source.is_of(&standing.run()) {
            return Err(Error::no_run(run.as_str()));
        }
        shelf.go_on(&run, &mut standing, number).await?;
        let last = shelf.last(&run, standing.at.seq).await?;
        if number > last {
            return Err(Error::Invalid {
                at: "event".to_owned(),
                why: format!("is {number}; the run has {last} events"),
            });
        }
        Ok(standing.view(last, most))
    }
}

impl Shelf {
    /// True if a run has the event with this number, and none behind it.
    async fn is_last(&self, run: &RunId, number: u64) -> Result<bool, Error> {
        let Some(before) = number.checked_sub(1) else {
            return Ok(false);
        };
        let entries = self.read(run, before, 2).await?;
        Ok(matches!(&entries[..], [only] if only.seq == number))
    }

    /// Number of a run's last event, which is at least `known`.
    async fn last(&self, run: &RunId, known: u64) -> Result<u64, Error> {
        let mut last = known;
        loop {
            let entries = self.read(run, last, PAGE).await?;
            match entries.last() {
                Some(entry) => last = entry.seq,
                None => return Ok(last),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use agenthub_sdk::runs::StepId;

    use super::*;

    fn ended(at_ms: u64) -> Entry {
        let event = RunEvent::StepEnded {
            step: StepId::new("send"),
            attempt: 1,
            result: StepResult::Cancelled,
            spent: None,
            at_ms,
        };
        Entry { seq: 4, event }
    }

    #[test]
    fn an_event_from_before_its_run_is_that_of_another_one() {
        let view =
            |at_ms, forked_ms| EventView::of(&ended(at_ms), forked_ms, &steps::Fold::default());
        assert!(view(4, Some(5)).reused);
        assert!(!view(5, Some(5)).reused);
        assert!(!view(4, None).reused, "clocks are set back, too");
        let seen = view(4, None);
        assert_eq!(
            (&*seen.kind, &*seen.step, &*seen.state),
            ("step-ended", "send", "cancelled")
        );
    }

    #[test]
    fn nobody_sees_a_secret_or_the_way_back_in_an_event() {
        let event = RunEvent::Noted {
            step: StepId::new("n"),
            value: json!({"password": "hunter2", "n": 1}),
            at_ms: 1,
        };
        let seen = content(&event);
        assert_eq!(seen["value"]["n"], 1);
        assert!(!seen.to_string().contains("hunter2"), "{seen}");
        assert_eq!(seen.get("at_ms"), None);
    }
}

//! A run as it stood when one of its events was recorded: the fold of the events up to there.

use agenthub_cortex::Orchestrator;
use agenthub_sdk::{
    Agent,
    internal::redacted_value,
    runs::{
        RunEvent, RunId, RunStarted, Strategy,
        journal::{Entry, encode},
        model::{PromptMessage, PromptPart},
    },
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    error::Error,
    folded::FoldedRun,
    moments::{EventView, MomentView, content},
    reading::{PAGE, Shelf},
    resources::RunView,
    steps::{self, StepView},
    workflows::MODE,
};

/// A run as it stood when one of its events was recorded: the fold of the events up to there.
#[derive(Debug)]
pub(super) struct StandingRun {
    known: FoldedRun,
    steps: steps::Fold,
    /// The last event.
    pub(super) at: Entry,
    /// Beginning of a fork.
    forked_ms: Option<u64>,
    input: Option<Value>,
    is_decided: bool,
    /// Size of its events, as they are encoded.
    bytes: usize,
}

impl StandingRun {
    /// A run that begins with this entry.
    ///
    /// # Errors
    ///
    /// The entry does not say how a run begins.
    fn new(run: &RunId, owner: &str, first: &Entry) -> Result<Self, Error> {
        let mut standing = Self {
            known: FoldedRun::new(run, owner, first)?,
            steps: steps::Fold::default(),
            at: first.clone(),
            forked_ms: forked_ms(first),
            input: match &first.event {
                RunEvent::Started(started) => input(started),
                _ => None,
            },
            is_decided: false,
            bytes: 0,
        };
        standing.apply(first);
        Ok(standing)
    }

    fn apply(&mut self, entry: &Entry) {
        self.known.apply(entry);
        self.steps.apply(&entry.event);
        self.bytes += encode(&entry.event).len();
        self.is_decided |= matches!(
            entry.event,
            RunEvent::Stopping { .. } | RunEvent::Ended { .. }
        );
    }

    /// The run so far.
    pub(super) fn run(&self) -> RunView {
        self.known.view()
    }

    /// An event of it as people see it.
    pub(super) fn event(&self, entry: &Entry) -> EventView {
        EventView::of(entry, self.forked_ms, &self.steps)
    }

    /// Size of its events, as they are encoded.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The steps so far.
    pub(super) fn steps(&self) -> &[StepView] {
        &self.steps.steps
    }

    /// It as people see it, with at most so many attempts of each step if `most` is given; `last` is the number of the run's last event.
    pub(super) fn view(&self, last: u64, most: Option<usize>) -> MomentView {
        let run = self.known.view();
        MomentView {
            can_be_forked: !self.is_decided && !run.task_id.is_empty(),
            run,
            plan: self.known.plan(),
            graph: most.is_none().then(|| self.known.graph()),
            scores: self.known.scores(),
            counts: self.steps.counts(),
            steps: match most {
                None => self.steps().to_vec(),
                Some(most) => {
                    let shown = steps::selected(self.steps(), most);
                    shown.into_iter().cloned().collect()
                }
            },
            event: self.event(&self.at),
            input: self.input.clone(),
            content: content(&self.at.event),
            last,
        }
    }
}

/// Input of a run, in the form in which a fork takes another one; none where it may have secrets.
fn input(started: &RunStarted) -> Option<Value> {
    let input = match &*started.strategy {
        MODE => started.input["input"].clone(),
        name if name == Orchestrator.name() => started.input["brief"]["payload"].clone(),
        _ => json!(words(started)?),
    };
    (redacted_value(&input) == input).then_some(input)
}

/// The request in words, as a fork may have changed it: that of a chat turn, or the only message of an agent's run.
fn words(started: &RunStarted) -> Option<String> {
    if let Some(words) = started.input["words"].as_str() {
        return Some(words.to_owned());
    }
    let messages = Vec::<PromptMessage>::deserialize(&started.input["messages"]).ok()?;
    let [only] = &messages[..] else { return None };
    let words = only.parts.iter().filter_map(|part| match part {
        PromptPart::Text(words) => Some(words.as_str()),
        _ => None,
    });
    Some(words.collect::<Vec<_>>().join("\n"))
}

/// Beginning of a run that is a fork.
fn forked_ms(first: &Entry) -> Option<u64> {
    match &first.event {
        RunEvent::Started(started) => Agent::fork_of(started).map(|_| started.at_ms),
        _ => None,
    }
}

impl Shelf {
    /// A run at its first event.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], [`Error::Unavailable`].
    pub(super) async fn begin(&self, run: &RunId) -> Result<StandingRun, Error> {
        let first = self.read(run, 0, 1).await?.into_iter().next();
        let first = first.ok_or_else(|| Error::no_run(run.as_str()))?;
        StandingRun::new(run, &self.owner, &first)
    }

    /// Takes in the events up to this number, as far as there are.
    pub(super) async fn go_on(
        &self,
        run: &RunId,
        standing: &mut StandingRun,
        until: u64,
    ) -> Result<(), Error> {
        while standing.at.seq < until {
            let left = usize::try_from(until - standing.at.seq).unwrap_or(PAGE);
            let entries = self.read(run, standing.at.seq, left.min(PAGE)).await?;
            for entry in &entries {
                standing.apply(entry);
            }
            let Some(last) = entries.into_iter().next_back() else {
                break;
            };
            standing.at = last;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use agenthub_sdk::runs::{Budget, EffectFailure, StepId, StepRequest, StepResult};

    use super::*;
    use crate::runs::steps::StepKind;

    fn started(input: Value) -> Entry {
        let started = RunStarted {
            strategy: MODE.to_owned(),
            input: json!({ "input": input, "plan": {"steps": {"send": {}}} }),
            thread: String::new(),
            origin: Value::Null,
            budget: Budget::default(),
            deadline_ms: None,
            at_ms: 1,
        };
        let event = RunEvent::Started(started);
        Entry { seq: 1, event }
    }

    /// Issue 26, cost: a look at a loop over hundreds of items has some of them, and all in numbers.
    #[test]
    fn a_moment_has_some_attempts_and_all_of_them_in_numbers() {
        let mut standing = StandingRun::new(&RunId::new("r"), "workflows", &started(json!({})))
            .expect("it begins");
        let count = RunEvent::Noted {
            step: StepId::new("send/count"),
            value: 500.into(),
            at_ms: 2,
        };
        let begins = (0..120).map(|n| RunEvent::StepBegun {
            step: StepId::new(format!("send/{n}")),
            attempt: 1,
            what: StepRequest::Waiting { until_ms: 9 },
            grant: Budget::default(),
            deadline_ms: None,
            at_ms: 3,
        });
        let ends = (0..100).map(|n| RunEvent::StepEnded {
            step: StepId::new(format!("send/{n}")),
            attempt: 1,
            result: match n {
                7 => StepResult::Failed(EffectFailure::lasting("no")),
                _ => StepResult::Woke,
            },
            spent: None,
            at_ms: 4,
        });
        for (n, event) in [count].into_iter().chain(begins).chain(ends).enumerate() {
            let entry = Entry {
                seq: n as u64 + 2,
                event,
            };
            standing.apply(&entry);
            standing.at = entry;
        }
        let some = standing.view(9, Some(10));
        assert_eq!(some.steps.len(), 10);
        assert_eq!(
            (&*some.steps[0].step, &*some.steps[0].state),
            ("send/7", "failed")
        );
        assert_eq!(some.graph, None);
        let counts = some.counts["send"];
        assert_eq!((counts.attempts, counts.open), (120, 20));
        let items = counts.items;
        assert_eq!(
            (items.known, items.done, items.failed, items.working),
            (500, 99, 1, 20)
        );
        let all = standing.view(9, None);
        assert_eq!((all.steps.len(), all.graph.is_some()), (120, true));
        // The event says what it is about.
        let event = all.event;
        assert_eq!(
            (event.step_kind, &*event.plan_step, event.attempt),
            (Some(StepKind::Wait), "send", 1)
        );
    }

    /// Issue 26, runs: forms of another input begin with the one that the run had, and secrets are in no form.
    #[test]
    fn the_input_of_a_run_is_told_unless_it_may_have_secrets() {
        let of = |input: Value| {
            StandingRun::new(&RunId::new("r"), "workflows", &started(input))
                .expect("it begins")
                .view(1, None)
                .input
        };
        assert_eq!(of(json!({"event": "x"})), Some(json!({"event": "x"})));
        assert_eq!(of(json!({"password": "hunter2"})), None);
    }
}

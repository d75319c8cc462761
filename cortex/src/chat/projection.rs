//! Frames of a chat turn, made from its journal.

use std::collections::BTreeMap;

use agenthub_sdk::{
    model::{Undone, Usage},
    runs::{
        DelegationResult, RunEvent, RunOutcome, SentHandoff, Shortfall, Step, StepId, StepResult,
        event::StepRequest,
    },
};

use super::{lacking::is_denied, outcome::AWAY, turn::Question};
use crate::{
    frame::{Frame, Handoff, Phase, Stage},
    origin::CORTEX,
};

/// The fold of a run's events into frames.
#[derive(Debug, Default)]
pub(crate) struct Projection {
    handed: BTreeMap<StepId, Handed>,
    /// The part of the growing answer that was shown.
    shown: String,
    usage: Usage,
}

/// Work that an agent has.
#[derive(Clone, Debug)]
struct Handed {
    agent: String,
    task_id: String,
}

impl Projection {
    /// The frames of an event.
    pub(crate) fn of(&mut self, event: &RunEvent) -> Vec<Frame> {
        match event {
            RunEvent::Started(_) => vec![Frame::Start],
            RunEvent::StepBegun {
                step,
                what: StepRequest::ModelAsked { .. },
                attempt: 2..,
                ..
            } if Question::of(step.as_str()).is_some() => Vec::new(),
            RunEvent::StepBegun { step, what, .. } => self.begun(step, what),
            RunEvent::StepEnded {
                step,
                attempt,
                result: StepResult::Failed(failure),
                ..
            } if Question::of(step.as_str()).is_some() => {
                let is_asked_again = failure.is_retryable && *attempt < Step::MODEL_ATTEMPTS;
                match is_asked_again {
                    true => self.broken_off(),
                    false => Vec::new(),
                }
            }
            RunEvent::StepEnded { step, result, .. } => self.ended(step, result),
            RunEvent::Stopping {
                outcome: RunOutcome::Completed { text, .. },
                ..
            } => self.whole(text),
            RunEvent::Stopping { .. }
            | RunEvent::Observed { .. }
            | RunEvent::Noted { .. }
            | RunEvent::Progressed { .. }
            | RunEvent::Ended { .. } => Vec::new(),
        }
    }

    /// The frames of the next piece of an answer.
    pub(crate) fn piece(&mut self, text: String) -> Frame {
        let append = !self.shown.is_empty();
        self.shown.push_str(&text);
        Frame::Delta { text, append }
    }

    /// The frames of the run's end.
    pub(crate) fn end(&self, outcome: &RunOutcome) -> Vec<Frame> {
        let metrics = Frame::Metrics(self.usage);
        match outcome {
            RunOutcome::Completed { text, .. } => {
                vec![metrics, Frame::Complete(text.clone(), outcome.shortfall())]
            }
            RunOutcome::Failed { error } => vec![metrics, Frame::Error(error.clone())],
            RunOutcome::Cancelled { .. } => Vec::new(),
        }
    }

    fn begun(&mut self, step: &StepId, what: &StepRequest) -> Vec<Frame> {
        match what {
            StepRequest::ModelAsked { .. } => {
                self.shown.clear();
                vec![asked(step)]
            }
            StepRequest::Said { text } => self.whole(text),
            StepRequest::Delegated(sent) => {
                let handed = Handed {
                    agent: sent.handoff.agent.clone(),
                    task_id: sent.task_id.clone(),
                };
                self.handed.insert(step.clone(), handed);
                vec![handoff(Stage::Requested, sent, "")]
            }
            StepRequest::ToolCalled(_)
            | StepRequest::Waiting { .. }
            | StepRequest::ApprovalAsked(_) => Vec::new(),
        }
    }

    /// An answer that broke off and is asked for again: what was shown of it is withdrawn.
    fn broken_off(&mut self) -> Vec<Frame> {
        let was_shown = !std::mem::take(&mut self.shown).is_empty();
        let warning = Frame::Warning("the model did not answer and is asked again".to_owned());
        let withdrawn = Frame::Delta {
            text: String::new(),
            append: false,
        };
        let withdrawn = was_shown.then_some(withdrawn);
        [warning].into_iter().chain(withdrawn).collect()
    }

    fn ended(&mut self, step: &StepId, result: &StepResult) -> Vec<Frame> {
        if let StepResult::ModelAnswered(answer) = result {
            let cost = answer.usage.unwrap_or_default();
            self.usage.input_tokens += cost.input_tokens;
            self.usage.output_tokens += cost.output_tokens;
            self.usage.is_estimated |= cost.is_estimated;
        }
        let Some(Handed { agent, task_id }) = self.handed.remove(step) else {
            return Vec::new();
        };
        vec![Frame::Handoff(Handoff {
            stage: Stage::Returned,
            from: agent,
            to: CORTEX.to_owned(),
            task_id,
            text: returned(result).to_owned(),
            state: state_of(result).to_owned(),
            undone: undone(result),
            approval: None,
        })]
    }

    /// An answer that is complete, and before it what its pieces did not show.
    fn whole(&mut self, text: &str) -> Vec<Frame> {
        let piece = match text.strip_prefix(&*self.shown) {
            Some("") => None,
            Some(rest) => Some((rest, !self.shown.is_empty())),
            None => Some((text, false)),
        };
        text.clone_into(&mut self.shown);
        let piece = piece.map(|(text, append)| Frame::Delta {
            text: text.to_owned(),
            append,
        });
        piece
            .into_iter()
            .chain([Frame::Message(text.to_owned())])
            .collect()
    }
}

/// A handoff to or from the agent that has this work.
pub(crate) fn handoff(stage: Stage, sent: &SentHandoff, text: &str) -> Frame {
    let agent = sent.handoff.agent.clone();
    let (from, to) = match stage {
        Stage::Requested | Stage::Occurred => (CORTEX.to_owned(), agent),
        Stage::Progress | Stage::Returned => (agent, CORTEX.to_owned()),
    };
    Frame::Handoff(Handoff {
        stage,
        from,
        to,
        task_id: sent.task_id.clone(),
        text: text.to_owned(),
        state: String::new(),
        undone: None,
        approval: None,
    })
}

fn asked(step: &StepId) -> Frame {
    match Question::of(step.as_str()) {
        Some(Question { attempt: 2.., .. }) => {
            Frame::Warning("the model has to answer again".to_owned())
        }
        _ => Frame::Phase(phase_of(step)),
    }
}

/// The phase of a turn whose model was asked so.
pub fn phase_of(step: &StepId) -> Phase {
    match Question::of(step.as_str()) {
        Some(Question { round: 2.., .. }) => Phase::Finalization,
        _ => Phase::Analysis,
    }
}

/// State of the task that ended so.
fn state_of(result: &StepResult) -> &str {
    match result {
        StepResult::DelegationEnded(DelegationResult { state, .. }) => state,
        StepResult::Failed(failure) if failure.is_retryable => crate::chat::outcome::TIMED_OUT,
        StepResult::Failed(_) => crate::chat::outcome::LOST,
        _ => "cancelled",
    }
}

/// Extent of what the result of a completed task lacks.
fn undone(result: &StepResult) -> Option<Undone> {
    match result {
        StepResult::DelegationEnded(DelegationResult {
            agent, state, data, ..
        }) if state == "completed" => match Shortfall::of(data) {
            Some(shortfall) => Some(shortfall.extent()),
            None => is_denied(agent, data).then_some(Undone::Part),
        },
        _ => None,
    }
}

fn returned(result: &StepResult) -> &str {
    match result {
        StepResult::DelegationEnded(DelegationResult { state, .. }) => match &**state {
            "completed" => match undone(result) {
                None => "is done",
                Some(Undone::Part) => "has done a part of it",
                Some(Undone::All) => "did nothing of it",
            },
            AWAY => "went away",
            state => state,
        },
        StepResult::Failed(failure) if failure.is_retryable => crate::chat::outcome::TIMED_OUT,
        StepResult::Failed(_) => crate::chat::outcome::LOST,
        _ => "cancelled",
    }
}

#[cfg(test)]
mod tests;

//! Frames of chat mode, which a turn shows while it works.

use std::time::Duration;

use agenthub_proto::{cortex::Frame as Wire, json};
use agenthub_sdk::{
    model::{Undone, Usage},
    runs::Shortfall,
};
use serde_json::{Value, json};

/// One thing that a turn shows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Frame {
    /// The turn begins.
    Start,
    /// The turn does something else from here on.
    Phase(Phase),
    /// Work goes to an agent or comes back from it.
    Handoff(Handoff),
    /// Text of the answer that is being written.
    Delta {
        /// The next piece.
        text: String,
        /// True if it goes on with what came before; otherwise the answer begins here, and what came before is void.
        append: bool,
    },
    /// An answer, whole.
    Message(String),
    /// Something unexpected that did not end the turn.
    Warning(String),
    /// Usage of the turn.
    Metrics(Usage),
    /// The turn failed. The last frame.
    Error(String),
    /// The turn is over; this is the answer, and what it lacks. The last frame.
    Complete(String, Option<Shortfall>),
}

/// A part of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The model decides what to do.
    Analysis,
    /// The results of agents are being put together.
    Finalization,
}

/// A step of handing work over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Handoff {
    /// Its phase.
    pub(crate) stage: Stage,
    /// The one who hands over; for progress and results the agent.
    pub(crate) from: String,
    /// The one who takes over.
    pub(crate) to: String,
    /// The delegated task, as soon as it has an id.
    pub(crate) task_id: String,
    /// The agent's words, or the task's end.
    pub(crate) text: String,
    /// State of the task that has ended; empty of one that has not.
    pub(crate) state: String,
    /// Extent of what its result lacks.
    pub(crate) undone: Option<Undone>,
    /// The approval that the agent asks a person for, as its status has it.
    pub(crate) approval: Option<Value>,
}

/// Phase of a handoff.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The agent is to be asked.
    Requested,
    /// The agent has been asked.
    Occurred,
    /// The agent tells how far it is.
    Progress,
    /// The agent is done, for good or ill.
    Returned,
}

/// Fields that every frame of a turn has.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stamp {
    /// Counts from 1.
    pub(crate) sequence: u64,
    /// Names the turn.
    pub(crate) correlation_id: String,
    /// Names the conversation.
    pub(crate) context_id: String,
    /// Since the turn began.
    pub(crate) elapsed: Duration,
}

impl Phase {
    /// The name that frames carry.
    pub fn name(self) -> &'static str {
        match self {
            Self::Analysis => "analysis",
            Self::Finalization => "finalization",
        }
    }

    fn text(self) -> &'static str {
        match self {
            Self::Analysis => "thinking about what to do",
            Self::Finalization => "putting the results together",
        }
    }
}

impl Stage {
    fn name(self) -> &'static str {
        match self {
            Self::Requested => "requested",
            Self::Occurred => "occurred",
            Self::Progress => "progress",
            Self::Returned => "returned",
        }
    }
}

impl Frame {
    /// The frame's type on the wire.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Phase(_) => "phase",
            Self::Handoff(_) => "handoff",
            Self::Delta { .. } => "delta",
            Self::Message(_) => "message",
            Self::Warning(_) => "warning",
            Self::Metrics(_) => "metrics",
            Self::Error(_) => "error",
            Self::Complete(..) => "complete",
        }
    }

    /// True if no frame follows.
    pub(crate) fn is_last(&self) -> bool {
        matches!(self, Self::Error(_) | Self::Complete(..))
    }

    /// One line for people who watch.
    pub(crate) fn line(&self) -> String {
        match self {
            Self::Start => "at work".to_owned(),
            Self::Phase(phase) => phase.text().to_owned(),
            Self::Handoff(handoff) => handoff.line(),
            Self::Metrics(usage) => {
                let tokens = usage.input_tokens + usage.output_tokens;
                match usage.is_estimated {
                    true => format!("about {tokens} tokens (an estimate)"),
                    false => format!("{tokens} tokens"),
                }
            }
            Self::Delta { text, .. }
            | Self::Message(text)
            | Self::Warning(text)
            | Self::Error(text)
            | Self::Complete(text, _) => text.clone(),
        }
    }

    /// The frame as the wire has it.
    pub(crate) fn stamped(&self, stamp: &Stamp) -> Wire {
        let millis = u64::try_from(stamp.elapsed.as_millis()).unwrap_or(u64::MAX);
        let message = match self {
            Self::Handoff(handoff) => handoff.stage.name().to_owned(),
            Self::Metrics(_) => String::new(),
            // The text is in the data, as the contract of chat mode has it.
            Self::Complete(..) => String::new(),
            other => other.line(),
        };
        Wire {
            r#type: self.kind().to_owned(),
            sequence: stamp.sequence,
            correlation_id: stamp.correlation_id.clone(),
            context_id: stamp.context_id.clone(),
            message,
            phase: match self {
                Self::Phase(phase) => phase.name().to_owned(),
                _ => String::new(),
            },
            data: self.data().as_ref().map(json::to_struct),
            duration_ms: match self {
                Self::Metrics(_) | Self::Error(_) | Self::Complete(..) => millis,
                _ => 0,
            },
        }
    }

    fn data(&self) -> Option<Value> {
        match self {
            Self::Handoff(handoff) => Some(handoff.data()),
            Self::Delta { append: false, .. } => Some(json!({"append": false})),
            Self::Metrics(usage) => {
                let mut data = json!({
                    "tokens": usage.input_tokens + usage.output_tokens,
                    "inputTokens": usage.input_tokens,
                    "outputTokens": usage.output_tokens,
                });
                if usage.is_estimated {
                    data["estimated"] = true.into();
                }
                Some(data)
            }
            Self::Complete(text, shortfall) => Some(answered(text, shortfall.as_ref())),
            _ => None,
        }
    }
}

/// The data of the last frame of a turn: the answer, and what it lacks.
pub fn answered(text: &str, shortfall: Option<&Shortfall>) -> Value {
    let mut data = shortfall.map_or_else(|| json!({}), Shortfall::to_json);
    data["message"] = text.into();
    data
}

impl Handoff {
    fn line(&self) -> String {
        match self.stage {
            Stage::Requested => format!("asking {}", self.to),
            Stage::Occurred => format!("{} is at work", self.to),
            Stage::Progress => format!("{}: {}", self.from, self.text),
            Stage::Returned => format!("{} {}", self.from, self.text),
        }
    }

    fn data(&self) -> Value {
        let mut data = json!({"from": self.from, "to": self.to});
        let texts = [
            ("taskId", &self.task_id),
            ("text", &self.text),
            ("state", &self.state),
        ];
        for (key, value) in texts {
            if !value.is_empty() {
                data[key] = value.as_str().into();
            }
        }
        if let Some(undone) = self.undone {
            data["undone"] = json!(undone);
        }
        if let Some(approval) = &self.approval {
            data["approval"] = approval.clone();
        }
        data
    }
}

/// The frame as the metadata field `frame` of a task's status has it.
pub(crate) fn metadata(frame: &Wire) -> Value {
    let mut value = json!({
        "type": frame.r#type,
        "message": frame.message,
        "correlationId": frame.correlation_id,
        "sequence": frame.sequence,
    });
    if !frame.phase.is_empty() {
        value["phase"] = frame.phase.as_str().into();
    }
    if let Some(data) = &frame.data {
        value["data"] = json::from_struct(data);
    }
    if frame.duration_ms > 0 {
        value["durationMs"] = frame.duration_ms.into();
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handoff(stage: Stage, text: &str) -> Frame {
        let is_back = matches!(stage, Stage::Progress | Stage::Returned);
        Frame::Handoff(Handoff {
            stage,
            from: if is_back { "agent_echo" } else { "cortex" }.to_owned(),
            to: if is_back { "cortex" } else { "agent_echo" }.to_owned(),
            task_id: "t1".to_owned(),
            text: text.to_owned(),
            state: if is_back { "completed" } else { "" }.to_owned(),
            undone: None,
            approval: None,
        })
    }

    #[test]
    fn every_frame_has_its_form() {
        let frames = [
            Frame::Start,
            Frame::Phase(Phase::Analysis),
            handoff(Stage::Requested, ""),
            handoff(Stage::Occurred, ""),
            handoff(Stage::Progress, "half way"),
            handoff(Stage::Returned, "is done"),
            Frame::Phase(Phase::Finalization),
            Frame::Delta {
                text: "Hel".to_owned(),
                append: false,
            },
            Frame::Delta {
                text: "lo".to_owned(),
                append: true,
            },
            Frame::Message("Hello".to_owned()),
            Frame::Warning("the answer begins again".to_owned()),
            Frame::Metrics(Usage {
                input_tokens: 30,
                output_tokens: 12,
                is_estimated: false,
            }),
            Frame::Error("no model".to_owned()),
            Frame::Complete("Hello".to_owned(), None),
        ];
        let shown: Vec<Value> = frames
            .iter()
            .zip(1..)
            .map(|(frame, sequence)| {
                let stamp = Stamp {
                    sequence,
                    correlation_id: "turn-1".to_owned(),
                    context_id: "c1".to_owned(),
                    elapsed: Duration::from_millis(1500),
                };
                json!({"line": frame.line(), "frame": metadata(&frame.stamped(&stamp))})
            })
            .collect();
        insta::assert_json_snapshot!(shown);
    }
}

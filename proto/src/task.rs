//! Methods on tasks and their states.

use crate::{
    a2a::{Task, TaskState, TaskStatus},
    message::str_field,
};

impl TaskState {
    /// True if the state is final (A2A: terminal state).
    pub fn is_terminal(self) -> bool {
        matches!(
            self,
            Self::Completed | Self::Failed | Self::Cancelled | Self::Rejected
        )
    }

    /// True if the task waits for its requester (A2A: interrupted state).
    pub fn is_interrupted(self) -> bool {
        matches!(self, Self::InputRequired | Self::AuthRequired)
    }

    /// Display name of the state, such as `input-required`.
    pub fn label(self) -> &'static str {
        match self {
            Self::Unspecified => "unspecified",
            Self::Submitted => "submitted",
            Self::Working => "working",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::InputRequired => "input-required",
            Self::Rejected => "rejected",
            Self::AuthRequired => "auth-required",
        }
    }

    /// The state with this [`label`](Self::label).
    pub fn from_label(label: &str) -> Option<Self> {
        (1..=8)
            .filter_map(|n| Self::try_from(n).ok())
            .find(|state| state.label() == label)
    }
}

impl TaskStatus {
    /// The text of the status.
    pub fn text(&self) -> String {
        self.update.as_ref().map(|m| m.text()).unwrap_or_default()
    }
}

impl Task {
    /// The current state; unspecified before the first status.
    pub fn state(&self) -> TaskState {
        self.status
            .as_ref()
            .map_or(TaskState::Unspecified, |s| s.state())
    }

    /// The principal on whose behalf it was asked for; empty if the hub does not know it.
    pub fn on_behalf_of(&self) -> &str {
        self.metadata_str("on_behalf_of")
    }

    /// Ids of the agents that have handed the request on, first to last.
    pub fn chain(&self) -> Vec<String> {
        let chain = self.metadata.as_ref().and_then(|m| m.fields.get("chain"));
        let chain = chain.map(crate::json::from_value);
        let ids = chain.as_ref().and_then(serde_json::Value::as_array);
        let ids = ids.into_iter().flatten().filter_map(|id| id.as_str());
        ids.map(str::to_owned).collect()
    }

    /// The requester; empty if the hub does not know it.
    pub fn requester(&self) -> &str {
        self.metadata_str("requester")
    }

    /// The assignee; empty if there is none.
    pub fn assignee(&self) -> &str {
        self.metadata_str("assignee")
    }

    /// Task type of the message that created it.
    pub fn task_type(&self) -> &str {
        self.metadata_str("task_type")
    }

    /// A text field of the metadata; may be empty.
    pub fn metadata_str(&self, key: &str) -> &str {
        self.metadata.as_ref().map_or("", |m| str_field(m, key))
    }

    /// The result as text: the artifacts if there are any, else the last status, else the last message of the agent.
    pub fn outcome_text(&self) -> String {
        let artifacts: Vec<String> = self
            .artifacts
            .iter()
            .map(crate::a2a::Artifact::text)
            .filter(|t| !t.is_empty())
            .collect();
        if !artifacts.is_empty() {
            return artifacts.join("\n");
        }
        let status = self
            .status
            .as_ref()
            .map(TaskStatus::text)
            .unwrap_or_default();
        if !status.is_empty() {
            return status;
        }
        self.history
            .iter()
            .rev()
            .find(|m| m.role() == crate::a2a::Role::Agent)
            .map(|m| m.text())
            .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_come_back() {
        for n in 1..=8 {
            let state = TaskState::try_from(n).expect("eight states");
            assert_eq!(TaskState::from_label(state.label()), Some(state));
        }
        assert_eq!(TaskState::from_label("done"), None);
    }
}

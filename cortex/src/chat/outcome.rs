//! Outcome of a delegated task, as the model and the user are told.

use agenthub_sdk::runs::{AgentEnd, DelegationResult, Shortfall};
use serde_json::{Value, json};

use super::{decision::TaskRequest, history::shorten};

/// States of a delegation beyond those of tasks.
pub(crate) const TIMED_OUT: &str = "timed-out";
pub(crate) const AWAY: &str = "away";
pub(crate) const LOST: &str = "lost";

/// The most tokens of one result's text.
const MAX_TEXT_TOKENS: usize = 4_000;

/// The most bytes of what is attached to one message, as JSON.
const MAX_DATA: usize = 16_000;

/// The most tokens of what an agent says of its failure.
const MAX_REASON_TOKENS: usize = 800;

/// The most structured parts of one message.
const MAX_PARTS: usize = 64;

/// The tokens that all results of a prompt share, about half for texts and half for data.
const SHARED_TOKENS: usize = 24_000;

/// The reason why a delegation gave no result, in words that name the agent.
pub(crate) fn without_result(delegated: &DelegationResult) -> String {
    let DelegationResult {
        agent,
        state,
        error,
        text,
        ..
    } = delegated;
    let said = [error, text].into_iter().find(|text| !text.is_empty());
    match said {
        Some(said) => format!("{agent} ({state}): {}", shorten(said, MAX_REASON_TOKENS)),
        None => format!("{agent}: {state}"),
    }
}

/// Error for a delegation that completed and gave nothing, in words that name the agent; `None` if it gave something.
pub(crate) fn did_nothing(delegated: &DelegationResult) -> Option<String> {
    let shortfall = Shortfall::of(&delegated.data)?;
    let said = || shorten(&delegated.text, MAX_REASON_TOKENS);
    let agent = &delegated.agent;
    shortfall
        .is_nothing()
        .then(|| format!("{agent} did nothing of it: {}", said()))
}

/// Outcome of a delegated task.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TaskOutcome {
    /// The agent that was asked.
    pub(crate) agent: String,
    /// The task's type.
    pub(crate) task_type: String,
    /// The name that the model gave the task.
    pub(crate) correlation_id: String,
    /// Its end.
    pub(crate) end: End,
    /// The agent's words, shortened if they are long.
    pub(crate) text: String,
    /// The structured parts of the result; in the place of one that is too large is a mark.
    pub(crate) data: Vec<Value>,
    /// Shortfall of the result, as its data say it.
    pub(crate) shortfall: Option<Shortfall>,
}

/// End of a delegated task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The agent did it.
    Completed,
    /// The agent could not do it: its reason.
    Failed(String),
    /// The agent does not do such things: its reason.
    Rejected(String),
    /// Cancelled, for this reason.
    Cancelled(String),
    /// The agent asks something back.
    InputRequired(String),
    /// The agent did not end in this many seconds.
    TimedOut(u64),
    /// The agent is not there any more.
    WentAway,
    /// The hub lost the task, or could not take it: the reason.
    Lost(String),
}

impl End {
    /// One word for it.
    pub(crate) fn label(&self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed(_) => "failed",
            Self::Rejected(_) => "rejected",
            Self::Cancelled(_) => "cancelled",
            Self::InputRequired(_) => "input-required",
            Self::TimedOut(_) => "timed-out",
            Self::WentAway => "away",
            Self::Lost(_) => "lost",
        }
    }

    /// The reason why there is no result, in plain words that name the agent; `None` if there is one.
    pub(crate) fn problem(&self, agent: &str) -> Option<String> {
        Some(match self {
            Self::Completed => return None,
            Self::Failed(reason) => format!("{agent} failed: {reason}"),
            Self::Rejected(reason) => format!("{agent} does not take this task: {reason}"),
            Self::Cancelled(reason) => format!("the task of {agent} was cancelled: {reason}"),
            Self::InputRequired(question) => format!("{agent} asks back: {question}"),
            Self::TimedOut(seconds) => format!("{agent} did not answer within {seconds} s"),
            Self::WentAway => format!("agent {agent} went away before it was done"),
            Self::Lost(reason) => format!("the task of {agent} was lost: {reason}"),
        })
    }
}

impl TaskOutcome {
    /// The outcome of a delegation. `limit_s` is the time that it had, in seconds.
    pub(crate) fn of(request: &TaskRequest, delegated: &DelegationResult, limit_s: u64) -> Self {
        let error = delegated.error.clone();
        let end = match &*delegated.state {
            "completed" => End::Completed,
            "rejected" => End::Rejected(error),
            "cancelled" => End::Cancelled(error),
            "input-required" | "auth-required" => End::InputRequired(error),
            TIMED_OUT => End::TimedOut(limit_s),
            AWAY => End::WentAway,
            LOST => End::Lost(error),
            _ => End::Failed(error),
        };
        Self {
            text: delegated.text.clone(),
            data: delegated.data.clone(),
            shortfall: Shortfall::of(&delegated.data),
            ..Self::without_result(request, end)
        }
    }

    /// A task that gave nothing.
    pub(crate) fn without_result(request: &TaskRequest, end: End) -> Self {
        Self {
            agent: request.target.clone(),
            task_type: request.task_type.clone(),
            correlation_id: request.correlation_id.clone(),
            end,
            text: String::new(),
            data: Vec::new(),
            shortfall: None,
        }
    }

    /// The end, as an answer's shortfall follows from it.
    pub(crate) fn agent_end(&self) -> AgentEnd<'_> {
        AgentEnd {
            agent: &self.agent,
            is_completed: self.end == End::Completed,
            shortfall: self.shortfall.as_ref(),
        }
    }

    /// The result without what was given, for a shortfall.
    pub(crate) fn sketched(&self) -> Value {
        let mut value = json!({"agent": self.agent, "state": self.end.label()});
        if let Some(problem) = self.end.problem(&self.agent) {
            value["error"] = shorten(&problem, MAX_REASON_TOKENS).into();
        } else if let Some(shortfall) = &self.shortfall {
            value["lacks"] = shorten(&shortfall.in_words(), MAX_REASON_TOKENS).into();
        }
        value
    }

    /// The result as one of so many items of the prompt's `results` block: the more there are, the shorter each is.
    pub(crate) fn to_json(&self, items: usize) -> Value {
        let share = SHARED_TOKENS / items.max(1) / 2;
        let mut value = json!({
            "agent": self.agent,
            "task_type": self.task_type,
            "correlation_id": self.correlation_id,
            "state": self.end.label(),
            "text": shorten(&self.text, share),
        });
        if let Some(problem) = self.end.problem(&self.agent) {
            value["error"] = shorten(&problem, share).into();
        }
        if !self.data.is_empty() {
            // A token of JSON has about four bytes.
            value["data"] = within(self.data.iter().cloned(), share * 4).into();
        }
        value
    }

    /// The result in words, for when no model puts it into better ones.
    pub(crate) fn plain(&self) -> String {
        match self.end.problem(&self.agent) {
            None => format!("{}: {}", self.agent, self.text),
            Some(problem) => problem,
        }
    }
}

/// A result as journals keep it: its text and data shortened if they are long.
pub(crate) fn shortened(delegated: DelegationResult) -> DelegationResult {
    DelegationResult {
        text: shorten(&delegated.text, MAX_TEXT_TOKENS),
        error: shorten(&delegated.error, MAX_TEXT_TOKENS),
        data: bounded(delegated.data.into_iter()),
        ..delegated
    }
}

/// Structured parts as a prompt takes them in: 16,000 bytes at most, with a mark in the place of what is too large.
pub(crate) fn bounded(data: impl Iterator<Item = Value>) -> Vec<Value> {
    within(data, MAX_DATA)
}

fn within(data: impl Iterator<Item = Value>, bytes: usize) -> Vec<Value> {
    let mut data: Vec<Value> = data.collect();
    if data.len() > MAX_PARTS {
        let left_out = data.split_off(MAX_PARTS - 1);
        let count = || format!("[{} more parts left out]", left_out.len());
        data.push(left_out_mark(&left_out, count));
    }
    let mut room = bytes;
    let within = data.into_iter().map(|value| {
        let size = value.to_string().len();
        if size > room {
            let size = || format!("[{size} bytes of JSON left out]");
            return left_out_mark([&value], size);
        }
        room -= size;
        value
    });
    within.collect()
}

/// Stands for what is left out. That an answer lacks something stays known.
fn left_out_mark<'a>(
    left_out: impl IntoIterator<Item = &'a Value>,
    mark: impl FnOnce() -> String,
) -> Value {
    match Shortfall::of(left_out) {
        Some(known) => Shortfall::new(known.undone, Vec::new()).to_json(),
        None => mark().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use agenthub_sdk::model::{LanguageModel, Offline, PromptMessage, Request, deltas};

    fn asked() -> TaskRequest {
        TaskRequest {
            task_type: "t".to_owned(),
            target: "a".to_owned(),
            words: None,
            payload: None,
            correlation_id: "1".to_owned(),
        }
    }

    fn outcome(state: &str, text: &str, error: &str) -> TaskOutcome {
        let delegated = DelegationResult {
            state: state.to_owned(),
            text: text.to_owned(),
            error: error.to_owned(),
            ..DelegationResult::default()
        };
        TaskOutcome::of(&asked(), &delegated, 120)
    }

    fn without(end: End) -> TaskOutcome {
        TaskOutcome::without_result(&asked(), end)
    }

    /// The answer that the offline model makes of this item of the prompt's `results` block.
    async fn told_offline(result: Value) -> String {
        let results = Value::Array(vec![result]);
        let agents = json!([{"id": "a", "description": "Can go"}]);
        let messages = vec![
            PromptMessage::data("agents", agents),
            PromptMessage::user("go"),
            PromptMessage::data("results", results),
        ];
        let request = Request::new(messages).json("decision", json!({"type": "object"}));
        let answer = Offline.complete(request, deltas().0).await;
        let answer: Value =
            serde_json::from_str(&answer.expect("an answer").text).expect("a decision is JSON");
        let text = answer["actions"][0]["text"].as_str();
        text.unwrap_or_default().to_owned()
    }

    #[test]
    fn every_end_is_told_in_plain_words() {
        let of = |state| outcome(state, "", "why").plain();
        assert_eq!(outcome("completed", "done", "").plain(), "a: done");
        assert_eq!(of("failed"), "a failed: why");
        assert_eq!(of("rejected"), "a does not take this task: why");
        assert_eq!(of("cancelled"), "the task of a was cancelled: why");
        assert_eq!(of("input-required"), "a asks back: why");
        assert_eq!(of(TIMED_OUT), "a did not answer within 120 s");
        assert_eq!(of(AWAY), "agent a went away before it was done");
        assert_eq!(of(LOST), "the task of a was lost: why");
    }

    /// spec: HUB-7
    #[tokio::test]
    async fn the_offline_model_tells_every_end_in_plain_words_once() {
        let done = |text| outcome("completed", text, "");
        let why = || "why".to_owned();
        let cases = [
            (done("hello"), "a says: hello"),
            (done(""), "a ended without an error and gave no text."),
            (without(End::Failed(why())), "a failed: why"),
            (
                without(End::Rejected(why())),
                "a does not take this task: why",
            ),
            (
                without(End::Cancelled(why())),
                "the task of a was cancelled: why",
            ),
            (without(End::InputRequired(why())), "a asks back: why"),
            (without(End::TimedOut(5)), "a did not answer within 5 s"),
            (
                without(End::WentAway),
                "agent a went away before it was done",
            ),
            (without(End::Lost(why())), "the task of a was lost: why"),
        ];
        for (outcome, expected) in cases {
            // A line behind it says that nobody checked what is completed.
            let told = told_offline(outcome.to_json(1)).await;
            assert_eq!(told.lines().next(), Some(expected), "{told}");
        }
    }

    /// Without a reason the label is all that there is to tell.
    #[tokio::test]
    async fn the_offline_model_knows_the_label_of_every_end() {
        let why = String::new;
        let ends = [
            End::Rejected(why()),
            End::Cancelled(why()),
            End::InputRequired(why()),
            End::TimedOut(1),
            End::WentAway,
            End::Lost(why()),
        ];
        for end in ends {
            let answer = told_offline(json!({"agent": "a", "state": end.label()})).await;
            assert!(!answer.contains("could not do it"), "{end:?}: {answer}");
        }
    }

    fn huge() -> TaskOutcome {
        let delegated = DelegationResult {
            state: "completed".to_owned(),
            text: "x".repeat(1 << 20),
            data: vec![json!({"big": "y".repeat(1 << 20)}), json!({"small": 1})],
            ..DelegationResult::default()
        };
        TaskOutcome::of(&asked(), &shortened(delegated), 1)
    }

    #[test]
    fn results_are_bounded() {
        let json = huge().to_json(1);
        assert!(json.to_string().len() < 40_000);
        assert_eq!(
            json["data"],
            json!(["[1048586 bytes of JSON left out]", {"small": 1}])
        );
        assert!(
            json["text"]
                .as_str()
                .is_some_and(|t| t.contains("characters left out"))
        );
    }

    #[test]
    fn parts_beyond_the_most_are_told() {
        let all = bounded((0..MAX_PARTS + 7).map(|n| json!({ "n": n })));
        assert_eq!(all.len(), MAX_PARTS);
        assert_eq!(all.last(), Some(&json!("[8 more parts left out]")));
        let again = bounded(all.clone().into_iter());
        assert_eq!(again, all);
        let lacking = [json!({}), json!({"partial": true})];
        let shortfall = bounded(lacking.into_iter().cycle().take(MAX_PARTS * 2));
        assert!(Shortfall::of(shortfall.last()).is_some(), "{shortfall:?}");
    }

    #[test]
    fn many_results_share_the_room() {
        let one = huge();
        let all: usize = (0..128).map(|_| one.to_json(128).to_string().len()).sum();
        assert!(all < SHARED_TOKENS * 4 + 128 * 200, "{all}");
    }
}

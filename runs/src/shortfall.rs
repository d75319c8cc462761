//! Shortfalls: what an answer lacks of what was asked for, as its data say it.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::model::Undone;

/// Reason why an answer counts as a part where a stand-in for a language model gave it.
pub const UNREAD: &str = "no language model read the request";

/// Data of an answer that is not all that was asked for: `{"partial": true, "undone": "part" | "all"?, "lacks": […]?,
/// "results": [{"agent"?, "tool"?, "step"?, "state", "error"?, "lacks"?, …}]}`. `lacks` are the answerer's own reasons,
/// `results` those of the agents, and of the tools and the steps of a workflow that failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Shortfall {
    partial: bool,
    /// Extent of what is undone; `None` if only some of the results are missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undone: Option<Undone>,
    /// The parts that are undone, as the answerer itself names them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lacks: Vec<String>,
    /// The results that there are, and those that are missing.
    #[serde(default)]
    pub results: Vec<Value>,
}

/// A result that an answer lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// The agent, tool or step.
    pub name: String,
    /// The reason.
    pub why: String,
    /// True if it failed; otherwise it gave a part.
    pub has_failed: bool,
}

/// End of an agent's work that an answer is made of.
#[derive(Clone, Copy, Debug)]
pub struct AgentEnd<'a> {
    /// The agent.
    pub agent: &'a str,
    /// True if its task is completed.
    pub is_completed: bool,
    /// Shortfall of its result.
    pub shortfall: Option<&'a Shortfall>,
}

impl AgentEnd<'_> {
    /// True if it did not complete its task, or says that it did nothing.
    pub fn gave_nothing(&self) -> bool {
        !self.is_completed || self.shortfall.is_some_and(Shortfall::is_nothing)
    }

    fn gave_all(&self) -> bool {
        self.is_completed && self.shortfall.is_none()
    }

    /// True if one of these agents, in the order in which they were asked, did not give all of a result, and gave none
    /// when it was asked again.
    pub fn is_any_missing(ends: &[AgentEnd<'_>]) -> bool {
        let is_made_good = |at: usize, agent: &str| {
            let mut later = ends[at + 1..].iter();
            later.any(|end| end.agent == agent && end.gave_all())
        };
        let mut numbered = ends.iter().enumerate();
        numbered.any(|(at, end)| !end.gave_all() && !is_made_good(at, end.agent))
    }
}

impl Shortfall {
    /// A shortfall of an answer that is made of these results.
    pub fn new(undone: Option<Undone>, results: Vec<Value>) -> Self {
        Self {
            partial: true,
            undone,
            lacks: Vec::new(),
            results,
        }
    }

    /// The same shortfall with the answerer's own reasons.
    pub fn lacking(self, lacks: Vec<String>) -> Self {
        Self { lacks, ..self }
    }

    /// The shortfall that an answer's data tell of; `None` if the answer is whole.
    pub fn of<'a>(data: impl IntoIterator<Item = &'a Value>) -> Option<Self> {
        let marked = data.into_iter().find(|data| data["partial"] == true)?;
        // Marks that are written otherwise, by agents of others, are marks all the same.
        Some(Self::deserialize(marked).unwrap_or_else(|_| Self::new(None, Vec::new())))
    }

    /// True if nothing of what was asked for was done.
    pub fn is_nothing(&self) -> bool {
        self.undone == Some(Undone::All)
    }

    /// Extent of what is undone: a part, unless nothing was done.
    pub fn extent(&self) -> Undone {
        self.undone.unwrap_or(Undone::Part)
    }

    /// The missing results, in order. Empty if the model itself declares that it did not do it.
    pub fn missing(&self) -> Vec<Missing> {
        let missing = self.results.iter().filter_map(|result| {
            let text = |key: &str| result[key].as_str().filter(|text| !text.is_empty());
            let has_failed = text("state") != Some("completed");
            let why = match has_failed {
                false => text("lacks")?,
                true => text("error").or(text("state")).unwrap_or_default(),
            };
            Some(Missing {
                name: text("agent")
                    .or(text("tool"))
                    .or(text("step"))
                    .unwrap_or_default()
                    .to_owned(),
                why: why.to_owned(),
                has_failed,
            })
        });
        missing.collect()
    }

    /// The shortfall in words, as of a result that another answer is made of.
    pub fn in_words(&self) -> String {
        let missing = self.missing();
        let named: Vec<String> = missing
            .iter()
            .map(|missing| format!("{} ({})", missing.name, missing.why))
            .collect();
        match (self.undone, named.is_empty()) {
            (Some(Undone::All), true) => "it did nothing of it".to_owned(),
            (_, true) => "it did it in part".to_owned(),
            (Some(Undone::All), false) => {
                format!("it gave nothing, without {}", named.join(", "))
            }
            (_, false) => format!("it did it in part, without {}", named.join(", ")),
        }
    }

    /// As data.
    pub fn to_json(&self) -> Value {
        json!(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// spec: SOP-8.7
    #[test]
    fn what_an_answer_lacks_is_read_from_its_data() {
        let data = json!({"partial": true, "results": [
            {"agent": "a", "state": "completed", "text": "x"},
            {"agent": "b", "state": "failed", "error": "no model"},
            {"agent": "c", "state": "away"},
            {"agent": "d", "state": "completed", "lacks": "it did nothing of it"},
            {"tool": "table", "state": "failed", "error": "it is locked"},
            {"step": "send/1", "state": "failed", "error": "no such address"},
        ]});
        let read = Shortfall::of([&json!({"partial": false}), &data]).expect("it is partial");
        let missing: Vec<(String, String)> = read
            .missing()
            .into_iter()
            .map(|missing| (missing.name, missing.why))
            .collect();
        let expected = [
            ("b", "no model"),
            ("c", "away"),
            ("d", "it did nothing of it"),
            ("table", "it is locked"),
            ("send/1", "no such address"),
        ];
        assert_eq!(
            missing,
            expected.map(|(name, why)| (name.to_owned(), why.to_owned()))
        );
        assert!(!read.is_nothing());
        assert_eq!(read.to_json(), data);
        assert_eq!(Shortfall::of([&json!({"partial": false})]), None);
        let otherwise = json!({"partial": true, "undone": "some of it"});
        assert!(Shortfall::of([&otherwise]).is_some());
    }

    #[test]
    fn what_the_model_declares_undone_comes_back() {
        let nothing = Shortfall::new(Some(Undone::All), Vec::new());
        let data = json!({"partial": true, "undone": "all", "results": []});
        assert_eq!(nothing.to_json(), data);
        assert_eq!(Shortfall::of([&data]), Some(nothing.clone()));
        assert!(nothing.is_nothing() && nothing.missing().is_empty());
        assert_eq!(nothing.in_words(), "it did nothing of it");
    }
}

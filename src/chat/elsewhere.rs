//! Approvals that agents ask for by statuses of their tasks, as Cortex may not know the folder with their runs.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agenthub_terminal::{
    calls::{hub_flag, program},
    ids::meant,
    output::plain,
};
use serde_json::Value;

/// The most approvals that are remembered; the oldest leave.
const MAX: usize = 64;

/// An approval that an agent asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) run: String,
    pub(super) id: String,
    pub(super) agent: String,
    step: String,
    question: String,
}

impl Asked {
    /// As the metadata `approval` of a status has it.
    pub(super) fn read(approval: &Value) -> Option<Self> {
        let text = |field: &str| approval[field].as_str().map(str::to_owned);
        Some(Self {
            run: text("run")?,
            id: text("id")?,
            agent: text("agent")?,
            step: text("step").unwrap_or_default(),
            question: text("question").unwrap_or_default(),
        })
    }

    /// Text on it.
    pub(super) fn told(&self) -> String {
        let Self {
            run,
            id,
            agent,
            step,
            question,
        } = self;
        let text = format!("approval {id} of run {run} of {agent}: {question} (step {step})");
        plain(&text).into_owned()
    }

    /// The command of this program that answers it: `approve` or `refuse`.
    pub(super) fn command(&self, word: &str, hub: &str) -> String {
        let Self { run, id, agent, .. } = self;
        let (program, hub) = (program(), hub_flag(hub));
        let text = format!("{program} runs {word} {run} {id} --agent {agent}{hub}");
        plain(&text).into_owned()
    }

    /// Text on it, with the commands that answer it.
    pub(super) fn question(&self) -> String {
        let Self {
            id,
            agent,
            step,
            question,
            ..
        } = self;
        let text = format!(
            "{question} (step {step} of {agent}) /approve {id} allows it, /refuse {id} [WHY] does not"
        );
        plain(&text).replace('\n', " ")
    }
}

/// The approvals of a conversation that wait. Clones are the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Elsewhere(Arc<Mutex<Vec<Asked>>>);

impl Elsewhere {
    /// Remembers an approval; false if it is known.
    pub(super) fn add(&self, asked: &Asked) -> bool {
        let mut all = self.lock();
        if all.contains(asked) {
            return false;
        }
        if all.len() == MAX {
            all.remove(0);
        }
        all.push(asked.clone());
        true
    }

    /// All that wait.
    pub(super) fn all(&self) -> Vec<Asked> {
        self.lock().clone()
    }

    /// The one with this id, or the only one whose id begins so.
    ///
    /// # Errors
    ///
    /// Several begin so.
    pub(super) fn find(&self, id: &str) -> anyhow::Result<Option<Asked>> {
        let all = self.lock();
        let found = meant(id, all.iter().map(|asked| asked.id.as_str()))?;
        Ok(found.and_then(|id| all.iter().find(|asked| asked.id == id).cloned()))
    }

    /// Forgets what waits no more.
    pub(super) fn forget(&self, over: &[Asked]) {
        self.lock().retain(|asked| !over.contains(asked));
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Asked>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_approval_is_known_until_it_is_answered() {
        let elsewhere = Elsewhere::default();
        let approval = json!({"run": "r", "id": "abc", "agent": "press", "step": "may", "question": "Print it?"});
        let asked = Asked::read(&approval).expect("it is one");
        assert!(elsewhere.add(&asked) && !elsewhere.add(&asked));
        assert_eq!(
            asked.question(),
            "Print it? (step may of press) /approve abc allows it, /refuse abc [WHY] does not"
        );
        assert_eq!(elsewhere.find("a").expect("clear"), Some(asked.clone()));
        elsewhere.forget(&[asked]);
        assert_eq!(elsewhere.find("a").expect("clear"), None);
        assert_eq!(elsewhere.all(), []);
    }
}

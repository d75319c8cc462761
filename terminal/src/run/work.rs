//! Work that agents have in hand.

use serde_json::Value;

/// A handoff to an agent.
#[derive(Clone, Debug, Default)]
pub(super) struct Work {
    pub(super) agent: String,
    pub(super) step: String,
    capability: String,
    task_id: String,
}

/// Handoffs in hand, oldest first.
#[derive(Clone, Debug, Default)]
pub(super) struct InHand(Vec<Work>);

impl Work {
    /// As the data of a handoff has it; the agent is in the field `agent`.
    pub(super) fn read(data: &Value, agent: &str) -> Self {
        let of = |field: &str| data[field].as_str().unwrap_or_default().to_owned();
        Self {
            agent: of(agent),
            step: of("step"),
            capability: of("capability"),
            task_id: of("taskId"),
        }
    }

    /// The agent, and what it does.
    pub(super) fn named(&self) -> String {
        let agent = &self.agent;
        match (self.step.as_str(), self.capability.as_str()) {
            ("", "") => agent.clone(),
            ("", what) | (what, "") => format!("{agent}: {what}"),
            (step, capability) => format!("{agent}: {step} ({capability})"),
        }
    }

    /// True if that is the same work, as far as both say what it is.
    fn is(&self, other: &Self) -> bool {
        let agrees = |one: &str, two: &str| one.is_empty() || two.is_empty() || one == two;
        self.agent == other.agent
            && agrees(&self.task_id, &other.task_id)
            && agrees(&self.step, &other.step)
    }
}

impl InHand {
    /// An agent is to have this.
    pub(super) fn requested(&mut self, work: Work) {
        self.0.push(work);
    }

    /// An agent has this, under a task.
    pub(super) fn occurred(&mut self, work: Work) {
        match self.0.iter_mut().find(|known| known.is(&work)) {
            Some(known) => known.task_id = work.task_id,
            None => self.0.push(work),
        }
    }

    /// Takes out work that came back, with all that is known of it.
    pub(super) fn returned(&mut self, work: Work) -> Work {
        match self.0.iter().position(|known| known.is(&work)) {
            Some(known) => self.0.remove(known),
            None => work,
        }
    }

    /// The agents that have something, each once in a row.
    pub(super) fn agents(&self) -> Vec<&str> {
        let mut agents: Vec<&str> = self.0.iter().map(|work| work.agent.as_str()).collect();
        agents.dedup();
        agents
    }

    /// Takes out all work.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn work(data: Value) -> Work {
        Work::read(&data, "to")
    }

    /// One agent has two things, and the second is back first.
    #[test]
    fn what_is_back_is_known_by_its_task() {
        let mut in_hand = InHand::default();
        for (step, task) in [("a", "t1"), ("b", "t2")] {
            in_hand.requested(work(
                json!({"to": "writer", "step": step, "capability": "write"}),
            ));
            in_hand.occurred(work(json!({"to": "writer", "step": step, "taskId": task})));
        }
        assert_eq!(in_hand.agents(), ["writer"]);
        let back = Work::read(&json!({"from": "writer", "taskId": "t2"}), "from");
        assert_eq!(in_hand.returned(back).named(), "writer: b (write)");
        let unknown = Work::read(&json!({"from": "nobody"}), "from");
        assert_eq!(in_hand.returned(unknown).named(), "nobody");
        assert_eq!(in_hand.agents(), ["writer"]);
    }
}

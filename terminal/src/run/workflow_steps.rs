//! State of a workflow's steps, folded from what is said of each.

use std::collections::{BTreeMap, BTreeSet};

use agenthub_proto::wkt::Timestamp;
use agenthub_sdk::runs::{StepId, workflow_step::is_undo};
use serde_json::Value;

use super::steps::Step;

/// Beginnings of attempts that are out, by the name and the number of the attempt, and of items of loops, in milliseconds since 1970.
#[derive(Clone, Debug, Default)]
pub(super) struct Begun {
    attempts: BTreeMap<(String, u64), u64>,
    items: BTreeMap<String, u64>,
    /// Those that a person did not allow, until it is told that they have failed.
    refused: BTreeSet<String>,
}

/// News of a frame on a part of a step.
struct Told<'a> {
    status: &'a str,
    agent: String,
    attempt: u64,
    at_ms: Option<u64>,
    /// Duration of the attempt, once it has ended.
    took_ms: Option<u64>,
    /// A person did not allow it.
    is_refused: bool,
    metadata: &'a Value,
}

/// Takes in that a step has begun or ended, and puts that into a line.
pub(super) fn apply(steps: &mut [Step], begun: &mut Begun, status: &str, data: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (step, name) = (text(&data["step"]), text(&data["stepName"]));
    let metadata = &data["metadata"];
    let attempt = metadata["attempt"].as_f64().map_or(1, |n| n as u64);
    let at_ms = millis(&text(&data["timestamp"]));
    // An item of several steps, of which each is told by itself.
    let is_item = metadata["kind"] == "steps" && name != step;
    let told = Told {
        status,
        agent: text(&metadata["agent"]),
        attempt,
        at_ms,
        took_ms: match is_item {
            true => begun.item_took(&name, at_ms),
            false => begun.took(&name, attempt, status, at_ms),
        },
        is_refused: begun.refused.remove(&name) && status == "FAILED",
        metadata,
    };
    if is_item {
        return told.line(&name);
    }
    if !is_undo(&StepId::new(name.as_str())) {
        if status == "RUNNING" {
            pass(steps, &step);
        }
        if let Some(known) = steps.iter_mut().find(|known| known.name == step) {
            known.take(&told);
        }
    }
    told.line(&name)
}

/// The workflow has completed: nothing more is at work.
pub(super) fn over(steps: &mut [Step]) {
    for step in steps.iter_mut().filter(|step| step.state == "working") {
        "completed".clone_into(&mut step.state);
    }
}

/// Closes the steps that a beginning one waited for.
fn pass(steps: &mut [Step], begun: &str) {
    let step = steps.iter().find(|step| step.name == begun);
    let after = step.map(|step| step.after.clone()).unwrap_or_default();
    for step in steps.iter_mut().filter(|step| after.contains(&step.name)) {
        match (step.state.as_str(), step.open) {
            ("working", 0) => "completed".clone_into(&mut step.state),
            // Joins are never seen to begin; decisions of older releases and branches that were not taken are not either.
            ("waiting", 0) if step.capability == "decision" || step.capability == "join" => {
                "completed".clone_into(&mut step.state);
            }
            ("waiting", 0) => "skipped".clone_into(&mut step.state),
            _ => {}
        }
    }
}

impl Begun {
    /// A person did not allow a step; that it has failed for it is told next.
    pub(super) fn refused(&mut self, name: &str) {
        self.refused.insert(name.to_owned());
    }

    /// Duration of an attempt that ends; nothing while it does not.
    fn took(&mut self, name: &str, attempt: u64, status: &str, at_ms: Option<u64>) -> Option<u64> {
        let key = (name.to_owned(), attempt);
        match (status, at_ms) {
            ("RUNNING", Some(at_ms)) => {
                for item in items(name) {
                    self.items.entry(item.to_owned()).or_insert(at_ms);
                }
                self.attempts.insert(key, at_ms);
                None
            }
            ("RETRYING", _) => None,
            (_, at_ms) => {
                let begun_ms = self.attempts.remove(&key)?;
                at_ms.map(|at_ms| at_ms.saturating_sub(begun_ms))
            }
        }
    }

    /// Duration of an item of a loop that has ended.
    fn item_took(&mut self, name: &str, at_ms: Option<u64>) -> Option<u64> {
        let begun_ms = self.items.remove(name)?;
        at_ms.map(|at_ms| at_ms.saturating_sub(begun_ms))
    }
}

/// The items of loops that a step is in: of `send/3/post`, `send/3`.
fn items(name: &str) -> impl Iterator<Item = &str> {
    let ends = name.match_indices('/').map(|(end, _)| &name[..end]);
    ends.filter(|item| {
        let index = item.rsplit_once('/').map(|(_, index)| index);
        index.is_some_and(|index| index.parse::<u32>().is_ok())
    })
}

impl Told<'_> {
    fn line(&self, name: &str) -> String {
        let tried = match self.attempt {
            1 => String::new(),
            attempt => format!(", attempt {attempt}"),
        };
        let by = match self.agent.is_empty() {
            true => String::new(),
            false => format!(" ({}{tried})", self.agent),
        };
        let seconds = |ms: u64| format!("{:.1} s", ms as f64 / 1_000.0);
        let took = self
            .took_ms
            .map_or(String::new(), |ms| format!(", {}", seconds(ms)));
        let error = self.metadata["error"].as_str().unwrap_or_default();
        match (self.status, self.metadata["decision"].as_bool()) {
            ("RUNNING", _) => format!("→ {name}{by}"),
            ("RETRYING", _) => {
                let pause = self.retried_ms().zip(self.at_ms);
                let pause = pause.map_or(String::new(), |(until, at)| {
                    format!(" in {}", seconds(until.saturating_sub(at)))
                });
                format!("↻ {name}: attempt {} follows{pause}", self.attempt)
            }
            ("SKIPPED", _) => format!("- {name} is skipped"),
            ("COMPLETED", Some(decision)) => format!("✓ {name}: {}", word(decision)),
            ("COMPLETED", None) if self.is_part() => {
                format!("◐ {name}{by} has done a part of it{took}")
            }
            ("COMPLETED", None) => format!("✓ {name}{by}{took}"),
            ("CANCELLED", _) => format!("✗ {name} was called back"),
            _ if self.is_behind() => format!("· {name} is not reached: {error}"),
            _ if self.is_refused => format!("✗ {name}{by} is refused{took}: {error}"),
            _ => format!("✗ {name}{by} failed{took}: {error}"),
        }
    }

    fn is_part(&self) -> bool {
        self.metadata["undone"].is_string()
    }

    /// True if it did not begin because a step that it needs has failed.
    fn is_behind(&self) -> bool {
        self.status == "FAILED" && self.metadata["behind"].is_string()
    }

    fn retried_ms(&self) -> Option<u64> {
        millis(self.metadata["until"].as_str()?)
    }
}

/// The word for a decision.
pub(super) fn word(decision: bool) -> &'static str {
    match decision {
        true => "yes",
        false => "no",
    }
}

impl Step {
    /// Takes in a part of it that has begun or ended.
    fn take(&mut self, told: &Told<'_>) {
        if !told.agent.is_empty() {
            self.agent.clone_from(&told.agent);
        }
        self.attempt = self.attempt.max(told.attempt);
        self.retried_ms = None;
        self.decision = told.metadata["decision"].as_bool().or(self.decision);
        match told.status {
            "RUNNING" => {
                self.open += 1;
                self.begun_ms = self.begun_ms.or(told.at_ms);
                "working".clone_into(&mut self.state);
                return;
            }
            "RETRYING" => {
                self.retried_ms = told.retried_ms();
                if self.open == 0 {
                    "retrying".clone_into(&mut self.state);
                }
                return;
            }
            _ => self.open = self.open.saturating_sub(1),
        }
        let is_single =
            !self.capability.starts_with("for each") && !self.capability.ends_with(" steps");
        self.took_ms = match is_single {
            true => told.took_ms,
            false => {
                let since = told.at_ms.zip(self.begun_ms);
                since.map(|(at, begun)| at.saturating_sub(begun))
            }
        };
        let state = match told.status {
            "COMPLETED" => {
                self.done += 1;
                match (is_single, told.is_part()) {
                    (true, false) => "completed",
                    (true, true) => "in-part",
                    (false, _) => "working",
                }
            }
            "CANCELLED" if self.open > 0 => "working",
            "CANCELLED" => "cancelled",
            "SKIPPED" => "skipped",
            _ if told.is_behind() => "not-reached",
            _ if told.is_refused => "refused",
            _ => "failed",
        };
        state.clone_into(&mut self.state);
    }
}

fn millis(time: &str) -> Option<u64> {
    let time: Timestamp = time.parse().ok()?;
    let seconds = u64::try_from(time.seconds).ok()?;
    Some(seconds * 1_000 + u64::try_from(time.nanos).ok()? / 1_000_000)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::run::steps::of;

    /// Steps of a plan, with the lines of all that is said of them.
    struct Watched {
        steps: Vec<Step>,
        begun: Begun,
        lines: Vec<String>,
    }

    impl Watched {
        fn new(plan: Value) -> Self {
            Self {
                steps: of(&json!({ "steps": plan })),
                begun: Begun::default(),
                lines: Vec::new(),
            }
        }

        fn say(&mut self, status: &str, name: &str, second: u64, metadata: Value) {
            let data = json!({
                "step": name.split('/').next(), "stepName": name, "metadata": metadata,
                "timestamp": format!("2027-01-01T00:00:{second:02}Z"),
            });
            let line = apply(&mut self.steps, &mut self.begun, status, &data);
            self.lines.push(line);
        }

        fn states(&self) -> String {
            let states = self.steps.iter().map(|s| format!("{} {}", s.name, s.state));
            states.collect::<Vec<_>>().join(", ")
        }
    }

    #[test]
    fn steps_have_their_state_agent_time_and_attempts() {
        let mut watched = Watched::new(json!({
            "a": {"agent": "x"},
            "way": {"capability": "decision", "dependsOn": ["a"]},
            "no": {"dependsOn": ["way"]},
            "each": {"capability": "for each post", "dependsOn": ["way", "no"]},
            "end": {"dependsOn": ["each"]},
        }));
        let by_x = |attempt: u32| json!({"agent": "x", "attempt": attempt});
        let failed = json!({"agent": "x", "attempt": 1, "error": "no"});
        let retry = json!({"attempt": 2, "until": "2027-01-01T00:00:03Z"});
        watched.say("RUNNING", "a", 1, by_x(1));
        watched.say("FAILED", "a", 2, failed);
        watched.say("RETRYING", "a", 2, retry);
        assert!(watched.states().starts_with("a retrying"));
        assert_eq!(watched.steps[0].retried_ms, millis("2027-01-01T00:00:03Z"));
        watched.say("RUNNING", "a", 3, by_x(2));
        watched.say("COMPLETED", "a", 5, by_x(2));
        assert_eq!(watched.steps[0].took_ms, Some(2_000), "the last attempt's");
        watched.say("RUNNING", "each/0", 6, json!({"attempt": 1}));
        watched.say("COMPLETED", "each/0", 7, json!({"attempt": 1}));
        watched.say("RUNNING", "each/1", 7, json!({"attempt": 1}));
        watched.say("RUNNING", "each/2", 7, json!({"attempt": 1}));
        watched.say("COMPLETED", "each/1", 8, json!({"attempt": 1}));
        assert_eq!(
            watched.lines,
            [
                "→ a (x)",
                "✗ a (x) failed, 1.0 s: no",
                "↻ a: attempt 2 follows in 1.0 s",
                "→ a (x, attempt 2)",
                "✓ a (x, attempt 2), 2.0 s",
                "→ each/0",
                "✓ each/0, 1.0 s",
                "→ each/1",
                "→ each/2",
                "✓ each/1, 1.0 s",
            ]
        );
        assert_eq!(
            watched.states(),
            "a completed, way completed, no skipped, each working, end waiting"
        );
        let each = &watched.steps[3];
        assert_eq!((each.open, each.done, each.took_ms), (1, 2, Some(2_000)));
        over(&mut watched.steps);
        assert!(watched.states().ends_with("each completed, end waiting"));
    }

    #[test]
    fn an_item_of_several_steps_has_a_line_of_its_own_and_counts_for_no_part() {
        let mut watched = Watched::new(json!({"pack": {"capability": "for each 2 steps"}}));
        let item = json!({"kind": "steps"});
        watched.say("RUNNING", "pack/0/wrap", 1, json!({}));
        watched.say("COMPLETED", "pack/0/wrap", 2, json!({}));
        watched.say("RUNNING", "pack/0/label", 2, json!({}));
        watched.say("COMPLETED", "pack/0/label", 4, json!({}));
        watched.say("COMPLETED", "pack/0", 4, item);
        assert_eq!(
            watched.lines[3..],
            ["✓ pack/0/label, 2.0 s", "✓ pack/0, 3.0 s"]
        );
        assert_eq!((watched.steps[0].open, watched.steps[0].done), (0, 2));
        assert_eq!(watched.states(), "pack working");
    }

    #[test]
    fn a_refused_step_is_refused_and_what_needs_it_is_not_reached() {
        let mut watched = Watched::new(json!({
            "ask": {},
            "send": {"dependsOn": ["ask"]},
            "each": {"capability": "for each post"},
        }));
        watched.say("RUNNING", "ask", 1, json!({}));
        watched.begun.refused("ask");
        watched.say("FAILED", "ask", 2, json!({"error": "ann refused it"}));
        let behind = json!({"kind": "agent", "error": "ask failed", "behind": "ask"});
        watched.say("FAILED", "send", 2, behind);
        assert_eq!(
            watched.lines[1..],
            [
                "✗ ask is refused, 1.0 s: ann refused it",
                "· send is not reached: ask failed",
            ]
        );
        assert_eq!(
            watched.states(),
            "ask refused, each waiting, send not-reached"
        );
        // Of an item that was refused, another may fail by itself.
        watched.say("RUNNING", "each/0", 3, json!({}));
        watched.say("RUNNING", "each/1", 3, json!({}));
        watched.begun.refused("each/0");
        watched.say("FAILED", "each/0", 4, json!({"error": "ann refused it"}));
        assert!(watched.states().contains("each refused"));
        watched.say("FAILED", "each/1", 5, json!({"error": "too late"}));
        assert!(watched.states().contains("each failed"));
    }

    #[test]
    fn decisions_and_steps_that_were_skipped_cancelled_or_done_in_part_are_told_from_others() {
        let mut watched = Watched::new(json!({
            "way": {"capability": "decision"},
            "a": {"dependsOn": ["way"]},
            "b": {"dependsOn": ["way"]},
            "c": {},
        }));
        watched.say("COMPLETED", "way", 1, json!({"decision": false}));
        watched.say("SKIPPED", "a", 1, json!({}));
        watched.say("RUNNING", "b", 1, json!({"agent": "x"}));
        watched.say("COMPLETED", "b", 2, json!({"agent": "x", "undone": "part"}));
        watched.say("RUNNING", "c", 2, json!({"agent": "x"}));
        watched.say("CANCELLED", "c", 3, json!({"agent": "x"}));
        assert_eq!(
            watched.lines,
            [
                "✓ way: no",
                "- a is skipped",
                "→ b (x)",
                "◐ b (x) has done a part of it, 1.0 s",
                "→ c (x)",
                "✗ c was called back",
            ]
        );
        assert_eq!(
            watched.states(),
            "c cancelled, way completed, a skipped, b in-part"
        );
        let step = |name: &str| {
            let step = watched.steps.iter().find(|step| step.name == name);
            step.expect("it is of the plan")
        };
        assert_eq!(step("way").decision, Some(false));
        assert_eq!(step("b").mark(), '◐');
    }
}

//! Plan of a run: its steps in the order in which they stand in the picture, each with all that was done for it.

mod layers;
mod picture;

use std::collections::{BTreeMap, HashMap};

use agenthub_proto::{
    cortex::{RunPlan, StepAttempt, StepCounts},
    wkt::Timestamp,
};
use agenthub_sdk::proto::json;
use agenthub_terminal::listing::{refusal::Refusal, state::step as attempt_state};
use maud::Markup;
use serde_json::Value;

use self::layers::Layered;

/// A plan, with what was done of it.
#[derive(Debug)]
pub(crate) struct Plan<'a> {
    /// The steps, each behind those that it needs.
    pub(crate) steps: Vec<PlanStep<'a>>,
    pub(crate) version: u64,
    /// It as data.
    pub(crate) data: Value,
    layered: Layered,
}

/// A step of a plan.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct PlanStep<'a> {
    pub(crate) name: String,
    /// Purpose: capability or kind.
    pub(crate) what: String,
    /// The agent that the plan names.
    agent: String,
    /// Its state, with what its result lacks.
    pub(crate) state: String,
    /// Score of the latest review of it.
    pub(crate) score: Option<f64>,
    /// Some of what was done for it, in the order in which it began.
    pub(crate) attempts: Vec<&'a StepAttempt>,
    /// All that was done for it, in numbers.
    pub(crate) counts: StepCounts,
}

impl<'a> Plan<'a> {
    /// The plan as it stands. `all` are the steps of the run, which know of which step of the plan they are.
    pub(crate) fn of(plan: &RunPlan, all: &'a [StepAttempt]) -> Self {
        let data = plan
            .plan
            .as_ref()
            .map(json::from_struct)
            .unwrap_or_default();
        let known: BTreeMap<&String, &Value> = match &data["steps"] {
            Value::Object(steps) => steps.iter().collect(),
            _ => BTreeMap::new(),
        };
        let number: BTreeMap<&str, usize> = known
            .keys()
            .enumerate()
            .map(|(at, name)| (name.as_str(), at))
            .collect();
        let needs: Vec<Vec<usize>> = known
            .iter()
            .map(|(name, step)| needs(name, step, &number))
            .collect();
        let (order, needs) = in_order(&needs);
        let names: Vec<(&&String, &&Value)> = known.iter().collect();
        let steps = order.into_iter().map(|at| {
            let (name, step) = names[at];
            let text = |field: &str| step[field].as_str().unwrap_or_default().to_owned();
            let attempts: Vec<&StepAttempt> = all
                .iter()
                .filter(|attempt| attempt.plan_step == **name)
                .collect();
            let planned = plan.states.get(*name).map_or("", String::as_str);
            PlanStep {
                name: (*name).clone(),
                what: text("capability"),
                agent: text("agent"),
                state: state(planned, &attempts),
                score: None,
                counts: counted(&attempts),
                attempts,
            }
        });
        Self {
            steps: steps.collect(),
            version: plan.version,
            layered: Layered::of(&needs),
            data,
        }
    }

    /// The plan with these numbers of attempts, where those that it has are not all.
    pub(crate) fn counted(mut self, counts: &HashMap<String, StepCounts>) -> Self {
        for step in &mut self.steps {
            if let Some(counts) = counts.get(&step.name) {
                step.counts = *counts;
            }
        }
        self
    }

    /// The plan with these scores of its steps.
    pub(crate) fn scored(mut self, scores: &HashMap<String, f64>) -> Self {
        for step in &mut self.steps {
            step.score = scores.get(&step.name).copied();
        }
        self
    }

    /// The plan as a picture.
    pub(crate) fn picture(&self) -> Markup {
        picture::picture(self)
    }

    /// The first step that failed, or that a person refused.
    pub(crate) fn failed(&self) -> Option<&PlanStep<'a>> {
        let mut steps = self.steps.iter();
        steps.find(|step| ["failed", "refused"].contains(&&*step.state))
    }

    /// The steps in the order of time: those that began as they did, then the others as they follow one another.
    pub(crate) fn in_time(&self) -> Vec<&PlanStep<'a>> {
        let mut steps: Vec<&PlanStep<'a>> = self.steps.iter().collect();
        steps.sort_by_key(|step| {
            step.begun()
                .map_or((i64::MAX, 0), |at| (at.seconds, at.nanos))
        });
        steps
    }
}

impl PlanStep<'_> {
    /// The agent that does it, or did: none of one whose agent nobody knows yet, and none of a step that no agent does.
    pub(crate) fn who(&self) -> String {
        let did = self.attempts.iter().rev().find(|a| !a.agent.is_empty());
        match did {
            Some(attempt) => attempt.agent.clone(),
            None => self.agent.clone(),
        }
    }

    /// Time of its beginning.
    pub(crate) fn begun(&self) -> Option<Timestamp> {
        self.counts.begun_at
    }

    /// Attempts that are not among those that it has.
    pub(crate) fn left_out(&self) -> usize {
        (self.counts.attempts as usize).saturating_sub(self.attempts.len())
    }

    /// The refusal that it ended with.
    pub(crate) fn refusal(&self) -> Option<Refusal> {
        let refused = self.attempts.iter().rev().find_map(|a| Refusal::of(a));
        refused.filter(|_| self.state == "refused")
    }

    /// Reason of its failure, if it has failed.
    pub(crate) fn error(&self) -> &str {
        let failed = self.attempts.iter().rev().find(|a| !a.error.is_empty());
        failed
            .filter(|_| self.state == "failed")
            .map_or("", |attempt| &attempt.error)
    }
}

/// State of a step: that of what is out for it, else as the plan has it, with what its result lacks.
fn state(planned: &str, attempts: &[&StepAttempt]) -> String {
    let out = attempts.iter().rev().find(|a| a.ended_at.is_none());
    if let Some(out) = out
        && planned != "failed"
    {
        return out.state.clone();
    }
    let last = attempts.last().map(|attempt| attempt_state(attempt));
    match last {
        Some(last) if planned == "completed" && attempts.len() == 1 => last,
        _ => planned.to_owned(),
    }
}

/// Attempts in numbers, without those of a loop's items.
fn counted(attempts: &[&StepAttempt]) -> StepCounts {
    let open = attempts.iter().filter(|a| a.ended_at.is_none()).count();
    let order = |at: &Timestamp| (at.seconds, at.nanos);
    let ended = attempts.iter().filter_map(|a| a.ended_at);
    StepCounts {
        attempts: attempts.len() as u32,
        open: open as u32,
        begun_at: attempts.iter().filter_map(|a| a.begun_at).min_by_key(order),
        ended_at: ended.max_by_key(order).filter(|_| open == 0),
        ..StepCounts::default()
    }
}

/// Progress of a loop, such as `137 of 500 done, 2 failed, 4 at work`; nothing of what is none.
pub(crate) fn progress(counts: &StepCounts) -> Option<String> {
    if counts.items == 0 {
        return None;
    }
    let mut words = format!("{} of {} done", counts.done, counts.items);
    for (number, what) in [
        (counts.failed, "failed"),
        (counts.cancelled, "cancelled"),
        (counts.working, "at work"),
    ] {
        if number > 0 {
            words += &format!(", {number} {what}");
        }
    }
    Some(words)
}

/// The steps in the order of the picture, by their numbers, and what each needs by its place in that order.
fn in_order(needs: &[Vec<usize>]) -> (Vec<usize>, Vec<Vec<usize>>) {
    let layered = Layered::of(needs);
    let mut order: Vec<usize> = (0..needs.len()).collect();
    order.sort_by_key(|at| (layered.places[*at].layer, layered.places[*at].rank));
    let mut place = vec![0; needs.len()];
    for (new, old) in order.iter().enumerate() {
        place[*old] = new;
    }
    let moved = order.iter().map(|old| {
        let needed = needs[*old].iter().map(|other| place[*other]);
        needed.collect()
    });
    let moved = moved.collect();
    (order, moved)
}

/// The steps that a step needs: those that it names, and those whose outputs its payload refers to.
fn needs(name: &str, step: &Value, number: &BTreeMap<&str, usize>) -> Vec<usize> {
    let named = step["dependsOn"].as_array().into_iter().flatten();
    let mut needs: Vec<usize> = named
        .filter_map(|other| number.get(other.as_str()?).copied())
        .collect();
    let payload = step["payload"].to_string();
    let references = payload.split("${").skip(1);
    let referred = references.filter_map(|rest| {
        let end = rest.find(['.', '}'])?;
        number.get(&rest[..end]).copied()
    });
    needs.extend(referred);
    needs.sort_unstable();
    needs.dedup();
    needs.retain(|other| number.get(name) != Some(other));
    needs
}

#[cfg(test)]
mod tests {
    use agenthub_proto::wkt::Timestamp;
    use serde_json::json;

    use super::*;

    fn plan(steps: Value, states: &[(&str, &str)]) -> RunPlan {
        RunPlan {
            version: 1,
            plan: Some(json::to_struct(&json!({ "steps": steps }))),
            states: states
                .iter()
                .map(|(step, state)| ((*step).to_owned(), (*state).to_owned()))
                .collect(),
        }
    }

    fn attempt(step: &str, plan_step: &str, state: &str) -> StepAttempt {
        StepAttempt {
            step: step.to_owned(),
            plan_step: plan_step.to_owned(),
            attempt: 1,
            state: state.to_owned(),
            ended_at: (state != "working" && state != "awaiting-approval").then(Timestamp::default),
            ..StepAttempt::default()
        }
    }

    /// Issue 26, runs: the table and the picture have one order, in which each step stands behind those that it needs, by name or by their outputs.
    #[test]
    fn steps_stand_in_the_order_in_which_they_are_done() {
        let plan = plan(
            json!({
                "allowed": {"dependsOn": ["draft"]},
                "draft": {"capability": "write", "payload": {"about": "${objective}"}},
                "add": {"payload": {"text": "say ${draft.output.text} and ${allowed.output}", "self": "${add.output}"}},
            }),
            &[("draft", "completed")],
        );
        let plan = Plan::of(&plan, &[]);
        let names: Vec<&str> = plan.steps.iter().map(|step| &*step.name).collect();
        assert_eq!(names, ["draft", "allowed", "add"]);
        assert_eq!(plan.steps[0].state, "completed");
        let mut direct: Vec<_> = plan
            .layered
            .edges
            .iter()
            .map(|e| (e[0], e[e.len() - 1]))
            .collect();
        direct.sort_unstable();
        assert_eq!(direct, [(0, 1), (0, 2), (1, 2)]);
    }

    /// Issue 26, runs: a step has one state, whoever says it.
    #[test]
    fn a_step_that_is_out_is_at_work_whatever_the_plan_says() {
        let plan = plan(
            json!({"ask": {}, "write": {}, "none": {}, "bad": {}}),
            &[
                ("ask", "ready"),
                ("write", "ready"),
                ("none", "not-reached"),
                ("bad", "failed"),
            ],
        );
        let all = [
            attempt("h-1", "write", "working"),
            attempt("h-2", "ask", "awaiting-approval"),
            attempt("bad", "bad", "failed"),
        ];
        let plan = Plan::of(&plan, &all);
        let states: BTreeMap<&str, &str> =
            plan.steps.iter().map(|s| (&*s.name, &*s.state)).collect();
        assert_eq!(
            states,
            BTreeMap::from([
                ("ask", "awaiting-approval"),
                ("write", "working"),
                ("none", "not-reached"),
                ("bad", "failed"),
            ])
        );
        assert_eq!(plan.failed().map(|step| &*step.name), Some("bad"));
    }

    #[test]
    fn names_are_text_and_each_step_leads_to_its_row() {
        let plan = plan(
            json!({"<b>": {"agent": "\"><script>"}}),
            &[("<b>", "working")],
        );
        let shown = Plan::of(&plan, &[]).picture().into_string();
        assert!(
            !shown.contains("<b>") && !shown.contains("<script>"),
            "{shown}"
        );
        assert!(shown.contains(r##"href="#step-%3Cb%3E""##), "{shown}");
        assert!(
            !shown.contains("style="),
            "the rules on what a page may load forbid it"
        );
    }

    #[test]
    fn a_plan_that_is_too_large_is_a_table_alone() {
        let many: serde_json::Map<String, Value> =
            (0..=100).map(|n| (format!("s{n}"), json!({}))).collect();
        let plan = plan(Value::Object(many), &[]);
        let plan = Plan::of(&plan, &[]);
        let shown = plan.picture().into_string();
        assert!(!shown.contains("<svg") && shown.contains("too many to be drawn"));
        assert_eq!(plan.steps.len(), 101);
    }
}

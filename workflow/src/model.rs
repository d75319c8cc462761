//! A workflow as it is carried out, whichever form its file has.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde_json::Value;

use crate::{
    expression::Expression,
    file::{OnFailure, OnItemFailure, Others},
    finding::At,
    template::Template,
};

/// A workflow that was read.
#[derive(Clone, Debug)]
pub(crate) struct Workflow {
    /// Its name.
    pub name: String,
    /// Its version; empty if the file has none.
    pub version: String,
    /// Its purpose; empty if the file does not say.
    pub description: String,
    /// JSON Schema of its input.
    pub input: Value,
    /// Time for the whole run, in milliseconds, which whoever starts one gives to it.
    pub timeout_ms: Option<u64>,
    pub(crate) graph: Graph,
    pub(crate) output: Option<Template>,
}

impl Workflow {
    /// Its name with its version.
    pub(crate) fn title(&self) -> String {
        match &*self.version {
            "" => self.name.clone(),
            version => format!("{} {version}", self.name),
        }
    }
}

/// Steps that depend on one another, each behind those that it waits for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Graph {
    pub(crate) steps: Vec<Step>,
    /// The step whose output is that of all; without it, their outputs stand under their names.
    pub(crate) result: Option<String>,
}

impl Workflow {
    /// Names of the secrets that its steps, and those of workflows in it, hand to agents.
    pub(crate) fn secrets(&self) -> BTreeSet<String> {
        let mut secrets = BTreeSet::new();
        for step in self.graph.all() {
            let work = match &step.work {
                Work::Call(call) => Some(call),
                _ => None,
            };
            for call in work.into_iter().chain(&step.compensate) {
                secrets.extend(call.secrets());
                secrets.extend(call.plan.iter().flat_map(|plan| plan.secrets.clone()));
            }
        }
        secrets
    }
}

impl Call {
    /// Names of the secrets that are handed to the agent.
    pub(crate) fn secrets(&self) -> BTreeSet<String> {
        let templates = self.text.iter().chain(&self.input);
        templates.flat_map(Template::secrets).collect()
    }
}

impl Graph {
    /// The steps, with those of loops behind the loop that they are in.
    pub(crate) fn all(&self) -> Vec<&Step> {
        let mut all = Vec::new();
        for step in &self.steps {
            all.push(step);
            if let Work::Steps(inner) = &step.work {
                all.extend(inner.all());
            }
        }
        all
    }
}

/// A step.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) name: String,
    /// Its path in the document.
    pub(crate) at: At,
    /// Steps that it depends on.
    pub(crate) needs: Vec<Need>,
    /// Number of them that must complete.
    pub(crate) join: Join,
    /// Treatment of the others.
    pub(crate) others: Others,
    /// Further steps whose values it reads.
    pub(crate) reads: BTreeSet<String>,
    pub(crate) when: Option<Expression>,
    pub(crate) each: Option<Each>,
    pub(crate) work: Work,
    pub(crate) retry: Retry,
    pub(crate) timeout_ms: Option<u64>,
    pub(crate) on_failure: OnFailure,
    /// The agent that is asked when the first one has failed.
    pub(crate) fallback: Option<String>,
    pub(crate) compensate: Option<Call>,
    /// The group of steps of which only some are at work at the same time.
    pub(crate) lane: Option<Lane>,
    /// The branch that it is in, if that has a time of its own.
    pub(crate) branch: Option<BranchTime>,
    /// True if its failure is for a join to judge, which may do without it.
    pub(crate) is_contained: bool,
}

/// A step that another depends on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Need {
    pub(crate) step: String,
    /// The answer of a decision with which the other step goes on.
    pub(crate) branch: Option<bool>,
    /// True for a way from a decision that names the step, in the graph form: the step begins only if one of these ways was taken,
    /// whatever else it depends on has completed.
    pub(crate) is_way: bool,
}

impl Need {
    pub(crate) fn on(step: &str) -> Self {
        Self {
            step: step.to_owned(),
            branch: None,
            is_way: false,
        }
    }

    pub(crate) fn branch(step: &str, branch: bool) -> Self {
        Self {
            step: step.to_owned(),
            branch: Some(branch),
            is_way: false,
        }
    }
}

/// Number of needed steps that must complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Join {
    /// All have ended, none has failed, and at least one has completed: branches meet, of which some were not taken.
    Merge,
    /// All have completed. The step is skipped where one of them was.
    All,
    /// This many have completed.
    AtLeast(u32),
}

impl Join {
    /// True if it may do without some of the steps.
    pub(crate) fn is_count(self) -> bool {
        matches!(self, Self::AtLeast(_))
    }
}

/// Work of a step.
#[derive(Clone, Debug)]
pub(crate) enum Work {
    /// An agent is asked.
    Call(Call),
    /// A time passes, in milliseconds.
    Wait(u64),
    /// A message of the hub is waited for.
    Event {
        event: String,
        /// The sender; empty for anybody.
        from: String,
        matching: Template,
        /// Path of `match` in the document.
        matching_at: At,
    },
    /// A person is asked.
    Approve {
        text: Template,
        input: Template,
        /// Path of the input in the document.
        input_at: At,
    },
    /// Decides which steps go on.
    Decide {
        condition: Expression,
        /// Its path in the document.
        at: At,
    },
    /// The needed steps come together; their outputs are its output, under these names or their own.
    Join(BTreeMap<String, String>),
    /// The steps of a loop.
    Steps(Graph),
}

/// A question to an agent.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    /// The agent; empty for any with the skill.
    pub(crate) agent: String,
    /// The skill; empty if the agent decides.
    pub(crate) skill: String,
    pub(crate) text: Option<Template>,
    pub(crate) input: Option<Template>,
    /// The workflow that is carried out, if that is what is asked for.
    pub(crate) plan: Option<Arc<SubPlan>>,
    /// Path of the question in the document.
    pub(crate) at: At,
    /// Path of the agent in the document.
    pub(crate) agent_at: At,
    /// Path of the input in the document.
    pub(crate) input_at: At,
}

/// A workflow that is a step of another.
#[derive(Clone, Debug)]
pub(crate) struct SubPlan {
    pub(crate) name: String,
    pub(crate) document: Arc<Value>,
    /// Names of the secrets that it hands to agents.
    pub(crate) secrets: BTreeSet<String>,
    /// Schema of its input.
    pub(crate) input: Value,
    /// Schema of its output, as far as its file says.
    pub(crate) output: Option<Value>,
}

impl SubPlan {
    /// A workflow that cannot be read, of which nothing is known.
    pub(crate) fn unread(name: String) -> Self {
        Self {
            name,
            document: Arc::new(Value::Null),
            secrets: BTreeSet::new(),
            input: Value::Bool(true),
            output: None,
        }
    }
}

/// The repetition of a step.
#[derive(Clone, Debug)]
pub(crate) struct Each {
    pub(crate) items: Template,
    /// Path of the items in the document.
    pub(crate) at: At,
    /// Items at the same time, at most.
    pub(crate) parallel: usize,
    /// Items, at most.
    pub(crate) most: usize,
    /// True if of a longer list the first items are done; otherwise it is a failure.
    pub(crate) is_cut: bool,
    pub(crate) on_failure: OnItemFailure,
}

/// Attempts and pauses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Retry {
    pub(crate) attempts: u32,
    pub(crate) pause_ms: u64,
    pub(crate) backoff: f64,
    pub(crate) max_pause_ms: u64,
    /// Part of a pause that is left to chance, from 0 to 1.
    pub(crate) jitter: f64,
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            attempts: 1,
            pause_ms: 1_000,
            backoff: 2.0,
            max_pause_ms: 60_000,
            jitter: 0.0,
        }
    }
}

/// Time for all steps of a branch, from the beginning of its first one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BranchTime {
    /// Name of the fork and the branch.
    pub(crate) branch: String,
    pub(crate) timeout_ms: u64,
}

/// A group of steps of which only some are at work at the same time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lane {
    pub(crate) group: String,
    pub(crate) most: usize,
}

/// The steps in an order in which each stands behind those that it waits for, and the cycles of those that wait for each other.
pub(crate) fn ordered(steps: Vec<Step>) -> (Vec<Step>, Vec<Vec<String>>) {
    let waits: BTreeMap<String, BTreeSet<String>> = steps
        .iter()
        .map(|step| {
            let needs = step.needs.iter().map(|need| need.step.clone());
            let waits = needs.chain(step.reads.iter().cloned());
            (step.name.clone(), waits.collect())
        })
        .collect();
    let mut left = steps;
    let mut done: BTreeSet<String> = BTreeSet::new();
    let mut ordered = Vec::new();
    let mut cycles = Vec::new();
    while !left.is_empty() {
        let is_free = |step: &Step| {
            let mut waits = waits[&step.name].iter();
            waits.all(|on| done.contains(on) || !waits_for(&left, on))
        };
        let (mut free, mut stuck): (Vec<Step>, Vec<Step>) = left.iter().cloned().partition(is_free);
        if free.is_empty() {
            let cycle = cycle(&stuck[0].name, &stuck, &waits);
            // Without one of its steps, the others are gone through as well: there may be further cycles.
            let broken = stuck.iter().position(|step| step.name == cycle[0]);
            free.push(stuck.remove(broken.unwrap_or_default()));
            cycles.push(cycle);
        }
        done.extend(free.iter().map(|step| step.name.clone()));
        ordered.extend(free);
        left = stuck;
    }
    (ordered, cycles)
}

fn waits_for(left: &[Step], name: &str) -> bool {
    left.iter().any(|step| step.name == name)
}

/// A cycle: each stuck step waits for another one, so following them leads back.
fn cycle(first: &str, stuck: &[Step], waits: &BTreeMap<String, BTreeSet<String>>) -> Vec<String> {
    let mut path = vec![first.to_owned()];
    loop {
        let name = &path[path.len() - 1];
        let next = waits[name].iter().find(|on| waits_for(stuck, on));
        let Some(next) = next.cloned() else {
            return path;
        };
        let again = path.iter().position(|other| *other == next);
        path.push(next);
        if let Some(at) = again {
            return path.split_off(at);
        }
    }
}

/// Marks the steps whose failure a join may do without: all that depends on them is such a join, or is marked as well.
pub(crate) fn contain(steps: &mut [Step]) {
    for at in (0..steps.len()).rev() {
        let name = steps[at].name.clone();
        let mut dependents = 0;
        let mut is_contained = true;
        for later in &steps[at + 1..] {
            let is_needed = later.needs.iter().any(|need| need.step == name);
            if !is_needed {
                continue;
            }
            dependents += 1;
            is_contained &= later.join.is_count() || later.is_contained;
        }
        steps[at].is_contained = is_contained && dependents > 0;
    }
}

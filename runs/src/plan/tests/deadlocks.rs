//! Property: no admitted plan deadlocks, whatever its steps return, in whatever order, and however it is patched
//! meanwhile.

use proptest::{prelude::*, sample::Index};

use super::*;

const NAMES: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];

/// Seed of a step: capability and agent, references and dependencies, recovery.
#[derive(Clone, Debug)]
struct StepSeed {
    capability: u8,
    agent: u8,
    fields: Vec<(u8, u8, usize)>,
    on: Vec<usize>,
    recovery: u8,
}

fn drawn() -> impl Strategy<Value = StepSeed> {
    let field = (0_u8..3, 0_u8..24, 0_usize..40);
    (
        0_u8..33,
        0_u8..6,
        prop::collection::vec(field, 0..4),
        prop::collection::vec(0_usize..40, 0..2),
        0_u8..4,
    )
        .prop_map(|(capability, agent, fields, on, recovery)| StepSeed {
            capability,
            agent,
            fields,
            on,
            recovery,
        })
}

/// Builds the step, which mostly depends on earlier ones.
fn step(at: usize, drawn: StepSeed) -> Value {
    // Rarely an invalid step, and rarely a dependency that closes a cycle.
    let earlier = |name: usize| match (at, name) {
        (0, _) => None,
        (_, 37..) => Some(NAMES[name - 32]),
        (at, name) => Some(NAMES[name % at]),
    };
    let text = |kind: u8, name: usize| match (kind, earlier(name)) {
        (0..=8, Some(name)) => format!("${{{name}.output.text}}"),
        (9..=10, Some(name)) => format!("${{{name}.output.list.0}}"),
        (11..=12, Some(name)) => format!("after ${{{name}.output}}"),
        (13, Some(name)) => format!("${{{name}.output.missing}}"),
        (14..=16, _) => "${input.text}".to_owned(),
        (17, _) => "${thread.x".to_owned(),
        _ => "${objective}".to_owned(),
    };
    let fields = drawn.fields.iter();
    let fields = fields.map(|(key, kind, name)| {
        (
            ["text", "list", "other"][usize::from(*key)],
            text(*kind, *name),
        )
    });
    let payload: Map<String, Value> = fields
        .map(|(key, text)| (key.to_owned(), text.into()))
        .collect();
    let on: Vec<_> = drawn.on.iter().filter_map(|name| earlier(*name)).collect();
    let mut step = json!({
        "capability": (["sing", "write", "read"][usize::from(drawn.capability.div_ceil(16))]),
        "payload": payload,
        "dependsOn": on,
        "recovery": ([json!({"kind": "fail"}), json!({"kind": "skip"}), json!({"kind": "skip"}), json!({"kind": "fallback", "agent": "two"})][usize::from(drawn.recovery)]),
    });
    if let Some(agent) = ["one", "two"].get(usize::from(drawn.agent)) {
        step["agent"] = json!(agent);
    }
    step
}

fn plan() -> impl Strategy<Value = Value> {
    (
        prop::collection::vec(drawn(), 1..=NAMES.len()),
        0..NAMES.len(),
    )
        .prop_map(|(drawn, result)| {
            let named = drawn.into_iter().enumerate();
            let steps: Map<_, _> = named
                .map(|(at, drawn)| (NAMES[at].to_owned(), step(at, drawn)))
                .collect();
            let result = steps.keys().nth(result).map_or(
                json!({}),
                |name| json!({"it": format!("${{{name}.output}}")}),
            );
            json!({"steps": steps, "result": result})
        })
}

/// Operations on the steps, mostly valid.
fn patch() -> impl Strategy<Value = Value> {
    let operation = (0_u8..6, 0..NAMES.len(), drawn()).prop_map(|(kind, at, drawn)| {
        let path = format!("/steps/{}", NAMES[at]);
        match kind {
            0 => json!({"op": "remove", "path": path}),
            1 => json!({"op": "add", "path": format!("{path}/dependsOn"), "value": []}),
            2 => json!({"op": "replace", "path": "/result", "value": {}}),
            3 => json!({"op": "replace", "path": "", "value": {"steps": {"a": step(0, drawn)}}}),
            _ => json!({"op": "add", "path": path, "value": step(at, drawn)}),
        }
    });
    prop::collection::vec(operation, 1..3).prop_map(Value::from)
}

fn offers() -> impl Strategy<Value = Vec<Offer>> {
    let takes = prop::sample::select(vec![
        json!({}),
        json!({"properties": {"text": {"type": "string"}, "list": {"type": ["string", "array"]}}}),
        json!({"properties": {"text": {}, "other": {"type": "string"}}, "required": ["text"], "additionalProperties": false}),
        json!({"anyOf": [{"required": ["text"]}, {"required": ["list"]}]}),
    ]);
    let gives = prop::sample::select(vec![
        json!({}),
        json!({"properties": {"text": {"type": "string"}, "list": {"items": {"type": "string"}}}}),
        json!({"properties": {"text": {"type": "string"}, "list": {"type": "array"}}, "required": ["text"]}),
        json!({"properties": {"text": {"type": "number"}}}),
    ]);
    prop::collection::vec((takes, gives), 4).prop_map(|schemas| {
        let by = [
            ("one", "write"),
            ("two", "write"),
            ("one", "read"),
            ("two", "read"),
        ];
        let offers = by.iter().zip(schemas);
        offers
            .map(|((agent, capability), (takes, gives))| offer(agent, capability, takes, gives))
            .collect()
    })
}

/// Simulated run of a plan.
struct SimulatedRun {
    given: Context,
    plan: AdmittedPlan,
    states: BTreeMap<String, StepState>,
    /// A step failed for good: no further step begins.
    is_over: bool,
}

impl SimulatedRun {
    fn state(&self, step: &str) -> StepState {
        self.states.get(step).copied().unwrap_or(StepState::Waiting)
    }

    fn begin_all(&mut self) {
        let ready = self.plan.ready(|step| self.state(step));
        let ready: Vec<String> = ready.into_iter().map(str::to_owned).collect();
        for step in ready {
            for needed in self.plan.dependencies(&step) {
                let state = self.state(&needed);
                assert!(
                    matches!(state, StepState::Done | StepState::Skipped),
                    "{step} before {needed}"
                );
            }
            self.given.begun.insert(step.clone());
            self.states.insert(step, StepState::Out);
        }
    }

    /// Returns one of the steps in flight, if there is one.
    fn comes_back(&mut self, which: &Index, fate: u8) -> bool {
        let out = self
            .states
            .iter()
            .filter(|(_, state)| **state == StepState::Out);
        let out: Vec<String> = out.map(|(step, _)| step.clone()).collect();
        if out.is_empty() {
            return false;
        }
        let step = which.get(&out).clone();
        let recovery = &self.plan.plan().steps[step.as_str()].recovery;
        let state = match (fate % 8, recovery) {
            (0, Recovery::Skip) => StepState::Skipped,
            // The run ends, or continues with a failed step.
            (0, Recovery::Fail | Recovery::Fallback { .. }) => StepState::Failed,
            _ => {
                let output = json!({"text": "x", "list": ["y"]});
                self.given.outputs.insert(step.clone(), output);
                StepState::Done
            }
        };
        if state == StepState::Failed {
            match fate < 128 {
                true => self.is_over = true,
                false => _ = self.given.failed.insert(step.clone()),
            }
        }
        self.states.insert(step, state);
        true
    }

    fn change(&mut self, patch: &Value) -> bool {
        let Ok(after) = admit_patch(&self.plan, patch, &self.given.terms()) else {
            return false;
        };
        for step in &self.given.begun {
            let of = |plan: &AdmittedPlan| plan.plan().steps.get(step.as_str()).cloned();
            assert_eq!(of(&self.plan), of(&after), "{patch}");
        }
        self.plan = after;
        true
    }

    /// True if a waiting step depends on one that failed while the run continues.
    fn needs_mending(&self) -> bool {
        !self.given.failed.is_empty()
            && admit(self.plan.plan().clone(), &self.given.terms()).is_err()
    }
}

/// Plays a run: returns whether the plan was admitted, the number of admitted patches, and the number of steps
/// returned.
fn play(
    plan: Value,
    offers: Vec<Offer>,
    patches: &[Value],
    picks: &[(Index, u8)],
) -> Option<(usize, usize)> {
    let given = Context {
        offers,
        input: json!({"text": "t"}),
        ..three_agents()
    };
    let plan = admit(serde_json::from_value(plan).ok()?, &given.terms()).ok()?;
    let mut playing = SimulatedRun {
        given,
        plan,
        states: BTreeMap::new(),
        is_over: false,
    };
    let (mut changes, mut returns) = (0, 0);
    let mut patches = patches.iter().cycle();
    for (which, fate) in picks.iter().cycle().take(200) {
        if playing.is_over || playing.needs_mending() {
            return Some((changes, returns));
        }
        playing.begin_all();
        if fate % 3 > 0 {
            changes += usize::from(patches.next().is_some_and(|patch| playing.change(patch)));
        }
        if !playing.comes_back(which, *fate) {
            playing.begin_all();
            if !playing.comes_back(which, *fate) {
                break;
            }
        }
        returns += 1;
    }
    for step in playing.plan.plan().steps.keys() {
        let state = playing.state(step.as_str());
        let is_over = !matches!(state, StepState::Waiting | StepState::Out);
        assert!(is_over || playing.is_over, "{step} is {state:?} for ever");
    }
    Some((changes, returns))
}

proptest! {
    /// spec: ORC-2.1
    #[test]
    fn an_admitted_plan_comes_to_an_end(
        plan in plan(),
        offers in offers(),
        patches in prop::collection::vec(patch(), 0..6),
        picks in prop::collection::vec((any::<Index>(), any::<u8>()), 1..20),
    ) {
        play(plan, offers, &patches, &picks);
    }
}

/// The property means something only if enough generated plans are admitted.
#[test]
fn enough_of_what_is_drawn_is_admitted() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let drawn = (
        plan(),
        offers(),
        prop::collection::vec(patch(), 0..6),
        prop::collection::vec((any::<Index>(), any::<u8>()), 1..20),
    );
    let (mut admitted, mut changed, mut returned, mut refused) = (0, 0, 0, 0);
    for _ in 0..600 {
        let tree = drawn.new_tree(&mut runner).expect("nothing is filtered");
        let (plan, offers, patches, picks) = proptest::strategy::ValueTree::current(&tree);
        match play(plan, offers, &patches, &picks) {
            Some((changes, returns)) => {
                admitted += 1;
                changed += changes;
                returned += returns;
            }
            None => refused += 1,
        }
    }
    assert!(
        admitted > 100 && refused > 50,
        "{admitted} admitted, {refused} refused"
    );
    assert!(
        changed > 50 && returned > 300,
        "{changed} changed, {returned} returned"
    );
}

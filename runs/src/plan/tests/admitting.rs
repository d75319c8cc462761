//! Admission of plans.

use super::*;

/// spec: ORC-2.1
#[test]
fn a_plan_that_can_be_carried_out_is_admitted_and_stays_as_it_is() {
    let given = three_agents();
    let plan = plan_of(campaign());
    let admitted = admit(plan.clone(), &given.terms()).expect("it is sound");
    assert_eq!(*admitted.plan(), plan);
    assert_eq!(
        serde_json::to_value(&plan).expect("it is plain"),
        campaign()
    );
    assert_eq!(AdmittedPlan::trusted(plan), admitted);
    let needed: Vec<_> = admitted.dependencies("review").into_iter().collect();
    assert_eq!(needed, ["draft"]);
}

#[test]
fn an_empty_plan_is_a_plan() {
    three_agents().check(json!({}), &[]);
    assert_eq!(plan_of(json!({})), Plan::default());
    let written = serde_json::to_value(Plan::default()).expect("it is plain");
    assert_eq!(written, json!({"steps": {}, "result": {}}));
}

#[test]
fn what_has_not_the_form_of_a_plan_is_refused_with_what_would_have() {
    let check = |plan: Value, why: &str| {
        let error = serde_json::from_value::<Plan>(plan).expect_err("it has not the form");
        assert!(error.to_string().contains(why), "{error}");
    };
    check(
        steps(json!({"Draft": {"capability": "c"}})),
        "`Draft` is no name for a step",
    );
    check(
        steps(json!({"": {"capability": "c"}})),
        "`` is no name for a step",
    );
    check(
        steps(json!({"a".repeat(65): {"capability": "c"}})),
        "1 to 64",
    );
    check(
        steps(json!({"input": {"capability": "c"}})),
        "`input` is no name",
    );
    check(
        steps(json!({"a": {"capability": "c", "depends_on": []}})),
        "unknown field `depends_on`",
    );
    check(steps(json!({"a": {}})), "missing field `capability`");
    check(
        steps(json!({"a": {"capability": "c", "dependsOn": ["thread"]}})),
        "`thread` is no name",
    );
    check(
        steps(json!({"a": {"capability": "c", "retry": {"attempts": 2, "pause_ms": 1}}})),
        "pauseMs",
    );
    check(
        steps(json!({"a": {"capability": "c", "recovery": {"kind": "panic"}}})),
        "`fail`, `skip`, `fallback`",
    );
    check(json!({"step": {}}), "unknown field `step`");
}

/// spec: ORC-2.1
#[test]
fn a_step_goes_only_to_an_agent_that_offers_it() {
    let given = three_agents();
    given.check(
        steps(json!({"draft": {"capability": "content.wrte"}})),
        &["step `draft`: nobody here offers `content.wrte`; offered: content.write, plan.strategy, qa.review"],
    );
    given.check(
        steps(json!({"draft": {"capability": "content.write", "agent": "reviewer", "payload": {"writerBrief": "short"}}})),
        &["step `draft`: agent `reviewer` does not offer `content.write`; those who do: writer"],
    );
    given.check(
        steps(json!({"draft": {"capability": "content.write", "payload": {"writerBrief": "short"}, "recovery": {"kind": "fallback", "agent": "planner"}}})),
        &["step `draft`: agent `planner` does not offer `content.write`; those who do: writer"],
    );
    let nobody = Context {
        offers: Vec::new(),
        ..three_agents()
    };
    nobody.check(
        steps(json!({"draft": {"capability": "content.write"}})),
        &["step `draft`: nobody here offers `content.write`; offered: nothing"],
    );
}

#[test]
fn what_is_begun_needs_no_offer_any_more() {
    let given = Context {
        offers: Vec::new(),
        ..three_agents()
    };
    let given = given
        .done("strategy", json!({"strategy": {}}))
        .begun(&["draft", "review"]);
    given.check(campaign(), &[]);
}

#[test]
fn a_step_waits_only_for_steps() {
    three_agents().check(
        steps(json!({
            "a": {"capability": "plan.strategy", "payload": {"objective": "x"}, "dependsOn": ["c"]},
            "b": {"capability": "plan.strategy", "payload": {"objective": "${c.output.strategy.rationale}"}},
        })),
        &[
            "step `a`: it depends on `c`, which is no step; steps: a, b",
            "step `b`, `objective`: ${c.output.strategy.rationale}: there is no step `c`; steps: a, b",
        ],
    );
}

#[test]
fn nothing_waits_for_what_has_failed() {
    let mut given = three_agents().begun(&["a"]);
    given.failed.insert("a".to_owned());
    given.check(
        json!({
            "steps": {
                "a": {"capability": "plan.strategy", "payload": {"objective": "x"}},
                "b": {"capability": "plan.strategy", "payload": {"objective": "x"}, "dependsOn": ["a"]},
                "c": {"capability": "plan.strategy", "payload": {"objective": "${a.output.strategy.rationale}"}},
            },
            "result": {"why": "${a.output.strategy.rationale}"},
        }),
        &[
            "step `b`: it depends on `a`, which has failed; let it do without, or remove it",
            "step `c`, `objective`: ${a.output.strategy.rationale}: step `a` has failed",
            "result, `why`: ${a.output.strategy.rationale}: step `a` has failed",
        ],
    );
}

#[test]
fn steps_that_wait_for_each_other_are_named() {
    let given = three_agents();
    let step = |objective: &str, on: &[&str]| json!({"capability": "plan.strategy", "payload": {"objective": objective}, "dependsOn": on});
    given.check(
        steps(json!({
            "first": step("x", &[]),
            "a": step("${c.output.strategy.rationale}", &["first"]),
            "b": step("x", &["a"]),
            "c": step("x", &["b", "first"]),
            "last": step("x", &["c"]),
        })),
        &["steps wait for each other: `a` → `c` → `b` → `a`"],
    );
    given.check(
        steps(json!({"a": step("x", &["a"])})),
        &["steps wait for each other: `a` → `a`"],
    );
}

/// spec: ORC-9
#[test]
fn steps_chains_and_calls_are_limited() {
    let mut given = three_agents();
    let step = |on: Vec<String>| json!({"capability": "plan.strategy", "payload": {"objective": "x"}, "dependsOn": on});
    let chain = |length: usize| {
        let before = |n: usize| (n > 1).then(|| format!("s{}", n - 1)).into_iter().collect();
        steps(
            (1..=length)
                .map(|n| (format!("s{n}"), step(before(n))))
                .collect(),
        )
    };
    given.limits.max_chain = 3;
    given.check(chain(3), &[]);
    given.check(
        chain(4),
        &["4 steps wait for one another, and at most 3 may: `s1` → `s2` → `s3` → `s4`"],
    );
    given.limits.max_chain = 32;
    given.limits.max_steps = 3;
    given.check(chain(4), &["there are 4 steps, and at most 3 are allowed"]);
    given.limits.max_steps = 64;
    given.limits.max_calls = Some(3);
    given.check(
        chain(4),
        &["4 steps are not begun, and the budget allows 3 more calls"],
    );
    let mut given = given.begun(&["s1"]);
    given.check(chain(4), &[]);
    given.limits.may_delegate = false;
    given.check(
        chain(4),
        &["step `s2`: the depth of delegation does not allow to hand anything to an agent; finish with what there is"],
    );
    let given = given.begun(&["s2", "s3", "s4"]);
    given.check(chain(4), &[]);
}

#[test]
fn numbers_and_payloads_are_in_bounds() {
    three_agents().check(
        steps(json!({
            "a": {"capability": "plan.strategy", "payload": [], "retry": {"attempts": 0}},
            "b": {"capability": "plan.strategy", "payload": {"objective": "x"}, "retry": {"attempts": 11, "pauseMs": 86_400_001}, "timeoutMs": 0},
        })),
        &[
            "step `a`: `retry.attempts` must be from 1 to 10",
            "step `a`: `payload` must be an object",
            "step `b`: `retry.attempts` must be from 1 to 10",
            "step `b`: `retry.pauseMs` must be from 0 to 86400000",
            "step `b`: `timeoutMs` must be from 1 to 86400000",
        ],
    );
}

/// spec: ORC-10
#[test]
fn the_result_is_made_of_what_steps_made() {
    let given = three_agents().done("draft", json!({"draft": {"text": "ahoy"}}));
    let with = |result: Value| json!({"steps": {"draft": {"capability": "content.write"}}, "result": result});
    given.check(
        with(json!({"posts": [{"text": "Post: ${draft.output.draft.text}"}]})),
        &[],
    );
    given.check(with(json!("${draft.output}")), &[]);
    given.check(
        with(json!({"score": 0.9, "text": "${draft.output.draft.text}"})),
        &["result: it is put together from what was made, so it can't have 0.9; write texts with references such as ${STEP.output.PATH}"],
    );
    given.check(
        with(json!({"post": "I wrote this myself"})),
        &["result, `post`: `I wrote this myself` is not what a step made; write a reference such as ${STEP.output.PATH}, with at most 120 characters around it"],
    );
    let long = format!("{} ${{draft.output.draft.text}}", "own words ".repeat(13));
    assert_eq!(given.faults(with(json!({ "post": long }))).len(), 1);
    given.check(
        with(json!(["${draft.output.text}", "${edit.output}"])),
        &[
            "result, `0`: ${draft.output.text}: there is no `text`; there is: draft",
            "result, `1`: ${edit.output}: there is no step `edit`; steps: draft",
        ],
    );
}

//! Patches of plans, and the steps that they must not change.

use super::*;

/// Checks the result of the patch: the names of the steps in order, or the fault.
#[track_caller]
fn check(patch: Value, expected: Result<&[&str], &str>) {
    let after = patched(&plan_of(campaign()), &patch);
    let names = |plan: Plan| plan.steps.into_keys().map(String::from).collect();
    let names: Result<Vec<String>, String> = after.map(names).map_err(|fault| fault.to_string());
    let expected = expected.map(|names| names.iter().map(|n| (*n).to_owned()).collect());
    assert_eq!(names, expected.map_err(str::to_owned));
}

/// spec: ORC-2.1
#[test]
fn a_patch_adds_replaces_and_removes() {
    let revise = json!({"capability": "content.write", "payload": {"writerBrief": "x"}});
    let mut expected = campaign();
    expected["steps"]["revise"] = revise.clone();
    expected["steps"]["review"]["payload"]["draft"] = json!("${revise.output.draft}");
    let patch = json!([
        {"op": "test", "path": "/steps/draft/agent", "value": "writer"},
        {"op": "add", "path": "/steps/revise", "value": revise},
        {"op": "replace", "path": "/steps/review/payload/draft", "value": "${revise.output.draft}"},
    ]);
    let after = patched(&plan_of(campaign()), &patch).expect("it can be done");
    assert_eq!(after, plan_of(expected));
}

#[test]
fn steps_keep_their_order() {
    let step = json!({"capability": "c"});
    check(json!([]), Ok(&["strategy", "draft", "review"]));
    check(
        json!([{"op": "remove", "path": "/steps/strategy"}]),
        Ok(&["draft", "review"]),
    );
    check(
        json!([{"op": "add", "path": "/steps/edit", "value": step}, {"op": "replace", "path": "/steps/strategy", "value": step}]),
        Ok(&["strategy", "draft", "review", "edit"]),
    );
    check(
        json!([{"op": "move", "from": "/steps/strategy", "path": "/steps/plan"}]),
        Ok(&["draft", "review", "plan"]),
    );
    check(
        json!([{"op": "copy", "from": "/steps/draft", "path": "/steps/again"}]),
        Ok(&["strategy", "draft", "review", "again"]),
    );
    check(
        json!([{"op": "replace", "path": "", "value": {"steps": {"only": step}}}]),
        Ok(&["only"]),
    );
}

#[test]
fn a_patch_that_cannot_be_done_says_where() {
    check(
        json!([{"op": "remove", "path": "/steps/review"}, {"op": "test", "path": "/steps/draft/approval", "value": false}]),
        Err(
            "operation 2 of the patch, {\"op\":\"test\",\"path\":\"/steps/draft/approval\",\"value\":false}: value did not match; nothing was changed",
        ),
    );
    check(
        json!([{"op": "replace", "path": "/steps/edit/note", "value": ""}]),
        Err(
            "operation 1 of the patch, {\"op\":\"replace\",\"path\":\"/steps/edit/note\",\"value\":\"\"}: path is invalid; nothing was changed",
        ),
    );
    check(
        json!([{"op": "add", "path": "/steps/Edit", "value": {"capability": "c"}}]),
        Err(
            "this is no plan: `Edit` is no name for a step: it must be 1 to 64 of a-z, 0-9, `_` and `-`, and begin with a letter",
        ),
    );
    check(
        json!([{"op": "add", "path": "/steps/edit", "value": {"capability": "c", "payLoad": {}}}]),
        Err(
            "this is no plan: unknown field `payLoad`, expected one of `capability`, `agent`, `payload`, `dependsOn`, `retry`, `timeoutMs`, `recovery`, `approval`, `note`",
        ),
    );
    check(
        json!([{"op": "remove", "path": ""}]),
        Err(
            "operation 1 of the patch, {\"op\":\"remove\",\"path\":\"\"}: path is invalid; nothing was changed",
        ),
    );
}

#[test]
fn keys_with_slashes_and_tildes_are_escaped() {
    let mut before = campaign();
    before["steps"]["draft"]["payload"]["a/b~c"] = json!(1);
    let patch = json!([
        {"op": "test", "path": "/steps/draft/payload/a~1b~0c", "value": 1},
        {"op": "move", "from": "/steps/draft/payload/a~1b~0c", "path": "/steps/draft/payload/~01"},
    ]);
    let after = patched(&plan_of(before), &patch).expect("it can be done");
    assert_eq!(after.steps["draft"].payload["~1"], json!(1));
    let broken = json!([{"op": "remove", "path": "/steps/~2"}]);
    assert!(matches!(patched(&after, &broken), Err(Fault::NoPatch(_))));
}

/// spec: ORC-2.1
#[test]
fn what_is_begun_stays_as_it_is() {
    let given = three_agents();
    let before = admit(plan_of(campaign()), &given.terms()).expect("it is sound");
    let given = given
        .done("strategy", json!({"strategy": {"rationale": "x"}}))
        .begun(&["draft"]);
    let check = |patch: Value, faults: &[&str]| {
        let after = admit_patch(&before, &patch, &given.terms());
        let told = after.err().unwrap_or_default();
        let told: Vec<_> = told.iter().map(Fault::to_string).collect();
        assert_eq!(told, faults);
    };
    let begun =
        "step `draft`: it is begun or over, so it can't be changed or removed; add another step";
    check(json!([{"op": "remove", "path": "/steps/draft"}]), &[begun]);
    check(
        json!([{"op": "replace", "path": "/steps/draft/payload/writerBrief", "value": "x"}]),
        &[begun],
    );
    check(
        json!([{"op": "add", "path": "/steps/draft/note", "value": "x"}]),
        &[begun],
    );
    check(
        json!([{"op": "add", "path": "/steps/draft/dependsOn", "value": ["review"]}]),
        &[begun],
    );
    check(
        json!([{"op": "replace", "path": "", "value": {}}]),
        &[
            begun,
            "step `strategy`: it is begun or over, so it can't be changed or removed; add another step",
        ],
    );
    check(
        json!([{"op": "replace", "path": "/steps/review/payload/draft", "value": "${draft.output.draft.text}"}]),
        &[],
    );
    check(
        json!([{"op": "remove", "path": "/steps/review"}, {"op": "remove", "path": "/result/issues"}]),
        &[],
    );
    check(
        json!([{"op": "remove", "path": "/steps/review"}]),
        &[
            "result, `issues`: ${review.output.qa.issues}: there is no step `review`; steps: strategy, draft",
        ],
    );
    let mut other = campaign();
    other["steps"]["review"]["note"] = json!("looked at twice");
    check(json!([{"op": "replace", "path": "", "value": other}]), &[]);
}

//! Loops over lists.

use super::*;

#[test]
fn loops_go_through_their_items_in_order_or_at_the_same_time() {
    let workflow = |parallel: u32| {
        format!(
            "
steps:
  each:
    for_each: ${{workflow.input.items}}
    parallel: {parallel}
    steps:
      one: {{ agent: x, input: {{ item: '${{loop.item}}', i: '${{loop.index}}' }} }}
      two: {{ agent: y, text: '${{one.output.n}}' }}
output: ${{each.output}}
"
        )
    };
    let input = json!({"items": ["p", "q", "r"]});
    let agent = |_: &str, handoff: &Handoff| {
        done(json!({"n": handoff.payload.clone().map(|p| p["item"].clone())}))
    };
    let (outcome, told) = played(&workflow(1), input.clone(), agent);
    let names: Vec<&str> = told
        .iter()
        .filter_map(|line| line.split(':').next())
        .collect();
    assert_eq!(
        names,
        [
            "each/0/one",
            "each/0/two",
            "each/1/one",
            "each/1/two",
            "each/2/one",
            "each/2/two"
        ]
    );
    assert_eq!(output(&outcome)["total_count"], 3);
    assert_eq!(output(&outcome)["iterations"][1]["one"]["n"], "q");
    let mut play = begun(&workflow(2), input);
    play.decide();
    assert_eq!(play.names(), ["each/0/one", "each/1/one"], "two at a time");
    play.give_agent("each/1/one", done(json!({"n": 1})));
    play.decide();
    assert_eq!(play.names(), ["each/0/one", "each/1/two"]);
    play.give_agent("each/1/two", done(json!({})));
    play.decide();
    assert_eq!(play.names(), ["each/0/one", "each/2/one"]);
}

#[test]
fn an_item_that_fails_fails_the_loop_or_is_done_without() {
    let workflow = |policy: &str| {
        format!(
            "
steps:
  each: {{ agent: x, for_each: [1, 2, 3], parallel: 3, on_item_failure: {policy}, input: {{ n: '${{loop.item}}' }} }}
output: ${{each.output}}
"
        )
    };
    let agent = |_: &str, handoff: &Handoff| match handoff.payload.as_ref().map(|p| &p["n"]) {
        Some(n) if n == 2 => failed("no"),
        n => done(json!({"n": n})),
    };
    let (outcome, _) = played(&workflow("continue"), json!({}), agent);
    assert_eq!(
        output(&outcome),
        json!({"iterations": [{"n": 1}, {"n": 3}], "total_count": 3, "failed": [{"index": 1, "error": "a: no"}]})
    );
    let (outcome, told) = played(&workflow("fail"), json!({}), agent);
    assert_eq!(error(&outcome), "the step `each` has failed: item 1: a: no");
    assert_eq!(told.last().map(String::as_str), Some("recall each/2"));
}

#[test]
fn a_list_that_is_too_long_or_no_list_is_a_failure() {
    let workflow = "
steps:
  each: { agent: x, for_each: '${workflow.input.items}', max_items: 2, text: x }
";
    for (items, why) in [(json!([1, 2, 3]), "at most 2"), (json!("x"), "no list")] {
        let (outcome, told) = played(workflow, json!({ "items": items }), |_, _| done(json!({})));
        assert!(error(&outcome).contains(why), "{outcome:?}");
        assert!(told.is_empty(), "{told:?}");
    }
}

#[test]
fn items_of_several_steps_are_told_as_they_end() {
    let workflow = "
steps:
  each:
    for_each: [1, 2, 3]
    on_item_failure: continue
    steps:
      one: { agent: x, input: { n: '${loop.item}' } }
      two: { agent: y, text: '${one.output.n}' }
  single: { agent: x, for_each: [1], text: x }
";
    let mut play = begun(workflow, json!({}));
    let told = |play: &Play| -> Vec<(String, String)> {
        let notes = play.facts.notes();
        let steps = notes.filter(|(_, note)| note["type"] == "step");
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let mut told: Vec<_> = steps
            .map(|(_, note)| {
                (
                    text(&note["data"]["stepName"]),
                    text(&note["data"]["status"]),
                )
            })
            .collect();
        told.sort();
        told
    };
    play.decide();
    play.give_agent("each/0/one", done(json!({"n": 1})));
    play.decide();
    assert_eq!(told(&play), [], "it goes on");
    play.give_agent("each/0/two", done(json!({})));
    play.decide();
    assert_eq!(told(&play), [("each/0".to_owned(), "COMPLETED".to_owned())]);
    play.give_agent("each/1/one", failed("no"));
    play.give_agent("single/0", done(json!({})));
    play.decide();
    play.give_agent("each/2/one", done(json!({"n": 1})));
    play.decide();
    play.give_agent("each/2/two", done(json!({})));
    assert!(play.decide().is_some(), "it is over");
    let told = told(&play);
    let told: Vec<_> = told.iter().map(|(step, is)| (&**step, &**is)).collect();
    assert_eq!(
        told,
        [
            ("each/0", "COMPLETED"),
            ("each/1", "FAILED"),
            ("each/2", "COMPLETED")
        ]
    );
}

#[test]
fn the_item_with_which_a_workflow_fails_is_told() {
    let workflow = "
steps:
  each: { for_each: [1, 2], steps: { one: { agent: x, input: { n: '${loop.item}' } } } }
";
    let mut play = begun(workflow, json!({}));
    let outcome = play.play(|step, _| match step {
        "each/1/one" => failed("no"),
        _ => done(json!({})),
    });
    assert_eq!(
        error(&outcome),
        "the step `each` has failed: item 1: the step `each/1/one` has failed: a: no"
    );
    let told: Vec<_> = play
        .facts
        .notes()
        .map(|(note, value)| (note.as_str(), &value["data"]["status"]))
        .collect();
    assert_eq!(
        told,
        [
            ("each/0/ended", &json!("COMPLETED")),
            ("each/1/ended", &json!("FAILED")),
            ("each/count", &Value::Null)
        ]
    );
}

/// Issue 26, runs: how many items a loop has is written down where not all begin at once, as those that have begun do not say it.
#[test]
fn the_number_of_items_is_told_where_not_all_begin_at_once() {
    let counted = |parallel: u32| {
        let workflow = format!(
            "
steps:
  each: {{ for_each: [1, 2, 3], parallel: {parallel}, agent: x, text: 'hi' }}
"
        );
        let mut play = begun(&workflow, json!({}));
        play.play(|_, _| done(json!({})));
        let noted = play.facts.noted(&StepId::new("each/count"));
        noted.and_then(Value::as_u64)
    };
    assert_eq!(counted(2), Some(3));
    assert_eq!(counted(3), None);
}

#[test]
fn items_that_are_gone_without_leave_the_workflow_done_in_part() {
    let workflow = "
steps:
  each:
    for_each: [1, 2]
    on_item_failure: continue
    steps:
      one: { agent: x, input: { n: '${loop.item}' } }
";
    let (outcome, _) = played(workflow, json!({}), |_, _| failed("no"));
    assert_eq!(lacking(&outcome), ["each/0", "each/1"]);
    let (outcome, _) = played(workflow, json!({}), |step, _| match step {
        "each/1/one" => failed("no"),
        _ => done(json!({})),
    });
    assert_eq!(lacking(&outcome), ["each/1"]);
}

//! Runs that go on from an earlier one.

use super::*;

/// A run again of a workflow whose steps have these results.
fn again(workflow: &str, input: Value, from: Option<&str>, play: &Play) -> Play {
    let mut steps = BTreeMap::new();
    for (step, what, result) in &play.ended {
        let reused = Reused {
            what: what.clone(),
            result: result.clone(),
        };
        steps.insert(step.clone(), reused);
    }
    let source = agenthub_documents::yaml::read::<Value>(workflow).expect("it is YAML");
    let read = read(&source, None).expect("it is right");
    let input = Input {
        run: "r2".to_owned(),
        workflow: source,
        input,
        reused: before(&read, from, steps).expect("there is such a step"),
        ..Input::default()
    };
    begun_with(&input)
}

#[test]
fn a_run_again_does_what_failed_and_what_comes_of_another_input_and_nothing_else() {
    let workflow = "
steps:
  a: { agent: x, text: '${workflow.input.a}' }
  ok: { approve: 'Go on?', depends_on: [a] }
  b: { agent: x, text: '${workflow.input.b}', depends_on: [ok] }
  c: { agent: x, text: '${b.output.n}' }
";
    let mut first = begun(workflow, json!({"a": 1, "b": 2}));
    let outcome = first.play(|step, _| match step {
        "c" => failed("no"),
        _ => done(json!({"n": 1})),
    });
    assert!(error(&outcome).contains('c'));
    let told = |from: Option<&str>, input: Value| {
        let mut play = again(workflow, input, from, &first);
        play.play(|_, _| done(json!({"n": 1})));
        let names = play.told.iter().filter_map(|line| line.split(':').next());
        names.map(str::to_owned).collect::<Vec<_>>()
    };
    let same = json!({"a": 1, "b": 2});
    assert_eq!(told(None, same.clone()), ["c"]);
    assert_eq!(told(Some("b"), same.clone()), ["b", "c"]);
    assert_eq!(told(Some("a"), same.clone()), ["a", "ok", "b", "c"]);
    assert_eq!(told(None, json!({"a": 1, "b": 3})), ["b", "c"]);
    let source = agenthub_documents::yaml::read::<Value>(workflow).expect("it is YAML");
    let read = read(&source, None).expect("it is right");
    let missing = before(&read, Some("d"), BTreeMap::new()).expect_err("there is none");
    assert!(
        missing.contains("`d`") && missing.contains("a, ok, b, c"),
        "{missing}"
    );
}

/// The names of the steps that a run again does, in order.
fn done_again(workflow: &str, first: &Play) -> Vec<String> {
    let mut play = again(workflow, json!({}), None, first);
    play.play(|_, _| done(json!({"n": 1})));
    let names = play.told.iter().filter_map(|line| line.split(": ").next());
    names.map(str::to_owned).collect()
}

#[test]
fn a_run_again_asks_an_agent_again_that_said_it_did_nothing() {
    let workflow = "
steps:
  a: { agent: x, text: one }
  b: { agent: x, text: two, depends_on: [a] }
";
    let mut first = begun(workflow, json!({}));
    let outcome = first.play(|step, _| match step {
        "b" => done(json!({"partial": true, "undone": "all", "results": []})),
        _ => done(json!({"n": 1})),
    });
    assert!(error(&outcome).contains("did nothing of it"));
    assert_eq!(done_again(workflow, &first), ["b"]);
}

#[test]
fn a_run_again_does_what_was_taken_back_and_takes_it_back_itself() {
    let workflow = "
steps:
  look: { agent: x, text: look }
  pay: { agent: x, text: pay, depends_on: [look], retry: { attempts: 2, pause: 0 }, compensate: { agent: u, text: back } }
  each: { for_each: [1, 2], agent: x, text: '${loop.item}', depends_on: [pay], compensate: { agent: u, text: back } }
  ship: { agent: x, text: ship, depends_on: [each] }
";
    let mut first = begun(workflow, json!({}));
    let outcome = first.play(|step, _| match step {
        "ship" | "pay" => failed("no"),
        // One attempt at it fails, and it is not taken back: it may have been all the same.
        step if step.starts_with("undo/each/0") => failed("closed"),
        _ => done(json!({"n": 1})),
    });
    let why = error(&outcome);
    assert!(
        why.contains("taken back: each/1, pay; not taken back: `each/0`"),
        "{why}"
    );
    assert_eq!(
        done_again(workflow, &first),
        ["pay", "each/0", "each/1", "ship"]
    );
    let mut second = again(workflow, json!({}), None, &first);
    second.play(|step, _| match step {
        "ship" => failed("no"),
        _ => done(json!({"n": 1})),
    });
    let told = second
        .told
        .iter()
        .filter_map(|line| line.split(": ").next());
    let told: Vec<&str> = told.filter(|name| name.starts_with("undo/")).collect();
    assert_eq!(told, ["undo/each/1", "undo/each/0", "undo/pay"]);
}

#[test]
fn an_event_stands_for_one_that_is_waited_for_in_the_same_way() {
    let workflow = |event: &str| {
        format!(
            "
steps:
  e: {{ wait_for: {{ event: {event}, match: {{ n: 1 }} }} }}
  b: {{ agent: x, text: two, depends_on: [e] }}
"
        )
    };
    let mut first = begun(&workflow("paid"), json!({}));
    first.decide();
    let [(step, _, what)] = first.out.as_slice() else {
        panic!("{:?}", first.out);
    };
    let came = StepResult::ToolReturned(agenthub_sdk::runs::ToolOutput {
        value: json!({"message": {"text": "it is paid"}, "position": "p5"}),
        is_error: false,
    });
    first.ended.push((step.clone(), what.clone(), came));
    let wanted = |event: &str| {
        let mut play = again(&workflow(event), json!({}), None, &first);
        play.decide();
        play.names().join(" ")
    };
    assert_eq!(wanted("paid"), "b");
    assert_eq!(wanted("shipped"), "e");
}

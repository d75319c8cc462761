//! Decisions of workflows, on facts alone: no runtime, no hub, no agents.

use agenthub_sdk::runs::{
    Budget, Decision, DelegationResult, EffectFailure, Handoff, RunEvent, RunId, RunStarted,
    StepId, StepRequest, StepResult,
    run::{self, Action},
};

use super::*;

/// A run of a workflow whose agents are a function.
pub(crate) struct Play {
    facts: Facts,
    pub(crate) now_ms: u64,
    /// Events, a line for each.
    pub(crate) told: Vec<String>,
    /// The steps that are out, in their order.
    out: Vec<(StepId, u32, StepRequest)>,
    /// The steps that have ended.
    ended: Vec<(StepId, StepRequest, StepResult)>,
    memory: Memory,
    /// Deadlines of the steps that have begun.
    pub(crate) deadlines: BTreeMap<String, Option<u64>>,
}

pub(crate) fn begun(workflow: &str, input: Value) -> Play {
    let source = agenthub_documents::yaml::read::<Value>(workflow).expect("it is YAML");
    let input = Input {
        run: "r".to_owned(),
        workflow: source,
        input,
        ..Input::default()
    };
    begun_with(&input)
}

fn begun_with(input: &Input) -> Play {
    let started = RunEvent::Started(RunStarted {
        strategy: WorkflowRun::NAME.to_owned(),
        input: json!(input),
        thread: String::new(),
        origin: Value::Null,
        budget: Budget::default(),
        deadline_ms: None,
        at_ms: 1_000,
    });
    Play {
        facts: Facts::of([&started]),
        now_ms: 1_000,
        told: Vec::new(),
        out: Vec::new(),
        ended: Vec::new(),
        memory: Memory::default(),
        deadlines: BTreeMap::new(),
    }
}

pub(crate) fn done(data: Value) -> DelegationResult {
    DelegationResult {
        agent: "a".to_owned(),
        state: "completed".to_owned(),
        data: vec![data],
        ..DelegationResult::default()
    }
}

pub(crate) fn failed(why: &str) -> DelegationResult {
    DelegationResult {
        agent: "a".to_owned(),
        state: "failed".to_owned(),
        error: why.to_owned(),
        ..DelegationResult::default()
    }
}

impl Play {
    /// Does what is decided, until something has to come back or the run is over. Each decision is made anew as well, as another process
    /// makes it.
    pub(crate) fn decide(&mut self) -> Option<RunOutcome> {
        for _ in 0..1_000 {
            let id = RunId::new("r");
            let anew = run::next(&id, &self.facts, &WorkflowRun, self.now_ms, 16);
            let strategy = (&WorkflowRun as &dyn Strategy, &mut self.memory);
            let actions = run::advance(&id, &self.facts, strategy, self.now_ms, 16);
            assert_eq!(anew, actions, "a decision follows from the facts alone");
            let mut has_acted = false;
            for action in actions {
                has_acted |= match action {
                    Action::Begin(event, work) => {
                        self.facts.apply(&event);
                        if let RunEvent::StepBegun { what, .. } = event {
                            let step = work.key.step.to_string();
                            self.deadlines.insert(step, work.deadline_ms);
                            self.begin(&work.key.step, work.key.attempt, what);
                        }
                        true
                    }
                    Action::Note(event) => {
                        self.facts.apply(&event);
                        true
                    }
                    Action::Look(step, query) => {
                        self.told.push(format!("{step}: look {query}"));
                        self.facts.apply(&RunEvent::Observed {
                            step,
                            value: Some(json!("p7")),
                            same_as: None,
                            at_ms: self.now_ms,
                        });
                        true
                    }
                    Action::Recall(key, _) => {
                        let at = self.out.iter().position(|(step, ..)| *step == key.step);
                        at.is_some_and(|at| {
                            self.out.remove(at);
                            self.told.push(format!("recall {}", key.step));
                            self.end(key.step.clone(), key.attempt, StepResult::Cancelled);
                            true
                        })
                    }
                    Action::Stop(outcome) => {
                        let at_ms = self.now_ms;
                        self.facts.apply(&RunEvent::Stopping { outcome, at_ms });
                        true
                    }
                    Action::Conclude(outcome) => return Some(outcome),
                    _ => false,
                };
            }
            if !has_acted {
                return None;
            }
        }
        panic!("it does not come to an end: {:#?}", self.told);
    }

    fn begin(&mut self, step: &StepId, attempt: u32, what: StepRequest) {
        let words = match &what {
            StepRequest::Delegated(sent) => {
                let Handoff {
                    agent,
                    capability,
                    text,
                    payload,
                    ..
                } = &sent.handoff;
                let payload = payload.as_ref().map(Value::to_string).unwrap_or_default();
                format!("{agent} {capability} {text} {payload}")
            }
            StepRequest::Waiting { until_ms } => format!("until {until_ms}"),
            StepRequest::ApprovalAsked(approval) => format!("ask {}", approval.arguments),
            StepRequest::ToolCalled(call) => format!("{} {}", call.name, call.arguments),
            other => format!("{other:?}"),
        };
        self.told.push(format!("{step}: {}", words.trim()));
        self.out.push((step.clone(), attempt, what));
    }

    fn end(&mut self, step: StepId, attempt: u32, result: StepResult) {
        self.now_ms += 1;
        self.facts.apply(&RunEvent::StepEnded {
            step,
            attempt,
            result,
            spent: None,
            at_ms: self.now_ms,
        });
    }

    /// Has one of the steps that are out come back.
    fn give(&mut self, step: &str, result: StepResult) {
        let at = self.out.iter().position(|(out, ..)| out.as_str() == step);
        let at = at.unwrap_or_else(|| panic!("{step} is not out: {:?}", self.told));
        let (step, attempt, _) = self.out.remove(at);
        self.end(step, attempt, result);
    }

    pub(crate) fn give_agent(&mut self, step: &str, result: DelegationResult) {
        self.give(step, StepResult::DelegationEnded(result));
    }

    pub(crate) fn names(&self) -> Vec<&str> {
        self.out.iter().map(|(step, ..)| step.as_str()).collect()
    }

    /// Plays the run to its end: the oldest that is out comes back first.
    pub(crate) fn play(
        &mut self,
        agent: impl Fn(&str, &Handoff) -> DelegationResult,
    ) -> RunOutcome {
        for _ in 0..1_000 {
            if let Some(outcome) = self.decide() {
                return outcome;
            }
            let (step, attempt, what) = self.out.remove(0);
            let asked = what.clone();
            let result = match what {
                StepRequest::Delegated(sent) => {
                    StepResult::DelegationEnded(agent(step.as_str(), &sent.handoff))
                }
                StepRequest::Waiting { until_ms } => {
                    self.now_ms = self.now_ms.max(until_ms);
                    StepResult::Woke
                }
                StepRequest::ApprovalAsked(_) => StepResult::Decided(Decision {
                    approved: true,
                    by: "ann".to_owned(),
                    comment: String::new(),
                }),
                other => panic!("{other:?}"),
            };
            self.ended.push((step.clone(), asked, result.clone()));
            self.end(step, attempt, result);
        }
        panic!("it does not come to an end: {:#?}", self.told);
    }
}

fn played(
    workflow: &str,
    input: Value,
    agent: impl Fn(&str, &Handoff) -> DelegationResult,
) -> (RunOutcome, Vec<String>) {
    let mut play = begun(workflow, input);
    let outcome = play.play(agent);
    (outcome, play.told)
}

fn output(outcome: &RunOutcome) -> Value {
    match outcome {
        RunOutcome::Completed { data, .. } => data["output"].clone(),
        other => panic!("{other:?}"),
    }
}

fn error(outcome: &RunOutcome) -> String {
    match outcome {
        RunOutcome::Failed { error } => error.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_step_whose_agent_says_that_it_did_nothing_has_failed() {
    let workflow = "
steps:
  a: { agent: x, text: one }
";
    let nothing = |_: &str, _: &Handoff| DelegationResult {
        text: "I found no tool".to_owned(),
        ..done(json!({"partial": true, "undone": "all", "results": []}))
    };
    let (outcome, _) = played(workflow, json!({}), nothing);
    let why = error(&outcome);
    assert!(why.contains("did nothing of it: I found no tool"), "{why}");
}

/// spec: EXE-2.2, EXE-2.3, EXE-2.4
#[test]
fn a_step_begins_when_those_it_waits_for_are_done_and_gets_their_outputs() {
    let workflow = "
steps:
  a: { agent: x, text: one }
  b: { agent: x, text: two }
  c: { agent: y, input: { a: '${a.output.n}', all: '${a.output.n}+${b.output.n}' } }
output: { c: '${c.output}' }
";
    let mut play = begun(workflow, json!({}));
    assert_eq!(play.decide(), None);
    assert_eq!(play.names(), ["a", "b"]);
    play.give_agent("b", done(json!({"n": 2})));
    assert_eq!(play.decide(), None);
    assert_eq!(play.names(), ["a"], "c waits for both");
    play.give_agent("a", done(json!({"n": 1})));
    assert_eq!(play.decide(), None);
    assert_eq!(
        play.told.last().map(String::as_str),
        Some(r#"c: y   {"a":1,"all":"1+2"}"#)
    );
    play.give_agent("c", done(json!({"ok": true})));
    let outcome = play.decide().expect("it is over");
    assert_eq!(output(&outcome), json!({"c": {"ok": true}}));
}

#[test]
fn the_linear_form_goes_the_way_that_its_conditions_decide() {
    let workflow = r#"{"start_step": "s1", "steps": {
        "s1": {"agent_name": "x", "input_mapping": {"t": "${workflow.input.t}"}, "next_step": "s2"},
        "s2": {"type": "conditional", "condition": {"expression": "${s1.output.score} > 5"},
               "if_true_step": "high", "if_false_step": "low", "next_step": "s3"},
        "high": {"agent_name": "x", "input_mapping": {"is": "high"}},
        "low": {"agent_name": "x", "input_mapping": {"is": "low"}},
        "s3": {"agent_name": "x", "input_mapping": {"high": "${high.output}", "low": "${low.output}"}}}}"#;
    for (score, way, other) in [(9, "high", "low"), (1, "low", "high")] {
        let (outcome, told) = played(workflow, json!({"t": 1}), |step, _| match step {
            "s1" => done(json!({"score": score})),
            step => done(json!({"of": step})),
        });
        assert!(told.iter().any(|line| line.starts_with(way)), "{told:?}");
        assert!(!told.iter().any(|line| line.starts_with(other)), "{told:?}");
        let last = format!("s3: x   {{\"{way}\":{{\"of\":\"{way}\"}}}}");
        assert_eq!(
            told.last(),
            Some(&last),
            "what was skipped leaves its field out"
        );
        assert_eq!(output(&outcome)[other], Value::Null);
    }
}

#[test]
fn a_branch_that_is_not_taken_is_skipped_whole_and_a_merge_goes_on() {
    let workflow = "
steps:
  d: { if: workflow.input.yes, then: a, else: b }
  a: { agent: x, text: a }
  a2: { agent: x, text: a2, depends_on: [a] }
  b: { agent: x, text: b }
  w: { agent: x, text: w, when: 'not workflow.input.yes', depends_on: [d] }
  end: { agent: x, text: 'after ${a2.state} ${b.state} ${w.state}', depends_on: [a2, b, w] }
";
    let (_, told) = played(workflow, json!({"yes": true}), |_, _| done(json!({})));
    assert_eq!(
        told,
        [
            "a: x  a",
            "a2: x  a2",
            "end: x  after completed skipped skipped"
        ]
    );
    let (_, told) = played(workflow, json!({"yes": false}), |_, _| done(json!({})));
    assert_eq!(
        told,
        [
            "b: x  b",
            "w: x  w",
            "end: x  after skipped completed completed"
        ]
    );
}

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
fn a_join_goes_on_with_as_many_as_it_needs_and_calls_the_others_back() {
    let workflow = |others: &str| {
        format!(
            "
steps:
  a: {{ agent: x, text: a }}
  b: {{ agent: x, text: b }}
  c0: {{ agent: x, text: c0 }}
  c: {{ agent: x, text: c, depends_on: [c0] }}
  end: {{ agent: y, depends_on: [a, b, c], join: 2, others: {others}, input: {{ a: '${{a.output}}', b: '${{b.output}}', c: '${{c.output}}' }} }}
"
        )
    };
    let mut play = begun(&workflow("cancel"), json!({}));
    play.decide();
    play.give_agent("b", done(json!("b")));
    play.decide();
    assert_eq!(play.names(), ["a", "c0"]);
    play.give_agent("a", failed("broken"));
    play.decide();
    assert_eq!(play.names(), ["c0"], "c may still do");
    play.give_agent("c0", done(json!({})));
    play.decide();
    play.give_agent("c", done(json!("c")));
    play.decide();
    let last = r#"end: y   {"b":{"data":"b","text":""},"c":{"data":"c","text":""}}"#;
    assert_eq!(play.told.last().map(String::as_str), Some(last));

    let mut play = begun(&workflow("cancel"), json!({}));
    play.decide();
    play.give_agent("a", done(json!({})));
    play.give_agent("b", done(json!({})));
    play.decide();
    assert!(
        play.told.contains(&"recall c0".to_owned()),
        "{:?}",
        play.told
    );
    assert_eq!(play.names(), ["end"]);

    let mut play = begun(&workflow("finish"), json!({}));
    play.decide();
    play.give_agent("a", done(json!({})));
    play.give_agent("b", done(json!({})));
    play.decide();
    assert_eq!(play.names(), ["c0", "end"]);
    play.give_agent("c0", done(json!({})));
    play.decide();
    play.give_agent("c", done(json!({"late": true})));
    assert_eq!(
        play.decide(),
        None,
        "what came late changes nothing of what went out"
    );
    play.give_agent("end", done(json!({})));
    output(&play.decide().expect("all have ended"));
}

#[test]
fn a_join_that_cannot_get_enough_fails() {
    let workflow = "
steps:
  a: { agent: x, text: a }
  b: { agent: x, text: b }
  end: { agent: y, text: end, depends_on: [a, b], join: any }
";
    let (outcome, _) = played(workflow, json!({}), |_, _| failed("no"));
    assert!(error(&outcome).contains("only 0 of 2"), "{outcome:?}");
}

/// spec: EXE-9.3, EXE-9.4, EXE-9.5
#[test]
fn a_step_that_fails_is_tried_again_then_its_fallback_then_the_workflow_fails() {
    let workflow = "
steps:
  a: { agent: x, text: t, retry: { attempts: 3, pause: 1s, backoff: 3 }, fallback: z }
";
    let (outcome, told) = played(workflow, json!({}), |step, _| match step {
        "a/fallback/try-2" => done(json!({"by": "z"})),
        _ => failed("busy"),
    });
    assert_eq!(
        told,
        [
            "a: x  t",
            "a/pause-1: until 2001",
            "a/try-2: x  t",
            "a/pause-2: until 5003",
            "a/try-3: x  t",
            "a/fallback: z  t",
            "a/fallback/pause-1: until 6006",
            "a/fallback/try-2: z  t",
        ]
    );
    assert_eq!(output(&outcome)["a"], json!({"by": "z"}));
    let (outcome, _) = played(workflow, json!({}), |_, _| failed("busy"));
    assert_eq!(
        error(&outcome),
        "the step `a` has failed: a: busy; z: a: busy"
    );
}

#[test]
fn what_another_attempt_would_meet_again_is_not_tried_again() {
    let workflow = "
steps:
  a: { agent: x, text: t, retry: { attempts: 3 } }
";
    let (outcome, told) = played(workflow, json!({}), |_, _| DelegationResult {
        state: "rejected".to_owned(),
        ..failed("I do not do that")
    });
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(error(&outcome).contains("I do not do that"));
    let mut play = begun(workflow, json!({}));
    play.decide();
    play.give("a", StepResult::Failed(EffectFailure::passing("timed out")));
    play.decide();
    assert_eq!(play.names(), ["a/pause-1"], "a timeout is tried again");
}

#[test]
fn a_step_that_is_let_go_leaves_its_field_out() {
    let workflow = "
steps:
  a: { agent: x, text: t, on_failure: continue }
  b: { agent: y, depends_on: [a], input: { a: '${a.output}', why: '${a.error}', state: '${a.state}' } }
";
    let (outcome, told) = played(workflow, json!({}), |step, _| match step {
        "a" => failed("no"),
        _ => done(json!({})),
    });
    assert_eq!(told[1], r#"b: y   {"why":"a: no","state":"failed"}"#);
    assert_eq!(output(&outcome), json!({"b": {}}));
}

#[test]
fn what_was_done_is_taken_back_in_reverse_order_when_the_workflow_fails() {
    let workflow = "
steps:
  book: { agent: x, text: book, compensate: { agent: u, input: { id: '${book.output.id}' } } }
  pay: { agent: x, text: pay, depends_on: [book], compensate: { agent: u, text: 'pay back' } }
  slow: { agent: x, text: slow, compensate: { agent: u, text: 'not slow' } }
  ship: { agent: x, text: ship, depends_on: [pay] }
";
    let mut play = begun(workflow, json!({}));
    play.decide();
    play.give_agent("book", done(json!({"id": 7})));
    play.decide();
    play.give_agent("pay", done(json!({})));
    play.decide();
    play.give_agent("ship", failed("no truck"));
    play.decide();
    assert!(
        play.told.contains(&"recall slow".to_owned()),
        "{:?}",
        play.told
    );
    assert_eq!(play.names(), ["undo/pay"]);
    play.give_agent("undo/pay", failed("closed"));
    for attempt in [
        "undo/pay/pause-1",
        "undo/pay/try-2",
        "undo/pay/pause-2",
        "undo/pay/try-3",
    ] {
        play.decide();
        assert_eq!(play.names(), [attempt]);
        match attempt.contains("pause") {
            true => play.give(attempt, StepResult::Woke),
            false => play.give_agent(attempt, failed("closed")),
        }
    }
    play.decide();
    assert_eq!(
        play.told.last().map(String::as_str),
        Some(r#"undo/book: u   {"id":7}"#)
    );
    play.give_agent("undo/book", done(json!({})));
    let outcome = play.decide().expect("it is over");
    assert_eq!(
        error(&outcome),
        "the step `ship` has failed: a: no truck; taken back: book; not taken back: `pay` (a: closed)"
    );
}

#[test]
fn a_person_is_asked_and_may_refuse() {
    let workflow = "
steps:
  a: { agent: x, text: t }
  ok: { approve: 'Send ${a.output.n}?', input: { n: '${a.output.n}' } }
  b: { agent: x, text: 'by ${ok.output.by}' }
";
    let mut play = begun(workflow, json!({}));
    play.decide();
    play.give_agent("a", done(json!({"n": 1})));
    play.decide();
    assert_eq!(
        play.told.last().map(String::as_str),
        Some(r#"ok: ask {"question":"Send 1?","input":{"n":1}}"#)
    );
    let decision = |approved: bool| {
        StepResult::Decided(Decision {
            approved,
            by: "ann".to_owned(),
            comment: "not today".to_owned(),
        })
    };
    play.give("ok", decision(false));
    let outcome = play.decide().expect("it is over");
    assert_eq!(
        error(&outcome),
        "the step `ok` has failed: ann refused it: not today"
    );
    let (_, told) = played(workflow, json!({}), |_, _| done(json!({"n": 1})));
    assert_eq!(told.last().map(String::as_str), Some("b: x  by ann"));
}

#[test]
fn a_wait_ends_at_a_time_that_does_not_move() {
    let workflow = "
steps:
  a: { agent: x, text: t }
  w: { wait: 30s, depends_on: [a] }
  b: { agent: x, text: t, depends_on: [w] }
";
    let mut play = begun(workflow, json!({}));
    play.decide();
    play.give_agent("a", done(json!({})));
    play.decide();
    assert_eq!(play.told.last().map(String::as_str), Some("w: until 31001"));
    play.now_ms += 5_000;
    assert_eq!(play.decide(), None);
    play.give("w", StepResult::Woke);
    play.decide();
    assert_eq!(play.names(), ["b"]);
}

#[test]
fn of_a_parallel_only_so_many_are_at_work_at_the_same_time() {
    let workflow = r#"{"start_step": "p", "steps": {
        "p": {"type": "parallel", "parallel_steps": ["a", "b", "c"], "max_parallelism": 2, "next_step": "end"},
        "a": {"agent_name": "x", "input_mapping": {}}, "b": {"agent_name": "x", "input_mapping": {}},
        "c": {"agent_name": "x", "input_mapping": {}},
        "end": {"agent_name": "x", "input_mapping": {"all": "${p.output}"}}}}"#;
    let mut play = begun(workflow, json!({}));
    play.decide();
    assert_eq!(play.names(), ["a", "b"]);
    play.give_agent("b", done(json!({"n": 2})));
    play.decide();
    assert_eq!(play.names(), ["a", "c"]);
    play.give_agent("a", done(json!({"n": 1})));
    play.give_agent("c", done(json!({"n": 3})));
    play.decide();
    let last = r#"end: x   {"all":{"a":{"n":1},"b":{"n":2},"c":{"n":3}}}"#;
    assert_eq!(play.told.last().map(String::as_str), Some(last));
}

#[test]
fn a_value_that_is_not_there_fails_the_step_and_says_which() {
    let workflow = "
steps:
  a: { agent: x, text: '${workflow.input.missing.deep}' }
";
    let (outcome, told) = played(workflow, json!({}), |_, _| done(json!({})));
    assert!(
        error(&outcome).contains("${workflow.input.missing.deep}"),
        "{outcome:?}"
    );
    assert!(told.is_empty());
}

#[test]
fn what_agents_say_is_never_taken_for_a_reference() {
    let workflow = "
steps:
  a: { agent: x, text: t }
  b: { agent: y, text: 'said: ${steps.a.output.text}' }
";
    let (_, told) = played(workflow, json!({}), |_, _| DelegationResult {
        text: "${workflow.input.secret}".to_owned(),
        data: Vec::new(),
        ..done(Value::Null)
    });
    assert_eq!(
        told.last().map(String::as_str),
        Some("b: y  said: ${workflow.input.secret}")
    );
}

#[test]
fn a_workflow_in_a_step_is_a_run_of_its_own_for_each_item_and_gives_its_output() {
    let workflow = "
steps:
  a: { agent: x, text: t }
  each:
    for_each: ['${a.output.n}', 2]
    workflow: { name: inner, input: { required: [n] }, steps: { i: { agent: y, text: '${workflow.input.n}' } }, output: '${i.output.text}' }
    input: { n: '${loop.item}' }
output: ${each.output.iterations}
";
    let (outcome, told) = played(workflow, json!({}), |step, handoff| match step {
        "a" => done(json!({"n": 1})),
        _ => {
            let payload = handoff.payload.clone().unwrap_or_default();
            done(json!({ "output": format!("of {}", payload["input"]["n"]) }))
        }
    });
    assert_eq!(output(&outcome), json!(["of 1", "of 2"]));
    assert!(
        told[1].starts_with("each/0: workflow_run inner {")
            && told[1].contains(r#""input":{"n":1}"#),
        "{told:?}"
    );
}

#[test]
fn a_message_is_waited_for_from_a_position_that_is_written_down_first() {
    let workflow = "
steps:
  paid: { wait_for: { event: paid, from: till, match: { order: '${workflow.input.order}' } }, timeout: 1h }
output: ${paid.output.amount}
";
    let mut play = begun(workflow, json!({"order": 7}));
    play.decide();
    assert!(
        play.told[0].starts_with("paid/position: look"),
        "{:?}",
        play.told
    );
    assert_eq!(
        play.told[1],
        r#"paid: wait_for_event {"event":"paid","from":"till","matching":{"order":7},"after":"p7"}"#
    );
    play.give(
        "paid",
        StepResult::ToolReturned(json!({"amount": 3}).into()),
    );
    assert_eq!(output(&play.decide().expect("it is over")), 3);
}

#[test]
fn when_the_time_is_over_what_was_done_is_taken_back() {
    let workflow = "
timeout: 60s
steps:
  a: { agent: x, text: t, compensate: { agent: x, text: back } }
  b: { agent: x, text: '${a.output.n}' }
";
    let mut play = begun(workflow, json!({}));
    play.decide();
    assert_eq!(play.told, ["a: x  t", "time-limit: until 61000"]);
    play.give_agent("a", done(json!({"n": 1})));
    play.decide();
    play.now_ms = 61_000;
    play.give("time-limit", StepResult::Woke);
    play.decide();
    assert_eq!(play.told[3..], ["recall b", "undo/a: x  back"]);
    play.give_agent("undo/a", done(json!({})));
    let outcome = play.decide().expect("it is over");
    assert_eq!(
        error(&outcome),
        "the time for it, 60 s, is over; taken back: a"
    );
}

#[test]
fn a_secret_is_never_in_what_is_written_down() {
    let workflow = "
steps:
  a: { agent: x, text: 'with ${secret.KEY}', input: { token: '${secret.KEY}' } }
";
    let mut play = begun(workflow, json!({}));
    play.decide();
    let [(_, _, StepRequest::Delegated(sent))] = play.out.as_slice() else {
        panic!("{:?}", play.out);
    };
    let key = crate::scope::placeholder("KEY");
    assert_eq!(sent.handoff.text, format!("with {key}"));
    assert_eq!(sent.handoff.payload, Some(json!({ "token": key })));
    assert_eq!(sent.handoff.metadata[SECRETS], json!(["KEY"]));
}

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
        value: json!({"text": "it is paid"}),
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

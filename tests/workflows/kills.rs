//! Workflows over SIGKILL of the hub (with the agent that carries them out in it), of the executors of runs, and of the agent that does the
//! work, at each boundary of each step of the examples. The agent counts what it is asked for.

mod killing;

use std::{collections::BTreeSet, fs};

use serde_json::Value;

use super::{
    begun, example, in_state,
    logging::{let_go, logged, start_worker},
    shown, written,
};
use crate::harness::{System, eventually, free_address};
use killing::{Boundary, Victim, survives};

/// The tasks of all runs' steps that their journals have as completed: those of the run, and of the runs that its steps are.
pub(crate) fn completed(system: &System) -> BTreeSet<String> {
    let list = ["runs", "list", "--json", "--all", "--mode", "workflow"];
    let steps = eventually("the steps of all runs are shown", || {
        let runs = system.try_json(&list)?;
        let ids = runs.iter().filter_map(|run| run["id"].as_str());
        let steps = ids.map(|id| system.try_json(&["runs", "steps", id, "--json"]));
        steps.collect::<Option<Vec<_>>>()
    });
    let steps = steps.into_iter().flatten();
    let completed = steps.filter(|step| step["state"] == "completed");
    completed
        .filter_map(|step| step["taskId"].as_str().map(str::to_owned))
        .collect()
}

/// Allows what a run asks, as often as it takes: after a kill somebody has to take the run up first.
fn approve(system: &System, run: &str) {
    eventually("the answer is taken by whoever has the run", || {
        let approved = system.run(&["runs", "approve", run, "--by", "ann"], "");
        let state = || shown(system, run)["state"].as_str().map(str::to_owned);
        let is_taken = || state().is_some_and(|state| state != "awaiting-approval");
        (approved.code == Some(0) || is_taken()).then_some(())
    });
}

const INVITATIONS: (&str, &str) = (
    "invitations.yaml",
    r#"{"event": "our open day", "people": ["Ann", "Bob"]}"#,
);

const CHAIN: (&str, &str) = ("chain.json", r#"{"topic": "bread"}"#);

fn survive(victim: Victim, boundary: Boundary) {
    for (file, input) in [INVITATIONS, CHAIN] {
        let text = fs::read_to_string(example(file)).expect("it is there");
        survives(victim, boundary, (file, &text), input);
    }
}

/// spec: EXE-4.1, EXE-4.2, EXE-4.3, EXE-4.4
#[test]
fn a_hub_that_is_killed_while_a_step_is_at_work_costs_no_completed_step() {
    survive(Victim::Hub, Boundary::AtWork);
}

/// spec: EXE-4.1, EXE-4.2, EXE-4.3, EXE-4.4
#[test]
fn a_hub_that_is_killed_when_a_step_has_answered_costs_no_completed_step() {
    survive(Victim::Hub, Boundary::Answered);
}

/// spec: EXE-4.3, EXE-4.4
#[test]
fn an_agent_that_is_killed_at_work_gets_its_step_once_more_and_no_other() {
    survive(Victim::Worker, Boundary::AtWork);
}

/// spec: EXE-4.3, EXE-4.4
#[test]
fn an_agent_that_is_killed_when_it_has_answered_gets_no_completed_step_again() {
    survive(Victim::Worker, Boundary::Answered);
}

/// spec: EXE-4.2, EXE-4.3, EXE-4.4
#[test]
fn hub_and_agent_that_are_killed_together_cost_no_completed_step() {
    survive(Victim::Both, Boundary::AtWork);
    survive(Victim::Both, Boundary::Answered);
}

/// spec: EXE-4.1, EXE-4.2, EXE-4.3, EXE-4.4
#[test]
fn kills_of_the_hub_around_the_journal_of_a_step_cost_no_completed_step() {
    survive(Victim::Hub, Boundary::Intended);
    survive(Victim::Hub, Boundary::Saved);
}

/// spec: EXE-4.1, EXE-4.2, EXE-4.3, EXE-4.4
#[test]
fn kills_of_the_agent_around_the_journal_of_a_step_cost_no_completed_step() {
    survive(Victim::Worker, Boundary::Intended);
    survive(Victim::Worker, Boundary::Saved);
}

/// spec: EXE-1.4, EXE-4.1, EXE-4.2, EXE-4.3, EXE-4.4
#[test]
fn executors_that_are_killed_at_any_boundary_cost_no_completed_step() {
    for boundary in [
        Boundary::Intended,
        Boundary::AtWork,
        Boundary::Answered,
        Boundary::Saved,
    ] {
        survive(Victim::Executors, boundary);
    }
}

/// Workflows within a workflow, one for each item, and the steps of a loop.
const NESTED: &str = "\
steps:
  each:
    for_each: [ann, bob]
    workflow:
      name: inner
      input: { type: object, required: [who] }
      steps:
        greet: { agent: worker, skill: work, text: 'hi ${workflow.input.who}' }
        part: { agent: worker, skill: work, text: 'bye ${greet.output.text}' }
      output: ${part.output.text}
    input: { who: '${loop.item}' }
  pack:
    depends_on: [each]
    for_each: ${each.output.iterations}
    steps:
      wrap: { agent: worker, skill: work, text: 'wrap ${loop.item}' }
      label: { agent: worker, skill: work, text: 'label ${wrap.output.text}' }
output: ${pack.output.total_count}
";

/// spec: EXE-4.2, EXE-4.3, EXE-4.4
#[test]
fn kills_of_the_hub_within_runs_of_runs_and_items_of_loops_cost_no_completed_step() {
    survives(Victim::Hub, Boundary::AtWork, ("nested.yaml", NESTED), "{}");
}

/// spec: EXE-4.3, EXE-4.4
#[test]
fn kills_of_the_agent_within_runs_of_runs_and_items_of_loops_cost_no_completed_step() {
    survives(
        Victim::Worker,
        Boundary::Answered,
        ("nested.yaml", NESTED),
        "{}",
    );
}

/// spec: EXE-4.2, EXE-4.3, EXE-4.4
#[test]
fn kills_of_both_within_runs_of_runs_and_items_of_loops_cost_no_completed_step() {
    survives(
        Victim::Both,
        Boundary::AtWork,
        ("nested.yaml", NESTED),
        "{}",
    );
    survives(
        Victim::Both,
        Boundary::Answered,
        ("nested.yaml", NESTED),
        "{}",
    );
}

/// A workflow in a workflow in a workflow, with more steps than deaths in a row that an executor has.
const DEEP: &str = "\
steps:
  outer:
    workflow:
      name: middle
      steps:
        inner:
          workflow:
            name: inner
            steps:
              a: { agent: worker, text: a }
              b: { agent: worker, text: '${a.output.text}' }
              c: { agent: worker, text: '${b.output.text}' }
              d: { agent: worker, text: '${c.output.text}' }
              e: { agent: worker, text: '${d.output.text}' }
              f: { agent: worker, text: '${e.output.text}' }
              g: { agent: worker, text: '${f.output.text}' }
              h: { agent: worker, text: '${g.output.text}' }
            output: ${h.output.text}
      output: ${inner.output}
output: ${outer.output}
";

/// The executors of all three runs are killed at each step of the innermost one. The two others have no event meanwhile.
///
/// spec: EXE-1.4, EXE-4.2, EXE-4.3, EXE-4.4
#[test]
fn executors_of_runs_that_wait_for_runs_are_killed_as_often_as_those_go_on() {
    for boundary in [Boundary::AtWork, Boundary::Saved] {
        survives(Victim::Executors, boundary, ("deep.yaml", DEEP), "{}");
    }
}

/// The same for a run that waits: for nobody, an event and a person. The event comes before it is waited for.
///
/// spec: EXE-4.4
#[test]
fn what_a_run_waits_for_comes_over_kills() {
    let system = System::bare(free_address());
    let mut hub = system.start_durable_up();
    let mut worker = Some(start_worker(&system));
    let file = written(
        &system,
        "waits.yaml",
        "\
steps:
  first: { agent: worker, skill: work, text: first }
  paid: { depends_on: [first], wait_for: { event: paid, match: { order: '${workflow.input.order}' } } }
  short: { wait: 200ms, depends_on: [paid] }
  sure: { approve: 'Ship ${workflow.input.order}?', depends_on: [short] }
  ship: { agent: agent_echo, text: 'shipped: ${paid.output.text}', depends_on: [sure] }
output: ${ship.output.text}
",
    );
    let run = begun(&system, &file, r#"{"order": 7}"#);
    let folder = system.folder().to_owned();
    let task = eventually("the first step is at work", || {
        logged(&folder, "begun").pop()
    });
    for order in [6, 7] {
        let data = format!(r#"{{"order": {order}}}"#);
        let text = format!("order {order}");
        let published = system.run(&["publish", "--event", "paid", "--data", &data, &text], "");
        assert_eq!(published.code, Some(0), "{published:?}");
    }
    drop(worker.take());
    hub.kill();
    hub = system.start_durable_up();
    let _worker = start_worker(&system);
    let_go(&folder, &task);
    let asked = in_state(&system, &run, "awaiting-approval");
    assert_eq!(
        asked["approvals"][0]["arguments"]["question"], "Ship 7?",
        "{asked}"
    );
    hub.kill();
    hub = system.start_durable_up();
    in_state(&system, &run, "awaiting-approval");
    approve(&system, &run);
    let ended: Value = in_state(&system, &run, "completed");
    assert_eq!(
        ended["result"]["message"], "Echo: shipped: order 7",
        "{ended}"
    );
    drop(hub);
}

//! What the items of a loop did is taken back over SIGKILL, in the middle of an item and in the middle of taking back. The agent counts.

use std::collections::BTreeMap;

use super::{
    begun, in_state,
    logging::{let_go, start_worker},
    written,
};
use crate::{
    executors::{fresh, times},
    harness::{System, free_address},
};

/// Two items of two steps, of which each can be taken back, and a step that fails behind them.
const PACK: &str = "\
steps:
  pack:
    for_each: [ann, bob]
    steps:
      wrap: { agent: worker, skill: work, text: 'wrap ${loop.item}', compensate: { agent: worker, skill: work, text: 'unwrap ${loop.item}' } }
      label: { agent: worker, skill: work, text: 'label ${wrap.output.text}', compensate: { agent: worker, skill: work, text: 'unlabel ${loop.item}' } }
  last: { depends_on: [pack], agent: worker, skill: work, text: '${pack.output.iterations[7].wrap.text}' }
";

/// The steps in their order, the latest taken back first.
const STEPS: [&str; 8] = [
    "pack/0/wrap",
    "pack/0/label",
    "pack/1/wrap",
    "pack/1/label",
    "undo/pack/1/label",
    "undo/pack/1/wrap",
    "undo/pack/0/label",
    "undo/pack/0/wrap",
];

/// Kills the hub while each task is at work, and the agent with it if `and_agent`.
fn taken_back(and_agent: bool) {
    let system = System::bare(free_address());
    let mut hub = Some(system.start_durable_up());
    let mut worker = Some(start_worker(&system));
    let file = written(&system, "pack.yaml", PACK);
    let run = begun(&system, &file, "{}");
    let mut gone = Vec::new();
    for _ in 0..8 {
        let task = fresh(&system, &gone);
        hub.take().expect("it runs").kill();
        if and_agent {
            worker.take().expect("it runs").kill();
        }
        hub = Some(system.start_durable_up());
        worker = worker.or_else(|| Some(start_worker(&system)));
        system.wait_online("worker");
        let_go(system.folder(), &task);
        gone.push(task);
    }
    let ended = in_state(&system, &run, "failed");
    let error = ended["error"].as_str().expect("an error");
    let expected = "; taken back: pack/1/label, pack/1/wrap, pack/0/label, pack/0/wrap";
    assert!(error.ends_with(expected), "{error}");
    let steps = system.json(&["runs", "steps", &run, "--json"]);
    let of = |kind: &str| -> Vec<&str> {
        let all = steps.iter().filter(|step| step["kind"] == kind);
        let completed = all.filter(|step| step["state"] == "completed");
        completed.filter_map(|step| step["step"].as_str()).collect()
    };
    assert_eq!(of("agent"), STEPS);
    assert_eq!(of("steps"), ["pack/0", "pack/1"]);
    let most = if and_agent { 2 } else { 1 };
    let times: BTreeMap<String, usize> = times(&system);
    assert_eq!(times.len(), 8, "{times:?}");
    assert!(times.values().all(|times| *times <= most), "{times:?}");
    drop((hub, worker));
}

/// spec: EXE-4.2, EXE-4.3, EXE-4.4
#[test]
fn items_of_a_loop_are_taken_back_over_kills_of_the_hub_without_doing_anything_again() {
    taken_back(false);
}

/// spec: EXE-4.2, EXE-4.3, EXE-4.4
#[test]
fn items_of_a_loop_are_taken_back_over_kills_of_hub_and_agent_with_what_was_at_work_once_more() {
    taken_back(true);
}

//! SIGKILL of whoever has a part in a step, at each of its boundaries: asked, answered, stored, recorded, published, taken in, committed.

use std::{
    collections::BTreeMap,
    thread::sleep,
    time::{Duration, Instant},
};

use super::stage::{Answers, Asked, Stage};
use crate::workflows::{begun, written};

/// Steps one behind the other, each of which needs what the one before it gave.
pub(super) const WORKFLOW: &str = "\
steps:
  one: { agent: counting, text: one, timeout: 100s }
  two: { agent: counting, text: 'two, ${one.output.text}', timeout: 100s }
  three: { agent: counting, text: 'three, ${two.output.text}', timeout: 100s }
output: ${three.output.text}
";

/// The output of that, if each step was done on what the one before it gave.
pub(super) const OUTPUT: &str = "done: three, done: two, done: one";

const STEPS: usize = 3;

/// Times between the answer and the kill, in milliseconds, one for each run; the first run has no answer by then. The boundaries lie within the first few.
const BEFORE: [u64; 8] = [0, 0, 2, 4, 7, 12, 25, 60];

/// Whoever is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Victim {
    Bridge,
    Up,
    Both,
}

/// Kills the victim at each step of runs that are at each boundary, and starts it again.
fn survives(victim: Victim, executors: &'static str) {
    let (stage, mut up) = Stage::start(Answers::WhenLet, executors);
    let mut bridge = stage.bridge();
    let file = written(&stage.system, "three.yaml", WORKFLOW);
    let runs = BEFORE.map(|_| begun(&stage.system, &file, "{}"));
    for step in 1..=STEPS {
        let ids = runs.each_ref().map(|run| stage.agent.message(run, step));
        let kill_at = Instant::now() + Duration::from_millis(100);
        let mut answers: Vec<_> = BEFORE.into_iter().zip(&ids).skip(1).collect();
        answers.sort_by_key(|(before, _)| std::cmp::Reverse(*before));
        for (before, id) in answers {
            let at = kill_at - Duration::from_millis(before);
            sleep(at.saturating_duration_since(Instant::now()));
            stage.agent.let_go(id);
        }
        if victim != Victim::Up {
            bridge.kill();
            bridge = stage.bridge_later();
        }
        if victim != Victim::Bridge {
            up.kill();
            up = stage.up();
        }
        if victim != Victim::Up {
            bridge.line("that it takes tasks");
        }
        stage.agent.let_go(&ids[0]);
    }
    for run in &runs {
        let ended = stage.ended(run);
        assert_eq!(ended["result"]["message"], OUTPUT, "{ended}\n{}", up.said());
    }
    each_step_was_done_once(&stage, runs.len());
}

/// Checks that each step was one message, asked for at most once more, and not once it had completed.
pub(super) fn each_step_was_done_once(stage: &Stage, runs: usize) {
    let counted = stage.agent.counted();
    let mut of_runs: BTreeMap<&str, BTreeMap<&str, Vec<&Asked>>> = BTreeMap::new();
    for asked in &counted.begun {
        let of_run = of_runs.entry(&asked.context).or_default();
        of_run.entry(&asked.text).or_default().push(asked);
    }
    assert_eq!(of_runs.len(), runs);
    for (run, steps) in of_runs {
        assert_eq!(steps.len(), STEPS, "{run}: {steps:?}");
        let mut steps: Vec<_> = steps.into_values().collect();
        steps.sort_by_key(|asked| asked[0].at);
        for asked in &steps {
            let is_same = asked.iter().all(|other| other.id == asked[0].id);
            assert!(is_same, "in flight, it is the same message: {asked:?}");
            assert!(asked.len() <= 2, "at most once more: {asked:?}");
        }
        for pair in steps.windows(2) {
            let next_began = pair[1][0].at;
            let is_done_again = pair[0].iter().any(|asked| asked.at > next_began);
            assert!(!is_done_again, "it had completed: {pair:?}");
        }
    }
}

/// spec: EXE-4.3, EXE-4.4, EXE-5.1
#[test]
fn a_bridge_is_killed_at_each_boundary_of_each_step() {
    survives(Victim::Bridge, "tasks");
}

/// spec: EXE-4.3, EXE-4.4
#[test]
fn an_executor_is_killed_at_each_boundary_of_each_step() {
    survives(Victim::Up, "tasks");
}

/// spec: EXE-4.3, EXE-4.4
#[test]
fn all_are_killed_at_each_boundary_of_each_step_of_runs_in_processes() {
    survives(Victim::Both, "processes");
}

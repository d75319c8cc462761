//! Workflows over SIGKILL of the hub (with the agent that carries them out in it), of the executors of runs, and of the agent that does the
//! work, at each boundary of each step of the examples. The agent counts what it is asked for.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    io::Write,
    path::Path,
    time::Duration,
};

use agenthub_sdk::{Agent, Card, Skill, TaskContext};
use serde_json::Value;
use tokio::time::sleep;

use super::{begun, example, in_state, shown, written};
use crate::{
    executors::{executors, kill_process, start_up},
    harness::{Process, System, eventually, free_address},
};

/// Requests to the agent and what it has done, a line each.
const LOG: &str = "calls.log";

/// The tasks that the agent may end, a line each.
const LET_GO: &str = "let-go";

/// States of runs that have ended.
const OVER: [&str; 3] = ["completed", "failed", "cancelled"];

fn note(what: &str, task: &str) {
    let mut log = File::options()
        .create(true)
        .append(true)
        .open(LOG)
        .expect("the folder is there");
    writeln!(log, "{what} {task}").expect("it can be written");
    log.sync_all().expect("it can be written");
}

/// The agent of the tests below: it ends a task once it may.
#[tokio::test]
#[ignore = "it is a part of other tests"]
async fn the_worker_in_a_process() {
    let hub = std::env::var("AGENTHUB_HUB").expect("the test says where the hub is");
    let skill = Skill::new("work", "Work", "Works");
    let agent = Agent::worker(Card::new("worker", "Works").skill(&skill)).on(
        &skill,
        async |task: TaskContext, text: String| {
            let id = task.task_id().to_owned();
            note("begun", &id);
            let is_let_go = || {
                let all = fs::read_to_string(LET_GO).unwrap_or_default();
                all.lines().any(|line| line == id)
            };
            while !is_let_go() {
                sleep(Duration::from_millis(10)).await;
            }
            note("done", &id);
            format!("Worked: {text}")
        },
    );
    let _agent = agent.start(hub).await.expect("the hub is there");
    std::future::pending::<()>().await;
}

pub(crate) fn start_worker(system: &System) -> Process {
    let worker = system.start_test("workflows::kills::the_worker_in_a_process");
    system.wait_online("worker");
    worker
}

/// The tasks of the log with this word, as often as they are there.
pub(crate) fn logged(folder: &Path, what: &str) -> Vec<String> {
    let log = fs::read_to_string(folder.join(LOG)).unwrap_or_default();
    let lines = log.lines().filter_map(|line| line.split_once(' '));
    lines
        .filter(|(word, _)| *word == what)
        .map(|(_, task)| task.to_owned())
        .collect()
}

pub(crate) fn let_go(folder: &Path, task: &str) {
    let mut file = File::options()
        .create(true)
        .append(true)
        .open(folder.join(LET_GO))
        .expect("the folder is there");
    writeln!(file, "{task}").expect("it can be written");
}

/// The tasks of all runs' steps that their journals have as completed: those of the run, and of the runs that its steps are.
pub(crate) fn completed(system: &System) -> BTreeSet<String> {
    let runs = system.json(&["runs", "list", "--json", "--all", "--mode", "workflow"]);
    let ids = runs.iter().filter_map(|run| run["id"].as_str());
    let steps = ids.flat_map(|id| system.json(&["runs", "steps", id, "--json"]));
    let completed = steps.filter(|step| step["state"] == "completed");
    completed
        .filter_map(|step| step["taskId"].as_str().map(str::to_owned))
        .collect()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Victim {
    Hub,
    Worker,
    Both,
    /// The processes of all runs, while the hub lives on.
    Executors,
}

/// Boundary of a step at which the victim is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Boundary {
    /// The journal has that the step goes out, and the agent has not got it.
    Intended,
    /// The agent has begun, and has not ended.
    AtWork,
    /// The agent has answered, and the answer may be anywhere.
    Answered,
    /// The journal has the answer.
    Saved,
}

/// Processes of a system, of which some are killed.
struct Killing {
    system: System,
    hub: Option<Process>,
    worker: Option<Process>,
    victim: Victim,
    /// For each task: the times that it was begun when a kill came that found it not completed yet, and those kills.
    kills: BTreeMap<String, usize>,
    /// The tasks that were known as completed, and how often they had been begun then.
    settled: BTreeMap<String, usize>,
}

impl Victim {
    /// The hub, in whose process the runs are, unless they have processes of their own.
    fn start_hub(self, system: &System) -> Process {
        match self {
            Self::Executors => start_up(system),
            Self::Hub | Self::Worker | Self::Both => system.start_durable_up(),
        }
    }
}

impl Killing {
    fn kill_hub(&mut self) {
        self.hub.take().expect("it runs").kill();
    }

    fn kill_worker(&mut self) {
        if let Some(worker) = self.worker.take() {
            worker.kill();
        }
    }

    /// Kills the agent where it has nothing in hand, and waits until the journal has that the next step goes out to it, or that there is none.
    fn next_goes_out(&mut self, run: &str) {
        let done = logged(self.system.folder(), "done");
        let begun = logged(self.system.folder(), "begun");
        if begun.iter().any(|task| !done.contains(task)) {
            return;
        }
        self.kill_worker();
        let system = &self.system;
        eventually("the run goes on", || {
            let begun = logged(system.folder(), "begun");
            let steps = system.json(&["runs", "steps", run, "--json"]);
            let is_out = |step: &Value| {
                let task = step["taskId"].as_str().unwrap_or_default();
                step["state"] == "working" && !task.is_empty() && !begun.iter().any(|b| b == task)
            };
            if steps.iter().any(is_out) {
                return Some(());
            }
            let is_at_rest = shown(system, run)["state"] != "working";
            is_at_rest.then_some(())
        });
    }

    fn kill(&mut self) {
        let begun = logged(self.system.folder(), "begun");
        for task in completed(&self.system) {
            let count = begun.iter().filter(|begun| **begun == task).count();
            // A run that is a step is no work of the agent.
            if count > 0 {
                self.settled.entry(task).or_insert(count);
            }
        }
        match self.victim {
            Victim::Hub => self.kill_hub(),
            Victim::Worker => self.kill_worker(),
            Victim::Both => {
                self.kill_hub();
                self.kill_worker();
            }
            Victim::Executors => {
                let all = eventually("each run that is not over has an executor", || {
                    let runs = self.system.json(&["runs", "list", "--json", "--all"]);
                    let is_over = |run: &&Value| OVER.iter().any(|s| run["state"] == *s);
                    let open = runs.iter().filter(|run| !is_over(run));
                    let of_each = open.map(|run| executors(run["id"].as_str().unwrap_or_default()));
                    let of_each: Vec<_> = of_each.collect();
                    let is_each_there = of_each.iter().all(|found| !found.is_empty());
                    is_each_there.then(|| of_each.concat())
                });
                all.into_iter().for_each(kill_process);
            }
        }
        // What began until the kill may begin once more.
        let begun = logged(self.system.folder(), "begun");
        for task in begun.iter().collect::<BTreeSet<_>>() {
            if !self.settled.contains_key(task) {
                *self.kills.entry(task.clone()).or_default() += 1;
            }
        }
        if self.hub.is_none() {
            self.hub = Some(self.victim.start_hub(&self.system));
        }
        if self.worker.is_none() {
            self.worker = Some(start_worker(&self.system));
        }
        self.system.wait_online("worker");
    }
}

/// Carries an example out while the victim is killed at the boundary of each step, and counts.
fn survives(victim: Victim, boundary: Boundary, (file, text): (&str, &str), input: &str) {
    let system = System::bare(free_address());
    let hub = victim.start_hub(&system);
    let worker = start_worker(&system);
    let file = written(&system, file, &text.replace("agent_echo", "worker"));
    let run = begun(&system, &file, input);
    let mut killing = Killing {
        system,
        hub: Some(hub),
        worker: Some(worker),
        victim,
        kills: BTreeMap::new(),
        settled: BTreeMap::new(),
    };
    let mut gone = BTreeSet::new();
    let mut is_asked_before = false;
    let ended = loop {
        let system = &killing.system;
        let next = eventually("the run goes on", || {
            let begun = logged(system.folder(), "begun");
            let fresh = begun.into_iter().find(|task| !gone.contains(task));
            if fresh.is_some() {
                return Some(fresh);
            }
            let run = shown(system, &run);
            let is_over = OVER.iter().any(|state| run["state"] == *state);
            (is_over || run["state"] == "awaiting-approval").then_some(None)
        });
        let Some(task) = next else {
            let now = shown(&killing.system, &run);
            if now["state"] != "awaiting-approval" {
                break now;
            }
            // A person is asked over a kill as well, and answers once.
            if !is_asked_before {
                is_asked_before = true;
                killing.kill();
                continue;
            }
            let system = &killing.system;
            let approve = || system.run(&["runs", "approve", &run, "--by", "ann"], "");
            let is_at_work = matches!(boundary, Boundary::AtWork | Boundary::Answered);
            if is_at_work && victim != Victim::Executors {
                let approved = approve();
                assert_eq!(approved.code, Some(0), "{approved:?}");
                continue;
            }
            eventually("the answer is taken by whoever has the run", || {
                let is_over = || shown(system, &run)["state"] != "awaiting-approval";
                (approve().code == Some(0) || is_over()).then_some(())
            });
            continue;
        };
        gone.insert(task.clone());
        if boundary == Boundary::AtWork {
            killing.kill();
        }
        let_go(killing.system.folder(), &task);
        eventually("the task is done", || {
            let done = logged(killing.system.folder(), "done");
            done.contains(&task).then_some(())
        });
        match boundary {
            Boundary::AtWork => {}
            Boundary::Answered => killing.kill(),
            Boundary::Saved => {
                eventually("the journal has the answer", || {
                    completed(&killing.system).contains(&task).then_some(())
                });
                killing.kill();
            }
            Boundary::Intended => {
                killing.next_goes_out(&run);
                killing.kill();
            }
        }
    };
    assert_eq!(ended["state"], "completed", "{ended}");
    let counted = logged(killing.system.folder(), "begun");
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for task in &counted {
        *counts.entry(task).or_default() += 1;
    }
    let own = completed(&killing.system);
    assert!(!own.is_empty());
    for (task, count) in &counts {
        assert!(own.contains(*task), "{task} is of no step: {own:?}");
        let most = 1 + killing.kills.get(*task).copied().unwrap_or_default();
        assert!(
            *count <= most,
            "{task} was begun {count} times, over {most} at most"
        );
    }
    for (task, before) in &killing.settled {
        assert_eq!(
            counts[task.as_str()],
            *before,
            "{task} ran again after it had completed"
        );
    }
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
    let approved = system.run(&["runs", "approve", &run], "");
    assert_eq!(approved.code, Some(0), "{approved:?}");
    let ended: Value = in_state(&system, &run, "completed");
    assert_eq!(
        ended["result"]["message"], "Echo: shipped: order 7",
        "{ended}"
    );
    drop(hub);
}

//! Carries a workflow out while processes are killed at each boundary of each step, and counts.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{approve, completed};
use crate::{
    executors::{executors, kill_if_there, start_up},
    harness::{Process, System, eventually, free_address},
    workflows::{
        begun,
        logging::{let_go, let_go_as_last, logged, receive, start_worker},
        shown, written,
    },
};

/// States of runs that have ended.
const OVER: [&str; 3] = ["completed", "failed", "cancelled"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Victim {
    Hub,
    Worker,
    Both,
    /// The processes of all runs, while the hub lives on.
    Executors,
}

/// Boundary of a step at which the victim is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Boundary {
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

    /// True if the agent has a task that it has begun and not done.
    fn is_at_work(&self) -> bool {
        let done = logged(self.system.folder(), "done");
        let begun = logged(self.system.folder(), "begun");
        begun.iter().any(|task| !done.contains(task))
    }

    /// Waits until the journal has all answers of the agent, kills the agent unless it is at work, and waits until the journal has that the
    /// next step goes out to it, or that there is none.
    ///
    /// An answer that has not reached the hub would die with the agent, and no step would go out until the agent is back.
    fn next_goes_out(&mut self, run: &str) {
        let folder = self.system.folder().to_owned();
        eventually("the journal has all answers", || {
            let completed = completed(&self.system);
            let done = logged(&folder, "done");
            done.iter()
                .all(|task| completed.contains(task))
                .then_some(())
        });
        let is_at_work = self.is_at_work();
        if !is_at_work {
            self.kill_worker();
        }
        receive(&folder);
        // It may have begun another task before it was killed.
        if is_at_work || self.is_at_work() {
            return;
        }
        let system = &self.system;
        eventually("the next step goes out, or there is none", || {
            let begun = logged(&folder, "begun");
            let steps = system.try_json(&["runs", "steps", run, "--json"])?;
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
                    let list = ["runs", "list", "--json", "--all"];
                    let runs = self.system.try_json(&list)?;
                    let is_over = |run: &&Value| OVER.iter().any(|s| run["state"] == *s);
                    let open = runs.iter().filter(|run| !is_over(run));
                    let of_each = open.map(|run| executors(run["id"].as_str().unwrap_or_default()));
                    let of_each: Vec<_> = of_each.collect();
                    let is_each_there = of_each.iter().all(|found| !found.is_empty());
                    is_each_there.then(|| of_each.concat())
                });
                // The last step may be done, and its run over by now.
                all.into_iter().for_each(kill_if_there);
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
pub(super) fn survives(
    victim: Victim,
    boundary: Boundary,
    (file, text): (&str, &str),
    input: &str,
) {
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
            if let Some(task) = fresh {
                return Some(Ok(task));
            }
            let run = shown(system, &run);
            let is_over = OVER.iter().any(|state| run["state"] == *state);
            (is_over || run["state"] == "awaiting-approval").then_some(Err(run))
        });
        let task = match next {
            Ok(task) => task,
            Err(now) if now["state"] != "awaiting-approval" => break now,
            // A person is asked over a kill as well, and answers once.
            Err(_) if is_asked_before => {
                approve(system, &run);
                continue;
            }
            Err(_) => {
                is_asked_before = true;
                killing.kill();
                continue;
            }
        };
        gone.insert(task.clone());
        if boundary == Boundary::AtWork {
            killing.kill();
        }
        let folder = killing.system.folder();
        match boundary {
            Boundary::Intended => let_go_as_last(folder, &task),
            Boundary::AtWork | Boundary::Answered | Boundary::Saved => let_go(folder, &task),
        }
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

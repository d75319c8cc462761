//! A worker in the test's process, which counts its calls.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use agenthub_sdk::{Agent, Card, RunningAgent, Skill, TaskContext};
use tokio::{runtime::Runtime, time::sleep};

use crate::harness::eventually;

/// Calls of the worker, by step: the tasks that it had.
type Calls = Arc<Mutex<BTreeMap<String, Vec<String>>>>;

/// A worker that counts its calls, and takes its time for one step.
pub(crate) struct Worker {
    calls: Calls,
    /// The step that it does not end.
    held: Arc<Mutex<String>>,
    runtime: Runtime,
    agent: Option<RunningAgent>,
}

impl Worker {
    pub(crate) fn start(hub: &str) -> Self {
        let (calls, held) = (Calls::default(), Arc::new(Mutex::new(String::new())));
        let runtime = Runtime::new().expect("threads");
        let skill = Skill::new("work", "Work", "Works");
        let (counted, holding) = (Arc::clone(&calls), Arc::clone(&held));
        let agent = Agent::worker(Card::new("worker", "Works").skill(&skill)).on(
            &skill,
            move |task: TaskContext, text: String| {
                let (counted, holding) = (Arc::clone(&counted), Arc::clone(&holding));
                async move {
                    let id = task.task_id().to_owned();
                    {
                        let mut calls = counted.lock().expect("no panic");
                        calls.entry(text.clone()).or_default().push(id);
                    }
                    while *holding.lock().expect("no panic") == text {
                        sleep(Duration::from_millis(10)).await;
                    }
                    format!("{text} is done")
                }
            },
        );
        let agent = runtime
            .block_on(agent.start(hub))
            .expect("the hub is there");
        Self {
            calls,
            held,
            runtime,
            agent: Some(agent),
        }
    }

    pub(crate) fn hold(&self, step: &str) {
        *self.held.lock().expect("no panic") = step.to_owned();
    }

    /// The tasks that it had for a step.
    pub(crate) fn called(&self, step: &str) -> Vec<String> {
        let calls = self.calls.lock().expect("no panic");
        calls.get(step).cloned().unwrap_or_default()
    }

    pub(crate) fn wait_called(&self, step: &str) {
        eventually(&format!("{step} is called"), || {
            self.calls
                .lock()
                .expect("no panic")
                .contains_key(step)
                .then_some(())
        });
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if let Some(agent) = self.agent.take() {
            self.runtime.block_on(agent.stop());
        }
    }
}

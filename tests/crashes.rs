//! Crashes of any process during a tool call: the requester gets the answer late, or an error with the reason, and
//! exactly once.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::harness::{Finished, PRESS, Process, System, eventually, free_address};

const LEAD: &str = "agent_lead";

/// A hub with its log on disk, a supervisor, its worker, and a request whose tool has been called.
struct MidCall {
    system: System,
    hub: Option<Process>,
    lead: Option<Process>,
    press: Option<Process>,
    asked: Process,
}

impl MidCall {
    fn begin() -> Self {
        Self::begin_in(System::bare(free_address()))
    }

    fn begin_in(system: System) -> Self {
        let hub = system.start_durable_broker();
        let press = system.start_press();
        let lead = system.start_supervisor(LEAD, &[]);
        let asked = system.ask(LEAD, "question", "print hello on the printing press");
        system.wait_begun(1);
        Self {
            system,
            hub: Some(hub),
            lead: Some(lead),
            press: Some(press),
            asked,
        }
    }

    fn kill_hub(&mut self) {
        self.hub.take().expect("it runs").kill();
        self.hub = Some(self.system.start_durable_broker());
    }

    fn kill_lead(&mut self) {
        self.lead.take().expect("it runs").kill();
        self.lead = Some(self.system.start_supervisor(LEAD, &[]));
    }

    fn kill_press(&mut self) {
        self.press.take().expect("it runs").kill();
        self.press = Some(self.system.start_press());
    }

    /// The result for the requester, once the hub has every task ended, and each once.
    fn told(self) -> (System, Finished) {
        let (system, finished) = (self.system, self.asked.wait());
        eventually("every task has ended", || {
            let states = system.states();
            let is_over =
                |state: &str| !state.ends_with("WORKING") && !state.ends_with("SUBMITTED");
            states.iter().all(|(_, state)| is_over(state)).then_some(())
        });
        let mut ends = BTreeMap::<String, usize>::new();
        for end in system.ends() {
            let id = end["taskId"].as_str().unwrap_or_default().to_owned();
            *ends.entry(id).or_default() += 1;
        }
        assert!(ends.contains_key("question"), "{ends:?}");
        assert!(ends.values().all(|count| *count == 1), "{ends:?}");
        (system, finished)
    }
}

/// Checks that the answer arrived, and that the work was done under one key.
fn answered(system: &System, finished: &Finished) {
    // No language model read the words.
    assert_eq!(finished.code, Some(3), "{finished:?}");
    let answer: Value = serde_json::from_str(&finished.stdout).expect("one line of JSON");
    let text = answer["text"].as_str().unwrap_or_default();
    assert_eq!(text.matches("pressed").count(), 1, "{answer}");
    let keys: BTreeSet<String> = system.begun().into_iter().collect();
    assert_eq!(
        keys.len(),
        1,
        "one call, however often it was made: {keys:?}"
    );
    assert!(system.begun().len() <= 2, "{:?}", system.begun());
}

#[test]
fn a_supervisor_that_is_killed_answers_when_it_is_back() {
    let mut call = MidCall::begin();
    call.kill_lead();
    call.system.let_go();
    let (system, finished) = call.told();
    answered(&system, &finished);
    assert_eq!(system.begun().len(), 1, "the worker was not disturbed");
}

/// The answer arrived while no process was there to receive it.
#[test]
fn a_supervisor_that_is_killed_finds_the_answer_that_came_meanwhile() {
    let mut call = MidCall::begin();
    call.lead.take().expect("it runs").kill();
    call.system.let_go();
    eventually("the worker has answered", || {
        let states = call.system.states();
        states
            .iter()
            .any(|(_, s)| s.ends_with("COMPLETED"))
            .then_some(())
    });
    call.lead = Some(call.system.start_supervisor(LEAD, &[]));
    let (system, finished) = call.told();
    answered(&system, &finished);
    assert_eq!(system.begun().len(), 1, "the worker was not asked again");
}

#[test]
fn a_worker_that_is_killed_answers_when_it_is_back() {
    let mut call = MidCall::begin();
    call.kill_press();
    call.system.wait_begun(2);
    call.system.let_go();
    let (system, finished) = call.told();
    answered(&system, &finished);
}

#[test]
fn a_hub_that_is_killed_brings_the_answer_when_it_is_back() {
    let mut call = MidCall::begin();
    call.kill_hub();
    call.system.let_go();
    let (system, finished) = call.told();
    answered(&system, &finished);
    assert_eq!(system.begun().len(), 1, "nothing was asked again");
}

#[test]
fn a_system_of_which_everything_is_killed_answers_when_it_is_back() {
    let mut call = MidCall::begin();
    call.press.take().expect("it runs").kill();
    call.lead.take().expect("it runs").kill();
    call.kill_hub();
    call.press = Some(call.system.start_press());
    call.lead = Some(call.system.start_supervisor(LEAD, &[]));
    call.system.let_go();
    let (system, finished) = call.told();
    answered(&system, &finished);
}

#[test]
fn a_worker_that_does_not_come_back_is_a_clear_failure() {
    let mut call = MidCall::begin_in(System::bare(free_address()).impatient());
    call.press.take().expect("it runs").kill();
    let (system, finished) = call.told();
    let answer: Value = serde_json::from_str(&finished.stdout).expect("one line of JSON");
    let said = format!("{}{}", answer["text"], answer["error"]);
    assert!(said.contains(PRESS), "{answer}");
    assert!(
        said.contains("not here") || said.contains("away"),
        "{answer}"
    );
    assert_eq!(system.begun().len(), 1);
}

//! Ends: cancelled work stops at every depth, and budgets hold across processes.

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::harness::{PRESS, Process, System, eventually};

const CHIEF: &str = "agent_chief";
const FOREMAN: &str = "agent_foreman";

/// Three levels: the chief calls the foreman, who calls the press.
fn three_levels(system: &System) -> [Process; 3] {
    let press = system.start_press();
    let what = ["--description", "Leads the staff of the workshop"];
    let foreman = system.start_supervisor(FOREMAN, &what);
    let chief = system.start_supervisor(CHIEF, &["--description", "Leads everybody"]);
    [press, foreman, chief]
}

const WORDS: &str = "let agent_foreman print hello on the printing press";

#[test]
fn cancelling_stops_everything_three_levels_deep() {
    let (system, _broker) = System::broker();
    let _agents = three_levels(&system);
    let asked = system.ask(CHIEF, "first", WORDS);
    system.wait_begun(1);
    assert_eq!(system.states().len(), 3, "{:?}", system.states());

    let cancelled = system.run(&["tasks", "cancel", "first"], "");
    assert_eq!(cancelled.code, Some(0), "{cancelled:?}");
    let ended = asked.wait();
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stdout.contains("cancelled"), "{ended:?}");
    eventually("every task is cancelled", || {
        let states = system.states();
        states
            .iter()
            .all(|(_, s)| s.ends_with("CANCELLED"))
            .then_some(())
    });

    // Anything still to start would do so before a later request is answered.
    system.let_go();
    let again = system.ask(CHIEF, "second", WORDS).wait();
    assert_eq!(again.code, Some(3), "words were matched: {again:?}");
    let begun = system.begun();
    assert_eq!(begun.len(), 2, "one call for each request: {begun:?}");
    assert_eq!(
        system.done(),
        begun[1..],
        "the first was stopped at its work"
    );
    assert_eq!(system.states().len(), 6, "{:?}", system.states());
}

/// No work is lost when agents are told to end during a tool call: their next processes continue.
#[test]
fn agents_that_are_told_to_go_leave_their_work_to_the_next() {
    let (system, _broker) = System::durable_broker();
    let agents = three_levels(&system);
    let asked = system.ask(CHIEF, "first", WORDS);
    system.wait_begun(1);
    for agent in &agents {
        agent.signal(Signal::SIGTERM);
    }
    for agent in agents {
        assert_eq!(agent.wait().code, Some(0));
    }
    let _agents = three_levels(&system);
    system.let_go();
    let ended = asked.wait();
    assert_eq!(ended.code, Some(3), "words were matched: {ended:?}");
    assert!(ended.stdout.contains("pressed"), "{ended:?}");
    let begun = system.begun();
    assert!(begun.iter().all(|key| *key == begun[0]), "{begun:?}");
}

/// Cost of a task, from its last status.
fn tokens(end: &Value) -> u64 {
    let tokens = &end["metadata"]["usage"]["tokens"];
    tokens
        .as_f64()
        .map_or_else(|| panic!("no usage in {end}"), |tokens| tokens as u64)
}

/// Twenty workers in separate processes are called at once: with enough budget for all, with too little for all, and in
/// between.
#[test]
fn twenty_delegations_at_once_stay_below_the_cap_together() {
    let (system, _broker) = System::durable_broker();
    let names: Vec<String> = (0..20).map(|n| format!("agent_w{n:02}")).collect();
    let what = "Adds up long columns of numbers";
    let begin = |name: &String| system.begin_worker(name, what, "echo 42");
    let _workers: Vec<Process> = names.iter().map(begin).collect();
    eventually("all are online", || {
        let online = system.try_json(&["agents", "list", "--state", "online", "--json"])?;
        (online.len() == names.len()).then_some(())
    });
    let words = format!("let {} add up the columns", names.join(" and "));
    let answered: Vec<usize> = [60_000, 12_000, 6_000]
        .map(|cap| {
            let lead = format!("agent_lead_{cap}");
            let process = system.start_supervisor(&lead, &["--tokens", &cap.to_string()]);
            let before = system.ends().len();
            let asked = system.ask(&lead, &lead, &words).wait();
            eventually("every task has ended", || {
                (system.states().len() == system.ends().len()).then_some(())
            });
            drop(process);
            let ends = system.ends().split_off(before);
            let (own, others): (Vec<Value>, Vec<Value>) =
                ends.into_iter().partition(|end| end["taskId"] == *lead);
            assert!(others.len() > 1, "several were asked: {asked:?}");
            let total = tokens(&own[0]);
            let of_others: u64 = others.iter().map(tokens).sum();
            assert!(total <= cap, "{total} of {cap}: {asked:?}");
            assert!(of_others <= total, "{of_others} of {total}");
            let completed = |end: &&Value| end["status"]["state"] == "TASK_STATE_COMPLETED";
            others.iter().filter(completed).count()
        })
        .to_vec();
    assert_eq!(answered[0], 20, "enough for all");
    assert!(answered[2] < 20, "too little for all: {answered:?}");
}

/// An agent that was told to stop accepts nothing more.
#[test]
fn an_agent_with_a_tool_at_work_ends_soon_and_its_program_with_it() {
    let (system, _broker) = System::durable_broker();
    let press = system.start_press();
    let _asked = system.ask(PRESS, "question", "print hello on the printing press");
    system.wait_begun(1);
    press.signal(Signal::SIGINT);
    assert_eq!(press.wait().code, Some(0));
    system.let_go();
    let _press = system.start_press();
    eventually("it is done", || (!system.done().is_empty()).then_some(()));
    assert_eq!(system.done().len(), 1, "the first program was ended");
}

//! Invariants of every world.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use agenthub_sdk::proto::a2a::TaskState;

use crate::{
    ledger::{Book, Expected, Observation, Report},
    world::AGENTS,
};

/// Violations in a world that has ended.
pub(crate) fn broken(book: &Book) -> Vec<String> {
    let mut wrong = Vec::new();
    for (_, seen) in &book.entries {
        if let Observation::Wrong(what) = seen {
            wrong.push(what.clone());
        }
    }
    for expected in &book.expected {
        wrong.extend(delegation(book, expected));
    }
    wrong.extend(order(book));
    // Without a report, a requester still waits.
    if let Some(told) = &book.report {
        wrong.extend(report(told, book));
    }
    wrong
}

/// Observations of one delegation.
#[derive(Default)]
struct Story<'a> {
    is_accepted: bool,
    /// Positions in the ledger of handlers' starts, with process and attempt.
    begun: Vec<(usize, &'a str, u32)>,
    /// Positions in the ledger of its processes' reconnections.
    connected: Vec<(usize, &'a str)>,
    done: HashSet<&'a str>,
    outcomes: Vec<(TaskState, &'a str, usize)>,
    error: Option<&'a str>,
}

impl<'a> Story<'a> {
    fn of(task: &str, book: &'a Book) -> Self {
        let mut story = Self::default();
        for (at, (_, seen)) in book.entries.iter().enumerate() {
            if let Observation::Connected { process } = seen {
                story.connected.push((at, process));
            }
            if seen.task() != Some(task) {
                continue;
            }
            match seen {
                Observation::Accepted { .. } => story.is_accepted = true,
                Observation::Begun {
                    process, attempt, ..
                } => story.begun.push((at, process, *attempt)),
                Observation::Done { process, .. } => _ = story.done.insert(process),
                Observation::Outcome {
                    state,
                    text,
                    artifacts,
                    ..
                } => {
                    story.outcomes.push((*state, text, *artifacts));
                }
                Observation::NoOutcome { error, .. } => story.error = Some(error),
                _ => {}
            }
        }
        story
    }

    /// The process that took the task over from another one, which has not claimed it since.
    fn taken_over_from(&self, process: &str) -> Option<&'a str> {
        let its = || self.begun.iter().filter(|(_, p, _)| *p == process);
        let tries = its().map(|(.., attempt)| *attempt).max()?;
        let begun = its().map(|(at, ..)| *at).max()?;
        let back = self
            .connected
            .iter()
            .filter(|(_, p)| *p == process)
            .map(|(at, _)| *at)
            .max();
        let last = back.unwrap_or(begun).max(begun);
        let later = |(at, _, attempt): &&(usize, &str, u32)| *at > last && *attempt > tries;
        self.begun
            .iter()
            .find(later)
            .map(|(_, process, _)| *process)
    }
}

/// An accepted delegation is executed at least once, and has one outcome: that of its last process.
fn delegation(book: &Book, expected: &Expected) -> Option<String> {
    let task = &expected.task;
    let story = Story::of(task, book);
    if !story.is_accepted {
        return Some(format!("{task} was never taken"));
    }
    if let Some(error) = story.error {
        return Some(format!("{task} has no outcome: {error}"));
    }
    let [(state, text, artifacts)] = story.outcomes[..] else {
        return Some(format!("{task} has {} outcomes", story.outcomes.len()));
    };
    let (right, process, results) = match expected.fails {
        true => (TaskState::Failed, text.strip_prefix("failed by "), 0),
        false => (TaskState::Completed, Some(text), 1),
    };
    if state != right || artifacts != results {
        return Some(format!(
            "{task} ended as {state:?} with {artifacts} artifacts: {text}"
        ));
    }
    let process = process.unwrap_or_default();
    if !story.done.contains(process) {
        return Some(format!("{task} has a result that nobody gave: {text}"));
    }
    let other = story.taken_over_from(process)?;
    Some(format!(
        "{task} was {other}'s, but {process}'s result counts"
    ))
}

/// First deliveries of a context to a process are in the order of the delegations.
fn order(book: &Book) -> Vec<String> {
    let places: BTreeMap<&str, usize> = book
        .expected
        .iter()
        .enumerate()
        .map(|(at, e)| (e.task.as_str(), at))
        .collect();
    let mut known = BTreeSet::new();
    let mut last: BTreeMap<(&str, &str), &str> = BTreeMap::new();
    let mut wrong = Vec::new();
    for (_, seen) in &book.entries {
        let Observation::Begun {
            task,
            context,
            process,
            attempt,
        } = seen
        else {
            continue;
        };
        if !known.insert(task.as_str()) || *attempt > 1 {
            continue;
        }
        let before = last.insert((context, process), task);
        if let Some(before) = before.filter(|b| places.get(b) > places.get(task.as_str())) {
            wrong.push(format!("{process} got {task} after {before}"));
        }
    }
    wrong
}

/// The hub's final state matches the events.
pub(crate) fn report(report: &Report, book: &Book) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut tasks = BTreeMap::new();
    for (_, seen) in &book.entries {
        if let Observation::Outcome {
            task, state, text, ..
        } = seen
        {
            let results = Vec::from_iter((*state == TaskState::Completed).then(|| text.clone()));
            tasks.insert(task.clone(), (*state, results));
        }
    }
    let told: BTreeMap<_, _> = report
        .tasks
        .iter()
        .map(|(id, s, r)| (id.clone(), (*s, r.clone())))
        .collect();
    for task in tasks.keys().chain(told.keys()).collect::<BTreeSet<_>>() {
        let (hub, requester) = (told.get(task), tasks.get(task));
        if hub != requester {
            wrong.push(format!(
                "the outcome of {task} is {requester:?}, and the hub has {hub:?}"
            ));
        }
    }
    let mut agents: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (agent, hosts) in AGENTS {
        let mut processes: Vec<String> = book
            .running
            .iter()
            .filter(|p| hosts.contains(&crate::ledger::host_of(p)))
            .cloned()
            .collect();
        processes.sort();
        agents.insert(agent, processes);
    }
    let told: BTreeMap<&str, Vec<String>> = report
        .agents
        .iter()
        .map(|(a, i)| (a.as_str(), i.clone()))
        .collect();
    if told != agents {
        wrong.push(format!(
            "the hub says that {told:?} are there, and there are {agents:?}"
        ));
    }
    let there = agents.iter().filter(|(_, processes)| !processes.is_empty());
    let present: Vec<&str> = there.map(|(agent, _)| *agent).collect();
    if report.present != present {
        wrong.push(format!(
            "the directory has {:?} and not {present:?}",
            report.present
        ));
    }
    let mail: Vec<_> = report
        .mail
        .iter()
        .filter(|(agent, ..)| agents.contains_key(agent.as_str()))
        .collect();
    if !mail.is_empty() {
        wrong.push(format!("there is mail left: {mail:?}"));
    }
    if !report.dead_letters.is_empty() {
        wrong.push(format!("there are dead letters: {:?}", report.dead_letters));
    }
    wrong
}

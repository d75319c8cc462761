//! Final report of the test.

use std::time::Duration;

use serde::Serialize;

use super::{audit::Calls, requests::Tally};
use crate::table;

/// Figures of a test.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Report {
    pub(crate) seed: u64,
    pub(crate) killed: u64,
    pub(crate) told_to_end: u64,
    asked: u64,
    answered: u64,
    turned_down: u64,
    failed: u64,
    unanswered: u64,
    answered_twice: u64,
    calls: u64,
    calls_again: u64,
    done_twice: u64,
    open_tasks: u64,
    open_runs: u64,
    pub(crate) left_behind: u64,
    pub(crate) ended_late: u64,
    pub(crate) seconds: u64,
}

impl Report {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            seed,
            ..Self::default()
        }
    }

    /// Adds the results of the requests.
    pub(crate) fn requests(&mut self, tally: &Tally, answered_twice: &[String]) {
        self.asked = tally.asked;
        self.answered = tally.answered;
        self.turned_down = tally.turned_down;
        self.failed = number(tally.failed.len());
        self.unanswered = number(tally.open.len());
        self.answered_twice = number(answered_twice.len());
    }

    /// Adds the audit.
    pub(crate) fn audit(&mut self, calls: &Calls, tasks: &[String], runs: &[String]) {
        self.calls = number(calls.begun);
        self.calls_again = number(calls.again);
        self.done_twice = number(calls.under_two_keys.len());
        self.open_tasks = number(tasks.len());
        self.open_runs = number(runs.len());
    }

    pub(crate) fn took(&mut self, took: Duration) {
        self.seconds = took.as_secs();
    }

    /// True if everything ended, once, as requested.
    pub(crate) fn is_good(&self) -> bool {
        let faults = [
            self.failed,
            self.unanswered,
            self.answered_twice,
            self.done_twice,
            self.open_tasks,
            self.open_runs,
            self.left_behind,
            self.ended_late,
        ];
        self.answered > 0 && faults.iter().all(|count| *count == 0)
    }

    /// One line of JSON.
    pub(crate) fn json(&self) -> String {
        serde_json::to_string(self).expect("numbers under names are JSON")
    }

    /// A table.
    pub(crate) fn text(&self) -> String {
        table::of([
            ("seed", self.seed, "of the moments and the victims"),
            ("killed", self.killed, "processes, with SIGKILL"),
            ("told to end", self.told_to_end, "processes, with SIGTERM"),
            ("asked", self.asked, "requests that the hub took"),
            ("answered", self.answered, "of those, as was asked for"),
            (
                "turned down",
                self.turned_down,
                "answered without the work, as the worker was away just then",
            ),
            ("failed", self.failed, "that ended otherwise"),
            ("unanswered", self.unanswered, "without an end"),
            ("answered twice", self.answered_twice, "in the hub's record"),
            ("calls", self.calls, "of the worker's tool"),
            (
                "calls again",
                self.calls_again,
                "of those, under a key that was called before",
            ),
            (
                "done twice",
                self.done_twice,
                "requests whose work was asked for under two keys",
            ),
            ("open tasks", self.open_tasks, "in the end"),
            ("open runs", self.open_runs, "in the end"),
            (
                "left behind",
                self.left_behind,
                "programs whose owner was gone for 5 s",
            ),
            (
                "ended late",
                self.ended_late,
                "processes that took more than 10 s to end",
            ),
            ("seconds", self.seconds, "that it took"),
        ])
    }
}

fn number(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_fault_is_enough_and_nothing_at_all_is_no_success() {
        assert!(!Report::default().is_good(), "nobody was answered");
        let answered = || Report {
            answered: 1,
            calls_again: 1,
            ..Report::default()
        };
        assert!(answered().is_good());
        let open = Report {
            open_runs: 1,
            ..answered()
        };
        assert!(!open.is_good());
        let late = Report {
            ended_late: 1,
            ..answered()
        };
        assert!(!late.is_good());
    }
}

//! The use that principals make of tasks: how many are open on their behalf, and what those that ended today took of models.
//!
//! What a task took is what its agent reports at its end, its part for further agents included: it counts for tasks alone that no other task asked
//! for. What was used without a task is charged. Kept by the fold, so it is there again after a restart.

use std::{
    collections::HashMap,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use agenthub_access::HubUse;
use agenthub_proto::{agenthub::TaskStatusUpdateEvent, json, wkt::Struct};
use serde_json::Value;

/// Length of a day.
const DAY: u64 = 24 * 3600;

/// Maximum number of principals whose use of a day is known apart; further ones count for the namespace alone.
const PRINCIPALS: usize = 10_000;

/// Use of all principals, and of the namespace as a whole.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Used {
    open: HashMap<String, u64>,
    open_of_all: u64,
    /// The day of the use, in days since 1970.
    day: u64,
    spent: HashMap<String, Spent>,
    spent_of_all: Spent,
}

/// Use of models by tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spent {
    pub(crate) tokens: u64,
    pub(crate) cost_micros: u64,
}

impl Spent {
    /// Usage that an agent reports at the end of a task; zero if it reports none.
    pub(crate) fn told(update: &TaskStatusUpdateEvent) -> Self {
        Self::in_metadata(update.metadata.as_ref()).unwrap_or_default()
    }

    /// Usage that is told in metadata, if any is.
    pub(crate) fn in_metadata(metadata: Option<&Struct>) -> Option<Self> {
        let usage = json::from_value(metadata?.fields.get("usage")?);
        let number = |key: &str| usage.get(key).and_then(Value::as_u64).unwrap_or(0);
        Some(Self {
            tokens: number("tokens"),
            cost_micros: number("costMicros"),
        })
    }

    fn add(&mut self, more: Self) {
        self.tokens = self.tokens.saturating_add(more.tokens);
        self.cost_micros = self.cost_micros.saturating_add(more.cost_micros);
    }
}

impl Used {
    /// Counts a task that was asked for on behalf of a principal; nobody's is empty.
    pub(super) fn opened(&mut self, principal: &str) {
        self.open_of_all += 1;
        if let Some(open) = self.open.get_mut(principal) {
            *open += 1;
        } else if !principal.is_empty() {
            self.open.insert(principal.to_owned(), 1);
        }
    }

    /// Counts its end.
    pub(super) fn closed(&mut self, principal: &str) {
        self.open_of_all = self.open_of_all.saturating_sub(1);
        if let Some(open) = self.open.get_mut(principal) {
            *open -= 1;
            if *open == 0 {
                self.open.remove(principal);
            }
        }
    }

    /// Counts what a task took that ended then.
    pub(super) fn spend(&mut self, principal: &str, spent: Spent, time: SystemTime) {
        let day = day(time);
        if spent == Spent::default() || day < self.day {
            return;
        }
        if day > self.day {
            self.day = day;
            self.spent.clear();
            self.spent_of_all = Spent::default();
        }
        self.spent_of_all.add(spent);
        if let Some(known) = self.spent.get_mut(principal) {
            known.add(spent);
        } else if !principal.is_empty() && self.spent.len() < PRINCIPALS {
            self.spent.insert(principal.to_owned(), spent);
        }
    }

    /// Use of a principal, and of all together.
    pub(crate) fn of(&self, principal: &str, now: SystemTime) -> (HubUse, HubUse) {
        let is_today = self.day == day(now);
        let used = |open_tasks: u64, spent: Spent| {
            let spent = if is_today { spent } else { Spent::default() };
            HubUse {
                open_tasks,
                tokens: spent.tokens,
                cost_micros: spent.cost_micros,
                ..HubUse::default()
            }
        };
        let open = self.open.get(principal).copied().unwrap_or(0);
        let spent = self.spent.get(principal).copied().unwrap_or_default();
        (used(open, spent), used(self.open_of_all, self.spent_of_all))
    }

    /// The day, and what each principal took in it; that of all has an empty name.
    pub(crate) fn saved(&self) -> (u64, Vec<(&str, Spent)>) {
        let of_all = (self.spent_of_all != Spent::default()).then_some(("", self.spent_of_all));
        let spent = self
            .spent
            .iter()
            .map(|(name, spent)| (name.as_str(), *spent));
        (self.day, of_all.into_iter().chain(spent).collect())
    }

    /// Restores what was [saved](Self::saved).
    pub(crate) fn restore(&mut self, day: u64, principal: String, spent: Spent) {
        self.day = day;
        match principal.is_empty() {
            true => self.spent_of_all = spent,
            false => drop(self.spent.insert(principal, spent)),
        }
    }
}

/// Day of UTC, in days since 1970.
fn day(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_secs() / DAY
}

/// Time until the next day of UTC begins.
pub(crate) fn until_tomorrow(now: SystemTime) -> Duration {
    let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    Duration::from_secs(DAY - since.as_secs() % DAY)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spent(tokens: u64) -> Spent {
        Spent {
            tokens,
            cost_micros: 2 * tokens,
        }
    }

    /// Issue 25: tokens and money a day, which begin anew at midnight UTC, also after a restart.
    #[test]
    fn what_is_spent_counts_until_midnight_and_outlives_a_restart() {
        let at = |seconds: u64| UNIX_EPOCH + Duration::from_secs(10 * DAY + seconds);
        let mut used = Used::default();
        used.spend("alice", spent(5), at(0));
        used.spend("bob", spent(7), at(DAY - 1));
        used.spend("", spent(1), at(DAY - 1));
        let (alice, all) = used.of("alice", at(DAY - 1));
        assert_eq!((alice.tokens, alice.cost_micros), (5, 10));
        assert_eq!((all.tokens, all.cost_micros), (13, 26));
        let mut restored = Used::default();
        let (day, saved) = used.saved();
        for (name, spent) in saved {
            restored.restore(day, name.to_owned(), spent);
        }
        assert_eq!(restored, used);
        let (alice, all) = used.of("alice", at(DAY));
        assert_eq!((alice.tokens, all.tokens), (0, 0), "another day");
        used.spend("alice", spent(3), at(DAY));
        used.spend("bob", spent(9), at(DAY - 1));
        let (alice, all) = used.of("alice", at(DAY));
        assert_eq!((alice.tokens, all.tokens), (3, 3), "yesterday is over");
        assert_eq!(until_tomorrow(at(DAY - 90)), Duration::from_secs(90));
    }

    #[test]
    fn open_tasks_are_counted_for_who_asked_first_and_for_all() {
        let mut used = Used::default();
        used.opened("alice");
        used.opened("alice");
        used.opened("");
        let (alice, all) = used.of("alice", UNIX_EPOCH);
        assert_eq!((alice.open_tasks, all.open_tasks), (2, 3));
        used.closed("alice");
        used.closed("alice");
        used.closed("");
        assert_eq!(used, Used::default(), "nothing is left of it");
    }
}

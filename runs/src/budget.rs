//! Budgets of runs.
//!
//! A budget is a grant: a step reserves its maximum cost before it begins, a delegation carries its share to the agent
//! that works on it, and the actual cost is settled when the step ends. Spent and reserved amounts together never
//! exceed the grant, however many children run at once, because each has its own share.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::id::StepId;

/// Limits for a run and everything that it leads to. `None` means unlimited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Budget {
    /// Input and output tokens of all models.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Calls of models, tools and agents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls: Option<u64>,
    /// Cost in millionths of a US dollar.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_micros: Option<u64>,
    /// Time from the start, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_ms: Option<u64>,
    /// Nesting depth of delegations; 0 allows none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
}

/// Resources used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Spent {
    /// Input and output tokens.
    pub tokens: u64,
    /// Calls of models, tools and agents.
    pub calls: u64,
    /// Cost in millionths of a US dollar.
    pub cost_micros: u64,
    /// True if some of the tokens are an estimate instead of the provider's count.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_estimated: bool,
}

impl Spent {
    /// One call without further cost.
    pub const CALL: Self = Self {
        tokens: 0,
        calls: 1,
        cost_micros: 0,
        is_estimated: false,
    };

    /// Sum of both.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_add(other.tokens),
            calls: self.calls.saturating_add(other.calls),
            cost_micros: self.cost_micros.saturating_add(other.cost_micros),
            is_estimated: self.is_estimated || other.is_estimated,
        }
    }
}

impl Budget {
    /// The stricter of both, limit by limit.
    #[must_use]
    pub fn within(self, other: Self) -> Self {
        fn least<T: Ord>(a: Option<T>, b: Option<T>) -> Option<T> {
            match (a, b) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            }
        }
        Self {
            tokens: least(self.tokens, other.tokens),
            calls: least(self.calls, other.calls),
            cost_micros: least(self.cost_micros, other.cost_micros),
            time_ms: least(self.time_ms, other.time_ms),
            depth: least(self.depth, other.depth),
        }
    }

    /// One of `parts` equal shares of every divisible limit, rounded down.
    #[must_use]
    pub fn divided(self, parts: u64) -> Self {
        let part = |whole: Option<u64>| whole.map(|w| w / parts.max(1));
        Self {
            tokens: part(self.tokens),
            calls: part(self.calls),
            cost_micros: part(self.cost_micros),
            ..self
        }
    }

    /// The charge for a step that does not report its cost: its whole grant.
    pub(crate) fn whole(self) -> Spent {
        Spent {
            tokens: self.tokens.unwrap_or(0),
            calls: self.calls.unwrap_or(0),
            cost_micros: self.cost_micros.unwrap_or(0),
            is_estimated: self.tokens.is_some_and(|tokens| tokens > 0),
        }
    }
}

/// Words by which an error that went through other hands is known.
const EXCEEDED: &str = "does not suffice";

/// A number of these, in words.
fn counted(number: u64, what: &str) -> String {
    match (number, what.strip_suffix('s')) {
        (1, Some(one)) => format!("1 {one}"),
        _ => format!("{number} {what}"),
    }
}

/// Error: a step would exceed this limit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the budget of {} {EXCEEDED}: {left} left, {wanted} needed", counted(*limit, what))]
pub struct BudgetExceeded {
    /// Name of the limit.
    pub what: &'static str,
    /// The whole grant.
    pub limit: u64,
    /// Amount that is neither spent nor reserved.
    pub left: u64,
    /// Minimum that the step needs.
    pub wanted: u64,
}

impl BudgetExceeded {
    /// True if this failure of an agent tells that its share of a budget is used up.
    pub fn is_told_by(failure: &str) -> bool {
        failure.contains("the budget of ") && failure.contains(EXCEEDED)
    }
}

/// A budget with its spent and reserved amounts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    budget: Budget,
    spent: Spent,
    reserved: BTreeMap<StepId, Budget>,
}

impl Account {
    /// An account with nothing spent.
    pub fn new(budget: Budget) -> Self {
        Self {
            budget,
            ..Self::default()
        }
    }

    /// The whole grant.
    pub fn budget(&self) -> Budget {
        self.budget
    }

    /// Amount spent so far.
    pub fn spent(&self) -> Spent {
        self.spent
    }

    /// True if a step holds a reservation, part of which may be released.
    pub fn has_reservations(&self) -> bool {
        let is_some = |grant: &Budget| grant.whole() != Spent::default();
        self.reserved.values().any(is_some)
    }

    /// Amount that is neither spent nor reserved.
    pub fn free(&self) -> Budget {
        let reserved = self
            .reserved
            .values()
            .fold(Spent::default(), |sum, grant| sum.plus(grant.whole()));
        let used = self.spent.plus(reserved);
        let left = |limit: Option<u64>, used: u64| limit.map(|l| l.saturating_sub(used));
        Budget {
            tokens: left(self.budget.tokens, used.tokens),
            calls: left(self.budget.calls, used.calls),
            cost_micros: left(self.budget.cost_micros, used.cost_micros),
            ..self.budget
        }
    }

    /// Checks that a step with this minimum cost can begin.
    ///
    /// # Errors
    ///
    /// The first limit that it would exceed.
    pub fn check(&self, least: Spent) -> Result<(), BudgetExceeded> {
        let free = self.free();
        let limits = [
            ("tokens", self.budget.tokens, free.tokens, least.tokens),
            ("calls", self.budget.calls, free.calls, least.calls),
            (
                "millionths of a dollar",
                self.budget.cost_micros,
                free.cost_micros,
                least.cost_micros,
            ),
        ];
        for (what, limit, left, wanted) in limits {
            if let (Some(limit), Some(left)) = (limit, left)
                && left < wanted
            {
                return Err(BudgetExceeded {
                    what,
                    limit,
                    left,
                    wanted,
                });
            }
        }
        Ok(())
    }

    /// Reserves an amount for a step.
    pub fn reserve(&mut self, step: StepId, grant: Budget) {
        self.reserved.insert(step, grant);
    }

    /// Charges a step's reported cost, or its whole reservation if it reports none.
    pub fn settle(&mut self, step: &StepId, used: Option<Spent>) {
        let grant = self.reserved.remove(step).unwrap_or_default();
        self.spent = self.spent.plus(used.unwrap_or_else(|| grant.whole()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// For every schedule of twenty children: as long as each keeps to its grant, the cap holds.
        #[test]
        fn parallel_children_never_pass_the_cap(
            cap in 1u64..10_000,
            schedule in prop::collection::vec((0usize..20, 0u64..4_000, any::<bool>()), 0..200),
        ) {
            let mut account = Account::new(Budget { tokens: Some(cap), ..Budget::default() });
            let mut grants: BTreeMap<usize, u64> = BTreeMap::new();
            for (child, tokens, tells) in schedule {
                let step = StepId::new(child.to_string());
                if let Some(grant) = grants.remove(&child) {
                    let used = Spent { tokens: tokens.min(grant), ..Spent::default() };
                    account.settle(&step, tells.then_some(used));
                } else if account.check(Spent { tokens, ..Spent::default() }).is_ok() {
                    account.reserve(step, Budget { tokens: Some(tokens), ..Budget::default() });
                    grants.insert(child, tokens);
                }
                let out: u64 = grants.values().sum();
                prop_assert!(account.spent().tokens + out <= cap);
                prop_assert_eq!(account.free().tokens, Some(cap - account.spent().tokens - out));
            }
        }
    }

    #[test]
    fn a_step_that_does_not_tell_is_charged_all_of_its_grant() {
        let mut account = Account::new(Budget {
            tokens: Some(100),
            ..Budget::default()
        });
        let step = StepId::new("s");
        let grant = Budget {
            tokens: Some(60),
            ..Budget::default()
        };
        account.reserve(step.clone(), grant);
        let refused = account.check(Spent {
            tokens: 41,
            ..Spent::default()
        });
        assert_eq!(
            refused.expect_err("only 40 are free").to_string(),
            "the budget of 100 tokens does not suffice: 40 left, 41 needed"
        );
        account.settle(&step, None);
        assert_eq!(account.spent().tokens, 60);
        assert!(account.spent().is_estimated);
    }

    #[test]
    fn what_is_not_limited_stays_so() {
        let account = Account::new(Budget::default());
        let much = Spent {
            tokens: u64::MAX,
            calls: u64::MAX,
            cost_micros: u64::MAX,
            is_estimated: false,
        };
        assert_eq!(account.check(much), Ok(()));
        assert_eq!(account.free().divided(20), Budget::default());
    }
}

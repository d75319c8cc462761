//! Budgets and what was used of them, as they travel.

use agenthub_proto::{agenthub, json, wkt::Struct};
use agenthub_runs::{Budget, Spent};
use serde_json::{Value, json};

/// The field of a terminal status' metadata that tells what the task used.
pub(crate) const USAGE: &str = "usage";

/// What was used, as a status has it.
pub(crate) fn usage(spent: Spent) -> Value {
    json!({
        "tokens": spent.tokens,
        "calls": spent.calls,
        "costMicros": spent.cost_micros,
    })
}

/// What a status says was used; nothing if it does not tell.
pub(crate) fn spent(metadata: Option<&Struct>) -> Option<Spent> {
    let usage = json::from_value(metadata?.fields.get(USAGE)?);
    let number = |key: &str| usage.get(key).map_or(Some(0), Value::as_u64);
    usage.is_object().then_some(())?;
    Some(Spent {
        tokens: number("tokens")?,
        calls: number("calls")?,
        cost_micros: number("costMicros")?,
    })
}

/// A budget as an envelope carries it. The time is the envelope's deadline.
pub(crate) fn to_wire(budget: Budget) -> Option<agenthub::Budget> {
    let wire = agenthub::Budget {
        tokens: budget.tokens,
        calls: budget.calls,
        cost_micros: budget.cost_micros,
        depth: budget.depth,
    };
    (wire != agenthub::Budget::default()).then_some(wire)
}

/// The budget that an envelope carries, without its time.
pub(crate) fn from_wire(wire: Option<&agenthub::Budget>) -> Budget {
    let wire = wire.copied().unwrap_or_default();
    Budget {
        tokens: wire.tokens,
        calls: wire.calls,
        cost_micros: wire.cost_micros,
        time_ms: None,
        depth: wire.depth,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_comes_back() {
        let used = Spent {
            tokens: 1_234,
            calls: 5,
            cost_micros: 0,
        };
        let metadata = json::to_struct(&json!({ USAGE: usage(used) }));
        assert_eq!(spent(Some(&metadata)), Some(used));
        for silent in [
            json!({}),
            json!({ USAGE: "much" }),
            json!({ USAGE: { "calls": -1 } }),
        ] {
            assert_eq!(spent(Some(&json::to_struct(&silent))), None);
        }
    }

    #[test]
    fn a_budget_of_nothing_is_not_the_same_as_none() {
        let nothing = Budget {
            depth: Some(0),
            ..Budget::default()
        };
        assert_eq!(from_wire(to_wire(nothing).as_ref()), nothing);
        assert_eq!(to_wire(Budget::default()), None);
    }
}

//! Budgets and what was used of them, as they travel.

use agenthub_proto::{agenthub, json, wkt::Struct};
use agenthub_runs::{Budget, Spent};
use serde_json::{Map, Value, json};

/// The field of a terminal status' metadata that tells what the task used.
const USAGE: &str = "usage";

/// The field of a terminal status' metadata that names the model which the agent thought with.
const MODEL: &str = "model";

/// Metadata of a terminal status: usage and model; nothing of either where that is not known.
pub(crate) fn told(spent: Option<Spent>, model: &str) -> Map<String, Value> {
    let usage = spent.map(|spent| (USAGE.to_owned(), usage(spent)));
    let model = (!model.is_empty()).then(|| (MODEL.to_owned(), model.into()));
    usage.into_iter().chain(model).collect()
}

/// The model that a status names; empty if it names none.
pub(crate) fn model(metadata: Option<&Struct>) -> String {
    let model = metadata.and_then(|metadata| metadata.fields.get(MODEL));
    let model = model.map(json::from_value).unwrap_or_default();
    model.as_str().unwrap_or_default().to_owned()
}

/// Usage, as a status has it.
fn usage(spent: Spent) -> Value {
    let mut usage = json!({
        "tokens": spent.tokens,
        "calls": spent.calls,
        "costMicros": spent.cost_micros,
    });
    if spent.is_estimated {
        usage["estimated"] = true.into();
    }
    usage
}

/// The usage in a status; nothing if it does not tell.
pub(crate) fn spent(metadata: Option<&Struct>) -> Option<Spent> {
    let usage = json::from_value(metadata?.fields.get(USAGE)?);
    let number = |key: &str| usage.get(key).map_or(Some(0), Value::as_u64);
    usage.is_object().then_some(())?;
    Some(Spent {
        tokens: number("tokens")?,
        calls: number("calls")?,
        cost_micros: number("costMicros")?,
        is_estimated: usage["estimated"] == true,
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
            is_estimated: true,
        };
        let metadata = json::to_struct(&told(Some(used), "a/b").into());
        assert_eq!(spent(Some(&metadata)), Some(used));
        assert_eq!(model(Some(&metadata)), "a/b");
        assert_eq!(told(None, "").len(), 0);
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

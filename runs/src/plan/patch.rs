//! JSON Patch (RFC 6902) for plans.

use json_patch::{Patch, PatchOperation};
use serde_json::Value;

use super::{
    Plan, StepName,
    bounds::{MAX_DEPTH, MAX_OPERATIONS, MAX_PLAN_BYTES, is_deeper, size},
    faults::{Fault, excerpt, sentence},
};

/// Applies a patch atomically. Steps keep their order; added ones come last.
///
/// # Errors
///
/// The patch is malformed, an operation (such as `test`) fails, or the result is not a plan.
pub fn patched(plan: &Plan, patch: &Value) -> Result<Plan, Fault> {
    let mut whole = serde_json::to_value(plan).expect("a plan has only texts as keys");
    for (number, operation) in (1..).zip(operations(patch)?) {
        let told_as = excerpt(&operation.to_string());
        json_patch::patch(&mut whole, &[operation]).map_err(|error| Fault::Operation {
            number,
            operation: told_as,
            why: sentence(&error.kind.to_string()),
        })?;
        // Checked after each operation, because a few `copy` operations can produce any size.
        if is_deeper(&whole, MAX_DEPTH) || size(&whole, MAX_PLAN_BYTES) > MAX_PLAN_BYTES {
            return Err(Fault::TooLarge("patched plan"));
        }
    }
    let mut made: Plan =
        serde_json::from_value(whole).map_err(|e| Fault::Form(sentence(&e.to_string())))?;
    let place = |name: &StepName| plan.steps.get_index_of(name).unwrap_or(usize::MAX);
    made.steps.sort_by_key(|name, _| place(name));
    Ok(made)
}

fn operations(patch: &Value) -> Result<Vec<PatchOperation>, Fault> {
    let no_patch = |why: &str| Fault::NoPatch(sentence(why));
    let list = patch.as_array().ok_or_else(|| no_patch("it is no array"))?;
    if list.len() > MAX_OPERATIONS {
        return Err(no_patch(&format!("it has {} operations", list.len())));
    }
    if is_deeper(patch, MAX_DEPTH + 2) || size(patch, MAX_PLAN_BYTES) > MAX_PLAN_BYTES {
        return Err(Fault::TooLarge("patch"));
    }
    let patch: Patch =
        serde_json::from_value(patch.clone()).map_err(|e| no_patch(&e.to_string()))?;
    Ok(patch.0)
}

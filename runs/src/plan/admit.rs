//! Admission of plans and patches.

use serde_json::Value;

use super::{
    AdmittedPlan, Fault, Plan, PlanStep, Recovery, StepName, Terms,
    admitted::needs,
    bounds::{MAX_ATTEMPTS, MAX_DEPTH, MAX_FAULTS, MAX_MS, MAX_PLAN_BYTES, is_deeper, size},
    faults::{excerpt, listed},
    offers::Offers,
    order::{Needs, longest_chain},
    patched, reference_faults,
};

/// Admits a plan that can be carried out on these terms.
///
/// # Errors
///
/// The plan's faults: at most 16, and the number of the rest.
pub fn admit(plan: Plan, terms: &Terms) -> Result<AdmittedPlan, Vec<Fault>> {
    if !is_in_bounds(&plan) {
        return Err(vec![Fault::TooLarge("plan")]);
    }
    let mut faults = limits(&plan, terms);
    if plan.steps.len() > terms.limits.max_steps {
        return Err(faults);
    }
    let mut offers = Offers::new(terms);
    for (name, step) in begun_left_out(&plan, terms) {
        let before = faults.len();
        faults.extend(numbers(name, step));
        faults.extend(dependencies(&plan, name, step, terms));
        faults.extend(reference_faults::of_step(&plan, name, step, terms));
        let is_sound = faults.len() == before;
        faults.extend(offers.faults(&plan, name, step, is_sound));
    }
    faults.extend(order(&plan, terms));
    faults.extend(reference_faults::of_result(&plan, terms));
    match faults.is_empty() {
        true => Ok(AdmittedPlan::trusted(plan)),
        false => Err(first(faults)),
    }
}

/// Applies a patch and admits the resulting plan. Steps that have begun or ended must stay unchanged.
///
/// # Errors
///
/// The faults: at most 16, and the number of the rest.
pub fn admit_patch(
    before: &AdmittedPlan,
    patch: &Value,
    terms: &Terms,
) -> Result<AdmittedPlan, Vec<Fault>> {
    let before = before.plan();
    let after = patched(before, patch).map_err(|fault| vec![fault])?;
    let is_changed =
        |name: &&String| before.steps.get(name.as_str()) != after.steps.get(name.as_str());
    let changed = terms.begun.iter().filter(is_changed);
    let faults: Vec<_> = changed.map(|name| Fault::Begun(excerpt(name))).collect();
    match faults.is_empty() {
        true => admit(after, terms),
        false => Err(first(faults)),
    }
}

fn first(mut faults: Vec<Fault>) -> Vec<Fault> {
    let more = faults.len().saturating_sub(MAX_FAULTS);
    faults.truncate(MAX_FAULTS);
    faults.extend((more > 0).then_some(Fault::More(more)));
    faults
}

fn begun_left_out<'p>(
    plan: &'p Plan,
    terms: &Terms,
) -> impl Iterator<Item = (&'p StepName, &'p PlanStep)> {
    let begun = terms.begun;
    plan.steps
        .iter()
        .filter(|(name, _)| !begun.contains(name.as_str()))
}

fn is_in_bounds(plan: &Plan) -> bool {
    let mut left = Some(MAX_PLAN_BYTES);
    let mut spend = |bytes: usize| left = left.and_then(|left| left.checked_sub(bytes));
    spend(size(&plan.result, MAX_PLAN_BYTES));
    for (name, step) in &plan.steps {
        let fallback = match &step.recovery {
            Recovery::Fallback { agent } => agent.len(),
            Recovery::Fail | Recovery::Skip => 0,
        };
        let agent = step.agent.as_ref().map_or(0, String::len);
        let waits: usize = step.depends_on.iter().map(|on| on.as_str().len() + 3).sum();
        let texts = name.as_str().len() + step.capability.len() + step.note.len();
        spend(texts + agent + fallback + waits + size(&step.payload, MAX_PLAN_BYTES));
    }
    let mut values = plan
        .steps
        .values()
        .map(|step| &step.payload)
        .chain([&plan.result]);
    left.is_some() && !values.any(|value| is_deeper(value, MAX_DEPTH - 4))
}

fn limits(plan: &Plan, terms: &Terms) -> Vec<Fault> {
    let limits = &terms.limits;
    let mut faults = Vec::new();
    let steps = plan.steps.len();
    if steps > limits.max_steps {
        let most = limits.max_steps;
        faults.push(Fault::TooManySteps { steps, most });
    }
    let mut open = begun_left_out(plan, terms).map(|(name, _)| name);
    if let (Some(name), false) = (open.next(), limits.may_delegate) {
        faults.push(Fault::NoDelegation(name.to_string()));
    }
    let steps = begun_left_out(plan, terms).count();
    if let Some(left) = limits.max_calls.filter(|left| steps as u64 > *left) {
        faults.push(Fault::TooManyCalls { steps, left });
    }
    faults
}

fn numbers(name: &StepName, step: &PlanStep) -> Vec<Fault> {
    let out_of = |value: u64, field, least, most| {
        let is_out = value < least || value > most;
        is_out.then(|| Fault::OutOfBounds {
            step: name.to_string(),
            field,
            least,
            most,
        })
    };
    let no_object = (!step.payload.is_object()).then(|| Fault::NoObject(name.to_string()));
    let numbers = [
        out_of(
            step.retry.attempts.into(),
            "retry.attempts",
            1,
            MAX_ATTEMPTS.into(),
        ),
        out_of(step.retry.pause_ms, "retry.pauseMs", 0, MAX_MS),
        out_of(step.timeout_ms.unwrap_or(1), "timeoutMs", 1, MAX_MS),
    ];
    numbers.into_iter().chain([no_object]).flatten().collect()
}

fn dependencies(plan: &Plan, name: &StepName, step: &PlanStep, terms: &Terms) -> Vec<Fault> {
    let mut faults = Vec::new();
    for on in &step.depends_on {
        if !plan.steps.contains_key(on) {
            faults.push(Fault::NoSuchStep {
                step: name.to_string(),
                on: on.to_string(),
                steps: listed(plan.steps.keys()),
            });
        }
    }
    let is_failed = |on: &&StepName| terms.failed.contains(on.as_str());
    let failed = step.depends_on.iter().filter(is_failed);
    faults.extend(failed.map(|on| Fault::OnFailed {
        step: name.to_string(),
        on: on.to_string(),
    }));
    faults
}

fn order(plan: &Plan, terms: &Terms) -> Option<Fault> {
    let needs: Needs = plan
        .steps
        .iter()
        .map(|(n, step)| (n.clone(), needs(step)))
        .collect();
    let row = |names: &[&StepName]| {
        let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
        match names.len() {
            0..=16 => names.join(" → "),
            many => format!(
                "{} → … → {}",
                names[..8].join(" → "),
                names[many - 4..].join(" → ")
            ),
        }
    };
    let most = terms.limits.max_chain;
    match longest_chain(&needs) {
        Err(cycle) => Some(Fault::Cycle(row(&cycle))),
        Ok(chain) if chain.len() > most => Some(Fault::TooLongChain {
            length: chain.len(),
            most,
            chain: row(&chain),
        }),
        Ok(_) => None,
    }
}

//! Faults of plans and patches, in one line each, for a model or a person to fix.

use super::bounds::{MAX_DEPTH, MAX_OPERATIONS, MAX_PLAN_BYTES};

/// Maximum bytes of a text quoted in a fault.
const MAX_SHOWN: usize = 96;

/// Maximum names listed in a fault.
const MAX_LISTED: usize = 16;

/// A fault of a plan or patch. Each is one line of at most about 2 KiB: the place, the problem, and the valid
/// alternatives.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The plan or patch is too large or too deep.
    #[error(
        "the {0} is too large: at most {MAX_PLAN_BYTES} bytes, nested at most {MAX_DEPTH} deep"
    )]
    TooLarge(&'static str),
    /// Not a plan.
    #[error("this is no plan: {0}")]
    Form(String),
    /// The patch is not a list of operations.
    #[error(
        "this is no patch: {0}; it must be an array of at most {MAX_OPERATIONS} operations of RFC 6902 (add, remove, replace, move, copy, test)"
    )]
    NoPatch(String),
    /// An operation failed; none was applied.
    #[error("operation {number} of the patch, {operation}: {why}; nothing was changed")]
    Operation {
        /// Its number, from 1.
        number: usize,
        /// The operation.
        operation: String,
        /// Reason.
        why: String,
    },
    /// The patch changes or removes a step that has begun or ended.
    #[error("step `{0}`: it is begun or over, so it can't be changed or removed; add another step")]
    Begun(String),
    /// Too many steps.
    #[error("there are {steps} steps, and at most {most} are allowed")]
    TooManySteps {
        /// Number of steps.
        steps: usize,
        /// Maximum.
        most: usize,
    },
    /// A chain of dependent steps is too long.
    #[error("{length} steps wait for one another, and at most {most} may: {chain}")]
    TooLongChain {
        /// Length of the chain.
        length: usize,
        /// Maximum.
        most: usize,
        /// The steps, or the first and last of them.
        chain: String,
    },
    /// More steps than calls left in the budget.
    #[error("{steps} steps are not begun, and the budget allows {left} more calls")]
    TooManyCalls {
        /// Steps that have not begun.
        steps: usize,
        /// Calls left.
        left: u64,
    },
    /// The depth of delegation is used up.
    #[error(
        "step `{0}`: the depth of delegation does not allow to hand anything to an agent; finish with what there is"
    )]
    NoDelegation(String),
    /// A number of the step is out of bounds.
    #[error("step `{step}`: `{field}` must be from {least} to {most}")]
    OutOfBounds {
        /// The step.
        step: String,
        /// Its field.
        field: &'static str,
        /// The smallest value.
        least: u64,
        /// The largest value.
        most: u64,
    },
    /// The payload is not an object.
    #[error("step `{0}`: `payload` must be an object")]
    NoObject(String),
    /// No agent offers the capability.
    #[error("step `{step}`: nobody here offers `{capability}`; offered: {offered}")]
    NotOffered {
        /// The step.
        step: String,
        /// The capability.
        capability: String,
        /// The offered capabilities.
        offered: String,
    },
    /// The step's agent does not offer the capability.
    #[error("step `{step}`: agent `{agent}` does not offer `{capability}`; those who do: {agents}")]
    NotOfferedBy {
        /// The step.
        step: String,
        /// The agent.
        agent: String,
        /// The capability.
        capability: String,
        /// Agents that offer it.
        agents: String,
    },
    /// A dependency does not exist.
    #[error("step `{step}`: it depends on `{on}`, which is no step; steps: {steps}")]
    NoSuchStep {
        /// The step.
        step: String,
        /// The dependency.
        on: String,
        /// Existing steps.
        steps: String,
    },
    /// A dependency has failed.
    #[error(
        "step `{step}`: it depends on `{on}`, which has failed; let it do without, or remove it"
    )]
    OnFailed {
        /// The step.
        step: String,
        /// The dependency.
        on: String,
    },
    /// The dependencies form a cycle.
    #[error("steps wait for each other: {0}")]
    Cycle(String),
    /// A reference is malformed or refers to nothing.
    #[error("{place}: {why}")]
    Reference {
        /// Its place, in words.
        place: String,
        /// The problem and the valid alternatives.
        why: String,
    },
    /// The payload does not fit the agent's input schema.
    #[error("step `{step}`: {why} (`{capability}` of agent `{agent}`)")]
    Unfit {
        /// The step.
        step: String,
        /// The agent.
        agent: String,
        /// The capability.
        capability: String,
        /// The mismatch.
        why: String,
    },
    /// The result has content that no step produced.
    #[error("{place}: {why}")]
    Result {
        /// The place, in words.
        place: String,
        /// The problem and the valid alternatives.
        why: String,
    },
    /// Number of further faults.
    #[error("and {0} more")]
    More(usize),
}

/// A text for quoting in a fault: one line, truncated.
pub(super) fn excerpt(text: &str) -> String {
    shortened(text, MAX_SHOWN)
}

/// A sentence for quoting in a fault.
pub(super) fn sentence(text: &str) -> String {
    shortened(text, 6 * MAX_SHOWN)
}

fn shortened(text: &str, most: usize) -> String {
    let kept = &text[..text.floor_char_boundary(most)];
    let line = kept.chars().map(|c| if c.is_control() { ' ' } else { c });
    let dots = (kept.len() < text.len()).then_some('…');
    line.chain(dots).collect()
}

/// A truncated list of names.
pub(super) fn listed<T: AsRef<str>>(names: impl IntoIterator<Item = T>) -> String {
    let mut names = names.into_iter();
    let first = names.by_ref().take(MAX_LISTED);
    let mut list: Vec<String> = first.map(|name| excerpt(name.as_ref())).collect();
    match (list.is_empty(), names.count()) {
        (true, _) => return "nothing".to_owned(),
        (false, 0) => {}
        (false, more) => list.push(format!("and {more} more")),
    }
    list.join(", ")
}

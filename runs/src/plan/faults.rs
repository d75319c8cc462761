//! What is wrong with a plan or a patch, in one line each, for a model or a person to mend.

use super::bounds::{MAX_DEPTH, MAX_OPERATIONS, MAX_PLAN_BYTES};

/// The longest text that is repeated in a fault, in bytes.
const MAX_SHOWN: usize = 96;

/// The most names that are listed in a fault.
const MAX_LISTED: usize = 16;

/// What is wrong. Each is one line of at most about 2 KiB that says where it is, what is wrong and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The plan or the patch is too large or too deep.
    #[error(
        "the {0} is too large: at most {MAX_PLAN_BYTES} bytes, nested at most {MAX_DEPTH} deep"
    )]
    TooLarge(&'static str),
    /// It does not have the form of a plan.
    #[error("this is no plan: {0}")]
    Form(String),
    /// The patch is no list of operations.
    #[error(
        "this is no patch: {0}; it must be an array of at most {MAX_OPERATIONS} operations of RFC 6902 (add, remove, replace, move, copy, test)"
    )]
    NoPatch(String),
    /// An operation of the patch can't be done; none was.
    #[error("operation {number} of the patch, {operation}: {why}; nothing was changed")]
    Operation {
        /// Its number, from 1.
        number: usize,
        /// What it is to do.
        operation: String,
        /// Why it can't.
        why: String,
    },
    /// A step that is begun or over was to be changed or removed.
    #[error("step `{0}`: it is begun or over, so it can't be changed or removed; add another step")]
    Begun(String),
    /// There are too many steps.
    #[error("there are {steps} steps, and at most {most} are allowed")]
    TooManySteps {
        /// How many there are.
        steps: usize,
        /// How many there may be.
        most: usize,
    },
    /// Too many steps wait for one another.
    #[error("{length} steps wait for one another, and at most {most} may: {chain}")]
    TooLongChain {
        /// How many there are.
        length: usize,
        /// How many there may be.
        most: usize,
        /// They, or their beginning and end.
        chain: String,
    },
    /// The budget does not allow so many steps.
    #[error("{steps} steps are not begun, and the budget allows {left} more calls")]
    TooManyCalls {
        /// The steps that are not begun.
        steps: usize,
        /// The calls that are left.
        left: u64,
    },
    /// Nothing may be handed to anyone.
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
    /// The payload is no object.
    #[error("step `{0}`: `payload` must be an object")]
    NoObject(String),
    /// Nobody offers it.
    #[error("step `{step}`: nobody here offers `{capability}`; offered: {offered}")]
    NotOffered {
        /// The step.
        step: String,
        /// What it wants done.
        capability: String,
        /// What is offered.
        offered: String,
    },
    /// The agent does not offer it.
    #[error("step `{step}`: agent `{agent}` does not offer `{capability}`; those who do: {agents}")]
    NotOfferedBy {
        /// The step.
        step: String,
        /// The agent that it names.
        agent: String,
        /// What it wants done.
        capability: String,
        /// Who offers that.
        agents: String,
    },
    /// It waits for a step that is not there.
    #[error("step `{step}`: it depends on `{on}`, which is no step; steps: {steps}")]
    NoSuchStep {
        /// The step.
        step: String,
        /// What it depends on.
        on: String,
        /// The steps that there are.
        steps: String,
    },
    /// It waits for a step that has failed.
    #[error(
        "step `{step}`: it depends on `{on}`, which has failed; let it do without, or remove it"
    )]
    OnFailed {
        /// The step.
        step: String,
        /// What it depends on.
        on: String,
    },
    /// Steps wait for each other.
    #[error("steps wait for each other: {0}")]
    Cycle(String),
    /// Something in a text is no reference, or refers to nothing.
    #[error("{place}: {why}")]
    Reference {
        /// Where it is, in words.
        place: String,
        /// What is wrong, and what would be right.
        why: String,
    },
    /// What goes into the step does not fit what its agent takes.
    #[error("step `{step}`: {why} (`{capability}` of agent `{agent}`)")]
    Unfit {
        /// The step.
        step: String,
        /// The agent that would be given it.
        agent: String,
        /// What it wants done.
        capability: String,
        /// What does not fit.
        why: String,
    },
    /// The result has something that no step made.
    #[error("{place}: {why}")]
    Result {
        /// Where it is, in words.
        place: String,
        /// What is wrong, and what would be right.
        why: String,
    },
    /// There are more.
    #[error("and {0} more")]
    More(usize),
}

/// A text as it is repeated: one line, not too long.
pub(super) fn shown(text: &str) -> String {
    shortened(text, MAX_SHOWN)
}

/// A sentence as it is repeated.
pub(super) fn told(text: &str) -> String {
    shortened(text, 6 * MAX_SHOWN)
}

fn shortened(text: &str, most: usize) -> String {
    let kept = &text[..text.floor_char_boundary(most)];
    let line = kept.chars().map(|c| if c.is_control() { ' ' } else { c });
    let dots = (kept.len() < text.len()).then_some('…');
    line.chain(dots).collect()
}

/// Names in a row.
pub(super) fn listed<T: AsRef<str>>(names: impl IntoIterator<Item = T>) -> String {
    let mut names = names.into_iter();
    let first = names.by_ref().take(MAX_LISTED);
    let mut list: Vec<String> = first.map(|name| shown(name.as_ref())).collect();
    match (list.is_empty(), names.count()) {
        (true, _) => return "nothing".to_owned(),
        (false, 0) => {}
        (false, more) => list.push(format!("and {more} more")),
    }
    list.join(", ")
}

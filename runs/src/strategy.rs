//! The pure part of a run: given what happened, what shall be done?

use crate::{effect::Step, event::RunOutcome, facts::Facts};

/// Decides about runs of one kind. It has no state of its own: the same facts always give the same answer, whoever asks and however
/// often, so that a run can be taken up by another process.
pub trait Strategy: Send + Sync {
    /// The strategy's name in journals.
    fn name(&self) -> &'static str;

    /// What is to be done, all of it: what is out already is named again. A step of which [`Facts::result`] gives nothing has not
    /// come back; while a strategy names none but such steps, it waits.
    fn next(&self, facts: &Facts) -> Next;

    /// How a run ends that cannot go on, because its budget or its time is used up; `error` says which. What is out is called back first.
    fn cut_short(&self, _facts: &Facts, error: &str) -> RunOutcome {
        RunOutcome::failed(error)
    }
}

/// What a strategy wants.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// These steps. What is out and not among them is called back.
    Steps(Vec<Step>),
    /// The end. What is out is called back first.
    Finish(RunOutcome),
}

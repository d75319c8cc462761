//! The pure part of a run: given what happened, what shall be done?

use std::{any::Any, fmt};

use crate::{effect::Step, event::RunOutcome, facts::Facts};

/// Decides about runs of one kind. It has no state of its own: the same facts always give the same answer, whoever asks and however
/// often, so that a run can be taken up by another process.
pub trait Strategy: Send + Sync {
    /// The strategy's name in journals.
    fn name(&self) -> &'static str;

    /// What is to be done, all of it: what is out already is named again. A step of which [`Facts::result`] gives nothing has not
    /// come back; while a strategy names none but such steps, it waits.
    fn next(&self, facts: &Facts) -> Next;

    /// The same, from where the last decision about the run has left `memory`, so that a decision costs as much in a long run as in a short
    /// one. With any memory that earlier events of the run have left, and with none, it gives the answer of [`next`](Self::next).
    fn advance(&self, facts: &Facts, _memory: &mut Memory) -> Next {
        self.next(facts)
    }

    /// How a run ends that cannot go on, because its budget or its time is used up; `error` says which. What is out is called back first.
    fn cut_short(&self, _facts: &Facts, error: &str) -> RunOutcome {
        RunOutcome::failed(error)
    }
}

/// How far a strategy has come with one run, in a form of its own. It follows from the run's facts: it is never written down, and who takes
/// the run up begins without.
#[derive(Default)]
pub struct Memory(Option<Box<dyn Any + Send>>);

impl Memory {
    /// What the last decision left; nothing at first, and after another strategy.
    pub fn take<T: Any>(&mut self) -> Option<T> {
        let left = self.0.take()?.downcast().ok()?;
        Some(*left)
    }

    /// Leaves this for the next decision.
    pub fn leave(&mut self, what: impl Any + Send) {
        self.0 = Some(Box::new(what));
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Memory").field(&self.0.is_some()).finish()
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

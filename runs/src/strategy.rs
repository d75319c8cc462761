//! The pure part of a run: facts in, wanted steps out.

use std::{any::Any, fmt};

use crate::{effect::Step, event::RunOutcome, facts::Facts};

/// Decides about runs of one kind. Stateless: the same facts always give the same answer, in every process, so that
/// another process can recover the run.
pub trait Strategy: Send + Sync {
    /// The strategy's name in journals.
    fn name(&self) -> &'static str;

    /// All wanted steps; those in flight must be named again. A step for which [`Facts::result`] is `None` has not
    /// returned; while a strategy names only such steps, it waits.
    fn next(&self, facts: &Facts) -> Next;

    /// Like [`next`](Self::next), from the cached state of the last decision, so that the cost of a decision does not
    /// grow with the run. With the state of any earlier point of the run, or none, the answer must equal that of
    /// [`next`](Self::next).
    fn advance(&self, facts: &Facts, _memory: &mut Memory) -> Next {
        self.next(facts)
    }

    /// Outcome of a run that cannot continue, because its budget or its time is used up; `error` says which. Steps in
    /// flight are recalled first.
    fn cut_short(&self, _facts: &Facts, error: &str) -> RunOutcome {
        RunOutcome::failed(error)
    }
}

/// A strategy's cached state of one run. Derived from the facts: it is never stored, and a recovered run starts without
/// it.
#[derive(Default)]
pub struct Memory(Option<Box<dyn Any + Send>>);

impl Memory {
    /// Takes the state of the last decision; `None` at first, and after another strategy.
    pub fn take<T: Any>(&mut self) -> Option<T> {
        let left = self.0.take()?.downcast().ok()?;
        Some(*left)
    }

    /// Stores the state for the next decision.
    pub fn leave(&mut self, what: impl Any + Send) {
        self.0 = Some(Box::new(what));
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Memory").field(&self.0.is_some()).finish()
    }
}

/// A strategy's decision.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// The wanted steps. Steps in flight that are missing here are recalled.
    Steps(Vec<Step>),
    /// The end. Steps in flight are recalled first.
    Finish(RunOutcome),
}

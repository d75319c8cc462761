//! App runs with plain values: a model that says what it is told to, or the offline one, and agents that are functions.

mod passed_over;
mod rounds;
mod shown;
mod stage;
mod steps;
mod unfinished;
mod verdicts;

thread_local! {
    /// The turns that were played.
    pub(super) static PLAYED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

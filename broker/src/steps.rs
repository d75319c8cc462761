//! Step counter: tests measure costs in steps instead of time. No effect outside of tests.

#[cfg(test)]
thread_local! {
    static STEPS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Counts a step of work whose number must not grow with the stored data.
#[inline]
pub(crate) fn step() {
    #[cfg(test)]
    STEPS.set(STEPS.get() + 1);
}

/// Runs an action and returns its number of steps.
#[cfg(test)]
pub(crate) fn count<T>(act: impl FnOnce() -> T) -> (usize, T) {
    let before = STEPS.get();
    let result = act();
    (STEPS.get() - before, result)
}

//! Counted steps of work: tests show costs by them instead of by a clock. Counts nothing outside of tests.

#[cfg(test)]
thread_local! {
    static STEPS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// One step of work whose number must not grow with what is stored.
#[inline]
pub(crate) fn step() {
    #[cfg(test)]
    STEPS.set(STEPS.get() + 1);
}

/// The steps that an action takes.
#[cfg(test)]
pub(crate) fn count<T>(act: impl FnOnce() -> T) -> (usize, T) {
    let before = STEPS.get();
    let result = act();
    (STEPS.get() - before, result)
}

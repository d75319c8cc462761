//! Runs: started, watched, answered and called back, whoever serves them.

pub(crate) mod brief;

//! Pauses between tries to connect.

use std::time::Duration;

const FIRST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(5);

/// The wait after so many failures in a row, the first being 1. It doubles from 100 ms to 5 s; `jitter`, from 0 to 1, takes up
/// to a half of it away, so that peers that lost the hub together do not come back together.
pub(crate) fn delay(failures: u32, jitter: f64) -> Duration {
    let doubled = FIRST.saturating_mul(1 << failures.saturating_sub(1).min(16));
    doubled
        .min(LONGEST)
        .mul_f64(1.0 - jitter.clamp(0.0, 1.0) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn doubles_up_to_five_seconds() {
        let delays = [1, 2, 3, 6, 7, 1000].map(|n| delay(n, 0.0).as_millis());
        assert_eq!(delays, [100, 200, 400, 3200, 5000, 5000]);
    }

    proptest! {
        #[test]
        fn stays_within_its_bounds(failures: u32, jitter in 0.0..=1.0) {
            let delay = delay(failures, jitter);
            prop_assert!(delay >= FIRST / 2 && delay <= LONGEST);
        }
    }
}

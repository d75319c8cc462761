//! Pauses before the model is asked again.

use std::time::Duration;

/// The longest pause that is not the provider's wish.
const LONGEST: Duration = Duration::from_secs(10);

/// The pause after the failure of `attempt` (from 0): what the provider asked for, else twice as long each time, from `base`
/// up to ten seconds. `jitter` in 0..1 spreads callers over the upper half of it.
pub(super) fn pause(
    attempt: u32,
    base: Duration,
    retry_after: Option<Duration>,
    jitter: f64,
) -> Duration {
    if let Some(wish) = retry_after {
        return wish;
    }
    let longest = base
        .saturating_mul(2u32.saturating_pow(attempt))
        .min(LONGEST);
    longest.mul_f64(0.5 + jitter.clamp(0.0, 1.0) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_a_limit_and_are_spread_over_their_upper_half() {
        let base = Duration::from_millis(500);
        for (attempt, jitter, expected_ms) in [
            (0, 0.0, 250),
            (0, 1.0, 500),
            (1, 1.0, 1_000),
            (3, 0.5, 3_000),
            (5, 1.0, 10_000),
            (40, 1.0, 10_000),
        ] {
            let pause = pause(attempt, base, None, jitter);
            assert_eq!(
                pause,
                Duration::from_millis(expected_ms),
                "attempt {attempt}, jitter {jitter}"
            );
        }
    }

    #[test]
    fn the_providers_wish_is_kept_to() {
        let wish = Duration::from_secs(42);
        assert_eq!(pause(0, Duration::from_millis(1), Some(wish), 0.0), wish);
    }
}

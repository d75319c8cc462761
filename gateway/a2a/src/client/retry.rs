//! When to try again, and after how long.

use std::time::Duration;

use super::Failure;

/// Tries of one call, or of coming back to one stream.
const MOST_TRIES: u32 = 5;

/// The first pause; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(250);

/// The pause before the next try after this many, with `luck` from 0 to 1 spreading those who wait at the same time; `None` to give up.
pub(super) fn pause(failure: &Failure, tries: u32, luck: f64) -> Option<Duration> {
    if !failure.is_retryable() || tries >= MOST_TRIES {
        return None;
    }
    let whole = FIRST_PAUSE * 2_u32.saturating_pow(tries.saturating_sub(1));
    Some(whole.mul_f64(0.5 + luck / 2.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tries_are_bounded_and_further_and_further_apart() {
        let passing = Failure::Deadline(1);
        let pauses: Vec<Option<u128>> = (1..=MOST_TRIES)
            .map(|tries| pause(&passing, tries, 1.0).map(|p| p.as_millis()))
            .collect();
        assert_eq!(pauses, [Some(250), Some(500), Some(1000), Some(2000), None]);
        assert_eq!(pause(&passing, 1, 0.0), Some(FIRST_PAUSE / 2));
        assert_eq!(pause(&Failure::Card("wrong".into()), 1, 0.0), None);
    }
}

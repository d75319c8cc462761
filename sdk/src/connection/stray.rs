//! A try to connect that was given up, and that the hub may still come upon.

use std::time::Duration;

use tokio::time::Instant;

/// How long the hub may take to come upon it.
const STRAYS: Duration = Duration::from_secs(30);

/// When the last such try was given up.
#[derive(Debug, Default)]
pub(super) struct Stray(Option<Instant>);

impl Stray {
    /// A try took too long.
    pub(super) fn given_up(&mut self, now: Instant) {
        self.0 = Some(now);
    }

    /// Whether what took the place of this process's stream may be that try of its own. It explains that once.
    pub(super) fn explains(&mut self, now: Instant) -> bool {
        let given_up = self.0.take();
        given_up.is_some_and(|at| now.duration_since(at) < STRAYS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_try_that_was_given_up_explains_one_lost_stream_soon_after() {
        let now = Instant::now();
        let mut stray = Stray::default();
        assert!(!stray.explains(now), "it is another process");
        stray.given_up(now);
        assert!(stray.explains(now + STRAYS / 2));
        assert!(!stray.explains(now + STRAYS / 2), "that came already");
        stray.given_up(now);
        assert!(!stray.explains(now + STRAYS));
    }
}

//! Delivery of a notification: what follows an attempt, and when it is given up.

use std::time::Duration;

use agenthub_sdk::Error as HubError;

/// Bounds of the attempts at one notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Attempts at most.
    pub tries: u32,
    /// Age after which there is no further attempt.
    pub age: Duration,
    /// Pause after the first failure; each further one doubles it.
    pub first_pause: Duration,
    /// The longest pause, a `Retry-After` of the receiver included.
    pub longest_pause: Duration,
    /// Time for one attempt.
    pub deadline: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            tries: 40,
            age: Duration::from_secs(2 * 3600),
            first_pause: Duration::from_secs(1),
            longest_pause: Duration::from_secs(5 * 60),
            deadline: Duration::from_secs(15),
        }
    }
}

/// Outcome of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// A response.
    Status {
        code: u16,
        retry_after: Option<Duration>,
    },
    /// None: nobody there, broken off, or too late.
    NoResponse(String),
    /// The address must not be asked.
    Forbidden(String),
}

/// An attempt that was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Attempt {
    /// Attempts at this notification, this one included.
    pub(crate) tries: u32,
    /// Age of the notification.
    pub(crate) age: Duration,
    /// Failures of the receiver in a row, this attempt not included.
    pub(crate) failures: u32,
}

/// The consequence of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Received.
    Delivered,
    /// Another attempt at it after a pause.
    Retry(Duration),
    /// Given up; the notifications behind it are not.
    GiveUp {
        why: String,
        /// Pause before the next one.
        pause: Duration,
    },
    /// The receiver wants none: its configuration is removed with all that waits for it.
    End(String),
}

/// Decides what follows. `jitter` is from 0 to 1 and shortens a pause by up to half.
pub(crate) fn next(
    answer: &Answer,
    attempt: Attempt,
    retry_policy: &RetryPolicy,
    jitter: f64,
) -> Next {
    let (why, asked) = match answer {
        Answer::Status { code, retry_after } => match code {
            200..300 => return Next::Delivered,
            // Of this body, not of the receiver.
            400 | 413 | 422 => {
                return Next::GiveUp {
                    why: format!("the receiver answered {code}"),
                    pause: Duration::ZERO,
                };
            }
            408 | 425 | 429 | 500..600 => (format!("the receiver answered {code}"), *retry_after),
            300..400 => {
                let why = format!("the receiver answered {code}, and redirects are not followed");
                return Next::End(why);
            }
            code => return Next::End(format!("the receiver answered {code}")),
        },
        Answer::NoResponse(why) => (why.clone(), None),
        Answer::Forbidden(why) => return Next::End(why.clone()),
    };
    let doubled = 1_u32 << attempt.failures.min(20);
    let pause = retry_policy.first_pause.saturating_mul(doubled);
    let pause = pause
        .min(retry_policy.longest_pause)
        .mul_f64(1.0 - jitter / 2.0);
    let asked = asked.unwrap_or_default().min(retry_policy.longest_pause);
    let pause = pause.max(asked);
    if attempt.tries >= retry_policy.tries || attempt.age >= retry_policy.age {
        let Attempt { tries, age, .. } = attempt;
        let why = format!(
            "{why}; attempt {tries}, {} s after the event",
            age.as_secs()
        );
        return Next::GiveUp { why, pause };
    }
    Next::Retry(pause)
}

/// Decides what follows if the task that is to be sent as it is cannot be read; `None` if it is to be read again. `is_to_come` if nothing
/// has happened to it so far.
pub(crate) fn without_task(error: &HubError, is_to_come: bool) -> Option<Next> {
    match error {
        // The message that makes it may still be on its way.
        HubError::NotFound(_) if is_to_come => None,
        HubError::NotFound(_) | HubError::Invalid(_) | HubError::Lost { .. } => {
            Some(Next::End("the task is gone".to_owned()))
        }
        error if error.is_retryable() || matches!(error, HubError::Closed(_)) => {
            tracing::debug!(%error, "a push notification waits for the hub");
            None
        }
        error => Some(Next::GiveUp {
            why: error.to_string(),
            pause: Duration::ZERO,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const RETRY_POLICY: RetryPolicy = RetryPolicy {
        tries: 5,
        age: Duration::from_secs(100),
        first_pause: Duration::from_secs(1),
        longest_pause: Duration::from_secs(10),
        deadline: Duration::from_secs(1),
    };

    fn status(code: u16) -> Answer {
        Answer::Status {
            code,
            retry_after: None,
        }
    }

    fn after(answer: &Answer, tries: u32, age_s: u64, failures: u32) -> Next {
        let attempt = Attempt {
            tries,
            age: Duration::from_secs(age_s),
            failures,
        };
        next(answer, attempt, &RETRY_POLICY, 0.0)
    }

    fn retry(seconds: u64) -> Next {
        Next::Retry(Duration::from_secs(seconds))
    }

    /// Seconds before the next notification, if this one is given up.
    fn given_up(next: Next) -> Option<u64> {
        match next {
            Next::GiveUp { pause, .. } => Some(pause.as_secs()),
            _ => None,
        }
    }

    /// spec: A2A 1.0.1 §4.3.3
    #[test]
    fn success_is_any_2xx_and_passing_faults_are_tried_again() {
        for code in [200, 202, 204, 299] {
            assert_eq!(after(&status(code), 1, 0, 0), Next::Delivered, "{code}");
        }
        for code in [408, 425, 429, 500, 502, 503, 504] {
            assert_eq!(after(&status(code), 1, 0, 0), retry(1), "{code}");
        }
        let nobody = Answer::NoResponse("nobody".into());
        assert_eq!(after(&nobody, 1, 0, 0), retry(1));
    }

    #[test]
    fn a_receiver_that_wants_none_ends_it_and_a_body_that_it_does_not_take_does_not() {
        for code in [301, 302, 307, 401, 403, 404, 405, 410] {
            assert!(
                matches!(after(&status(code), 1, 0, 0), Next::End(_)),
                "{code}"
            );
        }
        for code in [400, 413, 422] {
            assert_eq!(given_up(after(&status(code), 1, 0, 0)), Some(0), "{code}");
        }
        let forbidden = Answer::Forbidden("private".into());
        assert_eq!(after(&forbidden, 1, 0, 0), Next::End("private".into()));
    }

    #[test]
    fn pauses_double_up_to_the_longest_and_respect_the_receiver() {
        let busy = status(503);
        assert_eq!(after(&busy, 2, 1, 1), retry(2));
        assert_eq!(after(&busy, 3, 3, 3), retry(8));
        assert_eq!(after(&busy, 4, 9, 4), retry(10));
        assert_eq!(after(&busy, 4, 9, u32::MAX), retry(10));
        let asks = |seconds| Answer::Status {
            code: 429,
            retry_after: Some(Duration::from_secs(seconds)),
        };
        assert_eq!(after(&asks(7), 1, 0, 0), retry(7));
        assert_eq!(after(&asks(7), 1, 0, 3), retry(8));
        assert_eq!(after(&asks(86_400), 1, 0, 0), retry(10));
    }

    #[test]
    fn a_task_that_may_come_is_waited_for_and_one_that_is_gone_or_denied_is_not() {
        let missing = HubError::NotFound("t".into());
        assert_eq!(without_task(&missing, true), None);
        assert!(matches!(without_task(&missing, false), Some(Next::End(_))));
        let away = HubError::Unavailable("soon".into());
        assert_eq!(without_task(&away, false), None);
        let denied = without_task(&HubError::Denied("no".into()), false);
        assert_eq!(denied.and_then(given_up), Some(0));
    }

    #[test]
    fn attempts_are_bounded_in_number_and_time() {
        let busy = status(503);
        assert!(matches!(after(&busy, 4, 99, 0), Next::Retry(_)));
        assert_eq!(given_up(after(&busy, 5, 1, 0)), Some(1));
        assert_eq!(given_up(after(&busy, 1, 100, 2)), Some(4));
    }

    proptest! {
        #[test]
        fn jitter_takes_half_of_a_pause_at_most(failures in 0_u32..40, jitter in 0.0_f64..=1.0) {
            let attempt = Attempt { tries: 1, age: Duration::ZERO, failures };
            let Next::Retry(whole) = next(&status(500), attempt, &RETRY_POLICY, 0.0) else { panic!("it retries") };
            let Next::Retry(pause) = next(&status(500), attempt, &RETRY_POLICY, jitter) else { panic!("it retries") };
            prop_assert!(pause <= whole && pause >= whole / 2);
        }
    }
}

//! Retries: after which failures, and after which pause.

use std::time::Duration;

use super::Failure;

/// Tries of one call.
const MOST_CALLS: u32 = 5;

/// The same where the agent took the request and broke off: it may have acted on it.
const MOST_BREAKS: u32 = 2;

/// Tries of coming back to a task that is known to be there: whoever has it may be starting again.
const MOST_RETURNS: u32 = 10;

/// The first pause; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(250);

/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// The longest pause that an agent may ask for. One that asks for a longer one is not asked again.
const LONGEST_ASKED: Duration = Duration::from_secs(60);

/// Something that is tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trying {
    /// A call.
    Call,
    /// A call of which its caller says that the agent knows it again: it is tried again where the agent may have acted on it, too.
    Repeatable,
    /// To come back to a task.
    Return,
}

/// The pause before the next try after this many, with `luck` from 0 to 1 spreading those who wait at the same time; `None` to give up.
pub(super) fn pause(trying: Trying, failure: &Failure, tries: u32, luck: f64) -> Option<Duration> {
    let (most, is_retryable) = match trying {
        Trying::Call if failure.is_break() => (MOST_BREAKS, true),
        Trying::Call => (MOST_CALLS, failure.is_retryable()),
        Trying::Repeatable => (MOST_CALLS, failure.is_of_health()),
        // Nothing is done twice by it: an agent that is not ready yet may well say that it is broken.
        Trying::Return => (
            MOST_RETURNS,
            failure.is_retryable() || failure.is_internal(),
        ),
    };
    if !is_retryable || tries >= most {
        return None;
    }
    let doubled = FIRST_PAUSE * 2_u32.saturating_pow(tries.saturating_sub(1));
    let pause = doubled.min(LONGEST_PAUSE).mul_f64(0.5 + luck / 2.0);
    match failure.retry_after() {
        Some(asked) if asked > LONGEST_ASKED => None,
        Some(asked) => Some(pause.max(asked)),
        None => Some(pause),
    }
}

#[cfg(test)]
mod tests {
    use agenthub_outbound::Error as Outbound;

    use serde_json::Value;

    use super::*;
    use crate::client::failure::of_http;

    fn check(trying: Trying, failure: &Failure, expected: &[u128]) {
        let pauses = (1..).map_while(|tries| pause(trying, failure, tries, 1.0));
        let pauses: Vec<u128> = pauses.map(|pause| pause.as_millis()).collect();
        assert_eq!(pauses, expected, "{trying:?} after {failure:?}");
    }

    #[test]
    fn tries_are_bounded_and_further_and_further_apart() {
        let passing = Failure::Deadline(1);
        check(Trying::Call, &passing, &[250, 500, 1000, 2000]);
        let returns = [250, 500, 1000, 2000, 4000, 5000, 5000, 5000, 5000];
        check(Trying::Return, &passing, &returns);
        let broken = Outbound::Broken {
            host: "there".into(),
            why: "reset".into(),
        };
        check(Trying::Call, &broken.clone().into(), &[250]);
        check(Trying::Return, &broken.into(), &returns);
        let spread = pause(Trying::Call, &passing, 1, 0.0);
        assert_eq!(spread, Some(FIRST_PAUSE / 2));
        for trying in [Trying::Call, Trying::Return] {
            check(trying, &Failure::Card("wrong".into()), &[]);
        }
        let broken = Failure::Refused {
            kind: None,
            code: -32603,
            message: String::new(),
            is_transient: false,
            retry_after: None,
        };
        check(Trying::Call, &broken, &[]);
        check(Trying::Return, &broken, &returns);
    }

    /// spec: EXE-5.5
    #[test]
    fn what_the_agent_knows_again_is_tried_again_after_any_failure_of_its_server() {
        for status in [500, 501, 502, 503, 599] {
            let failure = of_http(status, &Value::Null);
            check(Trying::Repeatable, &failure, &[250, 500, 1000, 2000]);
        }
        check(Trying::Call, &of_http(500, &Value::Null), &[]);
        for status in [400, 401, 404, 422] {
            check(Trying::Repeatable, &of_http(status, &Value::Null), &[]);
        }
    }

    /// spec: EXE-5.5
    #[test]
    fn an_agent_is_asked_again_when_it_says_so_and_not_before() {
        let asked = |seconds| {
            let pause = Some(Duration::from_secs(seconds));
            of_http(429, &Value::Null).after(pause)
        };
        check(Trying::Call, &asked(1), &[1000, 1000, 1000, 2000]);
        check(Trying::Call, &asked(60), &[60_000; 4]);
        check(Trying::Call, &asked(61), &[]);
    }
}

//! Limits of a principal and of its namespace, of which both hold: how much a caller may still use, and when again.

use std::{
    fmt,
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};

/// Words for what is limited.
pub(crate) const PUBLISHES: &str = "publishes a second";
pub(crate) const STREAMS: &str = "streams at once";
pub(crate) const OPEN_TASKS: &str = "open tasks";
pub(crate) const MAILBOX_BYTES: &str = "mailbox bytes";
pub(crate) const TOKENS: &str = "tokens a day";
pub(crate) const COST: &str = "millionths of a dollar a day";

/// Limits; what is not said is unlimited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quota {
    /// Messages, statuses and artifacts that may be published in a second. As many may come at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub publishes_per_second: Option<u32>,
    /// Streams that may be open at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streams: Option<u32>,
    /// Tasks that may be open at once, by the principal who asked first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_tasks: Option<u32>,
    /// Bytes that may wait in the mailboxes of the agents that a principal owns, or of a namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mailbox_bytes: Option<u64>,
    /// Tokens that models may take in a day of UTC, by the principal who asked first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_per_day: Option<u64>,
    /// Millionths of a US dollar that models may cost in a day of UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micros_per_day: Option<u64>,
}

impl Quota {
    /// No limits.
    pub const NONE: Self = Self {
        publishes_per_second: None,
        streams: None,
        open_tasks: None,
        mailbox_bytes: None,
        tokens_per_day: None,
        cost_micros_per_day: None,
    };

    /// The wider of both, limit by limit; that of a principal with two roles. Where one says nothing, the other holds.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            publishes_per_second: self.publishes_per_second.max(other.publishes_per_second),
            streams: self.streams.max(other.streams),
            open_tasks: self.open_tasks.max(other.open_tasks),
            mailbox_bytes: self.mailbox_bytes.max(other.mailbox_bytes),
            tokens_per_day: self.tokens_per_day.max(other.tokens_per_day),
            cost_micros_per_day: self.cost_micros_per_day.max(other.cost_micros_per_day),
        }
    }

    /// These limits, and where they say nothing those of `others`.
    #[must_use]
    pub fn over(self, others: Self) -> Self {
        Self {
            publishes_per_second: self.publishes_per_second.or(others.publishes_per_second),
            streams: self.streams.or(others.streams),
            open_tasks: self.open_tasks.or(others.open_tasks),
            mailbox_bytes: self.mailbox_bytes.or(others.mailbox_bytes),
            tokens_per_day: self.tokens_per_day.or(others.tokens_per_day),
            cost_micros_per_day: self.cost_micros_per_day.or(others.cost_micros_per_day),
        }
    }
}

/// Use of what a hub counts: of a principal, or of its namespace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HubUse {
    /// Tasks that are open.
    pub open_tasks: u64,
    /// Bytes in mailboxes.
    pub mailbox_bytes: u64,
    /// Tokens of the day.
    pub tokens: u64,
    /// Cost of the day, in millionths of a US dollar.
    pub cost_micros: u64,
}

impl Quota {
    /// Checks whether another task may be open.
    ///
    /// # Errors
    ///
    /// The limit is reached. Nobody knows when a task ends.
    pub fn admits_task(&self, whose: &str, used: HubUse) -> Result<(), QuotaExceeded> {
        let limit = self.open_tasks.map(u64::from);
        within(whose, limit, used.open_tasks, OPEN_TASKS, None)
    }

    /// Checks whether models may be used for something more today.
    ///
    /// # Errors
    ///
    /// A limit is reached. `again` is the time until the next day begins.
    pub fn admits_use(
        &self,
        whose: &str,
        used: HubUse,
        again: Duration,
    ) -> Result<(), QuotaExceeded> {
        let again = Some(again);
        within(whose, self.tokens_per_day, used.tokens, TOKENS, again)?;
        let limit = self.cost_micros_per_day;
        within(whose, limit, used.cost_micros, COST, again)
    }

    /// True if it limits what models may take in a day.
    pub(crate) fn limits_day(&self) -> bool {
        self.tokens_per_day.is_some() || self.cost_micros_per_day.is_some()
    }

    /// Tokens and cost that are left of the day; nothing where there is no limit.
    pub fn left_of_day(&self, used: HubUse) -> (Option<u64>, Option<u64>) {
        let left = |limit: Option<u64>, used| limit.map(|limit| limit.saturating_sub(used));
        (
            left(self.tokens_per_day, used.tokens),
            left(self.cost_micros_per_day, used.cost_micros),
        )
    }
}

/// Checks that less than the limit is used.
fn within(
    whose: &str,
    limit: Option<u64>,
    used: u64,
    what: &str,
    again: Option<Duration>,
) -> Result<(), QuotaExceeded> {
    match limit.filter(|limit| used >= *limit) {
        None => Ok(()),
        Some(limit) => {
            let used = format!("has {used}");
            Err(QuotaExceeded::new(whose, limit, what, &used, again))
        }
    }
}

/// Time after which mail may fit again into mailboxes that are full: soon if their agent is there and takes it.
#[must_use]
pub const fn mail_again(is_online: bool) -> Duration {
    match is_online {
        true => Duration::from_secs(1),
        false => Duration::from_secs(30),
    }
}

/// The refusal of what a quota does not allow.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}: {}", Again(*.again))]
pub struct QuotaExceeded {
    /// Such as `"alice"` or `namespace "team"`.
    pub whose: String,
    /// The quota and its use, in words.
    pub reason: String,
    /// Time after which it may be tried again, if that is known.
    pub again: Option<Duration>,
}

impl QuotaExceeded {
    /// The refusal by a limit; `used` is a verb and the use.
    pub(crate) fn new(
        whose: &str,
        limit: u64,
        what: &str,
        used: &str,
        again: Option<Duration>,
    ) -> Self {
        Self {
            reason: format!("{whose} has a quota of {limit} {what}, and {used}"),
            whose: whose.to_owned(),
            again,
        }
    }

    /// Time after which a client asks again that waits for nothing else.
    pub fn retry_after(&self) -> Duration {
        self.again.unwrap_or(SOON)
    }

    /// The refusal of mail for an agent whose mailboxes have no room. Its sender is told neither whose quota that is nor how large.
    pub fn of_mailbox(agent: &str, again: Duration) -> Self {
        Self {
            whose: format!("the owner of \"{agent}\""),
            reason: format!(
                "the mailboxes of \"{agent}\" are full: what waits for the agents of its owner has reached a quota"
            ),
            again: Some(again),
        }
    }

    /// The refusal of mail for any agent of a namespace.
    pub fn of_namespace_mail(namespace: &str, limit: u64, used: u64, again: Duration) -> Self {
        let whose = format!("namespace \"{namespace}\"");
        let used = format!("has {used} waiting");
        Self::new(&whose, limit, MAILBOX_BYTES, &used, Some(again))
    }
}

/// Time after which to ask again where nobody knows when one of what is open ends.
const SOON: Duration = Duration::from_secs(5);

/// Words for when to come back.
struct Again(Option<Duration>);

impl fmt::Display for Again {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(again) if again >= Duration::from_secs(10) => {
                write!(f, "come back in {} s", again.as_secs())
            }
            Some(again) => write!(f, "come back in {} ms", again.as_millis().max(1)),
            None => f.write_str("end some first"),
        }
    }
}

/// Token bucket of publishes: fills at the rate of the quota, and holds the publishes of one second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bucket {
    /// Publishes that may come at once.
    left: f64,
    at: Instant,
}

impl Bucket {
    /// A full one.
    pub(crate) fn full(rate: u32, now: Instant) -> Self {
        Self {
            left: f64::from(rate),
            at: now,
        }
    }

    /// Fills it up to now.
    pub(crate) fn fill(&mut self, rate: u32, now: Instant) {
        let rate = f64::from(rate);
        let since = now.saturating_duration_since(self.at).as_secs_f64();
        self.left = (self.left + since * rate).min(rate);
        self.at = self.at.max(now);
    }

    /// Number of publishes that may come now, of those that are wanted.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // between 0 and the rate
    pub(crate) fn allowed(&self, wanted: usize) -> usize {
        (self.left as usize).min(wanted)
    }

    /// Takes publishes that were allowed.
    #[allow(clippy::cast_precision_loss)] // at most the rate
    pub(crate) fn take(&mut self, count: usize) {
        self.left -= count as f64;
    }

    /// Time until so many may come, or as many as ever may.
    #[allow(clippy::cast_precision_loss)] // at most the rate
    pub(crate) fn again(&self, rate: u32, wanted: usize) -> Duration {
        let rate = f64::from(rate);
        let missing = (wanted as f64).min(rate).max(1.0) - self.left;
        match rate > 0.0 {
            true => Duration::try_from_secs_f64(missing.max(0.0) / rate).unwrap_or_default(),
            false => Duration::from_secs(24 * 3600),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Issue 25: publishes a second, with when to come back.
    #[test]
    fn a_bucket_lets_a_second_of_publishes_through_and_then_the_rate() {
        let begin = Instant::now();
        let at = |ms: u64| begin + Duration::from_millis(ms);
        let mut bucket = Bucket::full(100, begin);
        assert_eq!(bucket.allowed(150), 100);
        bucket.take(100);
        assert_eq!(bucket.allowed(1), 0);
        assert_eq!(bucket.again(100, 1), Duration::from_millis(10));
        assert_eq!(bucket.again(100, 50), Duration::from_millis(500));
        assert_eq!(
            bucket.again(100, 500),
            Duration::from_secs(1),
            "no more fits ever"
        );
        bucket.fill(100, at(10));
        assert_eq!(bucket.allowed(150), 1);
        bucket.fill(100, at(9));
        assert_eq!(bucket.allowed(150), 1, "time does not go back");
        bucket.fill(100, at(60_000));
        assert_eq!(bucket.allowed(150), 100, "an hour of silence is no credit");
        // A rate that becomes lower holds at once.
        bucket.fill(5, at(60_000));
        assert_eq!(bucket.allowed(150), 5);
        let none = Bucket::full(0, begin);
        assert_eq!(none.allowed(1), 0);
        assert!(none.again(0, 1) > Duration::from_secs(3600));
    }

    /// Over any time at all, no more comes through than a second's worth and the rate.
    #[test]
    fn no_pattern_of_asking_gets_more_than_the_rate() {
        let begin = Instant::now();
        let mut bucket = Bucket::full(50, begin);
        let mut taken = 0;
        for step in 0..10_000_u64 {
            let now = begin + Duration::from_millis(step * 7 % 13 + step);
            bucket.fill(50, now);
            let allowed = bucket.allowed((step % 5) as usize);
            bucket.take(allowed);
            taken += allowed;
        }
        assert!(taken <= 50 + 10_013 * 50 / 1000, "{taken}");
        assert!(taken >= 10_000 * 50 / 1000, "{taken}");
    }

    /// Issue 25: open tasks, tokens and money a day; the refusal names quota, use and limit.
    #[test]
    fn a_task_is_admitted_while_nothing_is_used_up() {
        let quota = Quota {
            open_tasks: Some(2),
            tokens_per_day: Some(1000),
            cost_micros_per_day: Some(5),
            ..Quota::NONE
        };
        let used = |open_tasks, tokens, cost_micros| HubUse {
            open_tasks,
            tokens,
            cost_micros,
            ..HubUse::default()
        };
        let again = Duration::from_secs(90);
        let of = |used| {
            let admitted = quota.admits_task("\"alice\"", used);
            let admitted = admitted.and_then(|()| quota.admits_use("\"alice\"", used, again));
            admitted.map_err(|e| e.to_string())
        };
        assert_eq!(of(used(1, 999, 4)), Ok(()));
        for (used, said) in [
            (
                used(2, 0, 0),
                "\"alice\" has a quota of 2 open tasks, and has 2: end some first",
            ),
            (
                used(0, 1200, 0),
                "\"alice\" has a quota of 1000 tokens a day, and has 1200: come back in 90 s",
            ),
            (
                used(0, 0, 5),
                "\"alice\" has a quota of 5 millionths of a dollar a day, and has 5: come back in 90 s",
            ),
        ] {
            assert_eq!(of(used), Err(said.to_owned()));
        }
        assert_eq!(quota.left_of_day(used(0, 400, 9)), (Some(600), Some(0)));
        assert_eq!(Quota::NONE.left_of_day(used(0, 400, 9)), (None, None));
    }

    #[test]
    fn the_nearer_quota_holds_and_of_two_roles_the_wider() {
        let of = |publishes_per_second, streams| Quota {
            publishes_per_second,
            streams,
            ..Quota::NONE
        };
        assert_eq!(
            of(Some(5), None).over(of(Some(9), Some(2))),
            of(Some(5), Some(2))
        );
        assert_eq!(
            of(Some(5), None).or(of(Some(9), Some(2))),
            of(Some(9), Some(2))
        );
    }
}

//! Bound of attempts to log in after failures.

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv6Addr},
    time::{Duration, Instant},
};

/// Time in which failures are counted.
const WITHIN: Duration = Duration::from_secs(60);

/// Failures of one address in that time.
const MOST: u32 = 10;

/// Maximum number of addresses that are counted. With more, those begin anew that need not wait: whoever has many addresses frees none that waits.
const ADDRESSES: usize = 10_000;

/// Failed attempts to log in, by the address that they came from.
#[derive(Debug, Default)]
pub(super) struct Attempts(HashMap<IpAddr, Failures>);

#[derive(Debug)]
struct Failures {
    since: Instant,
    count: u32,
}

impl Attempts {
    /// # Errors
    ///
    /// The time after which that address may try again.
    pub(super) fn check(&self, address: IpAddr, now: Instant) -> Result<(), Duration> {
        let Some(failures) = self.0.get(&network(address)) else {
            return Ok(());
        };
        let since = now.duration_since(failures.since);
        match failures.count >= MOST && since < WITHIN {
            true => Err(WITHIN - since),
            false => Ok(()),
        }
    }

    /// Counts a failure.
    pub(super) fn failed(&mut self, address: IpAddr, now: Instant) {
        if self.0.len() >= ADDRESSES {
            self.0.retain(|_, f| now.duration_since(f.since) < WITHIN);
        }
        if self.0.len() >= ADDRESSES {
            self.0.retain(|_, f| f.count >= MOST);
        }
        if self.0.len() >= ADDRESSES && !self.0.contains_key(&network(address)) {
            return;
        }
        let failures = self.0.entry(network(address)).or_insert(Failures {
            since: now,
            count: 0,
        });
        if now.duration_since(failures.since) >= WITHIN {
            *failures = Failures {
                since: now,
                count: 0,
            };
        }
        failures.count += 1;
    }
}

/// The network that one customer has: an address of version 4, or 64 bits of version 6.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << 64)).into(),
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn who_has_failed_ten_times_in_a_minute_waits_and_nobody_else_does() {
        let address = |text: &str| text.parse().expect("an address");
        let (begun, mut attempts) = (Instant::now(), Attempts::default());
        for _ in 0..MOST {
            assert_eq!(attempts.check(address("2001:db8::1"), begun), Ok(()));
            attempts.failed(address("2001:db8::1"), begun);
        }
        let after = begun + Duration::from_secs(20);
        let wait = Err(Duration::from_secs(40));
        assert_eq!(attempts.check(address("2001:db8::2"), after), wait);
        assert_eq!(attempts.check(address("2001:db8:0:1::1"), after), Ok(()));
        assert_eq!(attempts.check(address("192.0.2.1"), after), Ok(()));
        let later = begun + WITHIN;
        assert_eq!(attempts.check(address("2001:db8::1"), later), Ok(()));
        attempts.failed(address("2001:db8::1"), later);
        assert_eq!(attempts.check(address("2001:db8::1"), later), Ok(()));
    }

    #[test]
    fn what_is_counted_is_bounded() {
        let (now, mut attempts) = (Instant::now(), Attempts::default());
        for number in 0..=u32::try_from(ADDRESSES).expect("a few") {
            attempts.failed(IpAddr::V4(number.into()), now);
        }
        assert!(attempts.0.len() <= ADDRESSES);
    }

    /// Issue 25: many addresses do not free the one that waits.
    #[test]
    fn who_waits_goes_on_waiting_whoever_else_fails() {
        let (now, mut attempts) = (Instant::now(), Attempts::default());
        let waits = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
        for _ in 0..MOST {
            attempts.failed(waits, now);
        }
        for number in 0..=3 * u32::try_from(ADDRESSES).expect("a few") {
            attempts.failed(IpAddr::V4(number.into()), now);
        }
        assert_eq!(attempts.check(waits, now), Err(WITHIN));
        assert!(attempts.0.len() <= ADDRESSES);
        let other = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2));
        assert_eq!(attempts.check(other, now), Ok(()));
    }
}

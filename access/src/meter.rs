//! The use of what quotas limit at once, of principals and namespaces of a running server.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use crate::{
    Caller,
    quota::{
        Bucket, COST, HubUse, MAILBOX_BYTES, OPEN_TASKS, PUBLISHES, Quota, QuotaExceeded, STREAMS,
        TOKENS,
    },
};

/// Number of accounts from which on those that are not in use are forgotten.
const ACCOUNTS: usize = 4096;

/// Maximum streams of reflection of a principal that has a quota of streams.
const MOST_REFLECTIONS: u32 = 8;

/// The same of a namespace.
const MOST_REFLECTIONS_OF_NAMESPACE: u32 = 64;

/// Words for streams of reflection in a refusal.
const REFLECTION_STREAMS: &str = "streams of reflection at once";

/// Time after which a bucket is full, whatever was taken.
const FULL: Duration = Duration::from_secs(1);

/// All accounts. Clones are the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct Meters(Arc<Mutex<HashMap<Owner, Arc<Account>>>>);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Owner {
    Principal { name: String, namespace: String },
    Namespace(String),
}

/// Use of one principal or namespace.
#[derive(Debug)]
struct Account {
    whose: String,
    is_namespace: bool,
    used: Mutex<Used>,
}

#[derive(Debug, Default)]
struct Used {
    bucket: Option<Bucket>,
    at: Option<Instant>,
    streams: u32,
    reflections: u32,
}

/// The accounts of a caller, with its quotas: its own and that of its namespace. Without a quota there is none.
#[derive(Clone, Debug, Default)]
pub struct Meter(Vec<(Quota, Arc<Account>)>);

/// A stream that counts until the last clone of this is dropped.
#[derive(Clone, Debug)]
pub struct StreamPermit {
    _counted: Arc<Counted>,
}

#[derive(Debug, Default)]
struct Counted {
    accounts: Vec<Arc<Account>>,
    is_reflection: bool,
}

impl Meters {
    /// The meter of a caller.
    pub(crate) fn of(&self, caller: &Caller) -> Meter {
        let (own, namespace) = caller.quotas();
        let mut accounts = Vec::new();
        if own != Quota::NONE {
            let owner = Owner::Principal {
                name: caller.principal.clone(),
                namespace: caller.namespace.clone(),
            };
            accounts.push((own, self.account(owner)));
        }
        if namespace != Quota::NONE {
            let owner = Owner::Namespace(caller.namespace.clone());
            accounts.push((namespace, self.account(owner)));
        }
        Meter(accounts)
    }

    fn account(&self, owner: Owner) -> Arc<Account> {
        let mut accounts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(account) = accounts.get(&owner) {
            return Arc::clone(account);
        }
        if accounts.len() >= ACCOUNTS {
            accounts.retain(|_, account| Arc::strong_count(account) > 1 || account.is_in_use());
        }
        let account = Arc::new(Account {
            is_namespace: matches!(owner, Owner::Namespace(_)),
            whose: match &owner {
                Owner::Principal { name, .. } => format!("\"{name}\""),
                Owner::Namespace(name) => format!("namespace \"{name}\""),
            },
            used: Mutex::default(),
        });
        accounts.insert(owner, Arc::clone(&account));
        account
    }
}

impl Account {
    fn used(&self) -> MutexGuard<'_, Used> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_in_use(&self) -> bool {
        let used = self.used();
        used.streams + used.reflections > 0 || used.at.is_some_and(|at| at.elapsed() < FULL)
    }
}

impl Used {
    /// The count of streams, or of those of reflection.
    fn count(&mut self, is_reflection: bool) -> &mut u32 {
        match is_reflection {
            false => &mut self.streams,
            true => &mut self.reflections,
        }
    }

    /// The bucket, filled up to now.
    fn bucket(&mut self, rate: u32, now: Instant) -> &mut Bucket {
        self.at = Some(now);
        let bucket = self.bucket.get_or_insert_with(|| Bucket::full(rate, now));
        bucket.fill(rate, now);
        bucket
    }
}

impl Meter {
    /// The meter of a request that has passed a server's gate.
    pub fn of_request(extensions: &http::Extensions) -> Self {
        extensions.get::<Self>().cloned().unwrap_or_default()
    }

    /// True if nothing is limited.
    pub fn is_unlimited(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes publishes of a number that is wanted: how many may come, and if not all, why.
    pub fn publish(&self, wanted: usize, now: Instant) -> (usize, Option<QuotaExceeded>) {
        let limited = || {
            self.0
                .iter()
                .filter_map(|(quota, account)| Some((quota.publishes_per_second?, account)))
        };
        let (mut allowed, mut refusal) = (wanted, None);
        // In one order for all, so that nobody waits in a circle.
        let mut held: Vec<_> = limited()
            .map(|(rate, account)| (rate, account, account.used()))
            .collect();
        for (rate, account, used) in &mut held {
            let bucket = used.bucket(*rate, now);
            if bucket.allowed(allowed) < allowed {
                allowed = bucket.allowed(allowed);
                let mut left = *bucket;
                left.take(allowed);
                refusal = Some(QuotaExceeded::new(
                    &account.whose,
                    u64::from(*rate),
                    PUBLISHES,
                    &format!("{allowed} of {wanted} may come now"),
                    Some(left.again(*rate, wanted - allowed)),
                ));
            }
        }
        for (rate, _, used) in &mut held {
            used.bucket(*rate, now).take(allowed);
        }
        (allowed, refusal)
    }

    /// Counts a stream until the permit is dropped.
    ///
    /// # Errors
    ///
    /// There are as many as there may be.
    pub fn stream(&self) -> Result<StreamPermit, QuotaExceeded> {
        self.counted(false)
    }

    /// Counts a stream of reflection, which takes none of the streams of the quota; there are 8 at a time, 64 of a namespace, where
    /// that limits streams.
    ///
    /// # Errors
    ///
    /// There are as many as there may be.
    pub fn reflection_stream(&self) -> Result<StreamPermit, QuotaExceeded> {
        self.counted(true)
    }

    fn counted(&self, is_reflection: bool) -> Result<StreamPermit, QuotaExceeded> {
        let mut counted = Counted {
            accounts: Vec::new(),
            is_reflection,
        };
        for (quota, account) in &self.0 {
            let mut used = account.used();
            let (limit, what) = match is_reflection {
                false => (quota.streams, STREAMS),
                true if account.is_namespace => (
                    quota.streams.map(|_| MOST_REFLECTIONS_OF_NAMESPACE),
                    REFLECTION_STREAMS,
                ),
                true => (quota.streams.map(|_| MOST_REFLECTIONS), REFLECTION_STREAMS),
            };
            let open = used.count(is_reflection);
            if let Some(limit) = limit
                && *open >= limit
            {
                let has = format!("has {open} open");
                let (whose, limit) = (&account.whose, u64::from(limit));
                return Err(QuotaExceeded::new(whose, limit, what, &has, None));
            }
            *open += 1;
            counted.accounts.push(Arc::clone(account));
        }
        Ok(StreamPermit {
            _counted: Arc::new(counted),
        })
    }

    /// Each limit: whose it is, of what, how much, and what is used of it. `counted` is the use of the caller and of its namespace as the hub
    /// counts it.
    pub fn uses(
        &self,
        counted: (HubUse, HubUse),
        now: Instant,
    ) -> Vec<(String, &'static str, u64, u64)> {
        let mut uses = Vec::new();
        for (quota, account) in &self.0 {
            let counted = if account.is_namespace {
                counted.1
            } else {
                counted.0
            };
            let mut used = account.used();
            let published = quota.publishes_per_second.map_or(0, |rate| {
                let left = used.bucket(rate, now).allowed(usize::MAX);
                u64::from(rate).saturating_sub(left as u64)
            });
            let of = [
                (
                    PUBLISHES,
                    quota.publishes_per_second.map(u64::from),
                    published,
                ),
                (
                    STREAMS,
                    quota.streams.map(u64::from),
                    u64::from(used.streams),
                ),
                (
                    OPEN_TASKS,
                    quota.open_tasks.map(u64::from),
                    counted.open_tasks,
                ),
                (MAILBOX_BYTES, quota.mailbox_bytes, counted.mailbox_bytes),
                (TOKENS, quota.tokens_per_day, counted.tokens),
                (COST, quota.cost_micros_per_day, counted.cost_micros),
            ];
            let limited = of
                .into_iter()
                .filter_map(|(what, limit, used)| Some((what, limit?, used)));
            uses.extend(
                limited.map(|(what, limit, used)| (account.whose.clone(), what, limit, used)),
            );
        }
        uses
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        for account in &self.accounts {
            *account.used().count(self.is_reflection) -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Namespace, Policy};

    fn callers() -> [Caller; 2] {
        let policy = Policy::of_toml(
            "[quotas.principals.alice]\npublishes_per_second = 10\nstreams = 1\n[quotas.namespaces.default]\npublishes_per_second = 15\nstreams = 2\n",
        );
        let policy = policy.expect("right");
        ["alice", "bob"].map(|name| {
            let principal = name.parse().expect("a name");
            policy.caller(&principal, &Namespace::default(), &["user".to_owned()], &[])
        })
    }

    /// Issue 25: a principal's quota and its namespace's both hold.
    #[test]
    fn publishes_count_for_the_principal_and_for_its_namespace() {
        let (meters, now) = (Meters::default(), Instant::now());
        let [alice, bob] = callers().map(|caller| meters.of(&caller));
        let (allowed, refusal) = alice.publish(12, now);
        assert_eq!(allowed, 10);
        let said = refusal.expect("two are refused").to_string();
        assert_eq!(
            said,
            "\"alice\" has a quota of 10 publishes a second, and 10 of 12 may come now: come back in 200 ms"
        );
        let (allowed, refusal) = bob.publish(7, now);
        assert_eq!(allowed, 5, "of the 15 of the namespace");
        let said = refusal.expect("two are refused").to_string();
        assert!(
            said.starts_with("namespace \"default\" has a quota of 15"),
            "{said}"
        );
        let [again, _] = callers().map(|caller| meters.of(&caller));
        assert_eq!(again.publish(1, now).0, 0, "another call of hers");
        assert_eq!(bob.publish(99, now + FULL).0, 15);
        assert_eq!(
            alice.publish(1, now + FULL).0,
            0,
            "what is refused by one is taken from none"
        );
        assert_eq!(alice.publish(1, now + FULL * 2), (1, None));
    }

    #[test]
    fn streams_count_while_they_are_there() {
        let meters = Meters::default();
        let [alice, bob] = callers().map(|caller| meters.of(&caller));
        let first = alice.stream().expect("one may be open");
        let refused = alice.stream().expect_err("not two").to_string();
        assert!(
            refused.contains("\"alice\" has a quota of 1 streams at once, and has 1 open"),
            "{refused}"
        );
        let second = bob.stream().expect("the namespace may have two");
        let refused = bob.stream().expect_err("not three").to_string();
        assert!(refused.starts_with("namespace \"default\""), "{refused}");
        drop((first, second));
        let _again = alice.stream().expect("it has ended");
        let used = HubUse::default();
        let uses = alice.uses((used, used), Instant::now());
        let streams: Vec<_> = uses
            .iter()
            .filter(|(_, what, ..)| *what == STREAMS)
            .collect();
        assert_eq!(streams[0], &("\"alice\"".to_owned(), STREAMS, 1, 1));
        assert_eq!(
            streams[1],
            &("namespace \"default\"".to_owned(), STREAMS, 2, 1)
        );
        let _other = bob.stream().expect("what was refused is not counted");
    }

    /// Issue 25: who looks at what a server offers has all its streams left, and can't open any number of others.
    #[test]
    fn streams_of_reflection_count_by_themselves() {
        let meters = Meters::default();
        let [alice, bob] = callers().map(|caller| meters.of(&caller));
        let reflections: Vec<_> = (0..MOST_REFLECTIONS)
            .map(|_| alice.reflection_stream().expect("there is room"))
            .collect();
        let refused = alice.reflection_stream().expect_err("too many").to_string();
        assert!(
            refused.contains(
                "\"alice\" has a quota of 8 streams of reflection at once, and has 8 open"
            ),
            "{refused}"
        );
        let _mail = alice.stream().expect("one may be open");
        assert!(alice.stream().is_err(), "and no other");
        drop(reflections);
        let _again = alice.reflection_stream().expect("they have ended");
        let _other = bob.stream().expect("the namespace has one left");
        let unlimited = Meters::default().of(&Caller::anonymous());
        assert!((0..100).all(|_| unlimited.reflection_stream().is_ok()));
    }

    #[test]
    fn without_a_quota_there_is_nothing_to_count() {
        let meter = Meters::default().of(&Caller::anonymous());
        assert!(meter.is_unlimited());
        assert_eq!(meter.publish(1_000_000, Instant::now()), (1_000_000, None));
    }
}

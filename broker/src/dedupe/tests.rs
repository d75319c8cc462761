use super::*;

const WINDOW: Duration = Duration::from_secs(600);

fn dedupe(per_sender: usize, total: usize) -> Dedupe {
    Dedupe::new(Bounds {
        window: WINDOW,
        per_sender,
        total,
    })
}

fn seen(position: u64) -> PublishOutcome {
    PublishOutcome {
        digest: 1,
        position: Position(position),
        stamp: 2,
    }
}

impl Dedupe {
    fn put(&mut self, sender: &str, id: &str, position: u64) {
        let publish = self.fingerprints(sender, "c").of(id);
        self.remember(&sender.into(), publish, seen(position), Instant::now());
    }

    fn position(&self, sender: &str, id: &str) -> Option<u64> {
        let publish = self.fingerprints(sender, "c").of(id);
        let found = self.get(publish, Instant::now())?;
        Some(found.position.0)
    }

    fn is_admitted(&mut self, sender: &str) -> bool {
        let admitted = self.admit(&sender.into(), Instant::now());
        assert!(matches!(
            admitted,
            Ok(()) | Err(Error::ResourceExhausted(_))
        ));
        admitted.is_ok()
    }
}

/// Logs contain digests, so they must not change.
#[test]
fn a_digest_is_the_uuid_that_others_compute() {
    for body in ["", "a", &"long".repeat(1_000)] {
        let expected = Uuid::new_v5(&Uuid::NAMESPACE_OID, body.as_bytes());
        assert_eq!(digest(body.as_bytes(), ""), expected);
        assert_ne!(digest(body.as_bytes(), "b"), expected);
    }
}

/// promise 4
#[tokio::test(start_paused = true)]
async fn a_publish_is_known_for_the_window() {
    let mut dedupe = dedupe(100, 100);
    dedupe.put("a", "1", 1);
    tokio::time::advance(WINDOW - Duration::from_secs(1)).await;
    dedupe.put("a", "2", 2);
    assert_eq!(dedupe.position("a", "1"), Some(1));
    assert_eq!(dedupe.position("b", "1"), None, "another sender");
    tokio::time::advance(Duration::from_secs(2)).await;
    assert_eq!(dedupe.position("a", "1"), None);
    dedupe.put("a", "3", 3);
    assert_eq!(dedupe.index.len(), 2, "it is gone");
    assert_eq!(dedupe.position("a", "2"), Some(2));

    tokio::time::advance(WINDOW - Duration::from_secs(1)).await;
    dedupe.put("a", "2", 4);
    tokio::time::advance(Duration::from_secs(2)).await;
    dedupe.put("a", "4", 5);
    let again = dedupe.position("a", "2");
    assert_eq!(again, Some(4), "seen again within the window");
}

/// promise 4
#[tokio::test(start_paused = true)]
async fn however_many_others_come_a_publish_is_known_for_the_window() {
    let mut dedupe = dedupe(400_000, 400_000);
    for n in 0..300_000 {
        dedupe.put("a", &n.to_string(), n);
    }
    for n in (0..300_000).step_by(1_000) {
        assert_eq!(dedupe.position("a", &n.to_string()), Some(n));
    }
    tokio::time::advance(WINDOW + Duration::from_secs(1)).await;
    assert_eq!(dedupe.position("a", "299999"), None);
}

/// promise 4
#[tokio::test(start_paused = true)]
async fn a_sender_past_its_bound_is_refused_until_its_oldest_publishes_are_out_of_the_window() {
    let mut dedupe = dedupe(10, 15);
    for n in 0..10 {
        assert!(dedupe.is_admitted("a"), "{n}");
        dedupe.put("a", &n.to_string(), n);
    }
    assert!(!dedupe.is_admitted("a"));
    assert_eq!(dedupe.position("a", "0"), Some(0), "nothing is forgotten");
    tokio::time::advance(WINDOW).await;
    assert!(!dedupe.is_admitted("a"));
    for n in 0..5 {
        assert!(dedupe.is_admitted("b"), "it has its own bound");
        dedupe.put("b", &n.to_string(), n);
    }
    assert!(!dedupe.is_admitted("b"), "all together are too many");
    tokio::time::advance(Duration::from_secs(1)).await;
    assert!(dedupe.is_admitted("a"));
    assert!(dedupe.is_admitted("b"));
    assert_eq!(dedupe.position("b", "4"), Some(4));
}

#[tokio::test(start_paused = true)]
async fn memory_goes_back_when_publishes_are_out_of_the_window() {
    let mut dedupe = dedupe(100_000, 100_000);
    for n in 0..100_000 {
        dedupe.put(&format!("sender {}", n % 100), &n.to_string(), n);
    }
    tokio::time::advance(WINDOW + Duration::from_secs(1)).await;
    let mut ticks = 0;
    while !dedupe.is_empty() {
        dedupe.forget_some(Instant::now());
        ticks += 1;
    }
    assert!(ticks >= 100_000 / MANY, "a tick drops a bounded number");
    assert_eq!((dedupe.index.len(), dedupe.queue.chunks()), (0, 1));
    assert!(dedupe.index.capacity() <= 256 * 128);
    assert_eq!(dedupe.senders.len(), 0);
    dedupe.put("sender 7", "again", 1);
    assert_eq!(dedupe.position("sender 7", "again"), Some(1));
}

/// The number of a sender without publishes is reused.
#[tokio::test(start_paused = true)]
async fn senders_are_counted_one_by_one() {
    let mut dedupe = dedupe(2, 100);
    for sender in ["a", "b", "a", "b"] {
        assert!(dedupe.is_admitted(sender));
        dedupe.put(sender, "same id", 1);
    }
    assert!(!dedupe.is_admitted("a"));
    assert!(!dedupe.is_admitted("b"));
    tokio::time::advance(WINDOW + Duration::from_secs(1)).await;
    dedupe.put("c", "1", 1);
    dedupe.put("d", "1", 1);
    dedupe.put("a", "1", 1);
    let all: Vec<_> = dedupe
        .iter()
        .map(|(sender, ..)| sender.to_string())
        .collect();
    assert_eq!(all, ["c", "d", "a"]);
    assert!(
        ["a", "b", "c", "d"]
            .map(|s| dedupe.is_admitted(s))
            .iter()
            .all(|is| *is)
    );
}

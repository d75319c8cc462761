//! Work per acquisition of the lock is bounded: the rest is done later, and nothing is lost or reordered in between.

use agenthub_proto::agenthub::ListAgentsRequest;

use super::{super::listing::Listing, *};
use crate::steps;

/// More events than several acquisitions process.
const WAITING: usize = 3000;
/// Maximum steps per acquisition: some for each event.
const STEPS: usize = 2000;

/// Runs one acquisition of the lock.
fn hold<T>(act: impl FnOnce() -> T) -> T {
    hold_of(STEPS, act)
}

/// Runs one acquisition of the lock, of at most `most` steps.
fn hold_of<T>(most: usize, act: impl FnOnce() -> T) -> T {
    let (steps, done) = steps::count(act);
    assert!(steps <= most, "{steps} steps under one hold");
    done
}

/// Messages that wait for an agent without subscriptions.
fn bench_with_mail() -> Bench {
    let mut b = Bench::new(Settings::default());
    for n in 0..WAITING {
        say(&mut b, n);
    }
    b
}

fn say(b: &mut Bench, n: usize) {
    let message = Message {
        message_id: format!("m{n}"),
        context_id: "talk".into(),
        ..Message::new(Role::User, n.to_string())
    };
    b.publish(Body::Message(message), "asker", "worker")
        .expect("good");
}

fn hello(subscriptions: &[Subscription]) -> Hello {
    Hello {
        protocol_version: 1,
        agent_id: "worker".into(),
        instance_id: "i".into(),
        subscription: subscriptions.to_vec(),
        ..Default::default()
    }
}

/// Completes the opening of a stream. `meanwhile` runs between the acquisitions.
fn open(b: &mut Bench, opened: &mut Opened, mut meanwhile: impl FnMut(&mut Bench)) {
    let (caller, now) = (Caller::anonymous(), b.now);
    while opened.is_under_way() {
        let more = hold(|| b.core.open_more(&caller, opened, now));
        more.expect("there is room");
        meanwhile(b);
    }
}

/// Texts of all deliveries to a stream, acknowledged as they come.
fn texts(b: &mut Bench, session: SessionId) -> Vec<String> {
    let mut texts = Vec::new();
    loop {
        let outgoing = b.take(session);
        if outgoing.deliveries.is_empty() {
            return texts;
        }
        for (of, batch) in outgoing.deliveries {
            let batch = b.filled(&batch);
            texts.extend(batch.mail().map(|mail| said(&mail.event)));
            let (caller, now) = (Caller::anonymous(), b.now);
            let positions = batch.positions().to_vec();
            let of = u32::try_from(of).expect("few");
            b.core
                .acknowledge_at(&caller, session, of, &positions, now)
                .expect("it is out");
        }
    }
}

fn said(event: &Sealed) -> String {
    match &event.payload {
        Some(agenthub::agent_event::Payload::Message(message)) => message.text(),
        other => panic!("{other:?}"),
    }
}

fn numbers(range: std::ops::Range<usize>) -> Vec<String> {
    range.map(|n| n.to_string()).collect()
}

/// promise 10
#[test]
fn a_first_subscription_takes_what_waits_in_portions_and_in_order() {
    for subscription in [durable("work"), of_instance("own")] {
        let mut b = bench_with_mail();
        let (caller, now) = (Caller::anonymous(), b.now);
        let opened = hold(|| {
            b.core.connect(
                &caller,
                Kind::Connect,
                hello(&[subscription]),
                Vec::new(),
                now,
            )
        });
        let mut opened = opened.expect("a good hello");
        let mut next = WAITING;
        open(&mut b, &mut opened, |b| {
            say(b, next);
            next += 1;
        });
        assert!(next > WAITING + 2, "{next}");
        assert_eq!(texts(&mut b, opened.id), numbers(0..next));
    }
}

/// promise 10
#[test]
fn of_two_first_subscriptions_the_first_takes_what_waits() {
    let mut b = bench_with_mail();
    let (caller, now) = (Caller::anonymous(), b.now);
    let hello = hello(&[durable("first"), durable("second")]);
    let mut opened = b
        .core
        .connect(&caller, Kind::Connect, hello, Vec::new(), now)
        .expect("good");
    open(&mut b, &mut opened, |_| {});
    say(&mut b, WAITING);
    let held = |b: &Bench, name: &str| {
        let mailboxes = &b.core.state.mailboxes;
        mailboxes
            .see(&"worker".into(), name)
            .map(|seen| seen.waiting)
    };
    assert_eq!(held(&b, "first"), Some(WAITING + 1));
    assert_eq!(held(&b, "second"), Some(1), "it was open by then");
}

/// A hub restarts while a subscription is being opened: its agent opens it again.
#[test]
fn a_subscription_that_was_not_opened_to_the_end_is_opened_by_the_next_stream() {
    let mut b = bench_with_mail();
    let (caller, now) = (Caller::anonymous(), b.now);
    let connect = |b: &mut Bench| {
        b.core.connect(
            &caller,
            Kind::Connect,
            hello(&[durable("work")]),
            Vec::new(),
            now,
        )
    };
    let opened = connect(&mut b).expect("good");
    assert!(!opened.claiming.is_empty());
    b.close(opened.id, false);
    say(&mut b, WAITING);

    let mut folded = blank(&b.core.settings);
    for record in b.records.lock().expect("one thread").iter() {
        folded.replay(record, Duration::ZERO, b.now.instant);
    }
    b.core.state = folded;
    let mut opened = connect(&mut b).expect("good");
    open(&mut b, &mut opened, |_| {});
    assert_eq!(texts(&mut b, opened.id), numbers(0..WAITING + 1));
}

/// A stream of an older client ends with unhandled mail.
#[test]
fn what_a_stream_leaves_waits_again_in_order() {
    let mut b = Bench::new(Settings::default());
    let kinds = [EventKind::Message];
    let first = b.stream("worker", &kinds);
    for n in 0..WAITING {
        say(&mut b, n);
    }
    let (id, now) = (first.id, b.now);
    hold(|| b.core.close(id, false, now));
    say(&mut b, WAITING);
    let request = StreamRequest {
        call: Call::SubscribeToMessages,
        agent: "worker".into(),
        filter: Filter::kinds(&kinds),
        after: String::new(),
        observes: None,
        recent: 0,
    };
    let caller = Caller::anonymous();
    let opened = hold(|| b.core.open_stream(&caller, request, now));
    let mut second = opened.expect("there is room");
    let mut next = WAITING + 1;
    open(&mut b, &mut second, |b| {
        say(b, next);
        next += 1;
    });
    let mut sent = Vec::new();
    loop {
        let outgoing = b.take(second.id);
        if outgoing.deliveries.is_empty() {
            break;
        }
        for (_, batch) in outgoing.deliveries {
            let batch = b.filled(&batch);
            sent.extend(batch.mail().map(|mail| said(&mail.event)));
        }
    }
    assert_eq!(sent, numbers(0..next));
}

/// Mail of a closed stream is put back over time, and is gone if acknowledged elsewhere.
#[test]
fn what_a_stream_leaves_is_put_back_as_time_passes() {
    let mut b = Bench::new(Settings::default());
    let stream = b.stream("worker", &[EventKind::Message]);
    for n in 0..WAITING {
        say(&mut b, n);
    }
    b.close(stream.id, false);
    let waiting = |b: &Bench| {
        let seen = b.core.state.mailboxes.see(&"worker".into(), "");
        seen.map_or(0, |seen| seen.waiting)
    };
    assert!(waiting(&b) < WAITING, "{}", waiting(&b));
    let now = b.now;
    while hold(|| b.core.tick(now)) {}
    assert_eq!(waiting(&b), WAITING);
}

/// promise 5
#[test]
fn what_an_instance_claims_is_its_own_again_in_portions() {
    let mut b = Bench::new(Settings::default());
    let mut first = b.connect("worker", "i", durable("work"));
    for n in 0..3 * WAITING {
        say(&mut b, n);
    }
    let now = b.now;
    while !b
        .core
        .take(first.id, &[u32::MAX], 1000, now)
        .deliveries
        .is_empty()
    {}
    let is_out = |b: &Bench, position: &Position| {
        let mailboxes = &b.core.state.mailboxes;
        mailboxes.is_out(&"worker".into(), *position)
    };
    let mut out: Vec<Position> = (0..b.core.last().0 + 1).map(Position).collect();
    out.retain(|position| is_out(&b, position));
    assert_eq!(out.len(), 3 * WAITING);

    // A check of each delivery in turn, and a portion of claims.
    let most = out.len() + STEPS;
    let caller = Caller::anonymous();
    let (lost, claimed) = out.split_at(10);
    let claims: Vec<(u32, Position)> = claimed.iter().rev().map(|p| (0, *p)).collect();
    let claims = hello::claims(&claims);
    let hello = hello(&[durable("work")]);
    let mut holds = 1;
    first = hold_of(most, || {
        b.core.connect(&caller, Kind::Connect, hello, claims, now)
    })
    .expect("good");
    while first.is_under_way() {
        let more = hold_of(most, || b.core.open_more(&caller, &mut first, now));
        more.expect("there is room");
        holds += 1;
    }
    assert!(holds > 2, "{holds}");
    while hold_of(most, || b.core.tick(now)) {}
    assert!(claimed.iter().all(|position| is_out(&b, position)));
    assert!(!lost.iter().any(|position| is_out(&b, position)));
}

#[test]
fn a_mailbox_is_skipped_in_portions() {
    let mut b = bench_with_mail();
    let (caller, now, upto) = (Caller::anonymous(), b.now, b.core.last());
    let agent = "worker".into();
    let mut skipped = 0;
    loop {
        let some = hold(|| b.core.skip_some(&caller, &agent, "", upto, "purged", now));
        skipped += some;
        if some == 0 {
            break;
        }
        say(&mut b, WAITING + skipped);
    }
    assert_eq!(skipped, WAITING);
    let seen = b.core.state.mailboxes.see(&agent, "").expect("later mail");
    assert!(seen.waiting > 0);
}

#[test]
fn an_agent_with_many_open_tasks_is_unregistered_in_portions() {
    const TASKS: usize = 200;
    let mut b = Bench::new(Settings::default());
    b.connect("worker", "i", durable("work"));
    for n in 0..TASKS {
        b.work(&format!("t{n}"), "asker", "worker").expect("good");
    }
    let (caller, agent) = (Caller::anonymous(), "worker".into());
    let mut failed = Vec::new();
    loop {
        let now = b.now;
        let is_gone = b.core.unregister(&caller, &agent, "", now).expect("good");
        b.core();
        failed.push(b.states(TaskState::Failed));
        if is_gone {
            break;
        }
    }
    assert_eq!(failed, [64, 128, 192, 200]);
    assert!(matches!(
        b.core.unregister(&caller, &agent, "", b.now),
        Err(Error::NotFound(_))
    ));
}

/// promise 10
#[test]
fn a_full_mailbox_of_a_client_that_is_gone_for_good_ends_in_portions() {
    let age = Duration::from_secs(7 * 24 * 3600);
    let mut b = Bench::new(Settings {
        mailbox_age: age,
        ..Settings::default()
    });
    let session = b.connect("worker", "i", durable("work"));
    b.close(session.id, true);
    b.now.instant += age + Duration::from_secs(23 * 3600);
    b.now.time += age + Duration::from_secs(23 * 3600);
    for n in 0..WAITING {
        say(&mut b, n);
    }
    b.wait(Duration::from_secs(3700));
    b.now.instant += Duration::from_secs(601);
    b.now.time += Duration::from_secs(601);
    let (mut given_up, now) = (vec![0], b.now);
    for _ in 0..100 {
        hold(|| b.core().tick(now));
        given_up.push(b.core.state.dead_letters.iter().count());
    }
    assert_eq!(given_up.last(), Some(&WAITING));
    assert!(
        given_up.windows(2).all(|two| two[1] - two[0] <= 400),
        "{given_up:?}"
    );
    assert_eq!(b.core.state.mailboxes.len(), 0);
}

/// Mailboxes are listed in order, each once, and only those of a page are visited.
#[test]
fn mailboxes_are_listed_without_a_look_at_all() {
    const AGENTS: usize = 300;
    let mut b = Bench::new(Settings::default());
    for n in 0..AGENTS {
        b.connect(&format!("agent{n:03}"), "i", durable("work"));
        b.connect(&format!("agent{n:03}"), "j", durable("also"));
    }
    let nobody = Message::new(Role::User, "hello");
    b.publish(Body::Message(nobody), "asker", "agent100a")
        .expect("good");
    let mailboxes = &b.core.state.mailboxes;
    let (mut found, mut after) = (Vec::new(), (String::new(), String::new()));
    loop {
        let page = || mailboxes.names_after(&after.0, &after.1, 11);
        let (steps, mut page) = steps::count(page);
        assert!(steps <= 12, "{steps}");
        page.truncate(10);
        let Some((agent, name)) = page.last() else {
            break;
        };
        after = (agent.to_string(), name.clone());
        found.extend(page);
    }
    assert_eq!(found.len(), 2 * AGENTS + 1);
    assert!(found.is_sorted());
    assert!(found.contains(&("agent100a".into(), String::new())));
}

/// A search without results checks every agent, but not in one acquisition of the lock.
#[test]
fn agents_are_searched_a_few_at_a_time() {
    const AGENTS: usize = 100;
    let mut b = Bench::new(Settings::default());
    for n in 0..AGENTS {
        let registration = Registration {
            card: AgentCard {
                name: format!("agent{n:03}"),
                version: "1".into(),
                ..Default::default()
            },
            topics: Vec::new(),
            health_check_url: String::new(),
        };
        let (caller, now) = (Caller::anonymous(), b.now);
        let registered = b.core.register(&caller, registration, None, now);
        registered.expect("good");
    }
    let request = ListAgentsRequest {
        text: "nobody".into(),
        ..Default::default()
    };
    let mut listing = Listing::new(request).expect("good");
    let mut holds = 1;
    while !hold_of(32, || b.core.list_some(&mut listing)) {
        holds += 1;
    }
    assert_eq!((holds, listing.page.len()), (4, 0));
}

/// Constant mail for others does not restart the opening of a subscription.
#[test]
fn a_subscription_that_takes_little_of_what_waits_opens_while_others_get_mail() {
    let mut b = bench_with_mail();
    let (caller, now) = (Caller::anonymous(), b.now);
    let nothing = Subscription {
        filter: Some(agenthub::Filter {
            contexts: vec!["another".into()],
            ..Default::default()
        }),
        ..durable("work")
    };
    let opened = b
        .core
        .connect(&caller, Kind::Connect, hello(&[nothing]), Vec::new(), now);
    let mut opened = opened.expect("a good hello");
    let mut holds = 0;
    open(&mut b, &mut opened, |b| {
        holds += 1;
        assert!(holds < 10, "it looks at the same again");
        let text = Message::new(Role::User, "hi");
        let absent = format!("absent {holds}");
        b.publish(Body::Message(text), "asker", &absent)
            .expect("good");
    });
}

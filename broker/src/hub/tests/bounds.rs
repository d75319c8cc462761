//! Limits, and behaviour at the limits.

use agenthub_proto::{a2a::TaskStatus, agenthub::TaskStatusUpdateEvent};

use super::*;

#[test]
fn a_full_mailbox_loses_one_event_for_one() {
    let mut b = Bench::new(Settings {
        mailbox_events: 10,
        ..Settings::default()
    });
    let session = b.connect("worker", "i", durable("work"));
    b.close(session.id, false);
    // Each task brings two events: the message and the task itself.
    for n in 0..6 {
        b.work(&format!("t{n}"), "asker", "worker").expect("good");
    }
    assert_eq!(b.states(TaskState::Failed), 1);
    assert_eq!(b.state("t0"), TaskState::Failed);
    // An agent that delegates to itself does not displace its own work by that.
    let mut b = Bench::new(Settings {
        mailbox_events: 10,
        ..Settings::default()
    });
    b.connect("worker", "i", durable("work"));
    for n in 0..6 {
        b.work(&format!("t{n}"), "worker", "worker").expect("good");
    }
    assert_eq!(b.states(TaskState::Failed), 1);
}

/// Two full mailboxes may displace each other's work for long; the stack does not grow with it.
#[test]
fn giving_up_mail_does_not_nest() {
    const EVENTS: usize = 20_000;
    let mut b = Bench::new(Settings {
        mailbox_events: EVENTS,
        ..Settings::default()
    });
    let only_messages = |name| Subscription {
        filter: Some(agenthub::Filter {
            kinds: vec![EventKind::Message.into(), EventKind::StatusUpdate.into()],
            ..Default::default()
        }),
        ..durable(name)
    };
    b.connect("a", "i", only_messages("work"));
    b.connect("b", "i", only_messages("work"));
    for n in 0..=EVENTS {
        b.work(&format!("a{n}"), "b", "a").expect("good");
        b.work(&format!("b{n}"), "a", "b").expect("good");
    }
    assert!(b.states(TaskState::Failed) > 0);
}

/// The other recipients of a broadcast still have a message that one did not take.
#[test]
fn a_broadcast_task_does_not_fail_for_one_full_mailbox() {
    let mut b = Bench::new(Settings {
        mailbox_events: 2,
        ..Settings::default()
    });
    b.connect("one", "i", durable("work"));
    for n in 0..4 {
        b.work(&format!("t{n}"), "asker", "").expect("good");
    }
    assert_eq!(b.states(TaskState::Failed), 0);
}

#[test]
fn mail_for_agents_that_are_not_there_is_bounded() {
    let mut b = Bench::new(Settings {
        mailbox_events: 5,
        ..Settings::default()
    });
    for n in 0..20 {
        let nobody = format!("nobody {n}");
        b.work(&n.to_string(), "", &nobody).expect("good");
    }
    assert!(b.states(TaskState::Failed) >= 15);
    b.wait(Settings::default().unknown_recipient);
    assert_eq!(b.states(TaskState::Failed), 20);
    b.work("later", "", "nobody").expect("good");
    assert_eq!(
        b.state("later"),
        TaskState::Submitted,
        "there is room again"
    );
}

#[test]
fn open_tasks_are_bounded() {
    let mut b = Bench::new(Settings {
        open_tasks: 3,
        ..Settings::default()
    });
    for n in 0..3 {
        b.work(&n.to_string(), "asker", "worker").expect("good");
    }
    let refused = b.work("more", "asker", "worker");
    assert!(matches!(refused, Err(Error::ResourceExhausted(_))));
    b.work("1", "asker", "worker").expect("it is there already");
}

#[test]
fn streams_and_subscriptions_are_bounded() {
    let mut b = Bench::new(Settings {
        streams: 3,
        mailboxes: 2,
        ..Settings::default()
    });
    let stream = |b: &mut Bench, agent: &str| {
        let request = StreamRequest {
            call: Call::SubscribeToMessages,
            agent: agent.into(),
            filter: Filter::default(),
            after: String::new(),
            observes: None,
            recent: 0,
        };
        b.core.open_stream(&Caller::anonymous(), request, b.now)
    };
    let first = stream(&mut b, "a").expect("there is room");
    stream(&mut b, "a").expect("there is room");
    let refused = stream(&mut b, "a");
    assert!(matches!(refused, Err(Error::ResourceExhausted(_))));
    b.close(first.id, false);
    let again = stream(&mut b, "a").expect("there is room again");
    b.close(again.id, false);
    b.core.settings.mailboxes = 100;
    for _ in 0..2 {
        stream(&mut b, "a").expect("there is room");
    }
    let refused = stream(&mut b, "a");
    assert!(matches!(refused, Err(Error::ResourceExhausted(_))));
}

/// Events that may be lost are dropped silently, even if they displace others.
#[test]
fn an_event_in_memory_fails_the_task_whose_mail_it_pushes_out() {
    let mut b = Bench::new(Settings {
        mailbox_events: 2,
        ..Settings::default()
    });
    b.connect("worker", "i", durable("work"));
    b.work("t", "asker", "worker").expect("good");
    let routing = AgentEventMetadata {
        from_agent_id: "asker".into(),
        to_agent_id: "worker".into(),
        durability: agenthub::Durability::Memory.into(),
        ..Default::default()
    };
    for _ in 0..4 {
        let body = Body::Message(Message::new(Role::User, "progress"));
        let caller = Caller::anonymous();
        let receipt = b
            .core
            .publish(&caller, body, routing.clone(), Repetition::Accept, b.now);
        assert_eq!(receipt.expect("good").position, "");
        b.core();
    }
    assert_eq!(b.state("t"), TaskState::Failed);
}

/// promise 4
#[test]
fn a_sender_publishes_no_more_than_is_remembered() {
    let mut b = Bench::new(Settings {
        dedupe_per_sender: 3,
        ..Settings::default()
    });
    let message = |id: &str| {
        Body::Message(Message {
            message_id: id.into(),
            ..Message::new(Role::User, id)
        })
    };
    let first = b.publish(message("0"), "asker", "worker").expect("good");
    for id in ["1", "2"] {
        b.publish(message(id), "asker", "worker").expect("good");
    }
    let Err(Error::ResourceExhausted(why)) = b.publish(message("3"), "asker", "worker") else {
        panic!("it is refused");
    };
    assert!(why.contains("\"asker\" has published 3 events"), "{why}");
    let again = b.publish(message("0"), "asker", "worker").expect("known");
    assert_eq!(
        (again.event_id, again.position),
        (first.event_id, first.position)
    );
    b.publish(message("3"), "another", "worker").expect("good");
    let routing = AgentEventMetadata {
        from_agent_id: "asker".into(),
        durability: agenthub::Durability::Memory.into(),
        ..Default::default()
    };
    let caller = Caller::anonymous();
    let lost = b
        .core
        .publish(&caller, message("4"), routing, Repetition::Refuse, b.now);
    lost.expect("nothing of it is remembered");

    b.wait(Settings::default().dedupe_window + Duration::from_secs(1));
    b.publish(message("3"), "asker", "worker").expect("good");
}

/// promise 4
#[test]
fn a_repeated_result_has_the_answer_of_the_first() {
    let mut b = Bench::new(Settings::default());
    let work = Body::Message(Message {
        message_id: "m_1".into(),
        task_id: "t_1".into(),
        ..Message::new(Role::User, "go")
    });
    let made = b.publish(work.clone(), "asker", "worker").expect("good");
    let artifact = agenthub::TaskArtifactUpdateEvent {
        task_id: "t_1".into(),
        artifact: Some(agenthub_proto::a2a::Artifact::default()),
        ..Default::default()
    };
    let routing = AgentEventMetadata {
        from_agent_id: "worker".into(),
        idempotency_key: "k".into(),
        ..Default::default()
    };
    let caller = Caller::anonymous();
    let publish = |b: &mut Bench| {
        let (body, routing) = (Body::Artifact(artifact.clone()), routing.clone());
        let now = b.now;
        let receipt = b
            .core
            .publish(&caller, body, routing, Repetition::Refuse, now);
        let receipt = receipt.expect("good");
        (receipt.event_id, receipt.position)
    };
    let first = publish(&mut b);
    b.wait(Duration::from_secs(3));
    assert_eq!(publish(&mut b), first);

    b.wait(Settings::default().dedupe_window + Duration::from_secs(1));
    let again = b.publish(work, "asker", "worker").expect("known");
    assert_eq!(
        (again.event_id, again.position),
        (made.event_id, made.position),
        "a message that made a task is known as long as that"
    );
}

/// promise 10
#[test]
fn a_client_that_is_gone_for_good_leaves_no_mailbox() {
    let age = Duration::from_secs(7 * 24 * 3600);
    let mut b = Bench::new(Settings {
        mailbox_age: age,
        ..Settings::default()
    });
    let registration = Registration {
        card: AgentCard {
            name: "agent".into(),
            ..Default::default()
        },
        topics: Vec::new(),
        health_check_url: String::new(),
    };
    let caller = Caller::anonymous();
    let registered = b.core.register(&caller, registration, None, b.now);
    assert_eq!(registered, Ok(true));
    let sessions = ["gone", "agent", "there"].map(|a| b.connect(a, "i", durable("work")));
    b.close(sessions[0].id, true);
    b.close(sessions[1].id, true);
    let wait = |b: &mut Bench, time: Duration| {
        b.wait(time);
        b.wait(Duration::from_secs(600));
    };
    wait(&mut b, age);
    b.work("t", "asker", "gone").expect("good");
    assert_eq!(b.core.state.mailboxes.len(), 3, "a day is left");
    wait(&mut b, Duration::from_secs(24 * 3600));
    assert_eq!(b.core.state.mailboxes.len(), 2);
    assert!(!b.core.state.mailboxes.is_known(&"gone".into()));
    assert_eq!(b.state("t"), TaskState::Failed, "what waited is given up");
    wait(&mut b, 2 * age);
    assert_eq!(
        b.core.state.mailboxes.len(),
        2,
        "one is there, one is known"
    );

    let mut folded = State::new(&b.core.settings);
    for record in b.records.lock().expect("one thread").iter() {
        folded.replay(record, Duration::ZERO, b.now.instant);
    }
    assert_eq!(folded.mailboxes.len(), 2);
}

/// promise 10
#[test]
fn a_client_that_is_not_in_the_directory_can_be_unregistered() {
    let mut b = Bench::new(Settings::default());
    let session = b.connect("client", "i", durable("work"));
    b.close(session.id, true);
    let caller = Caller::anonymous();
    let mut unregister = || b.core.unregister(&caller, &"client".into(), "", b.now);
    assert_eq!(unregister(), Ok(true));
    assert!(matches!(unregister(), Err(Error::NotFound(_))));
    assert_eq!(b.core.state.mailboxes.len(), 0);
}

/// promise 6
#[test]
fn an_answer_to_one_who_asked_and_left_is_no_dead_letter() {
    let mut b = Bench::new(Settings::default());
    let say = |b: &mut Bench, role, text: &str, to: &str| {
        let body = Body::Message(Message::new(role, text));
        b.publish(body, "cortex", to).expect("good");
    };
    say(&mut b, Role::Agent, "an answer", "chat-1");
    say(&mut b, Role::User, "a question", "chat-1");
    b.work("t", "asker", "worker").expect("good");
    let worker = b.connect("worker", "i", durable("work"));
    b.take(worker.id);
    let status = TaskStatusUpdateEvent {
        task_id: "t".into(),
        status: Some(TaskStatus {
            state: TaskState::Completed.into(),
            ..Default::default()
        }),
        ..Default::default()
    };
    b.publish(Body::Status(status), "worker", "").expect("good");
    b.wait(Settings::default().unknown_recipient + Duration::from_secs(1));
    let letters = &b.core.state.dead_letters;
    let letters: Vec<String> = letters
        .iter()
        .map(|(_, letter)| letter.given_up.mail.event.sender().to_owned())
        .collect();
    assert_eq!(letters, ["cortex"], "the question");
    let mailboxes = &b.core.state.mailboxes;
    assert!(mailboxes.see(&"asker".into(), "").is_none());
    assert!(mailboxes.see(&"chat-1".into(), "").is_none());
    let mut folded = blank(&b.core.settings);
    for record in b.records.lock().expect("one thread").iter() {
        folded.replay(record, Duration::ZERO, b.now.instant);
    }
    assert!(folded.mailboxes.see(&"asker".into(), "").is_none());
    assert_eq!(folded.dead_letters.iter().count(), 1);
}

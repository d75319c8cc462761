//! The hub's state without sockets and clocks: what is hard to bring about from outside.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::{Duration, SystemTime},
};

use agenthub_proto::{
    a2a::{AgentCard, Artifact, Message, Role, TaskState, TaskStatus},
    agenthub::{
        self, AgentEventMetadata, EventKind, Hello, SeekMailboxRequest, Subscription,
        TaskArtifactUpdateEvent, TaskStatusUpdateEvent, seek_mailbox_request::To,
    },
};
use proptest::prelude::*;
use tokio::{sync::watch, time::Instant};

use super::{
    core::{Core, Now},
    directory::Announce,
    opening::StreamRequest,
    publish::{Body, Receipt, Repetition},
    sessions::{End, Opened, Outgoing},
};
use crate::{
    Error,
    access::Call,
    caller::Caller,
    dead_letters::DeadLetter,
    filter::Filter,
    id::SessionId,
    log::{Commit, EventLog, History, LogId, MemoryLog, Position, Record, Registration, Try},
    mailboxes::Lifetime,
    metrics::Counters,
    settings::Settings,
    snapshot,
    state::State,
    superseded::Superseded,
    tasks::Query,
};

/// A log that keeps every record.
#[derive(Debug)]
struct Keeping {
    log: MemoryLog,
    records: Arc<Mutex<Vec<Record>>>,
}

impl EventLog for Keeping {
    fn id(&self) -> LogId {
        self.log.id()
    }

    fn next_position(&self) -> Position {
        self.log.next_position()
    }

    fn admit(&self) -> Result<(), Error> {
        self.log.admit()
    }

    fn append(&mut self, record: Record) {
        self.records
            .lock()
            .expect("one thread")
            .push(record.clone());
        self.log.append(record);
    }

    fn commit(&mut self) {
        self.log.commit();
    }

    fn commits(&self) -> watch::Receiver<Commit> {
        self.log.commits()
    }

    fn history(&self) -> Arc<dyn History> {
        self.log.history()
    }
}

struct Bench {
    records: Arc<Mutex<Vec<Record>>>,
    core: Core,
    now: Now,
}

impl Bench {
    fn new(settings: Settings) -> Self {
        let log = Keeping {
            log: MemoryLog::new(settings.log_events, settings.log_bytes),
            records: Arc::default(),
        };
        let state = State::new(&settings, log.id());
        Self {
            records: log.records.clone(),
            core: Core::new(
                settings,
                Arc::new(Counters::default()),
                Box::new(log),
                state,
            ),
            now: Now {
                instant: Instant::now(),
                time: SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000),
            },
        }
    }

    fn moment(&self) -> snapshot::Moment {
        snapshot::Moment {
            instant: self.now.instant,
            time: self.now.time,
        }
    }

    /// The state, with all that happened before delivered.
    fn core(&mut self) -> &mut Core {
        self.core.end_group(self.now);
        &mut self.core
    }

    fn wait(&mut self, time: Duration) {
        self.now.instant += time;
        self.now.time += time;
        let now = self.now;
        self.core().tick(now);
    }

    fn publish(&mut self, body: Body, from: &str, to: &str) -> Result<Receipt, Error> {
        let routing = AgentEventMetadata {
            from_agent_id: from.into(),
            to_agent_id: to.into(),
            ..Default::default()
        };
        let caller = Caller::anonymous();
        let receipt = self
            .core
            .publish(&caller, body, routing, Repetition::Accept, self.now);
        self.core();
        receipt
    }

    fn work(&mut self, task: &str, from: &str, to: &str) -> Result<Receipt, Error> {
        let message = Message {
            task_id: task.into(),
            ..Message::new(Role::User, "go")
        };
        self.publish(Body::Message(message), from, to)
    }

    fn connect(&mut self, agent: &str, instance: &str, subscription: Subscription) -> Opened {
        let hello = Hello {
            protocol_version: 1,
            agent_id: agent.into(),
            instance_id: instance.into(),
            subscription: vec![subscription],
            ..Default::default()
        };
        self.core
            .connect(&Caller::anonymous(), hello, &[], self.now)
            .expect("a good hello")
    }

    fn stream(&mut self, agent: &str, kinds: &[EventKind]) -> Opened {
        let request = StreamRequest {
            call: Call::SubscribeToMessages,
            agent: agent.into(),
            filter: Filter::kinds(kinds),
            after: String::new(),
            observes: false,
        };
        self.core
            .open_stream(&Caller::anonymous(), request, self.now)
            .expect("a good request")
    }

    fn take(&mut self, session: SessionId) -> Outgoing {
        let now = self.now;
        self.core().take(session, &[u32::MAX], 64, now)
    }

    fn close(&mut self, session: SessionId, said_goodbye: bool) {
        let now = self.now;
        self.core().close(session, said_goodbye, now);
    }

    fn seek(&mut self, request: &SeekMailboxRequest) -> Result<(), Error> {
        let (caller, now) = (Caller::anonymous(), self.now);
        let seek = self.core().plan_seek(request)?;
        let mut again = Vec::new();
        if let Some((after, upto)) = seek.again {
            let page = self.core.log.history().page(after, upto)?;
            self.core.missing(&seek, &page.events, &mut again, now)?;
        }
        self.core.skip_to(&caller, &seek, now)?;
        self.core.put_again(&caller, &seek, &again, now)?;
        Ok(())
    }

    fn state(&self, task: &str) -> TaskState {
        let entry = self.core.state.tasks.get(task).expect("it is known");
        entry.task().state()
    }

    fn states(&self, state: TaskState) -> usize {
        let (found, _) = self.core.state.tasks.list(&Query {
            states: vec![state],
            limit: usize::MAX,
            ..Query::default()
        });
        found.len()
    }
}

fn durable(name: &str) -> Subscription {
    Subscription {
        name: name.into(),
        lifetime: agenthub::Lifetime::Durable.into(),
        ..Default::default()
    }
}

fn of_instance(name: &str) -> Subscription {
    Subscription {
        lifetime: agenthub::Lifetime::Instance.into(),
        ..durable(name)
    }
}

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
    // One that asks itself does not push its own work out by that.
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

/// Two full mailboxes may push each other's work out for long; the stack does not grow with it.
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

/// A message to all that one did not take is still with the others.
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
fn the_goodbye_of_a_replaced_stream_changes_nothing() {
    let mut b = Bench::new(Settings::default());
    let first = b.connect("echo", "i", of_instance("own"));
    let second = b.connect("echo", "i", of_instance("own"));
    b.close(first.id, true);
    assert!(b.core.presence.has_instance(&"echo".into()));
    b.work("t", "asker", "echo").expect("good");
    assert!(!b.take(second.id).deliveries.is_empty());
}

#[test]
fn an_instance_that_lost_mail_can_come_back() {
    let mut b = Bench::new(Settings {
        mailbox_events: 4,
        ..Settings::default()
    });
    let session = b.connect("echo", "i", of_instance("own"));
    for n in 0..9 {
        b.work(&format!("t{n}"), "asker", "echo").expect("good");
    }
    assert_eq!(b.take(session.id).end, Some(End::Overflow));
    b.close(session.id, false);
    let again = b.connect("echo", "i", of_instance("own"));
    let outgoing = b.take(again.id);
    assert_eq!((outgoing.end, outgoing.deliveries.len()), (None, 4));
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
            observes: false,
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

#[test]
fn a_busy_subscription_does_not_hold_up_another() {
    let mut b = Bench::new(Settings::default());
    let only = |name, kind: EventKind| Subscription {
        filter: Some(agenthub::Filter {
            kinds: vec![kind.into()],
            ..Default::default()
        }),
        ..durable(name)
    };
    let hello = Hello {
        protocol_version: 1,
        agent_id: "worker".into(),
        instance_id: "i".into(),
        subscription: vec![
            only("messages", EventKind::Message),
            only("tasks", EventKind::Task),
        ],
        ..Default::default()
    };
    let caller = Caller::anonymous();
    let opened = b.core.connect(&caller, hello, &[], b.now).expect("good");
    for n in 0..200 {
        b.work(&n.to_string(), "asker", "worker").expect("good");
    }
    let mut seen = [0, 0];
    for _ in 0..2 {
        let outgoing = b.core.take(opened.id, &[1000, 1000], 64, b.now);
        for (index, _) in outgoing.deliveries {
            seen[index] += 1;
        }
    }
    assert_eq!(seen, [64, 64]);
}

/// What may be lost is lost quietly, also where it pushes out what may not.
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
    let registered = b
        .core
        .register(&caller, registration, Announce::Always, b.now);
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

    let mut folded = State::new(&b.core.settings, b.core.log.id());
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
    assert_eq!(unregister(), Ok(()));
    assert!(matches!(unregister(), Err(Error::NotFound(_))));
    assert_eq!(b.core.state.mailboxes.len(), 0);
}

#[test]
fn nothing_is_left_of_streams_that_are_over() {
    let settings = Settings::default();
    let lease = settings.presence_lease;
    let mut b = Bench::new(settings);
    let all = [EventKind::Message, EventKind::AgentCard];
    let sessions = [
        b.stream("a", &all),
        b.stream("b", &all),
        b.connect("b", "i", of_instance("own")),
        b.connect("c", "i", of_instance("own")),
    ];
    for session in &sessions[..3] {
        b.close(session.id, false);
    }
    b.close(sessions[3].id, true);
    b.wait(lease);
    assert_eq!(b.core.sessions.len(), 0);
    assert_eq!(b.core.state.mailboxes.len(), 0);
    for agent in ["a", "b", "c"] {
        assert!(!b.core.presence.is_online(&agent.into()));
    }
}

#[derive(Clone, Debug)]
enum Op {
    Register(u8, u8),
    Unregister(u8),
    Message {
        from: u8,
        to: u8,
        task: u8,
        is_answer: bool,
    },
    Status(u8, u8, u8),
    Artifact(u8, u8),
    End(u8),
    Stream(u8, bool),
    Connect(u8, u8, u8),
    Take(u8),
    Acknowledge(u8),
    Refuse(u8),
    Close(u8, bool),
    Wait(u8),
    Seek(u8, u8),
    Purge(u8),
    Retry(u8),
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        2 => (0u8..3, 0u8..2).prop_map(|(a, v)| Op::Register(a, v)),
        1 => (0u8..3).prop_map(Op::Unregister),
        8 => (0u8..4, 0u8..5, 0u8..6, any::<bool>())
            .prop_map(|(from, to, task, is_answer)| Op::Message { from, to, task, is_answer }),
        3 => (0u8..3, 0u8..5, 0u8..9).prop_map(|(a, t, s)| Op::Status(a, t, s)),
        2 => (0u8..3, 0u8..5).prop_map(|(a, t)| Op::Artifact(a, t)),
        1 => (0u8..5).prop_map(Op::End),
        2 => (0u8..3, any::<bool>()).prop_map(|(a, m)| Op::Stream(a, m)),
        3 => (0u8..3, 0u8..2, 0u8..3).prop_map(|(a, i, s)| Op::Connect(a, i, s)),
        6 => any::<u8>().prop_map(Op::Take),
        4 => any::<u8>().prop_map(Op::Acknowledge),
        2 => any::<u8>().prop_map(Op::Refuse),
        2 => (any::<u8>(), any::<bool>()).prop_map(|(s, g)| Op::Close(s, g)),
        2 => (1u8..40).prop_map(Op::Wait),
        1 => (0u8..3, any::<u8>()).prop_map(|(a, n)| Op::Seek(a, n)),
        1 => (0u8..3).prop_map(Op::Purge),
        1 => any::<u8>().prop_map(Op::Retry),
    ];
    prop::collection::vec(op, 0..120)
}

const SUBSCRIPTIONS: [&str; 2] = ["all", "tasks"];

fn agent(n: u8) -> String {
    if n == 3 {
        String::new()
    } else {
        format!("agent {n}")
    }
}

fn run(b: &mut Bench, ops: Vec<Op>) {
    let mut sessions: Vec<SessionId> = Vec::new();
    let mut taken: Vec<(SessionId, String)> = Vec::new();
    let caller = Caller::anonymous();
    for op in ops {
        b.core();
        // What is refused leaves no trace, which is part of what is shown.
        match op {
            Op::Register(a, version) => {
                let registration = Registration {
                    card: AgentCard {
                        name: agent(a),
                        version: version.to_string(),
                        ..Default::default()
                    },
                    topics: vec!["topic".into()],
                    health_check_url: String::new(),
                };
                let _ = b
                    .core
                    .register(&caller, registration, Announce::Always, b.now);
            }
            Op::Unregister(a) => {
                let _ = b.core.unregister(&caller, &agent(a).into(), "", b.now);
            }
            Op::Message {
                from,
                to,
                task,
                is_answer,
            } => {
                let role = if is_answer { Role::Agent } else { Role::User };
                let message = Message {
                    task_id: if task == 5 {
                        String::new()
                    } else {
                        task.to_string()
                    },
                    ..Message::new(role, "text")
                };
                let to = if to > 3 { String::new() } else { agent(to) };
                let message = if task % 2 == 0 {
                    message.with_metadata("task_type", "topic")
                } else {
                    message
                };
                let _ = b.publish(Body::Message(message), &agent(from), &to);
            }
            Op::Status(a, task, state) => {
                let update = TaskStatusUpdateEvent {
                    task_id: task.to_string(),
                    status: Some(TaskStatus {
                        state: state.into(),
                        ..Default::default()
                    }),
                    ..Default::default()
                };
                let _ = b.publish(Body::Status(update), &agent(a), "");
            }
            Op::Artifact(a, task) => {
                let update = TaskArtifactUpdateEvent {
                    task_id: task.to_string(),
                    artifact: Some(Artifact::default()),
                    ..Default::default()
                };
                let _ = b.publish(Body::Artifact(update), &agent(a), "");
            }
            Op::End(task) => {
                let task = task.to_string().into();
                b.core
                    .end_task(&task, TaskState::Cancelled, "enough", b.now);
            }
            Op::Stream(a, only_messages) => {
                let all = [EventKind::Message, EventKind::Task, EventKind::AgentCard];
                let kinds = if only_messages { &all[..1] } else { &all };
                sessions.push(b.stream(&agent(a), kinds).id);
            }
            Op::Connect(a, instance, which) => {
                let subscription = match which {
                    0 => durable("all"),
                    1 => Subscription {
                        ordered: true,
                        filter: Some(agenthub::Filter {
                            kinds: vec![EventKind::Task.into()],
                            ..Default::default()
                        }),
                        ..durable("tasks")
                    },
                    _ => of_instance("own"),
                };
                let opened = b.connect(&agent(a), &instance.to_string(), subscription);
                sessions.push(opened.id);
            }
            Op::Take(n) if !sessions.is_empty() => {
                let session = sessions[usize::from(n) % sessions.len()];
                for (_, delivery) in b.take(session).deliveries {
                    taken.push((session, delivery.mail.event.position.clone()));
                }
            }
            Op::Acknowledge(n) if !taken.is_empty() => {
                let (session, position) = taken.swap_remove(usize::from(n) % taken.len());
                let _ = b.core.acknowledge(&caller, session, 0, &[position], b.now);
            }
            Op::Refuse(n) if !taken.is_empty() => {
                let (session, position) = taken.swap_remove(usize::from(n) % taken.len());
                let delay = Duration::from_secs(u64::from(n) % 3);
                let _ = b.core.refuse(session, 0, &position, delay, "no", b.now);
            }
            Op::Close(n, said_goodbye) if !sessions.is_empty() => {
                let session = sessions.swap_remove(usize::from(n) % sessions.len());
                b.close(session, said_goodbye);
            }
            Op::Seek(a, n) => {
                let last = b.core.last();
                let to = Position(u64::from(n) * last.0 / 255);
                let request = SeekMailboxRequest {
                    agent_id: agent(a),
                    name: SUBSCRIPTIONS[usize::from(n % 2)].into(),
                    to: Some(To::After(b.core.log.id().token(to))),
                };
                let _ = b.seek(&request);
            }
            Op::Purge(a) => {
                let (a, all) = (agent(a).into(), Position(u64::MAX));
                b.core.skip(&caller, &a, "all", all, "purged", b.now);
            }
            Op::Retry(n) => {
                let letters: Vec<Position> =
                    b.core.state.dead_letters.iter().map(|l| l.0).collect();
                if let Some(letter) = letters.get(usize::from(n) % letters.len().max(1)) {
                    let letter = b.core.log.id().token(*letter);
                    let _ = b.core.retry_dead_letter(&caller, &letter, b.now);
                }
            }
            Op::Wait(seconds) => b.wait(Duration::from_secs(seconds.into())),
            Op::Take(_) | Op::Acknowledge(_) | Op::Refuse(_) | Op::Close(..) => {}
        }
    }
}

/// Small bounds, so that mail is given up for every reason.
fn tight() -> Settings {
    Settings {
        max_attempts: 2,
        mailbox_events: 12,
        mailbox_age: Duration::from_secs(100),
        dead_letters: 8,
        ..Settings::default()
    }
}

fn dead_letters(state: &State) -> Vec<(Position, DeadLetter)> {
    let letters = state.dead_letters.iter();
    letters.map(|(id, l)| (id, l.clone())).collect()
}

/// How often what is in durable mailboxes was delivered, and to whom.
fn tries(state: &State) -> Vec<Try> {
    let boxes = state.mailboxes.saved().into_iter();
    boxes.flat_map(|m| m.tries).collect()
}

/// Who has lost open tasks.
fn superseded(state: &State) -> Superseded {
    let mut superseded = state.superseded.clone();
    superseded.retain(|id| state.tasks.get(id).is_some_and(|t| !t.is_terminal()));
    superseded
}

/// What each durable mailbox holds.
fn contents(state: &mut State) -> BTreeMap<(u8, &'static str), Vec<Option<Position>>> {
    let mut found = BTreeMap::new();
    for a in 0..3 {
        for name in SUBSCRIPTIONS {
            let id = state
                .mailboxes
                .find(&agent(a).into(), name, &Lifetime::Durable);
            if let Some(id) = id {
                let mail = state.mailboxes.close(id);
                found.insert((a, name), mail.into_iter().map(|m| m.position).collect());
            }
        }
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Folding the log again gives what the hub knows: the directory, the tasks, and what waits in durable mailboxes.
    #[test]
    fn the_state_is_the_fold_of_the_log(ops in ops()) {
        let settings = tight();
        let mut live = Bench::new(settings.clone());
        run(&mut live, ops);
        live.core();
        let mut folded = State::new(&settings, live.core.log.id());
        let now = live.now;
        live.core.tell_tries(now);
        for record in live.records.lock().expect("one thread").iter() {
            let age = live.now.time.duration_since(record.time).unwrap_or_default();
            folded.replay(record, age, live.now.instant);
        }
        let state = &mut live.core.state;
        prop_assert_eq!(&state.registry, &folded.registry);
        let all = Query { limit: usize::MAX, ..Query::default() };
        prop_assert_eq!(state.tasks.list(&all), folded.tasks.list(&all));
        for a in 0..3 {
            let agent = agent(a).into();
            prop_assert_eq!(state.tasks.in_flight(&agent), folded.tasks.in_flight(&agent));
        }
        prop_assert_eq!(dead_letters(state), dead_letters(&folded));
        prop_assert_eq!(tries(state), tries(&folded));
        prop_assert_eq!(superseded(state), superseded(&folded));
        prop_assert_eq!(contents(state), contents(&mut folded));
    }

    /// A snapshot and what came after it give what the whole log gives, wherever the snapshot was taken.
    #[test]
    fn a_snapshot_stands_for_what_it_was_made_of(ops in ops(), part in 0.0..=1.0) {
        let settings = tight();
        let mut live = Bench::new(settings.clone());
        run(&mut live, ops);
        live.core();
        let records = live.records.lock().expect("one thread").clone();
        let (log, moment) = (live.core.log.id(), live.moment());
        let fold = |mut state: State, records: &[Record]| {
            for record in records {
                let age = moment.time.duration_since(record.time).unwrap_or_default();
                state.replay(record, age, moment.instant);
            }
            state
        };
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let (before, after) = records.split_at((records.len() as f64 * part) as usize);
        let early = fold(State::new(&settings, log), before);
        let mut parts = Vec::new();
        let _ = snapshot::write(&early, moment, &mut |part| {
            parts.push(part);
            Ok::<_, ()>(())
        });
        let mut reading = snapshot::Reading::new(&settings, log, moment);
        for position in snapshot::kept(&early, moment) {
            let kept = records.iter().find(|r| r.position == position);
            prop_assert_eq!(reading.keep(kept.expect("it is in the log")), Ok(()));
        }
        for part in &parts {
            prop_assert_eq!(reading.part(part), Ok(()));
        }
        let mut restored = fold(reading.finish(), after);
        let mut whole = fold(State::new(&settings, log), &records);

        prop_assert_eq!(&whole.registry, &restored.registry);
        let all = Query { limit: usize::MAX, ..Query::default() };
        prop_assert_eq!(whole.tasks.list(&all), restored.tasks.list(&all));
        for a in 0..3 {
            let agent = agent(a).into();
            prop_assert_eq!(whole.tasks.in_flight(&agent), restored.tasks.in_flight(&agent));
            let waiting = |state: &State| -> Vec<_> { state.mailboxes.unclaimed.of(&agent).map(|m| m.position).collect() };
            prop_assert_eq!(waiting(&whole), waiting(&restored));
        }
        prop_assert_eq!(whole.dedupe.iter().collect::<Vec<_>>(), restored.dedupe.iter().collect::<Vec<_>>());
        prop_assert_eq!(dead_letters(&whole), dead_letters(&restored));
        prop_assert_eq!(tries(&whole), tries(&restored));
        prop_assert_eq!(superseded(&whole), superseded(&restored));
        prop_assert_eq!(contents(&mut whole), contents(&mut restored));
    }
}

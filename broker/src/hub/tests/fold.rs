//! The state is the fold of the log, with and without snapshots.

use std::collections::{BTreeMap, BTreeSet};

use agenthub_proto::{
    a2a::{Artifact, Task, TaskStatus},
    agenthub::{TaskArtifactUpdateEvent, TaskStatusUpdateEvent, seek_mailbox_request::To},
};
use proptest::prelude::*;

use super::*;
use crate::{
    bodies::Bodies,
    dead_letters::DeadLetter,
    id::AgentId,
    log::Try,
    mailbox::Mail,
    sealed::Sealed,
    superseded::Superseded,
    tasks::{StatusQuery, Tasks},
};

#[derive(Clone, Debug)]
pub(super) enum Op {
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

pub(super) fn ops() -> impl Strategy<Value = Vec<Op>> {
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

/// Performs the operations. Returns the deliveries.
pub(super) fn run(b: &mut Bench, ops: Vec<Op>) -> Vec<(Position, u32, Arc<Sealed>)> {
    let mut delivered = Vec::new();
    let mut sessions: Vec<SessionId> = Vec::new();
    let mut taken: Vec<(SessionId, String)> = Vec::new();
    let caller = Caller::anonymous();
    for op in ops {
        b.core();
        // Refused operations leave no trace, which is part of the property.
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
                let _ = b.core.register(&caller, registration, None, b.now);
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
                    let attempt = delivery.attempt();
                    for (event, position) in b.filled(&delivery).events() {
                        taken.push((session, event.position.clone()));
                        delivered.extend(position.map(|at| (at, attempt, event)));
                    }
                }
            }
            Op::Acknowledge(n) if !taken.is_empty() => {
                let (session, position) = taken.swap_remove(usize::from(n) % taken.len());
                if let Ok(position) = b.core.log.id().position(&position) {
                    let handled = vec![position];
                    let _ = b.core.acknowledge_at(&caller, session, 0, &handled, b.now);
                }
            }
            Op::Refuse(n) if !taken.is_empty() => {
                let (session, position) = taken.swap_remove(usize::from(n) % taken.len());
                let delay = Duration::from_secs(u64::from(n) % 3);
                if let Ok(position) = b.core.log.id().position(&position) {
                    let _ = b.core.refuse(session, 0, position, delay, "no", b.now);
                }
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
                let now = b.now;
                while b.core.skip_some(&caller, &a, "all", all, "purged", now) > 0 {}
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
    delivered
}

/// Memory limits for bodies: for none, for those of a few events, or for all.
pub(super) fn bodies() -> impl Strategy<Value = usize> {
    prop_oneof![Just(0), 0..40_000_usize, Just(usize::MAX)]
}

/// Small limits, so that mail is given up for every reason.
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

/// Delivery attempts of the mail in durable mailboxes, with the instances.
fn tries(state: &State) -> Vec<Try> {
    let boxes = state.mailboxes.saved().into_iter();
    boxes.flat_map(|m| m.tries).collect()
}

/// All tasks, latest change first.
fn listed(tasks: &Tasks, all: &Query) -> Vec<Task> {
    let listed = tasks.list(all).tasks.into_iter();
    listed.map(|task| task.task().expect("in memory")).collect()
}

/// The ids of an agent's tasks, latest status first.
fn listed_by_status(tasks: &Tasks, agent: AgentId) -> Vec<String> {
    let query = StatusQuery {
        agent,
        context: None,
        initiator: None,
        states: Vec::new(),
        since: None,
        before: None,
        limit: usize::MAX,
    };
    let listed = tasks.list_by_status(&query).tasks.into_iter();
    listed
        .map(|task| task.task().expect("in memory").id)
        .collect()
}

/// Instances that have lost open tasks.
fn superseded(state: &State) -> Superseded {
    let mut superseded = state.superseded.clone();
    superseded.retain(|id| state.tasks.get(id).is_some_and(|t| !t.is_terminal()));
    superseded
}

/// Contents of each durable mailbox.
fn contents(state: &State) -> BTreeMap<(String, String), BTreeSet<Option<Position>>> {
    let saved = state.mailboxes.saved().into_iter();
    let holds = |mail: Vec<Mail>| mail.into_iter().map(|m| m.position).collect();
    saved
        .map(|s| ((s.agent.to_string(), s.name.to_owned()), holds(s.mail)))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Folding the log again gives the same state: the directory, the tasks, and waiting mail.
    #[test]
    fn the_state_is_the_fold_of_the_log(ops in ops(), bodies in [bodies(), bodies()]) {
        let settings = tight();
        let mut live = Bench::new(settings.clone());
        live.bound_bodies(bodies[0]);
        run(&mut live, ops);
        live.core();
        let mut folded = blank(&settings);
        folded.mailboxes.bodies = Bodies::new(bodies[1]);
        let now = live.now;
        live.core.tell_tries(now);
        for record in live.records.lock().expect("one thread").iter() {
            let age = live.now.time.duration_since(record.time).unwrap_or_default();
            folded.replay(record, age, live.now.instant);
        }
        let state = &mut live.core.state;
        prop_assert_eq!(&state.registry, &folded.registry);
        let all = Query { limit: usize::MAX, ..Query::default() };
        prop_assert_eq!(listed(&state.tasks, &all), listed(&folded.tasks, &all));
        for a in 0..3 {
            let agent = agent(a).into();
            prop_assert_eq!(state.tasks.in_flight(&agent), folded.tasks.in_flight(&agent));
            prop_assert_eq!(listed_by_status(&state.tasks, agent.clone()), listed_by_status(&folded.tasks, agent));
        }
        prop_assert_eq!(dead_letters(state), dead_letters(&folded));
        prop_assert_eq!(tries(state), tries(&folded));
        prop_assert_eq!(superseded(state), superseded(&folded));
        prop_assert_eq!(contents(state), contents(&folded));
    }

    /// A snapshot and the records after it give the same state as the whole log, wherever the snapshot was taken.
    #[test]
    fn a_snapshot_stands_for_what_it_was_made_of(ops in ops(), part in 0.0..=1.0, bodies in bodies()) {
        let settings = tight();
        let blank = |settings: &Settings| {
            let mut state = blank(settings);
            state.mailboxes.bodies = Bodies::new(bodies);
            state
        };
        let mut live = Bench::new(settings.clone());
        live.bound_bodies(bodies);
        run(&mut live, ops);
        live.core();
        let records = live.records.lock().expect("one thread").clone();
        let moment = live.moment();
        let fold = |mut state: State, records: &[Record]| {
            for record in records {
                let age = moment.time.duration_since(record.time).unwrap_or_default();
                state.replay(record, age, moment.instant);
            }
            state
        };
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let (before, after) = records.split_at((records.len() as f64 * part) as usize);
        let early = fold(blank(&settings), before);
        let mut parts = Vec::new();
        let _ = snapshot::write(&early, moment, &mut |part| {
            parts.push(part);
            Ok::<_, ()>(())
        });
        let mut reading = snapshot::Reading::new(&settings, moment);
        reading.bound_bodies(bodies);
        for position in snapshot::kept(&early, moment) {
            let kept = records.iter().find(|r| r.position == position);
            prop_assert_eq!(reading.keep(kept.expect("it is in the log")), Ok(()));
        }
        for part in &parts {
            prop_assert_eq!(reading.part(part), Ok(()));
        }
        for segment in snapshot::seen::segments(&early.dedupe, moment) {
            prop_assert_eq!(reading.seen(&segment.publishes), Ok(()));
        }
        let restored = fold(reading.finish(), after);
        let whole = fold(blank(&settings), &records);

        prop_assert_eq!(&whole.registry, &restored.registry);
        let all = Query { limit: usize::MAX, ..Query::default() };
        prop_assert_eq!(listed(&whole.tasks, &all), listed(&restored.tasks, &all));
        for a in 0..3 {
            let agent = agent(a).into();
            prop_assert_eq!(whole.tasks.in_flight(&agent), restored.tasks.in_flight(&agent));
            prop_assert_eq!(listed_by_status(&whole.tasks, agent.clone()), listed_by_status(&restored.tasks, agent.clone()));
            let waiting = |state: &State| -> Vec<_> { state.mailboxes.unclaimed.of(&agent, Position(0)).map(|m| m.position).collect() };
            prop_assert_eq!(waiting(&whole), waiting(&restored));
        }
        prop_assert_eq!(whole.dedupe.iter().collect::<Vec<_>>(), restored.dedupe.iter().collect::<Vec<_>>());
        prop_assert_eq!(dead_letters(&whole), dead_letters(&restored));
        prop_assert_eq!(tries(&whole), tries(&restored));
        prop_assert_eq!(superseded(&whole), superseded(&restored));
        prop_assert_eq!(contents(&whole), contents(&restored));
    }
}

//! Listings by agent, context and state: what they find, and how many tasks they look at.

use super::*;
use crate::steps;

const LATE: Duration = Duration::from_secs(5);

fn settle_all(tasks: &mut Tasks) {
    let later = START + Duration::from_secs(100);
    while !tasks.settle(LATE, later).is_empty() {}
}

fn add(tasks: &mut Tasks, id: &str, context: &str, asker: &str, worker: &str) {
    let routing = AgentEventMetadata {
        on_behalf_of: principal(asker),
        ..routing(asker)
    };
    let worker = AgentId::from(worker);
    tasks.apply_message(&message(id, context), &routing, Some(&worker), START);
}

/// The principal on whose behalf a requester asks; nobody for one of them.
fn principal(asker: &str) -> String {
    match asker {
        "a0" => String::new(),
        "a1" => principal("a2"),
        asker => format!("for {asker}"),
    }
}

fn own(principal: &str, agents: &[&str]) -> Own {
    Own {
        principal: principal.to_owned(),
        agents: agents.iter().map(|agent| AgentId::from(*agent)).collect(),
    }
}

fn end(tasks: &mut Tasks, id: &str, state: TaskState) {
    tasks.apply_status(&status(id, state), None, START);
}

/// The tasks of all pages, and the most that were looked at for one of them.
fn pages(tasks: &Tasks, mut query: Query) -> (Vec<String>, usize) {
    let (mut found, mut most) = (Vec::new(), 0);
    loop {
        let (steps, page) = steps::count(|| tasks.list(&query));
        most = most.max(steps);
        assert!(page.tasks.len() <= query.limit);
        found.extend(ids(page.tasks));
        query.before = page.next;
        if query.before.is_none() {
            return (found, most);
        }
    }
}

/// Three requests of ten tasks each, of which one is open, one has just ended and one has settled, among as many others of each kind. One of ten of
/// their tasks, or of the others, has failed if it has ended.
fn among(others: usize) -> Tasks {
    let mut tasks = Tasks::new(Bounds {
        open: usize::MAX,
        ended: usize::MAX,
        ..BOUNDS
    });
    for kind in ["settled", "fresh", "open"] {
        for n in 0..others {
            let (id, context) = (format!("{kind}{n}"), format!("{kind} of others {}", n / 10));
            add(&mut tasks, &id, &context, "usual asker", "usual worker");
            if n == others / 2 {
                for n in 0..10 {
                    let id = format!("{kind} wanted{n}");
                    add(&mut tasks, &id, kind, "asker", "worker");
                }
            }
        }
        if kind == "open" {
            continue;
        }
        for n in 0..others {
            let state = match n % 10 {
                3 => TaskState::Cancelled,
                _ => TaskState::Completed,
            };
            end(&mut tasks, &format!("{kind}{n}"), state);
            if n == others / 2 {
                for n in 0..10 {
                    let state = match n {
                        7 => TaskState::Failed,
                        _ => TaskState::Completed,
                    };
                    end(&mut tasks, &format!("{kind} wanted{n}"), state);
                }
            }
        }
        if kind == "settled" {
            settle_all(&mut tasks);
        }
    }
    tasks
}

/// Issue 26, cost: a million tasks page without a slow query.
#[test]
fn a_page_looks_at_no_more_tasks_than_it_shows_however_many_there_are() {
    let of = |agent: Option<&str>, context: Option<&str>, states: &[TaskState]| Query {
        agent: agent.map(AgentId::from),
        context: context.map(str::to_owned),
        states: states.into(),
        limit: 4,
        ..Query::default()
    };
    let initiated = |agent| Query {
        initiator: Some(principal("asker")),
        ..of(agent, None, &[])
    };
    let owned = |agents: &[&str], states: &[TaskState]| Query {
        own: Some(own(&principal("asker"), agents)),
        ..of(None, None, states)
    };
    for others in [100, 2_000] {
        let tasks = among(others);
        let failed = &[TaskState::Failed][..];
        let queries = [
            (of(None, Some("open"), &[]), 10),
            (of(None, Some("fresh"), &[]), 10),
            (of(None, Some("settled"), &[]), 10),
            (of(Some("worker"), Some("settled"), &[]), 10),
            (of(Some("worker"), None, &[]), 30),
            (of(Some("asker"), None, &[]), 30),
            (of(Some("worker"), None, failed), 2),
            (of(Some("usual worker"), None, failed), 0),
            (of(Some("worker"), None, &[TaskState::Submitted]), 10),
            (of(None, None, failed), 2),
            (of(Some("nobody"), None, &[]), 0),
            (of(None, Some("nothing"), &[]), 0),
            (initiated(None), 30),
            (initiated(Some("worker")), 30),
            (owned(&["worker"], &[]), 30),
            (owned(&["nobody", "other"], &[TaskState::Submitted]), 10),
        ];
        for (query, expected) in queries {
            let (found, most) = pages(&tasks, query.clone());
            assert_eq!(found.len(), expected, "{query:?}");
            // The one behind those of the page says that there are more.
            assert!(most <= query.limit + 1, "{most} among {others}: {query:?}");
        }
    }
}

/// spec: A2A 1.0.1 §3.1.4
#[test]
fn tasks_by_status_are_found_by_context_and_state_without_the_others() {
    for others in [100, 2_000] {
        let tasks = among(others);
        for (context, asker, states, expected) in [
            (Some("open"), None, &[][..], 10),
            (Some("fresh"), None, &[][..], 10),
            (Some("settled"), None, &[][..], 10),
            (Some("settled"), Some("usual asker"), &[][..], 0),
            (None, Some("asker"), &[][..], 30),
            (None, None, &[TaskState::Failed][..], 2),
        ] {
            let query = StatusQuery {
                agent: "worker".into(),
                context: context.map(str::to_owned),
                initiator: asker.map(principal),
                states: states.into(),
                since: None,
                before: None,
                limit: 50,
            };
            let (steps, page) = steps::count(|| tasks.list_by_status(&query));
            assert_eq!(page.tasks.len(), expected, "{query:?}");
            let most = (2 * expected).max(10);
            assert!(steps <= most, "{steps} among {others}: {query:?}");
            let (steps, (count, _)) = steps::count(|| tasks.count_by_status(&query));
            assert_eq!(count as usize, expected, "{query:?}");
            assert!(steps <= most, "{steps} among {others}: {query:?}");
        }
    }
}

/// A page may begin at a task that is open since long, among settled ones of others.
#[test]
fn a_page_that_begins_elsewhere_finds_the_nearest_of_its_tasks() {
    for others in [100, 2_000] {
        let mut tasks = Tasks::new(Bounds {
            ended: usize::MAX,
            ..BOUNDS
        });
        let many = |tasks: &mut Tasks, name: &str| {
            for n in 0..others {
                let id = format!("{name}{n}");
                add(tasks, &id, "usual", "usual asker", "usual worker");
                end(tasks, &id, TaskState::Completed);
            }
        };
        let rare = |tasks: &mut Tasks, id: &str| {
            add(tasks, id, "rare", "asker", "worker");
            end(tasks, id, TaskState::Completed);
        };
        rare(&mut tasks, "first");
        many(&mut tasks, "early");
        add(&mut tasks, "open", "rare", "asker", "worker");
        many(&mut tasks, "late");
        rare(&mut tasks, "last");
        settle_all(&mut tasks);
        for (agent, context) in [(Some("worker".into()), None), (None, Some("rare".into()))] {
            let query = Query {
                agent,
                context,
                limit: 1,
                ..Query::default()
            };
            let (found, most) = pages(&tasks, query);
            assert_eq!(found, ["last", "open", "first"]);
            assert!(most <= 4, "{most} among {others}");
        }
    }
}

/// A list has the tasks that match, in the order in which all are listed, whatever became of them.
#[test]
fn lists_agree_with_all_tasks() {
    const STATES: [TaskState; 7] = [
        TaskState::Submitted,
        TaskState::Working,
        TaskState::InputRequired,
        TaskState::Completed,
        TaskState::Failed,
        TaskState::Cancelled,
        TaskState::Rejected,
    ];
    let mut rng = fastrand::Rng::with_seed(11);
    let mut tasks = keeping(60);
    let one_of = |rng: &mut fastrand::Rng, kind: &str| format!("{kind}{}", rng.u32(..4));
    for round in 0..2_000 {
        let id = format!("t{}", rng.u32(..150));
        let is_open = tasks.get(&id).is_some_and(|known| !known.is_terminal());
        let is_free = !tasks.live.contains_key(id.as_str());
        match (is_open, is_free) {
            (true, _) if rng.bool() => {
                let joined = message(&id, tasks.get(&id).map_or("", |known| known.context()));
                tasks.apply_message(&joined, &routing("asker"), None, START);
            }
            (true, _) => end(&mut tasks, &id, STATES[rng.usize(1..STATES.len())]),
            // Ids of tasks that have settled are taken again.
            (false, true) => {
                let (context, asker) = (one_of(&mut rng, "c"), one_of(&mut rng, "a"));
                let context = if context == "c0" { "" } else { &context };
                let worker = one_of(&mut rng, "a");
                add(&mut tasks, &id, context, &asker, &worker);
            }
            (false, false) => {}
        }
        if rng.u32(..20) == 0 {
            settle_all(&mut tasks);
        }
        let mut some = |kind: &str| rng.bool().then(|| format!("{kind}{}", rng.u32(..4)));
        let (agent, context) = (some("a").map(AgentId::from), some("c"));
        let initiator = some("a").map(|asker| principal(&asker));
        let initiator = initiator.filter(|principal| !principal.is_empty());
        let own = some("a").map(|asker| own(&principal(&asker), &["a0", "a3"]));
        let states = rng.usize(..3);
        let query = Query {
            agent,
            context,
            initiator,
            own: own.filter(|own| !own.principal.is_empty()),
            assigned: rng.bool(),
            states: rng.choose_multiple(STATES, states),
            extents: Vec::new(),
            before: None,
            limit: rng.usize(1..6),
        };
        let all = Query {
            limit: 100,
            ..Query::default()
        };
        let (mut expected, _) = pages(&tasks, all);
        expected.retain(|id| {
            let known = tasks.get(id).expect("it is listed");
            let is_party = |agent: &AgentId| {
                known.assignee() == Some(agent) || !query.assigned && known.requester() == agent
            };
            let is_own = |own: &Own| {
                let parties = known.assignee().into_iter().chain([known.requester()]);
                let is_its = parties.into_iter().any(|agent| own.agents.contains(agent));
                // A context is looked up as a whole.
                query.context.is_some() || is_its || known.initiator() == own.principal
            };
            query.agent.as_ref().is_none_or(is_party)
                && query.own.as_ref().is_none_or(is_own)
                && query
                    .initiator
                    .as_ref()
                    .is_none_or(|p| known.initiator() == *p)
                && query.context.as_ref().is_none_or(|c| known.context() == *c)
                && (query.states.is_empty() || query.states.contains(&known.state()))
        });
        let (found, _) = pages(&tasks, query.clone());
        assert_eq!(found, expected, "round {round}: {query:?}");
        let mut counted = (0, query.clone());
        while let (count, Some(next)) = tasks.count(&counted.1) {
            counted = (
                counted.0 + count,
                Query {
                    before: Some(next),
                    ..counted.1
                },
            );
        }
        let last = tasks.count(&counted.1).0;
        assert_eq!(
            (counted.0 + last) as usize,
            expected.len(),
            "round {round}: {query:?}"
        );
    }
}

//! Agents that come back and go on with what they had in hand.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use agenthub_sdk::{
    Agent, Client, Delegation, Pending, RunningAgent, TaskContext,
    proto::{
        a2a::{Message, Role, TaskState},
        agenthub::{AgentEventMetadata, ListMailboxesRequest},
    },
    runs::{
        Budget, Driver, Journal, RunEvent, RunId, RunOutcome, RunStarted, StepId,
        journal::MemoryJournal,
    },
};
use serde_json::{Value, json};
use tokio::sync::{Semaphore, mpsc};

use crate::{
    conducting::{Scripted, StandIns},
    harness::{Hub, card, eventually, soon},
    journals::Kept,
};

/// An agent under an id of its own that keeps its runs in this journal. Dropping it is as good as killing it.
pub(crate) async fn start(
    hub: &Hub,
    stand_ins: &Arc<StandIns>,
    journal: &Arc<MemoryJournal>,
    steps: Value,
) -> RunningAgent {
    let agent = Agent::worker(card("a"))
        .instance_id("a-1")
        .drain_timeout(Duration::from_millis(50))
        .conduct("work", Scripted::new(stand_ins, steps))
        .journal(Kept::new(journal));
    agent.start(hub.url()).await.expect("it starts")
}

pub(crate) async fn ask(client: &Client) -> Pending {
    let pending = client.delegate(Delegation::to("a").text("go")).await;
    pending.expect("it is taken")
}

/// The run of the message that made this task.
pub(crate) async fn run_of(client: &Client, task_id: &str) -> RunId {
    let task = client.task(task_id, 0).await.expect("the hub knows it");
    RunId::of(&["a", task_id, &task.history[0].message_id])
}

pub(crate) async fn how_it_ended(journal: &MemoryJournal, run: &RunId) -> Option<RunOutcome> {
    let entries = journal.read(run, 0, 1_000).await.unwrap_or_default();
    match entries.last()?.event.clone() {
        RunEvent::Ended { outcome, .. } => Some(outcome),
        _ => None,
    }
}

/// An agent that says how often it was asked, something in between, and an answer.
struct Helper {
    asked: Arc<AtomicUsize>,
    gate: Arc<Semaphore>,
    _agent: RunningAgent,
}

impl Helper {
    async fn start(hub: &Hub) -> Self {
        let asked = Arc::new(AtomicUsize::new(0));
        let gate = Arc::new(Semaphore::new(0));
        let (count, hold) = (asked.clone(), gate.clone());
        let agent = Agent::worker(card("b"))
            .on_task_type("work", move |task: TaskContext| {
                let (count, hold) = (count.clone(), hold.clone());
                async move {
                    count.fetch_add(1, Ordering::SeqCst);
                    hold.acquire().await?.forget();
                    task.publish_message(Message::new(Role::Agent, "nearly"))
                        .await?;
                    hold.acquire().await?.forget();
                    Ok("two")
                }
            })
            .start(hub.url())
            .await
            .expect("it starts");
        Self {
            asked,
            gate,
            _agent: agent,
        }
    }

    async fn is_asked(&self, times: usize) {
        eventually("the helper is asked", || async {
            self.asked.load(Ordering::SeqCst) == times
        })
        .await;
    }
}

fn with_help() -> Value {
    json!([{"ask": "one"}, {"to": "b", "steps": []}, {"ask": "three"}])
}

#[tokio::test]
async fn a_run_goes_on_where_it_was_and_nobody_works_twice() {
    let hub = Hub::start().await;
    let helper = Helper::start(&hub).await;
    let stand_ins = StandIns::new();
    let journal = Arc::new(MemoryJournal::default());
    let a = start(&hub, &stand_ins, &journal, with_help()).await;
    let client = hub.client().await;
    let pending = ask(&client).await;
    helper.is_asked(1).await;
    drop(a);

    let _a = start(&hub, &stand_ins, &journal, with_help()).await;
    eventually("it is handed over again", || async {
        stand_ins.handed.load(Ordering::SeqCst) == 2
    })
    .await;
    // What the helper says before its answer is not taken for one, although nothing is known here of what it said before.
    helper.gate.add_permits(1);
    eventually("the helper has said something", || async {
        let tasks = client.all_tasks(Default::default()).await.expect("tasks");
        let task = tasks.iter().find(|t| t.assignee() == "b").map(|t| &t.id);
        let task = client.task(task.expect("a task"), 0).await;
        task.expect("a task").history.len() == 2
    })
    .await;
    helper.gate.add_permits(1);
    let outcome = soon(pending.outcome()).await.expect("an outcome");
    assert_eq!(
        (outcome.text.as_str(), outcome.state),
        ("one two three", TaskState::Completed)
    );
    assert_eq!(helper.asked.load(Ordering::SeqCst), 1);
    assert_eq!(stand_ins.begun.load(Ordering::SeqCst), 1);
    assert_eq!(
        stand_ins.asked.load(Ordering::SeqCst),
        2,
        "no answer is asked for again"
    );
}

/// Who has the run goes on with it; were it to die, the run would be found in the journal.
#[tokio::test]
async fn a_message_whose_run_another_instance_drives_is_left_to_it() {
    let hub = Hub::start().await;
    let stand_ins = StandIns::new();
    let journal = Arc::new(MemoryJournal::default());
    let first = RunStarted {
        strategy: "script".into(),
        input: json!([]),
        thread: String::new(),
        origin: Value::Null,
        budget: Budget::default(),
        deadline_ms: None,
        at_ms: 0,
    };
    let other = Driver::new(journal.clone(), "another");
    let run = RunId::of(&["a", "t", "m"]);
    let _in_hand = other.open(run.clone(), "a", Some(first)).await;
    let _a = start(&hub, &stand_ins, &journal, json!([{"ask": "one"}])).await;
    let client = hub.client().await;
    let delegation = Delegation::to("a").text("go").task_id("t");
    let _pending = client
        .delegate(delegation.message_id("m"))
        .await
        .expect("it is taken");
    eventually("it is done with", || async {
        let request = ListMailboxesRequest {
            agent_id: "a".into(),
            ..Default::default()
        };
        let listed = client
            .operator()
            .mailboxes(request)
            .await
            .expect("the hub tells");
        let mut inbox = listed.mailboxes.iter().filter(|m| m.name == "inbox");
        inbox.all(|m| m.waiting + m.leased == 0)
    })
    .await;
    assert_eq!(stand_ins.begun.load(Ordering::SeqCst), 0);
    assert_eq!(journal.read(&run, 0, 10).await.map(|e| e.len()), Ok(1));
}

#[tokio::test]
async fn an_answer_that_came_while_nobody_was_there_is_found() {
    let hub = Hub::start().await;
    let helper = Helper::start(&hub).await;
    let stand_ins = StandIns::new();
    let journal = Arc::new(MemoryJournal::default());
    let a = start(&hub, &stand_ins, &journal, with_help()).await;
    let client = hub.client().await;
    let pending = ask(&client).await;
    helper.is_asked(1).await;
    drop(a);
    helper.gate.add_permits(2);
    eventually("the helper has answered", || async {
        let tasks = client.all_tasks(Default::default()).await.expect("tasks");
        let mut tasks = tasks.iter().filter(|t| t.assignee() == "b");
        tasks.any(|t| t.state() == TaskState::Completed)
    })
    .await;

    let _a = start(&hub, &stand_ins, &journal, with_help()).await;
    let outcome = soon(pending.outcome()).await.expect("an outcome");
    assert_eq!(outcome.text, "one two three");
    assert_eq!(helper.asked.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn what_its_agent_used_is_known_of_an_answer_that_came_meanwhile() {
    let hub = Hub::start().await;
    let [a, b] = [StandIns::new(), StandIns::new()];
    let journal = Arc::new(MemoryJournal::default());
    let steps = json!([{"to": "b", "steps": [{"call": "slow"}, {"ask": "x"}]}]);
    let _b = Agent::worker(card("b"))
        .conduct("work", Scripted::new(&b, json!([])))
        .start(hub.url())
        .await
        .expect("it starts");
    let first = start(&hub, &a, &journal, steps.clone()).await;
    let client = hub.client().await;
    let pending = ask(&client).await;
    b.wait_at_work(1).await;
    drop(first);
    b.gate.add_permits(1);
    eventually("the helper has answered", || async {
        let tasks = client.all_tasks(Default::default()).await.expect("tasks");
        let mut tasks = tasks.iter().filter(|t| t.assignee() == "b");
        tasks.any(|t| t.state() == TaskState::Completed)
    })
    .await;
    let _a = start(&hub, &a, &journal, steps).await;
    let outcome = soon(pending.outcome()).await.expect("an outcome");
    let spent = outcome.spent.expect("it tells");
    assert_eq!((spent.tokens, spent.calls), (10, 3));
}

#[tokio::test]
async fn a_run_whose_task_was_cancelled_meanwhile_does_nothing_any_more() {
    let hub = Hub::start().await;
    let stand_ins = StandIns::new();
    let journal = Arc::new(MemoryJournal::default());
    let steps = json!([{"call": "slow"}, {"ask": "more"}]);
    let a = start(&hub, &stand_ins, &journal, steps.clone()).await;
    let client = hub.client().await;
    let pending = ask(&client).await;
    stand_ins.wait_at_work(1).await;
    a.stop().await;
    let task_id = pending.task_id().to_owned();
    let run = run_of(&client, &task_id).await;
    pending.cancel("enough").await.expect("it is cancelled");
    let before = stand_ins.started();

    let _a = start(&hub, &stand_ins, &journal, steps).await;
    eventually("the run is over", || async {
        how_it_ended(&journal, &run).await.is_some()
    })
    .await;
    let reason = "the task is cancelled".to_owned();
    let ended = how_it_ended(&journal, &run).await;
    assert_eq!(ended, Some(RunOutcome::Cancelled { reason }));
    assert_eq!(stand_ins.started(), before);
    let outcome = soon(pending.outcome()).await.expect("an outcome");
    assert_eq!(
        (outcome.state, outcome.error.as_str()),
        (TaskState::Cancelled, "enough")
    );
}

#[tokio::test]
async fn a_run_whose_task_the_hub_has_lost_does_nothing_any_more() {
    let hub = Hub::start().await;
    let stand_ins = StandIns::new();
    let journal = Arc::new(MemoryJournal::default());
    let steps = json!([{"call": "slow"}, {"ask": "more"}]);
    let a = start(&hub, &stand_ins, &journal, steps.clone()).await;
    let client = hub.client().await;
    let pending = ask(&client).await;
    stand_ins.wait_at_work(1).await;
    a.stop().await;
    let run = run_of(&client, pending.task_id()).await;
    let hub = hub.restart().await;
    let _a = start(&hub, &stand_ins, &journal, steps).await;
    eventually("the run is over", || async {
        how_it_ended(&journal, &run).await.is_some()
    })
    .await;
    assert_eq!(stand_ins.started(), 1);
}

/// What was left behind waits for a place like everything else.
#[tokio::test]
async fn only_so_many_runs_are_taken_up_at_one_time() {
    let hub = Hub::start().await;
    let stand_ins = StandIns::new();
    let journal = Arc::new(MemoryJournal::default());
    let steps = json!([{"call": "slow"}]);
    let a = start(&hub, &stand_ins, &journal, steps.clone()).await;
    let client = hub.client().await;
    let mut all = Vec::new();
    for _ in 0..6 {
        all.push(ask(&client).await);
    }
    stand_ins.wait_at_work(6).await;
    a.stop().await;

    let _a = Agent::worker(card("a"))
        .instance_id("a-1")
        .concurrency(2)
        .conduct("work", Scripted::new(&stand_ins, steps))
        .journal(Kept::new(&journal))
        .start(hub.url())
        .await
        .expect("it starts");
    let mut most = 0;
    for done in 1..=6 {
        let mut at_work = stand_ins.at_work.subscribe();
        let waiting = at_work.wait_for(|n| *n >= 2.min(7 - done));
        most = most.max(*soon(waiting).await.expect("it counts"));
        stand_ins.gate.add_permits(1);
        let mut over = stand_ins.done.subscribe();
        soon(over.wait_for(|n| *n == done))
            .await
            .expect("it counts");
    }
    assert_eq!(most, 2);
    for pending in all {
        assert!(
            soon(pending.outcome())
                .await
                .expect("an outcome")
                .is_completed()
        );
    }
}

/// Two hubs, so that what is sent a second time can be seen: a hub that has it would not show it again.
#[tokio::test]
async fn a_step_that_is_sent_again_is_the_same_to_the_byte() {
    let stand_ins = StandIns::new();
    let journal = Arc::new(MemoryJournal::default());
    let mut seen = Vec::new();
    for round in 0..2 {
        let hub = Hub::start().await;
        let (told, mut tells) = mpsc::channel(1);
        let _b = Agent::worker(card("b"))
            .on_task_type("work", move |task: TaskContext| {
                let told = told.clone();
                async move {
                    told.send((task.message().clone(), task.routing().clone()))
                        .await?;
                    task.cancelled().await;
                    Ok(())
                }
            })
            .start(hub.url())
            .await
            .expect("it starts");
        let a = start(&hub, &stand_ins, &journal, with_help()).await;
        if round == 0 {
            // Without a task, as another hub would not know that.
            let message = Message::new(Role::User, "go").with_metadata("task_type", "work");
            let routing = AgentEventMetadata {
                to_agent_id: "a".into(),
                ..Default::default()
            };
            let published = hub.client().await.publish(message, routing).await;
            published.expect("it is taken");
        }
        seen.push(soon(tells.recv()).await.expect("it is asked"));
        drop(a);
    }
    // What is left of its time is told anew, and reckoned from when it came.
    let mut seen = seen.into_iter().map(|(message, mut routing)| {
        assert!(routing.deadline.take().is_some());
        (message, routing)
    });
    let again = seen.next();
    assert_eq!(seen.next(), again);
    let (message, routing) = again.expect("it was sent twice");
    assert!(!message.context_id.is_empty());
    assert!(!routing.traceparent.is_empty());
}

/// How long runs are kept is each agent's own matter, also in a journal that several share.
#[tokio::test]
async fn an_agent_lets_go_of_its_own_runs_after_the_times_that_it_was_given() {
    let hub = Hub::start().await;
    let journal = Arc::new(MemoryJournal::default());
    let started = RunEvent::Started(RunStarted {
        strategy: "script".into(),
        input: json!([]),
        thread: String::new(),
        origin: Value::Null,
        budget: Budget::default(),
        deadline_ms: None,
        at_ms: 0,
    });
    let ended = RunEvent::Ended {
        outcome: RunOutcome::completed("done"),
        spent: Default::default(),
        at_ms: 0,
    };
    let noted = RunEvent::Noted {
        step: StepId::new("note"),
        value: Value::Null,
        at_ms: 0,
    };
    let whole = [started, noted, ended];
    let runs = ["a", "b", "c", "d"].map(|owner| (owner, RunId::new(format!("run-of-{owner}"))));
    for (owner, run) in &runs {
        journal.add(run, owner, &whole).await.expect("it works");
    }
    let long = Duration::from_secs(3_600);
    let mut agents = Vec::new();
    let mut journals = Vec::new();
    for (name, keep) in [
        ("a", Some(Duration::ZERO)),
        ("b", None),
        ("d", Some(Duration::ZERO)),
    ] {
        let kept = Kept::new(&journal);
        let agent = Agent::worker(card(name))
            .conduct("work", Scripted::new(&StandIns::new(), json!([])))
            .journal(kept.clone());
        let agent = match keep {
            Some(keep) => agent.keep_runs(keep),
            None => agent,
        };
        let agent = match name {
            "d" => agent.keep_outcomes(long),
            _ => agent,
        };
        agents.push(agent.start(hub.url()).await.expect("it starts"));
        journals.push(kept);
    }
    eventually("all of them have looked", || async {
        let have_tidied = |kept: &Arc<Kept>| kept.tidied.load(Ordering::SeqCst) > 0;
        journals.iter().all(have_tidied)
    })
    .await;
    let mut left = Vec::new();
    for (_, run) in &runs {
        left.push(journal.read(run, 0, 9).await.map_or(0, |e| e.len()));
    }
    assert_eq!(left, [0, 3, 3, 2], "the last keeps what came of it");
}

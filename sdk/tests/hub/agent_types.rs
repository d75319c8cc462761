//! Workers and supervisors: one kind of thing, told apart by what they say of themselves.

use std::{collections::BTreeMap, sync::Arc};

use agenthub_sdk::{
    Agent, AgentBuilder, AgentType, Client, Delegation, Failure, Reply, RunningAgent, TaskContext,
    TaskUpdate,
    hub::EventStream,
    proto::{
        a2a::{Message, Part, Role, TaskState, TaskStatus},
        agenthub::{
            AgentEventMetadata, SubscribeToTasksRequest, TaskStatusUpdateEvent,
            agent_event::Payload,
        },
        json,
    },
    runs::journal::MemoryJournal,
};
use serde_json::{Value, json};

use crate::{
    conducting::{Scripted, StandIns},
    harness::{Hub, card, soon},
};

/// An agent that shows something, and ends its tasks in every way there is.
fn with_every_end(builder: AgentBuilder, stand_ins: &Arc<StandIns>) -> AgentBuilder {
    builder
        .on_task_type(
            "work",
            async |task: TaskContext| -> Result<Reply, Failure> {
                // What an agent is, is not for a handler to say.
                let lie = TaskUpdate::new("on it").metadata("agentType", "king");
                task.publish_update(lie.metadata("step", 1)).await?;
                match task.text().as_str() {
                    "fail" => Err(Failure::failed("cannot")),
                    "reject" => Err(Failure::rejected("will not")),
                    "cancel" => Err(Failure::cancelled("not wanted")),
                    "ask back" => Ok(Reply::input_required("which?")),
                    text => Ok(Reply::text(text)),
                }
            },
        )
        .conduct("run", Scripted::new(stand_ins, json!([{"ask": "done"}])))
        .journal(Arc::new(MemoryJournal::default()))
}

async fn start(hub: &Hub, builder: AgentBuilder) -> RunningAgent {
    with_every_end(builder, &StandIns::new())
        .start(hub.url())
        .await
        .expect("it starts")
}

async fn watch(client: &Client) -> EventStream {
    let request = SubscribeToTasksRequest {
        agent_id: client.agent_id().to_owned(),
        ..Default::default()
    };
    client.task_events(request).await.expect("a stream")
}

/// The statuses of one task, from the hub's own stream, to its end.
async fn statuses(
    client: &Client,
    events: &mut EventStream,
    agent: &str,
    capability: &str,
    text: &str,
) -> Vec<TaskStatusUpdateEvent> {
    let delegation = Delegation::to(agent).capability(capability).text(text);
    let pending = client.delegate(delegation).await.expect("it is taken");
    let mut seen = Vec::new();
    loop {
        let event = soon(events.next()).await.expect("it goes on");
        let Some(Payload::StatusUpdate(update)) = event.expect("no error").payload else {
            continue;
        };
        if update.task_id != pending.task_id() {
            continue;
        }
        let state = update
            .status
            .as_ref()
            .map_or(TaskState::Unspecified, TaskStatus::state);
        seen.push(update);
        if state.is_terminal() || state.is_interrupted() {
            return seen;
        }
    }
}

fn agent_type(update: &TaskStatusUpdateEvent) -> Value {
    let metadata = update.metadata.as_ref().map(json::from_struct);
    metadata.map_or(Value::Null, |m| m["agentType"].clone())
}

const ENDS: [(&str, &str, TaskState); 6] = [
    ("work", "hello", TaskState::Completed),
    ("work", "fail", TaskState::Failed),
    ("work", "reject", TaskState::Rejected),
    ("work", "cancel", TaskState::Cancelled),
    ("work", "ask back", TaskState::InputRequired),
    ("run", "go", TaskState::Completed),
];

/// spec: AGT-1.1, AGT-1.2, AGT-1.4, AGT-1.5, AGT-2.1, AGT-2.2, AGT-2.3, AGT-2.4
#[tokio::test]
async fn every_status_says_what_kind_of_agent_reports() {
    let hub = Hub::start().await;
    let _worker = start(&hub, Agent::worker(card("w"))).await;
    let _supervisor = start(&hub, Agent::supervisor(card("s"))).await;
    let client = hub.client().await;
    let mut events = watch(&client).await;
    for (agent, expected) in [("w", "worker"), ("s", "supervisor")] {
        for (capability, text, end) in ENDS {
            let seen = statuses(&client, &mut events, agent, capability, text).await;
            let last = seen.last().and_then(|u| u.status.as_ref());
            assert_eq!(last.map(TaskStatus::state), Some(end), "{agent} {text}");
            assert!(seen.len() >= 2, "it is shown as working first");
            for update in &seen {
                assert_eq!(agent_type(update), expected, "{agent} {text}");
            }
        }
    }
}

/// spec: AGT-1.3, AGT-2.5, AGT-5.2, AGT-5.3
#[tokio::test]
async fn an_agent_with_a_plain_handler_is_a_worker() {
    assert_eq!(AgentType::default(), AgentType::Worker);
    let hub = Hub::start().await;
    // As every agent was written before there were kinds of agents.
    let _agent = Agent::worker(card("a"))
        .on_task_type("work", async |task: TaskContext| {
            Ok(task.text().to_uppercase())
        })
        .start(hub.url())
        .await
        .expect("it starts");
    let client = hub.client().await;
    let mut events = watch(&client).await;
    let seen = statuses(&client, &mut events, "a", "work", "go").await;
    assert!(seen.iter().all(|update| agent_type(update) == "worker"));
    let outcome = soon(client.ask("a", "louder")).await.expect("an outcome");
    assert_eq!(outcome.text, "LOUDER");
    // A card of another SDK has no word on it.
    assert_eq!(AgentType::of(&card("another")), AgentType::Worker);
}

/// spec: AGT-7.4, AGT-7.5
#[tokio::test]
async fn progress_is_a_working_state_with_a_time_in_iso_8601() {
    let hub = Hub::start().await;
    let _supervisor = start(&hub, Agent::supervisor(card("s"))).await;
    let client = hub.client().await;
    let mut events = watch(&client).await;
    let seen = statuses(&client, &mut events, "s", "work", "hello").await;
    let progress = seen.iter().find(|u| {
        let status = u.status.as_ref();
        status.is_some_and(|s| s.text() == "on it")
    });
    let shown = json::of(progress.expect("it is shown"));
    assert_eq!(shown["status"]["state"], "TASK_STATE_WORKING");
    for update in &seen {
        let shown = json::of(update);
        let time = shown["status"]["timestamp"].as_str().unwrap_or_default();
        let parts: Vec<&str> = time.split(['-', 'T', ':']).collect();
        let widths: Vec<usize> = parts.iter().take(5).map(|p| p.len()).collect();
        assert_eq!(widths, [4, 2, 2, 2, 2], "{time}");
        assert!(time.ends_with('Z'), "{time}");
    }
}

/// spec: AGT-5.5, AGT-8.1, AGT-8.2, AGT-8.3, AGT-8.4, AGT-8.5
#[tokio::test]
async fn nothing_but_its_type_tells_a_supervisors_statuses_from_a_workers() {
    let hub = Hub::start().await;
    let _worker = start(&hub, Agent::worker(card("w"))).await;
    let _supervisor = start(&hub, Agent::supervisor(card("s"))).await;
    let client = hub.client().await;
    let mut events = watch(&client).await;
    for (capability, text, _) in ENDS {
        let mut kinds = BTreeMap::new();
        for agent in ["w", "s"] {
            let seen = statuses(&client, &mut events, agent, capability, text).await;
            let shown: Vec<Value> = seen.iter().map(anonymous).collect();
            kinds.insert(agent, shown);
        }
        assert_eq!(kinds["w"], kinds["s"], "{capability} {text}");
    }
}

/// A status without what differs from task to task, and without the type.
fn anonymous(update: &TaskStatusUpdateEvent) -> Value {
    let mut update = update.clone();
    update.task_id.clear();
    update.context_id.clear();
    if let Some(status) = &mut update.status {
        assert!(status.timestamp.take().is_some());
        if let Some(message) = &mut status.update {
            assert!(!std::mem::take(&mut message.message_id).is_empty());
            message.task_id.clear();
            message.context_id.clear();
        }
    }
    if let Some(metadata) = &mut update.metadata {
        assert!(metadata.fields.remove("agentType").is_some());
    }
    json::of(&update)
}

/// spec: AGT-9.1, AGT-9.2, AGT-9.3, AGT-9.4, AGT-9.5
#[tokio::test]
async fn a_supervisor_is_made_found_and_used_as_a_worker_is() {
    let hub = Hub::start().await;
    let client = hub.client().await;
    for (builder, expected) in [
        (Agent::worker(card("w")), AgentType::Worker),
        (Agent::supervisor(card("s")), AgentType::Supervisor),
    ] {
        let name = builder.card().name.clone();
        let agent: Agent = with_every_end(builder, &StandIns::new())
            .concurrency(2)
            .topics(["more"])
            .build()
            .expect("it is whole");
        assert_eq!(agent.agent_type(), expected);
        let own = agent.card().clone();
        let _running = agent.start(hub.url()).await.expect("it starts");
        let entry = client.agent(&*name).await.expect("it is registered");
        let card = entry.agent_card.expect("it has a card");
        assert_eq!(AgentType::of(&card), expected);
        assert_eq!(card, own);
        let outcome = soon(client.ask(&*name, "hello")).await.expect("an outcome");
        assert_eq!(outcome.text, "hello");
        let by_topic = client.delegate(Delegation::to_any("run").text("go")).await;
        let outcome = soon(by_topic.expect("it is taken").outcome()).await;
        assert_eq!(outcome.expect("an outcome").text, "done");
    }
}

/// Who comes when a task is over reads what it has gone through: its messages and artifacts, and each of its states.
///
/// spec: AGT-9.3
#[tokio::test]
async fn the_history_of_a_supervisors_task_is_a_workers() {
    let hub = Hub::start().await;
    let _worker = start(&hub, Agent::worker(card("w"))).await;
    let _supervisor = start(&hub, Agent::supervisor(card("s"))).await;
    let client = hub.client().await;
    let mut events = watch(&client).await;
    let before = Message::new(Role::User, "what comes, comes after this");
    let before = client.publish(before, AgentEventMetadata::default()).await;
    let before = before.expect("it is taken").position;
    for (capability, text, end) in ENDS {
        let mut histories = BTreeMap::new();
        for agent in ["w", "s"] {
            let seen = statuses(&client, &mut events, agent, capability, text).await;
            let id = seen.last().expect("there are some").task_id.clone();
            let task = client.task(&id, 0).await.expect("it is kept");
            let said = task.history.iter().map(|m| (m.role(), m.text())).collect();
            let made = task.artifacts.iter().map(|a| a.parts.clone()).collect();
            let history = History {
                said,
                made,
                states: states(&client, &id, &before).await,
            };
            assert_eq!(history.said[0], (Role::User, text.to_owned()));
            assert_eq!(history.states.last(), Some(&end));
            histories.insert(agent, history);
        }
        assert_eq!(histories["w"], histories["s"], "{capability} {text}");
    }
}

#[derive(Debug, PartialEq)]
struct History {
    said: Vec<(Role, String)>,
    made: Vec<Vec<Part>>,
    states: Vec<TaskState>,
}

/// The states of a task that is over, as the hub has them in its log.
async fn states(client: &Client, task_id: &str, after: &str) -> Vec<TaskState> {
    let request = SubscribeToTasksRequest {
        agent_id: client.agent_id().to_owned(),
        task_ids: vec![task_id.to_owned()],
        after: after.to_owned(),
        ..Default::default()
    };
    let mut reread = client.task_events(request).await.expect("a stream");
    let mut states = Vec::new();
    loop {
        let event = soon(reread.next()).await.expect("it goes on");
        let Some(state) = event.expect("no error").task_state() else {
            continue;
        };
        states.push(state);
        if state.is_terminal() || state.is_interrupted() {
            return states;
        }
    }
}

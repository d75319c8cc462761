//! Subscriptions over restarts of a hub that is a process of its own.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use agenthub_broker::{Server, Settings, Storage};
use agenthub_sdk::{
    Agent, Client, Delegation, Error, TaskContext,
    hub::EventStream,
    proto::agenthub::{SubscribeToAgentEventsRequest, SubscribeToTasksRequest},
};
use tokio::{
    process::{Child, Command},
    time::sleep,
};

use crate::{
    harness::{card, connect, eventually, soon},
    ports::free_address,
};

const ADDRESS: &str = "SDK_TEST_HUB_ADDRESS";
const DATA: &str = "SDK_TEST_HUB_DATA";

/// The hub of the tests below, which runs in a process of its own.
#[tokio::test]
#[ignore = "it is a part of other tests"]
async fn the_hub_in_a_process() {
    let address = std::env::var(ADDRESS).expect("the test says where");
    let data = std::env::var(DATA).expect("the test says where its data is");
    let settings = Settings {
        storage: Storage::Folder(data.into()),
        ..Settings::default()
    };
    let address = address.parse().expect("an address");
    let hub = Server::start(settings, address, tonic::service::Routes::default());
    let _hub = hub.await.expect("the address is free");
    std::future::pending::<()>().await;
}

/// A hub that can be killed, and started again at its address.
struct Process {
    address: SocketAddr,
    data: PathBuf,
    hub: Child,
}

impl Process {
    async fn start(data: &Path) -> Self {
        let address = free_address().parse().expect("an address");
        let hub = spawn(address, data);
        let process = Self {
            address,
            data: data.to_owned(),
            hub,
        };
        process.is_there().await;
        process
    }

    fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    async fn kill(&mut self) {
        soon(self.hub.kill()).await.expect("it runs");
    }

    async fn start_again(&mut self, data: &Path) {
        self.data = data.to_owned();
        self.hub = spawn(self.address, &self.data);
        self.is_there().await;
    }

    async fn is_there(&self) {
        let builder = || Client::builder(self.url()).agent_id("probe");
        eventually("the hub is there", || async {
            match builder().connect().await {
                Ok(client) => {
                    client.close().await;
                    true
                }
                Err(_) => false,
            }
        })
        .await;
    }
}

fn spawn(address: SocketAddr, data: &Path) -> Child {
    let this_program = std::env::current_exe().expect("it has a path");
    let mut command = Command::new(this_program);
    command
        .args([
            "--exact",
            "subscriptions::the_hub_in_a_process",
            "--ignored",
        ])
        .env(ADDRESS, address.to_string())
        .env(DATA, data)
        .stdout(Stdio::null())
        .kill_on_drop(true);
    command.spawn().expect("it starts")
}

fn everything() -> SubscribeToTasksRequest {
    SubscribeToTasksRequest {
        agent_id: "watcher".into(),
        observe: true,
        ..Default::default()
    }
}

/// Has a task done, and says which.
async fn done(client: &Client) -> String {
    let pending = loop {
        match client.delegate(Delegation::to("a").text("go")).await {
            Ok(pending) => break pending,
            Err(error) => assert!(error.is_retryable(), "{error}"),
        }
    };
    let outcome = soon(pending.outcome()).await.expect("an outcome");
    outcome.task_id
}

/// The tasks whose ends were seen, up to the end of this one, and whether events were missed in between.
async fn ends(events: &mut EventStream, last: &str) -> (Vec<String>, bool) {
    let (mut seen, mut missed) = (Vec::new(), false);
    loop {
        match soon(events.next()).await.expect("it goes on") {
            Ok(event) if event.task_state().is_some_and(|s| s.is_terminal()) => {
                seen.push(event.task_id().to_owned());
                if event.task_id() == last {
                    return (seen, missed);
                }
            }
            Ok(_) => {}
            Err(Error::Missed(_)) => missed = true,
            Err(error) => panic!("{error}"),
        }
    }
}

async fn worker(url: &str) -> agenthub_sdk::RunningAgent {
    let agent = Agent::worker(card("a")).on_task_type("work", async |_: TaskContext| "done");
    agent.start(url).await.expect("it starts")
}

#[tokio::test]
async fn a_subscription_goes_on_where_it_was_when_a_killed_hub_is_back() {
    let data = tempfile::tempdir().expect("a folder");
    let mut hub = Process::start(data.path()).await;
    let _agent = worker(&hub.url()).await;
    let client = connect(&hub.url()).await;
    let mut events = client.task_events(everything()).await.expect("a stream");
    let first = done(&client).await;
    assert_eq!(ends(&mut events, &first).await, (vec![first], false));
    let mut expected = Vec::new();
    // What happened before the break and was not read, and what happens while the subscription is away.
    for _ in 0..2 {
        expected.push(done(&client).await);
        hub.kill().await;
        hub.start_again(data.path()).await;
        expected.push(done(&client).await);
    }
    let last = expected.last().cloned().expect("there are four");
    let (seen, missed) = ends(&mut events, &last).await;
    assert_eq!(seen, expected, "each once, in their order");
    assert!(!missed);
}

#[tokio::test]
async fn what_a_hub_without_its_log_cannot_say_is_told_as_a_gap() {
    let (data, other) = (tempfile::tempdir(), tempfile::tempdir());
    let (data, other) = (data.expect("a folder"), other.expect("another"));
    let mut hub = Process::start(data.path()).await;
    let agent = worker(&hub.url()).await;
    let client = connect(&hub.url()).await;
    let mut events = client.task_events(everything()).await.expect("a stream");
    let first = done(&client).await;
    ends(&mut events, &first).await;
    hub.kill().await;
    hub.start_again(other.path()).await;
    let missed = soon(events.next()).await.expect("it goes on");
    assert!(matches!(missed, Err(Error::Missed(_))), "{missed:?}");
    let next = done(&client).await;
    assert_eq!(ends(&mut events, &next).await, (vec![next], false));
    drop(agent);
}

#[tokio::test]
async fn a_watcher_of_agents_sees_who_is_there_after_a_restart() {
    let data = tempfile::tempdir().expect("a folder");
    let mut hub = Process::start(data.path()).await;
    let client = connect(&hub.url()).await;
    let request = SubscribeToAgentEventsRequest {
        agent_id: "watcher".into(),
        event_types: vec!["agent_card".to_owned()],
        ..Default::default()
    };
    let mut events = client.agent_events(request).await.expect("a stream");
    hub.kill().await;
    hub.start_again(data.path()).await;
    let _agent = worker(&hub.url()).await;
    loop {
        let event = soon(events.next()).await.expect("it goes on");
        let event = format!("{:?}", event.expect("no gap"));
        if event.contains("\"a\"") {
            break;
        }
    }
}

#[tokio::test]
async fn a_subscription_is_over_once_its_patience_or_its_client_is() {
    let data = tempfile::tempdir().expect("a folder");
    let mut hub = Process::start(data.path()).await;
    let client = connect(&hub.url()).await;
    let open = || client.task_events(everything());
    let mut impatient = open().await.expect("a stream").patience(Duration::ZERO);
    let mut patient = open().await.expect("a stream");
    hub.kill().await;
    let error = soon(impatient.next()).await.expect("it says why");
    assert!(matches!(&error, Err(e) if e.is_retryable()), "{error:?}");
    assert!(soon(impatient.next()).await.is_none());

    let waiting = tokio::spawn(async move { patient.next().await });
    sleep(Duration::ZERO).await;
    client.close().await;
    let error = soon(waiting).await.expect("no panic").expect("it says why");
    assert!(matches!(error, Err(Error::Closed(_))), "{error:?}");
}

//! Agents elsewhere as agents of a hub: the painter of one hub is an agent of another, and is called there over A2A.

mod adding;
mod breaking;
mod conversations;

use std::path::Path;

use agenthub_a2a::{
    client::{Binding, Options, Remote},
    outside::{
        OutsideAgents, Settings,
        wire::{
            AddOutsideAgentRequest, ListOutsideAgentsRequest, OutsideAgent,
            RemoveOutsideAgentRequest, RemoveOutsideAgentResponse,
            outside_agents_server::OutsideAgents as _,
        },
    },
    v1::{self, TaskState, stream_response::Payload},
};
use agenthub_sdk::{Card, Client, proto::json::to_struct};
use serde_json::{Value, json};
use tempfile::TempDir;
use tonic::{Code, Request, Status};

use crate::{
    client::{self, Behind, all, connector, drawn, last_state, send},
    elsewhere::{Elsewhere, Line},
    harness::{Stage, gate, soon},
};

/// A hub that the painter elsewhere is an agent of.
struct Here {
    stage: Stage,
    served: Elsewhere,
    outside: OutsideAgents,
    folder: TempDir,
}

async fn open(stage: &Stage, folder: &Path) -> OutsideAgents {
    let outside = OutsideAgents::new(Settings {
        connector: connector(),
        folder: Some(folder.to_owned()),
        variables: true,
    });
    let url = format!("http://{}", stage.hub.address());
    soon(outside.open(Client::builder(&url), &url))
        .await
        .expect("the hub is there");
    outside
}

impl Here {
    async fn start() -> Self {
        let stage = Stage::with(Card::new("local", "Is here")).await;
        let folder = tempfile::tempdir().expect("a folder");
        let outside = open(&stage, folder.path()).await;
        Self {
            served: Elsewhere::serve(stage.router.clone()).await,
            stage,
            outside,
            folder,
        }
    }

    async fn add(&self, url: &str, id: &str, auth: Value) -> Result<OutsideAgent, Status> {
        let request = AddOutsideAgentRequest {
            url: url.into(),
            agent_id: id.into(),
            auth: Some(to_struct(&auth)),
        };
        let service = agenthub_a2a::outside::OutsideService::from(self.outside.clone());
        let answer = soon(service.add_outside_agent(Request::new(request))).await?;
        Ok(answer.into_inner().agent.expect("it says which"))
    }

    async fn remove(&self, id: &str) -> Result<RemoveOutsideAgentResponse, Status> {
        let service = agenthub_a2a::outside::OutsideService::from(self.outside.clone());
        let agent_id = id.to_owned();
        let request = Request::new(RemoveOutsideAgentRequest { agent_id });
        let answer = soon(service.remove_outside_agent(request)).await?;
        Ok(answer.into_inner())
    }

    /// Leaves the agents elsewhere without a goodbye, as in a crash.
    async fn crash(&mut self) {
        let none = OutsideAgents::new(Settings {
            connector: connector(),
            folder: None,
            variables: true,
        });
        drop(std::mem::replace(&mut self.outside, none));
    }

    async fn list(&self) -> Vec<OutsideAgent> {
        let service = agenthub_a2a::outside::OutsideService::from(self.outside.clone());
        let request = Request::new(ListOutsideAgentsRequest {});
        let answer = soon(service.list_outside_agents(request)).await;
        answer.expect("a list").into_inner().agents
    }

    /// The agent with this id, as clients of this hub's gateway see it.
    async fn remote(&self, id: &str) -> Remote {
        let url = format!("http://{}/agents/{id}", self.served.address);
        client::remote(&url, Options::default())
            .await
            .expect("it is there")
    }

    /// Waits until the hub says that an agent is there, or away.
    async fn until(&self, id: &str, online: bool) {
        let is_so = async {
            loop {
                let answer = self.stage.http("GET", "/agents", &[], "").await;
                let agents = answer.body["agents"]
                    .as_array()
                    .cloned()
                    .unwrap_or_default();
                let mut of_id = agents.iter().filter(|agent| agent["id"] == id);
                if of_id.next().is_some_and(|agent| agent["online"] == online) {
                    return;
                }
                tokio::task::yield_now().await;
            }
        };
        soon(is_so).await;
    }

    async fn stop(self) {
        soon(self.outside.close()).await;
        self.stage.stop().await;
    }
}

/// Tasks that the painter elsewhere has had.
async fn tasks_there(there: &Behind) -> Vec<v1::Task> {
    let remote = client::remote(&client::url(there.served.address), Options::default()).await;
    let list = v1::ListTasksRequest::default();
    let page = soon(remote.expect("it is there").list_tasks(list)).await;
    page.expect("a page").tasks
}

/// spec: A2A 1.0.1 §3.1
#[tokio::test]
async fn an_agent_elsewhere_does_all_that_one_of_the_hub_does() {
    let (there, here) = (Behind::start().await, Here::start().await);
    let added = here
        .add(&client::url(there.served.address), "", json!({}))
        .await;
    let added = added.expect("it is added");
    assert_eq!((added.agent_id.as_str(), added.is_away), ("painter", false));
    assert!(
        added.interface.starts_with("JSONRPC 1.0 at "),
        "{}",
        added.interface
    );
    let remote = here.remote("painter").await;
    assert_eq!(remote.card().skills[0].id, "paint");
    client::check_operations(&remote, Binding::JsonRpc).await;
    // Cancelling reached it, though the hub need not wait for that.
    let has_ended = async {
        loop {
            let tasks = tasks_there(&there).await;
            let states: Vec<TaskState> = tasks.iter().map(client::state).collect();
            if states.contains(&TaskState::Canceled) && !states.contains(&TaskState::Working) {
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    soon(has_ended).await;
    here.stop().await;
    there.stage.stop().await;
}

#[tokio::test]
async fn a_task_goes_on_after_a_crash_and_is_not_sent_twice() {
    let (there, mut here) = (Behind::start().await, Here::start().await);
    let url = client::url(there.served.address);
    here.add(&url, "far", json!({})).await.expect("it is added");
    let remote = here.remote("far").await;
    let mut events = remote.send_streaming_message(send("steps crash"));
    let mut shown = Vec::new();
    while drawn(&shown).is_empty() {
        let event = soon(events.next()).await.expect("more").expect("no error");
        shown.extend(event.payload);
    }
    // Nothing is said goodbye to.
    here.crash().await;
    here.until("far", false).await;
    gate("crash").add_permits(2);
    here.outside = open(&here.stage, here.folder.path()).await;
    shown.extend(all(events).await);
    assert_eq!(last_state(&shown), TaskState::Completed, "{shown:?}");
    let drawn = drawn(&shown);
    assert!(drawn.ends_with("|one two three"), "{drawn}");
    assert_eq!(tasks_there(&there).await.len(), 1);
    here.stop().await;
    there.stage.stop().await;
}

#[tokio::test]
async fn an_agent_that_does_not_answer_is_away_and_its_mail_waits() {
    let (there, here) = (Behind::start().await, Here::start().await);
    let line = Line::to(there.served.address).await;
    let url = client::url(line.address);
    here.add(&url, "far", json!({})).await.expect("it is added");
    here.until("far", true).await;
    let remote = here.remote("far").await;
    line.down(true);
    // Nobody looks for half a minute, but whoever calls finds out.
    let mut events = remote.send_streaming_message(send("hello there"));
    let first = soon(events.next())
        .await
        .expect("a task")
        .expect("no error");
    assert!(matches!(first.payload, Some(Payload::Task(_))));
    here.until("far", false).await;
    let away = here.list().await;
    assert!(
        away[0].is_away && away[0].why_away.contains("127.0.0.1"),
        "{away:?}"
    );
    line.down(false);
    here.until("far", true).await;
    assert_eq!(here.list().await[0].why_away, "");
    let rest = all(events).await;
    assert_eq!(last_state(&rest), TaskState::Completed, "{rest:?}");
    assert_eq!(tasks_there(&there).await.len(), 1);
    here.stop().await;
    there.stage.stop().await;
}

#[tokio::test]
async fn agents_elsewhere_are_known_until_they_are_removed() {
    let (there, mut here) = (Behind::start().await, Here::start().await);
    let url = client::url(there.served.address);
    let auth = json!({"kind": "bearer", "token": "file:token"});
    std::fs::create_dir(here.folder.path().join("secrets")).expect("a folder");
    std::fs::write(here.folder.path().join("secrets/token"), "sk-1").expect("it is written");
    here.add(&url, "far", auth).await.expect("it is added");
    // The name is kept: the data folder may be elsewhere tomorrow.
    let list = here.folder.path().join("outside-agents.json");
    let list = std::fs::read_to_string(list).expect("a file");
    assert!(list.contains("\"file:token\""), "{list}");
    let code = |result: Result<OutsideAgent, Status>| result.expect_err("it is refused").code();
    assert_eq!(
        code(here.add(&url, "far", json!({})).await),
        Code::AlreadyExists
    );
    assert_eq!(
        code(here.add(&url, "local", json!({})).await),
        Code::AlreadyExists
    );
    assert_eq!(
        code(here.add("no address", "x", json!({})).await),
        Code::InvalidArgument
    );
    let nobody = format!("http://{}/agents/nobody", there.served.address);
    assert_eq!(
        code(here.add(&nobody, "x", json!({})).await),
        Code::InvalidArgument
    );
    assert_eq!(
        code(here.add("http://127.0.0.1:1", "x", json!({})).await),
        Code::Unavailable
    );
    assert_eq!(
        code(here.add("http://10.0.0.1", "x", json!({})).await),
        Code::InvalidArgument
    );
    let stolen = json!({"kind": "bearer", "token": "file:/etc/hostname"});
    assert_eq!(
        code(here.add(&url, "x", stolen).await),
        Code::InvalidArgument
    );
    let odd = json!({"kind": "smell"});
    assert_eq!(code(here.add(&url, "x", odd).await), Code::InvalidArgument);

    soon(here.outside.close()).await;
    here.until("far", false).await;
    here.outside = open(&here.stage, here.folder.path()).await;
    here.until("far", true).await;
    client::done(&here.remote("far").await, send("hello")).await;

    let remove = async |id: &str| here.remove(id).await.map_err(|status| status.code());
    remove("far").await.expect("it is there");
    assert_eq!(remove("far").await.expect_err("it is gone"), Code::NotFound);
    assert_eq!(
        remove("local").await.expect_err("it is here"),
        Code::NotFound
    );
    assert!(here.list().await.is_empty());
    let answer = here
        .stage
        .http("GET", "/agents/far/.well-known/agent-card.json", &[], "")
        .await;
    assert_eq!(answer.status, 404);
    here.stop().await;
    there.stage.stop().await;
}

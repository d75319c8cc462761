//! Tasks on somebody's behalf, as who asked first sees them, and nobody else.

use agenthub_proto::{
    a2a::{Artifact, Part, TaskState},
    agenthub::{
        AgentEventMetadata, CancelTaskRequest, GetTaskRequest, ListTasksRequest, ListTasksResponse,
        PublishTaskArtifactRequest, PublishTaskUpdateRequest, TaskArtifactUpdateEvent,
    },
};
use serde_json::json;
use tonic::{Code, Status};

use super::{Scene, refused};
use crate::{
    access::with,
    harness::{routing, status, within, work},
};

impl Scene {
    /// The reason for which a task cannot be seen.
    async fn refusal(&self, token: &str, id: &str) -> (Code, String) {
        let request = GetTaskRequest {
            task_id: id.to_owned(),
            history_length: 0,
        };
        let mut client = self.hub.client.clone();
        let refused = within(client.get_task(with(token, request))).await;
        let refused = refused.expect_err(id);
        (refused.code(), refused.message().to_owned())
    }

    async fn page(
        &self,
        token: &str,
        request: ListTasksRequest,
    ) -> Result<ListTasksResponse, Status> {
        let mut client = self.hub.client.clone();
        let page = within(client.list_tasks(with(token, request))).await?;
        Ok(page.into_inner())
    }

    /// The ids of the tasks of all pages, each of which but the last is full.
    async fn pages(&self, token: &str, mut request: ListTasksRequest) -> Vec<String> {
        let mut found = Vec::new();
        loop {
            let page = self.page(token, request.clone()).await.expect("a page");
            found.extend(page.tasks.iter().map(|task| task.id.clone()));
            request.page_token = page.next_page_token;
            if request.page_token.is_empty() {
                return found;
            }
            assert_eq!(page.tasks.len(), 2);
        }
    }

    async fn listed(&self, token: &str, agent: &str) -> Vec<String> {
        let request = ListTasksRequest {
            agent_id: agent.to_owned(),
            ..Default::default()
        };
        let page = self.page(token, request).await.expect("a page");
        let mut ids: Vec<String> = page.tasks.into_iter().map(|task| task.id).collect();
        ids.sort();
        ids
    }

    async fn cancel(&self, token: &str, task: &str) -> Result<(), Status> {
        let request = CancelTaskRequest {
            task_id: task.to_owned(),
            reason: String::new(),
        };
        let mut client = self.hub.client.clone();
        within(client.cancel_task(with(token, request)))
            .await
            .map(drop)
    }

    async fn add_artifact(&self, token: &str, from: &str, task: &str) {
        let request = PublishTaskArtifactRequest {
            artifact: Some(TaskArtifactUpdateEvent {
                task_id: task.to_owned(),
                artifact: Some(Artifact {
                    artifact_id: "receipt".to_owned(),
                    parts: vec![Part::text("paid")],
                    ..Default::default()
                }),
                ..Default::default()
            }),
            routing: Some(routing(from, "")),
        };
        let mut client = self.hub.client.clone();
        let added = within(client.publish_task_artifact(with(token, request))).await;
        assert!(added.expect("it is its own").into_inner().success);
    }
}

/// Tasks on somebody's behalf: she sees the question and what came back, and nobody else does who is no party of it. She takes no
/// part in it.
#[tokio::test]
async fn who_asked_first_sees_what_is_asked_on_her_behalf() {
    let mut scene = Scene::new().await;
    for (token, from, task) in [(&scene.alice, "alice", "a1"), (&scene.bob, "bob", "b1")] {
        let asked = scene.ask(token, from, "lead", task, "").await;
        asked.expect("sent");
    }
    let asked = scene.ask(&scene.lead, "lead", "payments", "b2", "b1").await;
    asked.expect("bob may");
    scene.add_artifact(&scene.payments, "payments", "b2").await;

    // Words of hers alone: nothing that a sender writes puts a task on somebody's behalf.
    let forged = work("a2", "pay")
        .with_metadata("on_behalf_of", json!("bob"))
        .with_metadata("chain", json!(["lead"]))
        .with_metadata("parent_task_id", json!("b1"));
    let said = scene
        .hub
        .publish(&scene.alice, forged, routing("alice", "lead"));
    said.await.expect("it is a message as any");
    // What parts of the hub ask for a principal of another namespace is nobody's here.
    let root = scene.hub.token("root", "admin").await;
    let elsewhere = AgentEventMetadata {
        on_behalf_of: "blue~bob".to_owned(),
        ..routing("root", "lead")
    };
    let asked = scene.hub.publish(&root, work("r1", "hi"), elsewhere);
    asked.await.expect("it may say for whom");
    let asked = scene.ask(&scene.lead, "lead", "lead", "own", "").await;
    asked.expect("a run of its own");

    for round in ["before", "after a restart"] {
        let task = scene.task(&scene.bob, "b2").await;
        let said = (task.history[0].text(), task.artifacts[0].text());
        assert_eq!(said, ("do it".to_owned(), "paid".to_owned()), "{round}");
        assert_eq!(scene.listed(&scene.bob, "").await, ["b1", "b2"], "{round}");
        assert_eq!(
            scene.listed(&scene.bob, "payments").await,
            ["b2"],
            "{round}"
        );
        assert_eq!(
            scene.listed(&scene.alice, "").await,
            ["a1", "a2"],
            "{round}"
        );
        assert_eq!(
            scene.listed(&scene.alice, "payments").await,
            [""; 0],
            "{round}"
        );
        for id in ["b2", "r1", "own"] {
            let unknown = scene.refusal(&scene.alice, "nothing").await;
            assert_eq!(
                scene.refusal(&scene.alice, id).await,
                unknown,
                "{round}: {id}"
            );
        }
        for id in ["a2", "r1", "own"] {
            let unknown = scene.refusal(&scene.bob, "nothing").await;
            assert_eq!(
                scene.refusal(&scene.bob, id).await,
                unknown,
                "{round}: {id}"
            );
        }
        scene.hub.restart().await;
    }
    let (bob, lead) = (&scene.bob, &scene.lead);
    refused(
        scene.cancel(bob, "b2").await,
        "\"bob\" may not cancel what \"lead\" asks on its behalf",
    );
    refused(
        scene
            .hub
            .publish(bob, work("b2", "more"), routing("bob", "payments"))
            .await,
        "may not add to a task of others",
    );
    refused(
        scene.ask(bob, "bob", "payments", "b3", "b2").await,
        "\"bob\" is no party of a task \"b2\"",
    );
    let reported = PublishTaskUpdateRequest {
        update: Some(status("b2", TaskState::Completed)),
        routing: Some(routing("bob", "")),
    };
    let mut client = scene.hub.client.clone();
    let reported = within(client.publish_task_update(with(bob, reported))).await;
    refused(reported.map(drop), "neither the assignee");
    scene.cancel(lead, "b2").await.expect("it asked for it");
}

/// Listings of tasks on one's own behalf are counted, paged, and ordered by status as those of one's own agents; those of others are neither.
#[tokio::test]
async fn tasks_on_ones_own_behalf_are_listed_by_pages_and_counted() {
    let scene = Scene::new().await;
    let asked = scene.ask(&scene.bob, "bob", "lead", "b0", "").await;
    asked.expect("sent");
    for n in 1..6 {
        let id = format!("b{n}");
        let asked = scene.ask(&scene.lead, "lead", "payments", &id, "b0").await;
        asked.expect("bob may");
        let id = format!("a{n}");
        let asked = scene.ask(&scene.alice, "alice", "lead", &id, "");
        asked.await.expect("sent");
    }
    let request = |agent: &str, principal: &str| ListTasksRequest {
        agent_id: agent.to_owned(),
        on_behalf_of: principal.to_owned(),
        page_size: 2,
        ..Default::default()
    };
    let counted = |agent: &str| ListTasksRequest {
        count: true,
        ..request(agent, "bob")
    };
    for (token, expected) in [
        (&scene.bob, &["b5", "b4", "b3", "b2", "b1", "b0"][..]),
        (&scene.alice, &[]),
    ] {
        assert_eq!(scene.pages(token, request("", "bob")).await, expected);
    }
    assert_eq!(
        scene.pages(&scene.bob, request("", "")).await,
        ["b5", "b4", "b3", "b2", "b1", "b0"],
        "each once, and none of others between them"
    );
    for (agent, total) in [("", 6), ("payments", 5), ("lead", 6), ("alice", 0)] {
        let page = scene.page(&scene.bob, counted(agent)).await;
        assert_eq!(page.expect("hers").total_size, total, "{agent}");
    }
    let by_status = |principal: &str| ListTasksRequest {
        assigned: true,
        by_status: true,
        ..request("payments", principal)
    };
    let found = scene.pages(&scene.bob, by_status("bob")).await;
    assert_eq!(found, ["b5", "b4", "b3", "b2", "b1"]);
    for request in [
        counted(""),
        counted("payments"),
        by_status("bob"),
        by_status(""),
    ] {
        refused(
            scene.page(&scene.alice, request).await.map(drop),
            "others need see:all-tasks",
        );
    }
}

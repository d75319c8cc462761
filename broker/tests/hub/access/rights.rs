//! Rights over tasks, agents and the directory.

use agenthub_access::{Namespace, NewToken};
use agenthub_proto::agenthub::{
    CancelTaskRequest, ExplainRequest, GetAgentRequest, ListAgentsRequest, ListDeadLettersRequest,
    ListTasksRequest, access_client::AccessClient,
};
use tonic::{Code, Status};

use super::{Guarded, denied, with};
use crate::peer::{hello, of_instance};

/// Issue 25: who may only see own tasks sees those where it is requester or receiver; unknown and foreign ids give the same answer.
#[tokio::test]
async fn tasks_are_seen_by_their_parties() {
    let hub = Guarded::start().await;
    let alice = hub.token("alice", "user").await;
    let bob = hub.token("bob", "agent").await;
    let carol = hub.token("carol", "user").await;
    let dora = hub.token("dora", "operator").await;
    hub.say(&alice, "alice~cli-1", "bob", "t")
        .await
        .expect("sent");
    hub.say(&carol, "carol", "bob", "u").await.expect("sent");
    for may in [&alice, &bob, &dora] {
        assert_eq!(hub.get(may, "t").await.expect("a party, or all"), "t");
    }
    let foreign = hub.get(&carol, "t").await.expect_err("not hers");
    let unknown = hub.get(&carol, "nothing").await.expect_err("unknown");
    assert_eq!(foreign.code(), Code::NotFound);
    assert_eq!(foreign.message(), unknown.message());
    assert_eq!(hub.tasks(&alice, "").await.expect("its own"), ["t"]);
    assert_eq!(hub.tasks(&carol, "").await.expect("its own"), ["u"]);
    assert_eq!(hub.tasks(&carol, "bob").await.expect("its own"), ["u"]);
    assert_eq!(hub.tasks(&bob, "bob").await.expect("its own"), ["t", "u"]);
    assert_eq!(hub.tasks(&dora, "").await.expect("all"), ["t", "u"]);
    let count = ListTasksRequest {
        count: true,
        ..Default::default()
    };
    denied(
        hub.client.clone().list_tasks(with(&carol, count)).await,
        "see:all-tasks",
    );
    let cancel = |task: &str| CancelTaskRequest {
        task_id: task.to_owned(),
        reason: String::new(),
    };
    let mut client = hub.client.clone();
    let foreign = client.cancel_task(with(&carol, cancel("t"))).await;
    let unknown = client.cancel_task(with(&carol, cancel("nothing"))).await;
    let (foreign, unknown) = (
        foreign.expect_err("not hers"),
        unknown.expect_err("unknown"),
    );
    assert_eq!(foreign.code(), Code::NotFound);
    assert_eq!(foreign.message(), unknown.message());
    let foreign = hub
        .report(&carol, "carol", "t")
        .await
        .expect_err("not hers");
    let unknown = hub.report(&carol, "carol", "x").await.expect_err("unknown");
    assert_eq!(foreign.code(), Code::NotFound);
    assert_eq!(
        foreign.message().replace("\"t\"", ""),
        unknown.message().replace("\"x\"", "")
    );
    denied(
        hub.say(&carol, "carol", "bob", "t").await,
        "a task of others",
    );
    hub.report(&bob, "bob", "t").await.expect("its own");
    let cancelled = client.cancel_task(with(&alice, cancel("t"))).await;
    assert_eq!(cancelled.expect("hers").into_inner().id, "t");
}

/// Deny by default, of each kind of right.
#[tokio::test]
async fn what_no_rule_allows_is_denied() {
    let hub = Guarded::start().await;
    let issue = |allow: &[&str]| {
        let allow = allow.iter().map(|permit| permit.parse().expect("a permit"));
        let issued = hub.store.issue(NewToken {
            principal: "eve".parse().expect("a name"),
            namespace: Namespace::default(),
            roles: Vec::new(),
            allow: allow.collect(),
            lasts: None,
        });
        issued.expect("a token").token.secret().to_owned()
    };
    let eve = issue(&["be:eve", "send:qa"]);
    let more = hub.token("more", "agent").await;
    let mut client = hub.client.clone();
    hub.say(&eve, "eve", "qa", "").await.expect("allowed");
    hub.say(&eve, "eve", "qa@2", "")
        .await
        .expect("a version of it");
    denied(hub.say(&eve, "eve", "writer", "").await, "send:writer");
    denied(hub.say(&eve, "eve", "", "").await, "send:*");
    denied(hub.get(&eve, "t").await.map_err(not_found), "see:own-tasks");
    let list = ListAgentsRequest::default();
    denied(client.list_agents(with(&eve, list)).await, "see:directory");
    let get = GetAgentRequest {
        agent_id: "x".to_owned(),
    };
    denied(client.get_agent(with(&eve, get)).await, "see:directory");
    let letters = ListDeadLettersRequest::default();
    denied(
        client.list_dead_letters(with(&more, letters)).await,
        "operate",
    );
    let watching = of_instance("cards", 8);
    let watching = agenthub_proto::agenthub::Subscription {
        filter: Some(agenthub_proto::agenthub::Filter {
            kinds: vec![agenthub_proto::agenthub::EventKind::AgentCard.into()],
            ..Default::default()
        }),
        ..watching
    };
    denied(
        hub.connect(&eve, hello("eve", "1", vec![watching])).await,
        "see:directory",
    );
}

/// A task that may not be seen is not found; the reason is shown by listing.
fn not_found(status: Status) -> Status {
    assert_eq!(status.code(), Code::NotFound);
    Status::permission_denied("see:own-tasks")
}

/// Issue 25: `access explain` says which rule decides.
#[tokio::test]
async fn decisions_are_explained_to_administrators() {
    let hub = Guarded::start().await;
    let (alice, root) = (
        hub.token("alice", "user").await,
        hub.token("root", "admin").await,
    );
    hub.register(&root, "qa").await.expect("it is free");
    let mut access = AccessClient::new(hub.channel().await);
    let ask = |action: &str, resource: &str| ExplainRequest {
        principal: "alice".to_owned(),
        roles: Vec::new(),
        action: action.to_owned(),
        resource: resource.to_owned(),
        on_behalf_of: String::new(),
    };
    for (action, resource, allowed, rule) in [
        ("send", "qa", true, "role user allows send:*"),
        (
            "be",
            "qa",
            false,
            "the id belongs to \"root\", who registered it first",
        ),
        ("be", "alice~x", true, "role user allows be:{self}~*"),
        (
            "see",
            "events",
            false,
            "no rule allows see:events (roles: user)",
        ),
    ] {
        let said = access.explain(with(&root, ask(action, resource))).await;
        let said = said.expect("an administrator").into_inner();
        assert_eq!((said.allowed, said.rule.as_str()), (allowed, rule));
    }
    let request = ExplainRequest {
        on_behalf_of: "nobody-here".to_owned(),
        ..ask("delegate", "qa")
    };
    let said = access.explain(with(&root, request)).await;
    let said = said.expect("an administrator").into_inner();
    assert_eq!(
        (said.allowed, &*said.rule),
        (
            false,
            "of \"nobody-here\": no rule allows send:qa (no roles); nobody-here has no token, and the policy says nothing of that name"
        )
    );
    let request = ExplainRequest {
        principal: "nobody-here".to_owned(),
        on_behalf_of: "nobody-here".to_owned(),
        ..ask("delegate", "qa")
    };
    let said = access.explain(with(&root, request)).await;
    let rule = said.expect("an administrator").into_inner().rule;
    assert_eq!(rule.matches("has no token").count(), 1, "{rule}");
    denied(
        access.explain(with(&alice, ask("send", "qa"))).await,
        "administer",
    );
    let wrong = access.explain(with(&root, ask("fly", ""))).await;
    let wrong = wrong.expect_err("no action");
    assert_eq!(wrong.code(), Code::InvalidArgument);
    assert!(wrong.message().contains("--do"), "{wrong:?}");
}

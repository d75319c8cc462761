//! Every RPC and every route with every kind of credential.

use std::collections::BTreeSet;

use agenthub_access::{Needs, ROUTES, SERVICES};
use prost_reflect::DescriptorPool;
use tonic::Code;

use super::{Guarded, call, request, until_refused};
use crate::http::send;

/// The roles of the tables below, in order.
const ROLES: [&str; 4] = ["agent", "user", "operator", "admin"];

/// Every RPC, and which of the roles may make it at all: `y`, or `-`. An RPC for which the request decides is open to all of them.
const RPCS: &[(&str, &str)] = &[
    ("/agenthub.AgentHub/Connect", "yyyy"),
    ("/agenthub.AgentHub/PublishMessage", "yyyy"),
    ("/agenthub.AgentHub/PublishTaskUpdate", "yyyy"),
    ("/agenthub.AgentHub/PublishTaskArtifact", "yyyy"),
    ("/agenthub.AgentHub/SubscribeToMessages", "yyyy"),
    ("/agenthub.AgentHub/SubscribeToTasks", "yyyy"),
    ("/agenthub.AgentHub/SubscribeToAgentEvents", "yyyy"),
    ("/agenthub.AgentHub/GetTask", "yyyy"),
    ("/agenthub.AgentHub/CancelTask", "yyyy"),
    ("/agenthub.AgentHub/ListTasks", "yyyy"),
    ("/agenthub.AgentHub/GetAgentCard", "yyyy"),
    ("/agenthub.AgentHub/RegisterAgent", "yyyy"),
    ("/agenthub.AgentHub/UnregisterAgent", "yyyy"),
    ("/agenthub.AgentHub/ListAgents", "yyyy"),
    ("/agenthub.AgentHub/GetAgent", "yyyy"),
    ("/agenthub.AgentHub/ListMailboxes", "--yy"),
    ("/agenthub.AgentHub/GetMailbox", "--yy"),
    ("/agenthub.AgentHub/SeekMailbox", "--yy"),
    ("/agenthub.AgentHub/PurgeMailbox", "--yy"),
    ("/agenthub.AgentHub/ListDeadLetters", "--yy"),
    ("/agenthub.AgentHub/RetryDeadLetter", "--yy"),
    ("/agenthub.AgentHub/DropDeadLetter", "--yy"),
    ("/agenthub.AgentHub/Charge", "---y"),
    ("/agenthub.Access/WhoAmI", "yyyy"),
    ("/agenthub.Access/Explain", "---y"),
    ("/agenthub.OutsideAgents/AddOutsideAgent", "---y"),
    ("/agenthub.OutsideAgents/RemoveOutsideAgent", "---y"),
    ("/agenthub.OutsideAgents/ListOutsideAgents", "yyyy"),
    ("/cortex.Cortex/Chat", "-yyy"),
    ("/cortex.Cortex/StartRun", "-yyy"),
    ("/cortex.Cortex/GetRun", "-yyy"),
    ("/cortex.Cortex/ListRuns", "-yyy"),
    ("/cortex.Cortex/WatchRun", "-yyy"),
    ("/cortex.Cortex/GetRunPlan", "-yyy"),
    ("/cortex.Cortex/GetRunGraph", "-yyy"),
    ("/cortex.Cortex/GetRunSteps", "-yyy"),
    ("/cortex.Cortex/CancelRun", "-yyy"),
    ("/cortex.Cortex/ResumeRun", "-yyy"),
    ("/cortex.Cortex/RetryRun", "-yyy"),
    ("/cortex.Cortex/ForkRun", "-yyy"),
    ("/cortex.Cortex/ListRunEvents", "-yyy"),
    ("/cortex.Cortex/GetRunMoment", "-yyy"),
    ("/cortex.Cortex/DecideApproval", "-yyy"),
    ("/cortex.Cortex/WatchApprovals", "-yyy"),
    ("/cortex.Cortex/RecordResults", "-yyy"),
    ("/lf.a2a.v1.A2AService/SendMessage", "yyyy"),
    ("/lf.a2a.v1.A2AService/SendStreamingMessage", "yyyy"),
    ("/lf.a2a.v1.A2AService/GetTask", "yyyy"),
    ("/lf.a2a.v1.A2AService/ListTasks", "yyyy"),
    ("/lf.a2a.v1.A2AService/CancelTask", "yyyy"),
    ("/lf.a2a.v1.A2AService/SubscribeToTask", "yyyy"),
    (
        "/lf.a2a.v1.A2AService/CreateTaskPushNotificationConfig",
        "yyyy",
    ),
    (
        "/lf.a2a.v1.A2AService/GetTaskPushNotificationConfig",
        "yyyy",
    ),
    (
        "/lf.a2a.v1.A2AService/ListTaskPushNotificationConfigs",
        "yyyy",
    ),
    (
        "/lf.a2a.v1.A2AService/DeleteTaskPushNotificationConfig",
        "yyyy",
    ),
    ("/lf.a2a.v1.A2AService/GetExtendedAgentCard", "yyyy"),
    ("/grpc.health.v1.Health/Check", "*"),
    ("/grpc.health.v1.Health/List", "*"),
    ("/grpc.health.v1.Health/Watch", "*"),
    (
        "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
        "yyyy",
    ),
    (
        "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
        "yyyy",
    ),
];

/// Requests of every route, and which of the roles may make them at all.
pub(super) const REQUESTS: &[(&str, &str, &str)] = &[
    ("OPTIONS", "/tasks", "*"),
    ("GET", "/health", "*"),
    ("GET", "/ready", "*"),
    ("GET", "/metrics", "--yy"),
    ("GET", "/v1/openapi.json", "yyyy"),
    ("GET", "/v1/docs", "yyyy"),
    ("POST", "/v1/runs", "-yyy"),
    ("GET", "/v1/runs", "-yyy"),
    ("GET", "/v1/runs/r", "-yyy"),
    ("GET", "/v1/runs/r/events", "-yyy"),
    ("GET", "/v1/runs/r/plan", "-yyy"),
    ("GET", "/v1/runs/r/steps", "-yyy"),
    ("GET", "/v1/runs/r/graph", "-yyy"),
    ("POST", "/v1/runs/r/cancel", "-yyy"),
    ("POST", "/v1/runs/r/resume", "-yyy"),
    ("POST", "/v1/runs/r/retry", "-yyy"),
    ("POST", "/v1/runs/r/fork", "-yyy"),
    ("GET", "/v1/runs/r/journal", "-yyy"),
    ("GET", "/v1/runs/r/journal/1", "-yyy"),
    ("POST", "/v1/runs/r/results", "-yyy"),
    ("POST", "/v1/runs/r/approvals/a", "-yyy"),
    ("GET", "/v1/anything", "-yyy"),
    ("GET", "/", "yyyy"),
    ("GET", "/ui/chat", "-yyy"),
    ("POST", "/ui/chat/t", "-yyy"),
    ("GET", "/ui/agents", "yyyy"),
    ("GET", "/ui/agents/agent_echo", "yyyy"),
    ("POST", "/ui/agents/agent_echo/ask", "yyyy"),
    ("GET", "/ui/tasks", "yyyy"),
    ("GET", "/ui/tasks/t", "yyyy"),
    ("POST", "/ui/tasks/t/cancel", "yyyy"),
    ("GET", "/ui/runs", "-yyy"),
    ("GET", "/ui/runs/r", "-yyy"),
    ("POST", "/ui/runs/r/cancel", "-yyy"),
    ("POST", "/ui/runs/r/retry", "-yyy"),
    ("POST", "/ui/runs/r/decide", "-yyy"),
    ("GET", "/ui/teams", "--yy"),
    ("GET", "/ui/teams/report", "--yy"),
    ("GET", "/ui/mailboxes", "--yy"),
    ("POST", "/ui/letters/l/retry", "--yy"),
    ("POST", "/ui/letters/l/drop", "--yy"),
    ("GET", "/ui/events", "--yy"),
    ("GET", "/ui/assets/page.css", "*"),
    ("GET", "/ui/login", "*"),
    ("GET", "/ui/login/back", "*"),
    ("POST", "/ui/logout", "*"),
    ("GET", "/.well-known/jwks.json", "*"),
    ("GET", "/.well-known/agent-card.json", "yyyy"),
    ("GET", "/.well-known/agent.json", "yyyy"),
    ("GET", "/agents", "yyyy"),
    ("GET", "/agents/", "yyyy"),
    (
        "GET",
        "/agents/agent_echo/.well-known/agent-card.json",
        "yyyy",
    ),
    ("GET", "/agents/agent_echo/.well-known/agent.json", "yyyy"),
    ("POST", "/", "yyyy"),
    ("POST", "/message:send", "yyyy"),
    ("POST", "/message:stream", "yyyy"),
    ("GET", "/tasks", "yyyy"),
    ("GET", "/tasks/t", "yyyy"),
    ("POST", "/tasks/t:cancel", "yyyy"),
    ("DELETE", "/tasks/t/pushNotificationConfigs/c", "yyyy"),
    ("GET", "/extendedAgentCard", "yyyy"),
    ("POST", "/agents/agent_echo", "yyyy"),
    ("POST", "/agents/agent_echo/", "yyyy"),
    ("POST", "/agents/agent_echo/message:send", "yyyy"),
    ("POST", "/agent_echo/message:send", "yyyy"),
    ("POST", "/agent_echo/message:stream", "yyyy"),
    ("GET", "/agent_echo/tasks", "yyyy"),
    ("GET", "/agent_echo/tasks/t", "yyyy"),
    ("GET", "/nothing/is/here", "yyyy"),
];

/// Needs of each RPC, in the words of the table.
fn lines() -> BTreeSet<String> {
    RPCS.iter().map(|(path, _)| (*path).to_owned()).collect()
}

/// Issue 25: an RPC that is not in the table fails the build.
#[test]
fn every_rpc_has_a_line_in_the_table() {
    let mut served = BTreeSet::new();
    for set in [
        agenthub_proto::FILE_DESCRIPTOR_SET,
        agenthub_a2a::FILE_DESCRIPTOR_SET,
    ] {
        let pool = DescriptorPool::decode(set).expect("descriptors");
        for service in pool.services() {
            for method in service.methods() {
                served.insert(format!("/{}/{}", service.full_name(), method.name()));
                let line = SERVICES
                    .iter()
                    .find(|rpc| rpc.path == format!("/{}/{}", service.full_name(), method.name()));
                let line = line.unwrap_or_else(|| panic!("{} has no line", method.full_name()));
                assert_eq!(
                    line.is_stream,
                    method.is_server_streaming(),
                    "{}",
                    line.path
                );
            }
        }
    }
    let rights: BTreeSet<String> = SERVICES.iter().map(|rpc| rpc.path.to_owned()).collect();
    assert_eq!(lines(), rights, "the tables of rights and of this test");
    let others: Vec<&String> = rights.difference(&served).collect();
    assert!(
        others.iter().all(|path| path.starts_with("/grpc.")),
        "{others:?}"
    );
}

/// Issue 25: every RPC with every kind of credential.
#[tokio::test(flavor = "multi_thread")]
async fn every_rpc_with_every_credential() {
    let guarded = Guarded::start("up");
    let (revoked, id) = guarded.issue(&["gone", "--role", "admin"]);
    let (expired, _) = guarded.write_token(&["late", "--role", "admin", "--expires", "1s"]);
    let roles = ROLES.map(|role| guarded.issue(&[role, "--role", role]).0);
    let (nobody, _) = guarded.issue(&["eve", "--allow", "be:eve"]);
    let revoking = guarded.system.run(&["tokens", "revoke", &id], "");
    assert_eq!(revoking.code, Some(0), "{revoking:?}");
    let channel = guarded.channel().await;
    until_refused(&channel, &[&revoked, &expired]).await;
    let wrong = format!("ah_{}", "A".repeat(43));
    let mut faults = Vec::new();
    for (path, may) in RPCS {
        let unknown = [
            None,
            Some(""),
            Some("x"),
            Some(&*wrong),
            Some(&*revoked),
            Some(&*expired),
        ];
        for token in unknown {
            let code = call(&channel, path, token).await;
            if (code == Code::Unauthenticated) == (*may == "*") {
                faults.push(format!("{path} with {token:?}: {code:?}"));
            }
        }
        for (role, token) in ROLES.iter().zip(&roles) {
            let at = ROLES.iter().position(|known| known == role).expect("known");
            let may = may.chars().nth(at).is_none_or(|may| may == 'y') || *may == "*";
            let code = call(&channel, path, Some(token)).await;
            let is_refused = code == Code::PermissionDenied || code == Code::Unauthenticated;
            if may == is_refused {
                faults.push(format!("{path} as {role}: {code:?}"));
            }
        }
        let needs = SERVICES.iter().find(|rpc| rpc.path == *path);
        let needs = needs.expect("the tables are alike").needs;
        let code = call(&channel, path, Some(&nobody)).await;
        let is_right = !matches!(needs, Needs::Nothing | Needs::Identity);
        if is_right && code != Code::PermissionDenied || code == Code::Unauthenticated {
            faults.push(format!("{path} without rights: {code:?}"));
        }
    }
    let code = call(&channel, "/other.Service/Call", Some(&roles[2])).await;
    assert_eq!(code, Code::Unimplemented, "a service without a line");
    assert!(faults.is_empty(), "{faults:#?}");
}

/// Issue 25: every route with every kind of credential.
#[tokio::test(flavor = "multi_thread")]
async fn every_route_with_every_credential() {
    let guarded = Guarded::start("up");
    let (revoked, id) = guarded.issue(&["gone", "--role", "admin"]);
    let roles = ROLES.map(|role| guarded.issue(&[role, "--role", role]).0);
    let revoking = guarded.system.run(&["tokens", "revoke", &id], "");
    assert_eq!(revoking.code, Some(0), "{revoking:?}");
    let channel = guarded.channel().await;
    until_refused(&channel, &[&revoked]).await;
    let http = &guarded.http;
    let wrong = format!("ah_{}", "A".repeat(43));
    let mut faults = Vec::new();
    for (method, path, may) in REQUESTS {
        for token in [None, Some("x"), Some(&*wrong), Some(&*revoked)] {
            let (status, _) = request(http, method, path, token);
            if (status == 401) == (*may == "*") {
                faults.push(format!("{method} {path} with {token:?}: {status}"));
            }
        }
        for (at, token) in roles.iter().enumerate() {
            let may = *may == "*" || may.chars().nth(at) == Some('y');
            let (status, _) = request(http, method, path, Some(token));
            if may == (status == 403 || status == 401) {
                faults.push(format!("{method} {path} as {}: {status}", ROLES[at]));
            }
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
    let refused = send(http, "GET", "/v1/runs", "", "").expect("an answer");
    assert_eq!(refused.status, 401);
    let problem = refused.json();
    assert!(
        problem["detail"]
            .as_str()
            .expect("text")
            .contains("AGENTHUB_TOKEN")
    );

    // Each line of the rights is tried, and each route of the document has one of its own.
    let tried = |route: &agenthub_access::Route| {
        REQUESTS.iter().any(|(method, path, _)| {
            let found = ROUTES.iter().find(|r| r.takes(method, path));
            found.is_some_and(|found| found == route)
        })
    };
    let untried: Vec<_> = ROUTES.iter().filter(|route| !tried(route)).collect();
    assert!(untried.is_empty(), "{untried:#?}");
    let header = format!("Authorization: Bearer {}\r\n", roles[0]);
    let document = send(http, "GET", "/v1/openapi.json", &header, "").expect("an answer");
    let document = document.json();
    let paths = document["paths"].as_object().expect("paths");
    for (path, operations) in paths {
        for method in operations.as_object().expect("operations").keys() {
            let method = method.to_uppercase();
            let full = match path.starts_with("/v1/") {
                true => path.clone(),
                false => format!("/v1{path}"),
            };
            let has_line = ROUTES.iter().any(|r| r.path == full && r.method == method);
            assert!(
                has_line || method == "PARAMETERS",
                "{method} {full} has no line"
            );
        }
    }
}

//! A request for every call that takes an id, over gRPC and HTTP.

/// Requests of every RPC, with `AGENT`, `TASK`, `RUN` and `LETTER` for the id; none for an RPC that takes no id.
pub(crate) const RPCS: &[(&str, &[&str])] = &[
    // Its frames are tried one by one in the calls that follow.
    (
        "/agenthub.AgentHub/Connect",
        &[r#"{"hello": {"agentId": "AGENT"}}"#],
    ),
    (
        "/agenthub.AgentHub/PublishMessage",
        &[
            r#"{"message": {"messageId": "m-TASK", "taskId": "TASK", "content": [{"text": "x"}]}, "routing": {"fromAgentId": "alice", "toAgentId": "alice.other"}}"#,
            r#"{"message": {"messageId": "m-AGENT", "content": [{"text": "x"}]}, "routing": {"fromAgentId": "alice", "toAgentId": "AGENT"}}"#,
            r#"{"message": {"messageId": "p-TASK", "taskId": "c-TASK", "content": [{"text": "x"}]}, "routing": {"fromAgentId": "alice", "toAgentId": "alice.other", "parentTaskId": "TASK"}}"#,
        ],
    ),
    (
        "/agenthub.AgentHub/PublishTaskUpdate",
        &[
            r#"{"update": {"taskId": "TASK", "status": {"state": "TASK_STATE_WORKING"}}, "routing": {"fromAgentId": "alice"}}"#,
        ],
    ),
    (
        "/agenthub.AgentHub/PublishTaskArtifact",
        &[
            r#"{"artifact": {"taskId": "TASK", "artifact": {"artifactId": "a", "parts": [{"text": "x"}]}}, "routing": {"fromAgentId": "alice"}}"#,
        ],
    ),
    (
        "/agenthub.AgentHub/SubscribeToMessages",
        &[r#"{"agentId": "AGENT"}"#],
    ),
    (
        "/agenthub.AgentHub/SubscribeToTasks",
        &[
            r#"{"agentId": "AGENT"}"#,
            r#"{"agentId": "alice~t", "observe": true, "taskIds": ["TASK"]}"#,
        ],
    ),
    (
        "/agenthub.AgentHub/SubscribeToAgentEvents",
        &[r#"{"agentId": "AGENT"}"#],
    ),
    ("/agenthub.AgentHub/GetTask", &[r#"{"taskId": "TASK"}"#]),
    ("/agenthub.AgentHub/CancelTask", &[r#"{"taskId": "TASK"}"#]),
    (
        "/agenthub.AgentHub/ListTasks",
        &[r#"{"agentId": "AGENT"}"#, r#"{"contextId": "TASK"}"#],
    ),
    ("/agenthub.AgentHub/GetAgentCard", &[]),
    (
        "/agenthub.AgentHub/RegisterAgent",
        &[r#"{"agentCard": {"name": "AGENT", "description": "d", "version": "1"}}"#],
    ),
    (
        "/agenthub.AgentHub/UnregisterAgent",
        &[r#"{"agentId": "AGENT"}"#],
    ),
    ("/agenthub.AgentHub/ListAgents", &[r#"{"text": "AGENT"}"#]),
    ("/agenthub.AgentHub/GetAgent", &[r#"{"agentId": "AGENT"}"#]),
    (
        "/agenthub.AgentHub/ListMailboxes",
        &[r#"{"agentId": "AGENT"}"#],
    ),
    (
        "/agenthub.AgentHub/GetMailbox",
        &[r#"{"agentId": "AGENT"}"#],
    ),
    (
        "/agenthub.AgentHub/SeekMailbox",
        &[r#"{"agentId": "AGENT", "latest": true}"#],
    ),
    (
        "/agenthub.AgentHub/PurgeMailbox",
        &[r#"{"agentId": "AGENT"}"#],
    ),
    (
        "/agenthub.AgentHub/ListDeadLetters",
        &[r#"{"agentId": "AGENT"}"#],
    ),
    (
        "/agenthub.AgentHub/RetryDeadLetter",
        &[r#"{"id": "LETTER"}"#],
    ),
    (
        "/agenthub.AgentHub/DropDeadLetter",
        &[r#"{"id": "LETTER"}"#],
    ),
    // It takes a principal, who is another one in each namespace.
    ("/agenthub.AgentHub/Charge", &[]),
    ("/agenthub.Access/WhoAmI", &[]),
    (
        "/agenthub.Access/Explain",
        &[
            r#"{"principal": "bob", "action": "be", "resource": "AGENT"}"#,
            r#"{"principal": "bob", "action": "send", "resource": "AGENT"}"#,
        ],
    ),
    (
        "/agenthub.OutsideAgents/AddOutsideAgent",
        &[r#"{"url": "http://127.0.0.1:1/", "agentId": "AGENT"}"#],
    ),
    (
        "/agenthub.OutsideAgents/RemoveOutsideAgent",
        &[r#"{"agentId": "AGENT"}"#],
    ),
    ("/agenthub.OutsideAgents/ListOutsideAgents", &[]),
    (
        "/cortex.Cortex/Chat",
        &[r#"{"text": "/agents", "contextId": "RUN"}"#],
    ),
    // An id there is one that the caller chooses, of a plan that is its own.
    ("/cortex.Cortex/StartRun", &[]),
    ("/cortex.Cortex/GetRun", &[r#"{"id": "RUN"}"#]),
    ("/cortex.Cortex/ListRuns", &[r#"{"threadId": "RUN"}"#]),
    ("/cortex.Cortex/WatchRun", &[r#"{"id": "RUN"}"#]),
    ("/cortex.Cortex/GetRunPlan", &[r#"{"id": "RUN"}"#]),
    ("/cortex.Cortex/GetRunGraph", &[r#"{"id": "RUN"}"#]),
    ("/cortex.Cortex/GetRunSteps", &[r#"{"id": "RUN"}"#]),
    ("/cortex.Cortex/ForkRun", &[r#"{"id": "RUN", "at": 1}"#]),
    ("/cortex.Cortex/ListRunEvents", &[r#"{"id": "RUN"}"#]),
    ("/cortex.Cortex/GetRunMoment", &[r#"{"id": "RUN"}"#]),
    ("/cortex.Cortex/CancelRun", &[r#"{"id": "RUN"}"#]),
    ("/cortex.Cortex/ResumeRun", &[r#"{"id": "RUN"}"#]),
    ("/cortex.Cortex/RetryRun", &[r#"{"id": "RUN"}"#]),
    (
        "/cortex.Cortex/DecideApproval",
        &[r#"{"runId": "RUN", "approvalId": "x", "approved": true}"#],
    ),
    ("/cortex.Cortex/WatchApprovals", &[]),
    (
        "/cortex.Cortex/RecordResults",
        &[r#"{"id": "RUN", "metrics": {"clicks": 1}}"#],
    ),
    (
        "/lf.a2a.v1.A2AService/SendMessage",
        &[
            r#"{"tenant": "AGENT", "message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "x"}]}}"#,
            r#"{"tenant": "agent_echo", "message": {"messageId": "m", "taskId": "TASK", "role": "ROLE_USER", "parts": [{"text": "x"}]}}"#,
        ],
    ),
    (
        "/lf.a2a.v1.A2AService/SendStreamingMessage",
        &[
            r#"{"tenant": "AGENT", "message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "x"}]}}"#,
        ],
    ),
    (
        "/lf.a2a.v1.A2AService/GetTask",
        &[r#"{"tenant": "agent_echo", "id": "TASK"}"#],
    ),
    (
        "/lf.a2a.v1.A2AService/ListTasks",
        &[r#"{"tenant": "AGENT"}"#],
    ),
    (
        "/lf.a2a.v1.A2AService/CancelTask",
        &[r#"{"tenant": "agent_echo", "id": "TASK"}"#],
    ),
    (
        "/lf.a2a.v1.A2AService/SubscribeToTask",
        &[r#"{"tenant": "agent_echo", "id": "TASK"}"#],
    ),
    (
        "/lf.a2a.v1.A2AService/CreateTaskPushNotificationConfig",
        &[r#"{"tenant": "agent_echo", "taskId": "TASK", "url": "https://example.com/"}"#],
    ),
    (
        "/lf.a2a.v1.A2AService/GetTaskPushNotificationConfig",
        &[r#"{"tenant": "agent_echo", "taskId": "TASK", "id": "x"}"#],
    ),
    (
        "/lf.a2a.v1.A2AService/ListTaskPushNotificationConfigs",
        &[r#"{"tenant": "agent_echo", "taskId": "TASK"}"#],
    ),
    (
        "/lf.a2a.v1.A2AService/DeleteTaskPushNotificationConfig",
        &[r#"{"tenant": "agent_echo", "taskId": "TASK", "id": "x"}"#],
    ),
    (
        "/lf.a2a.v1.A2AService/GetExtendedAgentCard",
        &[r#"{"tenant": "AGENT"}"#],
    ),
];

/// Requests of HTTP that take an id.
pub(crate) const REQUESTS: &[(&str, &str, &str)] = &[
    ("GET", "/v1/runs/RUN", ""),
    ("GET", "/v1/runs/RUN/events", ""),
    ("GET", "/v1/runs/RUN/plan", ""),
    ("GET", "/v1/runs/RUN/steps", ""),
    ("GET", "/v1/runs/RUN/graph", ""),
    ("POST", "/v1/runs/RUN/cancel", "{}"),
    ("POST", "/v1/runs/RUN/resume", "{}"),
    ("POST", "/v1/runs/RUN/retry", "{}"),
    ("POST", "/v1/runs/RUN/fork", r#"{"at": 1}"#),
    ("GET", "/v1/runs/RUN/journal", ""),
    ("GET", "/v1/runs/RUN/journal/1", ""),
    (
        "POST",
        "/v1/runs/RUN/results",
        r#"{"metrics": {"clicks": 1}}"#,
    ),
    (
        "POST",
        "/v1/runs/RUN/approvals/a",
        r#"{"decision": "approve"}"#,
    ),
    ("GET", "/ui/chat?thread=RUN", ""),
    ("GET", "/ui/chat/RUN", ""),
    ("GET", "/ui/teams/report?run=RUN", ""),
    ("GET", "/ui/agents/AGENT", ""),
    ("POST", "/ui/agents/AGENT/ask", "text=x"),
    ("GET", "/ui/tasks/TASK", ""),
    ("POST", "/ui/tasks/TASK/cancel", ""),
    ("GET", "/ui/runs/RUN", ""),
    ("POST", "/ui/runs/RUN/cancel", ""),
    ("POST", "/ui/runs/RUN/retry", ""),
    ("POST", "/ui/runs/RUN/decide", ""),
    ("POST", "/ui/letters/LETTER/retry", ""),
    ("POST", "/ui/letters/LETTER/drop", ""),
    ("GET", "/agents/AGENT/.well-known/agent-card.json", ""),
    ("GET", "/agents/AGENT/.well-known/agent.json", ""),
    (
        "POST",
        "/agents/AGENT",
        r#"{"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": "TASK"}}"#,
    ),
    (
        "POST",
        "/agents/AGENT/",
        r#"{"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": "TASK"}}"#,
    ),
    (
        "POST",
        "/agents/AGENT/message:send",
        r#"{"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "x"}]}}"#,
    ),
    ("GET", "/agents/agent_echo/tasks/TASK", ""),
    ("POST", "/agents/agent_echo/tasks/TASK:cancel", "{}"),
    (
        "POST",
        "/",
        r#"{"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": "TASK"}}"#,
    ),
    (
        "POST",
        "/message:send",
        r#"{"message": {"messageId": "m", "taskId": "TASK", "role": "ROLE_USER", "parts": [{"text": "x"}]}}"#,
    ),
    (
        "POST",
        "/message:stream",
        r#"{"message": {"messageId": "m", "taskId": "TASK", "role": "ROLE_USER", "parts": [{"text": "x"}]}}"#,
    ),
    ("GET", "/tasks/TASK", ""),
    ("DELETE", "/tasks/TASK/pushNotificationConfigs/c", ""),
    (
        "POST",
        "/AGENT/message:send",
        r#"{"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "x"}]}}"#,
    ),
    (
        "POST",
        "/AGENT/message:stream",
        r#"{"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "x"}]}}"#,
    ),
    ("GET", "/AGENT/tasks", ""),
    ("GET", "/agent_echo/tasks/TASK", ""),
];

/// Routes that take no id.
pub(super) const WITHOUT: &[&str] = &[
    "/{*rest}",
    "/health",
    "/ready",
    "/metrics",
    "/v1/openapi.json",
    "/v1/docs",
    "/v1/runs",
    "/v1/{*rest}",
    "/",
    "/.well-known/jwks.json",
    "/.well-known/agent-card.json",
    "/.well-known/agent.json",
    "/agents",
    "/agents/",
    "/tasks",
    "/extendedAgentCard",
    "/agents/{slug}/{*rest}",
    "/ui/login",
    "/ui/login/{*rest}",
    "/ui/logout",
    "/ui/assets/{*rest}",
    "/ui/chat",
    "/ui/agents",
    "/ui/runs",
    "/ui/teams",
    "/ui/mailboxes",
    "/ui/events",
];

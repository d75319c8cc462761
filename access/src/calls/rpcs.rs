//! Every RPC: what a call needs before it is read, and what it leaves in the audit. One entry each; an RPC without one is denied.

use super::Rpc;
use crate::{
    Action, Needs,
    audit::{Field, Records, field},
};

const ID: &[Field] = &[field("id", &[1])];
const MAILBOX: &[Field] = &[field("agent", &[1]), field("name", &[2])];
const DECISION: &[Field] = &[
    field("run", &[1]),
    field("approval", &[2]),
    field("approved", &[3]),
];

const SEE_DIRECTORY: Needs = Needs::Right(Action::SeeDirectory);
const OPERATE: Needs = Needs::Right(Action::Operate);
const ADMINISTER: Needs = Needs::Right(Action::Administer);
const CHAT: Needs = Needs::Right(Action::Chat);
const RUNS: Needs = Needs::Right(Action::Runs);
const REFUSALS: Records = Records::Refusals;
const OPENING: Records = Records::Opening;
const IN_SERVICE: Records = Records::InService;

/// Every RPC.
pub const SERVICES: &[Rpc] = &[
    // The hub's own service decides by the ids in each request.
    stream("/agenthub.AgentHub/Connect", Needs::Identity, IN_SERVICE),
    once(
        "/agenthub.AgentHub/PublishMessage",
        Needs::Identity,
        REFUSALS,
    ),
    once(
        "/agenthub.AgentHub/PublishTaskUpdate",
        Needs::Identity,
        REFUSALS,
    ),
    once(
        "/agenthub.AgentHub/PublishTaskArtifact",
        Needs::Identity,
        REFUSALS,
    ),
    stream(
        "/agenthub.AgentHub/SubscribeToMessages",
        Needs::Identity,
        OPENING,
    ),
    stream(
        "/agenthub.AgentHub/SubscribeToTasks",
        Needs::Identity,
        OPENING,
    ),
    stream(
        "/agenthub.AgentHub/SubscribeToAgentEvents",
        Needs::Identity,
        OPENING,
    ),
    once("/agenthub.AgentHub/GetTask", Needs::Identity, REFUSALS),
    once(
        "/agenthub.AgentHub/CancelTask",
        Needs::Identity,
        act(&[field("task", &[1])]),
    ),
    once("/agenthub.AgentHub/ListTasks", Needs::Identity, REFUSALS),
    once("/agenthub.AgentHub/GetAgentCard", Needs::Identity, REFUSALS),
    once(
        "/agenthub.AgentHub/RegisterAgent",
        Needs::Identity,
        act(&[field("agent", &[1, 2])]),
    ),
    once(
        "/agenthub.AgentHub/UnregisterAgent",
        Needs::Identity,
        act(&[field("agent", &[1])]),
    ),
    once("/agenthub.AgentHub/ListAgents", SEE_DIRECTORY, REFUSALS),
    once("/agenthub.AgentHub/GetAgent", SEE_DIRECTORY, REFUSALS),
    once("/agenthub.AgentHub/ListMailboxes", OPERATE, REFUSALS),
    once("/agenthub.AgentHub/GetMailbox", OPERATE, REFUSALS),
    once("/agenthub.AgentHub/SeekMailbox", OPERATE, act(MAILBOX)),
    once("/agenthub.AgentHub/PurgeMailbox", OPERATE, act(MAILBOX)),
    once("/agenthub.AgentHub/ListDeadLetters", OPERATE, REFUSALS),
    once("/agenthub.AgentHub/RetryDeadLetter", OPERATE, act(ID)),
    once("/agenthub.AgentHub/DropDeadLetter", OPERATE, act(ID)),
    once(
        "/agenthub.AgentHub/Charge",
        Needs::Right(Action::Impersonate),
        REFUSALS,
    ),
    once("/agenthub.Access/WhoAmI", Needs::Identity, REFUSALS),
    once("/agenthub.Access/Explain", ADMINISTER, REFUSALS),
    // The URL of an agent elsewhere may hold a secret.
    once(
        "/agenthub.OutsideAgents/AddOutsideAgent",
        ADMINISTER,
        act(&[field("agent", &[2])]),
    ),
    once(
        "/agenthub.OutsideAgents/RemoveOutsideAgent",
        ADMINISTER,
        act(&[field("agent", &[1])]),
    ),
    once(
        "/agenthub.OutsideAgents/ListOutsideAgents",
        SEE_DIRECTORY,
        REFUSALS,
    ),
    stream("/cortex.Cortex/Chat", CHAT, OPENING),
    once(
        "/cortex.Cortex/StartRun",
        RUNS,
        act(&[field("mode", &[2]), field("agent", &[3])]),
    ),
    once("/cortex.Cortex/GetRun", RUNS, REFUSALS),
    once("/cortex.Cortex/ListRuns", RUNS, REFUSALS),
    stream("/cortex.Cortex/WatchRun", RUNS, OPENING),
    once("/cortex.Cortex/GetRunPlan", RUNS, REFUSALS),
    once("/cortex.Cortex/GetRunGraph", RUNS, REFUSALS),
    once("/cortex.Cortex/GetRunSteps", RUNS, REFUSALS),
    once("/cortex.Cortex/CancelRun", RUNS, act(ID)),
    once("/cortex.Cortex/ResumeRun", RUNS, act(ID)),
    once(
        "/cortex.Cortex/RetryRun",
        RUNS,
        act(&[field("id", &[1]), field("from", &[2])]),
    ),
    once(
        "/cortex.Cortex/ForkRun",
        RUNS,
        act(&[field("id", &[1]), field("at", &[2]), field("model", &[3])]),
    ),
    once("/cortex.Cortex/ListRunEvents", RUNS, REFUSALS),
    once("/cortex.Cortex/GetRunMoment", RUNS, REFUSALS),
    once(
        "/cortex.Cortex/DecideApproval",
        Needs::SomeApproval,
        act(DECISION),
    ),
    stream(
        "/cortex.Cortex/WatchApprovals",
        Needs::SomeApproval,
        OPENING,
    ),
    once("/cortex.Cortex/RecordResults", RUNS, act(ID)),
    // The gateway decides by the agent or task of each request.
    waiting(
        "/lf.a2a.v1.A2AService/SendMessage",
        Needs::Identity,
        REFUSALS,
    ),
    stream(
        "/lf.a2a.v1.A2AService/SendStreamingMessage",
        Needs::Identity,
        REFUSALS,
    ),
    once("/lf.a2a.v1.A2AService/GetTask", Needs::Identity, REFUSALS),
    once("/lf.a2a.v1.A2AService/ListTasks", Needs::Identity, REFUSALS),
    once(
        "/lf.a2a.v1.A2AService/CancelTask",
        Needs::Identity,
        IN_SERVICE,
    ),
    stream(
        "/lf.a2a.v1.A2AService/SubscribeToTask",
        Needs::Identity,
        OPENING,
    ),
    once(
        "/lf.a2a.v1.A2AService/CreateTaskPushNotificationConfig",
        Needs::Identity,
        IN_SERVICE,
    ),
    once(
        "/lf.a2a.v1.A2AService/GetTaskPushNotificationConfig",
        Needs::Identity,
        REFUSALS,
    ),
    once(
        "/lf.a2a.v1.A2AService/ListTaskPushNotificationConfigs",
        Needs::Identity,
        REFUSALS,
    ),
    once(
        "/lf.a2a.v1.A2AService/DeleteTaskPushNotificationConfig",
        Needs::Identity,
        IN_SERVICE,
    ),
    once(
        "/lf.a2a.v1.A2AService/GetExtendedAgentCard",
        SEE_DIRECTORY,
        REFUSALS,
    ),
    once("/grpc.health.v1.Health/Check", Needs::Nothing, REFUSALS),
    once("/grpc.health.v1.Health/List", Needs::Nothing, REFUSALS),
    stream("/grpc.health.v1.Health/Watch", Needs::Nothing, REFUSALS),
    reflection(
        "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
        Needs::Identity,
        REFUSALS,
    ),
    reflection(
        "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
        Needs::Identity,
        REFUSALS,
    ),
];

const fn once(path: &'static str, needs: Needs, records: Records) -> Rpc {
    Rpc {
        path,
        needs,
        is_stream: false,
        is_reflection: false,
        waits: false,
        records,
    }
}

const fn waiting(path: &'static str, needs: Needs, records: Records) -> Rpc {
    Rpc {
        waits: true,
        ..once(path, needs, records)
    }
}

const fn stream(path: &'static str, needs: Needs, records: Records) -> Rpc {
    Rpc {
        path,
        needs,
        is_stream: true,
        is_reflection: false,
        waits: false,
        records,
    }
}

const fn reflection(path: &'static str, needs: Needs, records: Records) -> Rpc {
    Rpc {
        is_reflection: true,
        ..stream(path, needs, records)
    }
}

const fn act(fields: &'static [Field]) -> Records {
    Records::Act(fields)
}

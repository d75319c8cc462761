//! Every route of HTTP: what a request needs before it is read, and what it leaves in the audit. One entry each.

use super::Route;
use crate::{
    Action, Needs,
    audit::{Field, Records, field},
};

const SEE_DIRECTORY: Needs = Needs::Right(Action::SeeDirectory);
const OPERATE: Needs = Needs::Right(Action::Operate);
const CHAT: Needs = Needs::Right(Action::Chat);
const RUNS: Needs = Needs::Right(Action::Runs);
const REFUSALS: Records = Records::Refusals;
const OPENING: Records = Records::Opening;
const IN_SERVICE: Records = Records::InService;

/// Every route, special ones before those that would match them too.
pub const ROUTES: &[Route] = &[
    // A browser asks before a call, without credentials, and the answer says nothing.
    at("OPTIONS", "/{*rest}", Needs::Nothing, REFUSALS),
    at("GET", "/health", Needs::Nothing, REFUSALS),
    at("GET", "/ready", Needs::Nothing, REFUSALS),
    at("GET", "/metrics", OPERATE, REFUSALS),
    at("GET", "/v1/openapi.json", Needs::Identity, REFUSALS),
    at("GET", "/v1/docs", Needs::Identity, REFUSALS),
    at("POST", "/v1/runs", RUNS, act(&[])),
    at("GET", "/v1/runs", RUNS, REFUSALS),
    at("GET", "/v1/runs/{id}", RUNS, REFUSALS),
    at("GET", "/v1/runs/{id}/events", RUNS, OPENING),
    at("GET", "/v1/runs/{id}/plan", RUNS, REFUSALS),
    at("GET", "/v1/runs/{id}/steps", RUNS, REFUSALS),
    at("GET", "/v1/runs/{id}/graph", RUNS, REFUSALS),
    at("POST", "/v1/runs/{id}/cancel", RUNS, act(&[])),
    at("POST", "/v1/runs/{id}/resume", RUNS, act(&[])),
    at("POST", "/v1/runs/{id}/retry", RUNS, act(&[])),
    at("POST", "/v1/runs/{id}/fork", RUNS, act(&[])),
    at("GET", "/v1/runs/{id}/journal", RUNS, REFUSALS),
    at("GET", "/v1/runs/{id}/journal/{event}", RUNS, REFUSALS),
    at("POST", "/v1/runs/{id}/results", RUNS, act(&[])),
    at(
        "POST",
        "/v1/runs/{id}/approvals/{approvalId}",
        Needs::SomeApproval,
        act(&[field("approved", &[])]),
    ),
    at("*", "/v1/{*rest}", RUNS, REFUSALS),
    // Who is not known yet logs in.
    // What changes something in a page is a form that is posted.
    at("*", "/ui/login", Needs::Nothing, act(&[])),
    at("GET", "/ui/login/{*rest}", Needs::Nothing, REFUSALS),
    at("POST", "/ui/logout", Needs::Nothing, act(&[])),
    at("GET", "/ui/assets/{*rest}", Needs::Nothing, REFUSALS),
    // The pages ask the hub in the name of whoever looks at them, who is told there what is not allowed.
    at("GET", "/", Needs::Identity, REFUSALS),
    at("*", "/ui/chat", CHAT, act(&[])),
    at("*", "/ui/chat/{*rest}", CHAT, act(&[])),
    at("*", "/ui/agents", SEE_DIRECTORY, act(&[])),
    at("*", "/ui/agents/{*rest}", SEE_DIRECTORY, act(&[])),
    at(
        "POST",
        "/ui/runs/{id}/decide",
        Needs::SomeApproval,
        act(&[field("approval", &[]), field("answer", &[])]),
    ),
    at("*", "/ui/runs", RUNS, act(&[])),
    at("*", "/ui/runs/{*rest}", RUNS, act(&[])),
    // Files of this process, and runs by its journals.
    at("*", "/ui/teams", OPERATE, act(&[])),
    at("*", "/ui/teams/{*rest}", OPERATE, act(&[])),
    at("*", "/ui/mailboxes", OPERATE, act(&[])),
    at("*", "/ui/letters/{*rest}", OPERATE, act(&[])),
    at(
        "GET",
        "/ui/events",
        Needs::Right(Action::SeeEvents),
        OPENING,
    ),
    at("*", "/ui/{*rest}", Needs::Identity, act(&[])),
    // Public keys.
    at("GET", "/.well-known/jwks.json", Needs::Nothing, REFUSALS),
    // Cards are the directory.
    at(
        "GET",
        "/.well-known/agent-card.json",
        SEE_DIRECTORY,
        REFUSALS,
    ),
    at("GET", "/.well-known/agent.json", SEE_DIRECTORY, REFUSALS),
    at("GET", "/agents", SEE_DIRECTORY, REFUSALS),
    at("GET", "/agents/", SEE_DIRECTORY, REFUSALS),
    at(
        "GET",
        "/agents/{slug}/.well-known/agent-card.json",
        SEE_DIRECTORY,
        REFUSALS,
    ),
    at(
        "GET",
        "/agents/{slug}/.well-known/agent.json",
        SEE_DIRECTORY,
        REFUSALS,
    ),
    // The gateway decides by the agent or task of each request.
    at("POST", "/", Needs::Identity, IN_SERVICE),
    at("POST", "/message:send", Needs::Identity, IN_SERVICE),
    at("POST", "/message:stream", Needs::Identity, IN_SERVICE),
    at("GET", "/tasks", Needs::Identity, IN_SERVICE),
    at("*", "/tasks/{*rest}", Needs::Identity, IN_SERVICE),
    at("GET", "/extendedAgentCard", SEE_DIRECTORY, REFUSALS),
    at("POST", "/agents/{slug}", Needs::Identity, IN_SERVICE),
    at("POST", "/agents/{slug}/", Needs::Identity, IN_SERVICE),
    at("*", "/agents/{slug}/{*rest}", Needs::Identity, IN_SERVICE),
    at(
        "POST",
        "/{tenant}/message:send",
        Needs::Identity,
        IN_SERVICE,
    ),
    at(
        "POST",
        "/{tenant}/message:stream",
        Needs::Identity,
        IN_SERVICE,
    ),
    at("GET", "/{tenant}/tasks", Needs::Identity, IN_SERVICE),
    at("*", "/{tenant}/tasks/{*rest}", Needs::Identity, IN_SERVICE),
];

const fn at(method: &'static str, path: &'static str, needs: Needs, records: Records) -> Route {
    Route {
        method,
        path,
        needs,
        records,
    }
}

const fn act(fields: &'static [Field]) -> Records {
    Records::Act(fields)
}

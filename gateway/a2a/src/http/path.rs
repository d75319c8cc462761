//! Paths: the operation that each asks for, and of which agent.

use percent_encoding::percent_decode_str;

/// The well-known place of a card (specification §8.2).
const CARD: &str = ".well-known/agent-card.json";

/// The card's path for clients before A2A 0.3.
const OLD_CARD: &str = ".well-known/agent.json";

/// The place of the public keys of signed cards.
const KEYS: &str = ".well-known/jwks.json";

/// A path, read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Path {
    /// From `/agents/{slug}/…`.
    pub(super) slug: Option<String>,
    /// From `…/{tenant}/message:send` (specification, service annotations).
    pub(super) tenant: String,
    pub(super) resource: Resource,
}

/// Something to be asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Resource {
    /// `GET /agents`
    Agents,
    Card,
    /// The public keys of signed cards.
    Keys,
    /// JSON-RPC.
    Rpc,
    Rest(Operation),
}

/// An operation of HTTP+JSON, with the ids in its path (specification §11.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    SendMessage,
    SendStreamingMessage,
    ListTasks,
    GetTask(String),
    CancelTask(String),
    SubscribeToTask(String),
    Configs(String),
    Config(String, String),
    ExtendedCard,
}

/// Reads a path; `None` if there is nothing.
pub(super) fn read(path: &str) -> Option<Path> {
    let path = percent_decode_str(path).decode_utf8().ok()?;
    let path = path.strip_prefix('/')?;
    let at = |slug: Option<&str>, tenant: &str, resource| {
        Some(Path {
            slug: slug.map(str::to_owned),
            tenant: tenant.to_owned(),
            resource,
        })
    };
    if path == "agents" || path == "agents/" {
        return at(None, "", Resource::Agents);
    }
    if path == KEYS {
        return at(None, "", Resource::Keys);
    }
    let (slug, rest) = match path.strip_prefix("agents/") {
        Some(below) => {
            let (slug, rest) = below.split_once('/').unwrap_or((below, ""));
            (Some(slug), rest)
        }
        None => (None, path),
    };
    match rest {
        "" => return at(slug, "", Resource::Rpc),
        CARD | OLD_CARD => return at(slug, "", Resource::Card),
        _ => {}
    }
    if let Some(operation) = operation(rest) {
        return at(slug, "", Resource::Rest(operation));
    }
    let (tenant, rest) = rest.split_once('/')?;
    at(slug, tenant, Resource::Rest(operation(rest)?))
}

fn operation(path: &str) -> Option<Operation> {
    use Operation as O;
    match path {
        "message:send" => return Some(O::SendMessage),
        "message:stream" => return Some(O::SendStreamingMessage),
        "tasks" => return Some(O::ListTasks),
        "extendedAgentCard" => return Some(O::ExtendedCard),
        _ => {}
    }
    let task = path.strip_prefix("tasks/")?;
    let Some((id, below)) = task.split_once('/') else {
        let with = |suffix| task.strip_suffix(suffix).map(str::to_owned);
        return match (with(":cancel"), with(":subscribe")) {
            (Some(id), _) => Some(O::CancelTask(id)),
            (_, Some(id)) => Some(O::SubscribeToTask(id)),
            _ => Some(O::GetTask(task.to_owned())),
        };
    };
    match below.strip_prefix("pushNotificationConfigs")? {
        "" | "/" => Some(O::Configs(id.to_owned())),
        config => Some(O::Config(
            id.to_owned(),
            config.strip_prefix('/')?.to_owned(),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, slug: Option<&str>, tenant: &str, resource: Resource) {
        let expect = Path {
            slug: slug.map(str::to_owned),
            tenant: tenant.to_owned(),
            resource,
        };
        assert_eq!(read(path), Some(expect), "{path}");
    }

    /// spec: A2A 1.0.1 §5.3, §8.2, §11.3
    #[test]
    fn each_path_is_an_operation_of_an_agent() {
        use Operation as O;
        let rest = Resource::Rest;
        check("/", None, "", Resource::Rpc);
        check("/agents", None, "", Resource::Agents);
        check("/agents/a", Some("a"), "", Resource::Rpc);
        check("/agents/a/", Some("a"), "", Resource::Rpc);
        check("/.well-known/agent-card.json", None, "", Resource::Card);
        check("/.well-known/jwks.json", None, "", Resource::Keys);
        check(
            "/agents/a/.well-known/agent-card.json",
            Some("a"),
            "",
            Resource::Card,
        );
        check("/message:send", None, "", rest(O::SendMessage));
        check(
            "/t/message:stream",
            None,
            "t",
            rest(O::SendStreamingMessage),
        );
        check("/agents/a/a/tasks", Some("a"), "a", rest(O::ListTasks));
        check("/tasks/1%202", None, "", rest(O::GetTask("1 2".into())));
        check("/tasks/1:cancel", None, "", rest(O::CancelTask("1".into())));
        check(
            "/agents/a/tasks/1:subscribe",
            Some("a"),
            "",
            rest(O::SubscribeToTask("1".into())),
        );
        check(
            "/tasks/1/pushNotificationConfigs",
            None,
            "",
            rest(O::Configs("1".into())),
        );
        check(
            "/tasks/1/pushNotificationConfigs/c",
            None,
            "",
            rest(O::Config("1".into(), "c".into())),
        );
        check("/extendedAgentCard", None, "", rest(O::ExtendedCard));
        for nothing in [
            "/agents/a/else",
            "/message:sends",
            "/tasks/1/else",
            "/a/b/tasks",
        ] {
            assert_eq!(read(nothing), None, "{nothing}");
        }
    }
}

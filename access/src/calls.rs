//! The calls of a server: RPCs (`rpcs.rs`) and routes (`routes.rs`), each with what it needs before it is read and what it leaves in the audit. A call
//! that has no entry is denied, and leaves its refusals.

mod routes;
mod rpcs;

use std::{collections::HashMap, sync::LazyLock};

pub use self::{routes::ROUTES, rpcs::SERVICES};
use crate::{Needs, audit::Records};

/// An RPC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rpc {
    /// Such as `/agenthub.AgentHub/Connect`.
    pub path: &'static str,
    /// Its needs.
    pub needs: Needs,
    /// Its answer is a stream, which ends with the caller's rights.
    pub is_stream: bool,
    /// A stream that counts by itself, so that it takes none of those of the caller's quota.
    pub is_reflection: bool,
    /// Its answer waits for others, and ends with the caller's credential.
    pub waits: bool,
    /// Its lines in the audit.
    pub records: Records,
}

/// The line of an RPC.
pub fn rpc(path: &str) -> Option<&'static Rpc> {
    static BY_PATH: LazyLock<HashMap<&str, &Rpc>> =
        LazyLock::new(|| SERVICES.iter().map(|rpc| (rpc.path, rpc)).collect());
    BY_PATH.get(path).copied()
}

/// A route of HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// `GET` and the like; `*` is any.
    pub method: &'static str,
    /// Such as `/v1/runs/{id}`; `{*rest}` is any number of segments.
    pub path: &'static str,
    /// Its needs.
    pub needs: Needs,
    /// Its lines in the audit.
    pub records: Records,
}

impl Route {
    /// True if a request of this method and path is one of this route.
    pub fn takes(&self, method: &str, path: &str) -> bool {
        (self.method == "*" || self.method == method) && is_at(self.path, path)
    }

    /// The segments of a path for which the route has names, such as `id=r1 approvalId=a1`, and all of the rest.
    pub fn segments(&self, path: &str) -> String {
        let mut found = Vec::new();
        let mut segments = path.split('/');
        for part in self.path.split('/') {
            match part
                .strip_prefix('{')
                .and_then(|name| name.strip_suffix('}'))
            {
                Some("*rest") => found.extend(segments.by_ref().map(str::to_owned)),
                Some(name) => {
                    let segment = segments.next().unwrap_or_default();
                    found.push(format!("{name}={segment}"));
                }
                None => drop(segments.next()),
            }
        }
        found.join(" ")
    }
}

/// The needs of a request of HTTP. One for which there is no route needs an identity, and is told then that there is nothing.
pub fn route(method: &str, path: &str) -> Needs {
    route_line(method, path).map_or(Needs::Identity, |route| route.needs)
}

/// The route of a request of HTTP.
pub fn route_line(method: &str, path: &str) -> Option<&'static Route> {
    // An answer to HEAD is that of GET without its body.
    let method = match method {
        "HEAD" => "GET",
        method => method,
    };
    ROUTES.iter().find(|route| route.takes(method, path))
}

/// True if the path is one of this template.
fn is_at(template: &str, path: &str) -> bool {
    let (mut wanted, mut found) = (template.split('/'), path.split('/'));
    loop {
        match (wanted.next(), found.next()) {
            (Some("{*rest}"), Some(_)) => return true,
            (Some(part), Some(segment)) if part.starts_with('{') && !segment.is_empty() => {}
            (Some(part), Some(segment)) if part == segment => {}
            (None, None) => return true,
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Action;

    const OPERATE: Needs = Needs::Right(Action::Operate);
    const RUNS: Needs = Needs::Right(Action::Runs);
    const CHAT: Needs = Needs::Right(Action::Chat);
    const SEE_DIRECTORY: Needs = Needs::Right(Action::SeeDirectory);

    #[test]
    fn requests_need_what_their_route_says() {
        for (method, path, needs) in [
            ("GET", "/health", Needs::Nothing),
            ("HEAD", "/health", Needs::Nothing),
            ("POST", "/health", Needs::Identity),
            ("GET", "/health/", Needs::Identity),
            ("GET", "/metrics", OPERATE),
            ("GET", "/v1/runs", RUNS),
            ("GET", "/v1/runs/a/b/c", RUNS),
            ("POST", "/v1/runs/r/approvals/a", Needs::SomeApproval),
            ("GET", "/.well-known/agent-card.json", SEE_DIRECTORY),
            (
                "GET",
                "/agents/x/.well-known/agent-card.json",
                SEE_DIRECTORY,
            ),
            ("GET", "/agents/x/tasks/1", Needs::Identity),
            ("OPTIONS", "/agents/x/tasks/1", Needs::Nothing),
            ("GET", "/nothing/is/here", Needs::Identity),
            ("GET", "//health", Needs::Identity),
            ("GET", "/%68ealth", Needs::Identity),
        ] {
            assert_eq!(route(method, path), needs, "{method} {path}");
        }
    }

    #[test]
    fn an_rpc_is_found_by_its_path() {
        assert_eq!(rpc("/cortex.Cortex/Chat").map(|rpc| rpc.needs), Some(CHAT));
        assert_eq!(rpc("/cortex.Cortex/chat"), None);
        let mut paths: Vec<&str> = SERVICES.iter().map(|rpc| rpc.path).collect();
        paths.sort_unstable();
        paths.dedup();
        assert_eq!(paths.len(), SERVICES.len(), "each has one line");
    }
}

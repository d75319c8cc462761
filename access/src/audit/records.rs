//! The lines that a call leaves in the audit, of its entry among the calls. A call that has none leaves its refusals.
//!
//! Refusals are recorded of all of them. Of what is allowed, it is what changes something beside messages: the hub's log has each message with its
//! principal already.

use crate::{Route, rpc};

/// Lines of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Records {
    /// Refusals alone: it reads, or it sends messages.
    Refusals,
    /// A line soon after it was allowed: a stream or a conversation begins.
    Opening,
    /// A line that it was allowed, before it is done, with these parts of the request as its resource.
    Act(&'static [Field]),
    /// The service says what it does, as that depends on what the request holds.
    InService,
}

/// A part of a request that says what it is about: an id or a choice, never what was said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// Numbers of Protobuf fields that lead to it. A member of JSON is found by the name.
    pub path: &'static [u32],
}

pub(crate) const fn field(name: &'static str, path: &'static [u32]) -> Field {
    Field { name, path }
}

/// Lines of an RPC.
pub fn records(path: &str) -> Records {
    rpc(path).map_or(Records::Refusals, |rpc| rpc.records)
}

/// Lines of a request of HTTP of this method on a route. What only reads does nothing.
pub fn route_records(method: &str, route: &Route) -> Records {
    match route.records {
        Records::Act(_) if ["GET", "HEAD", "OPTIONS"].contains(&method) => Records::Refusals,
        records => records,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Action, Needs, ROUTES, SERVICES};

    /// Issue 25: whatever needs a right to change something is recorded before it is done.
    #[test]
    fn what_operators_and_administrators_change_is_an_act() {
        let reads = ["List", "Get", "Explain"];
        for rpc in SERVICES {
            let is_high = matches!(
                rpc.needs,
                Needs::Right(Action::Operate | Action::Administer)
            );
            let method = rpc.path.rsplit('/').next().unwrap_or_default();
            let is_read = reads.iter().any(|read| method.starts_with(read));
            if is_high && !is_read {
                assert!(matches!(records(rpc.path), Records::Act(_)), "{}", rpc.path);
            }
        }
        for route in ROUTES {
            let is_form = route.method == "POST" && route.path.starts_with("/v1/");
            if is_form {
                let records = route_records("POST", route);
                assert!(matches!(records, Records::Act(_)), "{}", route.path);
            }
        }
        let ui = ROUTES.iter().find(|route| route.path == "/ui/{*rest}");
        let ui = ui.expect("the pages");
        assert_eq!(route_records("POST", ui), Records::Act(&[]));
        assert_eq!(route_records("GET", ui), Records::Refusals);
    }
}

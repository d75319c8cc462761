//! Bytes of events on their way to mailboxes, by the principals that own the recipients: they count for quotas before they are there.

use std::sync::Arc;

use super::core::Core;
use crate::{routing::Route, table::Table};

/// Bytes that a delivery brings.
#[derive(Clone, Debug)]
pub(super) struct Expected {
    all: usize,
    by_owner: Vec<(Arc<str>, usize)>,
}

/// Bytes that all deliveries bring.
#[derive(Debug, Default)]
pub(super) struct Coming {
    all: usize,
    by_owner: Table<Arc<str>, usize>,
}

impl Coming {
    /// Bytes for all agents.
    pub(super) fn all(&self) -> usize {
        self.all
    }

    /// Bytes for the agents of a principal.
    pub(super) fn of(&self, owner: &str) -> usize {
        self.by_owner.get(owner).copied().unwrap_or(0)
    }

    pub(super) fn add(&mut self, expected: Option<&Expected>) {
        let Some(expected) = expected else {
            return;
        };
        self.all += expected.all;
        for (owner, bytes) in &expected.by_owner {
            *self.by_owner.entry(Arc::clone(owner)).or_default() += bytes;
        }
    }

    pub(super) fn remove(&mut self, expected: Option<&Expected>) {
        let Some(expected) = expected else {
            return;
        };
        self.all -= expected.all;
        for (owner, bytes) in &expected.by_owner {
            if let Some(known) = self.by_owner.get_mut(owner) {
                *known -= bytes;
                if *known == 0 {
                    self.by_owner.remove(owner);
                }
            }
        }
    }
}

impl Core {
    /// Bytes that an event brings to mailboxes on this route; `None` while no quota asks for it.
    pub(super) fn expected(&self, route: &Route, bytes: usize) -> Option<Box<Expected>> {
        let identities = self.identities.as_ref();
        if !identities.is_some_and(|known| known.limits_mailboxes()) {
            return None;
        }
        let Route::To(to) = route else {
            return Some(Box::new(Expected {
                all: bytes,
                by_owner: Vec::new(),
            }));
        };
        let owners = to
            .iter()
            .filter_map(|to| self.state.mailboxes.owner(&to.agent));
        Some(Box::new(Expected {
            all: bytes * to.len(),
            by_owner: owners.map(|owner| (Arc::clone(owner), bytes)).collect(),
        }))
    }
}

//! Namespaces of a server: services of each, from which a gate picks those of its caller. Hub, router and services themselves know of none: an id that exists in two of them is two
//! agents, and in a third one it does not exist.

use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock, PoisonError, RwLock},
};

use agenthub_access::{Admitted, Caller, DEFAULT_NAMESPACE, Needs};

/// The namespace of the services that a gate has itself. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Served(Arc<OnceLock<String>>);

impl Served {
    /// Services of `default`.
    pub fn default_namespace() -> Self {
        let served = Self::default();
        served.is(DEFAULT_NAMESPACE);
        served
    }

    /// Names the namespace, where it was not known at first. Only the first time counts.
    pub fn is(&self, namespace: &str) {
        let _ = self.0.set(namespace.to_owned());
    }
}

/// Services of namespaces, by name. Clones are the same.
#[derive(Debug)]
pub struct Namespaces<S>(Arc<RwLock<Known<S>>>);

#[derive(Debug)]
struct Known<S> {
    services: BTreeMap<String, Option<S>>,
    /// There are no other ones.
    is_complete: bool,
}

impl<S> Clone for Namespaces<S> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<S> Default for Namespaces<S> {
    fn default() -> Self {
        Self(Arc::new(RwLock::new(Known {
            services: BTreeMap::new(),
            is_complete: false,
        })))
    }
}

/// Reasons why a caller finds no services.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoServices {
    #[error("the namespace of this caller is not open yet: try again soon")]
    NotYet,
    #[error(
        "the namespace of this caller is not served here: `agenthub namespaces list` on the hub's machine shows those that are"
    )]
    Unknown,
}

impl<S: Clone> Namespaces<S> {
    /// Announces a namespace: until it is [opened](Self::open), its callers are told to come again.
    pub fn announce(&self, namespace: &str) {
        self.set(namespace, None);
    }

    /// Serves a namespace from now on.
    pub fn open(&self, namespace: &str, services: S) {
        self.set(namespace, Some(services));
    }

    /// Says that all there are were announced: callers of other ones need not come again.
    pub fn settle(&self) {
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        all.is_complete = true;
    }

    /// Serves a namespace no longer.
    pub fn close(&self, namespace: &str) {
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        all.services.remove(namespace);
    }

    fn set(&self, namespace: &str, services: Option<S>) {
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        all.services.insert(namespace.to_owned(), services);
    }

    fn get(&self, namespace: &str) -> Result<S, NoServices> {
        let all = self.0.read().unwrap_or_else(PoisonError::into_inner);
        match all.services.get(namespace) {
            Some(services) => services.clone().ok_or(NoServices::NotYet),
            None if all.is_complete => Err(NoServices::Unknown),
            None => Err(NoServices::NotYet),
        }
    }

    /// The services for a caller; `None` are those that the gate has itself.
    pub(crate) fn services(
        &self,
        served: &Served,
        caller: &Caller,
    ) -> Result<Option<S>, NoServices> {
        match served.0.get() {
            Some(own) if *own == caller.namespace => Ok(None),
            // Without identities there is nobody else.
            _ if caller.is_anonymous() => Ok(None),
            None => Err(NoServices::NotYet),
            Some(_) => self.get(&caller.namespace).map(Some),
        }
    }

    /// The same for a call that was let in: what needs no identity is the same for everyone.
    pub(crate) fn services_for(
        &self,
        served: &Served,
        needs: Option<Needs>,
        admitted: &Admitted,
    ) -> Result<Option<S>, NoServices> {
        match needs {
            Some(Needs::Nothing) => Ok(None),
            _ => self.services(served, &admitted.caller),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Issue 25: a caller gets the services of its own namespace and no other ones.
    #[test]
    fn a_caller_gets_the_services_of_its_namespace_alone() {
        let caller = |namespace| Caller::unrestricted_in("alice", namespace);
        let all = Namespaces::default();
        let served = Served::default_namespace();
        let found = |namespace| all.services(&served, &caller(namespace));
        assert_eq!(found("default"), Ok(None));
        assert_eq!(found("a"), Err(NoServices::NotYet));
        all.settle();
        assert_eq!(found("a"), Err(NoServices::Unknown));
        all.announce("a");
        assert_eq!(found("a"), Err(NoServices::NotYet));
        all.open("a", 1);
        all.open("b", 2);
        assert_eq!((found("a"), found("b")), (Ok(Some(1)), Ok(Some(2))));
        all.close("a");
        assert_eq!(found("a"), Err(NoServices::Unknown));
        assert_eq!(found("default"), Ok(None));
    }

    #[test]
    fn what_a_namespace_is_served_for_may_be_known_later() {
        let all = Namespaces::<u8>::default();
        let served = Served::default();
        let found = |caller: &Caller| all.services(&served, caller);
        let a = Caller::unrestricted_in("alice", "a");
        assert_eq!(found(&a), Err(NoServices::NotYet));
        assert_eq!(found(&Caller::anonymous()), Ok(None));
        served.is("a");
        served.is("b");
        all.settle();
        assert_eq!(found(&a), Ok(None));
        let other = Caller::unrestricted("alice");
        assert_eq!(found(&other), Err(NoServices::Unknown));
        assert_eq!(found(&Caller::anonymous()), Ok(None));
    }
}

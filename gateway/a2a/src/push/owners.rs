//! May the principal that has made a configuration still be told of its task?

use agenthub_access::{Action, Identities, decide};

/// Owners of configurations, by the identities of one namespace.
#[derive(Clone, Debug)]
pub(crate) struct Owners {
    identities: Identities,
    namespace: String,
}

impl Owners {
    pub(crate) fn new(identities: Identities, namespace: &str) -> Self {
        Self {
            identities,
            namespace: namespace.to_owned(),
        }
    }

    /// True if this principal may see tasks that it has asked for, by the rights that it has now: none if it is gone. Where nobody needs an identity, everybody may.
    pub(super) fn may_see_tasks(&self, principal: &str) -> bool {
        let rights = self.identities.rights_of(principal, &self.namespace);
        let see = |is_own| decide(&rights, &Action::SeeTask { is_own }).is_ok();
        see(true) || see(false)
    }
}

#[cfg(test)]
mod tests {
    use agenthub_access::{Namespace, NewToken, Sources, TokenStore};

    use super::*;

    #[test]
    fn who_is_gone_is_told_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = TokenStore::in_folder(folder.path());
        let issued = store.issue(NewToken {
            principal: "alice".parse().expect("a name"),
            namespace: Namespace::default(),
            roles: vec!["user".to_owned()],
            allow: Vec::new(),
            lasts: None,
        });
        let issued = issued.expect("a token");
        let identities = Identities::open(Sources {
            tokens: Some(store.path().to_owned()),
            ..Sources::default()
        });
        let identities = identities.expect("right");
        let owners = Owners::new(identities.clone(), "default");
        assert!(owners.may_see_tasks("alice"));
        // Made while nobody needed an identity, or by somebody elsewhere.
        assert!(!owners.may_see_tasks(""));
        assert!(!Owners::new(identities.clone(), "blue").may_see_tasks("alice"));
        store.revoke(&issued.record.id).expect("it is there");
        identities.refresh().expect("right");
        assert!(!owners.may_see_tasks("alice"));
        assert!(Owners::new(Identities::none(), "default").may_see_tasks(""));
    }
}

//! The recorder of one call.

use std::{borrow::Cow, sync::Arc};

use super::{
    line::{Entry, Source},
    writer::{Audit, Unrecorded},
};
use crate::Caller;

/// The reason of a refusal, among the extensions of an answer whose status does not say that there was one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal(pub String);

/// Records what becomes of one call. Without an audit it records nothing.
#[derive(Clone, Debug, Default)]
pub struct Witness(Option<Call>);

#[derive(Clone, Debug)]
struct Call {
    audit: Audit,
    caller: Arc<Caller>,
    source: Source,
    action: Cow<'static, str>,
}

impl Witness {
    /// The witness of a call.
    pub fn new(
        audit: Audit,
        caller: Arc<Caller>,
        source: Source,
        action: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self(Some(Call {
            audit,
            caller,
            source,
            action: action.into(),
        }))
    }

    /// The witness of a request that has passed a server's gate.
    pub fn of_request(extensions: &http::Extensions) -> Self {
        extensions.get::<Self>().cloned().unwrap_or_default()
    }

    /// The same for a part of the call, such as a method in its body.
    #[must_use]
    pub fn of_part(&self, part: &str) -> Self {
        Self(self.0.clone().map(|call| Call {
            action: format!("{} {part}", call.action).into(),
            ..call
        }))
    }

    /// Records a refusal, soon.
    pub fn refused(&self, resource: &str, why: &str) {
        if let Some(call) = &self.0 {
            call.audit.note(call.entry(resource, false, why));
        }
    }

    /// Records something that was allowed, soon.
    pub fn note(&self, resource: &str, rule: impl FnOnce(&Caller) -> String) {
        if let Some(call) = &self.0 {
            let rule = rule(&call.caller);
            call.audit.note(call.entry(resource, true, &rule));
        }
    }

    /// Records an act that is allowed and about to be done; it is on the disk on return.
    ///
    /// # Errors
    ///
    /// It cannot be recorded, and may not be done.
    pub async fn act(
        &self,
        resource: &str,
        rule: impl FnOnce(&Caller) -> String,
    ) -> Result<(), Unrecorded> {
        match &self.0 {
            None => Ok(()),
            Some(call) => {
                let rule = rule(&call.caller);
                call.audit.act(call.entry(resource, true, &rule)).await
            }
        }
    }
}

impl Call {
    fn entry(&self, resource: &str, allowed: bool, rule: &str) -> Entry {
        Entry {
            principal: self.caller.principal.clone(),
            namespace: self.caller.namespace.clone(),
            source: self.source,
            action: self.action.clone().into_owned(),
            resource: resource.to_owned(),
            allowed,
            rule: rule.to_owned(),
        }
    }
}

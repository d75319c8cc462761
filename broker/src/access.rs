//! May this caller do this at all? Every call of the hub is listed here; one that is not fails a test. What rights there are and which rule
//! gives them is decided by [`agenthub_access::decide`].

use agenthub_access::{ANONYMOUS, Action, Caller};

use crate::Error;

/// Principal of what the hub does by itself.
pub(crate) const HUB: &str = "hub";

/// The calls of the hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// `Connect`
    Connect,
    /// `PublishMessage`
    PublishMessage,
    /// `PublishTaskUpdate`
    PublishTaskUpdate,
    /// `PublishTaskArtifact`
    PublishTaskArtifact,
    /// `SubscribeToMessages`
    SubscribeToMessages,
    /// `SubscribeToTasks`
    SubscribeToTasks,
    /// `SubscribeToAgentEvents`
    SubscribeToAgentEvents,
    /// `GetTask`
    GetTask,
    /// `CancelTask`
    CancelTask,
    /// `ListTasks`
    ListTasks,
    /// `GetAgentCard`
    GetAgentCard,
    /// `RegisterAgent`
    RegisterAgent,
    /// `UnregisterAgent`
    UnregisterAgent,
    /// `ListAgents`
    ListAgents,
    /// `GetAgent`
    GetAgent,
    /// `ListMailboxes`
    ListMailboxes,
    /// `GetMailbox`
    GetMailbox,
    /// `SeekMailbox`
    SeekMailbox,
    /// `PurgeMailbox`
    PurgeMailbox,
    /// `ListDeadLetters`
    ListDeadLetters,
    /// `RetryDeadLetter`
    RetryDeadLetter,
    /// `DropDeadLetter`
    DropDeadLetter,
    /// `Charge`
    Charge,
}

impl Call {
    /// All calls.
    pub const ALL: [Self; 23] = [
        Self::Connect,
        Self::PublishMessage,
        Self::PublishTaskUpdate,
        Self::PublishTaskArtifact,
        Self::SubscribeToMessages,
        Self::SubscribeToTasks,
        Self::SubscribeToAgentEvents,
        Self::GetTask,
        Self::CancelTask,
        Self::ListTasks,
        Self::GetAgentCard,
        Self::RegisterAgent,
        Self::UnregisterAgent,
        Self::ListAgents,
        Self::GetAgent,
        Self::ListMailboxes,
        Self::GetMailbox,
        Self::SeekMailbox,
        Self::PurgeMailbox,
        Self::ListDeadLetters,
        Self::RetryDeadLetter,
        Self::DropDeadLetter,
        Self::Charge,
    ];
}

/// Checks whether a caller may do something.
///
/// # Errors
///
/// [`Error::PermissionDenied`] names the right that is missing.
pub(crate) fn may(caller: &Caller, action: Action<'_>) -> Result<(), Error> {
    agenthub_access::decide(caller, &action).map_err(Error::PermissionDenied)
}

/// The principal as the owner of what it registers: nobody and the hub itself own nothing.
pub(crate) fn owner(principal: &str) -> Option<&str> {
    Some(principal).filter(|principal| !["", ANONYMOUS, HUB].contains(principal))
}

/// Checks whether `caller` may make `call` in `namespace` (empty means its own).
///
/// Further needs of the call are decided with its content: `may`.
///
/// # Errors
///
/// [`Error::PermissionDenied`] for a namespace that is not the caller's.
pub fn decide(call: Call, caller: &Caller, namespace: &str) -> Result<(), Error> {
    if !namespace.is_empty() && namespace != caller.namespace {
        return Err(Error::PermissionDenied(format!(
            "{call:?} in namespace \"{namespace}\": the caller belongs to \"{}\"",
            caller.namespace
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_is_listed() {
        let pool = prost_reflect::DescriptorPool::decode(agenthub_proto::FILE_DESCRIPTOR_SET)
            .expect("descriptors");
        let service = pool
            .get_service_by_name("agenthub.AgentHub")
            .expect("the hub's service");
        let mut served: Vec<String> = service.methods().map(|m| m.name().to_owned()).collect();
        let mut listed: Vec<String> = Call::ALL.iter().map(|c| format!("{c:?}")).collect();
        served.sort();
        listed.sort();
        assert_eq!(served, listed);
    }

    #[test]
    fn a_foreign_namespace_is_refused() {
        let caller = Caller::anonymous();
        for call in Call::ALL {
            assert!(decide(call, &caller, "").is_ok());
            assert!(decide(call, &caller, &caller.namespace).is_ok());
            assert!(matches!(
                decide(call, &caller, "other"),
                Err(Error::PermissionDenied(_))
            ));
        }
    }
}

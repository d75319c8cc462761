//! Is the agent that the hub knows under an id this SOP, or something else of the same name?

use agenthub_sdk::proto::a2a::AgentCard;
use agenthub_terminal::file_agent::FileAgent;

use crate::Definition;

/// An SOP, as the card of its agent names it.
pub(crate) fn file_of(definition: &Definition) -> FileAgent<'_> {
    FileAgent {
        extension: "urn:agenthub:sop/v1",
        digest: &definition.digest,
        path: &definition.path,
    }
}

/// True if the card is of this SOP: it stands at the same place, perhaps in another process and as it was before, or a file elsewhere says the
/// same. What is no file, but built in, is another in each folder.
pub fn is_same(card: &AgentCard, definition: &Definition) -> bool {
    file_of(definition).is_same(card)
}

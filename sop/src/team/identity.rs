//! Is the agent that the hub knows under an id this SOP, or something else of the same name?

use std::path::Path;

use agenthub_sdk::proto::a2a::AgentCard;
use agenthub_terminal::file_agent::FileAgent;

use crate::Definition;

/// Card extension for agents of SOPs.
pub(crate) const EXTENSION: &str = "urn:agenthub:sop/v1";

/// True if the card is of the SOP at this place, as it is or as it was before.
pub(crate) fn is_at(path: &Path, card: &AgentCard) -> bool {
    let file = FileAgent {
        extension: EXTENSION,
        digest: "",
        path,
    };
    file.is_at(card)
}

/// An SOP, as the card of its agent names it.
pub(crate) fn file_of(definition: &Definition) -> FileAgent<'_> {
    FileAgent {
        extension: EXTENSION,
        digest: &definition.digest,
        path: &definition.path,
    }
}

/// True if the card is of this SOP: it stands at the same place, perhaps in another process and as it was before, or a file elsewhere says the
/// same. What is no file, but built in, is another in each folder.
pub fn is_same(card: &AgentCard, definition: &Definition) -> bool {
    file_of(definition).is_same(card)
}

//! Is the agent that the hub knows under an id this SOP, or something else of the same name?

use std::{fmt::Write, path::absolute};

use agenthub_sdk::proto::{
    a2a::{AgentCard, AgentExtension},
    json,
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::Definition;

/// The card extension that names an SOP by what it says (`digest`) and by where it stands (`source`), both as SHA-256.
const EXTENSION: &str = "urn:agenthub:sop/v1";

/// Has the card say which SOP it is of.
pub(crate) fn mark(card: &mut AgentCard, definition: &Definition) {
    let params = json!({ "digest": definition.digest, "source": source(definition) });
    let extensions = &mut card.capabilities.get_or_insert_default().extensions;
    extensions.push(AgentExtension {
        uri: EXTENSION.to_owned(),
        params: Some(json::to_struct(&params)),
        ..Default::default()
    });
}

/// True if the card is of this SOP: it stands at the same place, perhaps in another process and as it was before, or a file elsewhere says the
/// same. What is no file, but built in, is another in each folder.
pub fn is_same(card: &AgentCard, definition: &Definition) -> bool {
    let Some(params) = params(card) else {
        return false;
    };
    let says_the_same = || params["digest"] == *definition.digest && definition.path.is_file();
    params["source"] == *source(definition) || says_the_same()
}

/// True if the card is of any SOP.
pub(crate) fn is_sop(card: &AgentCard) -> bool {
    params(card).is_some()
}

fn params(card: &AgentCard) -> Option<Value> {
    let extensions = card.capabilities.iter().flat_map(|c| &c.extensions);
    let params = extensions
        .filter(|extension| extension.uri == EXTENSION)
        .find_map(|extension| extension.params.as_ref())?;
    Some(json::from_struct(params))
}

fn source(definition: &Definition) -> String {
    let path = &definition.path;
    let path = path
        .canonicalize()
        .or_else(|_| absolute(path))
        .unwrap_or_else(|_| path.clone());
    let digest = Sha256::digest(path.as_os_str().as_encoded_bytes());
    digest.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

//! Is the agent that a hub knows under an id the one of this file, or something else of the same name?

use std::{
    fmt::Write,
    path::{Path, absolute},
};

use agenthub_proto::{
    a2a::{AgentCard, AgentExtension},
    json,
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// A file that describes an agent, as the agent's card names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileAgent<'a> {
    /// The card extension for files of this kind. Its parameters are `digest` and `source`.
    pub extension: &'static str,
    /// Digest of what the file says.
    pub digest: &'a str,
    /// The file.
    pub path: &'a Path,
}

impl FileAgent<'_> {
    /// Has the card say which file it is of: what it says (`digest`), and where it stands (`source`, as SHA-256).
    pub fn mark(&self, card: &mut AgentCard) {
        let params = json!({ "digest": self.digest, "source": sha256(&self.source()) });
        let extensions = &mut card.capabilities.get_or_insert_default().extensions;
        extensions.push(AgentExtension {
            uri: self.extension.to_owned(),
            params: Some(json::to_struct(&params)),
            ..Default::default()
        });
    }

    /// True if the card is of this file: it stands at the same place, perhaps in another process and as it was before, or a file elsewhere says
    /// the same. What is no file, but built in, is another in each folder.
    pub fn is_same(&self, card: &AgentCard) -> bool {
        let Some(params) = params(card, self.extension) else {
            return false;
        };
        let says_the_same = || params["digest"] == *self.digest && self.path.is_file();
        self.is_at(card) || says_the_same()
    }

    /// True if the card is of the file at this place, whatever it says.
    pub fn is_at(&self, card: &AgentCard) -> bool {
        params(card, self.extension)
            .is_some_and(|params| params["source"] == *sha256(&self.source()))
    }

    /// True if the card is of any file of this kind.
    pub fn is_such(&self, card: &AgentCard) -> bool {
        params(card, self.extension).is_some()
    }

    fn source(&self) -> Vec<u8> {
        let path = self.path.canonicalize().or_else(|_| absolute(self.path));
        let path = path.unwrap_or_else(|_| self.path.to_owned());
        path.into_os_string().into_encoded_bytes()
    }
}

/// The SHA-256 of bytes, as hexadecimal text.
pub fn sha256(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The version of a file that names none: as semantic versions stand, it is 1.0.0 whatever the file says. Processes that read a folder one
/// after the other bring a changed file while others have the one before: another version makes room, where another card of one version would
/// be refused.
pub fn unnumbered(digest: &str) -> String {
    /// Enough to tell the states of one file apart.
    const LETTERS: usize = 12;
    format!("1.0.0+{}", digest.get(..LETTERS).unwrap_or(digest))
}

fn params(card: &AgentCard, extension: &str) -> Option<Value> {
    let extensions = card.capabilities.iter().flat_map(|c| &c.extensions);
    let params = extensions
        .filter(|found| found.uri == extension)
        .find_map(|found| found.params.as_ref())?;
    Some(json::from_struct(params))
}

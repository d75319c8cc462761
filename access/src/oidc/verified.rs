//! Tokens that were checked, so that each is checked once.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, PoisonError, RwLock},
};

use ring::digest::{SHA256, digest};

use super::{IssuerSettings, claims::Meaning, keys::KeyId};
use crate::Caller;

/// Maximum number of tokens that are remembered. Others are checked again.
const MAX: usize = 8_192;

/// A token that was checked, without its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct VerifiedToken {
    /// The name of the issuer.
    pub(crate) issuer: String,
    pub(crate) key: KeyId,
    pub(crate) meaning: Meaning,
    /// End in seconds since 1970: its `exp`, and the allowed difference of clocks.
    pub(crate) ends: u64,
}

impl VerifiedToken {
    pub(super) fn new(settings: &IssuerSettings, key: KeyId, meaning: Meaning) -> Self {
        Self {
            issuer: settings.name.clone(),
            key,
            ends: meaning.expires.saturating_add(settings.leeway_seconds),
            meaning,
        }
    }
}

/// Hash of a token's text.
pub(crate) type TokenKey = [u8; 32];

/// Tokens that were checked, by their hashes, each with the caller that it makes.
#[derive(Debug, Default)]
pub(crate) struct VerifiedTokens(RwLock<Tokens>);

#[derive(Debug, Default)]
struct Tokens {
    /// Counts the times that all were forgotten.
    generation: u64,
    by_hash: HashMap<TokenKey, (Arc<VerifiedToken>, Arc<Caller>)>,
    /// Oldest first.
    order: VecDeque<TokenKey>,
}

impl VerifiedTokens {
    /// The key of a token that callers present.
    pub(crate) fn key(token: &str) -> TokenKey {
        let mut key = [0; 32];
        key.copy_from_slice(digest(&SHA256, token.as_bytes()).as_ref());
        key
    }

    /// The key of a token that somebody has logged in with: one that no token has that can be presented.
    pub(crate) fn key_of_login(token: &str) -> TokenKey {
        Self::key(&format!("\0{token}"))
    }

    pub(crate) fn get(&self, key: &TokenKey) -> Option<(Arc<VerifiedToken>, Arc<Caller>)> {
        let tokens = self.0.read().unwrap_or_else(PoisonError::into_inner);
        tokens.by_hash.get(key).cloned()
    }

    /// The tokens of this principal and namespace.
    pub(crate) fn of(&self, principal: &str, namespace: &str) -> Vec<Arc<VerifiedToken>> {
        let tokens = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let is_its =
            |caller: &Caller| caller.principal == principal && caller.namespace == namespace;
        let its = tokens.by_hash.values().filter(|(_, caller)| is_its(caller));
        its.map(|(token, _)| Arc::clone(token)).collect()
    }

    /// To be asked before a token is checked.
    pub(crate) fn generation(&self) -> u64 {
        let tokens = self.0.read().unwrap_or_else(PoisonError::into_inner);
        tokens.generation
    }

    /// Remembers a token, unless all were forgotten since its check began.
    pub(crate) fn insert(
        &self,
        generation: u64,
        key: TokenKey,
        token: Arc<VerifiedToken>,
        caller: Arc<Caller>,
    ) {
        let mut tokens = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if tokens.generation != generation {
            return;
        }
        if tokens.by_hash.insert(key, (token, caller)).is_none() {
            tokens.order.push_back(key);
        }
        while tokens.order.len() > MAX {
            if let Some(oldest) = tokens.order.pop_front() {
                tokens.by_hash.remove(&oldest);
            }
        }
    }

    /// Forgets all: keys or rights have changed.
    pub(crate) fn forget(&self) {
        let mut tokens = self.0.write().unwrap_or_else(PoisonError::into_inner);
        tokens.generation += 1;
        tokens.by_hash.clear();
        tokens.order.clear();
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        let tokens = self.0.read().unwrap_or_else(PoisonError::into_inner);
        tokens.order.len().max(tokens.by_hash.len())
    }
}

//! Tokens of issuers elsewhere (OpenID Connect, JWT): which issuers are trusted, their public keys as they are now, and what a token of theirs says.
//!
//! Nothing is fetched here. Who keeps the keys up to date gives them to [`Issuer::set_keys`], and looks at [`Issuer::is_due`] for whether a token has
//! named a key that is not among them.

mod claims;
mod keys;
mod provider;
mod settings;
mod verification;
mod verified;

use std::{
    sync::{
        Arc, Mutex, PoisonError, RwLock,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use self::verification::verify;
pub use self::{
    keys::{InvalidKeys, KeySet},
    settings::{Algorithm, InvalidIssuer, IssuerSettings},
};
pub(crate) use self::{
    verification::Refusal,
    verified::{VerifiedToken, VerifiedTokens},
};

/// Maximum length of a token, in bytes. Headers are bounded by the server that reads them, too.
const MAX_TOKEN: usize = 16 * 1024;

/// Time between two fetches of an issuer's keys that tokens ask for.
const BETWEEN_FETCHES: Duration = Duration::from_secs(10);

/// An issuer that is trusted, with its public keys. Clones are the same.
#[derive(Clone, Debug)]
pub struct Issuer(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    settings: IssuerSettings,
    /// `None` until they came for the first time.
    keys: RwLock<Option<Arc<KeySet>>>,
    /// A token has named a key that is not known.
    is_wished: AtomicBool,
    fetched: Mutex<Option<Instant>>,
}

impl Issuer {
    /// An issuer whose keys are not known yet.
    ///
    /// # Errors
    ///
    /// A setting is wrong.
    pub fn new(settings: IssuerSettings) -> Result<Self, InvalidIssuer> {
        settings.check()?;
        Ok(Self(Arc::new(Inner {
            settings,
            keys: RwLock::default(),
            is_wished: AtomicBool::new(false),
            fetched: Mutex::default(),
        })))
    }

    /// Its settings.
    pub fn settings(&self) -> &IssuerSettings {
        &self.0.settings
    }

    /// The keys as they are now.
    pub fn keys(&self) -> Option<Arc<KeySet>> {
        let keys = self.0.keys.read().unwrap_or_else(PoisonError::into_inner);
        keys.clone()
    }

    /// Replaces the keys. Tokens of keys that are gone are worth nothing from then on, and their streams end.
    pub fn set_keys(&self, keys: KeySet) {
        let mut current = self.0.keys.write().unwrap_or_else(PoisonError::into_inner);
        *current = Some(Arc::new(keys));
    }

    /// True if a token has named a key that is not known, and the keys were not fetched a moment ago: whoever invents names of keys has the issuer
    /// asked every 10 s, not more often.
    pub fn is_due(&self) -> bool {
        let fetched = *self
            .0
            .fetched
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        self.0.is_wished.load(Ordering::Acquire)
            && fetched.is_none_or(|fetched| fetched.elapsed() >= BETWEEN_FETCHES)
    }

    /// Says that the keys are being fetched now.
    pub fn begin_fetch(&self) {
        *self
            .0
            .fetched
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        self.0.is_wished.store(false, Ordering::Release);
    }

    /// Checks a token for these audiences.
    pub(crate) fn verify(
        &self,
        token: &str,
        audiences: &[String],
    ) -> Result<VerifiedToken, Refusal> {
        let keys = self.keys();
        let verified = verify(&self.0.settings, keys.as_deref(), token, audiences);
        if matches!(verified, Err(Refusal::UnknownKey | Refusal::NoKeys)) {
            self.0.is_wished.store(true, Ordering::Release);
        }
        verified
    }

    /// True if the token would be taken with the keys of now.
    pub(crate) fn still_has(&self, key: &keys::KeyId) -> bool {
        self.keys().is_some_and(|keys| keys.has(key))
    }
}

/// The `iss` of a token that is not checked yet: it says whose keys to check it with, and nothing else.
pub(crate) fn claimed_issuer(token: &str) -> Option<String> {
    verification::claimed_issuer(token)
}

/// True if a text has the form of a JWT: three parts, and no more than a bound.
pub(crate) fn looks_like_one(token: &str) -> bool {
    token.len() <= MAX_TOKEN && token.bytes().filter(|byte| *byte == b'.').count() == 2
}

#[cfg(test)]
mod tests;

//! People who are on their way to an issuer and back.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::{
    digest::{SHA256, digest},
    rand::{SecureRandom, SystemRandom},
};

/// Time to log in at the issuer.
const LASTS: Duration = Duration::from_secs(600);

/// Maximum number of people on their way. With more, who left first begins anew.
const MAX: usize = 1_000;

/// Somebody who was sent to an issuer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Way {
    pub(crate) issuer: String,
    /// Comes back in the token.
    pub(crate) nonce: String,
    /// Verifier of the challenge (PKCE).
    pub(crate) verifier: String,
    /// The browser's binding, which no other browser can show.
    pub(crate) traveller: String,
    pub(crate) back: String,
    pub(crate) next: String,
}

/// All who are on their way, by the state that comes back with them.
#[derive(Debug, Default)]
pub(crate) struct Ways(HashMap<String, (Instant, Way)>);

impl Ways {
    pub(crate) fn add(&mut self, state: String, way: Way, now: Instant) {
        self.0
            .retain(|_, (since, _)| now.duration_since(*since) < LASTS);
        if self.0.len() >= MAX {
            let oldest = self.0.iter().min_by_key(|(_, (since, _))| *since);
            if let Some(state) = oldest.map(|(state, _)| state.clone()) {
                self.0.remove(&state);
            }
        }
        self.0.insert(state, (now, way));
    }

    /// Takes the way with this state, once, for the browser that shows this.
    pub(crate) fn take(&mut self, state: &str, traveller: &str, now: Instant) -> Option<Way> {
        let (since, way) = self.0.get(state)?;
        let is_its = way.traveller == traveller && now.duration_since(*since) < LASTS;
        // Whoever shows something else does not end the way of who was sent.
        is_its.then(|| self.0.remove(state))?.map(|(_, way)| way)
    }
}

/// 256 random bits as text.
///
/// # Errors
///
/// The system has no randomness.
pub(crate) fn random() -> Result<String, ring::error::Unspecified> {
    let mut bytes = [0; 32];
    SystemRandom::new().fill(&mut bytes)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// The challenge of a verifier (RFC 7636, S256).
pub(crate) fn challenge(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(digest(&SHA256, verifier.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn way(traveller: &str) -> Way {
        Way {
            issuer: "corp".to_owned(),
            nonce: String::new(),
            verifier: String::new(),
            traveller: traveller.to_owned(),
            back: String::new(),
            next: "/".to_owned(),
        }
    }

    /// spec: RFC 7636, appendix B
    #[test]
    fn a_challenge_is_the_hash_of_its_verifier() {
        let challenge = challenge("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk");
        assert_eq!(challenge, "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
    }

    #[test]
    fn a_way_ends_once_in_time_and_for_who_was_sent() {
        let (now, mut ways) = (Instant::now(), Ways::default());
        ways.add("s".to_owned(), way("me"), now);
        assert_eq!(ways.take("s", "other", now), None);
        assert_eq!(ways.take("x", "me", now), None);
        assert_eq!(ways.take("s", "me", now), Some(way("me")));
        assert_eq!(ways.take("s", "me", now), None);
        ways.add("t".to_owned(), way("me"), now);
        assert_eq!(ways.take("t", "me", now + LASTS), None);
        for number in 0..2 * MAX {
            ways.add(number.to_string(), way("me"), now);
        }
        assert_eq!(ways.0.len(), MAX);
    }
}

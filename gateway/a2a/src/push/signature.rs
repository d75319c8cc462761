//! Signatures of notifications, as [Standard Webhooks](https://www.standardwebhooks.com) has them: receivers check them with its libraries.

use std::fmt;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use ring::hmac;

/// Prefix of a key in base64.
const PREFIX: &str = "whsec_";

/// A key that notifications are signed with. Shows nothing of itself.
#[derive(Clone, PartialEq, Eq)]
pub struct SigningKey(Vec<u8>);

/// A text that is no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a key is whsec_ and 24 to 64 bytes in base64: `openssl rand -base64 32` makes them")]
pub struct InvalidKey;

impl SigningKey {
    /// Reads `whsec_…`; the prefix may be missing.
    ///
    /// # Errors
    ///
    /// [`InvalidKey`].
    pub fn read(text: &str) -> Result<Self, InvalidKey> {
        let text = text.trim();
        let bytes = STANDARD
            .decode(text.strip_prefix(PREFIX).unwrap_or(text))
            .map_err(|_| InvalidKey)?;
        match bytes.len() {
            24..=64 => Ok(Self(bytes)),
            _ => Err(InvalidKey),
        }
    }

    /// The value of `webhook-signature`.
    pub(crate) fn sign(&self, id: &str, timestamp: u64, body: &[u8]) -> String {
        let key = hmac::Key::new(hmac::HMAC_SHA256, &self.0);
        let mut signing = hmac::Context::with_key(&key);
        signing.update(format!("{id}.{timestamp}.").as_bytes());
        signing.update(body);
        format!("v1,{}", STANDARD.encode(signing.sign()))
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningKey(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the specification of Standard Webhooks.
    #[test]
    fn signatures_are_those_of_standard_webhooks() {
        let key = SigningKey::read("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").expect("a key");
        let body = br#"{"test": 2432232314}"#;
        let signed = key.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, body);
        assert_eq!(signed, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
        let later = key.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_331, body);
        assert_ne!(signed, later, "the time is signed, too");
    }

    #[test]
    fn a_key_is_long_enough_and_shown_to_nobody() {
        assert_eq!(SigningKey::read("whsec_c2hvcnQ="), Err(InvalidKey));
        assert_eq!(SigningKey::read("no base64!"), Err(InvalidKey));
        let key = SigningKey::read("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n").expect("a key");
        assert_eq!(format!("{key:?}"), "SigningKey(…)");
    }
}

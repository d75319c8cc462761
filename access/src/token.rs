//! Tokens: their text, and the hash that is kept of them.

use std::{fmt, str::FromStr};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::{
    digest::{SHA256, digest},
    rand::{SecureRandom, SystemRandom},
};
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;

/// Beginning of every token, by which scanners for secrets know it.
const PREFIX: &str = "ah_";

/// Random bytes of a token: 256 bits, so that a plain hash of it can be kept.
const BYTES: usize = 32;

/// Length of its text.
const LENGTH: usize = PREFIX.len() + 43;

/// A secret that names its bearer. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

/// Error of a text that is no token. It does not quote the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "that is no token: one begins with {PREFIX} and has {LENGTH} characters; `agenthub tokens issue` makes one"
)]
pub struct InvalidToken;

/// SHA-256 of a token. Hashing again cannot lead back to 256 random bits, so no slow hash is needed.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TokenHash([u8; 32]);

impl Token {
    /// A random token.
    ///
    /// # Errors
    ///
    /// The system has no randomness.
    pub fn random() -> Result<Self, std::io::Error> {
        let mut bytes = [0; BYTES];
        let filled = SystemRandom::new().fill(&mut bytes);
        filled.map_err(|_| std::io::Error::other("the system gives no random bytes"))?;
        Ok(Self(format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(bytes))))
    }

    /// The text: show it once, and only to its bearer.
    pub fn secret(&self) -> &str {
        &self.0
    }

    /// The hash to keep.
    pub fn hash(&self) -> TokenHash {
        TokenHash::of(&self.0)
    }
}

impl FromStr for Token {
    type Err = InvalidToken;

    fn from_str(text: &str) -> Result<Self, InvalidToken> {
        let encoded = text.strip_prefix(PREFIX).ok_or(InvalidToken)?;
        let decoded = URL_SAFE_NO_PAD.decode(encoded).map_err(|_| InvalidToken)?;
        match decoded.len() == BYTES && text.len() == LENGTH {
            true => Ok(Self(text.to_owned())),
            false => Err(InvalidToken),
        }
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

impl TokenHash {
    /// The hash of what a caller presents. Texts that cannot be tokens are not hashed.
    pub fn of_presented(text: &str) -> Option<Self> {
        (text.len() == LENGTH && text.starts_with(PREFIX)).then(|| Self::of(text))
    }

    fn of(text: &str) -> Self {
        let mut hash = [0; 32];
        hash.copy_from_slice(digest(&SHA256, text.as_bytes()).as_ref());
        Self(hash)
    }

    /// Compares in constant time.
    pub fn is(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }

    /// Its first bytes, by which it is looked up before it is compared.
    pub(crate) fn head(&self) -> u64 {
        u64::from_be_bytes(std::array::from_fn(|i| self.0[i]))
    }
}

impl fmt::Debug for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TokenHash({:08x}…)", self.head() >> 32)
    }
}

impl From<TokenHash> for String {
    fn from(hash: TokenHash) -> Self {
        URL_SAFE_NO_PAD.encode(hash.0)
    }
}

impl TryFrom<String> for TokenHash {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let decoded = URL_SAFE_NO_PAD.decode(text).ok();
        let hash = decoded.and_then(|bytes| bytes.try_into().ok());
        hash.map(Self).ok_or("a hash is 43 characters of base64url")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_token_is_known_by_its_hash_and_shows_itself_to_nobody() {
        let token = Token::random().expect("randomness");
        let again: Token = token.secret().parse().expect("its own text");
        assert_eq!(again, token);
        let other = Token::random().expect("randomness");
        assert!(token.hash().is(&again.hash()));
        assert!(!token.hash().is(&other.hash()));
        let presented = TokenHash::of_presented(token.secret()).expect("it may be one");
        assert!(presented.is(&token.hash()));
        assert_eq!(format!("{token:?}"), "Token(…)");
        let kept = serde_json::to_string(&token.hash()).expect("JSON");
        assert!(!kept.contains(&token.secret()[PREFIX.len()..]));
        let read: TokenHash = serde_json::from_str(&kept).expect("what was written");
        assert!(read.is(&token.hash()));
    }

    proptest! {
        #[test]
        fn any_text_is_a_token_or_an_error(text in ".{0,64}") {
            if let Ok(token) = text.parse::<Token>() {
                prop_assert_eq!(token.secret(), &text);
            }
            let _ = TokenHash::of_presented(&text);
        }

        #[test]
        fn what_is_like_a_token_is_one_only_if_it_holds_256_bits(rest in "ah_[A-Za-z0-9_=-]{40,46}") {
            if let Ok(token) = rest.parse::<Token>() {
                prop_assert_eq!(token.secret().len(), LENGTH);
            }
            let _ = TokenHash::try_from(rest);
        }
    }
}

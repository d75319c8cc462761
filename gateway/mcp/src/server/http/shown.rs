//! Credentials that a request shows.

use std::fmt;

use axum::http::{HeaderMap, header};

/// The credential in a request.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Shown {
    /// None, or one of another kind than a token.
    Nothing,
    /// A token (RFC 6750 §2.1).
    Token(String),
    /// Several, or bytes that are no text.
    Malformed,
}

impl Shown {
    /// The credential in these headers. A token in the query (RFC 6750 §2.3) is none, as it would be in logs.
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let mut values = headers.get_all(header::AUTHORIZATION).iter();
        let (Some(value), None) = (values.next(), values.next()) else {
            return match headers.contains_key(header::AUTHORIZATION) {
                true => Self::Malformed,
                false => Self::Nothing,
            };
        };
        let Ok(value) = value.to_str() else {
            return Self::Malformed;
        };
        match value.trim().split_once(' ') {
            Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => {
                Self::Token(token.trim().to_owned())
            }
            None if value.trim().eq_ignore_ascii_case("bearer") => Self::Malformed,
            _ => Self::Nothing,
        }
    }
}

/// Tokens are not shown.
impl fmt::Debug for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nothing => "Nothing",
            Self::Token(_) => "Token(…)",
            Self::Malformed => "Malformed",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_bearer_token_is_shown_or_none() {
        let token = |text: &str| Shown::Token(text.to_owned());
        for (values, expected) in [
            (&[][..], Shown::Nothing),
            (&["Bearer ah_x"], token("ah_x")),
            (&["bearer  ah_x "], token("ah_x")),
            (&["Basic eA=="], Shown::Nothing),
            (&["ah_x"], Shown::Nothing),
            (&["Bearer"], Shown::Malformed),
            (&["Bearer ah_x", "Bearer ah_y"], Shown::Malformed),
            (&["Bearer \u{e9}"], Shown::Malformed),
        ] {
            let mut headers = HeaderMap::new();
            for value in values {
                let value = value.as_bytes().try_into().expect("a header");
                headers.append(header::AUTHORIZATION, value);
            }
            assert_eq!(Shown::of(&headers), expected, "{values:?}");
        }
        assert_eq!(format!("{:?}", token("ah_secret")), "Token(…)");
    }
}

//! Reasons for which a request is not served, and what its sender is told (RFC 6750 §3, RFC 9728 §5.1; MCP 2026-07-28, authorization)

use std::time::Duration;

use agenthub_sdk::proto::retry_after;
use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use serde_json::json;

use super::resource::Place;

/// Error code of the JSON-RPC answer.
const SERVER_ERROR: i32 = -32_000;

/// Pause before a client may try again.
const AGAIN: Duration = Duration::from_secs(1);

/// The reason why a request is not served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It shows no token.
    NoToken(String),
    /// It shows its token in a way in which it cannot be read.
    Malformed,
    /// Its token is worth nothing.
    InvalidToken(String),
    /// Its sender is known and has not the rights that a client needs.
    Insufficient(String),
    /// Everybody would be let in, which is not wanted at this address.
    OpenHub,
    /// The caller was ended while it was served.
    Ended,
    /// There is no hub, or it cannot say who this is now.
    Unavailable(String),
    /// The server has as many callers as it serves at once.
    TooManyCallers,
    /// The principal has this many sessions.
    TooManySessions(usize),
}

impl Refusal {
    fn status(&self) -> StatusCode {
        match self {
            Self::NoToken(_) | Self::InvalidToken(_) | Self::Ended => StatusCode::UNAUTHORIZED,
            Self::Malformed => StatusCode::BAD_REQUEST,
            Self::Insufficient(_) | Self::OpenHub => StatusCode::FORBIDDEN,
            Self::Unavailable(_) | Self::TooManyCallers | Self::TooManySessions(_) => {
                StatusCode::SERVICE_UNAVAILABLE
            }
        }
    }

    /// The error code of RFC 6750 §3.1; `None` where the request shows nothing, or a token is no help.
    fn code(&self) -> Option<&'static str> {
        match self {
            Self::Malformed => Some("invalid_request"),
            Self::InvalidToken(_) | Self::Ended => Some("invalid_token"),
            Self::Insufficient(_) => Some("insufficient_scope"),
            _ => None,
        }
    }

    fn words(&self) -> String {
        match self {
            Self::NoToken(why)
            | Self::InvalidToken(why)
            | Self::Insufficient(why)
            | Self::Unavailable(why) => why.clone(),
            Self::Malformed => "send one header `Authorization: Bearer TOKEN`".to_owned(),
            Self::OpenHub => {
                "the hub behind this address knows no identities, so that nobody is let in from other machines: issue a token on the hub's \
                 machine (agenthub tokens issue NAME)"
                    .to_owned()
            }
            Self::Ended => "the token is not taken any more: show another one".to_owned(),
            Self::TooManyCallers => {
                "as many clients as can be are served: try again later".to_owned()
            }
            Self::TooManySessions(most) => format!(
                "{most} clients of this caller have a session, which is the most at a time: end one of them (DELETE), or try later"
            ),
        }
    }

    /// The challenge, if there is one to answer.
    fn challenge(&self, place: &Place<'_>) -> Option<HeaderValue> {
        let status = self.status();
        if status != StatusCode::UNAUTHORIZED && self.code().is_none() {
            return None;
        }
        let code = self.code();
        let described = code.map(|code| {
            let words = quotable(&self.words());
            format!(", error=\"{code}\", error_description=\"{words}\"")
        });
        let scopes = place.scopes().join(" ");
        let scope = (!scopes.is_empty()).then(|| format!(", scope=\"{}\"", quotable(&scopes)));
        let text = format!(
            "Bearer realm=\"agenthub\", resource_metadata=\"{}\"{}{}",
            quotable(&place.metadata_url()),
            described.unwrap_or_default(),
            scope.unwrap_or_default(),
        );
        HeaderValue::try_from(text).ok()
    }

    /// The answer, with an error of JSON-RPC, which clients show to people.
    pub(super) fn answer(&self, place: &Place<'_>) -> Response {
        let body = json!({
            "jsonrpc": "2.0",
            "id": null,
            "error": {"code": SERVER_ERROR, "message": self.words()},
        });
        let headers = [
            (header::CONTENT_TYPE, "application/json"),
            (header::CACHE_CONTROL, "no-store"),
            (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        ];
        let status = self.status();
        let mut answer = (status, headers, body.to_string()).into_response();
        let headers = answer.headers_mut();
        if let Some(challenge) = self.challenge(place) {
            headers.insert(header::WWW_AUTHENTICATE, challenge);
        }
        if status == StatusCode::SERVICE_UNAVAILABLE {
            retry_after::ask(headers, AGAIN);
        }
        answer
    }
}

/// A text between quotation marks, with the characters alone that RFC 6750 §3 allows there.
fn quotable(text: &str) -> String {
    let fit = |c: char| match c {
        '"' => '\'',
        '\\' => '/',
        ' '..='~' => c,
        _ => '?',
    };
    text.chars().map(fit).collect()
}

#[cfg(test)]
mod tests {
    use axum::{body::Body, extract::Request};

    use super::super::{DoorSettings, resource::Resource};
    use super::*;

    fn check(refusal: &Refusal, scopes: &[&str], status: u16, challenge: Option<&str>) {
        let resource = Resource::new(
            DoorSettings {
                address: ([127, 0, 0, 1], 8765).into(),
                is_tls: false,
                public_url: None,
                issuers: Vec::new(),
                scopes: scopes.iter().map(|&scope| scope.to_owned()).collect(),
                needs_identity: false,
            },
            "/mcp",
        );
        let request = Request::builder().header("Host", "localhost:8765");
        let request = request.body(Body::empty()).expect("a request");
        let answer = refusal.answer(&resource.at(&request));
        assert_eq!(answer.status(), status, "{refusal:?}");
        let found = answer.headers().get(header::WWW_AUTHENTICATE);
        let found = found.map(|value| value.to_str().expect("text"));
        assert_eq!(found, challenge, "{refusal:?}");
    }

    /// RFC 6750 §3, RFC 9728 §5.1; MCP 2026-07-28, authorization: scope challenge handling.
    #[test]
    fn challenges_say_what_is_wrong_and_where_tokens_come_from() {
        let at = "Bearer realm=\"agenthub\", resource_metadata=\"http://localhost:8765/.well-known/oauth-protected-resource/mcp\"";
        let no_token = Refusal::NoToken("show one".to_owned());
        check(&no_token, &[], 401, Some(at));
        let scoped = format!("{at}, scope=\"openid hub\"");
        check(&no_token, &["openid", "hub"], 401, Some(&scoped));
        let of = |code: &str, words: &str| {
            format!("{at}, error=\"{code}\", error_description=\"{words}\"")
        };
        let expired = Refusal::InvalidToken("the token \"x\" of Zoë\nhas expired".to_owned());
        let said = of("invalid_token", "the token 'x' of Zo??has expired");
        check(&expired, &[], 401, Some(&said));
        let denied = Refusal::Insufficient("no right".to_owned());
        check(
            &denied,
            &[],
            403,
            Some(&of("insufficient_scope", "no right")),
        );
        let said = of(
            "invalid_request",
            "send one header `Authorization: Bearer TOKEN`",
        );
        check(&Refusal::Malformed, &[], 400, Some(&said));
        check(&Refusal::OpenHub, &[], 403, None);
        check(&Refusal::Unavailable("no hub".to_owned()), &[], 503, None);
        check(&Refusal::TooManyCallers, &[], 503, None);
        check(&Refusal::TooManySessions(100), &[], 503, None);
    }
}

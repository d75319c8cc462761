//! Bedrock's API key from AWS credentials.
//!
//! Bedrock takes short-term API keys that anybody can make who has an access key: a request for `CallWithBearerToken`, signed
//! with Signature Version 4 in its query, in Base64. AWS documents them as "short-term Amazon Bedrock API keys"; nothing is
//! sent to make one. The request is signed here, as `reqsign` signs a query without the hash of the body, which Bedrock wants.

mod outside;
mod provider;
mod source;

use std::fmt::Write;
use std::time::SystemTime;

use agenthub_proto::wkt::Timestamp;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::{digest, hmac};

use super::Secret;
pub(super) use outside::context;
pub(super) use provider::{AwsCredentials, NO_CREDENTIALS};
pub(super) use source::{Profiles, Source};

/// Lifetime of a key made here. Each call makes its own.
const LIFETIME_S: u32 = 3_600;

const HOST: &str = "bedrock.amazonaws.com";
const ALGORITHM: &str = "AWS4-HMAC-SHA256";

/// An access key as AWS gives it out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Keys {
    pub(super) id: String,
    pub(super) secret: Secret,
    /// With keys that last for a time only.
    pub(super) session: Option<Secret>,
}

/// An access key, and the region in which the model is asked.
#[derive(Debug)]
struct AccessKey {
    keys: Keys,
    region: String,
}

impl AccessKey {
    /// An API key that is good from `now` on for an hour, or as long as the session is.
    fn api_key(&self, now: SystemTime) -> String {
        let request = format!("{HOST}/?{}&Version=1", self.signed_query(now));
        format!("bedrock-api-key-{}", STANDARD.encode(request))
    }

    fn signed_query(&self, now: SystemTime) -> String {
        let time = basic_time(now);
        let (day, _) = time.split_at(8);
        let scope = format!("{day}/{}/bedrock/aws4_request", self.region);
        // In the order of their names, as they are signed.
        let mut query = format!(
            "Action=CallWithBearerToken&X-Amz-Algorithm={ALGORITHM}&X-Amz-Credential={}&X-Amz-Date={time}&X-Amz-Expires={LIFETIME_S}",
            encoded(&format!("{}/{scope}", self.keys.id)),
        );
        if let Some(session) = &self.keys.session {
            // Before the signed headers.
            query.push_str(&format!(
                "&X-Amz-Security-Token={}",
                encoded(session.reveal())
            ));
        }
        query.push_str("&X-Amz-SignedHeaders=host");
        let body = hex(digest::digest(&digest::SHA256, b"").as_ref());
        let request = format!("POST\n/\n{query}\nhost:{HOST}\n\nhost\n{body}");
        let request = hex(digest::digest(&digest::SHA256, request.as_bytes()).as_ref());
        let signature = self.sign(
            &[day, &self.region, "bedrock", "aws4_request"],
            &format!("{ALGORITHM}\n{time}\n{scope}\n{request}"),
        );
        format!("{query}&X-Amz-Signature={signature}")
    }

    /// The signature of `text` with the key that is derived for `scope`.
    fn sign(&self, scope: &[&str], text: &str) -> String {
        let sign = |key: &[u8], text: &str| {
            let key = hmac::Key::new(hmac::HMAC_SHA256, key);
            hmac::sign(&key, text.as_bytes()).as_ref().to_vec()
        };
        let secret = format!("AWS4{}", self.keys.secret.reveal()).into_bytes();
        let key = scope.iter().fold(secret, |key, part| sign(&key, part));
        hex(&sign(&key, text))
    }
}

/// ISO 8601's basic format in whole seconds of UTC: `20261122T020000Z`.
fn basic_time(now: SystemTime) -> String {
    let whole = Timestamp {
        nanos: 0,
        ..Timestamp::from(now)
    };
    whole.to_string().replace(['-', ':'], "")
}

fn encoded(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                out.push(char::from(byte));
            }
            byte => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut hex, byte| {
        // Writing to a string cannot fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn key(region: &str, session: Option<&str>) -> AccessKey {
        AccessKey {
            keys: Keys {
                id: "AKIAIOSFODNN7EXAMPLE".into(),
                secret: Secret::new("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
                session: session.map(Secret::new),
            },
            region: region.into(),
        }
    }

    /// The expected signatures are those of AWS's own library for Python.
    #[test]
    fn a_key_is_the_signed_request_that_aws_makes_of_it() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_millis(1_795_312_800_500);
        for (region, session, part, signature) in [
            (
                "eu-west-1",
                None,
                "",
                "8fe0e2faa03d5cb63a7e2234ba2f8465b22e89c896a8a454a6bba5f4e99e6264",
            ),
            (
                "us-east-1",
                Some("FwoG+/session=="),
                "&X-Amz-Security-Token=FwoG%2B%2Fsession%3D%3D",
                "78678a43aacecbcf84531b3e08ce7cfe668690dec22b3efeadceeca27bdecad1",
            ),
        ] {
            let api_key = key(region, session).api_key(now);
            let request = api_key
                .strip_prefix("bedrock-api-key-")
                .expect("the prefix");
            let request = STANDARD.decode(request).expect("Base64");
            let request = String::from_utf8(request).expect("a URL");
            let (query, signed) = request
                .split_once("&X-Amz-Signature=")
                .expect("a signature");
            assert_eq!(signed, format!("{signature}&Version=1"), "{request}");
            assert!(query.starts_with("bedrock.amazonaws.com/?Action=CallWithBearerToken&"));
            assert!(
                query.contains("&X-Amz-Date=20261122T020000Z&X-Amz-Expires=3600"),
                "{query}"
            );
            assert!(query.contains(part));
        }
    }

    #[test]
    fn nothing_of_the_secret_shows() {
        let shown = format!("{:?}", key("r", Some("session")));
        assert!(
            !shown.contains("wJalr") && !shown.contains("session\""),
            "{shown}"
        );
    }
}

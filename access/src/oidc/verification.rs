//! Check that a token is one of the issuer, for the hub, and valid now.

use std::sync::Once;

use jsonwebtoken::{
    Validation, dangerous::insecure_decode_claims, decode, decode_header, errors::ErrorKind,
};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    IssuerSettings, KeySet, claims::Meaning, looks_like_one, provider, verified::VerifiedToken,
};

/// Reason why a token is not taken. None of them quotes it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    /// No JWT, or one in a form that is not taken.
    #[error("it is no signed JWT")]
    Form,
    /// An algorithm that is not allowed.
    #[error("it is signed with an algorithm that the settings do not allow")]
    Algorithm,
    /// The keys have not come yet.
    #[error("the keys of its issuer have not come yet")]
    NoKeys,
    /// It names a key that is not known.
    #[error("its key is not one of its issuer")]
    UnknownKey,
    /// The signature does not fit.
    #[error("its signature does not fit")]
    Signature,
    /// It has expired.
    #[error("it has expired")]
    Expired,
    /// It is not valid yet.
    #[error("it is not valid yet")]
    NotYet,
    /// It is of another issuer.
    #[error("it is of another issuer")]
    Issuer,
    /// It is for somebody else.
    #[error("it is for another audience")]
    Audience,
    /// A claim is missing or wrong.
    #[error("{0}")]
    Claims(String),
}

/// Checks a token with these keys, for one of these audiences.
pub(super) fn verify(
    settings: &IssuerSettings,
    keys: Option<&KeySet>,
    token: &str,
    audiences: &[String],
) -> Result<VerifiedToken, Refusal> {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(provider::install);
    if !looks_like_one(token) {
        return Err(Refusal::Form);
    }
    // `none` is no algorithm to the library.
    let header = decode_header(token).map_err(|_| Refusal::Form)?;
    if header.crit.is_some() || header.enc.is_some() || header.zip.is_some() {
        return Err(Refusal::Form);
    }
    let mut allowed = settings.algorithms.iter();
    if !allowed.any(|algorithm| jsonwebtoken::Algorithm::from(*algorithm) == header.alg) {
        return Err(Refusal::Algorithm);
    }
    let keys = keys.ok_or(Refusal::NoKeys)?;
    // A key that the token itself brings or points to is never looked at.
    let name = header.kid.as_deref();
    let Some((key, decoding)) = keys.find(name, header.alg) else {
        return Err(match keys.knows(name) {
            true => Refusal::Algorithm,
            false => Refusal::UnknownKey,
        });
    };
    let mut validation = Validation::new(header.alg);
    validation.leeway = settings.leeway_seconds;
    validation.validate_nbf = true;
    validation.set_required_spec_claims(&["exp", "iss", "aud"]);
    validation.set_issuer(&[&settings.issuer]);
    validation.set_audience(audiences);
    let claims = decode::<Map<String, Value>>(token, decoding, &validation)
        .map_err(|error| refusal(error.kind()))?
        .claims;
    // A list of issuers is none.
    if claims.get("iss").and_then(Value::as_str) != Some(&settings.issuer) {
        return Err(Refusal::Issuer);
    }
    let meaning = Meaning::of(settings, &claims)?;
    Ok(VerifiedToken::new(settings, *key, meaning))
}

fn refusal(kind: &ErrorKind) -> Refusal {
    match kind {
        ErrorKind::ExpiredSignature => Refusal::Expired,
        ErrorKind::ImmatureSignature => Refusal::NotYet,
        ErrorKind::InvalidIssuer => Refusal::Issuer,
        ErrorKind::InvalidAudience => Refusal::Audience,
        ErrorKind::InvalidSignature => Refusal::Signature,
        ErrorKind::InvalidAlgorithm => Refusal::Algorithm,
        ErrorKind::MissingRequiredClaim(claim) => {
            Refusal::Claims(format!("its claim `{claim}` is missing"))
        }
        ErrorKind::InvalidClaimFormat(claim) => {
            Refusal::Claims(format!("its claim `{claim}` has another form"))
        }
        _ => Refusal::Form,
    }
}

/// The `iss` of a token that is not checked.
pub(super) fn claimed_issuer(token: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Claimed {
        iss: String,
    }
    let claimed: Claimed = insecure_decode_claims(token).ok()?;
    Some(claimed.iss)
}

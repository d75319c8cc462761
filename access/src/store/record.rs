//! The record of an issued token, and what it is worth.

use serde::{Deserialize, Serialize};

use super::now;
use crate::{Namespace, Permit, Principal, TokenHash};

/// The record of an issued token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TokenRecord {
    /// By which it is listed and revoked; no secret.
    pub id: String,
    /// Its bearer.
    #[serde(deserialize_with = "Principal::of_record")]
    pub principal: Principal,
    /// The namespace that the bearer belongs to.
    #[serde(default, skip_serializing_if = "Namespace::is_default")]
    pub namespace: Namespace,
    /// Roles of the bearer.
    pub roles: Vec<String>,
    /// Rights besides those of the roles.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<Permit>,
    /// The hash.
    pub hash: TokenHash,
    /// Seconds since 1970.
    pub issued: u64,
    /// Seconds since 1970; without it, it lasts until it is revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<u64>,
    /// Seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked: Option<u64>,
}

impl TokenRecord {
    /// Reason why the token is worth nothing at this time, in seconds since 1970.
    pub(crate) fn ended(&self, now: u64) -> Option<Ended> {
        match (self.revoked, self.expires) {
            (Some(_), _) => Some(Ended::Revoked),
            (None, Some(expires)) if expires <= now => Some(Ended::Expired),
            _ if self.principal.is_reserved() => Some(Ended::Reserved),
            _ => None,
        }
    }

    /// Its standing in one word: `valid`, `revoked`, `expired` or, for a name of the hub itself, `refused`.
    pub fn standing(&self) -> &'static str {
        match self.ended(now()) {
            None => "valid",
            Some(Ended::Revoked) => "revoked",
            Some(Ended::Expired) => "expired",
            Some(Ended::Reserved) => "refused",
        }
    }
}

/// The reason why a token is worth nothing any more, as the rest of a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Ended {
    #[error("was revoked")]
    Revoked,
    #[error("has expired")]
    Expired,
    /// It was issued before the name of its bearer was reserved.
    #[error("is of a principal that has a name of the hub itself")]
    Reserved,
}

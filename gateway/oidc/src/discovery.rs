//! The discovery document of an issuer (OpenID Connect Discovery 1.0).

use agenthub_outbound::Connector;
use http::Uri;
use serde::Deserialize;

use crate::fetching::{Error, address, get, shown};

/// Addresses of an issuer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Endpoints {
    pub(crate) keys: Uri,
    /// Authorization endpoint; `None` of an issuer for programs alone.
    pub(crate) authorization: Option<Uri>,
    /// Token endpoint.
    pub(crate) token: Option<Uri>,
}

#[derive(Debug, Deserialize)]
struct Document {
    issuer: String,
    jwks_uri: String,
    authorization_endpoint: Option<String>,
    token_endpoint: Option<String>,
}

/// Asks an issuer for its addresses.
///
/// # Errors
///
/// There is no such document, or it is that of another issuer.
pub(crate) async fn discover(connector: &Connector, issuer: &str) -> Result<Endpoints, Error> {
    let base = issuer.trim_end_matches('/');
    let url = address(&format!("{base}/.well-known/openid-configuration"), issuer)?;
    let body = get(connector, &url).await?;
    let wrong = |why: String| Error::Answer {
        url: shown(&url),
        why,
    };
    let document: Document = serde_json::from_slice(&body)
        .map_err(|error| wrong(format!("it is no discovery document: {error}")))?;
    // Section 4.3: otherwise one issuer could speak for another.
    if document.issuer != issuer {
        let named = document.issuer.escape_debug();
        return Err(wrong(format!(
            "it is the document of the issuer {named}, not of {issuer}"
        )));
    }
    let optional = |text: Option<String>| text.map(|text| address(&text, issuer)).transpose();
    Ok(Endpoints {
        keys: address(&document.jwks_uri, issuer)?,
        authorization: optional(document.authorization_endpoint)?,
        token: optional(document.token_endpoint)?,
    })
}

//! Documents of an issuer.

use std::time::Duration;

use agenthub_outbound::{Connector, Limits, parse_url};
use bytes::Bytes;
use http::{Request, Uri, header};

/// Bounds of what an issuer answers with.
const LIMITS: Limits = Limits {
    headers: Duration::from_secs(10),
    body: Duration::from_secs(10),
    size: 256 * 1024,
};

/// Failure of asking an issuer. None of them quotes a token or a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// No answer came.
    #[error(transparent)]
    Outbound(#[from] agenthub_outbound::Error),
    /// The answer says that it failed.
    #[error("{url} answers with HTTP {status}")]
    Status {
        /// The URL, without its query.
        url: String,
        /// The status.
        status: u16,
    },
    /// The answer is not what it should be.
    #[error("{url}: {why}")]
    Answer {
        /// The URL, without its query.
        url: String,
        /// The fault.
        why: String,
    },
}

/// Reads an address of an issuer. Once an issuer is one of TLS, all its addresses are.
pub(crate) fn address(text: &str, issuer: &str) -> Result<Uri, Error> {
    let url = parse_url(text)?;
    match issuer.starts_with("https://") && url.scheme_str() != Some("https") {
        false => Ok(url),
        true => Err(Error::Answer {
            url: shown(&url),
            why: format!("an address of the issuer {issuer} begins with https://"),
        }),
    }
}

/// Fetches a document.
pub(crate) async fn get(connector: &Connector, url: &Uri) -> Result<Bytes, Error> {
    let request = Request::get(url.clone()).header(header::ACCEPT, "application/json");
    call(connector, url, request.body(Bytes::new())).await
}

/// Sends a request, whose answer has to be a success.
pub(crate) async fn call(
    connector: &Connector,
    url: &Uri,
    request: http::Result<Request<Bytes>>,
) -> Result<Bytes, Error> {
    let wrong = |why: String| Error::Answer {
        url: shown(url),
        why,
    };
    let request = request.map_err(|error| wrong(error.to_string()))?;
    let reply = connector.request(request, LIMITS).await?;
    match reply.status.is_success() {
        true => Ok(reply.body),
        false => Err(Error::Status {
            url: shown(url),
            status: reply.status.as_u16(),
        }),
    }
}

/// An address without its query, which may hold what is nobody's business.
pub(crate) fn shown(url: &Uri) -> String {
    let text = url.to_string();
    text.split('?').next().unwrap_or_default().to_owned()
}

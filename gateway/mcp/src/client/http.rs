//! Streamable HTTP: what a session needs, and what its failures mean.

use std::sync::Once;

use rmcp::{
    service::ClientInitializeError,
    transport::streamable_http_client::StreamableHttpClientTransportConfig,
};

use super::why;

/// The longest event of a server, in bytes.
const MAX_EVENT: usize = 8 * 1024 * 1024;

/// Access to a server over HTTP. Its token is read from the environment.
///
/// # Errors
///
/// There is no such variable.
pub(super) fn config(
    url: &str,
    token_env: Option<&str>,
) -> Result<StreamableHttpClientTransportConfig, String> {
    install_tls();
    let config = StreamableHttpClientTransportConfig::with_uri(url)
        .max_sse_event_size(MAX_EVENT)
        .reinit_on_expired_session(true);
    let Some(name) = token_env else {
        return Ok(config);
    };
    match std::env::var(name).map(|token| token.trim().to_owned()) {
        Ok(token) if !token.is_empty() => Ok(config.auth_header(token)),
        _ => Err(format!(
            "its token is to come from the variable {name}, which is not set: set it and start again"
        )),
    }
}

/// Makes ring the TLS implementation of this process, unless one was chosen already.
fn install_tls() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // Losing against somebody else means that one is installed, which is all that is wanted.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}

/// The reason why a handshake failed, in words for people.
pub(super) fn why(error: &ClientInitializeError, url: &str, token_env: Option<&str>) -> String {
    let chain = why::chain(error);
    let is_unauthorised = error.is_authorization_required()
        || error.auth_challenge().is_some()
        || chain.contains("HTTP 401")
        || chain.contains("HTTP 403");
    match (is_unauthorised, token_env) {
        (true, None) => {
            "it wants to know who asks: name the variable with its token in `token_env`".to_owned()
        }
        (true, Some(name)) => format!("it does not accept the token in the variable {name}"),
        (false, _) if is_unreachable(error) => why::plain(&format!(
            "nothing answers at {}: {}",
            without_query(url),
            why::root(error)
        )),
        (false, _) => chain,
    }
}

/// The address without what may be a key.
fn without_query(url: &str) -> &str {
    url.split(['?', '#']).next().unwrap_or_default()
}

/// True if nothing was sent at all, since nobody was there.
pub(super) fn is_unreachable(error: &(dyn std::error::Error + 'static)) -> bool {
    why::of_http(error).is_some_and(reqwest::Error::is_connect)
}

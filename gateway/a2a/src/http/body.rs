//! Bodies of requests, read within bounds.

use std::time::Duration;

use axum::{
    body::{Body, Bytes},
    http::StatusCode,
};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use tokio::time::timeout;

/// The largest request, in bytes: a message of the hub's bound, with its files in base64.
const MAX_BYTES: usize = 2 * 1024 * 1024;

/// The time for a whole body.
const DEADLINE: Duration = Duration::from_secs(30);

/// # Errors
///
/// The status and the reason for a body that is too large, breaks off or does not come in time.
pub(super) async fn read(body: Body) -> Result<Bytes, (StatusCode, String)> {
    match timeout(DEADLINE, Limited::new(body, MAX_BYTES).collect()).await {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err((
            StatusCode::PAYLOAD_TOO_LARGE,
            format!("a request has at most {MAX_BYTES} bytes"),
        )),
        Ok(Err(error)) => Err((
            StatusCode::BAD_REQUEST,
            format!("the body broke off: {error}"),
        )),
        Err(_) => Err((
            StatusCode::REQUEST_TIMEOUT,
            format!("the body has {} s to come as a whole", DEADLINE.as_secs()),
        )),
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use futures_util::stream;

    use super::*;

    async fn refused(body: Body) -> u16 {
        let (status, _) = read(body).await.expect_err("it is refused");
        status.as_u16()
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_is_read_within_its_bounds() {
        let whole = read(Body::from(vec![b'a'; MAX_BYTES])).await;
        assert_eq!(whole.map(|bytes| bytes.len()), Ok(MAX_BYTES));
        assert_eq!(refused(Body::from(vec![b'a'; MAX_BYTES + 1])).await, 413);
        let never = stream::pending::<io::Result<Vec<u8>>>();
        assert_eq!(refused(Body::from_stream(never)).await, 408);
        let broken = stream::iter([Ok(vec![b'{']), Err(io::Error::other("reset"))]);
        assert_eq!(refused(Body::from_stream(broken)).await, 400);
    }
}

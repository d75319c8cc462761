//! Answers.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, StatusCode};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::time::{Instant, timeout};

use crate::{Error, error::root};

/// An answer. Redirects are answers like all others.
#[derive(Debug)]
pub struct Reply<B> {
    /// Status.
    pub status: StatusCode,
    /// Headers.
    pub headers: HeaderMap,
    /// Body.
    pub body: B,
}

/// A body that comes piece by piece. Dropping it ends the exchange.
#[derive(Debug)]
pub struct Body {
    incoming: Incoming,
    host: String,
}

impl Body {
    pub(crate) fn new(incoming: Incoming, host: String) -> Self {
        Self { incoming, host }
    }

    /// The next piece, as it came; `None` at the end.
    ///
    /// # Errors
    ///
    /// [`Error::Broken`], or [`Error::Deadline`] if nothing comes for this long. Cancel-safe.
    pub async fn next(&mut self, patience: Duration) -> Option<Result<Bytes, Error>> {
        loop {
            let frame = match timeout(patience, self.incoming.frame()).await {
                Ok(frame) => frame?,
                Err(_) => return Some(Err(self.late(patience))),
            };
            match frame.map(hyper::body::Frame::into_data) {
                Ok(Ok(data)) => return Some(Ok(data)),
                // Trailers.
                Ok(Err(_)) => {}
                Err(error) => return Some(Err(self.broken(&error))),
            }
        }
    }

    /// All of it.
    ///
    /// # Errors
    ///
    /// Those of [`next`](Self::next), and [`Error::TooLarge`].
    pub async fn collect(mut self, most: usize, time: Duration) -> Result<Bytes, Error> {
        let deadline = Instant::now() + time;
        let mut all = BytesMut::new();
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.next(left).await {
                None => return Ok(all.freeze()),
                Some(Err(Error::Deadline { .. })) => return Err(self.late(time)),
                Some(Err(error)) => return Err(error),
                Some(Ok(data)) if all.len() + data.len() > most => {
                    return Err(Error::TooLarge {
                        host: self.host,
                        limit: most,
                    });
                }
                Some(Ok(data)) => all.extend_from_slice(&data),
            }
        }
    }

    fn late(&self, time: Duration) -> Error {
        Error::Deadline {
            host: self.host.clone(),
            what: "its answer's body",
            seconds: time.as_secs(),
        }
    }

    fn broken(&self, error: &hyper::Error) -> Error {
        Error::Broken {
            host: self.host.clone(),
            why: root(error),
        }
    }
}

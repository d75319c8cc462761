//! Exchanges of a connection of HTTP: what of a request or of its answer is on its way.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll},
};

use axum::body::Body;
use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};

/// Requests of a connection: how many heads have come, how many bodies, and how many answers were written. Clones are the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Exchanges(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    begun: AtomicU64,
    read: AtomicU64,
    ended: AtomicU64,
}

/// A part of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// The head of the request with this number, or the wait for it.
    Head(u64),
    /// The body of that request.
    Body(u64),
    /// The answer, once the whole request has come.
    Answer,
}

impl Exchanges {
    /// Counts a request, whose head has come.
    pub(super) fn begin(&self, body: Incoming) -> (RequestBody, Exchange) {
        self.0.begun.fetch_add(1, Ordering::Relaxed);
        let mut body = RequestBody {
            body,
            coming: Some(Coming(self.clone())),
        };
        body.end_if_over();
        (body, Exchange(self.clone()))
    }

    /// The part that is on its way.
    pub(super) fn part(&self) -> Part {
        let Counts { begun, read, ended } = &*self.0;
        let begun = begun.load(Ordering::Relaxed);
        if read.load(Ordering::Relaxed) < begun {
            Part::Body(begun)
        } else if ended.load(Ordering::Relaxed) < begun {
            Part::Answer
        } else {
            Part::Head(begun + 1)
        }
    }
}

/// A request whose body is coming, until it is dropped.
#[derive(Debug)]
struct Coming(Exchanges);

impl Drop for Coming {
    fn drop(&mut self) {
        self.0.0.read.fetch_add(1, Ordering::Relaxed);
    }
}

/// A request that is being answered, until it is dropped.
#[derive(Debug)]
pub(super) struct Exchange(Exchanges);

impl Drop for Exchange {
    fn drop(&mut self) {
        self.0.0.ended.fetch_add(1, Ordering::Relaxed);
    }
}

/// The body of a request, which has come with its last frame.
#[derive(Debug)]
pub(super) struct RequestBody {
    body: Incoming,
    coming: Option<Coming>,
}

impl RequestBody {
    fn end_if_over(&mut self) {
        if self.body.is_end_stream() {
            self.coming = None;
        }
    }
}

impl HttpBody for RequestBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        match &polled {
            Poll::Ready(None | Some(Err(_))) => self.coming = None,
            Poll::Ready(Some(Ok(_))) => self.end_if_over(),
            Poll::Pending => {}
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The body of an answer, with whose end the exchange ends.
#[derive(Debug)]
pub(super) struct AnswerBody {
    body: Body,
    _exchange: Exchange,
}

impl AnswerBody {
    pub(super) fn new(body: Body, exchange: Exchange) -> Self {
        Self {
            body,
            _exchange: exchange,
        }
    }
}

impl HttpBody for AnswerBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

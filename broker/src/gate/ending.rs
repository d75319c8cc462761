//! Answers that end early: with a status of gRPC, or by breaking off, so that no client takes the end for a good one.

use std::{
    future::poll_fn,
    pin::Pin,
    task::{Context, Poll},
};

use agenthub_access::{Admitted, Ending, Identities, StreamEnd};
use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tonic::{
    Status,
    codegen::{StdError, http::HeaderMap},
};

/// A body that ends once its caller has lost its rights.
#[derive(Debug)]
pub(super) struct EndingBody<B> {
    state: State<B>,
    end: StreamEnd,
    form: Form,
}

/// Form of a body, by which it says that it ends early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// A stream of gRPC: trailers with the reason.
    Grpc,
    /// Server-sent events: a comment with the reason, and then a break.
    Events,
    /// Any other: a break.
    Other,
}

#[derive(Debug)]
enum State<B> {
    /// Passes frames on.
    Open(B),
    /// The reason is on its way: the break has to wait until it is written.
    Announced(String),
    /// Breaks off with the reason.
    Breaking(String),
    /// Has given its last frame.
    Ended,
}

/// Error of an answer that breaks off.
#[derive(Debug, thiserror::Error)]
#[error("the answer ends early: {0}")]
struct BrokenOff(String);

impl<B> EndingBody<B> {
    pub(super) fn new(body: B, end: StreamEnd, form: Form) -> Self {
        Self {
            state: State::Open(body),
            end,
            form,
        }
    }

    fn end(&mut self, reason: &Ending) -> Poll<Option<Result<Frame<Bytes>, StdError>>> {
        let status = status(reason);
        let why = status.message().to_owned();
        let (state, last) = match self.form {
            Form::Grpc => {
                let mut trailers = HeaderMap::new();
                // Words of the hub are no bytes that a header cannot have.
                let _ = status.add_header(&mut trailers);
                (State::Ended, Ok(Frame::trailers(trailers)))
            }
            Form::Events => {
                let comment = format!(": {}\n\n", why.replace(['\r', '\n'], " "));
                (State::Announced(why), Ok(Frame::data(comment.into())))
            }
            Form::Other => (State::Ended, Err(BrokenOff(why).into())),
        };
        self.state = state;
        Poll::Ready(Some(last))
    }
}

impl<B> HttpBody for EndingBody<B>
where
    B: HttpBody<Data = Bytes> + Unpin,
    B::Error: Into<StdError>,
{
    type Data = Bytes;
    type Error = StdError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, StdError>>> {
        let this = &mut *self;
        let body = match &mut this.state {
            State::Open(body) => body,
            State::Announced(why) => {
                this.state = State::Breaking(std::mem::take(why));
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            State::Breaking(why) => {
                let broken = BrokenOff(std::mem::take(why));
                this.state = State::Ended;
                return Poll::Ready(Some(Err(broken.into())));
            }
            State::Ended => return Poll::Ready(None),
        };
        if let Some(reason) = this.end.reason().cloned() {
            return this.end(&reason);
        }
        if let Poll::Ready(frame) = Pin::new(body).poll_frame(context) {
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        match this.end.poll(context) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(reason) => {
                let reason = reason.clone();
                this.end(&reason)
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.state {
            State::Open(body) => body.is_end_stream(),
            State::Announced(_) | State::Breaking(_) => false,
            State::Ended => true,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.state {
            State::Open(body) => body.size_hint(),
            _ => SizeHint::default(),
        }
    }
}

/// Waits until the credential of a caller is worth nothing any more, and says why. Other rights are no end: what was begun with them is done.
pub(super) async fn unauthenticated(identities: &Identities, admitted: &Admitted) -> String {
    loop {
        let end = identities.waiting(admitted);
        let ending = poll_fn(|context| end.poll(context).map(Ending::clone)).await;
        if let Ending::Unauthenticated(why) = ending {
            return why;
        }
    }
}

/// A client reconnects after `UNAVAILABLE`, and is told then what it may.
fn status(reason: &Ending) -> Status {
    match reason {
        Ending::Unauthenticated(why) => Status::unauthenticated(why),
        Ending::Changed => {
            Status::unavailable("the rights of this caller have changed: connect again")
        }
    }
}

//! Frames as server-sent events.

use std::{convert::Infallible, fmt::Display, future::ready, time::Duration};

use agenthub_proto::cortex as pb;
use axum::{
    http::{HeaderMap, HeaderName, HeaderValue},
    response::{
        IntoResponse, Response,
        sse::{Event, KeepAlive, Sse},
    },
};
use futures_util::{Stream, StreamExt, stream};
use tokio_util::sync::CancellationToken;

use super::{
    frame::Frame,
    problem::{Kind, Problem},
};

/// The media type of events.
pub(crate) const EVENTS: &str = "text/event-stream";

/// Interval of heartbeats on a stream without events.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// Time after which clients are told to come back.
const RETRY: Duration = Duration::from_secs(1);

/// Frames as events, until the last one or until everything ends, so that the client comes back with the number of the last one that it
/// has. They are taken from `frames` as fast as the client reads, and none is kept for it.
pub(crate) fn stream<E: Display>(
    frames: impl Stream<Item = Result<pb::Frame, E>> + Send + 'static,
    ending: CancellationToken,
) -> Response {
    let told = stream::once(ready(Event::default().retry(RETRY)));
    let events = frames.map_while(|frame| match frame {
        Ok(frame) => Some(event(frame.into())),
        Err(error) => {
            tracing::warn!(%error, "the frames of a run can be shown no further");
            None
        }
    });
    let events = told
        .chain(events)
        .take_until(ending.cancelled_owned())
        .map(Ok::<_, Infallible>);
    let mut response = Sse::new(events)
        .keep_alive(KeepAlive::new().interval(HEARTBEAT))
        .into_response();
    // Proxies that gather what they pass on would hold frames back.
    let name = HeaderName::from_static("x-accel-buffering");
    response
        .headers_mut()
        .insert(name, HeaderValue::from_static("no"));
    response
}

trait MapWhile: Stream + Sized {
    /// The stream up to the first item of which nothing is made.
    fn map_while<T>(self, make: impl FnMut(Self::Item) -> Option<T>) -> impl Stream<Item = T> {
        self.map(make)
            .take_while(|made| ready(made.is_some()))
            .filter_map(ready)
    }
}

impl<S: Stream> MapWhile for S {}

fn event(frame: Frame) -> Event {
    let is_name = |text: &str| text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    let event = Event::default().id(frame.sequence.to_string());
    let event = match is_name(&frame.kind) {
        true => event.event(&frame.kind),
        false => event,
    };
    let data = serde_json::to_string(&frame).expect("a frame has only keys of text");
    event.data(data)
}

/// The number of the frame that the client has last: from the header with which it comes back, or else from the query; 0 if it has none.
///
/// # Errors
///
/// The header is no number.
pub(crate) fn after(headers: &HeaderMap, asked: Option<u64>) -> Result<u64, Problem> {
    let Some(last) = headers.get("last-event-id") else {
        return Ok(asked.unwrap_or(0));
    };
    let last = last.to_str().map(str::trim).unwrap_or("?");
    match last.is_empty() {
        // A client that has seen no id yet.
        true => Ok(asked.unwrap_or(0)),
        false => last.parse().map_err(|_| {
            Kind::InvalidParameter.with(
                "`Last-Event-ID` is not the number of a frame: send back the `id` of the last event as it came",
            )
        }),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    };

    use http_body_util::BodyExt;
    use tokio::time::{Instant, timeout};

    use super::*;

    fn frame(sequence: u64, kind: &str, message: &str) -> pb::Frame {
        pb::Frame {
            r#type: kind.to_owned(),
            sequence,
            correlation_id: "r".to_owned(),
            context_id: "t".to_owned(),
            message: message.to_owned(),
            ..pb::Frame::default()
        }
    }

    async fn text(response: Response) -> String {
        let body = response.into_body().collect().await.expect("a body");
        String::from_utf8(body.to_bytes().to_vec()).expect("UTF-8")
    }

    /// spec: ORC-4, ORC-8
    #[tokio::test]
    async fn a_frame_has_its_type_its_number_and_one_line_of_json() {
        let frames = [
            frame(1, "start", ""),
            frame(2, "message", "two\nlines\r\nid: 9"),
            frame(3, "a\nb", ""),
        ];
        let frames = stream::iter(frames.map(Ok::<_, Broken>));
        let response = stream(frames, CancellationToken::new());
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        let text = text(response).await;
        let expected = "retry: 1000\n\n\
            id: 1\nevent: start\ndata: {\"type\":\"start\",\"sequence\":1,\"correlationId\":\"r\",\"threadId\":\"t\"}\n\n\
            id: 2\nevent: message\ndata: {\"type\":\"message\",\"sequence\":2,\"correlationId\":\"r\",\"threadId\":\"t\",\
            \"message\":\"two\\nlines\\r\\nid: 9\"}\n\n\
            id: 3\ndata: {\"type\":\"a\\nb\",\"sequence\":3,\"correlationId\":\"r\",\"threadId\":\"t\"}\n\n";
        assert_eq!(text, expected);
    }

    #[derive(Debug, thiserror::Error)]
    #[error("no journal")]
    struct Broken;

    /// What a client does not read is not held for it.
    #[tokio::test]
    async fn frames_are_taken_only_as_they_are_read() {
        let taken = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&taken);
        let endless = stream::iter(1..).map(move |sequence| {
            count.store(sequence, Ordering::SeqCst);
            Ok::<_, Broken>(frame(sequence, "delta", &"x".repeat(1_000)))
        });
        let mut body = stream(endless, CancellationToken::new()).into_body();
        for read in 0..100 {
            let part = body.frame().await.expect("it goes on");
            assert!(part.is_ok_and(|part| part.is_data()));
            assert_eq!(
                taken.load(Ordering::SeqCst),
                read,
                "the first part says when to come back"
            );
        }
    }

    #[tokio::test]
    async fn what_cannot_be_read_ends_the_stream_so_that_the_client_comes_back() {
        let frames = [
            Ok(frame(1, "start", "")),
            Err(Broken),
            Ok(frame(2, "x", "")),
        ];
        let text = text(stream(stream::iter(frames), CancellationToken::new())).await;
        assert!(
            text.contains("id: 1\n") && !text.contains("id: 2\n"),
            "{text}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn where_nothing_happens_there_is_a_heartbeat_until_everything_ends() {
        let ending = CancellationToken::new();
        let silent = stream::pending::<Result<pb::Frame, Broken>>();
        let mut body = stream(silent, ending.clone()).into_body();
        let begun = Instant::now();
        for expected in ["retry: 1000\n\n", ":\n\n", ":\n\n"] {
            let part = body.frame().await.expect("it goes on").expect("a part");
            assert_eq!(part.into_data().expect("data"), expected);
        }
        assert_eq!(begun.elapsed().as_secs(), 30);
        ending.cancel();
        let end = timeout(Duration::from_secs(1), body.frame()).await;
        assert!(end.expect("at once").is_none());
    }

    #[test]
    fn a_client_comes_back_with_the_number_that_it_has() {
        let after = |header: Option<&str>, asked| {
            let mut headers = HeaderMap::new();
            if let Some(header) = header {
                headers.insert("last-event-id", header.parse().expect("a header"));
            }
            after(&headers, asked).map_err(|problem| problem.details().status)
        };
        assert_eq!(after(None, None), Ok(0));
        assert_eq!(after(None, Some(4)), Ok(4));
        assert_eq!(after(Some("7"), Some(4)), Ok(7));
        assert_eq!(after(Some(""), Some(4)), Ok(4));
        for wrong in ["x", "-1", "1.5", "99999999999999999999", "1, 2"] {
            assert_eq!(after(Some(wrong), None), Err(400), "{wrong}");
        }
    }
}

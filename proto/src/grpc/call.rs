//! Start of a call.

use std::future::poll_fn;

use bytes::{Bytes, BytesMut};
use futures_util::{Stream, StreamExt as _, stream};
use http_body::Frame;
use http_body_util::StreamBody;
use tonic::{
    Status,
    body::Body,
    codegen::{
        Service,
        http::{HeaderValue, Method, Request, Uri, Version, header},
    },
};

use super::{Messages, Transport};

/// Maximum bytes of joined messages: the size of an HTTP/2 write.
const MAX_JOINED_BYTES: usize = 16 * 1024;

/// Maximum messages joined at once.
const MAX_JOINED: usize = 64;

/// Calls a method, given as the path `/package.Service/Method`, with a stream of messages, each framed by
/// [`framed`](super::framed). Returns the response, with messages of at most `most_bytes` each, once it begins.
/// Dropping the response ends the call.
///
/// # Errors
///
/// The server cannot be reached or refuses the call.
pub async fn call(
    transport: impl Into<Transport>,
    path: &'static str,
    messages: impl Stream<Item = Bytes> + Send + 'static,
    most_bytes: usize,
) -> Result<Messages, Status> {
    let pieces = messages.ready_chunks(MAX_JOINED).map(joined);
    let pieces = pieces.flat_map(stream::iter);
    let frames = pieces.map(|piece| Ok::<_, Status>(Frame::data(piece)));
    let mut request = Request::new(Body::new(StreamBody::new(frames)));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = Uri::from_static(path);
    *request.version_mut() = Version::HTTP_2;
    let headers = request.headers_mut();
    headers.insert(header::TE, HeaderValue::from_static("trailers"));
    let content_type = HeaderValue::from_static("application/grpc");
    headers.insert(header::CONTENT_TYPE, content_type);
    let mut transport = transport.into();
    poll_fn(|context| transport.poll_ready(context))
        .await
        .map_err(Status::from_error)?;
    let response = transport.call(request).await;
    Messages::of_response(response.map_err(Status::from_error)?, most_bytes)
}

/// Joins small messages, so that each is not an HTTP/2 frame of its own; large ones stay separate.
fn joined(messages: Vec<Bytes>) -> Vec<Bytes> {
    if messages.len() == 1 {
        return messages;
    }
    let mut pieces = Vec::with_capacity(messages.len());
    let mut open = BytesMut::new();
    for message in messages {
        if !open.is_empty() && open.len() + message.len() > MAX_JOINED_BYTES {
            pieces.push(open.split().freeze());
        }
        match message.len() > MAX_JOINED_BYTES {
            true => pieces.push(message),
            false => open.extend_from_slice(&message),
        }
    }
    if !open.is_empty() {
        pieces.push(open.freeze());
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_messages_are_joined_and_large_ones_stay_as_they_are() {
        let check = |sizes: &[usize], expected: &[usize]| {
            let number = |(n, size): (usize, &usize)| vec![u8::try_from(n).unwrap_or(0); *size];
            let messages: Vec<Bytes> = sizes
                .iter()
                .enumerate()
                .map(number)
                .map(Bytes::from)
                .collect();
            let all = messages.concat();
            let large: Vec<_> = messages
                .iter()
                .filter(|m| m.len() > MAX_JOINED_BYTES)
                .map(|m| m.as_ptr())
                .collect();
            let pieces = joined(messages);
            assert_eq!(pieces.concat(), all);
            assert_eq!(pieces.iter().map(Bytes::len).collect::<Vec<_>>(), expected);
            let kept = pieces.iter().map(|p| p.as_ptr());
            assert_eq!(kept.filter(|p| large.contains(p)).count(), large.len());
        };
        check(&[5], &[5]);
        check(&[1, 2, 3], &[6]);
        check(&[MAX_JOINED_BYTES - 1, 1, 1], &[MAX_JOINED_BYTES, 1]);
        check(
            &[1, MAX_JOINED_BYTES + 1, 1, 1, MAX_JOINED_BYTES + 2],
            &[1, MAX_JOINED_BYTES + 1, 2, MAX_JOINED_BYTES + 2],
        );
    }
}

//! The beginning of a call.

use std::future::poll_fn;

use bytes::Bytes;
use http_body::Frame;
use http_body_util::StreamBody;
use tonic::{
    Status,
    body::Body,
    codegen::{
        Service,
        http::{HeaderValue, Method, Request, Uri, Version, header},
        tokio_stream::{Stream, StreamExt as _},
    },
    transport::Channel,
};

use super::Messages;

/// Calls a method, given as the path `/package.Service/Method`, with messages as they come, each as [`framed`](super::framed) makes it.
/// Returns what is answered, each message of so many bytes at most, when the answer begins. Dropping that ends the call.
///
/// # Errors
///
/// Nobody can be reached, or who answers refuses the call.
pub async fn call(
    mut channel: Channel,
    path: &'static str,
    messages: impl Stream<Item = Bytes> + Send + 'static,
    most_bytes: usize,
) -> Result<Messages, Status> {
    let frames = messages.map(|message| Ok::<_, Status>(Frame::data(message)));
    let mut request = Request::new(Body::new(StreamBody::new(frames)));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = Uri::from_static(path);
    *request.version_mut() = Version::HTTP_2;
    let headers = request.headers_mut();
    headers.insert(header::TE, HeaderValue::from_static("trailers"));
    let content_type = HeaderValue::from_static("application/grpc");
    headers.insert(header::CONTENT_TYPE, content_type);
    poll_fn(|context| channel.poll_ready(context))
        .await
        .map_err(|e| Status::from_error(e.into()))?;
    let response = channel.call(request).await;
    Messages::of_response(
        response.map_err(|e| Status::from_error(e.into()))?,
        most_bytes,
    )
}

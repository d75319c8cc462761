//! gRPC (specification §10).

use std::{sync::Arc, time::Duration};

use agenthub_outbound::{Error as Outbound, Http2};
use async_stream::try_stream;
use futures_util::StreamExt;
use http::{HeaderMap, HeaderValue, Uri};
use tokio::time::timeout;
use tonic::{Request, Response, Status, body::Body, metadata::MetadataMap};

use super::{
    Failure,
    credentials::{Credentials, RequestCredential},
    failure::of_grpc,
    remote::{Ask, Events},
};
use crate::{
    extensions,
    grpc::kind,
    v1::{self, a2a_service_client::A2aServiceClient},
    version::{EXTENSIONS_HEADER, VERSION_HEADER},
};

/// Size of a message in bytes.
const MAX_MESSAGE: usize = 8 * 1024 * 1024;

/// Calls; the answer, or its stream, begins within this time. A token that is not accepted is renewed once.
macro_rules! call {
    ($self:ident, $method:ident, $request:expr, $time:expr) => {
        call!($self, $method, $request, $time, None)
    };
    ($self:ident, $method:ident, $request:expr, $time:expr, $extensions:expr) => {{
        let mut is_renewed = false;
        loop {
            let request = $self.request($request, $extensions).await?;
            let mut client = $self.client.clone();
            match $self.within($time, client.$method(request)).await {
                Err(Failure::Unauthorized(_)) if !is_renewed && $self.renew().await => {
                    is_renewed = true;
                }
                answer => break answer,
            }
        }
    }};
}

#[derive(Clone, Debug)]
pub(super) struct Grpc {
    pub(super) client: A2aServiceClient<Http2<Body>>,
    pub(super) host: String,
    pub(super) headers: HeaderMap,
    pub(super) credentials: Option<Arc<Credentials>>,
}

impl Grpc {
    pub(super) fn new(
        channel: Http2<Body>,
        url: &Uri,
        headers: HeaderMap,
        credentials: Option<Arc<Credentials>>,
    ) -> Self {
        let client = A2aServiceClient::with_origin(channel, url.clone());
        Self {
            client: client.max_decoding_message_size(MAX_MESSAGE),
            host: url.host().unwrap_or_default().to_owned(),
            headers,
            credentials,
        }
    }

    pub(super) async fn send(
        &self,
        request: &v1::SendMessageRequest,
        time: Duration,
    ) -> Result<v1::SendMessageResponse, Failure> {
        let extensions = extensions::header(request.message.as_ref());
        call!(self, send_message, request, time, extensions.clone())
    }

    pub(super) async fn get(
        &self,
        request: &v1::GetTaskRequest,
        time: Duration,
    ) -> Result<v1::Task, Failure> {
        call!(self, get_task, request, time)
    }

    pub(super) async fn list(
        &self,
        request: &v1::ListTasksRequest,
        time: Duration,
    ) -> Result<v1::ListTasksResponse, Failure> {
        call!(self, list_tasks, request, time)
    }

    pub(super) async fn cancel(
        &self,
        request: &v1::CancelTaskRequest,
        time: Duration,
    ) -> Result<v1::Task, Failure> {
        call!(self, cancel_task, request, time)
    }

    pub(super) async fn stream(&self, ask: &Ask, time: Duration) -> Result<Events, Failure> {
        let mut stream = match ask {
            Ask::Send(request) => {
                let extensions = extensions::header(request.message.as_ref());
                call!(
                    self,
                    send_streaming_message,
                    &**request,
                    time,
                    extensions.clone()
                )?
            }
            Ask::Subscribe(request) => call!(self, subscribe_to_task, request, time)?,
        };
        let host = self.host.clone();
        // A peer that is gone is found out by the connection, which is probed.
        let events = try_stream! {
            while let Some(event) = stream.message().await.map_err(|s| failed(&host, &s))? {
                yield event;
            }
        };
        Ok(events.boxed())
    }

    async fn request<Q: Clone>(
        &self,
        message: &Q,
        extensions: Option<HeaderValue>,
    ) -> Result<Request<Q>, Failure> {
        let mut request = Request::new(message.clone());
        *request.metadata_mut() = self.metadata(extensions).await?;
        Ok(request)
    }

    async fn within<A>(
        &self,
        time: Duration,
        call: impl Future<Output = Result<Response<A>, Status>>,
    ) -> Result<A, Failure> {
        match timeout(time, call).await {
            Ok(Ok(answer)) => Ok(answer.into_inner()),
            Ok(Err(status)) => Err(failed(&self.host, &status)),
            Err(_) => Err(Failure::Deadline(time.as_secs())),
        }
    }

    /// Forgets a token that was not accepted; false if there is nothing that another try could change.
    async fn renew(&self) -> bool {
        match &self.credentials {
            Some(credentials) => credentials.renew().await,
            None => false,
        }
    }

    async fn metadata(&self, extensions: Option<HeaderValue>) -> Result<MetadataMap, Failure> {
        let mut headers = self.headers.clone();
        if let Some(extensions) = extensions {
            headers.append(EXTENSIONS_HEADER, extensions);
        }
        headers.insert(VERSION_HEADER, HeaderValue::from_static("1.0"));
        if let Some(credentials) = &self.credentials {
            match credentials.show().await? {
                RequestCredential::Header(name, value) => _ = headers.insert(name, value),
                RequestCredential::Query(_) => {
                    return Err(Failure::Credentials(
                        "gRPC has no query for a key: name another place for it".to_owned(),
                    ));
                }
            }
        }
        Ok(MetadataMap::from_headers(headers))
    }
}

fn failed(host: &str, status: &Status) -> Failure {
    if let Some(error) = Outbound::within(status) {
        return error.clone().into();
    }
    match std::error::Error::source(status) {
        Some(source) => Outbound::Broken {
            host: host.to_owned(),
            why: source.to_string(),
        }
        .into(),
        None => of_grpc(status.code(), status.message(), kind(status)),
    }
}

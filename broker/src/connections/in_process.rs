//! Calls of clients in this process.

use std::{convert::Infallible, sync::Arc};

use agenthub_access::Identities;
use agenthub_proto::grpc::InProcess;
use tokio_util::sync::CancellationToken;
use tonic::{
    Status,
    body::Body,
    codegen::{
        Service,
        http::{Request, Response},
    },
};

use super::deadline;
use crate::{gate::admit_in_process, metrics::Calls};

/// Calls of a service until `stop`. Nothing is queued between caller and service: the caller pulls the answer and the service the
/// request, so each waits for the other. The caller is a part of the server that belongs to `namespace`, or the one of that namespace in whose
/// name it calls. A call has no [`Line`](super::Line), and is never given up: it ends when its caller drops it.
pub(crate) fn in_process<S>(
    service: S,
    identities: Identities,
    namespace: Arc<str>,
    calls: Arc<Calls>,
    stop: CancellationToken,
) -> InProcess
where
    S: Service<Request<Body>, Response = Response<Body>, Error = Infallible, Future: Send>
        + Clone
        + Send
        + Sync
        + 'static,
{
    InProcess::new(move |mut request| {
        let within = deadline::of(request.headers());
        let call = calls.begin(&request);
        let answer = match stop.is_cancelled() {
            true => Err(Status::unavailable("the hub has stopped")),
            false => admit_in_process(&identities, &namespace, &mut request),
        };
        let answer = answer.map(|()| service.clone().call(request));
        async move {
            let answer = match answer {
                Ok(answer) => deadline::keep(within, answer).await,
                Err(status) => status.into_http(),
            };
            call.answered(&answer);
            answer
        }
    })
}

#[cfg(test)]
mod tests {
    use std::{future::pending, sync::Arc, time::Duration};

    use agenthub_proto::grpc::Transport;
    use tokio::sync::mpsc;
    use tower::{ServiceExt as _, service_fn};

    use super::*;

    /// Headers of the answer to a call.
    async fn called(services: &InProcess, request: Request<Body>) -> Response<Body> {
        let answer = Transport::from(services.clone()).oneshot(request).await;
        answer.expect("it always answers")
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_ends_with_its_deadline_and_none_begins_after_the_end() {
        let service = service_fn(|_| pending());
        let stop = CancellationToken::new();
        let services = in_process(
            service,
            Identities::none(),
            "default".into(),
            Arc::default(),
            stop.clone(),
        );
        let mut request = Request::new(Body::empty());
        let limit = "1S".parse().expect("a header");
        request.headers_mut().insert("grpc-timeout", limit);
        let late = called(&services, request).await;
        assert_eq!(late.headers()["grpc-status"], "4");
        stop.cancel();
        let refused = called(&services, Request::new(Body::empty())).await;
        assert_eq!(refused.headers()["grpc-status"], "14");
    }

    #[tokio::test]
    async fn a_call_that_is_dropped_ends_at_the_service() {
        let (alive, mut ended) = mpsc::channel::<Infallible>(1);
        let alive = Arc::new(std::sync::Mutex::new(Some(alive)));
        let service = service_fn(move |_| {
            let alive = alive.lock().expect("no panic").take();
            async move {
                let _alive = alive;
                pending().await
            }
        });
        let services = in_process(
            service,
            Identities::none(),
            "default".into(),
            Arc::default(),
            CancellationToken::new(),
        );
        let call = called(&services, Request::new(Body::empty()));
        let given_up = tokio::time::timeout(Duration::from_millis(10), call).await;
        assert!(given_up.is_err());
        let ended = tokio::time::timeout(Duration::from_secs(10), ended.recv()).await;
        assert_eq!(ended, Ok(None));
    }
}

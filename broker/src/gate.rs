//! The gate before every service: who calls, what the call needs at least, and the end of streams whose callers have lost their rights. gRPC is
//! [`Gated`], HTTP passes through [`gated`]. Services find the caller among the extensions of the request.

mod addressing;
mod ending;
mod http;
mod recording;
#[cfg(test)]
mod watch_tests;

use std::{
    convert::Infallible,
    future::{Ready, ready},
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use agenthub_access::{
    Admitted, Credential, Denied, Identities, Needs, QuotaExceeded, Rpc, StreamEnd, rpc,
};
use agenthub_proto::{PeerCertificate, grpc::InProcess, socket::in_process::ThisProcess};
use futures_util::future::{BoxFuture, Either, MapOk, TryFutureExt as _};
use tokio::time::{MissedTickBehavior, interval};
use tonic::{
    Status,
    body::Body,
    codegen::{
        Service,
        http::{Extensions, HeaderMap, Request, Response, header},
    },
};

pub use self::http::gated;

use self::{
    ending::{EndingBody, Form},
    recording::Recording,
};
use crate::{
    grpc::quota_exceeded,
    metrics::{Calls, Measured},
    namespaces::{Namespaces, NoServices, Served},
};

/// Interval of looking at the files of identities.
const REFRESH: Duration = Duration::from_millis(250);

/// Services of gRPC behind a gate.
#[derive(Clone, Debug)]
pub struct Gated<S> {
    services: S,
    served: Served,
    others: Namespaces<S>,
    identities: Identities,
    calls: Option<Arc<Calls>>,
}

impl<S> Gated<S> {
    /// Lets nobody to these services but those of the namespace `served` who may call them, and those of other namespaces to theirs.
    pub fn new(services: S, served: Served, others: Namespaces<S>, identities: Identities) -> Self {
        Self {
            services,
            served,
            others,
            identities,
            calls: None,
        }
    }

    /// Counts the calls.
    pub(crate) fn counted(self, calls: Arc<Calls>) -> Self {
        Self {
            calls: Some(calls),
            ..self
        }
    }
}

/// Adds the early end to an answer that is a stream.
type Ends = Box<dyn FnOnce(Response<Body>) -> Response<Body> + Send>;

impl<S> Service<Request<Body>> for Gated<S>
where
    S: Service<Request<Body>, Response = Response<Body>, Error = Infallible, Future: Send>
        + Clone
        + Send
        + 'static,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Measured<Answer<S::Future>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.services.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let call = self.calls.as_ref().map(|calls| calls.begin(&request));
        Measured::new(self.pass(request), call)
    }
}

/// The answer to a call that may be a stream, or was refused.
type Answer<F> =
    Either<Either<F, MapOk<F, Ends>>, Either<Ready<Answered>, BoxFuture<'static, Answered>>>;

/// An answer that is there.
type Answered = Result<Response<Body>, Infallible>;

impl<S> Gated<S>
where
    S: Service<Request<Body>, Response = Response<Body>, Error = Infallible, Future: Send>
        + Clone
        + Send
        + 'static,
{
    fn pass(&mut self, mut request: Request<Body>) -> Answer<S::Future> {
        let (version, uri) = (request.version(), request.uri());
        if let Some(why) = addressing::fault(version, uri, request.headers()) {
            recording::turned_away(
                &self.identities,
                None,
                recording::source(request.extensions()),
                recording::rpc_action(request.uri().path()),
                why,
            );
            let status = Status::invalid_argument(why);
            return Either::Right(Either::Left(ready(Ok(status.into_http()))));
        }
        let rpc = rpc(request.uri().path());
        let needs = rpc.map(|rpc| rpc.needs);
        let admitted = match admit(&self.identities, needs, &request) {
            Ok(admitted) => admitted,
            Err(status) => return Either::Right(Either::Left(ready(Ok(status.into_http())))),
        };
        let mut other = match self.others.services_for(&self.served, needs, &admitted) {
            Ok(services) => services,
            Err(why) => {
                recording::not_served(
                    &self.identities,
                    &admitted.caller,
                    recording::source(request.extensions()),
                    recording::rpc_action(request.uri().path()),
                    why,
                );
                let status = no_services(why);
                return Either::Right(Either::Left(ready(Ok(status.into_http()))));
            }
        };
        let services = other.as_mut().unwrap_or(&mut self.services);
        request
            .extensions_mut()
            .insert(Arc::clone(&admitted.caller));
        let meter = self.identities.meter(&admitted.caller);
        if !meter.is_unlimited() {
            request.extensions_mut().insert(meter);
        }
        let end = match rpc.filter(|rpc| rpc.is_stream) {
            None => None,
            Some(rpc) => match open_stream(&self.identities, rpc, &admitted) {
                Ok(end) => Some(end),
                Err(exceeded) => {
                    let status = quota_exceeded(&exceeded);
                    return Either::Right(Either::Left(ready(Ok(status.into_http()))));
                }
            },
        };
        if rpc.is_some_and(|rpc| rpc.waits) && !self.identities.is_open() {
            let recording = Recording::of(
                &self.identities,
                rpc,
                &admitted.caller,
                request.extensions_mut(),
            );
            let left = services.clone();
            let services = std::mem::replace(services, left);
            let answer = waiting(
                services,
                request,
                recording,
                self.identities.clone(),
                admitted,
            );
            return Either::Right(Either::Right(Box::pin(answer)));
        }
        let recording = Recording::of(
            &self.identities,
            rpc,
            &admitted.caller,
            request.extensions_mut(),
        );
        if let Some(recording) = recording {
            // The clone that is left is not the one that is ready.
            let left = services.clone();
            let services = std::mem::replace(services, left);
            let answer = recording.call(services, request, end);
            return Either::Right(Either::Right(Box::pin(answer)));
        }
        let Some(end) = end else {
            return Either::Left(Either::Left(services.call(request)));
        };
        let ends: Ends = Box::new(move |answer| {
            answer.map(|body| Body::new(EndingBody::new(body, end, Form::Grpc)))
        });
        Either::Left(Either::Right(services.call(request).map_ok(ends)))
    }
}

/// The early end of a stream, which counts for the quotas of its caller.
fn open_stream(
    identities: &Identities,
    rpc: &Rpc,
    admitted: &Admitted,
) -> Result<StreamEnd, QuotaExceeded> {
    let reflection = rpc
        .is_reflection
        .then(|| identities.meter(&admitted.caller).reflection_stream());
    identities.open_stream_with(admitted, reflection.transpose()?)
}

/// The answer to a call that waits for others, unless the credential of its caller is worth nothing any more before.
async fn waiting<S>(
    mut services: S,
    request: Request<Body>,
    recording: Option<Recording>,
    identities: Identities,
    admitted: Admitted,
) -> Answered
where
    S: Service<Request<Body>, Response = Response<Body>, Error = Infallible>,
{
    let answer = async {
        match recording {
            Some(recording) => recording.call(services, request, None).await,
            None => services.call(request).await,
        }
    };
    tokio::select! {
        answer = answer => answer,
        why = ending::unauthenticated(&identities, &admitted) => Ok(Status::unauthenticated(why).into_http()),
    }
}

/// Notices changed identities until it is dropped, so that streams end within a second of their callers' rights.
pub async fn watch(identities: Identities) {
    let mut ticks = interval(REFRESH);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        if let Err(error) = identities.refresh() {
            tracing::error!("identities stay as they are: {error}");
        }
    }
}

/// The caller of an RPC, if it may make it. `None` for an RPC that has no line among the rights.
fn admit(
    identities: &Identities,
    needs: Option<Needs>,
    request: &Request<Body>,
) -> Result<Admitted, Status> {
    if needs == Some(Needs::Nothing) && !identities.is_open() {
        return Ok(Admitted::nobody());
    }
    let admitted = identities.authenticate(credential(request.headers(), request.extensions()));
    let refused = |caller, why: &str| {
        let source = recording::source(request.extensions());
        let action = recording::rpc_action(request.uri().path());
        recording::turned_away(identities, caller, source, action, why);
    };
    let admitted = admitted.map_err(|denied| {
        refused(None, &denied.to_string());
        status(&denied)
    })?;
    match needs {
        _ if admitted.caller.is_unrestricted() => Ok(admitted),
        // Whatever is served there: without a line nobody has a right to it.
        None => {
            let why = "nothing is served under this name to whom the hub knows rights of";
            refused(Some(&admitted.caller), why);
            Err(Status::unimplemented(why))
        }
        Some(needs) => match needs.check(&admitted.caller) {
            Ok(()) => Ok(admitted),
            Err(why) => {
                refused(Some(&admitted.caller), &why);
                Err(Status::permission_denied(why))
            }
        },
    }
}

/// Lets a call of the server's own process through to services of `namespace`: in the name of the caller for whom it is made, if it carries one,
/// and otherwise as a part of the server.
///
/// # Errors
///
/// That caller may not make it, belongs to another namespace, or is nobody any more.
pub(crate) fn admit_in_process(
    identities: &Identities,
    namespace: &Arc<str>,
    request: &mut Request<Body>,
) -> Result<(), Status> {
    let caller = match request.extensions().get::<Admitted>() {
        None => {
            let part = ThisProcess(Arc::clone(namespace));
            request.extensions_mut().insert(part);
            identities.own_caller_in(namespace)
        }
        Some(_) => {
            let needs = rpc(request.uri().path()).map(|rpc| rpc.needs);
            let caller = admit(identities, needs, request)?.caller;
            if *caller.namespace != **namespace {
                return Err(Status::permission_denied(
                    "the caller belongs to another namespace",
                ));
            }
            caller
        }
    };
    request.extensions_mut().insert(caller);
    Ok(())
}

/// Services of this process and of `namespace` behind a gate: calls in somebody's name have that one's rights.
pub fn gated_in_process(services: InProcess, namespace: &str, identities: Identities) -> InProcess {
    let namespace: Arc<str> = namespace.into();
    services.admitting(move |request| admit_in_process(&identities, &namespace, request))
}

/// The credential in a request. Who presents a token is meant by it, also over a connection with a certificate. A part of this process is itself,
/// whatever token the process has, or the caller in whose name it calls.
fn credential<'a>(headers: &'a HeaderMap, extensions: &'a Extensions) -> Credential<'a> {
    if let Some(admitted) = extensions.get::<Admitted>() {
        return Credential::Admitted(admitted);
    }
    if let Some(ThisProcess(namespace)) = extensions.get() {
        return Credential::ThisProcess(namespace);
    }
    match headers.get(header::AUTHORIZATION) {
        None => match extensions.get::<PeerCertificate>() {
            Some(certificate) => Credential::Certificate(certificate.name()),
            None => Credential::None,
        },
        // What is no text is no token either.
        Some(value) => Credential::Authorization(value.to_str().unwrap_or_default()),
    }
}

fn no_services(why: NoServices) -> Status {
    match why {
        NoServices::NotYet => Status::unavailable(why.to_string()),
        NoServices::Unknown => Status::permission_denied(why.to_string()),
    }
}

fn status(denied: &Denied) -> Status {
    match denied {
        Denied::Unauthenticated(why) => Status::unauthenticated(why),
        Denied::PermissionDenied(why) => Status::permission_denied(why),
        Denied::Unavailable(why) => Status::unavailable(why),
    }
}

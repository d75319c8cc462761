//! gRPC reflection. Most hubs are never asked, so the descriptors are decoded on demand.

use std::{
    convert::Infallible,
    sync::{Arc, LazyLock},
    task::{Context, Poll},
};

use tonic::{
    body::Body, codegen::Service, codegen::http::Request, server::NamedService, service::Routes,
};
use tonic_reflection::{
    pb::{v1, v1alpha},
    server::Builder,
};

/// Adds reflection, in both its versions, that lists these services and itself.
pub(crate) fn serve(
    routes: Routes,
    names: Vec<&'static str>,
    descriptors: Vec<&'static [u8]>,
) -> Routes {
    let current = [&*names, &[v1::server_reflection_server::SERVICE_NAME]].concat();
    let older = [&*names, &[v1alpha::server_reflection_server::SERVICE_NAME]].concat();
    let same = descriptors.clone();
    routes
        .add_service(Lazily::new(|| {
            listing(current, descriptors).build_v1().expect(DECODE)
        }))
        .add_service(Lazily::new(|| {
            listing(older, same).build_v1alpha().expect(DECODE)
        }))
}

fn listing(names: Vec<&'static str>, descriptors: Vec<&'static [u8]>) -> Builder<'static> {
    let builder = Builder::configure()
        .register_encoded_file_descriptor_set(agenthub_proto::FILE_DESCRIPTOR_SET)
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET);
    let described =
        |builder: Builder<'static>, set| builder.register_encoded_file_descriptor_set(set);
    let builder = descriptors.into_iter().fold(builder, described);
    let named = |builder: Builder<'static>, name| builder.with_service_name(name);
    names.into_iter().fold(builder, named)
}

/// The descriptors are part of the program.
const DECODE: &str = "the descriptors are those of the services";

/// A service created on its first call. It is always ready, like tonic's services.
struct Lazily<S>(Arc<LazyLock<S, Box<dyn FnOnce() -> S + Send>>>);

impl<S> Lazily<S> {
    fn new(make: impl FnOnce() -> S + Send + 'static) -> Self {
        Self(Arc::new(LazyLock::new(Box::new(make))))
    }
}

impl<S> Clone for Lazily<S> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<S: NamedService> NamedService for Lazily<S> {
    const NAME: &'static str = S::NAME;
}

impl<S> Service<Request<Body>> for Lazily<S>
where
    S: Service<Request<Body>, Error = Infallible> + Clone,
{
    type Response = S::Response;
    type Error = Infallible;
    type Future = S::Future;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> S::Future {
        S::clone(&self.0).call(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_descriptors_decode() {
        let names = vec!["agenthub.AgentHub"];
        assert!(listing(names.clone(), Vec::new()).build_v1().is_ok());
        assert!(listing(names, Vec::new()).build_v1alpha().is_ok());
    }
}

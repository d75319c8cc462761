//! Additional services on the hub's address.

use std::convert::Infallible;

use agenthub_access::Identities;
use tonic::{
    body::Body,
    codegen::{Service, http::Request},
    server::NamedService,
    service::Routes,
};

/// Services beside the hub's.
#[derive(Clone, Debug, Default)]
pub struct ExtraServices {
    pub(crate) routes: Routes,
    pub(crate) names: Vec<&'static str>,
    /// Encoded sets of file descriptors.
    pub(crate) descriptors: Vec<&'static [u8]>,
    /// Identities of the callers of all services, the hub's too; nobody needs one by default.
    pub(crate) identities: Option<Identities>,
}

impl ExtraServices {
    /// Lets nobody to any service of the server, the hub's too, but those who may call it.
    #[must_use]
    pub fn guarded_by(mut self, identities: Identities) -> Self {
        self.identities = Some(identities);
        self
    }

    /// Lists this service in reflection. It must be among the routes, and its descriptors must be known here.
    #[must_use]
    pub fn listed<S: NamedService>(mut self) -> Self {
        self.names.push(S::NAME);
        self
    }

    /// Adds a service, whose encoded set of file descriptors this is, and has reflection list it.
    #[must_use]
    pub fn with<S>(mut self, service: S, descriptors: &'static [u8]) -> Self
    where
        S: Service<Request<Body>, Error = Infallible>
            + NamedService
            + Clone
            + Send
            + Sync
            + 'static,
        S::Response: axum::response::IntoResponse,
        S::Future: Send + 'static,
    {
        self.routes = self.routes.add_service(service);
        self.descriptors.push(descriptors);
        self.listed::<S>()
    }
}

impl From<Routes> for ExtraServices {
    fn from(routes: Routes) -> Self {
        Self {
            routes,
            names: Vec::new(),
            descriptors: Vec::new(),
            identities: None,
        }
    }
}

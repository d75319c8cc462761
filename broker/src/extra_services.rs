//! Additional services on the hub's address.

use tonic::{server::NamedService, service::Routes};

/// Services beside the hub's.
#[derive(Clone, Debug, Default)]
pub struct ExtraServices {
    pub(crate) routes: Routes,
    pub(crate) names: Vec<&'static str>,
}

impl ExtraServices {
    /// Lists this service in reflection. It must be among the routes, and its descriptors must be known here.
    #[must_use]
    pub fn listed<S: NamedService>(mut self) -> Self {
        self.names.push(S::NAME);
        self
    }
}

impl From<Routes> for ExtraServices {
    fn from(routes: Routes) -> Self {
        Self {
            routes,
            names: Vec::new(),
        }
    }
}

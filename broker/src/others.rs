//! What is served on the hub's address beside the hub.

use tonic::{server::NamedService, service::Routes};

/// Services beside the hub's.
#[derive(Clone, Debug, Default)]
pub struct Others {
    pub(crate) routes: Routes,
    pub(crate) names: Vec<&'static str>,
}

impl Others {
    /// Has reflection list this service, which is among the routes and whose descriptors are known here.
    #[must_use]
    pub fn listed<S: NamedService>(mut self) -> Self {
        self.names.push(S::NAME);
        self
    }
}

impl From<Routes> for Others {
    fn from(routes: Routes) -> Self {
        Self {
            routes,
            names: Vec::new(),
        }
    }
}

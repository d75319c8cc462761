//! Runs of any agent, over HTTP and gRPC: started, watched, answered, listed, resumed and called back.
//!
//! [`Runs`] (`runs/`) is what is done, whoever asks; [`Http`] (`http/`) and [`Service`] (`grpc/`) are the two doors to it. Cortex is what drives the
//! runs that are started here ([`agenthub_cortex::Handle`]); the runs of other agents are read from their journals.

mod grpc;
mod http;
mod runs;

pub use grpc::Service;
pub use http::{Hosts, Http};
pub use runs::Runs;

//! A hub as its clients see it: the connection to it, its agents, its events.

pub use crate::{
    client::{ClientBuilder, EventStream},
    connection::{Connection, Published},
    directory::{Directory, DirectoryEntry},
};
pub use agenthub_proto::{grpc::InProcess, tls::ClientTls};

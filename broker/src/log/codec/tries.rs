//! Records of delivery attempts and superseded instances.

use prost::Message;

use crate::log::{Position, Try};

#[derive(Clone, PartialEq, Message)]
pub(super) struct TriedRecord {
    #[prost(string, tag = "1")]
    pub(super) agent: String,
    #[prost(string, tag = "2")]
    pub(super) name: String,
    #[prost(message, repeated, tag = "3")]
    pub(super) tries: Vec<TryRecord>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TryRecord {
    #[prost(uint64, tag = "1")]
    position: u64,
    #[prost(uint32, tag = "2")]
    attempts: u32,
    #[prost(string, tag = "3")]
    instance: String,
    #[prost(bool, tag = "4")]
    is_out: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct SupersededRecord {
    #[prost(string, tag = "1")]
    pub(super) agent: String,
    #[prost(string, tag = "2")]
    pub(super) task: String,
    #[prost(string, repeated, tag = "3")]
    pub(super) instances: Vec<String>,
}

impl From<&Try> for TryRecord {
    fn from(tried: &Try) -> Self {
        Self {
            position: tried.position.0,
            attempts: tried.attempts,
            instance: tried.instance.to_string(),
            is_out: tried.is_out,
        }
    }
}

impl From<TryRecord> for Try {
    fn from(record: TryRecord) -> Self {
        Self {
            position: Position(record.position),
            attempts: record.attempts,
            instance: record.instance.into(),
            is_out: record.is_out,
        }
    }
}

//! Messages.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde_json::Value;

/// A message on a topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Id, the same when the message is published again.
    pub id: String,
    /// Messages with the same key keep their order.
    pub key: String,
    /// Values beside the content, by their names.
    pub headers: BTreeMap<String, String>,
    /// The content: JSON, unless a stranger published it.
    pub body: Bytes,
}

impl Message {
    /// A message of a JSON value, without headers.
    pub fn json(id: impl Into<String>, key: impl Into<String>, body: &Value) -> Self {
        Self {
            id: id.into(),
            key: key.into(),
            headers: BTreeMap::new(),
            body: body.to_string().into(),
        }
    }

    /// The content, if it is JSON.
    pub fn value(&self) -> Option<Value> {
        serde_json::from_slice(&self.body).ok()
    }
}

//! Records of Kafka as they are on a topic, for those who do not publish [messages](crate::Message).

use bytes::Bytes;

/// A partition of a topic.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Partition {
    /// The topic.
    pub topic: String,
    /// The partition's number.
    pub number: i32,
}

/// A record of a topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its partition.
    pub partition: Partition,
    /// Its place in the partition.
    pub offset: i64,
    /// Its time, in milliseconds since 1970; `None` if its topic has no times.
    pub timestamp_ms: Option<i64>,
    /// Records with the same key keep their order.
    pub key: Option<Bytes>,
    /// Its headers, in their order; names may repeat.
    pub headers: Vec<Header>,
    /// Its body; `None` says that there is nothing any more under the key.
    pub body: Option<Bytes>,
}

impl Record {
    /// Text of a header. Of several with one name, the last one; `None` as well if it is no UTF-8.
    pub fn header(&self, name: &str) -> Option<&str> {
        let header = self.headers.iter().rfind(|header| header.name == name)?;
        std::str::from_utf8(&header.value).ok()
    }
}

/// A header of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: Bytes,
}

impl Header {
    /// A header with a text.
    pub fn text(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            value: value.into().into(),
        }
    }
}

/// A record to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewRecord {
    /// The topic.
    pub topic: String,
    /// Records with the same key keep their order.
    pub key: Option<Bytes>,
    /// Its headers.
    pub headers: Vec<Header>,
    /// Its body.
    pub body: Option<Bytes>,
}

impl NewRecord {
    /// Text of a header; `None` as well if it is no UTF-8.
    pub fn header(&self, name: &str) -> Option<&str> {
        let header = self.headers.iter().find(|header| header.name == name)?;
        std::str::from_utf8(&header.value).ok()
    }
}

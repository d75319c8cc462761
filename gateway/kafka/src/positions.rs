//! Positions of a connector, as records of its own topic. The latest of each key counts.

use std::collections::BTreeMap;

use agenthub_bus::{NewRecord, Partition};
use bytes::Bytes;
use serde_json::{Value, json};

/// Key of the position in the hub's log behind which events are still to be mirrored.
const OUT: &str = "out";

/// Key of a position in the hub's log before everything that was taken in and is not counted by the offsets.
const IN: &str = "in";

/// Positions up to which a connector has carried.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Positions {
    /// Position in the hub's log up to which events are mirrored.
    pub out: Option<String>,
    /// Position in the hub's log. A record whose offset is not counted yet is behind it, if the hub has it.
    pub recall: Option<String>,
    /// Offset of the next record of each partition.
    pub offsets: BTreeMap<Partition, i64>,
}

impl Positions {
    /// Reads the latest records of the topic.
    ///
    /// # Errors
    ///
    /// A record that no connector has written.
    pub fn read(latest: &BTreeMap<String, Bytes>) -> Result<Self, String> {
        let mut positions = Self::default();
        for (key, body) in latest {
            let strange = || format!("the record {key:?} is none that a connector writes");
            let body: Value = serde_json::from_slice(body).map_err(|_| strange())?;
            let position = || body["position"].as_str().map(str::to_owned);
            match key.split('/').collect::<Vec<_>>()[..] {
                [OUT] => positions.out = Some(position().ok_or_else(strange)?),
                [IN] => positions.recall = Some(position().ok_or_else(strange)?),
                [IN, topic, number] => {
                    let partition = Partition {
                        topic: topic.to_owned(),
                        number: number.parse().map_err(|_| strange())?,
                    };
                    let offset = body["offset"].as_i64().ok_or_else(strange)?;
                    positions.offsets.insert(partition, offset);
                }
                _ => return Err(strange()),
            }
        }
        Ok(positions)
    }
}

/// The record of a position up to which events are mirrored.
pub fn mirrored(topic: &str, position: &str) -> NewRecord {
    record(topic, OUT.to_owned(), &json!({ "position": position }))
}

/// The record of a position before everything that is taken in from now on.
pub fn recall(topic: &str, position: &str) -> NewRecord {
    record(topic, IN.to_owned(), &json!({ "position": position }))
}

/// The record of the offset that is next in a partition.
pub fn taken(topic: &str, partition: &Partition, offset: i64) -> NewRecord {
    let key = format!("{IN}/{}/{}", partition.topic, partition.number);
    record(topic, key, &json!({ "offset": offset }))
}

fn record(topic: &str, key: String, body: &Value) -> NewRecord {
    NewRecord {
        topic: topic.to_owned(),
        key: Some(key.into()),
        headers: Vec::new(),
        body: Some(body.to_string().into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_read_as_they_were_written() {
        let partition = Partition {
            topic: "orders.eu".to_owned(),
            number: 3,
        };
        let records = [
            mirrored("t", "0a-1"),
            recall("t", "0a-2"),
            taken("t", &partition, 7),
        ];
        let latest = records.map(|record| {
            let key = record.key.expect("a key");
            let key = String::from_utf8(key.into()).expect("a text");
            (key, record.body.expect("a body"))
        });
        let read = Positions::read(&latest.into()).expect("as they were");
        let expected = Positions {
            out: Some("0a-1".to_owned()),
            recall: Some("0a-2".to_owned()),
            offsets: [(partition, 7)].into(),
        };
        assert_eq!(read, expected);
    }

    #[test]
    fn a_record_of_somebody_else_is_refused() {
        for (key, body) in [
            ("out", "{}"),
            ("else", "{}"),
            ("in/t/x", "{\"offset\":1}"),
            ("in", "x"),
        ] {
            let latest = [(key.to_owned(), Bytes::from_static(body.as_bytes()))];
            let error = Positions::read(&latest.into()).expect_err("strange");
            assert!(error.contains(key), "{error}");
        }
    }
}

//! The number of times that work was handed on, on its way over A2A: hubs that have each other as agents elsewhere would hand it on for ever.

use prost_types::{Struct, value::Kind};

use crate::v1::Message;

/// Metadata of a message: the number of times that its work was handed on.
const HOPS: &str = "urn:agenthub:hops";

/// Notes with a message how often its work was handed on.
pub(crate) fn note(message: &mut Message, hops: u32) {
    let fields = &mut message.metadata.get_or_insert_default().fields;
    let hops = Kind::NumberValue(hops.into());
    fields.insert(HOPS.to_owned(), hops.into());
}

/// The number that came with a message; 0 if none did. What is no number of hops is taken for too many.
pub(crate) fn of(metadata: Option<&Struct>) -> u32 {
    let noted = metadata.and_then(|metadata| metadata.fields.get(HOPS));
    match noted.and_then(|value| value.kind.as_ref()) {
        None => 0,
        Some(Kind::NumberValue(hops)) if (0.0..=f64::from(u32::MAX)).contains(hops) => *hops as u32,
        Some(_) => u32::MAX,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::json::from_json;

    #[test]
    fn hops_are_read_as_they_were_noted() {
        let mut message = Message::default();
        assert_eq!(of(message.metadata.as_ref()), 0);
        note(&mut message, 3);
        assert_eq!(of(message.metadata.as_ref()), 3);
        for wrong in [json!(-1), json!("3"), json!(1e300)] {
            let message: Message = from_json(json!({"metadata": {HOPS: wrong}})).expect("one");
            assert_eq!(of(message.metadata.as_ref()), u32::MAX, "{wrong}");
        }
    }
}

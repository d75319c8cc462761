//! Progress of steps in flight.

use serde_json::{Value, json};
use tokio::{sync::mpsc, task::coop::consume_budget};
use tokio_util::sync::CancellationToken;

use crate::{
    event::RunEvent,
    id::StepKey,
    journal::{self, ProgressSize},
};

/// Queued pieces of one run; a step that reports more waits for room.
pub(crate) const QUEUE_LENGTH: usize = 64;

/// Maximum bytes of a piece as JSON.
const MAX_PIECE_BYTES: usize = 64 * 1024;

/// Maximum pieces of a run.
pub(crate) const MAX_PIECES: u64 = 10_000;

/// Maximum bytes of a run's progress in the journal: 8 MiB.
pub(crate) const MAX_BYTES: u64 = 8 << 20;

/// Bytes kept of each text in a piece that is too large: the first of these that makes it small enough.
const TRUNCATED_BYTES: [usize; 3] = [16 * 1024, 1024, 64];

/// Reports the progress of a step in flight. A piece is durable before [`World::show`](crate::World::show) sees it;
/// pieces arrive in order and before the end of the step; decisions ignore them. Clones report for the same step.
#[derive(Clone, Debug)]
pub struct Progress {
    key: StepKey,
    pieces: mpsc::Sender<Piece>,
    /// Cancelled when the step has ended or is recalled.
    over: CancellationToken,
}

/// A piece of progress of one attempt.
#[derive(Debug)]
pub(crate) struct Piece {
    pub(crate) key: StepKey,
    pub(crate) value: Value,
}

impl Progress {
    pub(crate) fn new(key: StepKey, pieces: mpsc::Sender<Piece>, over: CancellationToken) -> Self {
        Self { key, pieces, over }
    }

    /// Reports a piece; waits while the queue is full. Pieces over 64 KiB of JSON are truncated: only the beginning of
    /// each text is kept. Pieces after the first 10,000 or 8 MiB of a run are dropped. No effect once the step has
    /// ended or was recalled.
    pub async fn note(&self, value: Value) {
        let piece = Piece {
            key: self.key.clone(),
            value: within(value),
        };
        // Yields to other tasks, so that endless progress can be cancelled.
        consume_budget().await;
        tokio::select! {
            biased;
            () = self.over.cancelled() => {}
            // An error means that no driver has the run any more.
            _ = self.pieces.send(piece) => {}
        }
    }
}

/// The event to journal for a piece, given the progress so far. The first piece over the limit becomes a marker; later
/// ones become nothing.
pub(crate) fn event_of(
    before: ProgressSize,
    Piece { key, value }: Piece,
    at_ms: u64,
) -> Option<RunEvent> {
    if before.pieces > MAX_PIECES || before.bytes >= MAX_BYTES {
        return None;
    }
    let event = |value| RunEvent::Progressed {
        step: key.step.clone(),
        attempt: key.attempt,
        value,
        at_ms,
    };
    let piece = event(value);
    let bytes = before.bytes + journal::encode(&piece).len() as u64;
    Some(match before.pieces < MAX_PIECES && bytes < MAX_BYTES {
        true => piece,
        false => event(marker()),
    })
}

/// Marker for dropped progress.
fn marker() -> Value {
    let most = MAX_BYTES >> 20;
    json!({
        "type": "warning",
        "message": format!("what comes after {MAX_PIECES} pieces or {most} MiB of progress is not shown"),
        "data": { "dropped": true },
    })
}

/// The size that an event of this many serialized bytes adds to the run's progress; `None` if it is not progress. A
/// marker counts as the full limit, so that nothing is journaled after it.
pub(crate) fn weight(event: &RunEvent, bytes: usize) -> Option<ProgressSize> {
    let RunEvent::Progressed { value, .. } = event else {
        return None;
    };
    let is_marker = *value == marker();
    Some(ProgressSize {
        pieces: 1,
        bytes: if is_marker { MAX_BYTES } else { bytes as u64 },
    })
}

/// The value, truncated if it is too large.
fn within(value: Value) -> Value {
    let bytes = length(&value);
    if bytes <= MAX_PIECE_BYTES {
        return value;
    }
    for kept in TRUNCATED_BYTES {
        let mut short = value.clone();
        shorten(&mut short, kept);
        if length(&short) <= MAX_PIECE_BYTES {
            return short;
        }
    }
    // The value has very many members: only the texts at its top level are kept.
    let texts = match value {
        Value::Object(members) => members.into_iter().filter(|(_, v)| v.is_string()).take(16),
        _ => return json!(format!("[{bytes} bytes left out]")),
    };
    let mut texts = Value::Object(texts.collect());
    texts["leftOut"] = format!("{bytes} bytes").into();
    texts
}

fn length(value: &Value) -> usize {
    value.to_string().len()
}

/// Truncates long texts.
fn shorten(value: &mut Value, kept: usize) {
    match value {
        Value::String(text) if text.len() > 2 * kept => {
            let left_out = text.split_off(text.floor_char_boundary(kept)).len();
            text.push_str(&format!(" [… {left_out} bytes left out]"));
        }
        Value::Array(values) => values.iter_mut().for_each(|v| shorten(v, kept)),
        Value::Object(members) => members.values_mut().for_each(|v| shorten(v, kept)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{RunId, StepId};

    #[test]
    fn what_is_too_large_keeps_its_shape_and_the_beginning_of_its_texts() {
        let small = json!({ "type": "delta", "message": "x".repeat(60_000) });
        assert_eq!(within(small.clone()), small);

        let large =
            json!({ "type": "tool_result", "data": { "n": 1, "result": "ü".repeat(60_000) } });
        let shortened = within(large);
        assert_eq!(shortened["type"], "tool_result");
        assert_eq!(shortened["data"]["n"], 1);
        let text = shortened["data"]["result"].as_str().expect("a text");
        assert!(text.starts_with("üü"));
        assert!(
            text.ends_with("ü [… 103616 bytes left out]"),
            "{}",
            &text[16_000..]
        );

        let texts: Value = (0..300).map(|_| "y".repeat(1_000)).collect();
        let shortened = within(json!({ "data": texts }));
        assert_eq!(shortened["data"].as_array().map(Vec::len), Some(300));
        let first = shortened["data"][0].as_str().expect("a text");
        assert!(first.ends_with("y [… 936 bytes left out]"), "{first}");

        let numbers: Value = (0..100_000).collect();
        let shortened = within(json!({ "type": "tool_call", "data": numbers.clone() }));
        assert_eq!(
            shortened,
            json!({ "type": "tool_call", "leftOut": "588919 bytes" })
        );
        assert_eq!(within(numbers), json!("[588891 bytes left out]"));
    }

    fn piece(value: Value) -> Piece {
        let key = StepKey {
            run: RunId::new("r"),
            step: StepId::new("s"),
            attempt: 1,
        };
        Piece { key, value }
    }

    fn value(event: Option<RunEvent>) -> Value {
        match event {
            Some(RunEvent::Progressed { value, .. }) => value,
            other => panic!("{other:?} is no progress"),
        }
    }

    #[test]
    fn a_run_shows_so_many_pieces_and_then_says_that_there_are_more() {
        let after = |pieces| ProgressSize { pieces, bytes: 0 };
        let shown = |before| event_of(after(before), piece(json!(1)), 0);
        assert_eq!(value(shown(MAX_PIECES - 1)), json!(1));
        assert_eq!(value(shown(MAX_PIECES)), marker());
        assert_eq!(shown(MAX_PIECES + 1), None);
    }

    #[test]
    fn a_run_shows_so_many_bytes_and_then_says_that_there_are_more() {
        let mut shown = ProgressSize::default();
        let mut values = Vec::new();
        for _ in 0..1_000 {
            let large = piece(json!("x".repeat(60_000)));
            let Some(event) = event_of(shown, large, 0) else {
                continue;
            };
            shown += weight(&event, journal::encode(&event).len()).expect("it is progress");
            values.push(value(Some(event)));
        }
        let markers = values.iter().filter(|value| **value == marker()).count();
        assert_eq!((markers, values.last()), (1, Some(&marker())));
        assert_eq!(values.len() as u64, MAX_BYTES / 60_087 + 1);
        let small = event_of(shown, piece(json!(1)), 0);
        assert_eq!(small, None, "also what is small stays behind the marker");
    }
}

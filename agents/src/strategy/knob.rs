//! A knob, as a payload names it: its range, and the setting that is wished, if any.

use serde_json::Value;

/// A knob.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Knob {
    pub(super) name: String,
    /// The setting that is wished.
    pub(super) wish: Option<f64>,
    pub(super) min: f64,
    pub(super) max: f64,
}

impl Knob {
    /// A knob by its wish (a number) or its definition (`{ value?, min?, max?, … }`). It goes from 0 to 1 unless it is said, in order and
    /// in finite numbers, from where to where it goes.
    pub(super) fn new(name: &str, said: &Value) -> Self {
        let number =
            |value: Option<&Value>| value.and_then(Value::as_f64).filter(|n| n.is_finite());
        let bounds = number(said.get("min")).unwrap_or(0.0)..number(said.get("max")).unwrap_or(1.0);
        let (min, max) = match bounds.start < bounds.end && (bounds.end - bounds.start).is_finite()
        {
            true => (bounds.start, bounds.end),
            false => (0.0, 1.0),
        };
        let wish = number(Some(said)).or_else(|| number(said.get("value")));
        Self {
            name: name.to_owned(),
            wish: wish.map(|wish| wish.clamp(min, max)),
            min,
            max,
        }
    }

    /// The default: the wish, or else the middle.
    pub(super) fn fallback(&self) -> f64 {
        self.wish.unwrap_or(self.min + (self.max - self.min) / 2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_knob_is_a_wish_or_a_definition() {
        for (said, wish, min, max) in [
            (json!(0.3), Some(0.3), 0.0, 1.0),
            (json!(7), Some(1.0), 0.0, 1.0),
            (json!({"value": 3, "min": 1, "max": 5}), Some(3.0), 1.0, 5.0),
            (json!({"min": 5, "max": 1}), None, 0.0, 1.0),
            (json!({"min": -1e308, "max": 1e308}), None, 0.0, 1.0),
            (json!(null), None, 0.0, 1.0),
            (json!("high"), None, 0.0, 1.0),
        ] {
            let knob = Knob::new("k", &said);
            assert_eq!((knob.wish, knob.min, knob.max), (wish, min, max), "{said}");
        }
        assert_eq!(Knob::new("k", &json!({"min": 1, "max": 5})).fallback(), 3.0);
    }
}

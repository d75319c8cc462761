//! Distance of a draft from the knobs that were set for it.
//!
//! A knob is whatever the payload names: `knobs: { NAME: 0.3 }` or `{ NAME: { value, min?, max?, description?, measure? } }`. Its setting goes
//! from `min` to `max` (0 to 1 if not given) and is compared on a scale from 0 to 1. `measure` says how the draft's own setting is computed: a
//! name from [`MEASURES`], or `{ kind, from?, to? }`, where `from` and `to` are the measured values that count as the lowest and the highest
//! setting. What no measure tells, a model may; what a writer says of its own draft is shown but does not count.
//!
//! The distance is the root mean square of (wanted - measured) over the knobs that were measured: 0 is a perfect fit, 1 the opposite.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{
    check::{Check, Issue, NEEDS_A_MODEL, rounded},
    fix::Fix,
};
use crate::text::{
    count::Range,
    folded::excerpt,
    measures::{MEASURES, measured},
    parsed::Text,
};

/// The greatest distance that passes unless the payload says otherwise.
pub(super) const MAX_DISTANCE: f64 = 0.25;

/// A knob as the payload sets it, on the scale from 0 to 1.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Knob {
    pub(super) name: String,
    pub(super) wanted: f64,
    /// The payload's words on it, for a model.
    pub(super) definition: Value,
    measure: Option<Measure>,
    /// A measure was named that nobody knows.
    unknown: Option<String>,
    min: f64,
    max: f64,
}

#[derive(Clone, Debug, PartialEq)]
struct Measure {
    kind: &'static str,
    from: f64,
    to: f64,
}

/// The setting that a draft has, from 0 to 1, by the lowest and the highest reading, and how that is known.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Reading {
    pub(super) setting: Range,
    pub(super) how: String,
}

impl Reading {
    /// Of its settings that which is nearest to what is wanted.
    fn nearest(&self, wanted: f64) -> f64 {
        match wanted < self.setting.low {
            true => self.setting.low,
            false => wanted.min(self.setting.high),
        }
    }
}

/// The settings of a draft by knob.
pub(super) type Readings = BTreeMap<String, Reading>;

/// The knobs that are set. Those without a usable value are left out.
pub(super) fn wanted(knobs: &Map<String, Value>) -> Vec<Knob> {
    let knobs = knobs.iter();
    knobs
        .filter_map(|(name, value)| Knob::read(name, value))
        .collect()
}

impl Knob {
    fn read(name: &str, value: &Value) -> Option<Self> {
        let number = |key: &str| value.get(key).and_then(Value::as_f64);
        let set = value.as_f64().or_else(|| number("value"))?;
        let (min, max) = (number("min").unwrap_or(0.0), number("max").unwrap_or(1.0));
        let measure = value.get("measure").filter(|m| !m.is_null());
        let known = measure.and_then(Measure::read);
        let unknown = measure.filter(|_| known.is_none());
        Some(Self {
            name: name.to_owned(),
            wanted: scaled(set, min, max)?,
            definition: value.clone(),
            measure: known,
            unknown: unknown.map(|measure| excerpt(&measure.to_string())),
            min,
            max,
        })
    }

    /// True if its setting is computed.
    pub(super) fn is_measured(&self) -> bool {
        self.measure.is_some()
    }

    /// True if its setting is computed by this measure.
    pub(super) fn is_measured_by(&self, kind: &str) -> bool {
        self.measure
            .as_ref()
            .is_some_and(|measure| measure.kind == kind)
    }

    /// A setting that was told on the knob's own scale.
    pub(super) fn setting(&self, told: f64) -> Option<f64> {
        scaled(told, self.min, self.max)
    }

    /// A setting, as it is told on the knob's own scale.
    pub(super) fn told(&self, setting: f64) -> f64 {
        self.min + setting * (self.max - self.min)
    }
}

impl Measure {
    fn read(value: &Value) -> Option<Self> {
        let kind = value.as_str().or_else(|| value.get("kind")?.as_str())?;
        let &(kind, from, to) = MEASURES.iter().find(|(known, ..)| *known == kind)?;
        let number = |key: &str| value.get(key).and_then(Value::as_f64);
        Some(Self {
            kind,
            from: number("from").unwrap_or(from),
            to: number("to").unwrap_or(to),
        })
    }

    fn reading(&self, text: &Text) -> Option<Reading> {
        let raw = measured(self.kind, text)?;
        let ends = [raw.low, raw.high].map(|value| scaled(value, self.from, self.to));
        let [one, other] = [ends[0]?, ends[1]?];
        Some(Reading {
            setting: Range {
                low: one.min(other),
                high: one.max(other),
            },
            how: format!("{} is {}", self.kind, raw.told()),
        })
    }
}

/// Position of a number between two others, which may stand in either order: 0 at the first, 1 at the second, and not beyond them.
fn scaled(number: f64, from: f64, to: f64) -> Option<f64> {
    let part = (number - from) / (to - from);
    part.is_finite().then(|| part.clamp(0.0, 1.0))
}

/// Readings of the knobs' measures.
pub(super) fn readings(text: &Text, knobs: &[Knob]) -> Readings {
    let reading = |knob: &Knob| Some((knob.name.clone(), knob.measure.as_ref()?.reading(text)?));
    knobs.iter().filter_map(reading).collect()
}

/// Distance of a knob's setting from what is wanted, by the reading that is nearest and that which is farthest.
fn off(wanted: f64, setting: Range) -> Range {
    let ends = [setting.low, setting.high].map(|end| (wanted - end).abs());
    let is_inside = (setting.low..=setting.high).contains(&wanted);
    Range {
        low: if is_inside { 0.0 } else { ends[0].min(ends[1]) },
        high: ends[0].max(ends[1]),
    }
}

/// The distance over what is known of the draft, and which knob is farthest off; `None` if nothing is known.
fn distance<'a>(knobs: &'a [Knob], readings: &Readings) -> Option<(Range, &'a Knob)> {
    let known = knobs.iter().filter_map(|knob| {
        let reading = readings.get(&knob.name)?;
        Some((knob, off(knob.wanted, reading.setting)))
    });
    let known: Vec<(&Knob, Range)> = known.collect();
    let mean = |end: fn(&Range) -> f64| {
        let squares: f64 = known.iter().map(|(_, off)| end(off).powi(2)).sum();
        rounded((squares / known.len() as f64).sqrt())
    };
    let (worst, _) = known
        .iter()
        .rev()
        .max_by(|a, b| a.1.low.total_cmp(&b.1.low))?;
    let distance = Range {
        low: mean(|off| off.low),
        high: mean(|off| off.high),
    };
    Some((distance, worst))
}

/// Checks whether the draft is as near to its knobs as is wanted. `claimed` is what its writer says of it.
pub(super) fn check(
    knobs: &[Knob],
    readings: &Readings,
    claimed: &Map<String, Value>,
    most: f64,
) -> Check {
    let check = Check::new("knob_distance", "Distance from the knobs", 1.5);
    let evidence: Vec<String> = knobs
        .iter()
        .map(|knob| told_of(knob, readings.get(&knob.name), claimed.get(&knob.name)))
        .collect();
    let evidence = evidence.join("; ");
    let Some((distance, worst)) = distance(knobs, readings) else {
        return check.not_checked(evidence);
    };
    let shown = match distance.low == distance.high {
        true => format!("{:.3}", distance.low),
        false => format!("{:.3} to {:.3}", distance.low, distance.high),
    };
    let evidence = format!("distance {shown}, at most {most} wanted: {evidence}");
    if distance.high <= most {
        return check.scored(1.0 - distance.high).pass(evidence);
    }
    if distance.low <= most {
        return check.not_checked(evidence);
    }
    let check = check.scored(1.0 - distance.low);
    let fix = Fix::Knob {
        name: worst.name.clone(),
        from: readings
            .get(&worst.name)
            .map_or(0.0, |r| r.nearest(worst.wanted)),
        to: worst.wanted,
    };
    let off = knobs.iter().filter_map(|knob| {
        let Reading { setting, how } = readings.get(&knob.name)?;
        let is_off = off(knob.wanted, *setting).low > most || knob == worst;
        let (name, setting) = (json!(excerpt(&knob.name)), setting.told());
        is_off.then(|| {
            format!(
                "{name} is at {setting} instead of {:.2}: {how}",
                knob.wanted
            )
        })
    });
    let off: Vec<String> = off.collect();
    let wrong = format!(
        "the draft is {shown} off its knobs where at most {most} is wanted ({})",
        off.join(", ")
    );
    check.fail(evidence, Issue::new("knob", wrong, fix))
}

fn told_of(knob: &Knob, reading: Option<&Reading>, claim: Option<&Value>) -> String {
    let name = json!(excerpt(&knob.name));
    let wanted = format!("{name} wanted {:.2}", knob.wanted);
    if let Some(reading) = reading {
        return format!(
            "{wanted}, found {} ({})",
            reading.setting.told(),
            reading.how
        );
    }
    let why = match (&knob.measure, &knob.unknown) {
        (Some(measure), _) => format!("the draft has nothing for {} to measure", measure.kind),
        (None, Some(unknown)) => format!("no program knows the measure {unknown}"),
        (None, None) => NEEDS_A_MODEL.to_owned(),
    };
    let claim = claim.map_or_else(String::new, |claim| {
        format!(", the writer says {}", excerpt(&claim.to_string()))
    });
    format!("{wanted}, not measured: {why}{claim}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{super::check::Verdict, *};

    /// Four sentences, eight words, two emoji, one number, one hashtag; two questions, one exclamation.
    const DRAFT: &str = "Is it on? Really? Go go 🚀! We have 5. 🎉 #go";

    fn map(value: Value) -> Map<String, Value> {
        value.as_object().cloned().expect("an object")
    }

    fn review(draft: &str, knobs: Value) -> Check {
        let (text, knobs) = (Text::new(draft), wanted(&map(knobs)));
        check(&knobs, &readings(&text, &knobs), &Map::new(), MAX_DISTANCE)
    }

    #[test]
    fn measures_give_what_one_gets_by_hand() {
        let text = Text::new(DRAFT);
        let nine_words = "Is it on Really Go go We have 5".split(' ').count() as f64;
        let expected = [
            // The hashtag is a word to some.
            ("sentence_length", nine_words / 4.0, 10.0 / 4.0),
            ("word_length", 22.0 / nine_words, 22.0 / nine_words),
            // Two emoji are two units of UTF-16 each.
            ("length", 43.0, 45.0),
            ("question_share", 0.5, 0.5),
            ("exclamation_share", 0.25, 0.25),
            ("emoji_share", 2.0 / 10.0, 2.0 / nine_words),
            ("hashtag_share", 1.0 / 10.0, 1.0 / nine_words),
            ("number_share", 1.0 / nine_words, 1.0 / nine_words),
            ("word_variety", 8.0 / nine_words, 8.0 / nine_words),
        ];
        for (kind, low, high) in expected {
            assert_eq!(measured(kind, &text), Some(Range { low, high }), "{kind}");
        }
        assert_eq!(measured("lix", &text), None);
        let ten = Text::new("This one has letters. Here is another sentence of six.");
        assert_eq!(measured("lix", &ten), Some(Range::exactly(35.0)));
        for (kind, ..) in MEASURES {
            assert!(measured(kind, &ten).is_some(), "{kind}");
            assert_eq!(measured(kind, &Text::new("🚀")), None, "{kind}");
        }
    }

    /// spec: ORC-2.2
    #[test]
    fn the_distance_is_the_root_mean_square() {
        // Questions: 0.5 of all sentences, which is 1.00 of the scale; exclamations: 0.25, which is 0.50.
        let knobs = json!({
            "asking": { "value": 0.4, "measure": "question_share" },
            "loud": { "value": 1.3, "min": 0.5, "max": 1.5, "measure": "exclamation_share" },
        });
        let check = review(DRAFT, knobs);
        let distance = ((0.6_f64.powi(2) + 0.3_f64.powi(2)) / 2.0).sqrt();
        assert_eq!(check.verdict, Verdict::Fail);
        let score = check.score.expect("a score");
        assert!((score - (1.0 - distance)).abs() < 0.001, "{score}");
        assert_eq!(
            check.issue.expect("an issue").sentence(),
            "knob: the draft is 0.474 off its knobs where at most 0.25 is wanted (\"asking\" is at 1.00 instead of 0.40: question_share \
             is 0.50, \"loud\" is at 0.50 instead of 0.80: exclamation_share is 0.25); move knob \"asking\" from 1.00 to 0.40."
        );
    }

    #[test]
    fn a_measure_can_have_another_scale_even_a_falling_one() {
        let knob = |from: f64, to: f64| json!({ "calm": { "value": 0.5, "measure": { "kind": "exclamation_share", "from": from, "to": to } } });
        for (from, to, score) in [(0.5, 0.0, 1.0), (0.25, 0.0, 0.5), (0.0, 1.0, 0.75)] {
            assert_eq!(review(DRAFT, knob(from, to)).score, Some(score));
        }
    }

    /// A heading is a sentence to some.
    #[test]
    fn a_distance_that_depends_on_how_a_text_is_read_is_not_checked() {
        let draft = "Bread for all\n\nWe bake it every day, and you can buy it at the mill.";
        let knobs =
            |value: f64| json!({ "pace": { "value": value, "measure": "sentence_length" } });
        assert_eq!(review(draft, knobs(0.3)).verdict, Verdict::Pass);
        assert_eq!(review(draft, knobs(0.6)).verdict, Verdict::NotChecked);
        assert_eq!(review(draft, knobs(1.0)).verdict, Verdict::Fail);
        let evidence = review(draft, knobs(0.6)).evidence;
        assert_eq!(
            evidence,
            "distance 0.160 to 0.480, at most 0.25 wanted: \"pace\" wanted 0.60, found 0.12 to 0.44 (sentence_length is 8.00 to 16.00)"
        );
        let japanese = json!({ "k": { "value": 0.5, "measure": "word_length" } });
        assert_eq!(
            review("パンを買うために店へ行く。", japanese).verdict,
            Verdict::NotChecked
        );
    }

    #[test]
    fn what_the_writer_says_of_itself_does_not_count() {
        let knobs = wanted(&map(json!({ "warmth": 0.9 })));
        let claimed = map(json!({ "warmth": 0.1 }));
        let check = check(&knobs, &Readings::new(), &claimed, MAX_DISTANCE);
        assert_eq!(check.verdict, Verdict::NotChecked);
        assert!(
            check.evidence.contains("the writer says 0.1"),
            "{}",
            check.evidence
        );
    }

    #[test]
    fn knobs_without_a_usable_value_are_left_out() {
        let knobs = json!({ "a": null, "b": "high", "c": {}, "d": { "value": 1, "min": 2, "max": 2 }, "e": [1], "f": 7 });
        let names: Vec<_> = wanted(&map(knobs))
            .into_iter()
            .map(|k| (k.name, k.wanted))
            .collect();
        assert_eq!(names, [("f".to_owned(), 1.0)]);
        let check = review(DRAFT, json!({ "a": { "value": 1, "measure": "tempo" } }));
        assert_eq!(check.verdict, Verdict::NotChecked);
        assert!(
            check
                .evidence
                .contains("no program knows the measure \"tempo\"")
        );
    }

    proptest! {
        #[test]
        fn any_knob_can_be_measured(draft: String, value: f64, min: f64, max: f64, from: f64, to: f64, at in 0..MEASURES.len()) {
            let kind = MEASURES[at].0;
            let measure = json!({ "kind": kind, "from": from, "to": to });
            let knobs = json!({ "k": { "value": value, "min": min, "max": max, "measure": measure } });
            let check = review(&draft, knobs);
            prop_assert!(check.score.is_none_or(|score| (0.0..=1.0).contains(&score)));
        }
    }
}

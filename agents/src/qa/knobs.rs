//! How far a draft is from the knobs that were set for it.
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
    folded::excerpt,
    measured::Measured,
    text::{Text, ends_with_a_question, ends_with_an_exclamation, letters},
};

/// The greatest distance that passes unless the payload says otherwise.
pub(super) const MAX_DISTANCE: f64 = 0.25;

/// The measures that a knob can name, with the values that count as its lowest and highest setting if it does not say: what ordinary
/// texts have at least and at most.
pub const MEASURES: [(&str, f64, f64); 10] = [
    // Words per sentence.
    ("sentence_length", 5.0, 30.0),
    // Letters per word.
    ("word_length", 3.0, 8.0),
    // LIX, see `readability.rs`.
    ("lix", 20.0, 60.0),
    // Characters.
    ("length", 0.0, 1_500.0),
    // Of all sentences.
    ("question_share", 0.0, 0.5),
    // Of all sentences.
    ("exclamation_share", 0.0, 0.5),
    // Emoji per word.
    ("emoji_share", 0.0, 0.2),
    // Hashtags per word.
    ("hashtag_share", 0.0, 0.2),
    // Words with a digit, of all words.
    ("number_share", 0.0, 0.2),
    // Different words, of all words.
    ("word_variety", 0.4, 1.0),
];

/// A knob as the payload sets it, on the scale from 0 to 1.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Knob {
    pub(super) name: String,
    pub(super) wanted: f64,
    /// What the payload says of it, for a model.
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

/// The setting that a draft has, from 0 to 1, and how that is known.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Reading {
    pub(super) setting: f64,
    pub(super) how: String,
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
        Some(Reading {
            setting: scaled(raw, self.from, self.to)?,
            how: format!("{} is {raw:.2}", self.kind),
        })
    }
}

/// Where a number is between two others, which may stand in either order: 0 at the first, 1 at the second, and not beyond them.
fn scaled(number: f64, from: f64, to: f64) -> Option<f64> {
    let part = (number - from) / (to - from);
    part.is_finite().then(|| part.clamp(0.0, 1.0))
}

/// What a measure gives for a text; `None` where there is nothing to measure.
fn measured(kind: &str, text: &Text) -> Option<f64> {
    let count = |what| text.count(what) as f64;
    let words = Some(count(Measured::Words)).filter(|&n| n > 0.0)?;
    let sentences = count(Measured::Sentences);
    let share_of_sentences = |is: fn(&str) -> bool| {
        let all = text.sentences.iter();
        all.filter(|s| is(text.sentence(s))).count() as f64 / sentences
    };
    Some(match kind {
        "sentence_length" => words / sentences,
        "word_length" => text.words().map(letters).sum::<usize>() as f64 / words,
        "lix" => super::readability::lix(text).ok()?.value(),
        "length" => count(Measured::Characters),
        "question_share" => share_of_sentences(ends_with_a_question),
        "exclamation_share" => share_of_sentences(ends_with_an_exclamation),
        "emoji_share" => count(Measured::Emoji) / words,
        "hashtag_share" => count(Measured::Hashtags) / words,
        "number_share" => {
            let has_digit = |word: &&str| word.chars().any(char::is_numeric);
            text.words().filter(has_digit).count() as f64 / words
        }
        "word_variety" => {
            let different: std::collections::HashSet<String> =
                text.words().map(str::to_lowercase).collect();
            different.len() as f64 / words
        }
        _ => return None,
    })
}

/// What the measures of the knobs tell.
pub(super) fn readings(text: &Text, knobs: &[Knob]) -> Readings {
    let reading = |knob: &Knob| Some((knob.name.clone(), knob.measure.as_ref()?.reading(text)?));
    knobs.iter().filter_map(reading).collect()
}

/// The distance over what is known of the draft, and which knob is farthest off; `None` if nothing is known.
fn distance<'a>(knobs: &'a [Knob], readings: &Readings) -> Option<(f64, &'a Knob)> {
    let off = |knob: &&Knob| {
        let reading = readings.get(&knob.name);
        reading.map_or(0.0, |r| (knob.wanted - r.setting).abs())
    };
    let known: Vec<&Knob> = knobs
        .iter()
        .filter(|k| readings.contains_key(&k.name))
        .collect();
    let squares: f64 = known.iter().map(|k| off(k).powi(2)).sum();
    let worst = known
        .iter()
        .copied()
        .rev()
        .max_by(|a, b| off(a).total_cmp(&off(b)))?;
    Some(((squares / known.len() as f64).sqrt(), worst))
}

/// Whether the draft is as near to its knobs as is wanted. `claimed` is what its writer says of it.
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
    let distance = rounded(distance);
    let evidence = format!("distance {distance:.3}, at most {most} wanted: {evidence}");
    let check = check.scored(1.0 - distance);
    if distance <= most {
        return check.pass(evidence);
    }
    let fix = Fix::Knob {
        name: worst.name.clone(),
        from: readings.get(&worst.name).map_or(0.0, |r| r.setting),
        to: worst.wanted,
    };
    let off = knobs.iter().filter_map(|knob| {
        let Reading { setting, how } = readings.get(&knob.name)?;
        let is_off = (knob.wanted - setting).abs() > most || knob == worst;
        let name = json!(excerpt(&knob.name));
        is_off.then(|| {
            format!(
                "{name} is at {setting:.2} instead of {:.2}: {how}",
                knob.wanted
            )
        })
    });
    let off: Vec<String> = off.collect();
    let wrong = format!(
        "the draft is {distance:.3} off its knobs where at most {most} is wanted ({})",
        off.join(", ")
    );
    check.fail(evidence, Issue::new("knob", wrong, fix))
}

fn told_of(knob: &Knob, reading: Option<&Reading>, claim: Option<&Value>) -> String {
    let name = json!(excerpt(&knob.name));
    let wanted = format!("{name} wanted {:.2}", knob.wanted);
    if let Some(reading) = reading {
        return format!("{wanted}, found {:.2} ({})", reading.setting, reading.how);
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
            ("sentence_length", nine_words / 4.0),
            ("word_length", 22.0 / nine_words),
            ("length", 43.0),
            ("question_share", 0.5),
            ("exclamation_share", 0.25),
            ("emoji_share", 2.0 / nine_words),
            ("hashtag_share", 1.0 / nine_words),
            ("number_share", 1.0 / nine_words),
            ("word_variety", 8.0 / nine_words),
        ];
        for (kind, value) in expected {
            assert_eq!(measured(kind, &text), Some(value), "{kind}");
        }
        assert_eq!(measured("lix", &text), None);
        let ten = Text::new("This one has letters. Here is another sentence of six.");
        assert_eq!(measured("lix", &ten), Some(35.0));
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

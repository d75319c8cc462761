//! Measurements of a text, for those who write.

use serde_json::{Map, Value};

use super::{
    check::Verdict,
    knobs::{self, Knob},
    language,
};
use crate::text::{
    count::Count, language::Language, literal, lix::lix, measured::Measured, parsed::Text,
    phrases::Phrases,
};

/// A text, measured as it is in a review.
pub(crate) struct Measuring(Text);

/// Knobs that a draft can be measured by.
#[derive(Default)]
pub(crate) struct Knobs(Vec<Knob>);

/// A knob that was measured.
pub(crate) struct Setting {
    pub(crate) name: String,
    /// From 0 to 1, as `measured`.
    pub(crate) wanted: f64,
    pub(crate) measured: f64,
    /// The measured setting on the knob's own scale.
    pub(crate) told: f64,
}

impl Knobs {
    /// The knobs of a payload.
    pub(crate) fn read(knobs: &Map<String, Value>) -> Self {
        Self(knobs::wanted(knobs))
    }

    /// The names of those that no measure tells.
    pub(crate) fn unmeasured(&self) -> Vec<String> {
        let knobs = self.0.iter().filter(|knob| !knob.is_measured());
        knobs.map(|knob| knob.name.clone()).collect()
    }

    /// True if one is measured so, by the name of the measure.
    pub(crate) fn measures(&self, kind: &str) -> bool {
        self.0.iter().any(|knob| knob.is_measured_by(kind))
    }
}

impl Measuring {
    pub(crate) fn new(text: &str) -> Self {
        Self(Text::new(text))
    }

    pub(crate) fn count(&self, what: Measured) -> Count {
        self.0.count(what)
    }

    /// The highest LIX by any reading; `None` where the formula does not fit.
    pub(crate) fn lix(&self) -> Option<f64> {
        let lix = lix(&self.0).ok()?;
        Some(lix.value().high)
    }

    /// The words of the longest sentence, by the reading that gives it the most.
    pub(crate) fn longest_sentence(&self) -> u64 {
        let longest = self.0.longest_sentences();
        longest.map_or(0, |[_, long]| long.words.len() as u64)
    }

    /// True if it has this text word for word, to every reader.
    pub(crate) fn includes(&self, part: &str) -> bool {
        literal::sightings(&self.0, part).is_exact()
    }

    /// True if it has this phrase, with other endings either, to every reader.
    pub(crate) fn says(&self, phrase: &str, language: &str) -> bool {
        let phrases = Phrases::new(&self.0, Language::named(language));
        phrases.find(&self.0, phrase).is_said()
    }

    /// The reason why it is not, or not surely, in the language that is wanted; `None` also where none is.
    pub(crate) fn language_fault(&self, wanted: &str) -> Option<String> {
        if wanted.is_empty() {
            return None;
        }
        let check = language::check(&self.0, wanted);
        (check.verdict != Verdict::Pass).then_some(check.evidence)
    }

    /// The settings of the knobs that have a measure.
    pub(crate) fn settings(&self, knobs: &Knobs) -> Vec<Setting> {
        let mut readings = knobs::readings(&self.0, &knobs.0);
        let setting = |knob: &Knob| {
            // Of several readings that which is farthest off.
            let reading = readings.remove(&knob.name)?.setting;
            let is_low = knob.wanted - reading.low > reading.high - knob.wanted;
            let measured = if is_low { reading.low } else { reading.high };
            Some(Setting {
                name: knob.name.clone(),
                wanted: knob.wanted,
                measured,
                told: knob.told(measured),
            })
        };
        knobs.0.iter().filter_map(setting).collect()
    }
}

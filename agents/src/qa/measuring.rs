//! What can be measured of a text, for those who write.

use serde_json::{Map, Value};

use super::{
    folded::Folded,
    knobs::{self, Knob},
    language::Language,
    measured::Measured,
    must_include,
    phrases::Phrases,
    readability,
    text::Text,
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
}

impl Measuring {
    pub(crate) fn new(text: &str) -> Self {
        Self(Text::new(text))
    }

    pub(crate) fn count(&self, what: Measured) -> u64 {
        self.0.count(what)
    }

    /// The LIX; `None` where the formula does not fit.
    pub(crate) fn lix(&self) -> Option<f64> {
        readability::lix(&self.0).ok().map(readability::Lix::value)
    }

    /// The words of the longest sentence.
    pub(crate) fn longest_sentence(&self) -> u64 {
        let longest = self.0.longest_sentence();
        longest.map_or(0, |sentence| sentence.words.len() as u64)
    }

    /// Whether it has this text, as a text that must be included is looked for.
    pub(crate) fn includes(&self, part: &str) -> bool {
        must_include::found(&self.0, &Folded::new(part)).is_some()
    }

    /// Whether it has this phrase, as one that is forbidden is looked for in this language.
    pub(crate) fn says(&self, phrase: &str, language: &str) -> bool {
        let phrases = Phrases::new(&self.0, Language::named(language));
        phrases.find(&self.0, phrase).is_some()
    }

    /// The settings of the knobs that have a measure.
    pub(crate) fn settings(&self, knobs: &Knobs) -> Vec<Setting> {
        let mut readings = knobs::readings(&self.0, &knobs.0);
        let setting = |knob: &Knob| {
            let reading = readings.remove(&knob.name)?;
            Some(Setting {
                name: knob.name.clone(),
                wanted: knob.wanted,
                measured: reading.setting,
                told: knob.told(reading.setting),
            })
        };
        knobs.0.iter().filter_map(setting).collect()
    }
}

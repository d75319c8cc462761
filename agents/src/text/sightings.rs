//! Places of a phrase in a draft, and what they say to those who want it there and to those who do not.

use std::ops::Range;

use serde_json::json;

use super::{
    folded::{excerpt, line},
    parsed::Text,
};

/// Kind of a phrase's sighting in a draft.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Word for word.
    Exact,
    /// With a hyphen for a space, or the other way round.
    Spaced,
    /// With another ending.
    Inflected,
    /// To some readers; why not to all.
    Unsure(&'static str),
    /// As a part of a longer word.
    Longer,
    /// Another word that begins like it, which may be a form of it or not.
    Akin,
}

/// A phrase in a draft.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sighting {
    pub(crate) kind: Kind,
    /// In the draft as it was written.
    pub(crate) place: Range<usize>,
}

/// All ways in which a phrase stands in a draft, each where it does first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sightings(Vec<Sighting>);

/// Finding on a test, if all readers agree, and the reason.
pub(crate) type Answer = (Option<bool>, String);

impl Sightings {
    pub(crate) fn push(&mut self, kind: Kind, place: Range<usize>) {
        if !self.0.iter().any(|known| known.kind == kind) {
            self.0.push(Sighting { kind, place });
        }
    }

    pub(crate) fn is_exact(&self) -> bool {
        self.of(Kind::Exact).is_some()
    }

    /// The first place where it stands word for word.
    pub(crate) fn exact_place(&self) -> Option<Range<usize>> {
        self.of(Kind::Exact).map(|sighting| sighting.place.clone())
    }

    /// True if it is there to every reader, if with another ending or a hyphen more.
    pub(crate) fn is_said(&self) -> bool {
        let said = [Kind::Exact, Kind::Spaced, Kind::Inflected];
        said.into_iter().any(|kind| self.of(kind).is_some())
    }

    fn of(&self, kind: Kind) -> Option<&Sighting> {
        self.0.iter().find(|sighting| sighting.kind == kind)
    }

    fn unsure(&self) -> Option<(&'static str, &Sighting)> {
        self.0.iter().find_map(|sighting| match sighting.kind {
            Kind::Unsure(why) => Some((why, sighting)),
            _ => None,
        })
    }

    /// Tells whether a phrase that is wanted word for word is there.
    pub(crate) fn is_there(&self, text: &Text) -> Answer {
        let shown = |sighting: &Sighting| shown(text, sighting);
        if let Some(exact) = self.of(Kind::Exact) {
            return (Some(true), shown(exact));
        }
        if let Some(spaced) = self.of(Kind::Spaced) {
            let place = shown(spaced);
            return (
                None,
                format!(
                    "only with a hyphen or a space more or less ({place}), which may be the same or not"
                ),
            );
        }
        if let Some((why, sighting)) = self.unsure() {
            return (
                None,
                format!("only {why} ({}), which may count or not", shown(sighting)),
            );
        }
        if let Some(inflected) = self.of(Kind::Inflected) {
            return (
                Some(false),
                format!("only with another ending ({})", shown(inflected)),
            );
        }
        if let Some(longer) = self.of(Kind::Longer) {
            return (
                Some(false),
                format!("only in a longer word or number ({})", shown(longer)),
            );
        }
        (Some(false), "nowhere in the draft".to_owned())
    }

    /// Tells whether a phrase that is not to be said is said, with other endings either; `absence` tells that it was not found.
    pub(crate) fn is_said_in(&self, text: &Text, absence: String) -> Answer {
        let said = [Kind::Exact, Kind::Spaced, Kind::Inflected];
        if let Some(sighting) = said.into_iter().find_map(|kind| self.of(kind)) {
            return (Some(true), shown(text, sighting));
        }
        if let Some((why, sighting)) = self.unsure() {
            let place = shown(text, sighting);
            return (
                None,
                format!("only {why} ({place}), which may count or not"),
            );
        }
        match self.of(Kind::Longer) {
            Some(longer) => {
                let place = shown(text, longer);
                (
                    None,
                    format!("only in a longer word or number ({place}), which may count or not"),
                )
            }
            None => match self.of(Kind::Akin) {
                Some(akin) => {
                    let place = shown(text, akin);
                    (
                        None,
                        format!(
                            "only a word that begins like it ({place}), which may be a form of it or not"
                        ),
                    )
                }
                None => (Some(false), absence),
            },
        }
    }
}

/// A place as evidence: `line 2: "Book now"`.
pub(crate) fn shown(text: &Text, sighting: &Sighting) -> String {
    let place = sighting.place.clone();
    let number = line(&text.raw, place.start);
    format!("line {number}: {}", json!(excerpt(&text.raw[place])))
}

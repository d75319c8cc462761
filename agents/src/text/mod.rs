//! Texts as the specialists measure them: sentences, words, numbers, languages, marks and phrases.
//!
//! [`parsed::Text`] reads a text once; [`measured`] names what it counts, and each [`count::Count`] says by how much readers may differ.
//! [`phrases`] finds words and phrases: [`literal`], with other endings ([`inflection`]), and numbers with other separators ([`numbers`]).
//! Nothing here judges: that is for those who ask.

pub(crate) mod asking;
pub(crate) mod count;
pub(crate) mod emoji;
pub(crate) mod folded;
pub(crate) mod inflection;
mod items;
pub(crate) mod language;
pub(crate) mod literal;
pub(crate) mod lix;
pub(crate) mod marks;
pub(crate) mod measured;
pub(crate) mod measures;
pub(crate) mod numbers;
pub(crate) mod parsed;
pub(crate) mod phrases;
pub(crate) mod script;
pub(crate) mod sentences;
pub(crate) mod sightings;
pub(crate) mod words;

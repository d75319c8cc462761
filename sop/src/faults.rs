//! All that is wrong with one file.

use std::{path::Path, sync::Arc};

use crate::{Fault, Place};

/// Collects the faults of a file.
#[derive(Debug)]
pub(crate) struct Faults<'f> {
    path: &'f Path,
    text: Arc<str>,
    found: Vec<Fault>,
}

impl<'f> Faults<'f> {
    /// None yet, of a file with this text.
    pub(crate) fn of(path: &'f Path, text: &str) -> Self {
        Self {
            path,
            text: text.into(),
            found: Vec::new(),
        }
    }

    /// Something for which the file can't be used.
    pub(crate) fn error(
        &mut self,
        place: Place,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        let fault = Fault::error(self.path, message);
        self.found
            .push(fault.placed(place, &self.text).helped(help));
    }

    /// Something that its author should look at.
    pub(crate) fn warning(
        &mut self,
        place: Place,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        let fault = Fault::warning(self.path, message);
        self.found
            .push(fault.placed(place, &self.text).helped(help));
    }

    /// What stands at a place of the file.
    pub(crate) fn source(&self, place: Place) -> &str {
        &self.text[place.bytes(&self.text)]
    }

    /// What was found, if that is only warnings.
    ///
    /// # Errors
    ///
    /// What was found, if an error is among it. Both are in the order of the file.
    pub(crate) fn warnings(mut self) -> Result<Vec<Fault>, Vec<Fault>> {
        self.found
            .sort_by_key(|fault| fault.place.map(|place| (place.line, place.column)));
        match self.found.iter().any(Fault::is_error) {
            true => Err(self.found),
            false => Ok(self.found),
        }
    }
}

/// The known word that somebody may have meant.
pub(crate) fn meant<'w>(word: &str, known: impl IntoIterator<Item = &'w str>) -> Option<&'w str> {
    let plain = |word: &str| word.to_lowercase().replace(['_', ' '], "-");
    let word = plain(word);
    known
        .into_iter()
        .map(|known| (strsim::jaro_winkler(&word, &plain(known)), known))
        .filter(|(likeness, _)| *likeness >= 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, known)| known)
}

/// `a, b or c`, each in backticks.
pub(crate) fn choice(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    match quoted.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        None => String::new(),
    }
}

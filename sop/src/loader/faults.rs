//! All that is wrong with one file.

use std::{path::Path, sync::Arc};

use crate::{Fault, Place};

/// The most faults of a file that are told one by one.
const MAX_FAULTS: usize = 100;

/// Collects the faults of a file.
#[derive(Debug)]
pub(crate) struct Faults<'f> {
    path: &'f Path,
    text: Arc<str>,
    found: Vec<Fault>,
    /// Number of those that are not told one by one.
    more: usize,
    is_wrong: bool,
}

impl<'f> Faults<'f> {
    /// None yet, of a file with this text.
    pub(crate) fn of(path: &'f Path, text: &str) -> Self {
        Self {
            path,
            text: text.into(),
            found: Vec::new(),
            more: 0,
            is_wrong: false,
        }
    }

    /// Something for which the file can't be used.
    pub(crate) fn error(
        &mut self,
        place: Place,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.is_wrong = true;
        self.add(Fault::error(self.path, message), place, help);
    }

    /// Something that its author should look at.
    pub(crate) fn warning(
        &mut self,
        place: Place,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.add(Fault::warning(self.path, message), place, help);
    }

    fn add(&mut self, fault: Fault, place: Place, help: impl Into<String>) {
        match self.found.len() < MAX_FAULTS {
            true => self
                .found
                .push(fault.placed(place, &self.text).helped(help)),
            false => self.more += 1,
        }
    }

    /// The text at a place of the file.
    pub(crate) fn source(&self, place: Place) -> &str {
        &self.text[place.bytes(&self.text)]
    }

    /// The faults, if they are only warnings.
    ///
    /// # Errors
    ///
    /// The faults, if an error is among them. Both are in the order of the file.
    pub(crate) fn warnings(mut self) -> Result<Vec<Fault>, Vec<Fault>> {
        self.found
            .sort_by_key(|fault| fault.place.map(|place| (place.line, place.column)));
        if self.more > 0 {
            let message = format!("{} more faults are in this file", self.more);
            let fault = match self.is_wrong {
                true => Fault::error(self.path, message),
                false => Fault::warning(self.path, message),
            };
            self.found.push(fault.helped("mend those above first"));
        }
        match self.is_wrong {
            true => Err(self.found),
            false => Ok(self.found),
        }
    }
}

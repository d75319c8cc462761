//! Shows a fault to a person.

use std::{fmt, sync::Arc};

use miette::{
    Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource, SourceCode,
};

use crate::{Fault, Severity};

/// Width of the text, in columns, at most.
const WIDTH: usize = 100;

/// Longest line of a text that is shown, in bytes: nobody reads a longer one, and what draws them ends the program at 65,535 columns.
const LONGEST_LINE: usize = 2_000;

impl Fault {
    /// The fault with its line, what is meant in it, and the help; ends with a line break.
    pub fn rendered(&self, colour: bool) -> String {
        let theme = match colour {
            true => GraphicalTheme::unicode(),
            false => GraphicalTheme::unicode_nocolor(),
        };
        let handler = GraphicalReportHandler::new_themed(theme)
            .with_links(false)
            .with_context_lines(1)
            .with_width(WIDTH);
        let mut text = String::new();
        match handler.render_report(&mut text, &Diagnosed::of(self)) {
            Ok(()) => text,
            Err(_) => format!("{self}\n"),
        }
    }
}

/// A fault as miette takes it.
#[derive(Debug)]
struct Diagnosed<'f> {
    fault: &'f Fault,
    source: Option<NamedSource<Arc<str>>>,
    label: Option<LabeledSpan>,
}

impl<'f> Diagnosed<'f> {
    fn of(fault: &'f Fault) -> Self {
        let is_readable = || fault.text.lines().all(|line| line.len() <= LONGEST_LINE);
        let place = fault
            .place
            .filter(|_| !fault.text.is_empty() && is_readable());
        let (source, label) = match place {
            Some(place) => {
                let name = fault.path.to_string_lossy();
                let bytes = place.bytes(&fault.text);
                (
                    Some(NamedSource::new(name, Arc::clone(&fault.text))),
                    Some(LabeledSpan::new(None, bytes.start, bytes.len())),
                )
            }
            None => (None, None),
        };
        Self {
            fault,
            source,
            label,
        }
    }
}

impl fmt::Display for Diagnosed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.source {
            Some(_) => f.write_str(&self.fault.message),
            None => write!(f, "{}", self.fault),
        }
    }
}

impl std::error::Error for Diagnosed<'_> {}

impl Diagnostic for Diagnosed<'_> {
    fn severity(&self) -> Option<miette::Severity> {
        Some(match self.fault.severity {
            Severity::Error => miette::Severity::Error,
            Severity::Warning => miette::Severity::Warning,
        })
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        let help = self.fault.help.as_ref()?;
        Some(Box::new(help))
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        let source = self.source.as_ref()?;
        Some(source)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let label = self.label.clone()?;
        Some(Box::new(std::iter::once(label)))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::Place;

    #[test]
    fn a_fault_in_a_line_that_nobody_reads_is_told_without_it() {
        let place = Place {
            line: 1,
            column: 70_000,
            length: 1,
        };
        let fault = Fault {
            text: "x".repeat(80_000).into(),
            place: Some(place),
            ..Fault::error(Path::new("f.json"), "it is wrong")
        };
        let told = fault.rendered(false);
        assert!(told.contains("it is wrong"), "{told}");
        assert!(told.len() < 1_000, "{told}");
    }
}

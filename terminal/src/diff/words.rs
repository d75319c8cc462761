//! Differences in words.

use std::fmt;

use serde_json::Value;

use super::{Difference, Part, Side, StepDifference};

/// Maximum characters of a value that is shown.
const MAX_SHOWN: usize = 160;

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Objective => "objective",
            Self::Input => "input",
            Self::Undone => "extent of what is undone",
            Self::Agent => "agent",
            Self::Request => "request",
            Self::State => "state",
            Self::Result => "result",
            Self::Error => "error",
        })
    }
}

/// Difference, behind `the run` or the name of a step.
impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OnlyIn(Side::First) => f.write_str("only in the first run"),
            Self::OnlyIn(Side::Second) => f.write_str("only in the second run"),
            Self::Differs {
                part,
                at,
                first,
                second,
            } => {
                let at = match &**at {
                    "" => String::new(),
                    at => format!(" at {at}"),
                };
                let (first, second) = (shown(first.as_ref()), shown(second.as_ref()));
                write!(f, "its {part} differs{at}: {first}, then {second}")
            }
        }
    }
}

/// One line.
impl fmt::Display for StepDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.step, self.difference)
    }
}

fn shown(value: Option<&Value>) -> String {
    let Some(value) = value else {
        return "nothing".to_owned();
    };
    let text = value.to_string();
    match text.char_indices().nth(MAX_SHOWN) {
        None => text,
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

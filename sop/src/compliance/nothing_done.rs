//! Runs in which nothing was done: what they say and leave alone shows nothing of a rule.

use agenthub_sdk::runs::model::Undone;

use super::{Transcript, Verdict, checks::CheckResult};

/// The reason why nothing was done in a run that is over; `None` if something was, as far as its end says.
pub(super) fn why(transcript: &Transcript) -> Option<&'static str> {
    if !transcript.is_over() {
        return None;
    }
    match (transcript.state.as_str(), transcript.undone) {
        ("cancelled", _) => Some("the run was cancelled"),
        ("completed", Some(Undone::All)) => Some("nothing of the request was done"),
        ("completed", Some(Undone::Part)) if transcript.calls.is_empty() => {
            Some("the answer is a part at most, and nothing was called for it")
        }
        ("completed", _) => None,
        _ => Some("the run failed"),
    }
}

/// A verdict on what was done, of a run in which nothing was: none.
pub(super) fn without_doing(found: CheckResult, transcript: &Transcript) -> CheckResult {
    match (found.verdict, why(transcript)) {
        (Verdict::NotChecked, _) | (_, None) => found,
        (_, Some(why)) => CheckResult::not_checked(format!("{why}: {}", found.evidence)),
    }
}

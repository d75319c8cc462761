//! The profile of who speaks: its tone, its values, and whatever else it says. Only a model can judge whether a draft fits it.

use serde_json::{Map, Value};

use super::check::Check;

/// The check of a profile; `None` where there is none.
pub(super) fn check(profile: &Map<String, Value>) -> Option<Check> {
    let check = || {
        let rule = Check::new("profile", "Tone and profile of who speaks", 2.0).rule();
        rule.ask(
            "profile",
            "Does the draft sound like the one who speaks, as `clientProfile` in the `input` block describes it: in its tone, by its values \
             and instructions, and at odds with nothing else that stands there?",
        )
    };
    (!profile.is_empty()).then(check)
}

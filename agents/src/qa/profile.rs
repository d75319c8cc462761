//! The profile of who speaks: its tone, its values, and whatever else it says; its readers, and the place where they read it. Only a model can
//! judge whether a draft fits these.

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

/// The checks of whom the draft is for, and where it appears.
pub(super) fn readers(audience: &str, platform: &str) -> Vec<Check> {
    let mut checks = Vec::new();
    if !audience.is_empty() {
        let check = Check::new("audience", "Audience", 1.0).rule();
        let question =
            format!("Is the draft right for these readers, in what it says and how? {audience}");
        checks.push(check.ask("audience", question));
    }
    if !platform.is_empty() {
        let check = Check::new("platform", "Platform", 1.0).rule();
        let question = format!("Does the draft suit the place where it is to appear? {platform}");
        checks.push(check.ask("platform", question));
    }
    checks
}

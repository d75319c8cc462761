//! What goes with calls.

use super::{
    super::{Call, Transcript, Verdict, What},
    Checked, Found,
    calls::often,
    names::Target,
    order::Seen,
    orders::Words,
};

/// Whether the calls of this target, or of all agents, hand this on.
///
/// # Errors
///
/// What there is to say where nothing was seen.
pub(super) fn check(
    transcript: &Transcript,
    target: Option<&Target>,
    words: &Words,
    is_wanted: bool,
) -> Result<Seen, Checked> {
    let is_meant = |call: &Call| match target {
        Some(target) => call.tool == target.tool,
        None => call.agent.is_some(),
    };
    let calls = transcript.calls.iter().enumerate();
    let meant: Vec<(usize, &Call)> = calls.filter(|(_, call)| is_meant(call)).collect();
    let (what, has): (String, Box<dyn Fn(&Call) -> bool>) = match words {
        Words::Quoted(text) => {
            let wanted = plain(text);
            (
                format!("{text:?}"),
                Box::new(move |call| handed(call).contains(&wanted)),
            )
        }
        Words::Request => {
            let mut passages = transcript.passages.iter();
            let request = passages.find(|p| p.what == What::Request);
            let wanted = request
                .map(|p| plain(&p.text))
                .filter(|text| !text.is_empty());
            let Some(wanted) = wanted else {
                return Err(Checked::Left(None));
            };
            (
                "the request".to_owned(),
                Box::new(move |call| handed(call).contains(&wanted)),
            )
        }
        Words::Input(name) => (
            format!("`{name}`"),
            Box::new(move |call| call.inputs.get(name).is_some_and(|value| !value.is_null())),
        ),
    };
    if meant.is_empty() {
        let found = Found::new(Verdict::NotApplicable, "nothing was handed on".to_owned());
        return Err(match transcript.is_over() {
            true => Checked::Decided(found),
            false => Checked::Decided(Found::not_checked(
                "nothing was handed on so far; the run is not over",
            )),
        });
    }
    let against = meant.iter().find(|(_, call)| has(call) != is_wanted);
    Ok(match (against, is_wanted) {
        (Some((at, call)), true) => {
            let evidence = format!(
                "{what} was not handed on to {} in call {}",
                call.name(),
                at + 1
            );
            Seen::bad(evidence, Some(*at))
        }
        (Some((at, call)), false) => {
            let evidence = format!("{what} was handed on to {} in call {}", call.name(), at + 1);
            Seen::bad(evidence, Some(*at))
        }
        (None, true) => Seen::yes(
            format!("{what} was handed on {}", often(meant.len() as u64)),
            Some(meant[0].0),
        ),
        (None, false) => Seen::yes(format!("{what} was never handed on"), None),
    })
}

/// What a call hands on, to be searched.
fn handed(call: &Call) -> String {
    let mut all = plain(&call.task);
    each_text(&call.inputs, &mut |text| {
        all.push('\n');
        all.push_str(&plain(text));
    });
    all
}

fn each_text(value: &serde_json::Value, take: &mut impl FnMut(&str)) {
    match value {
        serde_json::Value::String(text) => take(text),
        serde_json::Value::Array(items) => items.iter().for_each(|item| each_text(item, take)),
        serde_json::Value::Object(fields) => {
            fields.values().for_each(|field| each_text(field, take));
        }
        _ => {}
    }
}

/// A text in small letters with single spaces.
fn plain(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").to_lowercase()
}

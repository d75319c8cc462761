//! Faults of a policy in words: the line of its file, and the name that may be meant.

use toml::de::{DeTable, Error};

/// Likeness of two names from which one may be meant by the other, from 0 to 1.
const ALIKE: f64 = 0.8;

/// The name that may be meant by another one, as the rest of a sentence; nothing if none is like it.
pub(crate) fn meant<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let likeness = |known: &&str| strsim::jaro_winkler(name, known);
    known
        .into_iter()
        .max_by(|a, b| likeness(a).total_cmp(&likeness(b)))
        .filter(|known| likeness(known) >= ALIKE)
        .map_or_else(String::new, |known| format!("; did you mean `{known}`?"))
}

/// The fault of TOML that is no policy, in one line.
pub(super) fn of_form(error: &Error, text: &str) -> String {
    let line = line_of(text, error.span().map_or(0, |span| span.start));
    let message = error.message();
    let names = message.strip_prefix("unknown field ");
    let mut names = names
        .into_iter()
        .flat_map(|names| names.split('`').skip(1).step_by(2));
    match names.next() {
        None => format!("line {line}: {message}"),
        Some(field) => {
            let known: Vec<&str> = names.collect();
            let meant = meant(field, known.iter().copied());
            let known = known.join(", ");
            format!("line {line}: there is no key `{field}` here{meant} (there are {known})")
        }
    }
}

/// `line N: ` of what these keys lead to, or of the nearest around it; nothing if none of it is there.
pub(super) fn place_of(text: &str, keys: &[&str]) -> String {
    let Ok(root) = DeTable::parse(text) else {
        return String::new();
    };
    let (mut table, mut at) = (Some(root.get_ref()), None);
    for key in keys {
        let found = table.and_then(|table| table.iter().find(|(name, _)| name.get_ref() == key));
        let Some((name, value)) = found else { break };
        at = Some(name.span().start);
        table = value.get_ref().as_table();
    }
    at.map_or_else(String::new, |at| format!("line {}: ", line_of(text, at)))
}

fn line_of(text: &str, byte: usize) -> usize {
    let before = text.get(..byte).unwrap_or(text);
    before.matches('\n').count() + 1
}

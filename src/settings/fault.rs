//! Faults of the settings, for who wrote them.

use serde_path_to_error::{Error, Segment};

use super::file::File;

/// Likeness of two names from which one may be meant by the other, from 0 to 1.
const ALIKE: f64 = 0.8;

/// An error of the settings in one line: where, what, and what may be meant.
pub(super) fn told(error: &Error<toml::de::Error>, file: &File) -> String {
    let keys: Vec<String> = error.path().iter().filter_map(key).collect();
    let place = file.place_of(keys.iter().map(String::as_str));
    let message = error.inner().message();
    let Some((field, known)) = unknown(message) else {
        return format!("{place}{message} for key {:?}", keys.join("."));
    };
    let holder = match keys.split_last() {
        Some((_, [])) | None => String::new(),
        Some((_, holder)) => format!(" in [{}]", holder.join(".")),
    };
    let likeness = |name: &&str| strsim::jaro_winkler(field, name);
    let nearest = known
        .iter()
        .copied()
        .max_by(|a, b| likeness(a).total_cmp(&likeness(b)))
        .filter(|name| likeness(name) >= ALIKE)
        .map_or_else(String::new, |name| format!("; did you mean `{name}`?"));
    format!(
        "{place}there is no setting `{field}`{holder}{nearest} (there are {})",
        known.join(", ")
    )
}

fn key(segment: &Segment) -> Option<String> {
    match segment {
        Segment::Map { key } => Some(key.clone()),
        Segment::Seq { index } => Some(index.to_string()),
        Segment::Enum { .. } | Segment::Unknown => None,
    }
}

/// The field that a type doesn't have and those that it has, of the message that serde makes of it.
fn unknown(message: &str) -> Option<(&str, Vec<&str>)> {
    let mut names = message
        .strip_prefix("unknown field ")?
        .split('`')
        .skip(1)
        .step_by(2);
    Some((names.next()?, names.collect()))
}

#[cfg(test)]
mod tests {
    use super::super::Settings;

    #[test]
    fn a_setting_that_there_is_not_is_named_with_its_line_and_the_one_that_may_be_meant() {
        let said = |text: &str| {
            let read = Settings::of_text(text);
            read.expect_err("it is refused").to_string()
        };
        let top = said("# ours\nhubb = 'http://a:1'\n");
        for part in [
            "agenthub.toml:2: ",
            "no setting `hubb`; did you mean `hub`? (there are hub, grpc, ",
        ] {
            assert!(top.contains(part), "{part}: {top}");
        }
        let inner = said("[model]\nnmae = 'offline'\n");
        for part in [
            "agenthub.toml:2: ",
            "no setting `nmae` in [model]; did you mean `name`?",
        ] {
            assert!(inner.contains(part), "{part}: {inner}");
        }
        let far = said("[model]\nzzz = 1\n");
        assert!(!far.contains("did you mean"), "{far}");
    }

    #[test]
    fn a_value_that_does_not_fit_is_told_with_its_line_and_key() {
        let read = Settings::of_text("hub = 'http://a:1'\n\nbodies_mib = -1\n");
        let error = read.expect_err("it is refused").to_string();
        for part in [
            "agenthub.toml:3: ",
            "for key \"bodies_mib\"",
            "expected u32",
        ] {
            assert!(error.contains(part), "{part}: {error}");
        }
    }
}

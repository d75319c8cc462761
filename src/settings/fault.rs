//! What is wrong with the settings, for who wrote them.

use figment::{Error, Source, error::Kind};

/// How alike two names are for one to be meant by the other, from 0 to 1.
const ALIKE: f64 = 0.8;

/// An error of the settings in one line: what, where, and what may be meant.
pub(super) fn told(error: &Error) -> String {
    let Kind::UnknownField(field, known) = &error.kind else {
        return without_profile(error);
    };
    let file = error.metadata.as_ref().and_then(|from| match &from.source {
        Some(Source::File(path)) => Some(path),
        _ => None,
    });
    let place = file.map_or_else(String::new, |path| {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let line = line_of(field, &text).map_or_else(String::new, |line| format!("{line}:"));
        format!("{}:{line} ", path.display())
    });
    let holder = match error.path.split_last() {
        Some((_, [])) | None => String::new(),
        Some((_, holder)) => format!(" in [{}]", holder.join(".")),
    };
    let known = known.iter().copied();
    let likeness = |name: &&str| strsim::jaro_winkler(field, name);
    let nearest = known
        .clone()
        .max_by(|a, b| likeness(a).total_cmp(&likeness(b)))
        .filter(|name| likeness(name) >= ALIKE)
        .map_or_else(String::new, |name| format!("; did you mean `{name}`?"));
    let all: Vec<&str> = known.collect();
    format!(
        "{place}there is no setting `{field}`{holder}{nearest} (there are {})",
        all.join(", ")
    )
}

/// The line of a file on which a key or a table of this name stands, from 1.
fn line_of(name: &str, text: &str) -> Option<usize> {
    let is_it = |line: &str| {
        let line = line.trim_start();
        let key = line.split(['=', '#']).next().unwrap_or_default();
        let key = key.trim().trim_matches(['[', ']', '"', '\'', ' ']);
        key.split('.').any(|part| part == name)
    };
    text.lines().position(is_it).map(|at| at + 1)
}

/// The error with the key as it stands in the file: profiles are the library's own, and nobody has named one.
fn without_profile(error: &Error) -> String {
    let named = |profile| format!("for key \"{profile}");
    error.to_string().replace(&named("default."), &named(""))
}

#[cfg(test)]
mod tests {
    use super::super::Settings;

    #[test]
    fn a_setting_that_there_is_not_is_named_with_its_line_and_the_one_that_may_be_meant() {
        use figment::providers::{Format, Toml};
        let folder = tempfile::tempdir().expect("there is room");
        let path = folder.path().join("agenthub.toml");
        let said = |text: &str| {
            std::fs::write(&path, text).expect("it is ours");
            let read = Settings::of_file(Toml::file_exact(&path));
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
}

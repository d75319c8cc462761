//! The log: readable on a terminal, JSON when it is piped.

mod one_line;

use std::{
    env,
    fs::{self, File},
    io::{self, IsTerminal},
    path::{Path, PathBuf},
    sync::Mutex,
};

use agenthub_proto::private;
use anyhow::{Context, bail};
use tracing::level_filters::LevelFilter;
use tracing_subscriber::EnvFilter;

use self::one_line::OneLine;

/// A log file that is longer when a process begins is put aside, in place of the one before. In bytes.
const MAX_FILE: u64 = 8 * 1024 * 1024;

/// Libraries that log what they send and receive, and each failure. They have to be named to be heard.
const TALKATIVE: [&str; 2] = ["rmcp", "genai"];

/// Destination of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// Standard error.
    Stderr,
    /// A file, while something else has the terminal.
    File(PathBuf),
    /// Nowhere: something else has the terminal, and no files may be written.
    Nowhere,
}

/// The destination while a chat has the terminal. Standard error is used if it is redirected.
pub(crate) fn beside_chat(data: Option<&Path>, file: &str) -> Target {
    match (io::stderr().is_terminal(), data) {
        (false, _) => Target::Stderr,
        (true, Some(data)) => Target::File(data.join(file)),
        (true, None) => Target::Nowhere,
    }
}

/// Starts logging, once per process. `level` is what was asked for, if anything was.
///
/// # Errors
///
/// The level is none, or the file cannot be written.
pub(crate) fn start(level: Option<&str>, default: &str, target: &Target) -> anyhow::Result<()> {
    // Whoever reads the log may go; that is no reason to end.
    let builder = tracing_subscriber::fmt()
        .log_internal_errors(false)
        .with_env_filter(filter(level.unwrap_or(default))?);
    match target {
        Target::Stderr if io::stderr().is_terminal() => {
            let is_coloured = env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
            builder
                .with_ansi(is_coloured)
                .with_writer(OneLine::new(io::stderr, is_coloured))
                .with_target(false)
                .init();
        }
        Target::Stderr => {
            let writer = OneLine::new(io::stderr, false);
            builder.json().with_writer(writer).init();
        }
        Target::File(path) => {
            let file = open(path)
                .with_context(|| format!("cannot write the log file {}", path.display()))?;
            builder
                .with_ansi(false)
                .with_writer(OneLine::new(Mutex::new(file), false))
                .init();
        }
        Target::Nowhere => {}
    }
    Ok(())
}

/// A level, or a filter in the syntax of `tracing`'s `EnvFilter`.
fn filter(text: &str) -> anyhow::Result<EnvFilter> {
    let is_word = text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    if text.is_empty() || (is_word && text.parse::<LevelFilter>().is_err()) {
        bail!("`{text}` is no log level: there are error, warn, info, debug, trace and off");
    }
    let mut filter = EnvFilter::builder()
        .parse(text)
        .with_context(|| format!("`{text}` is no log filter"))?;
    // What they have to say of failures is said in words for people where these are handled.
    let is_plain = |level: LevelFilter| level < LevelFilter::DEBUG;
    let level = match text.parse().is_ok_and(is_plain) {
        true => LevelFilter::OFF,
        false => LevelFilter::WARN,
    };
    for library in TALKATIVE {
        if !text.contains(library) {
            filter = filter.add_directive(format!("{library}={level}").parse()?);
        }
    }
    Ok(filter)
}

fn open(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    if fs::metadata(path).is_ok_and(|file| file.len() > MAX_FILE) {
        fs::rename(path, path.with_extension("log.1"))?;
    }
    private::append(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_and_filters() {
        for text in [
            "info",
            "DEBUG",
            "off",
            "info,agenthub_broker=debug",
            "h2=warn",
        ] {
            assert!(filter(text).is_ok(), "{text}");
        }
        for text in ["loud", "", "info,=,="] {
            assert!(filter(text).is_err(), "{text}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn nobody_else_may_read_the_file() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("logs/agenthub.log");
        let mode = |path: &Path| {
            fs::metadata(path)
                .expect("it is there")
                .permissions()
                .mode()
                & 0o777
        };
        let file = open(&path).expect("a file");
        assert_eq!(mode(&path), 0o600);
        // One that is full is put aside, and is no more open to others than it was.
        file.set_len(MAX_FILE + 1).expect("it is ours");
        open(&path).expect("a file");
        assert_eq!(mode(&path), 0o600);
        assert_eq!(mode(&path.with_extension("log.1")), 0o600);
    }

    #[test]
    fn messages_of_others_are_logged_only_where_that_is_asked_for() {
        let of = |text: &str| filter(text).expect(text).to_string();
        for text in ["debug", "agenthub=trace"] {
            assert!(of(text).contains("rmcp=warn"), "{text}: {}", of(text));
        }
        for text in ["off", "error", "warn", "info"] {
            for library in TALKATIVE {
                let off = format!("{library}=off");
                assert!(of(text).contains(&off), "{text}: {}", of(text));
            }
        }
        let asked_for = of("info,rmcp=debug");
        assert!(asked_for.contains("rmcp=debug"), "{asked_for}");
        assert!(!asked_for.contains("rmcp=off"), "{asked_for}");
    }
}

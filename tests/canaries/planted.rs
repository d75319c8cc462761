//! Secrets that were planted, and the places where each may be.

use std::{
    fs,
    path::{Path, PathBuf},
};

use memchr::memmem;

/// A secret, and the beginnings of the names of files that it may be in.
pub(crate) struct Canary {
    pub(crate) secret: String,
    pub(crate) homes: &'static [&'static str],
}

impl Canary {
    /// A secret that is in these files, and nowhere else.
    pub(crate) fn new(secret: impl Into<String>, homes: &'static [&'static str]) -> Self {
        let secret = secret.into();
        assert!(secret.len() >= 16, "{secret} may be somewhere by chance");
        Self { secret, homes }
    }
}

/// The middle of a private key, as a file of PEM has it.
pub(super) fn middle(pem: &str) -> String {
    let line = pem.lines().find(|line| !line.starts_with('-'));
    let line = line.expect("a line of base64");
    line[line.len() - 24..].to_owned()
}

/// Every file below a folder.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        match entry.path() {
            path if path.is_dir() => found.extend(files(&path)),
            path => found.push(path),
        }
    }
    found
}

pub(crate) fn holds(bytes: &[u8], secret: &str) -> bool {
    memmem::find(bytes, secret.as_bytes()).is_some()
}

/// Checks that no canary is in what was said, nor in a file but its own.
pub(crate) fn stay_home(canaries: &[Canary], said: &str, folder: &Path) {
    for Canary { secret, .. } in canaries {
        if let Some(at) = memmem::find(said.as_bytes(), secret.as_bytes()) {
            let before = said[..at].char_indices().rev().nth(300);
            let start = before.map_or(0, |(start, _)| start);
            panic!("{secret} is out: {:?}", &said[start..at]);
        }
    }
    for path in files(folder) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let bytes = fs::read(&path).unwrap_or_default();
        for Canary { secret, homes } in canaries {
            let is_home = homes.iter().any(|home| name.starts_with(home));
            let is_out = !is_home && holds(&bytes, secret);
            assert!(!is_out, "{secret} in {}", path.display());
        }
    }
}

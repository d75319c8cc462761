//! The further files of a skill's folder.

use std::path::{Path, PathBuf};

/// The most files that are listed.
const MAX_FILES: usize = 200;

/// How deep folders are looked into.
const MAX_DEPTH: usize = 4;

/// The files of the folder, relative to it and sorted, without the one that describes the skill, without what is hidden, and without
/// links that lead out of it. Of more than 200, some.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    if let Ok(root) = folder.canonicalize() {
        list(folder, &root, Path::new(""), 0, &mut found);
    }
    found.sort();
    found
}

fn list(folder: &Path, root: &Path, below: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder.join(below)) else {
        return;
    };
    let mut names: Vec<_> = entries
        .flatten()
        .take(MAX_FILES * 4)
        .map(|entry| entry.file_name())
        .filter(|name| !is_skipped(&name.to_string_lossy()))
        .collect();
    names.sort();
    for name in names {
        let path = below.join(name);
        if depth == 0 && is_skill(&path) {
            continue;
        }
        let whole = folder.join(&path);
        let Ok(real) = whole.canonicalize() else {
            continue;
        };
        let is_link = whole.is_symlink();
        if !real.starts_with(root) {
            continue;
        }
        if real.is_file() && found.len() < MAX_FILES {
            found.push(path);
        } else if real.is_dir() && !is_link && depth < MAX_DEPTH {
            list(folder, root, &path, depth + 1, found);
        }
    }
}

/// Whether a file describes a skill.
pub(crate) fn is_skill(path: &Path) -> bool {
    path.file_name()
        .is_some_and(|name| name.eq_ignore_ascii_case("SKILL.md"))
}

/// Whether a file or folder is hidden, or made by a tool.
pub(crate) fn is_skipped(name: &str) -> bool {
    name.starts_with('.') || matches!(name, "node_modules" | "__pycache__")
}

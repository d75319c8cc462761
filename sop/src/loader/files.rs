//! The further files of a skill's folder.

use std::path::{Path, PathBuf};

/// The most files that are listed.
const MAX_FILES: usize = 200;

/// Depth to which folders are looked into.
const MAX_DEPTH: usize = 4;

/// The most entries that are looked at, in all folders together.
const MAX_ENTRIES: usize = 2000;

/// The files of the folder, relative to it and sorted, without the one that describes the skill, without what is hidden, and without
/// links that lead out of it. Of more than 200, or where there are more than 2,000 entries to look at, some.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(root) = folder.canonicalize() else {
        return Vec::new();
    };
    let mut walk = Walk {
        folder,
        root,
        found: Vec::new(),
        left: MAX_ENTRIES,
    };
    walk.list(Path::new(""), 0);
    walk.found.sort();
    walk.found
}

/// A look into a folder and those in it.
struct Walk<'a> {
    folder: &'a Path,
    root: PathBuf,
    found: Vec<PathBuf>,
    /// Entries that may still be looked at.
    left: usize,
}

impl Walk<'_> {
    fn list(&mut self, below: &Path, depth: usize) {
        let Ok(entries) = std::fs::read_dir(self.folder.join(below)) else {
            return;
        };
        let entries: Vec<_> = entries.flatten().take(self.left).collect();
        self.left -= entries.len();
        let mut names: Vec<_> = entries
            .iter()
            .map(std::fs::DirEntry::file_name)
            .filter(|name| !is_skipped(&name.to_string_lossy()))
            .collect();
        names.sort();
        for name in names {
            if self.found.len() == MAX_FILES {
                return;
            }
            let path = below.join(name);
            if depth == 0 && is_skill(&path) {
                continue;
            }
            let whole = self.folder.join(&path);
            let Ok(real) = whole.canonicalize() else {
                continue;
            };
            if !real.starts_with(&self.root) {
                continue;
            }
            if real.is_file() {
                self.found.push(path);
            } else if real.is_dir() && !whole.is_symlink() && depth < MAX_DEPTH {
                self.list(&path, depth + 1);
            }
        }
    }
}

/// True if a file describes a skill.
pub(crate) fn is_skill(path: &Path) -> bool {
    path.file_name()
        .is_some_and(|name| name.eq_ignore_ascii_case("SKILL.md"))
}

/// True if a file or folder is hidden, or made by a tool.
pub(crate) fn is_skipped(name: &str) -> bool {
    name.starts_with('.') || matches!(name, "node_modules" | "__pycache__")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_folder_with_very_much_in_it_is_not_looked_through() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for n in 0..3 {
            let below = folder.path().join(format!("{n}"));
            for m in 0..900 {
                fs::create_dir_all(below.join(format!("{m}"))).expect("a folder");
            }
        }
        fs::write(folder.path().join("2/z.txt"), "").expect("a file");
        fs::write(folder.path().join("z.txt"), "").expect("a file");
        let found = files(folder.path());
        assert_eq!(found, [Path::new("z.txt")], "folder 2 is beyond the bound");
    }
}

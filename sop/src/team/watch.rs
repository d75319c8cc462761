//! Parts of a folder of SOPs that are watched for changes.

use std::{
    fs,
    path::{Path, PathBuf},
};

use agenthub_documents::watching::Contents;

use crate::{
    discover::paths,
    loader::files::{files, is_skill, is_skipped},
};

/// All that is read or listed of a folder of SOPs.
pub(super) fn contents(dir: &Path) -> Contents {
    // A folder that cannot be read looks like one that is empty: either is told when the files are read.
    let read = paths(dir).unwrap_or_default();
    let skills = read.iter().filter(|path| is_skill(path));
    let listed = skills
        .filter_map(|path| path.parent())
        .flat_map(|folder| files(folder).into_iter().map(|file| folder.join(file)));
    Contents {
        listed: listed.collect(),
        folders: folders(dir).collect(),
        read,
    }
}

/// The folders in a folder, which may be skills or become some.
fn folders(dir: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries
        .filter(|entry| !is_skipped(&entry.file_name().to_string_lossy()))
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
}

#[cfg(test)]
mod tests {
    use agenthub_documents::watching::Print;

    use super::*;

    /// spec: SOP-4.1
    #[test]
    fn whatever_is_read_of_a_folder_shows_in_its_print() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let at = |name: &str| folder.path().join(name);
        let print = || Print::of(contents(folder.path()));
        fs::create_dir_all(at("form/references")).expect("a folder");
        let mut before = print();
        for (name, text) in [
            ("a.md", "x"),
            ("b.MD", "x"),
            ("b.MD", "xy"),
            ("form/skill.md", "x"),
            ("form/skill.md", "xy"),
            ("form/references/one.txt", "x"),
        ] {
            fs::write(at(name), text).expect("a file");
            let after = print();
            assert_ne!(after, before, "{name}");
            before = after;
        }
        fs::write(at("c.txt"), "x").expect("a file");
        assert_eq!(print(), before, "nobody reads that");
    }
}

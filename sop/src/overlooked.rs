//! Warns of files that look like SOPs and stand where none are looked for.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{
    Fault,
    discover::has_front_matter,
    loader::files::{is_skill, is_skipped},
};

/// The most entries of a folder that are looked at.
const MAX_ENTRIES: usize = 1000;

/// The most warnings.
const MAX_TOLD: usize = 20;

/// A warning for each file whose name ends in `.markdown`, and one for each folder with such files that is no skill. The folders of a skill
/// are its own.
pub(crate) fn overlooked(dir: &Path) -> Vec<Fault> {
    let paths = entries(dir);
    if paths.iter().any(|path| is_skill(path)) {
        return Vec::new();
    }
    let told = paths.iter().filter_map(|path| match path.is_dir() {
        true => below(dir, path),
        false => beside(path),
    });
    told.take(MAX_TOLD).collect()
}

/// Entries of a folder, sorted.
fn entries(dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(dir) else {
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = entries
        .flatten()
        .take(MAX_ENTRIES)
        .filter(|entry| !is_skipped(&entry.file_name().to_string_lossy()))
        .map(|entry| entry.path())
        .collect();
    paths.sort();
    paths
}

fn beside(path: &Path) -> Option<Fault> {
    let is_overlooked = ends(path, ".markdown") && has_front_matter(path);
    is_overlooked.then(|| {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        Fault::warning(path, "this file is not read").helped(format!(
            "the name of an SOP ends in `.md`: call it `{name}.md`"
        ))
    })
}

fn below(dir: &Path, folder: &Path) -> Option<Fault> {
    let paths = entries(folder);
    if paths.iter().any(|path| is_skill(path)) {
        return None;
    }
    let is_overlooked =
        |path: &&PathBuf| ends(path, ".sop.md") || ends(path, ".md") && has_front_matter(path);
    let first = paths.iter().find(is_overlooked)?;
    Some(
        Fault::warning(folder, "the files of this folder are not read").helped(format!(
            "SOPs are looked for in {} itself, and in its folders only as `SKILL.md`: move {} there, or name its folder instead",
            dir.display(),
            first.display()
        )),
    )
}

fn ends(path: &Path, ending: &str) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.to_lowercase().ends_with(ending)
}

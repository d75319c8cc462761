//! What the tests share.

use std::path::Path;

use agenthub_sop::{Definition, Fault, Loaded, parse};
use tempfile::TempDir;

/// Reads a text as the file `a.md`.
pub(crate) fn read(text: &str) -> Result<Loaded, Vec<Fault>> {
    parse(Path::new("a.md"), text, Vec::new())
}

/// What a text says that has no errors.
pub(crate) fn definition(text: &str) -> Definition {
    match read(text) {
        Ok(loaded) => loaded.definition,
        Err(faults) => panic!("{}", told(&faults)),
    }
}

/// The front matter of an agent called `a`, with more lines.
pub(crate) fn with(lines: &str) -> String {
    format!("---\nname: a\ndescription: Does it.\n{lines}---\nDo it.\n")
}

/// The errors and warnings of a text.
pub(crate) fn faults(text: &str) -> Vec<Fault> {
    match read(text) {
        Ok(loaded) => loaded.warnings,
        Err(faults) => faults,
    }
}

/// One line for each fault.
pub(crate) fn told(faults: &[Fault]) -> String {
    let told = faults.iter().map(|fault| {
        let severity = if fault.is_error() { "error" } else { "warning" };
        format!("{severity}: {fault}")
    });
    told.collect::<Vec<_>>().join("\n")
}

/// A folder with these files.
pub(crate) fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().expect("it has one")).expect("it can be made");
        std::fs::write(path, text).expect("it can be written");
    }
    folder
}

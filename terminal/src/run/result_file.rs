//! The file that a run's result is written into.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};
use serde_json::Value;

/// A place where a file can be written.
#[derive(Clone, Debug)]
pub struct ResultFile(PathBuf);

impl ResultFile {
    /// Looks before the run begins whether a file can be written there.
    ///
    /// # Errors
    ///
    /// It is a folder, it may not be written, or its folder does not exist.
    pub fn at(path: &Path) -> anyhow::Result<Self> {
        let shown = path.display();
        if path.is_dir() {
            bail!("cannot write {shown}: it is a folder; name a file in it");
        }
        if path.is_file() {
            let opened = fs::OpenOptions::new().append(true).open(path);
            opened.with_context(|| format!("cannot write {shown}"))?;
        }
        let folder = path.parent().filter(|folder| *folder != Path::new(""));
        if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
            bail!(
                "cannot write {shown}: there is no folder {}",
                folder.display()
            );
        }
        Ok(Self(path.to_owned()))
    }

    /// Writes the whole result, as indented JSON.
    ///
    /// # Errors
    ///
    /// The reason why it could not be written.
    pub(super) fn write(&self, result: &Value) -> anyhow::Result<()> {
        let mut text = serde_json::to_string_pretty(result)?;
        text.push('\n');
        fs::write(&self.0, text).with_context(|| format!("cannot write {}", self.0.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_that_takes_no_file_is_found_out_before_the_run() {
        let folder = tempfile::tempdir().expect("there is room");
        let at = |name: &str| ResultFile::at(&folder.path().join(name)).map_err(|e| e.to_string());
        assert!(at("").is_err_and(|why| why.ends_with("name a file in it")));
        assert!(at("no/such").is_err_and(|why| why.contains("there is no folder")));
        let file = at("b.json").expect("a file can be written there");
        assert!(
            !folder.path().join("b.json").exists(),
            "nothing is left of looking"
        );
        file.write(&Value::from(1)).expect("it is written");
        at("b.json").expect("it may be written again");
        assert!(ResultFile::at(Path::new("b.json")).is_ok());
    }
}

//! The settings file: what it says, and where in it.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, anyhow};
use toml::{
    Spanned, Table,
    de::{DeTable, DeValue},
};

/// The text of a settings file, and where it is.
#[derive(Debug, Default)]
pub(super) struct File {
    path: PathBuf,
    text: String,
}

impl File {
    /// Reads a file.
    pub(super) fn read(path: &Path) -> anyhow::Result<Self> {
        let text =
            fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        Ok(Self {
            path: path.to_owned(),
            text,
        })
    }

    /// A file that is nowhere.
    #[cfg(test)]
    pub(super) fn of_text(text: &str) -> Self {
        Self {
            path: PathBuf::from("agenthub.toml"),
            text: text.to_owned(),
        }
    }

    /// The settings in it.
    ///
    /// # Errors
    ///
    /// The fault of the TOML, with the file and the line.
    pub(super) fn table(&self) -> anyhow::Result<Table> {
        self.text.parse().map_err(|error: toml::de::Error| {
            let place = self.place(error.span().map_or(0, |span| span.start));
            anyhow!("{place}{}", error.message())
        })
    }

    /// `file:line: ` of what these keys lead to, or of the nearest around it; nothing if none of it is here.
    pub(super) fn place_of<'a>(&self, keys: impl Iterator<Item = &'a str>) -> String {
        let Ok(root) = DeTable::parse(&self.text) else {
            return String::new();
        };
        let mut table = Some(root.get_ref());
        let mut at = None;
        for key in keys {
            let is_it = |(found, _): &(&Spanned<_>, &Spanned<DeValue<'_>>)| found.get_ref() == key;
            let Some((found, value)) = table.and_then(|table| table.iter().find(is_it)) else {
                break;
            };
            at = Some(found.span().start);
            table = value.get_ref().as_table();
        }
        at.map_or_else(String::new, |at| self.place(at))
    }

    /// `file:line: ` of a byte.
    fn place(&self, byte: usize) -> String {
        let before = self.text.get(..byte).unwrap_or(&self.text);
        let line = before.matches('\n').count() + 1;
        format!("{}:{line}: ", self.path.display())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_is_found_by_its_keys_and_not_by_its_name_alone() {
        let file =
            File::of_text("name = 1\n[model]\n# name\nname = 2\n[mcp.a]\ncommand = ['name']\n");
        for (keys, place) in [
            (&["name"][..], "agenthub.toml:1: "),
            (&["model", "name"], "agenthub.toml:4: "),
            (&["mcp", "a"], "agenthub.toml:5: "),
            (&["mcp", "a", "command", "0"], "agenthub.toml:6: "),
            (&["mcp", "a", "url"], "agenthub.toml:5: "),
            (&["grpc"], ""),
        ] {
            assert_eq!(file.place_of(keys.iter().copied()), place, "{keys:?}");
        }
    }

    #[test]
    fn what_is_no_toml_is_said_with_its_line() {
        let error = File::of_text("hub = 'a'\nhub = 'b'\n").table();
        let error = error.expect_err("a key stands twice").to_string();
        assert!(error.starts_with("agenthub.toml:2: "), "{error}");
        assert!(!error.contains('\n'), "{error}");
    }
}

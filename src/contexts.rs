//! Contexts: hubs by name, with all it takes to call them. A file of the user keeps them; secrets stay in files of their own.

use std::{
    collections::BTreeMap,
    env, fs,
    io::Write as _,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use serde::{Deserialize, Serialize};

/// A hub, and how to call it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Context {
    /// The hub's address.
    pub(crate) hub: String,
    /// The CA that its certificate comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ca: Option<PathBuf>,
    /// The client's certificate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cert: Option<PathBuf>,
    /// Its key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<PathBuf>,
    /// The file with the client's token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) token_file: Option<PathBuf>,
}

/// The contexts of a user.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Contexts {
    /// The one that is used where nothing else names a hub.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) current: Option<String>,
    #[serde(default)]
    pub(crate) contexts: BTreeMap<String, Context>,
}

/// The sources that name a context or a hub.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Named<'a> {
    /// The context of the flag.
    pub(crate) flag: Option<&'a str>,
    /// The context of the environment.
    pub(crate) environment: Option<&'a str>,
    /// The flags name a hub.
    pub(crate) hub_by_flag: bool,
    /// The environment names a hub.
    pub(crate) hub_by_environment: bool,
    /// The settings file names a hub.
    pub(crate) hub_by_file: bool,
}

/// The rank of a context among the sources of settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rank {
    /// Under the settings file.
    Lowest,
    /// Over the settings file, under the environment.
    Middle,
    /// Over the environment, under flags.
    Highest,
}

impl Contexts {
    /// The file of the user: below `XDG_CONFIG_HOME`, or in `~/.config`.
    pub(crate) fn file() -> Option<PathBuf> {
        let of = |name| env::var_os(name).filter(|value| !value.is_empty());
        let folder = match of("XDG_CONFIG_HOME") {
            Some(folder) => PathBuf::from(folder),
            None => PathBuf::from(of("HOME")?).join(".config"),
        };
        Some(folder.join("agenthub").join("contexts.toml"))
    }

    /// Reads the contexts of a file; none if it is not there.
    ///
    /// # Errors
    ///
    /// It cannot be read, or is not right.
    pub(crate) fn read(file: &Path) -> anyhow::Result<Self> {
        let text = match fs::read_to_string(file) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self::default());
            }
            Err(error) => {
                return Err(error).with_context(|| format!("cannot read {}", file.display()));
            }
        };
        toml::from_str(&text).with_context(|| format!("in {}", file.display()))
    }

    /// Replaces the file as a whole; it is for its owner alone.
    ///
    /// # Errors
    ///
    /// It cannot be written.
    pub(crate) fn write(&self, file: &Path) -> anyhow::Result<()> {
        let text = toml::to_string(self).context("contexts")?;
        let beside = file.with_extension("toml.new");
        let write = || {
            if let Some(folder) = file.parent() {
                fs::create_dir_all(folder)?;
            }
            match fs::remove_file(&beside) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            let mut new = agenthub_proto::private::append(&beside)?;
            new.write_all(text.as_bytes())?;
            new.sync_all()?;
            fs::rename(&beside, file)
        };
        write().with_context(|| format!("cannot write {}", file.display()))
    }

    /// The context that settings come from, if any. A context is taken as a whole or not at all: its certificates and its token are not for
    /// another hub that a stronger source names.
    ///
    /// # Errors
    ///
    /// There is none of that name, or two things are named at once.
    pub(crate) fn chosen(&self, named: Named<'_>) -> anyhow::Result<Option<(&Context, Rank)>> {
        if let Some(name) = named.flag {
            if named.hub_by_flag {
                bail!("--hub and --hub-context name a hub each: leave one out");
            }
            return Ok(Some((self.get(name)?, Rank::Highest)));
        }
        if named.hub_by_flag || named.hub_by_environment {
            return Ok(None);
        }
        if let Some(name) = named.environment {
            let context = self.get(name).context("in AGENTHUB_CONTEXT")?;
            return Ok(Some((context, Rank::Middle)));
        }
        match &self.current {
            Some(name) if !named.hub_by_file => Ok(Some((self.get(name)?, Rank::Lowest))),
            _ => Ok(None),
        }
    }

    /// The context of a name.
    ///
    /// # Errors
    ///
    /// There is none.
    pub(crate) fn get(&self, name: &str) -> anyhow::Result<&Context> {
        let found = self.contexts.get(name);
        found.with_context(|| {
            let names: Vec<&str> = self.contexts.keys().map(String::as_str).collect();
            let known = match names.is_empty() {
                true => "there are none yet".to_owned(),
                false => format!("there are: {}", names.join(", ")),
            };
            format!("there is no context `{name}` ({known}): add it with `agenthub context add`")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contexts() -> Contexts {
        let context = |hub: &str| Context {
            hub: hub.to_owned(),
            ..Context::default()
        };
        Contexts {
            current: Some("a".to_owned()),
            contexts: [
                ("a".to_owned(), context("https://a:1")),
                ("b".to_owned(), context("https://b:1")),
            ]
            .into(),
        }
    }

    fn chosen(named: Named<'_>) -> Option<(String, Rank)> {
        let contexts = contexts();
        let chosen = contexts.chosen(named).expect("they are there");
        chosen.map(|(context, rank)| (context.hub.clone(), rank))
    }

    #[test]
    fn the_most_explicit_name_holds() {
        let none = Named::default();
        assert_eq!(chosen(none), Some(("https://a:1".to_owned(), Rank::Lowest)));
        let b = |rank| Some(("https://b:1".to_owned(), rank));
        let environment = Named {
            environment: Some("b"),
            hub_by_file: true,
            ..none
        };
        assert_eq!(chosen(environment), b(Rank::Middle));
        let flag = Named {
            flag: Some("b"),
            environment: Some("a"),
            hub_by_environment: true,
            ..none
        };
        assert_eq!(chosen(flag), b(Rank::Highest));
    }

    /// A token or a certificate never goes to a hub that it was not meant for.
    #[test]
    fn a_hub_that_is_named_gets_nothing_of_a_context() {
        let none = Named::default();
        for named in [
            Named {
                hub_by_flag: true,
                ..none
            },
            Named {
                hub_by_flag: true,
                environment: Some("b"),
                ..none
            },
            Named {
                hub_by_environment: true,
                environment: Some("b"),
                ..none
            },
            Named {
                hub_by_environment: true,
                ..none
            },
            Named {
                hub_by_file: true,
                ..none
            },
        ] {
            assert_eq!(chosen(named), None, "{named:?}");
        }
    }

    #[test]
    fn names_that_are_wrong_are_told() {
        let both = Named {
            flag: Some("a"),
            hub_by_flag: true,
            ..Named::default()
        };
        let error = contexts().chosen(both).expect_err("two hubs").to_string();
        assert!(error.contains("--hub-context"), "{error}");
        let unknown = Named {
            flag: Some("c"),
            ..Named::default()
        };
        let error = contexts().chosen(unknown).expect_err("no such").to_string();
        assert!(error.contains("a, b"), "{error}");
    }

    #[test]
    fn contexts_come_back_from_their_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("agenthub/contexts.toml");
        assert_eq!(Contexts::read(&file).expect("nothing"), Contexts::default());
        for _ in 0..2 {
            contexts().write(&file).expect("it is written");
            assert_eq!(Contexts::read(&file).expect("it is right"), contexts());
        }
        fs::write(&file, "[contexts.a]\ntoken = 'secret'\n").expect("a file");
        let error = format!("{:#}", Contexts::read(&file).expect_err("no token in it"));
        assert!(
            error.contains("contexts.toml") && error.contains("token"),
            "{error}"
        );
    }
}

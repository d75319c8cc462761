//! Credentials for agents elsewhere, by reference: a secret is read when it is needed, and is neither written nor shown.

use std::{
    fmt,
    io::{self, Read},
    path::{Component, Path, PathBuf},
    str::FromStr,
};

use serde::{Deserialize, Serialize};

use super::Failure;

/// The largest file of a secret, in bytes.
const MAX_SECRET: u64 = 64 * 1024;

/// Beginning of the variables that a hub reads secrets from for agents that others add.
pub const VARIABLES: &str = "AGENTHUB_SECRET_";

/// Places that a hub reads secrets from for agents that others add.
#[derive(Clone, Debug)]
pub struct Readable {
    /// Variables that begin with [`VARIABLES`] are read.
    pub variables: bool,
    /// Folder whose files are read; none without one.
    pub folder: Option<PathBuf>,
}

/// Credentials of the caller.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum Auth {
    /// An API key. Place and name are those of the card's scheme if not given.
    ApiKey {
        /// Place.
        location: Option<Location>,
        /// Name of the header, the parameter or the cookie.
        name: Option<String>,
        /// The key.
        key: SecretRef,
    },
    /// A bearer token.
    Bearer {
        /// The token.
        token: SecretRef,
    },
    /// A name and a password.
    Basic {
        /// Name.
        user: String,
        /// Password.
        password: SecretRef,
    },
    /// OAuth 2 client credentials.
    ClientCredentials {
        /// Id of the client.
        client_id: String,
        /// Its secret.
        secret: SecretRef,
        /// Address of the token server; the card's if not given and on the host of the card.
        token_url: Option<String>,
        /// Scopes.
        #[serde(default)]
        scopes: Vec<String>,
    },
}

/// Place of an API key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs)]
pub enum Location {
    Header,
    Query,
    Cookie,
}

impl FromStr for Location {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "header" => Ok(Self::Header),
            "query" => Ok(Self::Query),
            "cookie" => Ok(Self::Cookie),
            _ => Err(format!("`{text}` is neither header, query nor cookie")),
        }
    }
}

/// Place of a secret: `env:NAME` or `file:PATH`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum SecretRef {
    /// A variable of the environment.
    Env(String),
    /// A file.
    File(PathBuf),
    /// A file that must be in a folder, wherever links lead.
    Within {
        /// The folder.
        folder: PathBuf,
        /// Path in it.
        file: PathBuf,
    },
}

impl FromStr for SecretRef {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            Some(("env", name)) if !name.is_empty() && !name.contains('=') => {
                Ok(Self::Env(name.to_owned()))
            }
            Some(("file", path)) if !path.is_empty() => Ok(Self::File(path.into())),
            // It may be the secret itself.
            _ => Err("a secret is named, not given: env:NAME or file:PATH".to_owned()),
        }
    }
}

impl TryFrom<String> for SecretRef {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<SecretRef> for String {
    fn from(secret: SecretRef) -> Self {
        secret.to_string()
    }
}

impl fmt::Display for SecretRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Env(name) => write!(f, "env:{name}"),
            Self::File(path) | Self::Within { file: path, .. } => {
                write!(f, "file:{}", path.display())
            }
        }
    }
}

impl SecretRef {
    /// Reads the secret.
    ///
    /// # Errors
    ///
    /// [`Failure::Credentials`] if it is not there or empty.
    pub(super) fn read(&self) -> Result<Secret, Failure> {
        let none =
            |why: String| Failure::Credentials(format!("there is no secret in {self}: {why}"));
        let text = match self {
            Self::Env(name) => std::env::var(name).map_err(|error| none(error.to_string()))?,
            Self::File(path) => text_of(path).map_err(|error| none(error.to_string()))?,
            Self::Within { folder, file } => {
                let path = folder.join(file).canonicalize();
                let path = path.map_err(|error| none(error.to_string()))?;
                let folder = folder.canonicalize();
                let folder = folder.map_err(|error| none(error.to_string()))?;
                if !path.starts_with(&folder) {
                    return Err(none(format!("a link leads out of {}", folder.display())));
                }
                text_of(&path).map_err(|error| none(error.to_string()))?
            }
        };
        match text.trim() {
            "" => Err(none("it is empty".to_owned())),
            text => Ok(Secret(text.to_owned())),
        }
    }

    /// The secret itself, for a value that is shown to the agent as it is.
    ///
    /// # Errors
    ///
    /// [`Failure::Credentials`] if it is not there or empty.
    pub fn reveal(&self) -> Result<String, Failure> {
        Ok(self.read()?.0)
    }

    /// The same for a hub, which others tell what to read.
    fn confined(self, readable: &Readable) -> Result<Self, Failure> {
        let refused = |why: String| {
            Err(Failure::Credentials(format!(
                "the hub does not read {self}: {why}"
            )))
        };
        match (&self, &readable.folder) {
            (Self::Env(_), _) if !readable.variables => {
                refused("this namespace has secrets in files alone: file:NAME".to_owned())
            }
            (Self::Env(name), _) if name.starts_with(VARIABLES) => Ok(self),
            (Self::Env(_), _) => refused(format!("its variable begins with {VARIABLES}")),
            (Self::File(_), None) => refused("it has no folder for files".to_owned()),
            (Self::Within { .. }, _) => Ok(self),
            (Self::File(path), Some(folder)) => {
                let is_inside = path.components().all(|c| matches!(c, Component::Normal(_)));
                match is_inside {
                    true => Ok(Self::Within {
                        folder: folder.to_owned(),
                        file: path.clone(),
                    }),
                    false => refused(format!("name a file in {}", folder.display())),
                }
            }
        }
    }
}

fn text_of(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    let file = std::fs::File::open(path)?;
    file.take(MAX_SECRET).read_to_string(&mut text)?;
    Ok(text)
}

/// A secret. It shows itself to nobody by accident.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Secret(pub(super) String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl Auth {
    /// The same for a hub, which others tell what to read.
    ///
    /// # Errors
    ///
    /// [`Failure::Credentials`] for other places.
    pub fn confined(self, readable: &Readable) -> Result<Self, Failure> {
        Ok(match self {
            Self::ApiKey {
                location,
                name,
                key,
            } => Self::ApiKey {
                location,
                name,
                key: key.confined(readable)?,
            },
            Self::Bearer { token } => Self::Bearer {
                token: token.confined(readable)?,
            },
            Self::Basic { user, password } => Self::Basic {
                user,
                password: password.confined(readable)?,
            },
            Self::ClientCredentials {
                client_id,
                secret,
                token_url,
                scopes,
            } => Self::ClientCredentials {
                client_id,
                secret: secret.confined(readable)?,
                token_url,
                scopes,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_named_and_never_shown() {
        let read = |text: &str| text.parse::<SecretRef>();
        assert_eq!(read("env:TOKEN"), Ok(SecretRef::Env("TOKEN".into())));
        assert_eq!(read("file:/a/b"), Ok(SecretRef::File("/a/b".into())));
        for text in ["sk-12345", "env:", "file:", "", "env:A=B"] {
            let error = read(text).expect_err(text);
            assert!(!error.contains("sk-12345"), "{error}");
        }
        assert_eq!(format!("{:?}", Secret("sk-1".into())), "Secret(…)");
    }

    #[test]
    fn a_secret_is_read_without_its_line_break() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("token");
        std::fs::write(&path, "sk-1\n").expect("it is written");
        let secret = SecretRef::File(path.clone()).read().expect("it is there");
        assert_eq!(secret.0, "sk-1");
        std::fs::write(&path, "\n").expect("it is written");
        assert!(SecretRef::File(path).read().is_err());
        let error = SecretRef::Env("AGENTHUB_SECRET_NO_SUCH".into()).read();
        let error = error.expect_err("it is not set").to_string();
        assert!(error.contains("env:AGENTHUB_SECRET_NO_SUCH"), "{error}");
    }

    #[test]
    fn a_hub_reads_for_others_what_is_meant_for_it() {
        let readable = Readable {
            variables: true,
            folder: Some("/data/secrets".into()),
        };
        let confined = |text: &str| {
            let secret: SecretRef = text.parse().expect(text);
            secret.confined(&readable).map(|s| s.to_string()).ok()
        };
        assert_eq!(
            confined("env:AGENTHUB_SECRET_A").as_deref(),
            Some("env:AGENTHUB_SECRET_A")
        );
        assert_eq!(confined("file:a").as_deref(), Some("file:a"));
        for text in [
            "env:OPENAI_API_KEY",
            "file:/etc/passwd",
            "file:../a",
            "file:a/../../b",
        ] {
            assert_eq!(confined(text), None, "{text}");
        }
        let file: SecretRef = "file:a".parse().expect("a file");
        let nowhere = Readable {
            folder: None,
            ..readable
        };
        assert!(file.confined(&nowhere).is_err());
    }

    #[test]
    fn a_namespace_that_shares_the_process_reads_none_of_its_variables() {
        let of_namespace = Readable {
            variables: false,
            folder: Some("/data/namespaces/a/secrets".into()),
        };
        let variable: SecretRef = "env:AGENTHUB_SECRET_A".parse().expect("a variable");
        let refused = variable.confined(&of_namespace).expect_err("it is another");
        assert!(refused.to_string().contains("file:NAME"), "{refused}");
        let file: SecretRef = "file:a".parse().expect("a file");
        assert!(file.confined(&of_namespace).is_ok());
    }

    #[test]
    fn a_link_leads_to_no_secret_elsewhere() {
        let data = tempfile::tempdir().expect("a folder");
        let secrets = data.path().join("secrets");
        std::fs::create_dir(&secrets).expect("a folder");
        std::fs::write(data.path().join("elsewhere"), "sk-1").expect("it is written");
        std::fs::write(secrets.join("token"), "sk-2").expect("it is written");
        for (link, to) in [("out", "../elsewhere"), ("in", "token")] {
            std::os::unix::fs::symlink(to, secrets.join(link)).expect("a link");
        }
        let readable = Readable {
            variables: false,
            folder: Some(secrets),
        };
        let read = |text: &str| {
            let secret: SecretRef = text.parse().expect(text);
            let secret = secret.confined(&readable).expect(text);
            secret.read().map(|secret| secret.0)
        };
        assert_eq!(read("file:token").ok().as_deref(), Some("sk-2"));
        assert_eq!(read("file:in").ok().as_deref(), Some("sk-2"));
        let error = read("file:out").expect_err("it leads out").to_string();
        assert!(error.contains("a link leads out of"), "{error}");
    }

    #[test]
    fn it_is_kept_as_it_was_named() {
        let auth = Auth::ClientCredentials {
            client_id: "me".into(),
            secret: SecretRef::Env("A".into()),
            token_url: None,
            scopes: vec!["x".into()],
        };
        let json = serde_json::to_value(&auth).expect("JSON");
        assert_eq!(json["kind"], "clientCredentials");
        assert_eq!(json["secret"], "env:A");
        assert_eq!(
            serde_json::from_value::<Auth>(json).expect("it is read"),
            auth
        );
    }
}

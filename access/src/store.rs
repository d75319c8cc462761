//! The file of issued tokens. It holds hashes, never a token. Several processes may change it: each locks it, reads, and replaces it as a whole.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde::{Deserialize, Serialize};
use serde_json::error::Category;

mod record;

pub(crate) use self::record::Ended;
pub use self::record::TokenRecord;

use crate::{
    Namespace, Permit, Principal, Token,
    private_files::{locked, write_private},
};

/// A token to be issued.
#[derive(Clone, Debug)]
pub struct NewToken {
    /// Its bearer.
    pub principal: Principal,
    /// The namespace that the bearer belongs to.
    pub namespace: Namespace,
    /// Roles of the bearer.
    pub roles: Vec<String>,
    /// Rights besides.
    pub allow: Vec<Permit>,
    /// Time for which it lasts, if not for ever.
    pub lasts: Option<Duration>,
}

/// A token that was just issued. The secret is nowhere else.
#[derive(Clone, Debug)]
pub struct Issued {
    /// The secret.
    pub token: Token,
    /// Content of the store.
    pub record: TokenRecord,
}

/// Errors of the file.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// It cannot be read or written.
    #[error("{}: {why}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: io::Error,
    },
    /// It holds something else.
    #[error("{} is no file of tokens: {reason}; mend it or put a copy of it back, as without it nobody would be let in", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The fault.
        reason: String,
    },
    /// Tokens were issued, and their file is gone.
    #[error("{} is gone, though tokens were issued: put a copy of it back, or make it anew with `agenthub tokens issue NAME --role admin`, which ends all tokens from before", path.display())]
    Gone {
        /// The file.
        path: PathBuf,
    },
    /// No token has this id.
    #[error("no token has the id {0}: `agenthub tokens list` shows them")]
    Unknown(String),
    /// A token that was revoked or has expired cannot be revoked.
    #[error("the token {0} is revoked already")]
    RevokedBefore(String),
}

/// The content of the file.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    tokens: Vec<TokenRecord>,
}

/// Identities that there were, as the mark beside the file of tokens keeps them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Mark {
    /// Those of a policy, of certificates or of issuers elsewhere.
    Others,
    /// Tokens were issued.
    Tokens,
}

/// Content of the mark if tokens were issued.
const TOKENS: &str = "tokens";

/// The file of tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenStore(PathBuf);

impl TokenStore {
    /// The store in this file, which need not be there yet.
    pub fn at(file: impl Into<PathBuf>) -> Self {
        Self(file.into())
    }

    /// The store of a hub with this data folder.
    pub fn in_folder(data: &Path) -> Self {
        Self(data.join("access").join("tokens.json"))
    }

    /// Its file.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// All tokens that were issued; `None` if there is no file.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`] and [`StoreError::Damaged`].
    pub fn read(&self) -> Result<Option<Vec<TokenRecord>>, StoreError> {
        let text = match fs::read_to_string(&self.0) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.io(error)),
        };
        match serde_json::from_str::<Content>(&text) {
            Ok(content) => Ok(Some(content.tokens)),
            Err(error) => Err(StoreError::Damaged {
                path: self.0.clone(),
                reason: place_of(&error),
            }),
        }
    }

    /// Reads the tokens to admit callers by. An error if tokens were issued and the file is gone.
    ///
    /// # Errors
    ///
    /// [`StoreError::Gone`], and those of [`read`](Self::read).
    pub fn read_issued(&self) -> Result<Vec<TokenRecord>, StoreError> {
        match self.read()? {
            Some(tokens) => Ok(tokens),
            None if self.marked()? == Some(Mark::Tokens) => Err(StoreError::Gone {
                path: self.0.clone(),
            }),
            None => Ok(Vec::new()),
        }
    }

    /// The file that says that there were identities, so that a hub which has lost them lets nobody in. It stands beside the folder of the
    /// tokens, so that it is there when that one is gone.
    pub(crate) fn mark_file(&self) -> PathBuf {
        let folder = self.0.parent().unwrap_or(Path::new(""));
        let mut name = folder.file_name().unwrap_or_default().to_owned();
        name.push("-guarded");
        folder.with_file_name(name)
    }

    /// The identities that there were.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`].
    pub(crate) fn marked(&self) -> Result<Option<Mark>, StoreError> {
        match fs::read_to_string(self.mark_file()) {
            Ok(text) if text.starts_with(TOKENS) => Ok(Some(Mark::Tokens)),
            // Whatever else stands there: somebody has made it.
            Ok(_) => Ok(Some(Mark::Others)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.io(error)),
        }
    }

    /// Keeps that there were identities, durably.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`].
    pub(crate) fn mark(&self, mark: Mark) -> Result<(), StoreError> {
        let _lock = locked(&self.0).map_err(|error| self.io(error))?;
        self.mark_locked(mark)
    }

    /// As [`mark`](Self::mark), for callers that hold the lock.
    fn mark_locked(&self, mark: Mark) -> Result<(), StoreError> {
        if self.marked()?.is_some_and(|before| before >= mark) {
            return Ok(());
        }
        let text = match mark {
            Mark::Others => "others\n".to_owned(),
            Mark::Tokens => format!("{TOKENS}\n"),
        };
        let written = write_private(&self.mark_file(), text.as_bytes());
        written.map_err(|error| self.io(error))
    }

    /// Issues a token, durably.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`] and [`StoreError::Damaged`].
    pub fn issue(&self, new: NewToken) -> Result<Issued, StoreError> {
        let token = Token::random().map_err(|error| self.io(error))?;
        let hash = token.hash();
        let now = now();
        let record = TokenRecord {
            id: format!("{:012x}", hash.head() >> 16),
            principal: new.principal,
            namespace: new.namespace,
            roles: new.roles,
            allow: new.allow,
            hash,
            issued: now,
            expires: new.lasts.map(|lasts| now.saturating_add(lasts.as_secs())),
            revoked: None,
        };
        self.change(|tokens| {
            tokens.push(record.clone());
            Ok(())
        })?;
        Ok(Issued { token, record })
    }

    /// Revokes a token, durably.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unknown`], [`StoreError::RevokedBefore`], and those of [`issue`](Self::issue).
    pub fn revoke(&self, id: &str) -> Result<TokenRecord, StoreError> {
        let now = now();
        self.change(|tokens| {
            let found = tokens.iter_mut().find(|token| token.id == id);
            let found = found.ok_or_else(|| StoreError::Unknown(id.to_owned()))?;
            if found.revoked.is_some() {
                return Err(StoreError::RevokedBefore(id.to_owned()));
            }
            found.revoked = Some(now);
            Ok(found.clone())
        })
    }

    /// Revokes all tokens of a namespace that are valid, durably; says how many.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`] and [`StoreError::Damaged`].
    pub fn revoke_all(&self, namespace: &Namespace) -> Result<usize, StoreError> {
        // Without a file there is none, and to make one would shut the hub.
        if self.read()?.is_none() {
            return Ok(0);
        }
        let now = now();
        self.change(|tokens| {
            let of_it = tokens.iter_mut().filter(|t| t.namespace == *namespace);
            let valid =
                of_it.filter(|token| matches!(token.ended(now), None | Some(Ended::Reserved)));
            Ok(valid.map(|token| token.revoked = Some(now)).count())
        })
    }

    /// Changes the file, alone among all processes.
    fn change<T>(
        &self,
        change: impl FnOnce(&mut Vec<TokenRecord>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let _lock = locked(&self.0).map_err(|error| self.io(error))?;
        let mut content = Content {
            tokens: self.read()?.unwrap_or_default(),
        };
        let changed = change(&mut content.tokens)?;
        // Before they are there: what is lost in between is found to be lost.
        self.mark_locked(Mark::Tokens)?;
        let text = serde_json::to_string_pretty(&content).map_err(|error| self.io(error.into()))?;
        let written = write_private(&self.0, text.as_bytes());
        written.map_err(|error| self.io(error))?;
        Ok(changed)
    }

    fn io(&self, why: io::Error) -> StoreError {
        StoreError::Io {
            path: self.0.clone(),
            why,
        }
    }
}

/// Seconds since 1970.
pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

/// The kind of a fault and its place. What stands there may be a secret.
pub(crate) fn place_of(error: &serde_json::Error) -> String {
    let fault = match error.classify() {
        Category::Data => "a value is another one than belongs there",
        Category::Eof => "it ends too early",
        Category::Io | Category::Syntax => "it is no JSON",
    };
    let (line, column) = (error.line(), error.column());
    format!("{fault}, at line {line}, column {column}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new(lasts: Option<Duration>) -> NewToken {
        NewToken {
            principal: "alice".parse().expect("a name"),
            namespace: Namespace::default(),
            roles: vec!["user".to_owned()],
            allow: vec!["be:report-*".parse().expect("a permit")],
            lasts,
        }
    }

    #[test]
    fn only_hashes_are_kept_and_only_the_owner_reads_them() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = TokenStore::in_folder(folder.path());
        assert!(store.read().expect("no file is no error").is_none());
        let issued = store.issue(new(None)).expect("a token");
        let text = fs::read_to_string(store.path()).expect("a file");
        assert!(!text.contains(&issued.token.secret()[3..]), "{text}");
        assert_eq!(store.read().expect("it reads"), Some(vec![issued.record]));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = |path: &Path| {
                fs::metadata(path)
                    .expect("it is there")
                    .permissions()
                    .mode()
            };
            assert_eq!(mode(store.path()) & 0o077, 0);
            assert_eq!(mode(store.path().parent().expect("a folder")) & 0o077, 0);
        }
    }

    #[test]
    fn tokens_end_by_time_and_by_being_revoked_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = TokenStore::in_folder(folder.path());
        let short = store.issue(new(Some(Duration::ZERO))).expect("a token");
        assert_eq!(short.record.standing(), "expired");
        let long = store
            .issue(new(Some(Duration::from_secs(60))))
            .expect("one");
        assert_eq!(long.record.standing(), "valid");
        let revoked = store.revoke(&long.record.id).expect("it is there");
        assert_eq!(revoked.standing(), "revoked");
        let again = store.revoke(&long.record.id).expect_err("it is revoked");
        assert!(matches!(again, StoreError::RevokedBefore(_)), "{again}");
        let unknown = store.revoke("x").expect_err("nobody has it").to_string();
        assert!(unknown.contains("tokens list"), "{unknown}");
        assert_eq!(store.read().expect("it reads").expect("both").len(), 2);
    }

    /// Issue 25: a token from before its name was reserved is shown and can be revoked, and does not spoil the file.
    #[test]
    fn a_token_of_a_reserved_name_stays_in_the_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = TokenStore::in_folder(folder.path());
        let id = store.issue(new(None)).expect("a token").record.id;
        let text = fs::read_to_string(store.path()).expect("a file");
        let text = text.replace("\"alice\"", "\"cortex\"");
        fs::write(store.path(), text).expect("it is written");
        let tokens = store.read().expect("it reads").expect("a file");
        assert_eq!(tokens[0].principal.as_str(), "cortex");
        assert_eq!(tokens[0].standing(), "refused");
        assert_eq!(store.revoke_all(&Namespace::default()).expect("one"), 1);
        assert!(matches!(
            store.revoke(&id),
            Err(StoreError::RevokedBefore(_))
        ));
    }

    #[test]
    fn several_processes_lose_no_token() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = TokenStore::in_folder(folder.path());
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..5).for_each(|_| drop(store.issue(new(None)).expect("one"))));
            }
        });
        assert_eq!(store.read().expect("it reads").expect("all").len(), 20);
    }

    #[test]
    fn a_damaged_file_is_no_empty_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = TokenStore::at(folder.path().join("t.json"));
        fs::write(store.path(), "{").expect("it is written");
        let error = store.read().expect_err("it is damaged").to_string();
        assert!(error.contains("t.json is no file of tokens"), "{error}");
        // What stands there may be a token that somebody has put in the wrong place.
        for spoiled in [
            r#"{"tokens": ["ah_secret"]}"#,
            r#"{"tokens": [{"id": "x", "principal": "ah_secret*"}]}"#,
            r#"{"ah_secret": [], "tokens": ah_secret}"#,
        ] {
            fs::write(store.path(), spoiled).expect("it is written");
            let error = store.read().expect_err("it is damaged").to_string();
            assert!(error.contains("at line 1, column "), "{error}");
            assert!(!error.contains("ah_secret"), "{error}");
        }
        fs::write(store.path(), "{").expect("it is written");
        assert!(store.issue(new(None)).is_err());
        assert_eq!(fs::read_to_string(store.path()).expect("it is"), "{");
    }
}

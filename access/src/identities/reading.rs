//! Reading identities from their sources.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use super::{Bearer, Known, Sources, Stamp, unknown::unknown_names};
use crate::{
    InvalidIssuer, InvalidPolicy, Policy, Principal, StoreError, Token, TokenStore,
    audit::Entry,
    store::{Ended, now},
};

/// Errors of reading identities.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file of tokens.
    #[error(transparent)]
    Tokens(#[from] StoreError),
    /// The file of the policy cannot be read.
    #[error("cannot read the policy {}: {why}", path.display())]
    Policy {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: std::io::Error,
    },
    /// The policy is wrong.
    #[error("in the policy{place}: {fault}")]
    InvalidPolicy {
        /// Its place.
        place: String,
        /// The fault.
        fault: InvalidPolicy,
    },
    /// The file of the policy is empty, as one is that somebody is about to write.
    #[error("the policy {} is empty: if nobody is to have rights by it, put a comment into it that says so", .0.display())]
    EmptyPolicy(PathBuf),
    /// There were identities, and now there are none.
    #[error(
        "this hub knew who calls, and now nothing says who may: {} has no token, and the settings have no [access]. Make a token with `agenthub tokens issue NAME --role admin`, give it the settings that it had, or remove {} if everybody who reaches it may do everything from now on", tokens.display(), mark.display()
    )]
    NoneLeft {
        /// The file of tokens.
        tokens: PathBuf,
        /// The file that says that there were.
        mark: PathBuf,
    },
    /// An issuer is wrong.
    #[error("in the settings: access.{0}")]
    InvalidIssuer(#[from] InvalidIssuer),
    /// The token of the server's own parts.
    #[error("cannot read the hub's own token: {0}")]
    OwnToken(std::io::Error),
    /// The audit, without which nothing may be administered.
    #[error("cannot write the audit in {}: {why}", folder.display())]
    Audit {
        /// Its folder.
        folder: PathBuf,
        /// The reason.
        why: std::io::Error,
    },
}

/// Entry of rights that were read again. What is wrong with them is in the server's own log.
pub(super) fn reread(which: &str, allowed: bool) -> Entry {
    let rule = match allowed {
        true => "the file has changed",
        false => "the file has changed and is wrong: the rights stay as they were",
    };
    Entry {
        allowed,
        ..Entry::of_audit("access.reread", which.to_owned(), rule)
    }
}

/// Reads all sources, and says whether nobody needs an identity. Names that nothing else has are told unless the policy is as `before`; tokens of the
/// hub's own names are told of at the start, where there is none before.
pub(super) fn read(sources: &Sources, before: Option<&Policy>) -> Result<(Known, bool), ReadError> {
    let policy = match &sources.policy_file {
        None => {
            let policy = sources.policy.clone().unwrap_or_default();
            policy.check().map_err(|fault| ReadError::InvalidPolicy {
                place: String::new(),
                fault,
            })?;
            policy
        }
        Some(path) => {
            let text = fs::read_to_string(path).map_err(|why| ReadError::Policy {
                path: path.clone(),
                why,
            })?;
            if text.trim().is_empty() {
                return Err(ReadError::EmptyPolicy(path.clone()));
            }
            Policy::of_toml(&text).map_err(|fault| ReadError::InvalidPolicy {
                place: format!(" {}", path.display()),
                fault,
            })?
        }
    };
    let store = sources.tokens.as_ref().map(TokenStore::at);
    let tokens = store.as_ref().map(TokenStore::read_issued).transpose()?;
    let tokens = tokens.unwrap_or_default();
    for issuer in &sources.issuers {
        for (place, roles) in issuer.all_roles() {
            let checked = policy.check_roles(&place, roles);
            checked.map_err(|fault| ReadError::InvalidPolicy {
                place: String::new(),
                fault,
            })?;
        }
    }
    let has_policy = sources.policy.is_some() || sources.policy_file.is_some();
    let is_open = tokens.is_empty() && !has_policy && sources.issuers.is_empty();
    if let Some(store) = store.filter(|_| is_open)
        && store.marked()?.is_some()
    {
        return Err(ReadError::NoneLeft {
            tokens: store.path().to_owned(),
            mark: store.mark_file(),
        });
    }
    if let Some(names) = &sources.names
        && before != Some(&policy)
    {
        for unknown in unknown_names(&policy, &tokens, names, sources) {
            tracing::warn!("{unknown}");
        }
    }
    let mut by_head: HashMap<u64, Vec<Bearer>> = HashMap::new();
    let mut heads: HashMap<Principal, Vec<u64>> = HashMap::new();
    for record in tokens {
        if before.is_none() && record.ended(now()) == Some(Ended::Reserved) {
            tracing::warn!(
                token = record.id,
                principal = %record.principal,
                "a token lets nobody in, as its principal has a name of the hub itself: issue one of another name, and revoke this one"
            );
        }
        let of_principal = heads.entry(record.principal.clone()).or_default();
        if !of_principal.contains(&record.hash.head()) {
            of_principal.push(record.hash.head());
        }
        let caller = policy.caller(
            &record.principal,
            &record.namespace,
            &record.roles,
            &record.allow,
        );
        by_head.entry(record.hash.head()).or_default().push(Bearer {
            id: record.id.as_str().into(),
            caller: Arc::new(caller),
            record,
        });
    }
    let known = Known {
        by_head,
        heads,
        policy,
        rights: Mutex::default(),
    };
    Ok((known, is_open))
}

pub(super) fn stamps(sources: &Sources) -> [Stamp; 2] {
    [&sources.tokens, &sources.policy_file].map(|file| {
        let metadata = fs::metadata(file.as_ref()?).ok()?;
        #[cfg(unix)]
        let number = std::os::unix::fs::MetadataExt::ino(&metadata);
        #[cfg(not(unix))]
        let number = 0;
        Some((metadata.modified().ok()?, metadata.len(), number))
    })
}

/// The token of the server's own parts: that of the file, or another one if there is none.
pub(super) fn own_token(file: Option<&Path>) -> std::io::Result<Token> {
    let text = match file.map(fs::read_to_string) {
        None => return Token::random(),
        Some(Ok(text)) => text,
        Some(Err(error)) if error.kind() == std::io::ErrorKind::NotFound => {
            return Token::random();
        }
        Some(Err(error)) => return Err(error),
    };
    text.trim().parse().or_else(|_| {
        tracing::warn!("the hub's own token is damaged: it gets another one");
        Token::random()
    })
}

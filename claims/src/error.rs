//! Errors of stores, by what their caller can do.

use std::time::Duration;

use object_store::Error as StoreError;

use crate::claim_check::NoClaimCheck;

/// Source of a failure, as the library for the store words it.
type Source = Box<dyn std::error::Error + Send + Sync>;

/// A failed operation on claim checks.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClaimError {
    /// The text is no claim check.
    #[error(transparent)]
    NotAClaimCheck(#[from] NoClaimCheck),
    /// The claim check is of another store.
    #[error(
        "{claim} is not in the store {store}: use the same store URL where content is put and where it is read"
    )]
    Foreign {
        /// The claim check.
        claim: String,
        /// URL of the store that was asked.
        store: String,
    },
    /// The object is not there.
    #[error(
        "{object} is gone: it was removed after the retention, or by hand; run the step again that made it"
    )]
    Gone {
        /// URI of the object.
        object: String,
    },
    /// The content is longer than the caller takes.
    #[error(
        "{object} has {length} bytes, {limit} are allowed: raise the limit, or have its step say less"
    )]
    TooLarge {
        /// URI of the object, or of the store while it has none.
        object: String,
        /// Length in bytes; of a stream, as far as it was read.
        length: u64,
        /// Most that is taken, in bytes.
        limit: u64,
    },
    /// The object is shorter or longer than what was put.
    #[error(
        "{object} has {found} bytes of {length}: it was changed in the store; run the step again that made it"
    )]
    Truncated {
        /// URI of the object.
        object: String,
        /// Length that was put, in bytes.
        length: u64,
        /// Length that was found, in bytes.
        found: u64,
    },
    /// The object has other content than what was put.
    #[error(
        "{object} has the SHA-256 {found}: it was changed in the store; run the step again that made it"
    )]
    Changed {
        /// URI of the object.
        object: String,
        /// Digest that was found.
        found: String,
    },
    /// The store has no such bucket, or does not let this process in.
    #[error(
        "the store refuses {object}: look at its bucket or container, and at the credentials and permissions of this process"
    )]
    Denied {
        /// URI of the object or store.
        object: String,
        /// What the store said.
        #[source]
        source: Source,
    },
    /// The store failed, after all retries; it may work later.
    #[error("the store of {object} does not answer as it should: try again later")]
    Unavailable {
        /// URI of the object or store.
        object: String,
        /// What failed.
        #[source]
        source: Source,
    },
    /// The store was too slow; it may work later. What was put may be there or not, and can be put again.
    #[error("the store of {object} did not answer within {} s: try again later", .deadline.as_secs_f32())]
    TooSlow {
        /// URI of the object or store.
        object: String,
        /// The deadline of the call.
        deadline: Duration,
    },
}

impl ClaimError {
    /// May the same call succeed later, with nothing changed by a person?
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Unavailable { .. } | Self::TooSlow { .. })
    }

    /// The failure of a call for this object.
    pub(crate) fn of(object: &str, error: StoreError) -> Self {
        let object = object.to_owned();
        match error {
            StoreError::NotFound { .. } => Self::Gone { object },
            StoreError::PermissionDenied { source, .. }
            | StoreError::Unauthenticated { source, .. } => Self::Denied { object, source },
            other => Self::Unavailable {
                object,
                source: Box::new(other),
            },
        }
    }
}

/// A failed put of a stream.
#[derive(Debug, thiserror::Error)]
pub enum StreamError<E> {
    /// The store failed, or the stream was too long. Nothing was stored.
    #[error(transparent)]
    Claim(#[from] ClaimError),
    /// The stream itself failed. Nothing was stored.
    #[error("the content ended early")]
    Content(#[source] E),
}

/// A store that cannot be used as its URL says.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The URL names no store.
    #[error(
        "{why}: a store is file:///folder, memory:///, s3://bucket/prefix, gs://bucket/prefix or az://container/prefix"
    )]
    Url {
        /// What is wrong with it. Never what may be a secret.
        why: String,
    },
    /// The program was built without this kind of store.
    #[error("no stores {scheme}:// in this program: build it with the feature `{feature}`")]
    NotBuilt {
        /// Scheme of the URL.
        scheme: String,
        /// Feature of this crate.
        feature: &'static str,
    },
    /// The folder cannot be made or opened.
    #[error("cannot open the folder {path}")]
    Folder {
        /// Path of the folder.
        path: String,
        /// Why not.
        #[source]
        source: Source,
    },
    /// Settings in the environment are missing or wrong.
    #[error("cannot use the store {store} with the settings in the environment")]
    Settings {
        /// URL of the store.
        store: String,
        /// What is wrong.
        #[source]
        source: Source,
    },
}

//! Putting and getting content.

use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use futures_util::TryFutureExt;
use object_store::{
    Attribute, Attributes, Error, ObjectStore, ObjectStoreExt, PutOptions, path::Path,
};

use crate::{
    ClaimCheck, ClaimError, ContentType, Digest, OpenError,
    claim_check::Name,
    day::Day,
    folder::{self, failed},
    opening::{Opened, open},
};

/// Longest time of a call of the store, its retries included.
const DEADLINE: Duration = Duration::from_secs(60);

/// From this length on, in bytes, content is hashed beside the threads of the runtime.
const HASHED_ASIDE: usize = 1 << 20;

/// A store of claim checks. Cloning is cheap, and gives the same store.
///
/// Each call of the store has a deadline (60 s), its retries included: what is transient (connecting, timeouts, 429, 5xx) is tried again for
/// 20 s, after random and growing pauses, or as the store asks. Cancelling any call is safe: content is there as a whole or not at all.
/// Once a put has returned, its content survives a crash of this machine, if it is in a folder, and what the cloud promises otherwise.
#[derive(Clone, Debug)]
pub struct ClaimStore {
    pub(crate) objects: Arc<dyn ObjectStore>,
    url: Arc<str>,
    prefix: Path,
    /// The folder, where the store is one.
    pub(crate) folder: Option<Arc<PathBuf>>,
    deadline: Duration,
}

impl ClaimStore {
    /// Opens the store of this URL: `file:///folder` (made if it is not there), `s3://bucket/prefix`, `gs://bucket/prefix`,
    /// `az://container/prefix`, or `memory:///`, a store of its own each time.
    ///
    /// Clouds' settings and credentials are those of the environment: `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_REGION`, `AWS_ENDPOINT_URL`
    /// and so on, `GOOGLE_APPLICATION_CREDENTIALS` or what `gcloud` keeps, `AZURE_STORAGE_ACCOUNT_NAME` and so on; else those of
    /// the machine that it runs on. Nothing is called yet.
    ///
    /// # Errors
    ///
    /// If the URL names no store that this program was built with, or the environment lacks a setting.
    pub fn open(url: &str) -> Result<Self, OpenError> {
        open(url).map(Self::from)
    }

    /// Replaces the deadline of each call.
    #[must_use]
    pub fn with_deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// URL of the store, with a slash at its end: the beginning of its claim checks.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Stores content. The same content is the same object all day, of whatever type; only its claim check names the type.
    ///
    /// # Errors
    ///
    /// [`ClaimError::Denied`], [`ClaimError::Unavailable`] or [`ClaimError::TooSlow`].
    pub async fn put(
        &self,
        content: Bytes,
        content_type: &ContentType,
    ) -> Result<ClaimCheck, ClaimError> {
        self.put_at(SystemTime::now(), content, content_type).await
    }

    /// The same on the day of this time, whenever that was: whoever repeats a put after a crash has the same claim check of it.
    ///
    /// # Errors
    ///
    /// As [`put`](Self::put).
    pub async fn put_at(
        &self,
        now: SystemTime,
        content: Bytes,
        content_type: &ContentType,
    ) -> Result<ClaimCheck, ClaimError> {
        let name = Name {
            day: Day::of(now),
            digest: digest_of(&content).await,
            length: content.len() as u64,
        };
        let options = PutOptions {
            attributes: self.attributes(content_type),
            ..PutOptions::default()
        };
        // Written even if it is there: content that was damaged is whole again then.
        let path = self.path(&name.to_string());
        let put = self.objects.put_opts(&path, content.into(), options);
        self.writing(put).await?;
        Ok(self.claim(name, content_type))
    }

    /// Reads the content of a claim check, if it is not longer than this many bytes.
    ///
    /// # Errors
    ///
    /// Any but [`ClaimError::Denied`] says that this content is not to be had here, and why.
    pub async fn get(&self, claim: &str, limit: u64) -> Result<Bytes, ClaimError> {
        let claim: ClaimCheck = claim.parse()?;
        let name = claim.name;
        if claim.store != self.url {
            return Err(ClaimError::Foreign {
                claim: claim.to_string(),
                store: self.url.to_string(),
            });
        }
        let object = self.uri(&name);
        if name.length > limit {
            return Err(ClaimError::TooLarge {
                object,
                length: name.length,
                limit,
            });
        }
        let (found, content) = self.within(&object, self.read(&name)).await?;
        if found != name.length {
            return Err(ClaimError::Truncated {
                object,
                length: name.length,
                found,
            });
        }
        let digest = digest_of(&content).await;
        if digest != name.digest {
            return Err(ClaimError::Changed {
                object,
                found: digest.to_string(),
            });
        }
        Ok(content)
    }

    /// Length of an object, and its content where that is the one of its name.
    async fn read(&self, name: &Name) -> object_store::Result<(u64, Bytes)> {
        let path = self.path(&name.to_string());
        if let Some(folder) = &self.folder {
            let file = folder.join(name.to_string());
            let read = folder::read(file, name.length).await.map_err(failed)?;
            return read.ok_or_else(|| Error::NotFound {
                path: path.to_string(),
                source: "no such file".into(),
            });
        }
        let found = self.objects.get(&path).await?;
        if found.meta.size != name.length {
            return Ok((found.meta.size, Bytes::new()));
        }
        let content = found.bytes().await?;
        Ok((content.len() as u64, content))
    }

    /// The result of a call, within the deadline.
    pub(crate) async fn within<T>(
        &self,
        object: &str,
        call: impl Future<Output = object_store::Result<T>>,
    ) -> Result<T, ClaimError> {
        match tokio::time::timeout(self.deadline, call).await {
            Ok(result) => result.map_err(|error| ClaimError::of(object, error)),
            Err(_) => Err(ClaimError::TooSlow {
                object: object.to_owned(),
                deadline: self.deadline,
            }),
        }
    }

    /// The same of a call that writes, to which `not found` says that there is no bucket.
    pub(crate) async fn writing<T>(
        &self,
        call: impl Future<Output = object_store::Result<T>>,
    ) -> Result<T, ClaimError> {
        let call = call.map_err(|error| match error {
            Error::NotFound { path, source } => Error::PermissionDenied { path, source },
            other => other,
        });
        self.within(&self.url, call).await
    }

    /// Content types are kept with objects for those who look at the bucket; folders have no place for them.
    pub(crate) fn attributes(&self, content_type: &ContentType) -> Attributes {
        if self.folder.is_some() {
            return Attributes::new();
        }
        let value = content_type.as_str().to_owned();
        Attributes::from_iter([(Attribute::ContentType, value)])
    }

    /// Path of what is called so within the store.
    pub(crate) fn path(&self, name: &str) -> Path {
        Path::from_iter(self.prefix.parts().chain(Path::from(name).parts()))
    }

    /// What the store's objects are below; `None` for everything.
    pub(crate) fn prefix(&self) -> Option<&Path> {
        (!self.prefix.as_ref().is_empty()).then_some(&self.prefix)
    }

    pub(crate) fn claim(&self, name: Name, content_type: &ContentType) -> ClaimCheck {
        ClaimCheck::new(self.url.clone(), name, content_type.clone())
    }

    /// URI of an object, of whatever type.
    pub(crate) fn uri(&self, name: &Name) -> String {
        format!("{}{name}", self.url)
    }
}

impl From<Opened> for ClaimStore {
    fn from(opened: Opened) -> Self {
        Self {
            objects: opened.objects,
            url: opened.url,
            prefix: opened.prefix,
            folder: opened.folder.map(Arc::new),
            deadline: DEADLINE,
        }
    }
}

async fn digest_of(content: &Bytes) -> Digest {
    if content.len() < HASHED_ASIDE {
        return Digest::of(content);
    }
    let content = content.clone();
    let hashed = tokio::task::spawn_blocking(move || Digest::of(&content));
    hashed.await.expect("hashing does not panic")
}

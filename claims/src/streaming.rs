//! Putting content whose end is not known yet.

use std::{pin::pin, time::SystemTime};

use bytes::{Bytes, BytesMut};
use futures_util::{Stream, StreamExt};
use object_store::{MultipartUpload, ObjectStoreExt, PutMultipartOptions, path::Path};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use crate::{
    ClaimCheck, ClaimError, ClaimStore, ContentType, Digest, StreamError, claim_check::Name,
    day::Day, sweeping::UPLOAD,
};

/// Length of a part in bytes. S3 takes no less than 5 MiB, but for the last one.
const PART: usize = 8 << 20;

/// Longest stream in bytes, as S3 copies no more in one call.
const LONGEST: u64 = 5 << 30;

impl ClaimStore {
    /// Stores what a stream yields until it ends, of at most `limit` bytes (and 5 GiB). Holds 8 MiB and one chunk in memory.
    ///
    /// What is longer than 8 MiB is written in parts, under a name of its own until it is whole. If this is cancelled in between, a folder's
    /// or memory's part is removed; that of a cloud is for the bucket's own rule for incomplete uploads. The wait for the stream's next
    /// chunk has no deadline here.
    ///
    /// # Errors
    ///
    /// If the stream fails or is too long, or as [`put`](Self::put) fails.
    pub async fn put_stream<E>(
        &self,
        chunks: impl Stream<Item = Result<Bytes, E>>,
        content_type: &ContentType,
        limit: u64,
    ) -> Result<ClaimCheck, StreamError<E>> {
        let now = SystemTime::now();
        let limit = limit.min(LONGEST);
        let mut chunks = pin!(chunks);
        let mut rest = BytesMut::new();
        let mut length = 0;
        while rest.len() <= PART {
            let Some(chunk) = chunks.next().await else {
                return Ok(self.put_at(now, rest.freeze(), content_type).await?);
            };
            let chunk = chunk.map_err(StreamError::Content)?;
            length += chunk.len() as u64;
            self.check_length(length, limit)?;
            rest.extend_from_slice(&chunk);
        }

        let upload_name = format!("{}/{UPLOAD}{}", Day::of(now), Uuid::new_v4().simple());
        let mut upload = self.begin(self.path(&upload_name), content_type).await?;
        let mut write = async || {
            loop {
                while rest.len() > PART {
                    upload.add(self, rest.split_to(PART).freeze()).await?;
                }
                let Some(chunk) = chunks.next().await else {
                    return Ok(upload.add(self, rest.split().freeze()).await?);
                };
                let chunk = chunk.map_err(StreamError::Content)?;
                length += chunk.len() as u64;
                self.check_length(length, limit)?;
                rest.extend_from_slice(&chunk);
            }
        };
        match write().await {
            Ok(()) => Ok(upload.finish(self, now, content_type).await?),
            Err(error) => {
                upload.abort(self).await;
                Err(error)
            }
        }
    }

    fn check_length(&self, length: u64, limit: u64) -> Result<(), ClaimError> {
        if length <= limit {
            return Ok(());
        }
        Err(ClaimError::TooLarge {
            object: self.url().to_owned(),
            length,
            limit,
        })
    }

    async fn begin(&self, path: Path, content_type: &ContentType) -> Result<Upload, ClaimError> {
        let options = PutMultipartOptions {
            attributes: self.attributes(content_type),
            ..PutMultipartOptions::default()
        };
        let parts = self
            .writing(self.objects.put_multipart_opts(&path, options))
            .await?;
        Ok(Upload {
            parts,
            path,
            hasher: Sha256::new(),
            length: 0,
        })
    }
}

/// Content on its way into a store, under a name of its own.
struct Upload {
    parts: Box<dyn MultipartUpload>,
    path: Path,
    hasher: Sha256,
    length: u64,
}

impl Upload {
    async fn add(&mut self, store: &ClaimStore, part: Bytes) -> Result<(), ClaimError> {
        self.hasher.update(&part);
        self.length += part.len() as u64;
        store.writing(self.parts.put_part(part.into())).await
    }

    /// Gives the content its name.
    async fn finish(
        mut self,
        store: &ClaimStore,
        now: SystemTime,
        content_type: &ContentType,
    ) -> Result<ClaimCheck, ClaimError> {
        if let Err(error) = store.writing(self.parts.complete()).await {
            self.abort(store).await;
            return Err(error);
        }
        let name = Name {
            day: Day::of(now),
            digest: Digest::finished(self.hasher),
            length: self.length,
        };
        let named = store.path(&name.to_string());
        store
            .writing(store.objects.rename(&self.path, &named))
            .await?;
        Ok(store.claim(name, content_type))
    }

    /// Removes the parts, as far as the store lets it: nobody can read them, and the bucket's rules remove them too.
    async fn abort(&mut self, store: &ClaimStore) {
        if let Err(error) = store.writing(self.parts.abort()).await {
            tracing::debug!(path = %self.path, %error, "parts of an upload remain");
        }
    }
}

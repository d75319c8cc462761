//! Records: small values under keys, for whoever must know whether something was done already.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use futures_util::TryFutureExt;
use object_store::{Error, ObjectStore, ObjectStoreExt, PutOptions};

use crate::{
    ClaimError, ClaimStore, Digest,
    day::Day,
    folder::{failed, first_of},
};

/// Prefix of the names of records.
pub(crate) const RECORD: &str = "record-";

const DAY: Duration = Duration::from_hours(24);

impl ClaimStore {
    /// Keeps a value under a key, for whoever asks on this day or the next. The last value of a day counts. Removed with the day, as everything.
    ///
    /// # Errors
    ///
    /// [`ClaimError::Denied`], [`ClaimError::Unavailable`] or [`ClaimError::TooSlow`].
    pub async fn record(&self, key: &str, value: Bytes) -> Result<(), ClaimError> {
        self.record_at(SystemTime::now(), key, value).await
    }

    /// The value that was [kept](Self::record) under a key today or yesterday.
    ///
    /// # Errors
    ///
    /// As [`record`](Self::record).
    pub async fn recorded(&self, key: &str) -> Result<Option<Bytes>, ClaimError> {
        let now = SystemTime::now();
        let names = [now, now - DAY].map(|day| name(Day::of(day), key));
        if let Some(folder) = &self.folder {
            let files = names.map(|name| folder.join(name));
            let found = first_of(files).map_err(failed);
            return self.within(self.url(), found).await;
        }
        for name in names {
            let path = self.path(&name);
            let found = async {
                match self.objects.get(&path).await {
                    Ok(found) => Ok(Some(found.bytes().await?)),
                    Err(Error::NotFound { .. }) => Ok(None),
                    Err(error) => Err(error),
                }
            };
            if let Some(value) = self.within(self.url(), found).await? {
                return Ok(Some(value));
            }
        }
        Ok(None)
    }

    pub(crate) async fn record_at(
        &self,
        now: SystemTime,
        key: &str,
        value: Bytes,
    ) -> Result<(), ClaimError> {
        let path = self.path(&name(Day::of(now), key));
        let put = self
            .objects
            .put_opts(&path, value.into(), PutOptions::default());
        self.writing(put).await.map(drop)
    }
}

fn name(day: Day, key: &str) -> String {
    format!("{day}/{RECORD}{}", Digest::of(key.as_bytes()))
}

//! Removing what is older than the retention.

use std::time::{Duration, SystemTime};

use futures_util::{StreamExt, stream};
use object_store::{ObjectMeta, path::Path};

use crate::{ClaimError, ClaimStore, Digest, claim_check::Name, day::Day, folder, records::RECORD};

/// How the names of uploads begin that are not whole yet.
pub(crate) const UPLOAD: &str = "upload-";

/// The outcome of a sweep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Objects that were removed.
    pub removed: usize,
    /// Objects that are older than the retention and still needed.
    pub needed: usize,
    /// Was everything looked at? If not, there is more to remove.
    pub is_done: bool,
}

impl ClaimStore {
    /// Removes at most `most` objects of days that have been over for longer than the retention, oldest first, but for those whose content
    /// is needed. Objects that this crate did not write stay.
    ///
    /// What is put while this runs stays: a put writes to its own day, and clocks that differ by up to an hour are allowed for. A claim check
    /// of an older day is protected by `is_needed` alone. Any number of sweeps may run at once, and cancelling one is safe.
    ///
    /// # Errors
    ///
    /// [`ClaimError::Denied`], [`ClaimError::Unavailable`] or [`ClaimError::TooSlow`]; what was removed until then is removed.
    pub async fn sweep(
        &self,
        retention: Duration,
        most: usize,
        is_needed: impl Fn(Digest) -> bool,
    ) -> Result<Swept, ClaimError> {
        self.sweep_at(SystemTime::now(), retention, most, is_needed)
            .await
    }

    pub(crate) async fn sweep_at(
        &self,
        now: SystemTime,
        retention: Duration,
        most: usize,
        is_needed: impl Fn(Digest) -> bool,
    ) -> Result<Swept, ClaimError> {
        let listing = self.objects.list_with_delimiter(self.prefix());
        let below = self.within(self.url(), listing).await?.common_prefixes;
        let mut days: Vec<Day> = below
            .iter()
            .filter_map(|path| path.filename()?.parse().ok())
            .filter(|day: &Day| day.is_overdue(now, retention))
            .collect();
        days.sort_unstable();
        let mut swept = Swept::default();
        for day in days {
            if !self.sweep_day(day, most, &is_needed, &mut swept).await? {
                return Ok(swept);
            }
        }
        swept.is_done = true;
        Ok(swept)
    }

    /// Removes what may be removed of a day. `false` if that is not all of it, as enough was removed.
    async fn sweep_day(
        &self,
        day: Day,
        most: usize,
        is_needed: &impl Fn(Digest) -> bool,
        swept: &mut Swept,
    ) -> Result<bool, ClaimError> {
        let folder = self.path(&day.to_string());
        let mut objects = self.objects.list(Some(&folder));
        let mut removable: Vec<Path> = Vec::new();
        let mut is_whole = true;
        while let Some(object) = self
            .within(self.url(), async { objects.next().await.transpose() })
            .await?
        {
            match standing(day, &object, is_needed) {
                Standing::Needed => swept.needed += 1,
                Standing::Strange => {}
                Standing::Removable if swept.removed + removable.len() < most => {
                    removable.push(object.location);
                }
                Standing::Removable => {
                    is_whole = false;
                    break;
                }
            }
        }
        let removable = stream::iter(removable).map(Ok).boxed();
        let mut removing = self.objects.delete_stream(removable);
        while let Some(removed) = next_removal(self, &mut removing).await? {
            swept.removed += usize::from(removed);
        }
        if is_whole && let Some(root) = &self.folder {
            folder::remove_remains(&root.join(day.to_string())).await;
        }
        Ok(is_whole)
    }
}

/// The next removal, and whether there was anything to remove; another sweep may have been faster.
async fn next_removal(
    store: &ClaimStore,
    removing: &mut stream::BoxStream<'static, object_store::Result<Path>>,
) -> Result<Option<bool>, ClaimError> {
    let next = async {
        match removing.next().await {
            None => Ok(None),
            Some(Ok(_)) => Ok(Some(true)),
            Some(Err(object_store::Error::NotFound { .. })) => Ok(Some(false)),
            Some(Err(error)) => Err(error),
        }
    };
    store.within(store.url(), next).await
}

/// An object of a day that is over, as a sweep sees it.
enum Standing {
    Removable,
    Needed,
    /// Not written by this crate.
    Strange,
}

fn standing(day: Day, object: &ObjectMeta, is_needed: impl Fn(Digest) -> bool) -> Standing {
    let file = object.location.filename().unwrap_or_default();
    if file.starts_with(UPLOAD) || file.starts_with(RECORD) {
        return Standing::Removable;
    }
    match format!("{day}/{file}").parse::<Name>() {
        Ok(name) if is_needed(name.digest) => Standing::Needed,
        Ok(_) => Standing::Removable,
        Err(()) => Standing::Strange,
    }
}

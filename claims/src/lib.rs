//! Claim checks: outputs of steps, kept outside the messages that name them.
//!
//! [`ClaimStore::put`] stores content and gives its [`ClaimCheck`], a URI that names the store, the day, the SHA-256 of the content, its length
//! and its content type: `s3://bucket/prefix/2026-11-25/9f86d0….4#text/plain`. [`ClaimStore::get`] reads it again and checks it against
//! all of that. Both may be repeated at will: the same content is the same object all day, so a put that is repeated after a crash writes what is there.
//!
//! Objects go by days. [`ClaimStore::sweep`] removes objects of days that are over for longer than the retention, and no put writes to
//! such a day: content that is needed again is an object of today. So nothing that was just put is ever removed, and no lock is needed for that.
//!
//! A store also keeps [records](ClaimStore::record), by which whoever repeats something after a crash knows that it was done.
//!
//! A store is a folder, memory, or, as features of this crate, S3 (`aws`), Google Cloud Storage (`gcp`) or Azure Blob Storage (`azure`).

mod claim_check;
mod content_type;
mod day;
mod error;
mod folder;
mod opening;
mod records;
#[cfg(feature = "remote")]
mod retry_after;
mod store;
mod streaming;
mod sweeping;

#[cfg(test)]
mod contract;
#[cfg(test)]
mod s3_tests;

pub use claim_check::{ClaimCheck, Digest};
pub use content_type::ContentType;
pub use error::{ClaimError, OpenError, StreamError};
pub use store::ClaimStore;
pub use sweeping::Swept;

//! The audit: who did what to what, allowed or denied, and by which rule.
//!
//! It is a set of files of JSON lines in the data folder, each line with the hash of the line before (`line.rs`, `trail.rs`), and
//! the last one kept beside them (`head.rs`). [`Audit`] writes it
//! off the way of the calls, in a thread of its own: an [act](Audit::act) is on the disk before it is done; refusals and other
//! [notes](Audit::note) are written soon after, repeated ones as one line with their number (`repeats.rs`). [`verify`] says whether the files are
//! as they were written (`verifying.rs`), [`Tail`] reads their end (`tail.rs`). A [`Witness`] records what becomes of one call (`witness.rs`),
//! and [`records()`] says what each call leaves, of its entry among the calls (`records.rs`).

mod head;
mod line;
mod records;
mod repeats;
mod tail;
mod trail;
mod verifying;
mod witness;
mod writer;

pub use self::head::Head;
pub use self::line::{Digest, Entry, InvalidDigest, Line, Source};
pub(crate) use self::records::field;
pub use self::records::{Field, Records, records, route_records};
pub use self::tail::Tail;
pub use self::trail::{AuditSettings, append};
pub use self::verifying::{KnownHead, Report, Tampered, VerifyError, verify};
pub use self::witness::{Refusal, Witness};
pub use self::writer::{Audit, Unrecorded};

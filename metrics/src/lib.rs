//! Metrics of a process: [instruments](Counter) that are counted without a lock or an allocation, a [description](Descriptor) of each, and the
//! [snapshot](Snapshot) of all, as [text](mod@text) for Prometheus or as the points of OTLP.
//!
//! Who has instruments has a function that adds their values to a snapshot: nothing is looked up by name while work is done. Labels come from
//! small sets that are known beforehand, or from a [`Family`] with a bound.

mod descriptor;
mod family;
mod histogram;
mod instruments;
pub mod runs;
mod snapshot;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod text;
pub mod topics;

pub use descriptor::{Descriptor, Kind, Unit};
pub use family::Family;
pub use histogram::{Bounds, Exemplar, Histogram, Seen, bounds};
pub use instruments::{Counter, Gauge};
pub use snapshot::{Point, Series, Snapshot, Value};

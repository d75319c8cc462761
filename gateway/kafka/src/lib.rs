//! The hub's events on Kafka, and records of Kafka as messages of the hub, each once in effect.
//!
//! [`settings`] says what is carried. [`outgoing`] decides which records an event of the hub becomes, [`incoming`] which message a record
//! becomes, or why none. A `Connector` (behind the feature `kafka`) carries them: events with the position behind them in one transaction; of records, the
//! position follows once the hub has the messages, and what may have reached the hub before a crash is looked up in the hub's log (`recall`). Both
//! positions are on a topic of the connector ([`positions`]), as are those of sources in Kafka Connect.

pub mod incoming;
pub mod outgoing;
pub mod pattern;
pub mod positions;
pub mod settings;
pub mod starting;

#[cfg(feature = "kafka")]
mod connector;
#[cfg(feature = "kafka")]
mod metrics;
#[cfg(feature = "kafka")]
mod mirroring;
#[cfg(feature = "kafka")]
mod recall;
#[cfg(feature = "kafka")]
mod taking;

#[cfg(all(test, feature = "kafka"))]
mod connector_tests;

#[cfg(feature = "kafka")]
pub use connector::{Connector, Error};

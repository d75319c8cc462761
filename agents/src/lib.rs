//! Small agents on the SDK alone.
//!
//! [`echo`] repeats what it is told. The others are specialists, each with one skill or two that take and give data: [`strategy`] plans,
//! [`writer`] writes, [`qa`] reviews. They work with a model or, where there is none, by what they can compute. What they know of a domain
//! comes with the request.

mod fields;
mod offline;
mod text;

pub mod echo;
pub mod qa;
pub mod strategy;
pub mod writer;

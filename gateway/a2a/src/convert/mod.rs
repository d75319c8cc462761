//! Conversion between A2A's types and the hub's: nothing else knows both. Nothing is lost in either direction, but for what one side cannot say of a
//! malformed value of the other.

mod card;
mod message;
mod task;

pub use card::{card_from_hub, card_to_hub};
pub use message::{artifact_from_hub, artifact_to_hub, message_from_hub, message_to_hub};
pub use task::{artifact_update_from_hub, status_update_from_hub, task_from_hub};

#[cfg(test)]
mod tests;

//! Agents of a team, called from the chat.

use super::{copied, up};
use crate::harness::System;

/// Cortex delegates text, and data that is for no skill in particular: the critic takes a draft, and is called with
/// text all the same.
///
/// spec: SOP-5.7, SOP-6.1
#[test]
fn an_agent_that_takes_inputs_is_asked_in_words_by_the_chat() {
    let (system, _broker) = System::broker();
    let _cortex = system.start_cortex();
    copied(system.folder());
    let _team = up(&system, "team", "critic", &["--ephemeral"]);
    let chat = system.chat("ask the critic to check this: The hub is fast. Very fast.\n");
    assert_eq!(chat.code, Some(3), "nobody judged it: {chat:?}");
    let counted = "It has 6 words. It keeps to the limit of 250 words.";
    assert!(chat.stdout.contains(counted), "{chat:?}");
    assert!(!chat.stdout.contains("does not take"), "{chat:?}");
}

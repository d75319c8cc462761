//! Correlation ids, by which a request is known wherever something is done for it.

use agenthub_proto::a2a::Message;

/// Key of the id in the metadata of messages.
pub(crate) const KEY: &str = "correlation_id";

/// The longest one, in bytes.
const MAX: usize = 128;

/// Id of everything that is done for this message. A stranger's id is taken only if it can stand in a line of a log.
pub(crate) fn of(message: &Message) -> &str {
    let given = message.metadata_str(KEY);
    match message.task_id.as_str() {
        _ if is_fit(given) => given,
        "" => &message.message_id,
        task_id => task_id,
    }
}

fn is_fit(id: &str) -> bool {
    !id.is_empty() && id.len() <= MAX && id.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use super::*;
    use agenthub_proto::a2a::Role;

    /// spec: SOP-9.5
    #[test]
    fn a_request_is_known_by_what_it_carries_or_else_by_its_task() {
        let message = |given: &str, task: &str| {
            let mut message = Message::new(Role::User, "hi").with_metadata(KEY, given);
            message.message_id = "m1".to_owned();
            message.task_id = task.to_owned();
            message
        };
        let long = "x".repeat(MAX + 1);
        for (given, task, expected) in [
            ("r1", "t1", "r1"),
            ("", "t1", "t1"),
            ("", "", "m1"),
            ("two words", "t1", "t1"),
            ("line\nbreak", "t1", "t1"),
            (&long, "t1", "t1"),
        ] {
            assert_eq!(of(&message(given, task)), expected, "{given:?}");
        }
        let mut number = message("", "t1");
        number = number.with_metadata(KEY, 7);
        assert_eq!(of(&number), "t1");
    }
}

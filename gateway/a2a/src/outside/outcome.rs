//! Outcome of the hub's task, from the end of the task elsewhere.

use agenthub_sdk::{Failure, Message, Reply, proto::a2a::Role};

use crate::{convert::message_to_hub, v1};

/// Question of an agent that says none.
pub(super) const ASKS: &str = "the agent waits for an answer";

/// The same where somebody is to sign in.
const ASKS_AUTH: &str = "the agent waits until somebody has signed in";

/// Question of an agent that waits in this state.
pub(super) fn question(status: &v1::TaskStatus) -> Reply {
    match (&status.message, status.state()) {
        (Some(words), _) => said(words.clone()).into(),
        (None, v1::TaskState::AuthRequired) => Reply::text(ASKS_AUTH),
        (None, _) => Reply::text(ASKS),
    }
}

/// The reply that the last words of an agent elsewhere are.
///
/// # Errors
///
/// The task did not come to a good end.
pub(super) fn of(state: v1::TaskState, words: Option<v1::Message>) -> Result<Reply, Failure> {
    use v1::TaskState as S;
    let text = words.as_ref().map(text_of).unwrap_or_default();
    let or = |default: &str| match text.as_str() {
        "" => default.to_owned(),
        text => text.to_owned(),
    };
    match state {
        S::InputRequired => Ok(Reply::input_required(or(ASKS))),
        S::AuthRequired => Ok(Reply::auth_required(or(ASKS_AUTH))),
        S::Failed => Err(Failure::failed(or("the agent failed"))),
        S::Rejected => Err(Failure::rejected(or("the agent does not do this"))),
        S::Canceled => Err(Failure::cancelled(or("the agent was told to stop"))),
        S::Completed | S::Working | S::Submitted | S::Unspecified => {
            Ok(words.map_or_else(Reply::none, |words| said(words).into()))
        }
    }
}

/// True if the task has come to an end.
pub(super) fn has_ended(task: &v1::Task) -> bool {
    use v1::TaskState as S;
    let state = task.status.as_ref().map(v1::TaskStatus::state);
    matches!(
        state,
        Some(S::Completed | S::Failed | S::Canceled | S::Rejected)
    )
}

/// A message of an agent elsewhere as the hub's agent says it: its ids are those of the hub.
pub(super) fn said(message: v1::Message) -> Message {
    Message {
        task_id: String::new(),
        context_id: String::new(),
        role: Role::Agent.into(),
        ..message_to_hub(message)
    }
}

/// Text parts of a message, one under the other.
pub(super) fn text_of(message: &v1::Message) -> String {
    let texts = message.parts.iter().filter_map(|part| match &part.content {
        Some(v1::part::Content::Text(text)) => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::from_json;
    use serde_json::json;

    fn words(text: &str) -> Option<v1::Message> {
        let message = json!({"messageId": "m", "taskId": "there", "role": "ROLE_AGENT", "parts": [{"text": text}]});
        Some(from_json(message).expect("a message"))
    }

    #[test]
    fn each_end_is_one_of_the_hubs() {
        use v1::TaskState as S;
        let done = of(S::Completed, words("done")).expect("it is done");
        let message = done.message().expect("words");
        assert_eq!(
            (message.text(), message.task_id.as_str()),
            ("done".into(), "")
        );
        assert_eq!(of(S::Completed, None), Ok(Reply::none()));
        let asks = of(S::InputRequired, words("which?")).expect("it asks");
        assert!(asks.is_input_required());
        assert!(
            of(S::AuthRequired, None)
                .expect("it asks")
                .is_input_required()
        );
        assert_eq!(of(S::Failed, words("no")), Err(Failure::failed("no")));
        assert_eq!(of(S::Rejected, words("no")), Err(Failure::rejected("no")));
        assert_eq!(of(S::Canceled, words("no")), Err(Failure::cancelled("no")));
        assert!(of(S::Failed, None).is_err());
    }
}

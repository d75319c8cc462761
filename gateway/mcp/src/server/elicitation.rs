//! Questions of an agent, put to the person at a client that can ask (elicitation).
//!
//! The question itself is in the hub's log: it stands while nobody answers, and a call in its conversation answers it
//! later, from this client or another one. Clients of 2026-07-28 are not asked, as that protocol has no requests of
//! servers: they get the question as the result, as those do that cannot ask.

use std::time::Duration;

use agenthub_sdk::{Outcome, proto::a2a::TaskState};
use rmcp::{
    Peer, RoleServer,
    model::{ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema},
    service::ElicitationMode,
};

/// The most questions of one call that a person is asked.
pub(super) const MOST_QUESTIONS: usize = 16;

/// Property of the form with the answer.
const ANSWER: &str = "answer";

/// Answer to a request to sign in: that it is done.
const DONE: &str = "done";

/// Asks the person what an agent asks. `None` if nobody is asked, or nobody answers within this time.
pub(super) async fn ask(
    peer: &Peer<RoleServer>,
    agent: &str,
    outcome: &Outcome,
    within: Duration,
) -> Option<String> {
    let can_ask = peer
        .supported_elicitation_modes()
        .contains(&ElicitationMode::Form);
    if !can_ask || outcome.text.is_empty() {
        return None;
    }
    let params = ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: format!("{agent} asks: {}", outcome.text),
        requested_schema: form(outcome.state)?,
    };
    let asked = peer.create_elicitation_with_timeout(params, Some(within));
    match asked.await {
        Ok(result) => answer(outcome.state, &result),
        Err(error) => {
            tracing::debug!(%error, "the client does not ask its person");
            None
        }
    }
}

/// The form: one text. A form is no place for credentials, so that of a request to sign in is empty.
fn form(state: TaskState) -> Option<ElicitationSchema> {
    let form = ElicitationSchema::builder();
    let form = match state {
        TaskState::AuthRequired => form,
        _ => form.required_string(ANSWER),
    };
    form.build().ok()
}

/// The answer in a result, if the person gave one.
fn answer(state: TaskState, result: &ElicitResult) -> Option<String> {
    if result.action != ElicitationAction::Accept {
        return None;
    }
    if state == TaskState::AuthRequired {
        return Some(DONE.to_owned());
    }
    let text = result.content.as_ref()?.get(ANSWER)?.as_str()?;
    (!text.trim().is_empty()).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_a_person_gave_is_an_answer() {
        let check = |state, action, content, expected: Option<&str>| {
            let result = ElicitResult::new(action).with_content(content);
            assert_eq!(answer(state, &result).as_deref(), expected);
        };
        use ElicitationAction::{Accept, Cancel, Decline};
        let asks = TaskState::InputRequired;
        check(asks, Accept, json!({"answer": "Rome"}), Some("Rome"));
        check(asks, Accept, json!({"answer": " "}), None);
        check(asks, Accept, json!({"city": "Rome"}), None);
        check(asks, Decline, json!({"answer": "Rome"}), None);
        check(asks, Cancel, json!({"answer": "Rome"}), None);
        check(TaskState::AuthRequired, Accept, json!({}), Some(DONE));
        check(TaskState::AuthRequired, Decline, json!({}), None);
    }

    #[test]
    fn a_request_to_sign_in_has_no_field_for_credentials() {
        let fields = |state| form(state).expect("a form").properties.len();
        assert_eq!(fields(TaskState::AuthRequired), 0);
        assert_eq!(fields(TaskState::InputRequired), 1);
    }
}

//! History of a conversation from before this process knew it, read from the tasks that the hub keeps.

use std::time::Duration;

use agenthub_proto::{
    a2a::{Role, Task, TaskState},
    agenthub::ListTasksRequest,
};
use agenthub_sdk::{Client, Outcome};
use tokio::time::timeout;

use super::{conversation::Key, history::Past};
use crate::origin::CORTEX;

/// The requests that are looked up; earlier ones are left out.
const MAX_TURNS: i32 = 50;

/// A conversation does not wait longer than this for its past.
const DEADLINE: Duration = Duration::from_secs(2);

/// The conversation as the hub has it. Best effort: without it the conversation begins anew.
pub(crate) async fn recall(client: &Client, key: &Key) -> Past {
    let request = ListTasksRequest {
        agent_id: CORTEX.to_owned(),
        context_id: key.context_id.clone(),
        states: vec![TaskState::Completed.into(), TaskState::Failed.into()],
        page_size: MAX_TURNS,
        ..Default::default()
    };
    match timeout(DEADLINE, client.tasks(request)).await {
        Ok(Ok(page)) => Past {
            said: said(&page.tasks, &key.user).collect(),
            has_more: !page.next_page_token.is_empty(),
        },
        Ok(Err(error)) => {
            tracing::warn!(%error, "a conversation's past could not be read");
            Past::default()
        }
        Err(_) => {
            tracing::warn!("a conversation's past could not be read in time");
            Past::default()
        }
    }
}

/// The words of this user to Cortex, and the answers, oldest first. The tasks are latest first.
fn said<'a>(tasks: &'a [Task], user: &'a str) -> impl Iterator<Item = (String, String)> + 'a {
    tasks
        .iter()
        .rev()
        .filter(move |task| owner(task) == user && task.assignee() == CORTEX)
        .filter_map(|task| {
            let words = task.history.iter().find(|m| m.role() != Role::Agent)?;
            let answer = Outcome::of(task).message?;
            Some((words.text(), answer.text()))
        })
}

/// The owner of a task: the principal who asked first; its requester on a hub without identities.
fn owner(task: &Task) -> &str {
    match task.on_behalf_of() {
        "" => task.requester(),
        principal => principal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use agenthub_proto::{
        a2a::{Message, TaskStatus},
        json,
    };
    use serde_json::json;

    fn task(requester: &str, assignee: &str, words: &str, answer: &str) -> Task {
        Task {
            history: vec![Message::new(Role::User, words)],
            status: Some(TaskStatus {
                state: TaskState::Completed.into(),
                update: Some(Message::new(Role::Agent, answer)),
                timestamp: None,
            }),
            metadata: Some(json::to_struct(
                &json!({"requester": requester, "assignee": assignee}),
            )),
            ..Default::default()
        }
    }

    #[test]
    fn only_what_this_user_and_cortex_said_is_recalled() {
        let tasks = [
            task("ann", "cortex", "second", "2"),
            task("bob", "cortex", "secret", "!"),
            task("cortex", "agent_echo", "first", "Echo: first"),
            task("ann", "cortex", "first", "1"),
        ];
        // What a gateway asks for is its callers'.
        let mut asked = task("ann", "cortex", "theirs", "?");
        let metadata = asked.metadata.get_or_insert_default();
        let principal = json::to_value(&"bob".into());
        metadata.fields.insert("on_behalf_of".to_owned(), principal);
        let tasks = [&tasks[..], &[asked]].concat();
        let said: Vec<_> = said(&tasks, "ann").collect();
        let pair = |words: &str, answer: &str| (words.to_owned(), answer.to_owned());
        assert_eq!(said, [pair("first", "1"), pair("second", "2")]);
    }
}

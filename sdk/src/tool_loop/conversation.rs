//! History of a conversation, from the tasks that the hub keeps.

use std::time::Duration;

use agenthub_proto::{
    a2a::{self, Task, TaskState},
    agenthub::ListTasksRequest,
};
use tokio::time::timeout;

use crate::{
    Outcome, TaskContext, bounds,
    model::{PromptMessage, estimate_tokens},
};

/// The earlier turns that are looked up.
const MAX_TURNS: i32 = 50;

/// The tokens that all earlier turns together may take.
const MAX_TOKENS: usize = 8_000;

/// The longest text of an earlier turn, in bytes.
const MAX_TEXT: usize = 8 * 1024;

/// A run does not wait longer than this for its past.
const DEADLINE: Duration = Duration::from_secs(2);

/// The messages between this requester and this agent. Best effort: without them the conversation begins here.
pub(super) async fn recall(task: &TaskContext) -> Vec<PromptMessage> {
    let request = ListTasksRequest {
        agent_id: task.client().agent_id().to_owned(),
        context_id: task.context_id().to_owned(),
        states: vec![TaskState::Completed.into(), TaskState::Failed.into()],
        page_size: MAX_TURNS,
        ..Default::default()
    };
    match timeout(DEADLINE, task.client().tasks(request)).await {
        Ok(Ok(page)) => {
            let is_ours = |found: &&Task| {
                found.id != task.task_id()
                    && found.requester() == task.sender()
                    && found.assignee() == task.client().agent_id()
            };
            let has_more = !page.next_page_token.is_empty();
            said(page.tasks.iter().filter(is_ours), has_more, MAX_TOKENS)
        }
        Ok(Err(error)) => {
            tracing::warn!(%error, "a conversation's past could not be read");
            Vec::new()
        }
        Err(_) => {
            tracing::warn!("a conversation's past could not be read in time");
            Vec::new()
        }
    }
}

/// The messages in these tasks, oldest first, within so many tokens; a mark stands for what was left out. The tasks are latest first.
fn said<'a>(
    tasks: impl Iterator<Item = &'a Task>,
    has_more: bool,
    max_tokens: usize,
) -> Vec<PromptMessage> {
    let mut tokens = 0;
    let mut turns = Vec::new();
    let mut left_out = has_more;
    for task in tasks {
        let Some(turn) = turn(task) else { continue };
        tokens += turn.iter().map(|text| estimate_tokens(text)).sum::<usize>();
        if tokens > max_tokens {
            left_out = true;
            break;
        }
        turns.push(turn);
    }
    let mark = left_out.then(|| PromptMessage::user("[earlier messages left out]"));
    let turns = turns.into_iter().rev();
    mark.into_iter()
        .chain(turns.flat_map(|[asked, answered]| {
            [
                PromptMessage::user(asked),
                PromptMessage::assistant(answered),
            ]
        }))
        .collect()
}

/// The question and the answer.
fn turn(task: &Task) -> Option<[String; 2]> {
    let asked = task.history.iter().find(|m| m.role() != a2a::Role::Agent)?;
    let outcome = Outcome::of(task);
    let answered = match outcome.is_completed() {
        true => outcome.text,
        false => outcome.error,
    };
    let turn = [asked.text(), answered].map(|text| bounds::head(text, MAX_TEXT));
    turn.iter().all(|text| !text.is_empty()).then_some(turn)
}

#[cfg(test)]
mod tests {
    use super::*;
    use agenthub_proto::a2a::TaskStatus;

    fn task(asked: &str, answered: &str) -> Task {
        Task {
            history: vec![a2a::Message::new(a2a::Role::User, asked)],
            status: Some(TaskStatus {
                state: TaskState::Completed.into(),
                update: Some(a2a::Message::new(a2a::Role::Agent, answered)),
                timestamp: None,
            }),
            ..Default::default()
        }
    }

    #[test]
    fn earlier_turns_are_told_oldest_first_within_the_bound() {
        let tasks = [task("third", "3"), task("second", "2"), task("first", "1")];
        let all = said(tasks.iter(), false, 100);
        let expected = [("first", "1"), ("second", "2"), ("third", "3")]
            .map(|(q, a)| [PromptMessage::user(q), PromptMessage::assistant(a)]);
        assert_eq!(all, expected.concat());

        let short = said(tasks.iter(), false, 6);
        let texts: Vec<String> = short.iter().filter_map(PromptMessage::text).collect();
        assert_eq!(
            texts,
            ["[earlier messages left out]", "second", "2", "third", "3"]
        );
    }
}

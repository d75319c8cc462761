//! Makes chat turns of messages over the hub.

use std::sync::Arc;

use agenthub_sdk::{
    Failure, Reply, TaskContext,
    durable::{Beginning, Conductor, ForkChanges, Identity},
    proto::a2a::{FilePart, Message, Part},
    runs::{Budget, RunId, RunOutcome, Strategy, World},
};
use serde_json::{Value, json};

use super::{
    conversation::Key,
    frame_feed, history, inbox,
    outcome::bounded,
    task_sink::TaskSink,
    turn::{ChatTurn, Input},
    world::ChatWorld,
};
use crate::{
    asked::Asked,
    origin::{Origin, context_of, response},
    principal::owner_of,
    settings::Settings,
    shared::Shared,
};

const NOTHING_SAID: &str = "the message is empty: say what you want in a text part";

/// Makes a run of each message that asks Cortex for something.
#[derive(Debug)]
pub(crate) struct Chats(pub(crate) Arc<Shared>);

fn key(task: &TaskContext) -> Key {
    Key {
        user: owner_of(task),
        context_id: context_of(task),
    }
}

/// The files of a message, as the model is told of them: nobody reads them but the agents that are asked.
fn files(message: &Message) -> impl Iterator<Item = Value> {
    let files = message.content.iter().filter_map(Part::as_file);
    files.map(FilePart::described)
}

/// Input of a turn.
pub(crate) fn input(words: String, attached: Vec<Value>, settings: &Settings) -> Input {
    let delegation_ms = settings.delegation_timeout.as_millis();
    Input {
        words,
        attached,
        files: Vec::new(),
        longest: history::longest(settings.history_tokens),
        max_rounds: settings.max_rounds,
        delegation_ms: u64::try_from(delegation_ms).unwrap_or(u64::MAX),
        takes_prose: true,
        calls_tools: settings.model.calls_tools(),
        refused: None,
    }
}

/// Refuses other instructions for a fork.
pub(crate) fn no_instructions(changes: &ForkChanges) -> Result<(), Failure> {
    match changes.instructions {
        Some(_) => {
            let why = "Cortex's instructions are those of this program: say it in the input";
            Err(Failure::rejected(why).at("instructions"))
        }
        None => Ok(()),
    }
}

/// Attributes of a turn's spans.
pub(crate) fn identity(settings: &Settings) -> Identity {
    Identity {
        model: settings.model.name().to_owned(),
        ..Identity::default()
    }
}

impl Conductor for Chats {
    fn strategy(&self) -> &dyn Strategy {
        &ChatTurn
    }

    fn begin(&self, task: &TaskContext) -> Result<Beginning, Failure> {
        if !inbox::is_answered(task.message(), &task.routing().to_agent_id) {
            return Err(Failure::rejected("it asks Cortex for nothing"));
        }
        let message = task.message();
        let comes_alone = message.data().next().is_none() && message.files().next().is_none();
        let is_empty = task.text().trim().is_empty() && comes_alone;
        let refused = match is_empty {
            true => Some(NOTHING_SAID.to_owned()),
            false => self.0.has_room(&key(task)).err().map(|r| r.to_string()),
        };
        let attached = bounded(message.data());
        let input = Input {
            refused,
            files: bounded(files(message)),
            ..input(task.text(), attached, &self.0.settings)
        };
        let asked = Asked::of(task.message());
        Ok(Beginning {
            input: json!(input),
            budget: Budget {
                time_ms: asked.and_then(|asked| asked.brief.budget.time_ms),
                ..Budget::default()
            },
        })
    }

    fn fork(&self, recorded: Value, changes: &ForkChanges) -> Result<Value, Failure> {
        no_instructions(changes)?;
        let mut input: Input = serde_json::from_value(recorded).map_err(|error| {
            Failure::rejected(format!("the turn's input cannot be read: {error}"))
        })?;
        if let Some(given) = &changes.input {
            let words = given.as_str().filter(|words| !words.trim().is_empty());
            let words = words.ok_or_else(|| {
                Failure::rejected(
                    "the input of a turn is what is said, as a text that is not empty",
                )
                .at("input")
            })?;
            words.clone_into(&mut input.words);
        }
        Ok(json!(input))
    }

    fn identity(&self) -> Identity {
        identity(&self.0.settings)
    }

    fn world(&self, task: &TaskContext, _: &RunId) -> Arc<dyn World> {
        let (view, projector) = frame_feed::open();
        let message_id = task.message().message_id.clone();
        if let Some(mut sink) = TaskSink::of(task) {
            let (turn, context_id) = (message_id.clone(), context_of(task));
            self.0.keep(async move {
                projector.run(&mut sink, turn, context_id).await;
            });
        }
        let turn = self.0.join(key(task), &task.text());
        let origin = Origin::Hub(task.clone());
        let shared = Arc::clone(&self.0);
        let world = ChatWorld::new(shared, origin, message_id, turn, view);
        Arc::new(world.asking(task.model_of_run(&self.0.settings.model)))
    }

    fn reply(&self, task: &TaskContext, outcome: &RunOutcome) -> Result<Reply, Failure> {
        let answer = |text: &str| {
            let original = &task.message().message_id;
            Reply::from(response(text, &context_of(task), original))
        };
        match outcome {
            RunOutcome::Completed { text, .. } => {
                let original = &task.message().message_id;
                let mut message = response(text, &context_of(task), original);
                let shortfall = outcome.shortfall().map(|shortfall| shortfall.to_json());
                message.content.extend(shortfall.as_ref().map(Part::data));
                Ok(message.into())
            }
            // Who sent a message without a task is told in a message.
            RunOutcome::Failed { error } if task.task_id().is_empty() => Ok(answer(error)),
            RunOutcome::Failed { error } => Err(Failure::failed(error)),
            RunOutcome::Cancelled { .. } => Err(Failure::cancelled("cancelled")),
        }
    }
}

#[cfg(test)]
mod tests {
    use agenthub_sdk::proto::a2a::{Role, file_part, part};

    use super::*;

    /// spec: ORC-2.3
    #[test]
    fn the_model_is_told_of_files_and_never_what_is_in_them() {
        let mut message = Message::new(Role::User, "look at this");
        message.content.push(Part {
            part: Some(part::Part::File(FilePart {
                name: "plan.pdf".into(),
                mime_type: "application/pdf".into(),
                file: Some(file_part::File::FileWithBytes(b"secret".to_vec())),
            })),
            ..Part::default()
        });
        message.content.push(Part::data(&json!({"a": 1})));
        assert_eq!(
            files(&message).collect::<Vec<_>>(),
            [json!({"name": "plan.pdf", "mimeType": "application/pdf", "bytes": 6})]
        );
    }
}

//! Replies and failures of handlers.

use std::fmt;

use agenthub_proto::{
    a2a::{Artifact, Message, Part, Role, Task, TaskState},
    wkt::Kind,
};
use agenthub_runs::ToolOutput;
use serde_json::Value;

use crate::error;

/// Key of a task's metadata: the field of the request that the task failed because of.
pub(crate) const FIELD: &str = "invalid_field";

/// Any error that can be sent between threads.
type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The result of a handler: a message to the requester, artifacts, both, or nothing. Text, a [`Message`], an [`Artifact`], a
/// JSON value (as a data part) and `()` turn into one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    pub(crate) message: Option<Message>,
    pub(crate) artifacts: Vec<Artifact>,
    /// The state in which the task waits for its requester.
    pub(crate) asks: Option<TaskState>,
}

impl Reply {
    /// Reply without words: the task is completed, a message without a task is not answered.
    pub fn none() -> Self {
        Self::default()
    }

    /// A message of one text part.
    pub fn text(text: impl Into<String>) -> Self {
        Message::new(Role::Agent, text).into()
    }

    /// The task goes on when the requester has answered this question in the same task.
    pub fn input_required(question: impl Into<String>) -> Self {
        Self {
            asks: Some(TaskState::InputRequired),
            ..Self::text(question)
        }
    }

    /// The task goes on when the requester has signed in as this explains, and says so in the same task.
    pub fn auth_required(explanation: impl Into<String>) -> Self {
        Self {
            asks: Some(TaskState::AuthRequired),
            ..Self::text(explanation)
        }
    }

    /// The same as the message alone, for requesters whose protocol has answers without a task: A2A's SendMessage returns the message. On the hub it
    /// is a task like any other. Without a message, and with artifacts, it stays a task.
    #[must_use]
    pub fn message_only(mut self) -> Self {
        let message = self.message.take();
        self.message = message.map(|message| message.with_metadata(Message::MESSAGE_ONLY, true));
        self
    }

    /// The message to the requester, if there is one.
    pub fn message(&self) -> Option<&Message> {
        self.message.as_ref()
    }

    /// The artifacts.
    pub fn artifacts(&self) -> &[Artifact] {
        &self.artifacts
    }

    /// True if the task goes on with an answer of the requester.
    pub fn is_input_required(&self) -> bool {
        self.asks.is_some()
    }

    /// The same with one more artifact.
    #[must_use]
    pub fn artifact(mut self, artifact: Artifact) -> Self {
        self.artifacts.push(artifact);
        self
    }
}

impl From<()> for Reply {
    fn from((): ()) -> Self {
        Self::none()
    }
}

impl From<&str> for Reply {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for Reply {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl From<Message> for Reply {
    fn from(message: Message) -> Self {
        Self {
            message: Some(message),
            ..Self::default()
        }
    }
}

impl From<Artifact> for Reply {
    fn from(artifact: Artifact) -> Self {
        Self::none().artifact(artifact)
    }
}

impl From<Value> for Reply {
    fn from(value: Value) -> Self {
        let mut message = Message::new(Role::Agent, "");
        message.content = vec![Part::data(&value)];
        message.into()
    }
}

/// Value that a handler or a tool may return where `O` is wanted: something that becomes one, or a `Result` of that with a [`Failure`], so that
/// `?` works on any error.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is nothing that a handler or tool can return for `{O}`",
    note = "return it itself, a text or a JSON value, or a `Result` of one of these with `Failure`; `?` makes a `Failure` of any error"
)]
pub trait IntoOutput<O> {
    /// The output, or why there is none.
    ///
    /// # Errors
    ///
    /// The failure that was returned.
    fn into_output(self) -> Result<O, Failure>;
}

impl<O> IntoOutput<O> for O {
    fn into_output(self) -> Result<O, Failure> {
        Ok(self)
    }
}

impl<O> IntoOutput<O> for Result<O, Failure> {
    fn into_output(self) -> Result<O, Failure> {
        self
    }
}

macro_rules! becomes {
    ($output:ty: $($from:ty),+) => {$(
        impl IntoOutput<$output> for $from {
            fn into_output(self) -> Result<$output, Failure> {
                Ok(self.into())
            }
        }

        impl IntoOutput<$output> for Result<$from, Failure> {
            fn into_output(self) -> Result<$output, Failure> {
                self.map(Into::into)
            }
        }
    )+};
}

becomes!(Reply: (), &'static str, String, Message, Artifact, Value);
becomes!(ToolOutput: (), &'static str, String, Value, bool, i32, i64, u32, u64, f64, Vec<Value>, Vec<String>);

/// Failure of a handler. Any error that boxes, and text, turn into [`Failure::failed`], so that `?` works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    pub(crate) kind: FailureKind,
    pub(crate) text: String,
    pub(crate) field: Option<String>,
}

/// The state that a task without a result ends in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FailureKind {
    Failed,
    Rejected,
    Cancelled,
}

impl Failure {
    /// The longest text, in characters. What is longer is cut.
    pub const MAX_TEXT: usize = 2_000;

    /// The agent could not do it.
    pub fn failed(text: impl Into<String>) -> Self {
        Self::new(FailureKind::Failed, text.into())
    }

    /// The agent does not do such things.
    pub fn rejected(text: impl Into<String>) -> Self {
        Self::new(FailureKind::Rejected, text.into())
    }

    /// Failure of work that is not wanted any more.
    pub fn cancelled(text: impl Into<String>) -> Self {
        Self::new(FailureKind::Cancelled, text.into())
    }

    /// The same because of a field of the request, such as `model`. Who asked is told of it with the task.
    #[must_use]
    pub fn at(self, field: impl Into<String>) -> Self {
        Self {
            field: Some(field.into()),
            ..self
        }
    }

    /// The field of the request that it is because of.
    pub fn field(&self) -> Option<&str> {
        self.field.as_deref()
    }

    /// The field that a task failed because of, if its agent said so.
    pub fn field_of(task: &Task) -> Option<&str> {
        let field = task.metadata.as_ref()?.fields.get(FIELD)?;
        match &field.kind {
            Some(Kind::StringValue(field)) => Some(field),
            _ => None,
        }
    }

    fn new(kind: FailureKind, text: String) -> Self {
        let text = match text.char_indices().nth(Self::MAX_TEXT) {
            None => text,
            Some(_) => {
                let mut cut: String = text.chars().take(Self::MAX_TEXT - 1).collect();
                cut.push('…');
                cut
            }
        };
        Self {
            kind,
            text,
            field: None,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl<E: Into<BoxError>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::failed(error::chain(error.into().as_ref()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fails(how: u8) -> Result<(), Failure> {
        match how {
            0 => Err("plain words")?,
            1 => {
                "x".parse::<u8>()?;
            }
            _ => return Err(Failure::rejected("not my job")),
        }
        Ok(())
    }

    #[test]
    fn the_question_mark_works_on_errors_and_words() {
        assert_eq!(fails(0), Err(Failure::failed("plain words")));
        assert_eq!(
            fails(1),
            Err(Failure::failed("invalid digit found in string"))
        );
        assert_eq!(fails(2).map_err(|f| f.kind), Err(FailureKind::Rejected));
    }

    #[test]
    fn long_texts_are_cut_with_a_mark() {
        let failure = Failure::failed("ä".repeat(5_000));
        assert_eq!(failure.text.chars().count(), Failure::MAX_TEXT);
        assert!(failure.text.ends_with('…'));
    }
}

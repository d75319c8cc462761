//! Tools that a model can call: a name, a description, a JSON Schema for the input, and a function.

mod context;
mod input;
mod toolbox;

use std::{fmt, sync::Arc};

use agenthub_runs::{ToolOutput, model};
use futures_util::{FutureExt, future::BoxFuture};
use schemars::{JsonSchema, generate::SchemaSettings};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};

pub use context::ToolContext;
pub(crate) use toolbox::{MAX_TOOLS, Toolbox};

use crate::{Failure, IntoOutput};

/// Input of `ask_requester`.
#[derive(Deserialize, JsonSchema)]
struct Question {
    /// The question, in plain words.
    question: String,
}

type Function = dyn Fn(ToolContext, Value) -> BoxFuture<'static, ToolOutput> + Send + Sync;

/// Something that a model can call. Cheap to clone.
///
/// ```
/// use agenthub_sdk::{Tool, ToolContext, schemars};
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Sum {
///     /// What to add up.
///     numbers: Vec<f64>,
/// }
///
/// let sum = Tool::typed("sum", "Adds numbers up", async |_: ToolContext, input: Sum| {
///     input.numbers.iter().sum::<f64>()
/// });
/// assert_eq!(sum.name(), "sum");
/// ```
#[derive(Clone)]
pub struct Tool {
    name: Arc<str>,
    description: Arc<str>,
    schema: Arc<Value>,
    function: Arc<Function>,
    needs_approval: bool,
}

impl Tool {
    /// A tool whose input is what this schema describes: an object, in JSON Schema 2020-12, without references to other documents. The
    /// name is `[A-Za-z0-9_-]{1,64}`. Both are checked when the agent is built.
    ///
    /// The function sees only input that fits. What it gives, a text or a JSON value, is what the model is told, and so is a failure's
    /// text; the model can then mend what it asked for. After a crash it may be called once more with the same input and the same
    /// [key](ToolContext::idempotency_key). When the run is cancelled, it has 5 s from [`ToolContext::cancelled`] on.
    pub fn new<H, F, R>(
        name: impl Into<String>,
        description: impl Into<String>,
        schema: Value,
        handler: H,
    ) -> Self
    where
        H: Fn(ToolContext, Value) -> F + Send + Sync + 'static,
        F: Future<Output = R> + Send + 'static,
        R: IntoOutput<ToolOutput>,
    {
        Self {
            name: name.into().into(),
            description: description.into().into(),
            schema: Arc::new(schema),
            function: Arc::new(move |context, input| {
                let calling = handler(context, input);
                async move { into_output(calling.await) }.boxed()
            }),
            needs_approval: false,
        }
    }

    /// A tool whose input is a struct: its schema follows from the type, its fields' descriptions from their doc comments.
    pub fn typed<A, H, F, R>(
        name: impl Into<String>,
        description: impl Into<String>,
        handler: H,
    ) -> Self
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
        H: Fn(ToolContext, A) -> F + Send + Sync + 'static,
        F: Future<Output = R> + Send + 'static,
        R: IntoOutput<ToolOutput>,
    {
        let generator = SchemaSettings::draft2020_12().into_generator();
        let schema = generator.into_root_schema_for::<A>().to_value();
        Self {
            name: name.into().into(),
            description: description.into().into(),
            schema: Arc::new(schema),
            function: Arc::new(move |context, input| match serde_json::from_value(input) {
                Ok(input) => {
                    let calling = handler(context, input);
                    async move { into_output(calling.await) }.boxed()
                }
                Err(error) => {
                    let text = format!("{}: {error}", input::DOES_NOT_FIT);
                    std::future::ready(ToolOutput::error(text)).boxed()
                }
            }),
            needs_approval: false,
        }
    }

    /// The same tool, each call of which a person has to allow, who is shown exactly what it is called with: with `agenthub runs approve`, in
    /// the chat, over HTTP, or with [`Operator::decide`](crate::operator::Operator::decide).
    ///
    /// The question is in the run's journal, and waits there over restarts until the deadline of the task. It is answered once. The model
    /// is told of a refusal as one of a person, with what they said about it. Input that does not fit the schema goes back to the
    /// model, and nobody is asked.
    #[must_use]
    pub fn approval(mut self) -> Self {
        self.needs_approval = true;
        self
    }

    /// True if a person has to [allow](Self::approval) each call.
    pub fn needs_approval(&self) -> bool {
        self.needs_approval
    }

    /// The tool `ask_requester`: with it a model asks who gave it the task, and goes on with the answer, see [`ToolContext::ask_requester`].
    pub fn ask_requester() -> Self {
        Self::typed(
            "ask_requester",
            "Asks who gave you this task one question, and returns their answer. Call it only where you cannot do the task without \
             knowing something that nobody but them can tell. Say in the question all that they need to answer it.",
            async |context: ToolContext, Question { question }| {
                let answer = context.ask_requester(question).await?;
                let data: Vec<Value> = answer.data().collect();
                Ok::<_, Failure>(match data.is_empty() {
                    true => Value::String(answer.text()),
                    false => json!({"text": answer.text(), "data": data}),
                })
            },
        )
    }

    /// Checks whether this can be the schema of a tool's input, as it is checked when an agent is built.
    ///
    /// # Errors
    ///
    /// The fault of the schema.
    pub fn check_schema(schema: &Value) -> Result<(), String> {
        input::compile(schema).map(drop)
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The description: when to call it and what it does.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// The schema of its input.
    pub fn schema(&self) -> &Value {
        &self.schema
    }

    /// As a model is told of it.
    pub(crate) fn described(&self) -> model::ToolSpec {
        model::ToolSpec {
            name: self.name().to_owned(),
            description: self.description().to_owned(),
            parameters: self.schema().clone(),
            agent: None,
        }
    }
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tool")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

fn into_output(result: impl IntoOutput<ToolOutput>) -> ToolOutput {
    result
        .into_output()
        .unwrap_or_else(|failure| ToolOutput::error(failure.text))
}

//! Bodies of messages, with exactly the fields that EXE-10 names.

use std::sync::LazyLock;

use agenthub_sdk::{
    runs::schema::CompiledSchema,
    schemars::{self, JsonSchema},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use super::reading::compiled;

/// Body of a message of workflows.
pub trait Body: Serialize + DeserializeOwned + JsonSchema + Send + 'static {
    /// Type of the event, as CloudEvents has it.
    const TYPE: &'static str;

    /// The run that it belongs to, which is the message's key.
    fn run_id(&self) -> &str;

    /// The body's schema, compiled once.
    fn compiled_schema() -> &'static CompiledSchema;
}

/// A task for an agent.
///
/// spec: EXE-10.1
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskRequest {
    /// Run that the task is a step of.
    #[schemars(length(min = 1))]
    pub run_id: String,
    /// Task, the same however often it is sent.
    #[schemars(length(min = 1))]
    pub task_id: String,
    /// Agent that is asked.
    #[schemars(length(min = 1))]
    pub agent_name: String,
    /// URI of what the agent gets.
    #[schemars(length(min = 1))]
    pub input_claim_check: String,
    /// Comes back in the result.
    #[schemars(length(min = 1))]
    pub correlation_id: String,
}

/// The outcome of a task.
///
/// spec: EXE-10.2
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("required" = ["run_id", "task_id", "status", "output_claim_check", "correlation_id", "error_message"]))]
#[schemars(extend("anyOf" = [
    {"properties": {"status": {"const": "COMPLETED"}, "output_claim_check": {"type": "string"}}},
    {"properties": {"status": {"const": "FAILED"}, "error_message": {"type": "string"}}}
]))]
pub struct TaskResult {
    /// Run that the task is a step of.
    #[schemars(length(min = 1))]
    pub run_id: String,
    /// The task.
    #[schemars(length(min = 1))]
    pub task_id: String,
    /// What became of it.
    pub status: Outcome,
    /// URI of what the agent gave; null if it gave nothing.
    pub output_claim_check: Option<String>,
    /// That of the task.
    #[schemars(length(min = 1))]
    pub correlation_id: String,
    /// What went wrong, with the HTTP status code if there is one; null if nothing did.
    pub error_message: Option<String>,
}

/// What became of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum Outcome {
    /// The agent has answered.
    Completed,
    /// It has not, or not to the end.
    Failed,
}

/// A change of a run or of one of its steps.
///
/// spec: EXE-10.3
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MonitoringUpdate {
    /// The run.
    #[schemars(length(min = 1))]
    pub run_id: String,
    /// The step; `workflow` for the run as a whole.
    #[schemars(length(min = 1))]
    pub step_name: String,
    /// State since then.
    pub status: StepStatus,
    /// Time of the change, RFC 3339.
    #[schemars(extend("format" = "date-time"))]
    pub timestamp: String,
    /// What else is known: attempt, agent, task, error.
    pub metadata: Map<String, Value>,
}

/// State of a run or of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum StepStatus {
    /// It has begun.
    Running,
    /// It has ended as it should.
    Completed,
    /// It has ended otherwise.
    Failed,
    /// It was called back.
    Cancelled,
}

/// A part of an answer that an agent streams.
///
/// spec: EXE-10.4
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StreamChunk {
    /// Run that the answer is for.
    #[schemars(length(min = 1))]
    pub run_id: String,
    /// Agent that answers.
    #[schemars(length(min = 1))]
    pub agent_name: String,
    /// Place in the answer of the task, from 1, without gaps.
    #[schemars(range(min = 1))]
    pub sequence: u64,
    /// Text of the part.
    pub content: String,
    /// True for the last one, which has no text.
    pub is_end_of_stream: bool,
}

impl Body for TaskRequest {
    const TYPE: &'static str = "agenthub.task.requested";

    fn run_id(&self) -> &str {
        &self.run_id
    }

    fn compiled_schema() -> &'static CompiledSchema {
        static SCHEMA: LazyLock<CompiledSchema> = LazyLock::new(compiled::<TaskRequest>);
        &SCHEMA
    }
}

impl Body for TaskResult {
    const TYPE: &'static str = "agenthub.task.ended";

    fn run_id(&self) -> &str {
        &self.run_id
    }

    fn compiled_schema() -> &'static CompiledSchema {
        static SCHEMA: LazyLock<CompiledSchema> = LazyLock::new(compiled::<TaskResult>);
        &SCHEMA
    }
}

impl Body for MonitoringUpdate {
    const TYPE: &'static str = "agenthub.workflow.updated";

    fn run_id(&self) -> &str {
        &self.run_id
    }

    fn compiled_schema() -> &'static CompiledSchema {
        static SCHEMA: LazyLock<CompiledSchema> = LazyLock::new(compiled::<MonitoringUpdate>);
        &SCHEMA
    }
}

impl Body for StreamChunk {
    const TYPE: &'static str = "agenthub.task.streamed";

    fn run_id(&self) -> &str {
        &self.run_id
    }

    fn compiled_schema() -> &'static CompiledSchema {
        static SCHEMA: LazyLock<CompiledSchema> = LazyLock::new(compiled::<StreamChunk>);
        &SCHEMA
    }
}

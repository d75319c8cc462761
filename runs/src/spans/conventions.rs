//! The names that spans use: OpenTelemetry's semantic conventions for generative AI, and our own where those have none.
//!
//! The conventions are still in development and change between versions, so one version is pinned. Source: `docs/gen-ai/` of the
//! semantic conventions in that version.

/// The version of the conventions that names and attributes are taken from.
pub const VERSION: &str = "1.41.0";

/// Where that version is described, for who reads the spans.
pub const SCHEMA_URL: &str = "https://opentelemetry.io/schemas/1.41.0";

pub(super) const OPERATION: &str = "gen_ai.operation.name";
pub(super) const PROVIDER: &str = "gen_ai.provider.name";
pub(super) const AGENT: &str = "gen_ai.agent.name";
pub(super) const WORKFLOW: &str = "gen_ai.workflow.name";
pub(super) const CONVERSATION: &str = "gen_ai.conversation.id";
pub(super) const REQUEST_MODEL: &str = "gen_ai.request.model";
pub(super) const MAX_TOKENS: &str = "gen_ai.request.max_tokens";
pub(super) const INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
pub(super) const OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";
pub(super) const TOOL_NAME: &str = "gen_ai.tool.name";
pub(super) const TOOL_CALL_ID: &str = "gen_ai.tool.call.id";
pub(super) const TOOL_TYPE: &str = "gen_ai.tool.type";
pub(super) const ERROR_TYPE: &str = "error.type";

/// The event that has the result of an evaluation.
pub const EVALUATION: &str = "gen_ai.evaluation.result";
/// What was evaluated: a capability, or one of its checks.
pub const EVALUATION_NAME: &str = "gen_ai.evaluation.name";
/// The score, where there is one.
pub const SCORE: &str = "gen_ai.evaluation.score.value";
/// The verdict: `pass`, `fail`, or what the check says.
pub const LABEL: &str = "gen_ai.evaluation.score.label";

pub(super) const CHAT: &str = "chat";
pub(super) const EXECUTE_TOOL: &str = "execute_tool";
pub(super) const INVOKE_AGENT: &str = "invoke_agent";
pub(super) const INVOKE_WORKFLOW: &str = "invoke_workflow";

/// What the conventions have no operation for.
pub(super) const APPROVAL: &str = "approval";

pub(super) const RUN: &str = "agenthub.run.id";
/// What the request is known by that all of it belongs to, across agents.
pub const CORRELATION: &str = "agenthub.correlation_id";
pub(super) const STRATEGY: &str = "agenthub.run.strategy";
/// How a run, or the task of a handoff, ended.
pub const STATE: &str = "agenthub.state";
/// The step of the run.
pub const STEP: &str = "agenthub.step";
pub(super) const ATTEMPT: &str = "agenthub.attempt";
pub(super) const TASK: &str = "agenthub.task.id";
pub(super) const CAPABILITY: &str = "agenthub.capability";
/// All tokens of a run or a handoff, those of the agents below included.
pub const TOKENS: &str = "agenthub.usage.tokens";
pub(super) const CALLS: &str = "agenthub.usage.calls";
pub(super) const TOOL_CALLS: &str = "agenthub.tool_calls";
pub(super) const DEPTH: &str = "agenthub.depth";
pub(super) const RUN_SCORE: &str = "agenthub.score";
pub(super) const APPROVAL_ID: &str = "agenthub.approval.id";
pub(super) const APPROVED: &str = "agenthub.approval.approved";

/// The event that something was made.
pub const ARTIFACT: &str = "agenthub.artifact";
/// The name of what was made.
pub const ARTIFACT_NAME: &str = "agenthub.artifact.name";
/// Its size.
pub const ARTIFACT_BYTES: &str = "agenthub.artifact.bytes";

/// The event that a run's depth or score changed.
pub(super) const PROGRESS: &str = "agenthub.progress";

/// Who offers agents here.
pub(super) const AGENTHUB: &str = "agenthub";

/// The conventions' name for a provider of models, and the model's own name.
pub(super) fn model(name: &str) -> (&str, &str) {
    match name.split_once('/') {
        Some(("bedrock", model)) => ("aws.bedrock", model),
        Some(("vertex", model)) => ("gcp.vertex_ai", model),
        Some(("gemini", model)) => ("gcp.gemini", model),
        Some(("xai", model)) => ("x_ai", model),
        Some(("mistral", model)) => ("mistral_ai", model),
        Some((provider, model)) => (provider, model),
        None => (name, name),
    }
}

//! Names used in spans: OpenTelemetry's semantic conventions for generative AI, and `agenthub.*` names where those
//! define none.
//!
//! The conventions are still in development and change between versions, so one version is pinned. Source:
//! `docs/gen-ai/` of the semantic conventions in that version.

/// Pinned version of the conventions.
pub const VERSION: &str = "1.41.0";

/// Schema URL of that version.
pub const SCHEMA_URL: &str = "https://opentelemetry.io/schemas/1.41.0";

/// Operation: one of `chat`, `execute_tool`, `invoke_agent`, `invoke_workflow`, `approval`.
pub const OPERATION: &str = "gen_ai.operation.name";
/// Provider of a model.
pub const PROVIDER: &str = "gen_ai.provider.name";
/// Name of an agent.
pub const AGENT: &str = "gen_ai.agent.name";
pub(super) const WORKFLOW: &str = "gen_ai.workflow.name";
pub(super) const CONVERSATION: &str = "gen_ai.conversation.id";
/// Model that was asked.
pub const REQUEST_MODEL: &str = "gen_ai.request.model";
pub(super) const MAX_TOKENS: &str = "gen_ai.request.max_tokens";
/// Tokens of the input.
pub const INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
/// Tokens of the output.
pub const OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";
/// Name of a tool.
pub const TOOL_NAME: &str = "gen_ai.tool.name";
pub(super) const TOOL_CALL_ID: &str = "gen_ai.tool.call.id";
pub(super) const TOOL_TYPE: &str = "gen_ai.tool.type";
/// Kind of an error, from a small set.
pub const ERROR_TYPE: &str = "error.type";

/// Event: result of an evaluation.
pub const EVALUATION: &str = "gen_ai.evaluation.result";
/// Name of the evaluated capability, or of one of its checks.
pub const EVALUATION_NAME: &str = "gen_ai.evaluation.name";
/// Score, if there is one.
pub const SCORE: &str = "gen_ai.evaluation.score.value";
/// Verdict: `pass`, `fail`, or the check's own word.
pub const LABEL: &str = "gen_ai.evaluation.score.label";

/// Operation: a model is asked.
pub const CHAT: &str = "chat";
/// Operation: a tool is called.
pub const EXECUTE_TOOL: &str = "execute_tool";
/// Operation: an agent works.
pub const INVOKE_AGENT: &str = "invoke_agent";
/// Operation: a workflow is carried out.
pub const INVOKE_WORKFLOW: &str = "invoke_workflow";

/// Operation that the conventions do not define.
pub const APPROVAL: &str = "approval";

pub(super) const RUN: &str = "agenthub.run.id";
/// Correlation id of the request, the same across agents.
pub const CORRELATION: &str = "agenthub.correlation_id";
pub(super) const STRATEGY: &str = "agenthub.run.strategy";
/// Final state of a run, or of a handoff's task.
pub const STATE: &str = "agenthub.state";
/// Step of the run.
pub const STEP: &str = "agenthub.step";
pub(super) const ATTEMPT: &str = "agenthub.attempt";
pub(super) const TASK: &str = "agenthub.task.id";
pub(super) const CAPABILITY: &str = "agenthub.capability";
/// Total tokens of a run or a handoff, those of the agents below included.
pub const TOKENS: &str = "agenthub.usage.tokens";
pub(super) const CALLS: &str = "agenthub.usage.calls";
pub(super) const TOOL_CALLS: &str = "agenthub.tool_calls";
pub(super) const DEPTH: &str = "agenthub.depth";
pub(super) const RUN_SCORE: &str = "agenthub.score";
pub(super) const APPROVAL_ID: &str = "agenthub.approval.id";
/// Decision of an approval.
pub const APPROVED: &str = "agenthub.approval.approved";

/// Event: an artifact was produced.
pub const ARTIFACT: &str = "agenthub.artifact";
/// Name of the artifact.
pub const ARTIFACT_NAME: &str = "agenthub.artifact.name";
/// Size of the artifact.
pub const ARTIFACT_BYTES: &str = "agenthub.artifact.bytes";

/// Event: depth or score of a run changed.
pub(super) const PROGRESS: &str = "agenthub.progress";

/// Provider name for agents.
pub(super) const AGENTHUB: &str = "agenthub";

/// Splits `provider/model` into the conventions' provider name and the model name.
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

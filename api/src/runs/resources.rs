//! Runs as those see them who ask for them. Times are RFC 3339 in UTC.

use std::{
    collections::BTreeMap,
    time::{Duration, SystemTime},
};

use agenthub_sdk::{
    proto::{event, wkt::Timestamp},
    runs::model::Undone,
};
use serde::{Serialize, Serializer};
use serde_json::Value;
use utoipa::ToSchema;

pub(crate) use super::graph::GraphView;

/// State of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, serde::Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RunState {
    /// It is on its way to who drives it.
    #[default]
    Submitted,
    /// It is at work.
    Working,
    /// It is at work, and waits for a person's yes.
    AwaitingApproval,
    /// It was told to stop, and waits for what it has out.
    Cancelling,
    /// It has a result.
    Completed,
    /// It has none.
    Failed,
    /// It was called back.
    Cancelled,
}

/// A run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Run)]
pub(crate) struct RunView {
    /// Its id, which is the `correlationId` of its frames.
    pub(crate) id: String,
    /// `app` or `chat`; for runs of other agents the name of their strategy.
    pub(crate) mode: String,
    /// The agent that talks in chat mode, or whose run it is.
    pub(crate) agent: String,
    /// Its thread.
    pub(crate) thread_id: String,
    /// Its state.
    pub(crate) state: RunState,
    /// The objective.
    pub(crate) objective: String,
    /// Time of its beginning.
    #[serde(serialize_with = "rfc3339")]
    #[schema(value_type = String, format = DateTime)]
    pub(crate) created_at: u64,
    /// Time of its end.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "rfc3339_if")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub(crate) ended_at: Option<u64>,
    /// The last phase that it entered.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(required = false)]
    pub(crate) phase: String,
    /// Number of rounds so far.
    pub(crate) depth: u32,
    /// Tokens that models used so far, read and written.
    pub(crate) tokens: u64,
    /// True if some of them are an estimate, and not the count of the model's provider.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    pub(crate) tokens_estimated: bool,
    /// Calls of models, tools and agents so far.
    pub(crate) calls: u64,
    /// Approvals that wait for a person.
    pub(crate) approvals: Vec<ApprovalView>,
    /// Its result: the bundle, in chat mode `{"message": …}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub(crate) result: Option<Value>,
    /// Extent of what the result lacks: `part`, also where the constraints are not met, or `all`; nothing if it is whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, example = "part")]
    pub(crate) undone: Option<Undone>,
    /// Why nothing did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
    /// Its task in the hub.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(required = false)]
    pub(crate) task_id: String,
    /// The task that led to this run; none for a run that was asked for by itself.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(required = false)]
    pub(crate) parent_task_id: String,
    /// The principal who asked first for what it is a part of; none on a hub without identities.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(required = false)]
    pub(crate) on_behalf_of: String,
    /// The run that it goes on from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) resumes: Option<String>,
    /// Its series.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(required = false)]
    pub(crate) series: String,
    /// The run that it was forked from, and the number of the event at which it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) forked: Option<ForkedView>,
    /// Limits of the whole run.
    #[serde(skip_serializing_if = "RunLimits::is_unlimited")]
    #[schema(required = false)]
    pub(crate) budget: RunLimits,
}

/// Place in another run from which a run goes on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
#[schema(as = Forked)]
pub(crate) struct ForkedView {
    /// The other run.
    pub(crate) run: String,
    /// Number of its event.
    pub(crate) at: u64,
}

/// Limits of a run; what is not given is not limited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunLimits {
    /// Tokens that models use, read and written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tokens: Option<u64>,
    /// Calls of models, tools and agents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) calls: Option<u64>,
    /// Time, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) time_ms: Option<u64>,
}

impl RunLimits {
    fn is_unlimited(&self) -> bool {
        *self == Self::default()
    }
}

/// A run that was asked for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StartedRun {
    /// Its state.
    pub(crate) run: RunView,
    /// True if this call started it.
    pub(crate) is_new: bool,
}

/// Filter of listed runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ListQuery {
    /// Those in this state.
    pub(crate) state: Option<RunState>,
    /// Those of this thread.
    pub(crate) thread_id: Option<String>,
    /// `app`, `chat`, or the name of a strategy.
    pub(crate) mode: Option<String>,
    /// At most 200; 50 if not given.
    pub(crate) limit: Option<u32>,
    /// End of the page before.
    pub(crate) page_token: Option<String>,
    /// Only those that no other run led to.
    pub(crate) top_only: bool,
}

/// Runs, latest first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunPage {
    /// The runs.
    pub(crate) runs: Vec<RunView>,
    /// Gives the next page; none behind the last one.
    #[serde(rename = "nextPageToken", skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<String>,
}

/// Something that a person has to allow.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Approval)]
pub(crate) struct ApprovalView {
    /// Its id, unique in its run.
    pub(crate) id: String,
    /// Its run.
    pub(crate) run_id: String,
    /// The plan's step.
    pub(crate) step: String,
    /// The agent that would do it.
    pub(crate) agent: String,
    /// Purpose.
    pub(crate) capability: String,
    /// Input of the agent: exactly this is allowed.
    #[schema(value_type = Value)]
    pub(crate) arguments: Value,
    /// SHA-256 over run, step, agent, capability and arguments.
    pub(crate) digest: String,
    /// Time of the question.
    #[serde(serialize_with = "rfc3339")]
    #[schema(value_type = String, format = DateTime)]
    pub(crate) asked_at: u64,
    /// The principal on whose behalf its run is.
    #[serde(skip)]
    pub(super) on_behalf_of: String,
}

/// The plan of a run.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Plan)]
pub(crate) struct PlanView {
    /// Rises with every change.
    pub(crate) version: u64,
    /// The plan.
    #[schema(value_type = Object)]
    pub(crate) plan: Value,
    /// State of each step.
    pub(crate) states: BTreeMap<String, StepStanding>,
}

/// State of a step of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum StepStanding {
    /// A step that it depends on is not done.
    Waiting,
    /// It may begin.
    Ready,
    /// It waits for a person's yes.
    AwaitingApproval,
    /// It is out.
    Working,
    /// It has an output.
    Completed,
    /// It has failed for good.
    Failed,
    /// A person did not allow it.
    Refused,
    /// It was called back before it was done.
    Cancelled,
    /// It was left out.
    Skipped,
    /// The run ended before it, or what it needs failed.
    NotReached,
}

impl RunState {
    /// True if nothing more happens in the run.
    pub(crate) fn is_over(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }

    /// The word for it.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Submitted => "submitted",
            Self::Working => "working",
            Self::AwaitingApproval => "awaiting-approval",
            Self::Cancelling => "cancelling",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

impl StepStanding {
    /// The word for it.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Ready => "ready",
            Self::AwaitingApproval => "awaiting-approval",
            Self::Working => "working",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Refused => "refused",
            Self::Cancelled => "cancelled",
            Self::Skipped => "skipped",
            Self::NotReached => "not-reached",
        }
    }
}

/// Milliseconds since 1970 as the wire has them.
pub(crate) fn timestamp(at_ms: u64) -> Timestamp {
    event::timestamp(SystemTime::UNIX_EPOCH + Duration::from_millis(at_ms))
}

// The form that serde asks for.
#[expect(clippy::trivially_copy_pass_by_ref)]
pub(super) fn rfc3339<S: Serializer>(at_ms: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&timestamp(*at_ms))
}

// The form that serde asks for.
#[expect(clippy::ref_option)]
pub(super) fn rfc3339_if<S: Serializer>(
    at_ms: &Option<u64>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&timestamp(at_ms.unwrap_or_default()))
}

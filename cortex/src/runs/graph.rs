//! Who handed what to whom.

use serde::Serialize;
use utoipa::ToSchema;

/// The handoffs of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GraphView {
    /// Whose run it is, and everybody who was handed something, in the order in which they came in.
    pub(crate) nodes: Vec<Node>,
    /// The handoffs, in their order.
    pub(crate) edges: Vec<Edge>,
}

/// Somebody who takes part.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Node {
    /// The agent's or the tool's name.
    pub(crate) id: String,
    /// `orchestrator`, `agent`, `tool` or `person`.
    pub(crate) kind: &'static str,
}

/// A handoff.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Edge {
    /// Counts from 1.
    pub(crate) order: u32,
    /// Who hands over.
    pub(crate) from: String,
    /// Who takes over.
    pub(crate) to: String,
    /// What for.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(required = false)]
    pub(crate) capability: String,
    /// The step, by its name in the plan where there is one.
    pub(crate) step: String,
    /// From 1.
    pub(crate) attempt: u32,
    /// `working`, `awaiting-approval`, `completed`, `failed`, `cancelled`, `approved` or `refused`.
    pub(crate) state: String,
    /// The score that it came back with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) score: Option<f64>,
    /// How long it took, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) duration_ms: Option<u64>,
    /// Its task in the hub.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(required = false)]
    pub(crate) task_id: String,
}

impl GraphView {
    /// The graph for Graphviz.
    pub(crate) fn dot(&self) -> String {
        String::new()
    }

    /// The graph for Mermaid.
    pub(crate) fn mermaid(&self) -> String {
        String::new()
    }
}

//! Graph of a run's handoffs.

use std::collections::{BTreeMap, HashMap};

use agenthub_proto::direction::is_direction;
use agenthub_sdk::runs::{RunEvent, Shortfall, StepId, StepRequest, StepResult, model::Undone};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// Node of the person who allows or refuses.
const PERSON: &str = "person";

/// The longest label, in characters.
const MAX_LABEL: usize = 120;

/// The handoffs of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Graph)]
pub(crate) struct GraphView {
    /// The run's owner, and all to whom work was handed, in order of appearance.
    pub(crate) nodes: Vec<Node>,
    /// The handoffs, in their order.
    pub(crate) edges: Vec<Edge>,
}

/// Participant of a run.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Node {
    /// The agent's or the tool's name.
    pub(crate) id: String,
    /// Kind of the node.
    pub(crate) kind: NodeKind,
}

/// Participant of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum NodeKind {
    /// Owner of the run.
    Orchestrator,
    /// An agent that was handed something.
    Agent,
    /// A tool that was called.
    Tool,
    /// A person who was asked.
    Person,
}

/// A handoff.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Edge {
    /// Counts from 1.
    pub(crate) order: u32,
    /// Node that hands over.
    pub(crate) from: String,
    /// Node that takes over.
    pub(crate) to: String,
    /// Purpose.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(required = false)]
    pub(crate) capability: String,
    /// The step, by its name in the plan where there is one.
    pub(crate) step: String,
    /// From 1.
    pub(crate) attempt: u32,
    /// `working`, `awaiting-approval`, `approved`, `refused`, or how it ended: `completed`, `failed`, `cancelled` and the other states of
    /// tasks.
    pub(crate) state: String,
    /// Extent of what the result lacks: `part` or `all`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, example = "part")]
    pub(crate) undone: Option<Undone>,
    /// The score that it came back with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) score: Option<f64>,
    /// Duration in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) duration_ms: Option<u64>,
    /// Its task in the hub.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(required = false)]
    pub(crate) task_id: String,
}

/// The fold of a run's journal into its graph.
#[derive(Debug)]
pub(super) struct Fold {
    owner: String,
    graph: GraphView,
    /// The handoffs that are out: the edge, and since when.
    out: HashMap<StepId, (usize, u64)>,
    /// The handover that the strategy noted last: the capability, and the step of the plan.
    named: Option<(String, String)>,
}

impl Fold {
    /// A run of this agent, in which nothing has happened.
    pub(super) fn new(owner: &str) -> Self {
        let mut fold = Self {
            owner: owner.to_owned(),
            graph: GraphView::default(),
            out: HashMap::new(),
            named: None,
        };
        fold.join(owner, NodeKind::Orchestrator);
        fold
    }

    /// Takes in what happened next.
    pub(super) fn apply(&mut self, event: &RunEvent) {
        match event {
            RunEvent::Noted { value, .. } => self.noted(value),
            RunEvent::StepBegun {
                step,
                attempt,
                what,
                at_ms,
                ..
            } => {
                if let Some(edge) = self.begun(step, *attempt, what) {
                    self.out
                        .insert(step.clone(), (self.graph.edges.len(), *at_ms));
                    self.graph.edges.push(edge);
                }
            }
            RunEvent::StepEnded {
                step,
                result,
                at_ms,
                ..
            } => self.ended(step, result, *at_ms),
            _ => {}
        }
    }

    /// The graph so far.
    pub(super) fn view(&self) -> GraphView {
        self.graph.clone()
    }

    /// The latest score of each step that was reviewed.
    pub(super) fn scores(&self) -> BTreeMap<String, f64> {
        let edges = self.graph.edges.iter();
        let scored = edges.filter_map(|edge| Some((edge.step.clone(), edge.score?)));
        scored.collect()
    }

    fn join(&mut self, id: &str, kind: NodeKind) {
        if !self.graph.nodes.iter().any(|node| node.id == id) {
            let id = id.to_owned();
            self.graph.nodes.push(Node { id, kind });
        }
    }

    fn noted(&mut self, value: &Value) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let data = &value["data"];
        if value["type"] == "handoff" {
            self.named = Some((text(&data["capability"]), text(&data["step"])));
        }
        let review = &data["review"];
        let reviewed = |edge: &&mut Edge| edge.step == review["step"];
        if let Some(score) = review["score"].as_f64()
            && let Some(edge) = self.graph.edges.iter_mut().rev().find(reviewed)
        {
            edge.score = Some(score);
        }
    }

    fn begun(&mut self, step: &StepId, attempt: u32, what: &StepRequest) -> Option<Edge> {
        let edge = Edge {
            order: self.graph.edges.len() as u32 + 1,
            from: self.owner.clone(),
            to: String::new(),
            capability: String::new(),
            step: step.to_string(),
            attempt,
            state: "working".to_owned(),
            undone: None,
            score: None,
            duration_ms: None,
            task_id: String::new(),
        };
        let edge = match what {
            StepRequest::Delegated(sent) => {
                let handoff = &sent.handoff;
                let named = self.named.as_ref();
                let named = named.filter(|(capability, _)| *capability == handoff.capability);
                Edge {
                    to: match handoff.agent.is_empty() {
                        // Who it is, the hub decides, and the result tells.
                        true => format!("an agent for {}", handoff.capability),
                        false => handoff.agent.clone(),
                    },
                    capability: handoff.capability.clone(),
                    step: named.map_or(edge.step, |(_, step)| step.clone()),
                    task_id: sent.task_id.clone(),
                    ..edge
                }
            }
            StepRequest::ToolCalled(call) => Edge {
                to: call.name.clone(),
                ..edge
            },
            StepRequest::ApprovalAsked(approval) => Edge {
                to: PERSON.to_owned(),
                capability: approval.capability.clone(),
                step: approval.subject.clone(),
                state: "awaiting-approval".to_owned(),
                ..edge
            },
            StepRequest::ModelAsked { .. }
            | StepRequest::Said { .. }
            | StepRequest::Waiting { .. } => return None,
        };
        let kind = match what {
            StepRequest::ToolCalled(_) => NodeKind::Tool,
            StepRequest::ApprovalAsked(_) => NodeKind::Person,
            _ => NodeKind::Agent,
        };
        self.join(&edge.to, kind);
        Some(edge)
    }

    fn ended(&mut self, step: &StepId, result: &StepResult, at_ms: u64) {
        let Some((place, since)) = self.out.remove(step) else {
            return;
        };
        if let StepResult::DelegationEnded(delegated) = result
            && !delegated.agent.is_empty()
        {
            self.taken(place, &delegated.agent);
        }
        let edge = &mut self.graph.edges[place];
        edge.duration_ms = Some(at_ms.saturating_sub(since));
        edge.undone = match result {
            StepResult::DelegationEnded(delegated) => {
                Shortfall::of(&delegated.data).map(|shortfall| shortfall.extent())
            }
            _ => None,
        };
        edge.state = match result {
            StepResult::DelegationEnded(delegated) => delegated.state.clone(),
            StepResult::ToolReturned(output) if output.is_error => "failed".to_owned(),
            StepResult::Decided(decision) if decision.approved => "approved".to_owned(),
            StepResult::Decided(_) => "refused".to_owned(),
            StepResult::Failed(_) => "failed".to_owned(),
            StepResult::Cancelled => "cancelled".to_owned(),
            _ => "completed".to_owned(),
        };
    }
}

impl Fold {
    /// Has an edge lead to the agent that took the work over: by a capability alone, that is known at the end.
    fn taken(&mut self, place: usize, agent: &str) {
        let before = std::mem::replace(&mut self.graph.edges[place].to, agent.to_owned());
        if before == agent {
            return;
        }
        self.join(agent, NodeKind::Agent);
        let is_led_to = self.graph.edges.iter().any(|edge| edge.to == before);
        if !is_led_to && before != self.owner {
            self.graph.nodes.retain(|node| node.id != before);
        }
    }
}

impl Edge {
    /// One line for it.
    fn label(&self) -> String {
        let what = match (&*self.capability, &*self.step) {
            ("", step) => step.to_owned(),
            (capability, step) if capability == step => capability.to_owned(),
            (capability, step) => format!("{step} ({capability})"),
        };
        let mut label = format!("({}) {what} {}", self.order, self.state);
        if let Some(undone) = self.undone {
            label += &format!(", {}", undone.label());
        }
        if self.attempt > 1 {
            label += &format!(", attempt {}", self.attempt);
        }
        if let Some(score) = self.score {
            label += &format!(", score {score:.2}");
        }
        if let Some(duration) = self.duration_ms {
            label += &match duration {
                0..1_000 => format!(", {duration} ms"),
                _ => format!(", {:.1} s", duration as f64 / 1_000.0),
            };
        }
        one_line(&label)
    }

    fn outcome(&self) -> Outcome {
        match &*self.state {
            _ if self.undone == Some(Undone::All) => Outcome::Bad,
            "working" | "awaiting-approval" => Outcome::Open,
            "completed" | "approved" => Outcome::Good,
            _ => Outcome::Bad,
        }
    }
}

/// Outcome of a handoff, which decides how its edge is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Open,
    Good,
    Bad,
}

impl GraphView {
    /// The graph for Graphviz.
    pub(crate) fn dot(&self) -> String {
        let mut dot =
            "digraph run {\n  rankdir=LR;\n  node [shape=box, style=rounded];\n".to_owned();
        for (place, node) in self.nodes.iter().enumerate() {
            let shape = match node.kind {
                NodeKind::Orchestrator => ", style=bold",
                NodeKind::Agent => "",
                NodeKind::Tool => ", shape=component",
                NodeKind::Person => ", shape=ellipse",
            };
            dot += &format!(
                "  n{place} [label=\"{}\"{shape}];\n",
                in_dot(&one_line(&node.id))
            );
        }
        for edge in &self.edges {
            let style = match edge.outcome() {
                Outcome::Open => ", style=bold",
                Outcome::Good => "",
                Outcome::Bad => ", style=dashed",
            };
            let (from, to) = (self.place(&edge.from), self.place(&edge.to));
            let label = in_dot(&edge.label());
            dot += &format!("  n{from} -> n{to} [label=\"{label}\"{style}];\n");
        }
        dot + "}\n"
    }

    /// The graph for Mermaid.
    pub(crate) fn mermaid(&self) -> String {
        let mut mermaid = "flowchart LR\n".to_owned();
        for (place, node) in self.nodes.iter().enumerate() {
            let (open, close) = match node.kind {
                NodeKind::Orchestrator => ("[[", "]]"),
                NodeKind::Agent => ("[", "]"),
                NodeKind::Tool => ("{{", "}}"),
                NodeKind::Person => ("([", "])"),
            };
            let name = in_mermaid(&one_line(&node.id));
            mermaid += &format!("  n{place}{open}\"{name}\"{close}\n");
        }
        for edge in &self.edges {
            let arrow = match edge.outcome() {
                Outcome::Open => "==>",
                Outcome::Good => "-->",
                Outcome::Bad => "-.->",
            };
            let (from, to) = (self.place(&edge.from), self.place(&edge.to));
            let label = in_mermaid(&edge.label());
            mermaid += &format!("  n{from} {arrow}|\"{label}\"| n{to}\n");
        }
        mermaid
    }

    fn place(&self, id: &str) -> usize {
        let place = self.nodes.iter().position(|node| node.id == id);
        place.unwrap_or_default()
    }
}

/// A label without line breaks, control characters and those that turn the direction of text, and not too long.
fn one_line(text: &str) -> String {
    let cleaned = text
        .chars()
        .filter(|c| !is_direction(*c))
        .map(|c| match c {
            '\u{2028}' | '\u{2029}' => ' ',
            c if c.is_control() => ' ',
            c => c,
        })
        .collect::<String>();
    let cleaned = cleaned.trim();
    match cleaned.char_indices().nth(MAX_LABEL) {
        Some((end, _)) => format!("{}…", &cleaned[..end]),
        None => cleaned.to_owned(),
    }
}

fn in_dot(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

/// Mermaid reads HTML and Markdown in labels, and `#…;` as a character. What can neither begin a list or a link nor mark anything stays
/// as it is.
fn in_mermaid(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    let mut before = "";
    for (at, c) in text.char_indices() {
        let (is_within, behind) = (
            before.ends_with(|c: char| c.is_ascii_alphanumeric()),
            &text[at + c.len_utf8()..],
        );
        let is_plain = match c {
            ' ' | ',' | '(' => true,
            // `1) ` begins a list.
            ')' => before.contains(|c: char| !c.is_ascii_digit()),
            '-' => is_within,
            // `www.` begins a link.
            '.' => {
                let begins_link = before.to_ascii_lowercase().ends_with("www");
                is_within && !begins_link && behind.starts_with(|c: char| c.is_ascii_alphanumeric())
            }
            c => c.is_alphanumeric(),
        };
        match is_plain {
            true => safe.push(c),
            false => safe += &format!("#{};", u32::from(c)),
        }
        before = &text[..at + c.len_utf8()];
    }
    safe
}

#[cfg(test)]
mod tests;

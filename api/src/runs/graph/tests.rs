use agenthub_sdk::{
    model::ToolCall,
    runs::{Approval, Budget, Decision, DelegationResult, Handoff, SentHandoff, ToolOutput},
};
use serde_json::json;

use super::*;

fn begun(step: &str, what: StepRequest, at_ms: u64) -> RunEvent {
    RunEvent::StepBegun {
        step: StepId::new(step),
        attempt: 1,
        what,
        grant: Budget::default(),
        deadline_ms: None,
        at_ms,
    }
}

fn ended(step: &str, result: StepResult, at_ms: u64) -> RunEvent {
    RunEvent::StepEnded {
        step: StepId::new(step),
        attempt: 1,
        result,
        spent: None,
        at_ms,
    }
}

fn noted(value: Value) -> RunEvent {
    RunEvent::Noted {
        step: StepId::new("note"),
        value,
        at_ms: 0,
    }
}

fn to(agent: &str, capability: &str) -> StepRequest {
    let handoff = Handoff {
        agent: agent.to_owned(),
        capability: capability.to_owned(),
        ..Handoff::default()
    };
    StepRequest::Delegated(SentHandoff {
        handoff,
        task_id: format!("task-of-{agent}"),
        message_id: String::new(),
        deadline_ms: 0,
        budget: Budget::default(),
    })
}

fn back(state: &str) -> StepResult {
    StepResult::DelegationEnded(DelegationResult {
        state: state.to_owned(),
        ..DelegationResult::default()
    })
}

/// An app run with a person, a failure, a review, and something that is still out.
fn run() -> GraphView {
    let requested = |step: &str, capability: &str| {
        noted(
            json!({"type": "handoff", "message": "requested", "data": {"capability": capability, "step": step}}),
        )
    };
    let approval = Approval::new("r", "draft", "writer", "content.write", json!({}));
    let yes = Decision {
        approved: true,
        by: "ann".to_owned(),
        comment: String::new(),
    };
    let review = json!({"type": "message", "data": {"review": {"step": "check", "score": 0.825}}});
    let mut fold = Fold::new("cortex");
    for event in [
        requested("draft", "content.write"),
        begun("approve-1", StepRequest::ApprovalAsked(approval), 0),
        ended("approve-1", StepResult::Decided(yes), 61_000),
        begun("handoff-1", to("writer", "content.write"), 61_000),
        ended("handoff-1", back("failed"), 61_040),
        begun("handoff-1/again", to("writer", "content.write"), 62_000),
        ended("handoff-1/again", back("completed"), 63_500),
        requested("check", "qa.review"),
        begun("handoff-2", to("qa", "qa.review"), 64_000),
        ended("handoff-2", back("completed"), 64_500),
        noted(review),
        requested("publish", "post"),
        begun("handoff-3", to("poster", "post"), 65_000),
    ] {
        fold.apply(&event);
    }
    fold.view()
}

/// spec: ORC-3
#[test]
fn handoffs_are_edges_in_order_with_state_score_and_duration() {
    let graph = run();
    let kinds: Vec<_> = graph.nodes.iter().map(|n| (&*n.id, n.kind)).collect();
    assert_eq!(
        kinds,
        [
            ("cortex", NodeKind::Orchestrator),
            ("person", NodeKind::Person),
            ("writer", NodeKind::Agent),
            ("qa", NodeKind::Agent),
            ("poster", NodeKind::Agent),
        ]
    );
    let edges: Vec<_> = graph
        .edges
        .iter()
        .map(|e| (e.order, &*e.to, &*e.step, &*e.state, e.score, e.duration_ms))
        .collect();
    assert_eq!(
        edges,
        [
            (1, "person", "draft", "approved", None, Some(61_000)),
            (2, "writer", "draft", "failed", None, Some(40)),
            (3, "writer", "draft", "completed", None, Some(1_500)),
            (4, "qa", "check", "completed", Some(0.825), Some(500)),
            (5, "poster", "publish", "working", None, None),
        ]
    );
}

#[test]
fn tools_and_agents_of_any_run_are_in_the_graph() {
    let call = ToolCall {
        id: "1".to_owned(),
        name: "weather".to_owned(),
        arguments: json!({}),
    };
    let mut fold = Fold::new("helper");
    for event in [
        begun("call-1", StepRequest::ToolCalled(call), 0),
        ended(
            "call-1",
            StepResult::ToolReturned(ToolOutput::error("no")),
            5,
        ),
        begun("call-2", to("other", ""), 6),
        ended("call-2", StepResult::Cancelled, 7),
    ] {
        fold.apply(&event);
    }
    let graph = fold.view();
    let edges: Vec<_> = graph
        .edges
        .iter()
        .map(|e| (&*e.from, &*e.to, &*e.step, &*e.state))
        .collect();
    assert_eq!(
        edges,
        [
            ("helper", "weather", "call-1", "failed"),
            ("helper", "other", "call-2", "cancelled"),
        ]
    );
    assert_eq!(graph.nodes[1].kind, NodeKind::Tool);
}

#[test]
fn a_run_is_drawn() {
    insta::assert_snapshot!("dot", run().dot());
    insta::assert_snapshot!("mermaid", run().mermaid());
}

#[test]
fn no_name_gets_out_of_its_label() {
    let hostile = "a\"]; b -> c [x=\"\\\n`<b>#quot;&|end";
    let mut fold = Fold::new("cortex");
    fold.apply(&begun("x\" ]", to(hostile, "cap|\"\\"), 0));
    fold.apply(&begun("y", to(&"x".repeat(500), ""), 0));
    let graph = fold.view();
    for line in graph.dot().lines().filter(|line| line.contains("label")) {
        // What is between the quotes of the label has none of its own, and no lone backslash.
        let rest = line.split_once("label=\"").expect("it has one").1;
        let mut chars = rest.chars();
        let mut label = String::new();
        while let Some(c) = chars.next() {
            match c {
                '\\' => label.extend(chars.next()),
                '"' => break,
                c => label.push(c),
            }
        }
        let rest: String = chars.collect();
        assert!(
            matches!(&*rest, "];" | ", style=bold];"),
            "{line}: {rest} is outside"
        );
        assert!(label.chars().count() <= MAX_LABEL + 1);
    }
    for line in graph.mermaid().lines().skip(1) {
        assert_eq!(line.matches('"').count(), 2, "{line}");
        assert!(!line.contains(['<', '`', '\\', '&']), "{line}");
    }
}

/// Mermaid draws "Unsupported markdown" in place of a label that Markdown reads as a list, a heading, a quote or a link.
#[test]
fn no_label_is_markdown() {
    let names = [
        ("1. one", "1#46; one"),
        ("1) one", "1#41; one"),
        ("- one", "#45; one"),
        ("+ one", "#43; one"),
        ("* one_two", "#42; one#95;two"),
        ("    one", "one"),
        ("# one", "#35; one"),
        ("a:b@c.de", "a#58;b#64;c.de"),
        ("see WWW.example.org", "see WWW#46;example.org"),
        ("~~x~~!", "#126;#126;x#126;#126;#33;"),
        ("a\u{202e}b\u{2028}c\u{7}d", "ab c d"),
        (
            "plan-strategy (plan.strategy)",
            "plan-strategy (plan.strategy)",
        ),
    ];
    for (name, drawn) in names {
        let mut fold = Fold::new("cortex");
        fold.apply(&begun("s", to(name, "c"), 0));
        let mermaid = fold.view().mermaid();
        assert!(
            mermaid.contains(&format!("  n1[\"{drawn}\"]\n")),
            "{mermaid}"
        );
        assert!(mermaid.contains("|\"(1) s (c) working\"|"), "{mermaid}");
    }
}

#[test]
fn work_by_a_capability_alone_leads_to_the_agent_that_took_it() {
    let mut fold = Fold::new("workflows");
    for step in ["a", "b"] {
        fold.apply(&begun(step, to("", "bake"), 0));
    }
    assert_eq!(fold.view().edges[0].to, "an agent for bake");
    let by = |agent: &str| {
        StepResult::DelegationEnded(DelegationResult {
            agent: agent.to_owned(),
            state: "completed".to_owned(),
            ..DelegationResult::default()
        })
    };
    fold.apply(&ended("a", by("baker"), 5));
    let names = |fold: &Fold| -> Vec<String> {
        fold.view().nodes.into_iter().map(|node| node.id).collect()
    };
    assert_eq!(names(&fold), ["workflows", "an agent for bake", "baker"]);
    fold.apply(&ended("b", by("baker"), 5));
    assert_eq!(names(&fold), ["workflows", "baker"]);
    let edges = fold.view().edges;
    assert!(edges.iter().all(|edge| edge.to == "baker"), "{edges:?}");
}

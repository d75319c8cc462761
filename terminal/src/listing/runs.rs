//! Runs, their plans, and what they ask, as people read them.

use agenthub_proto::{
    cortex::{Approval, Run, RunGraph, RunPlan, StepAttempt},
    json,
};
use serde_json::Value;

use super::{refusal::Refusal, state};
use crate::{
    output::{plain, table},
    run::{details, headline, own_question, parts, row, steps_of},
};

/// The runs as a table.
pub fn runs(runs: &[Run]) -> String {
    if runs.is_empty() {
        return "no runs".to_owned();
    }
    let rows = runs.iter().map(|run| {
        [
            run.id.clone(),
            state::run(run),
            run.mode.clone(),
            run.agent.clone(),
            run.created_at.map(|t| second(&t)).unwrap_or_default(),
            run.thread_id.clone(),
            run.objective.clone(),
        ]
    });
    table(
        [
            "RUN",
            "STATE",
            "MODE",
            "AGENT",
            "STARTED",
            "THREAD",
            "OBJECTIVE",
        ],
        rows,
    )
}

/// One run with all that is known of it, for a reader whose lines have this width. Of its steps those are told that a person refused.
pub fn run(run: &Run, steps: &[StepAttempt], width: usize) -> String {
    let mut lines = vec![format!("run {} is {}", run.id, state::run(run))];
    let mut field = |name: &str, value: String| {
        if !value.is_empty() {
            lines.push(format!("  {name:<10}{value}"));
        }
    };
    field("objective", run.objective.clone());
    field("mode", run.mode.clone());
    field("agent", run.agent.clone());
    field("thread", run.thread_id.clone());
    field("series", run.series.clone());
    field("resumes", run.resumes.clone());
    field("task", run.task_id.clone());
    field(
        "started",
        run.created_at.map(|t| second(&t)).unwrap_or_default(),
    );
    field(
        "ended",
        run.ended_at.map(|t| second(&t)).unwrap_or_default(),
    );
    field("phase", run.phase.clone());
    let number = |n: u64| if n == 0 { String::new() } else { n.to_string() };
    field("rounds", number(run.depth.into()));
    let about = match (run.tokens, run.tokens_estimated) {
        (1.., true) => " (an estimate)",
        _ => "",
    };
    field("tokens", number(run.tokens) + about);
    field("calls", number(run.calls));
    for refusal in steps.iter().filter_map(Refusal::of) {
        let at = refusal.at.map(|at| second(&at)).unwrap_or_default();
        let told = format!("step {} at {at} {}", refusal.step, refusal.in_words());
        field("refused", told);
    }
    field("error", run.error.clone());
    for asked in &run.approvals {
        field(
            "waits for",
            format!("a yes to {}: {}", asked.id, headline_of(asked)),
        );
    }
    if let Some(result) = &run.result {
        lines.push(String::new());
        lines.push(parts(&json::from_struct(result), width).together());
    }
    plain(&lines.join("\n")).into_owned()
}

/// A plan with the state of each step.
pub fn plan(plan: &RunPlan) -> String {
    let content = plan.plan.as_ref().map(json::from_struct);
    let mut steps = steps_of(&content.unwrap_or(Value::Null));
    if steps.is_empty() {
        return "no plan yet".to_owned();
    }
    for step in &mut steps {
        if let Some(state) = plan.states.get(&step.name) {
            step.state.clone_from(state);
        }
    }
    let name = steps.iter().map(|step| step.name.chars().count()).max();
    let mut lines = vec![format!("plan {}", plan.version)];
    for step in &steps {
        let mut line = format!("{}  ({})", row(step, name.unwrap_or_default()), step.state);
        if !step.after.is_empty() {
            let after: Vec<&str> = step.after.iter().map(String::as_str).collect();
            line += &format!("  after {}", after.join(", "));
        }
        lines.push(line);
    }
    plain(&lines.join("\n")).into_owned()
}

/// Approvals that wait.
pub fn approvals(approvals: &[Approval]) -> String {
    if approvals.is_empty() {
        return "nothing waits for a yes".to_owned();
    }
    let shown: Vec<String> = approvals.iter().map(approval).collect();
    shown.join("\n")
}

/// The commands that answer what waits, if something does.
pub fn how_to_answer(approvals: &[Approval]) -> Option<String> {
    let run = match approvals {
        [] => return None,
        [one] => plain(&one.run_id).into_owned(),
        _ => "RUN APPROVAL".to_owned(),
    };
    let allow = format!("agenthub runs approve {run}");
    let refuse = format!("agenthub runs refuse {run} --comment WHY");
    Some(format!("`{allow}` allows it, `{refuse}` does not"))
}

/// One thing that waits for a person's yes, with exactly what it allows.
pub fn approval(approval: &Approval) -> String {
    let details = details(&approval.agent, &arguments(approval), 1);
    let text = format!(
        "approval {} of run {}: {}. {details}",
        approval.id,
        approval.run_id,
        headline_of(approval),
    );
    plain(text.trim_end()).into_owned()
}

fn headline_of(approval: &Approval) -> String {
    let Approval {
        agent,
        capability,
        step,
        ..
    } = approval;
    headline(agent, capability, step, &arguments(approval))
}

fn arguments(approval: &Approval) -> Value {
    let arguments = approval.arguments.as_ref().map(json::from_value);
    arguments.unwrap_or(Value::Null)
}

/// The answer to an approval.
pub fn answered(asked: &Approval, approved: bool) -> String {
    let word = match approved {
        true => "approved",
        false => "refused",
    };
    format!("{word}: {}", approval(asked))
}

/// One line for a person who is asked.
pub fn question(asked: &Approval) -> String {
    let Approval {
        id,
        run_id,
        step,
        agent,
        capability,
        ..
    } = asked;
    let what = match own_question(agent, &arguments(asked)) {
        Some(question) => format!("{question} (step {step} of run {run_id})"),
        None => format!("may {agent} do {capability} (step {step} of run {run_id})?"),
    };
    let text = format!(
        "{what} /approvals shows all of it; /approve {id} allows it, /refuse {id} [WHY] does not"
    );
    plain(&text).replace('\n', " ")
}

/// The handoffs of a run, in lines.
pub fn graph(graph: &RunGraph) -> String {
    let content = graph.graph.as_ref().map(json::from_struct);
    let content = content.unwrap_or(Value::Null);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let edges = content["edges"].as_array().into_iter().flatten();
    let rows: Vec<[String; 6]> = edges
        .map(|edge| {
            let score = edge["score"].as_f64();
            [
                format!("{} → {}", text(&edge["from"]), text(&edge["to"])),
                text(&edge["step"]),
                text(&edge["capability"]),
                state::handoff(edge),
                edge["durationMs"]
                    .as_u64()
                    .map_or(String::new(), |ms| format!("{ms} ms")),
                score.map_or(String::new(), |score| format!("{score:.2}")),
            ]
        })
        .collect();
    match rows.is_empty() {
        true => "nothing was handed over".to_owned(),
        false => table(
            ["HANDOFF", "STEP", "CAPABILITY", "STATE", "TOOK", "SCORE"],
            rows,
        ),
    }
}

/// A time without its fraction of a second.
fn second(time: &agenthub_proto::wkt::Timestamp) -> String {
    let whole = agenthub_proto::wkt::Timestamp {
        seconds: time.seconds,
        nanos: 0,
    };
    whole.to_string()
}

#[cfg(test)]
mod tests {
    use agenthub_proto::wkt::Timestamp;
    use serde_json::json;

    use super::*;

    fn asked() -> Approval {
        Approval {
            id: "0a1b2c3d4e5f".into(),
            run_id: "r1".into(),
            step: "send".into(),
            agent: "press".into(),
            capability: "publish".into(),
            arguments: Some(json::to_value(
                &json!({"text": "Hello\nthere", "to": ["a", "b"]}),
            )),
            ..Default::default()
        }
    }

    fn done() -> Run {
        Run {
            id: "r1".into(),
            mode: "app".into(),
            agent: "cortex".into(),
            thread_id: "t1".into(),
            state: "awaiting-approval".into(),
            objective: "Announce \u{1b}[31mit".into(),
            created_at: Some(Timestamp {
                seconds: 1_800_000_000,
                nanos: 5,
            }),
            phase: "generation".into(),
            tokens: 1200,
            calls: 4,
            approvals: vec![asked()],
            result: Some(json::to_struct(&json!({"message": "Done."}))),
            ..Default::default()
        }
    }

    #[test]
    fn a_workflows_question_is_shown_as_its_author_wrote_it() {
        let asked = Approval {
            agent: String::new(),
            capability: String::new(),
            arguments: Some(json::to_value(
                &json!({"question": "Send this to 3 people?", "input": {"text": "Hello"}}),
            )),
            ..asked()
        };
        let text = approval(&asked);
        let first = "approval 0a1b2c3d4e5f of run r1: Send this to 3 people? (step send).";
        assert!(text.starts_with(first), "{text}");
        assert!(
            text.contains("Hello") && !text.contains("question"),
            "{text}"
        );
        let line = question(&asked);
        assert!(
            line.starts_with("Send this to 3 people? (step send of run r1) /approvals"),
            "{line}"
        );
        let two = [asked.clone(), asked.clone()];
        for (waiting, part) in [(&two[..1], "runs approve r1`"), (&two, "RUN APPROVAL")] {
            let hint = how_to_answer(waiting).unwrap_or_default();
            assert!(hint.contains(part), "{hint}");
        }
        assert_eq!(how_to_answer(&[]), None);
        let waiting = Run {
            approvals: vec![asked],
            ..done()
        };
        let text = run(&waiting, &[], 80);
        assert!(
            text.contains("a yes to 0a1b2c3d4e5f: Send this to 3 people?"),
            "{text}"
        );
    }

    #[test]
    fn runs_plans_approvals_and_graphs() {
        let plan = RunPlan {
            version: 2,
            plan: Some(json::to_struct(&json!({"steps": {
                "draft": {"capability": "write", "dependsOn": ["strategy"], "payload": {}},
                "strategy": {"capability": "plan", "agent": "planner", "payload": {}},
            }}))),
            states: [
                ("draft".into(), "working".into()),
                ("strategy".into(), "completed".into()),
            ]
            .into(),
        };
        let handed = RunGraph {
            graph: Some(json::to_struct(&json!({"nodes": [], "edges": [
                {"from": "cortex", "to": "qa", "step": "review", "capability": "qa.review", "state": "completed", "durationMs": 12, "score": 0.456},
                {"from": "cortex", "to": "writer", "step": "draft", "capability": "write", "state": "working"},
            ]}))),
            ..Default::default()
        };
        let parts = [
            runs(&[done()]),
            run(&done(), &[], 80),
            super::plan(&plan),
            approvals(&[asked()]),
            graph(&handed),
        ];
        insta::assert_snapshot!(parts.join("\n---\n"));
    }

    #[test]
    fn empty_lists_say_so() {
        let texts = [
            runs(&[]),
            plan(&RunPlan::default()),
            approvals(&[]),
            graph(&RunGraph::default()),
        ];
        assert_eq!(
            texts,
            [
                "no runs",
                "no plan yet",
                "nothing waits for a yes",
                "nothing was handed over"
            ]
        );
    }
}

//! What who collects spans gets of agents' runs.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use agenthub_sdk::{
    Agent, Card, Delegation, RunningAgent, Skill, TaskContext, TraceContext, durable::SpanSink,
    model::Scripted, runs::spans::Span,
};
use serde_json::json;
use tokio::sync::{Semaphore, mpsc};

use crate::{
    harness::{calls, delegate, eventually, hub, says, script, soon, sum, url, user},
    journals::Kept,
    restarts::waiting,
};

/// Spans that were emitted, in order.
#[derive(Debug, Default)]
struct Collected(Mutex<Vec<Span>>);

impl SpanSink for Collected {
    fn emit(&self, span: Span) {
        self.0
            .lock()
            .expect("no panic while it is locked")
            .push(span);
    }
}

impl Collected {
    fn all(&self) -> Vec<Span> {
        self.0.lock().expect("no panic while it is locked").clone()
    }

    /// Waits until a run is over, as its requester is told before that is written down.
    async fn until_over(&self, agent: &str) {
        let name = format!("invoke_agent {agent}");
        eventually("the run's span is there", || async {
            let all = self.all();
            all.iter().any(|s| s.name == name && s.get(STATE).is_some())
        })
        .await;
    }

    fn one(&self, name: &str) -> Span {
        let mut all = self.all();
        all.retain(|span| span.name == name);
        assert_eq!(all.len(), 1, "{name}: {all:?}");
        all.remove(0)
    }
}

const STATE: &str = agenthub_sdk::runs::spans::conventions::STATE;

fn card(name: &str) -> Card {
    Card::new(name, "").skill(Skill::new(name, name, "Works"))
}

/// spec: ORC-9
#[tokio::test]
async fn the_run_of_an_agent_hangs_under_the_handoff_that_it_is_for() {
    let hub = hub().await;
    let (of_lead, of_worker) = (Arc::<Collected>::default(), Arc::<Collected>::default());
    let model = script([calls([("sum", json!({"numbers": [1, 2]}))]), says("three")]);
    let worker = Agent::worker(card("worker")).model(model).tool(sum());
    let worker = worker.spans(of_worker.clone()).start(url(&hub)).await;
    let _worker = worker.expect("it starts");
    let model = script([
        calls([("agent_worker", json!({"request": "add up"}))]),
        says("it is three"),
    ]);
    let lead = Agent::supervisor(card("lead")).model(model);
    let lead = lead.spans(of_lead.clone()).start(url(&hub)).await;
    let lead = lead.expect("it starts");
    let directory = lead.client().directory();
    eventually("the worker is known", || async {
        directory.get("worker").is_some()
    })
    .await;

    let trace = TraceContext::start();
    let asked = Delegation::to("lead").text("add up").trace(trace);
    let asked = delegate(&user(&hub).await, asked).await;
    assert_eq!(asked.expect("an outcome").outcome.text, "it is three");
    of_lead.until_over("lead").await;
    of_worker.until_over("worker").await;

    let spans = [of_lead.all(), of_worker.all()].concat();
    let (trace_id, _) = trace.ids();
    assert!(spans.iter().all(|s| s.trace_id == trace_id), "{spans:?}");
    let above = |span: &Span| span.parent.map(|parent| parent.span_id);
    let lead = of_lead.one("invoke_agent lead");
    assert_eq!(above(&lead), None, "its requester has no span");
    let handoff = of_lead.one("invoke_agent worker");
    assert_eq!(above(&handoff), Some(lead.span_id));
    let worker = of_worker.one("invoke_agent worker");
    assert_eq!(above(&worker), Some(handoff.span_id));
    let tool = of_worker.one("execute_tool sum");
    assert_eq!(above(&tool), Some(worker.span_id));
    let questions = spans.iter().filter(|s| s.name == "chat scripted");
    assert_eq!(questions.count(), 4, "{spans:?}");
}

#[tokio::test]
async fn a_trace_that_is_not_to_be_recorded_is_not() {
    let hub = hub().await;
    let collected = Arc::<Collected>::default();
    let agent = Agent::worker(card("a")).model(script([says("one"), says("two")]));
    let agent = agent.spans(collected.clone()).start(url(&hub)).await;
    let _agent = agent.expect("it starts");
    let client = user(&hub).await;
    let unsampled = TraceContext::start().to_string().replace("-01", "-00");
    let unsampled = unsampled.parse().expect("it is a traceparent");
    let asked = Delegation::to("a").text("go").trace(unsampled);
    delegate(&client, asked).await.expect("an outcome");
    let asked = Delegation::to("a").text("go");
    delegate(&client, asked).await.expect("an outcome");
    collected.until_over("a").await;
    assert_eq!(collected.all().len(), 2, "a question, and the run");
}

/// spec: ORC-3, ORC-9
#[tokio::test]
async fn a_run_that_goes_on_later_goes_on_in_its_trace() {
    let hub = hub().await;
    let journal = Kept::empty();
    // So long that its beginning is not among what is shown again.
    let adds = (0..10).map(|n| calls([("sum", json!({"numbers": [n, n]}))]));
    let waits = [calls([("wait", json!({}))]), says("done")];
    let model = script(adds.chain(waits));
    let (told, mut tells) = mpsc::channel(4);
    let go_on = Arc::new(Semaphore::new(0));
    let start = async |model: &Scripted, spans: &Arc<Collected>| -> RunningAgent {
        let agent = Agent::worker(card("a"))
            .instance_id("a-1")
            .journal(journal.clone())
            .spans(spans.clone())
            .model(model.clone())
            .tool(sum())
            .tool(waiting(told.clone(), go_on.clone()));
        agent.start(url(&hub)).await.expect("it starts")
    };
    let (before, after) = (Arc::<Collected>::default(), Arc::<Collected>::default());
    let first = start(&model, &before).await;
    let client = user(&hub).await;
    let trace = TraceContext::start();
    let asked = Delegation::to("a").text("go").trace(trace);
    let pending = client.delegate(asked).await.expect("it is taken");
    soon(tells.recv()).await.expect("the tool is called");
    first.stop().await;
    let _second = start(&model, &after).await;
    soon(tells.recv()).await.expect("the tool is called again");
    go_on.add_permits(1);
    soon(pending.outcome()).await.expect("an outcome");
    after.until_over("a").await;

    let (before, after) = (before.all(), after.all());
    assert_eq!(before.len(), 11 + 10, "questions and sums: {before:?}");
    let run = after.last().expect("the run's span");
    let by_id: BTreeMap<u64, &Span> = before.iter().map(|s| (s.span_id, s)).collect();
    let (again, new): (Vec<_>, Vec<_>) = after
        .iter()
        .partition(|span| by_id.contains_key(&span.span_id));
    assert!(again.len() < by_id.len(), "only the last come again");
    assert!(
        again.iter().all(|s| by_id[&s.span_id] == *s),
        "as they were"
    );
    let names: Vec<_> = new.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(
        names,
        ["execute_tool wait", "chat scripted", "invoke_agent a"]
    );
    let steps = before
        .iter()
        .chain(&after)
        .filter(|s| s.span_id != run.span_id);
    assert!(steps.clone().all(|s| s.trace_id == trace.ids().0));
    assert!(
        steps
            .clone()
            .all(|s| s.parent.map(|p| p.span_id) == Some(run.span_id))
    );
    assert!(
        steps
            .clone()
            .all(|s| s.start_ms >= run.start_ms && run.start_ms > 0)
    );
}

#[tokio::test]
async fn what_a_handler_asks_for_hangs_where_the_handler_was_asked() {
    let hub = hub().await;
    let collected = Arc::<Collected>::default();
    let worker = Agent::worker(card("worker")).model(script([says("three")]));
    let worker = worker.spans(collected.clone()).start(url(&hub)).await;
    let _worker = worker.expect("it starts");
    let between =
        Agent::worker(card("between")).on_task_type("between", async |task: TaskContext| {
            let asked = Delegation::to("worker").text(task.text());
            Ok(task.delegate(asked).await?.outcome().await?.text)
        });
    let _between = between.start(url(&hub)).await.expect("it starts");
    let above = TraceContext::start().child();
    let asked = Delegation::to("between").text("add up").trace(above);
    let asked = delegate(&user(&hub).await, asked).await;
    assert_eq!(asked.expect("an outcome").outcome.text, "three");
    collected.until_over("worker").await;
    let run = collected.one("invoke_agent worker");
    let parent = run.parent.map(|parent| parent.span_id);
    assert_eq!((run.trace_id, parent), (above.ids().0, Some(above.ids().1)));
}

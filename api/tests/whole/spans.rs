//! What who collects spans gets of a call of `cortex.Cortex/Chat`.

use std::sync::{Arc, Mutex};

use agenthub_sdk::{
    TaskContext, TraceContext,
    durable::SpanSink,
    model::Scripted,
    proto::cortex::{ChatRequest, StartRunRequest},
    runs::spans::{Parent, Span},
};
use tokio::sync::mpsc;
use tonic::Request;

use crate::{
    frames::serve,
    harness::{World, delegating, within, worker},
};

#[derive(Debug)]
struct Collected(mpsc::Sender<Span>);

impl SpanSink for Collected {
    fn emit(&self, span: Span) {
        self.0.try_send(span).expect("there is room");
    }
}

/// A request of who is there in a trace.
fn at<T>(caller: TraceContext, request: T) -> Request<T> {
    let mut request = Request::new(request);
    let traceparent = caller.to_string().parse().expect("it is a header");
    request.metadata_mut().insert("traceparent", traceparent);
    request
}

fn below(caller: TraceContext) -> Parent {
    let (_, span_id) = caller.ids();
    Parent {
        span_id,
        is_remote: true,
    }
}

/// spec: ORC-9
#[tokio::test]
async fn a_run_that_is_asked_for_goes_on_in_the_trace_of_who_asks() {
    let (spans, mut collected) = mpsc::channel(100);
    let sink = Arc::new(Collected(spans));
    let model = Scripted::from_fn(delegating);
    let world = World::with(model, |settings| settings.spans = Some(sink)).await;
    let caller = TraceContext::start().child();
    let asked = StartRunRequest {
        objective: "hello".into(),
        mode: "chat".into(),
        ..StartRunRequest::default()
    };
    let started = serve(&world.cortex)
        .await
        .start_run(at(caller, asked))
        .await;
    started.expect("it is taken");
    let run = loop {
        let span = within(collected.recv()).await.expect("the run ends");
        if span.name == "invoke_agent cortex" {
            break span;
        }
    };
    assert_eq!(
        (run.trace_id, run.parent),
        (caller.ids().0, Some(below(caller)))
    );
    world.end().await;
}

/// spec: ORC-9
#[tokio::test]
async fn a_call_goes_on_in_the_callers_trace_and_its_agents_in_that_of_the_call() {
    let (spans, mut collected) = mpsc::channel(100);
    let sink = Arc::new(Collected(spans));
    let model = Scripted::from_fn(delegating);
    let world = World::with(model, |settings| settings.spans = Some(sink)).await;
    let came = Arc::new(Mutex::new(String::new()));
    let agent = worker("agent_a", {
        let came = Arc::clone(&came);
        move |task: TaskContext| {
            let traceparent = task.routing().traceparent.clone();
            *came.lock().expect("no panic while it is locked") = traceparent;
            async { Ok("done".to_owned()) }
        }
    });
    let _agent = world.agent(agent).await;
    let caller = TraceContext::start().child();
    let asked = ChatRequest {
        text: "agent_a".into(),
        context_id: "c".into(),
    };
    let request = at(caller, asked);
    let stream = serve(&world.cortex).await.chat(request).await;
    let mut stream = stream.expect("it is taken").into_inner();
    while within(stream.message()).await.expect("frames").is_some() {}

    let mut all = Vec::new();
    while all
        .last()
        .is_none_or(|s: &Span| s.name != "invoke_agent cortex")
    {
        all.push(within(collected.recv()).await.expect("the run ends"));
    }
    let (trace_id, _) = caller.ids();
    let run = all.last().expect("the run's span");
    assert_eq!(run.parent, Some(below(caller)));
    assert!(all.iter().all(|s| s.trace_id == trace_id), "{all:?}");
    let handoff = all.iter().find(|s| s.name == "invoke_agent agent_a");
    let handoff = handoff.expect("a handoff");
    assert_eq!(handoff.parent.map(|p| p.span_id), Some(run.span_id));
    let came = came.lock().expect("no panic while it is locked").clone();
    let came: TraceContext = came.parse().expect("it is a traceparent");
    assert_eq!(came.ids(), (trace_id, handoff.span_id));
    world.end().await;
}

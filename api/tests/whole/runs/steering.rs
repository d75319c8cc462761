//! What those who watch may do: allow, call back, go on.

use std::sync::atomic::{AtomicBool, Ordering};

use agenthub_sdk::runs::journal::{Filter, State};

use super::*;

/// spec: ORC-12.3
#[tokio::test]
async fn a_person_allows_a_step_once() {
    let world = World::new(Offline).await;
    let _maker = world.agent(maker()).await;
    let mut client = serve(&world.cortex).await;
    let mut approvals = client
        .watch_approvals(WatchApprovalsRequest { follow: true })
        .await
        .expect("it is served")
        .into_inner();
    let request = StartRunRequest {
        constraints: Some(Constraints {
            approvals: vec!["*".to_owned()],
            ..Constraints::default()
        }),
        ..app("a thing")
    };
    let run = start(&mut client, request).await;
    let asked = next_approval(&mut approvals).await;
    assert_eq!((&asked.run_id, &*asked.capability), (&run.id, "make"));
    let waiting = get(&mut client, &run.id).await;
    assert_eq!(waiting.state, "awaiting-approval");
    assert_eq!(waiting.approvals, std::slice::from_ref(&asked));
    let plan = GetRunPlanRequest { id: run.id.clone() };
    let plan = client
        .get_run_plan(plan)
        .await
        .expect("a plan")
        .into_inner();
    assert_eq!(plan.states[&asked.step], "awaiting-approval");

    let decide = |approved: bool| DecideApprovalRequest {
        run_id: run.id.clone(),
        approval_id: asked.id.clone(),
        approved,
        by: "ann".to_owned(),
        comment: String::new(),
    };
    let decided = within(client.decide_approval(decide(true))).await;
    assert_eq!(decided.expect("it waits").into_inner().approvals, []);
    let again = client.decide_approval(decide(false)).await;
    let again = again.expect_err("it is answered");
    assert_eq!(again.code(), Code::FailedPrecondition);

    let shown = frames(&mut client, &run.id, 0).await;
    assert_eq!(kinds(&shown).last(), Some(&"complete"), "{shown:?}");
    let answered = shown
        .iter()
        .rfind(|frame| frame.r#type == "approval")
        .expect("it is shown");
    assert_eq!(answered.message, "approved");
    let data = json::from_struct(answered.data.as_ref().expect("who"));
    assert_eq!(data["by"], "ann");
    assert_eq!(
        (&data["id"], &data["subject"]),
        (&json!(asked.id), &json!(asked.step))
    );
    let graph = GetRunGraphRequest { id: run.id.clone() };
    let graph = client
        .get_run_graph(graph)
        .await
        .expect("a graph")
        .into_inner();
    let edges = json::from_struct(&graph.graph.expect("a graph"))["edges"].clone();
    let edges: Vec<_> = edges
        .as_array()
        .expect("edges")
        .iter()
        .map(|edge| {
            (
                edge["to"].clone(),
                edge["step"].clone(),
                edge["state"].clone(),
            )
        })
        .collect();
    let step = Value::from(&*asked.step);
    assert_eq!(
        edges,
        [
            ("person".into(), step.clone(), "approved".into()),
            ("maker".into(), step, "completed".into()),
        ]
    );
    assert!(graph.dot.starts_with("digraph") && graph.mermaid.starts_with("flowchart"));
    world.end().await;
}

/// spec: ORC-3
#[tokio::test]
async fn a_run_that_is_over_is_gone_on_from_with_other_constraints() {
    let world = World::new(Offline).await;
    let _maker = world.agent(maker()).await;
    let mut client = serve(&world.cortex).await;
    let run = start(&mut client, app("a thing")).await;
    assert_eq!(run.mode, "app");
    let shown = frames(&mut client, &run.id, 0).await;
    assert_eq!(kinds(&shown).last(), Some(&"complete"), "{shown:?}");
    let over = get(&mut client, &run.id).await;
    assert_eq!((&*over.state, over.depth), ("completed", 1));
    let plan = GetRunPlanRequest { id: run.id.clone() };
    let plan = client
        .get_run_plan(plan)
        .await
        .expect("a plan")
        .into_inner();
    assert!(plan.version >= 1);
    assert!(
        plan.states.values().all(|state| state == "completed"),
        "{plan:?}"
    );

    let resume = ResumeRunRequest {
        id: run.id.clone(),
        constraints: Some(Constraints {
            execution_depth: Some(7),
            ..Constraints::default()
        }),
        budget: None,
    };
    let resumed = within(client.resume_run(resume)).await;
    let resumed = resumed.expect("it is over").into_inner();
    assert_ne!(resumed.id, run.id);
    assert_eq!(resumed.resumes, run.id);
    assert_eq!(resumed.thread_id, over.thread_id);
    let shown = frames(&mut client, &resumed.id, 0).await;
    assert_eq!(kinds(&shown).last(), Some(&"complete"), "{shown:?}");
    assert!(
        !kinds(&shown).contains(&"handoff"),
        "what was done is not done again: {shown:?}"
    );

    let record = |metrics: Value| RecordResultsRequest {
        id: run.id.clone(),
        metrics: Some(json::to_struct(&metrics)),
    };
    let recorded = client.record_results(record(json!({"clicks": 12}))).await;
    assert_eq!(recorded.expect("it is over").into_inner().id, run.id);
    let refused = client
        .record_results(record(json!({"clicks": "many"})))
        .await;
    let refused = refused.expect_err("no number");
    assert_eq!(refused.code(), Code::InvalidArgument);
    assert!(refused.message().contains("metrics.clicks"), "{refused}");
    let (runs, _) = list(&mut client, ListRunsRequest::default()).await;
    assert_eq!(runs, [resumed.id, run.id], "results are no runs to look at");
    world.end().await;
}

#[tokio::test]
async fn a_run_is_called_back_together_with_what_it_has_out() {
    let world = World::new(Scripted::from_fn(delegating)).await;
    let (tell, mut told) = mpsc::channel(2);
    let _agent = world.agent(cancelled("agent_a", tell)).await;
    let mut client = serve(&world.cortex).await;
    let run = start(&mut client, chat("agent_a")).await;
    assert_eq!(within(told.recv()).await, Some("at work"));
    let told_to_stop = cancel(&mut client, &run.id).await.expect("it is active");
    assert!(["cancelling", "cancelled"].contains(&&*told_to_stop.state));
    assert_eq!(within(told.recv()).await, Some("cancelled"));
    let shown = frames(&mut client, &run.id, 0).await;
    assert_eq!(kinds(&shown).last(), Some(&"error"));
    assert_eq!(get(&mut client, &run.id).await.state, "cancelled");
    let record = RecordResultsRequest {
        id: run.id.clone(),
        metrics: Some(json::to_struct(&json!({"clicks": 12}))),
    };
    let refused = client.record_results(record).await;
    let refused = refused.expect_err("it made nothing");
    assert!(refused.message().contains("made nothing"), "{refused}");
    world.end().await;
}

/// Makes what a run is to make.
pub(crate) fn maker() -> AgentBuilder {
    let object = |field: &str| json!({"type": "object", "properties": {field: {"type": "string"}}, "required": [field]});
    let card = Card::new("maker", "Makes things")
        .skill(Skill::new("make", "Make", "Makes a text from an objective"))
        .input_schema("make", object("objective"))
        .output_schema("make", object("text"))
        .phase("make", Phase::Generation);
    Agent::worker(card)
        .on_task_type("make", async |_: TaskContext| {
            let mut message = Message::new(Role::Agent, "made");
            message
                .content
                .push(Part::data(&json!({"text": "a fine thing"})));
            Ok(message)
        })
        .drain_timeout(Duration::from_millis(50))
}

pub(super) async fn next_approval(approvals: &mut tonic::Streaming<Approval>) -> Approval {
    let approval = within(approvals.message()).await.expect("approvals");
    approval.expect("one more")
}

/// spec: ORC-12.3
#[tokio::test]
async fn a_question_to_a_person_outlives_who_asked_it() {
    let hub = hub().await;
    let journal: Arc<dyn Journal> = Arc::new(Kept::default());
    let first = cortex_with(&hub, &journal).await;
    let _maker = maker().start(url(&hub)).await.expect("the hub runs");
    knows(&first, "maker").await;
    let request = || StartRunRequest {
        thread_id: "t".to_owned(),
        constraints: Some(Constraints {
            approvals: vec!["make".to_owned()],
            ..Constraints::default()
        }),
        ..app("a thing")
    };
    let mut client = serve(&first).await;
    let run = start(&mut client, request()).await;
    let before = waiting(&mut client).await;
    // It breaks off, with nothing said to anybody.
    drop(client);
    drop(first);

    let second = cortex_with(&hub, &journal).await;
    let mut client = serve(&second).await;
    let busy = client.start_run(request()).await.expect_err("it is active");
    assert_eq!(busy.code(), Code::FailedPrecondition);
    assert!(busy.message().contains(&run.id), "{busy}");
    let after = waiting(&mut client).await;
    assert_eq!(after, before, "the same is asked");
    let decision = DecideApprovalRequest {
        run_id: run.id.clone(),
        approval_id: after.id.clone(),
        approved: false,
        by: "ann".to_owned(),
        comment: "not this one".to_owned(),
    };
    within(client.decide_approval(decision))
        .await
        .expect("it waits");
    let shown = frames(&mut client, &run.id, 0).await;
    let asked = shown.iter().filter(|frame| frame.message == "asked");
    assert_eq!(asked.count(), 1, "it is shown once");
    let told = |frame: &Frame| frame.message.contains("not this one");
    assert!(shown.iter().any(told), "the run is told why: {shown:?}");
    second.stop().await;
    hub.shutdown().await;
}

pub(super) async fn cortex_with(hub: &Server, journal: &Arc<dyn Journal>) -> Running {
    let journal = Arc::clone(journal);
    cortex(hub, Offline, |settings| {
        settings.journal = Some(journal);
        settings.instance_id = Some("the-one".to_owned());
    })
    .await
}

/// The next approval that waits, once there is one.
pub(super) async fn waiting(client: &mut Client) -> Approval {
    let request = WatchApprovalsRequest { follow: true };
    let approvals = within(client.watch_approvals(request)).await;
    next_approval(&mut approvals.expect("it is served").into_inner()).await
}

/// A journal in which no run goes on any more, once that is said.
#[derive(Debug, Default)]
struct Halting {
    journal: MemoryJournal,
    is_halted: AtomicBool,
}

#[tonic::async_trait]
impl JournalDecorator for Halting {
    fn inner(&self) -> &dyn Journal {
        &self.journal
    }

    async fn append(
        &self,
        run: &RunId,
        epoch: u64,
        after: u64,
        events: &[RunEvent],
    ) -> Result<(), JournalError> {
        match self.is_halted.load(Ordering::SeqCst) {
            true => Err(JournalError::Unavailable("it is halted".to_owned())),
            false => self.journal.append(run, epoch, after, events).await,
        }
    }
}

/// Results are kept or not; nothing of them stays half done where the journal fails on the way.
#[tokio::test]
async fn results_are_kept_at_once() {
    let journal = Arc::new(Halting::default());
    let kept: Arc<dyn Journal> = journal.clone();
    let world = World::with(Scripted::from_fn(|_| Ok(respond("hi"))), |settings| {
        settings.journal = Some(kept);
    })
    .await;
    let mut client = serve(&world.cortex).await;
    let run = start(&mut client, chat("hi")).await;
    frames(&mut client, &run.id, 0).await;
    journal.is_halted.store(true, Ordering::SeqCst);
    let record = RecordResultsRequest {
        id: run.id.clone(),
        metrics: Some(json::to_struct(&json!({"clicks": 12}))),
    };
    let recorded = within(client.record_results(record)).await;
    assert_eq!(recorded.expect("they are kept").into_inner().id, run.id);
    let filter = Filter {
        strategies: vec!["results".to_owned()],
        ..Filter::default()
    };
    let listed = journal.journal.list(&filter).await.expect("it works");
    let states: Vec<State> = listed.iter().map(|listed| listed.state).collect();
    assert_eq!(states, [State::Completed]);
    world.end().await;
}

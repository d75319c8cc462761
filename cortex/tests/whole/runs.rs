//! Runs over gRPC: started, watched, called back, found again.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use agenthub_cortex::{CHAT_REQUEST, CORTEX};
use agenthub_sdk::{
    Agent, AgentBuilder, Card, Delegation, Failure, Phase, Skill, TaskContext,
    model::{Offline, Scripted},
    proto::{
        a2a::{Message, Part, Role, TaskState},
        cortex::{
            Approval, CancelRunRequest, Constraints, DecideApprovalRequest, Frame,
            GetRunGraphRequest, GetRunPlanRequest, GetRunRequest, ListRunsRequest,
            RecordResultsRequest, ResumeRunRequest, Run, RunBudget, StartRunRequest,
            WatchApprovalsRequest, WatchRunRequest, cortex_client::CortexClient,
        },
        json,
    },
    runs::{
        Journal, RunEvent, RunId,
        journal::{Around, Claim, Error, MemoryJournal, Opened},
    },
};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tonic::{Code, transport::Channel};

use crate::{frames::serve, harness::*};

type Client = CortexClient<Channel>;

fn chat(objective: &str) -> StartRunRequest {
    StartRunRequest {
        objective: objective.to_owned(),
        mode: "chat".to_owned(),
        ..StartRunRequest::default()
    }
}

async fn start(client: &mut Client, request: StartRunRequest) -> Run {
    let started = within(client.start_run(request)).await;
    started.expect("it is taken").into_inner()
}

async fn get(client: &mut Client, id: &str) -> Run {
    let id = id.to_owned();
    let run = within(client.get_run(GetRunRequest { id })).await;
    run.expect("it is there").into_inner()
}

async fn frames(client: &mut Client, id: &str, after_sequence: u64) -> Vec<Frame> {
    let id = id.to_owned();
    let request = WatchRunRequest { id, after_sequence };
    let mut stream = within(client.watch_run(request))
        .await
        .expect("it is there")
        .into_inner();
    let mut frames = Vec::new();
    while let Some(frame) = within(stream.message()).await.expect("frames") {
        frames.push(frame);
    }
    frames
}

async fn list(client: &mut Client, request: ListRunsRequest) -> (Vec<String>, String) {
    let page = within(client.list_runs(request)).await;
    let page = page.expect("a page").into_inner();
    let runs = page.runs.into_iter().map(|run| run.id).collect();
    (runs, page.next_page_token)
}

async fn cancel(client: &mut Client, id: &str) -> Result<Run, tonic::Status> {
    let request = CancelRunRequest {
        id: id.to_owned(),
        reason: "enough".to_owned(),
    };
    Ok(within(client.cancel_run(request)).await?.into_inner())
}

fn kinds(frames: &[Frame]) -> Vec<&str> {
    frames.iter().map(|frame| &*frame.r#type).collect()
}

/// A journal in memory that says that it is not lost, and so is taken up like one on a disk.
#[derive(Debug, Default)]
struct Kept(MemoryJournal);

#[tonic::async_trait]
impl Around for Kept {
    fn inner(&self) -> &dyn Journal {
        &self.0
    }

    fn is_durable(&self) -> bool {
        true
    }

    async fn open(
        &self,
        run: &RunId,
        owner: &str,
        claim: Claim<'_>,
        first: Option<&RunEvent>,
    ) -> Result<Opened, Error> {
        self.0.open(run, owner, claim, first).await
    }
}

/// spec: ORC-3.1, ORC-4
#[tokio::test]
async fn a_run_goes_on_by_itself_and_shows_the_same_to_whoever_watches_and_whenever() {
    let world = World::new(Scripted::from_fn(delegating)).await;
    let _agent = world
        .agent(worker("agent_a", async |_| {
            Ok::<_, Failure>("done".to_owned())
        }))
        .await;
    let mut client = serve(&world.cortex).await;
    let run = start(&mut client, chat("agent_a")).await;
    assert_eq!((&*run.mode, &*run.agent), ("chat", CORTEX));
    assert_eq!(run.objective, "agent_a");
    assert!(!run.thread_id.is_empty() && !run.task_id.is_empty());

    let live = frames(&mut client, &run.id, 0).await;
    let late = frames(&mut client, &run.id, 0).await;
    assert_eq!(live, late, "who comes late sees the same");
    let numbers: Vec<u64> = live.iter().map(|frame| frame.sequence).collect();
    assert_eq!(numbers, (1..=live.len() as u64).collect::<Vec<_>>());
    assert_eq!(kinds(&live)[0], "start");
    assert_eq!(kinds(&live).last(), Some(&"complete"));
    assert!(live.iter().all(|frame| frame.correlation_id == run.id));
    assert!(live.iter().all(|frame| frame.context_id == run.thread_id));
    let rest = frames(&mut client, &run.id, 3).await;
    assert_eq!(rest, live[3..]);
    let nothing = frames(&mut client, &run.id, live.len() as u64).await;
    assert_eq!(nothing, []);

    let over = get(&mut client, &run.id).await;
    assert_eq!(over.state, "completed");
    assert!(over.ended_at.is_some() && over.calls > 0);
    let result = json::from_struct(&over.result.expect("a result"));
    assert_eq!(result, json!({"message": "done"}));
    world.end().await;
}

/// spec: ORC-4
#[tokio::test]
async fn who_watches_from_the_middle_misses_nothing() {
    let (tell, mut told) = mpsc::channel(1);
    let (go, gone) = tokio::sync::watch::channel(false);
    let world = World::new(Thinking(move |_| {
        let (tell, mut gone) = (tell.clone(), gone.clone());
        async move {
            tell.send(()).await.expect("the test listens");
            gone.wait_for(|gone| *gone).await.expect("the test goes on");
            respond("at last")
        }
    }))
    .await;
    let mut client = serve(&world.cortex).await;
    let run = start(&mut client, chat("hello")).await;
    within(told.recv()).await.expect("the model is asked");
    let request = WatchRunRequest {
        id: run.id.clone(),
        after_sequence: 0,
    };
    let mut stream = within(client.watch_run(request))
        .await
        .expect("it is there")
        .into_inner();
    let first = within(stream.message()).await.expect("frames");
    assert_eq!(first.expect("a frame").r#type, "start");
    go.send_replace(true);
    let mut seen = 1;
    while let Some(frame) = within(stream.message()).await.expect("frames") {
        seen += 1;
        assert_eq!(frame.sequence, seen);
    }
    assert_eq!(frames(&mut client, &run.id, 0).await.len() as u64, seen);
    world.end().await;
}

#[tokio::test]
async fn the_same_key_and_brief_are_one_run_also_after_a_restart() {
    let hub = hub().await;
    let journal: Arc<dyn Journal> = Arc::new(Kept::default());
    let kept = Arc::clone(&journal);
    let model = || Scripted::from_fn(delegating);
    let first = cortex(&hub, model(), |s| s.journal = Some(kept)).await;
    let keyed = |objective: &str| StartRunRequest {
        idempotency_key: "k1".to_owned(),
        ..chat(objective)
    };
    let mut client = serve(&first).await;
    let (mut one, mut two) = (client.clone(), client.clone());
    let (one, two) = tokio::join!(
        start(&mut one, keyed("hello")),
        start(&mut two, keyed("hello"))
    );
    assert_eq!(one.id, two.id, "both at once are one");
    let other = client.start_run(keyed("good bye")).await;
    assert_eq!(
        other.expect_err("another brief").code(),
        Code::AlreadyExists
    );
    let before = frames(&mut client, &one.id, 0).await;
    first.stop().await;

    let second = cortex(&hub, model(), |s| s.journal = Some(journal)).await;
    let mut client = serve(&second).await;
    assert_eq!(start(&mut client, keyed("hello")).await.id, one.id);
    let other = client.start_run(keyed("good bye")).await;
    assert_eq!(
        other.expect_err("another brief").code(),
        Code::AlreadyExists
    );
    assert_eq!(frames(&mut client, &one.id, 0).await, before);
    let (runs, _) = list(&mut client, ListRunsRequest::default()).await;
    assert_eq!(runs, [one.id]);
    second.stop().await;
    hub.shutdown().await;
}

#[tokio::test]
async fn a_thread_has_one_active_run_however_many_are_wanted_at_once() {
    let (tell, mut told) = mpsc::channel(8);
    let world = World::new(Thinking(move |_| {
        let tell = tell.clone();
        async move {
            tell.send(()).await.expect("the test listens");
            std::future::pending().await
        }
    }))
    .await;
    let client = serve(&world.cortex).await;
    let mut starting = tokio::task::JoinSet::new();
    for number in 0..5 {
        let mut client = client.clone();
        let request = StartRunRequest {
            thread_id: "t".to_owned(),
            ..chat(&format!("hello {number}"))
        };
        starting.spawn(async move { client.start_run(request).await });
    }
    let started = within(starting.join_all()).await;
    let (taken, refused): (Vec<_>, Vec<_>) = started.into_iter().partition(Result::is_ok);
    let taken: Vec<Run> = taken
        .into_iter()
        .filter_map(|run| Some(run.ok()?.into_inner()))
        .collect();
    assert_eq!(taken.len(), 1);
    for refused in refused {
        let status = refused.expect_err("another one is active");
        assert_eq!(status.code(), Code::FailedPrecondition);
        assert!(status.message().contains(&taken[0].id), "{status}");
    }
    let mut client = client;
    within(told.recv()).await.expect("the model is asked");
    let elsewhere = StartRunRequest {
        thread_id: "u".to_owned(),
        ..chat("hello")
    };
    let elsewhere = start(&mut client, elsewhere).await;

    cancel(&mut client, &taken[0].id)
        .await
        .expect("it is active");
    let last = frames(&mut client, &taken[0].id, 0).await;
    let last = last.last().expect("frames");
    assert_eq!(
        (&*last.r#type, &*last.message),
        ("error", "cancelled: enough")
    );
    assert_eq!(get(&mut client, &taken[0].id).await.state, "cancelled");
    let again = cancel(&mut client, &taken[0].id).await;
    assert_eq!(again.expect("nothing changes").state, "cancelled");
    let next = StartRunRequest {
        thread_id: "t".to_owned(),
        ..chat("next")
    };
    let next = start(&mut client, next).await;

    let (active, _) = list(
        &mut client,
        ListRunsRequest {
            state: "working".to_owned(),
            ..ListRunsRequest::default()
        },
    )
    .await;
    assert_eq!(active, [next.id.clone(), elsewhere.id.clone()]);
    for run in [next, elsewhere] {
        cancel(&mut client, &run.id).await.expect("it is active");
    }
    world.end().await;
}

#[tokio::test]
async fn what_cannot_be_is_said_with_its_reason() {
    let world = World::new(Scripted::from_fn(delegating)).await;
    let mut client = serve(&world.cortex).await;
    let run = start(&mut client, chat("hello")).await;
    frames(&mut client, &run.id, 0).await;
    let no_run = || "no-such-run".to_owned();
    let mut statuses = vec![
        (
            client.get_run(GetRunRequest { id: no_run() }).await.err(),
            Code::NotFound,
            "no-such-run",
        ),
        (
            client
                .get_run_plan(GetRunPlanRequest { id: run.id.clone() })
                .await
                .err(),
            Code::NotFound,
            "plan",
        ),
        (
            cancel(&mut client, &run.id).await.err(),
            Code::FailedPrecondition,
            "completed",
        ),
        (
            client
                .resume_run(ResumeRunRequest {
                    id: run.id.clone(),
                    ..ResumeRunRequest::default()
                })
                .await
                .err(),
            Code::FailedPrecondition,
            "no plan",
        ),
        (
            client
                .decide_approval(DecideApprovalRequest {
                    run_id: run.id.clone(),
                    approval_id: "abc".to_owned(),
                    ..DecideApprovalRequest::default()
                })
                .await
                .err(),
            Code::FailedPrecondition,
            "abc",
        ),
    ];
    let briefs = [
        (chat(" "), "objective"),
        (
            StartRunRequest {
                mode: "work".to_owned(),
                ..chat("hello")
            },
            "mode",
        ),
        (
            StartRunRequest {
                budget: Some(RunBudget {
                    calls: Some(0),
                    ..RunBudget::default()
                }),
                ..chat("hello")
            },
            "budget.calls",
        ),
        (
            StartRunRequest {
                constraints: Some(Constraints {
                    quality_threshold: Some(f64::NAN),
                    ..Constraints::default()
                }),
                ..chat("hello")
            },
            "constraints.qualityThreshold",
        ),
    ];
    for (brief, field) in briefs {
        let status = client.start_run(brief).await.err();
        statuses.push((status, Code::InvalidArgument, field));
    }
    for (status, code, word) in statuses {
        let status = status.expect(word);
        assert_eq!(status.code(), code, "{status}");
        assert!(status.message().contains(word), "{status}");
    }
    world.end().await;
}

#[tokio::test]
async fn runs_are_listed_latest_first_in_pages_with_those_of_users() {
    let world = World::new(Scripted::from_fn(delegating)).await;
    let mut client = serve(&world.cortex).await;
    let mut started = Vec::new();
    for number in 0..3 {
        let run = start(&mut client, chat(&format!("hello {number}"))).await;
        frames(&mut client, &run.id, 0).await;
        started.insert(0, run.id);
    }
    // What users say over the hub is a run as well.
    let ann = world.user("ann").await;
    ann.answer("c", "hi").await;
    let of_thread = |thread: &str| ListRunsRequest {
        thread_id: thread.to_owned(),
        ..ListRunsRequest::default()
    };
    let (of_ann, _) = list(&mut client, of_thread("c")).await;
    assert_eq!(of_ann.len(), 1);
    started.insert(0, of_ann[0].clone());
    assert_eq!(get(&mut client, &of_ann[0]).await.objective, "hi");

    let mut listed = Vec::new();
    let mut page_token = String::new();
    loop {
        let request = ListRunsRequest {
            page_size: 3,
            page_token,
            ..ListRunsRequest::default()
        };
        let (runs, next) = list(&mut client, request).await;
        listed.extend(runs);
        if next.is_empty() {
            break;
        }
        page_token = next;
    }
    assert_eq!(listed, started);
    let none = ListRunsRequest {
        mode: "app".to_owned(),
        ..ListRunsRequest::default()
    };
    assert_eq!(list(&mut client, none).await.0, [""; 0]);
    let chats = ListRunsRequest {
        mode: "chat".to_owned(),
        state: "completed".to_owned(),
        ..ListRunsRequest::default()
    };
    assert_eq!(list(&mut client, chats).await.0, started);
    world.end().await;
}

#[tokio::test]
async fn one_talks_with_an_agent_by_name() {
    let world = World::new(Scripted::from_fn(delegating)).await;
    let shout = worker("agent_a", async |task: TaskContext| {
        Ok::<_, Failure>(format!(
            "{} {}",
            task.text().to_uppercase(),
            task.data().unwrap_or_default()
        ))
    });
    let _agent = world.agent(shout).await;
    let mut client = serve(&world.cortex).await;
    let request = StartRunRequest {
        agent: "agent_a".to_owned(),
        payload: Some(json::to_struct(&json!({"n": 1}))),
        ..chat("hello")
    };
    let run = start(&mut client, request).await;
    let shown = frames(&mut client, &run.id, 0).await;
    assert_eq!(kinds(&shown).last(), Some(&"complete"), "{shown:?}");
    let over = get(&mut client, &run.id).await;
    assert_eq!((&*over.mode, &*over.agent), ("chat", "agent_a"));
    let result = json::from_struct(&over.result.expect("a result"));
    assert_eq!(result, json!({"message": "HELLO {\"n\":1}"}));
    let chats = ListRunsRequest {
        mode: "chat".to_owned(),
        ..ListRunsRequest::default()
    };
    assert_eq!(list(&mut client, chats).await.0, [run.id]);
    world.end().await;
}

/// Makes what a run is to make.
fn maker() -> AgentBuilder {
    let object = |field: &str| json!({"type": "object", "properties": {field: {"type": "string"}}, "required": [field]});
    let card = Card::new("maker", "Makes things")
        .skill(Skill::new("make", "Make", "Makes a text from an objective"))
        .input_schema("make", object("objective"))
        .output_schema("make", object("text"))
        .phase("make", Phase::Generation);
    Agent::worker(card)
        .on("make", async |_: TaskContext| {
            let mut message = Message::new(Role::Agent, "made");
            message
                .content
                .push(Part::data(&json!({"text": "a fine thing"})));
            Ok::<_, Failure>(message)
        })
        .drain_timeout(Duration::from_millis(50))
}

fn app(objective: &str) -> StartRunRequest {
    StartRunRequest {
        objective: objective.to_owned(),
        ..StartRunRequest::default()
    }
}

async fn next_approval(approvals: &mut tonic::Streaming<Approval>) -> Approval {
    let approval = within(approvals.message()).await.expect("approvals");
    approval.expect("one more")
}

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
    assert_eq!(waiting.approvals, [asked.clone()]);
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

/// spec: ORC-3.1
#[tokio::test]
async fn a_brief_over_the_hub_waits_for_nobody_and_is_refused_while_its_thread_is_busy() {
    let (tell, mut told) = mpsc::channel(8);
    let world = World::new(Thinking(move |_| {
        let tell = tell.clone();
        async move {
            tell.send(()).await.expect("the test listens");
            std::future::pending().await
        }
    }))
    .await;
    let ann = world.user("ann").await;
    let brief = |task_type: &str| {
        Delegation::to(CORTEX)
            .capability(task_type)
            .context_id("t")
            .text("a thing")
    };
    let first = ann.client.delegate(brief("orchestrate")).await;
    let first = first.expect("the hub takes it");
    within(told.recv()).await.expect("the model is asked");
    let second = ann.client.delegate(brief("orchestrate")).await;
    let second = within(second.expect("the hub takes it").outcome()).await;
    let second = second.expect("an outcome");
    assert_eq!(second.state, TaskState::Rejected);
    assert!(second.error.contains("active"), "{}", second.error);
    let mut client = serve(&world.cortex).await;
    let third = StartRunRequest {
        thread_id: "t".to_owned(),
        ..app("a thing")
    };
    let third = client.start_run(third).await.expect_err("it is busy");
    assert_eq!(third.code(), Code::FailedPrecondition);
    // Who only talks is not held up.
    let chat = ann.client.delegate(brief(CHAT_REQUEST)).await;
    let chat = chat.expect("the hub takes it");
    within(told.recv()).await.expect("the model is asked");
    first.cancel("enough").await.expect("it is at work");
    chat.cancel("enough").await.expect("it is at work");
    world.end().await;
}

#[tokio::test]
async fn a_run_is_called_back_together_with_what_it_has_out() {
    let world = World::new(Scripted::from_fn(delegating)).await;
    let (tell, mut told) = mpsc::channel(2);
    let agent = worker("agent_a", move |task| {
        let tell = tell.clone();
        async move {
            tell.send("at work").await?;
            task.cancelled().await;
            tell.send("cancelled").await?;
            Err::<String, _>(Failure::cancelled("told to stop"))
        }
    });
    let _agent = world.agent(agent).await;
    let mut client = serve(&world.cortex).await;
    let run = start(&mut client, chat("agent_a")).await;
    assert_eq!(within(told.recv()).await, Some("at work"));
    let told_to_stop = cancel(&mut client, &run.id).await.expect("it is active");
    assert!(["cancelling", "cancelled"].contains(&&*told_to_stop.state));
    assert_eq!(within(told.recv()).await, Some("cancelled"));
    let shown = frames(&mut client, &run.id, 0).await;
    assert_eq!(kinds(&shown).last(), Some(&"error"));
    assert_eq!(get(&mut client, &run.id).await.state, "cancelled");
    world.end().await;
}

#[tokio::test]
async fn runs_of_other_agents_are_shown_from_their_journals() {
    let journal: Arc<dyn Journal> = Arc::new(Kept::default());
    let others = BTreeMap::from([("agent_model".to_owned(), Arc::clone(&journal))]);
    let world = World::with(Scripted::from_fn(delegating), |settings| {
        settings.others = Some(Arc::new(others));
    })
    .await;
    let card = Card::new("agent_model", "Answers").skill(Skill::new("work", "Work", "Answers"));
    let agent = Agent::worker(card).model(Offline).journal(journal);
    let _agent = world.agent(agent).await;
    let mut client = serve(&world.cortex).await;
    let before = start(&mut client, chat("hello")).await;
    frames(&mut client, &before.id, 0).await;
    let ann = world.user("ann").await;
    let asked = Delegation::to("agent_model")
        .capability("work")
        .context_id("c")
        .text("good day");
    let asked = ann.client.delegate(asked).await.expect("the hub takes it");
    let task_id = asked.task_id().to_owned();
    within(asked.outcome()).await.expect("an outcome");
    let after = start(&mut client, chat("good bye")).await;
    frames(&mut client, &after.id, 0).await;

    let (all, _) = list(&mut client, ListRunsRequest::default()).await;
    assert_eq!(all.len(), 3);
    assert_eq!((&all[0], &all[2]), (&after.id, &before.id));
    let of_model = get(&mut client, &all[1]).await;
    assert_eq!(
        (&*of_model.agent, &*of_model.objective),
        ("agent_model", "good day")
    );
    assert_eq!((&*of_model.mode, of_model.task_id), ("tool_loop", task_id));
    let shown = frames(&mut client, &all[1], 0).await;
    assert_eq!(
        (kinds(&shown)[0], kinds(&shown).last()),
        ("start", Some(&"complete"))
    );

    let mut paged = Vec::new();
    let mut page_token = String::new();
    loop {
        let request = ListRunsRequest {
            page_size: 1,
            page_token,
            ..ListRunsRequest::default()
        };
        let (runs, next) = list(&mut client, request).await;
        paged.extend(runs);
        if next.is_empty() {
            break;
        }
        page_token = next;
    }
    assert_eq!(paged, all);
    let wrong = ListRunsRequest {
        page_token: "yesterday".to_owned(),
        ..ListRunsRequest::default()
    };
    let wrong = client.list_runs(wrong).await.expect_err("no token");
    assert_eq!(wrong.code(), Code::InvalidArgument);
    world.end().await;
}

//! How runs begin: once for each key, one at a time in each thread.

use super::*;

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
async fn a_run_that_is_there_answers_all_who_repeat_its_key_at_once() {
    let world = World::new(Scripted::from_fn(delegating)).await;
    let mut client = serve(&world.cortex).await;
    let keyed = |objective: &str| StartRunRequest {
        idempotency_key: "k1".to_owned(),
        ..chat(objective)
    };
    let run = start(&mut client, keyed("hello")).await;
    frames(&mut client, &run.id, 0).await;
    let mut asking = tokio::task::JoinSet::new();
    for number in 0..60 {
        let mut client = client.clone();
        let request = keyed(["hello", "hello", "good bye"][number % 3]);
        let asking = asking.spawn(async move {
            let is_same = request.objective == "hello";
            (is_same, client.start_run(request).await)
        });
        // Some leave before they are answered.
        if number % 10 == 0 {
            tokio::task::yield_now().await;
            asking.abort();
        }
    }
    within(async {
        while let Some(asked) = asking.join_next().await {
            match asked {
                Ok((true, answer)) => {
                    assert_eq!(answer.expect("it is there").into_inner().id, run.id);
                }
                Ok((false, answer)) => {
                    let status = answer.expect_err("another brief");
                    assert_eq!(status.code(), Code::AlreadyExists, "{status}");
                }
                Err(left) => assert!(left.is_cancelled(), "{left}"),
            }
        }
    })
    .await;
    world.end().await;
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
    let late = StartRunRequest {
        thread_id: "t".to_owned(),
        ..chat("hello")
    };
    let late = client
        .start_run(late)
        .await
        .expect_err("it is still active");
    assert!(late.message().contains(&taken[0].id), "{late}");
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
async fn one_talks_with_an_agent_by_name() {
    let world = World::new(Scripted::from_fn(delegating)).await;
    let shout = worker("agent_a", async |task: TaskContext| {
        Ok(format!(
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
    assert_eq!(result["message"], "HELLO {\"n\":1}");
    // The card of the agent says nothing of data, so nobody can tell that it took them.
    let lacks = result["results"][0]["lacks"].as_str();
    let lacks = lacks.expect("it says what it lacks");
    assert!(
        lacks.starts_with("nobody knows of payload.n that"),
        "{lacks}"
    );
    let chats = ListRunsRequest {
        mode: "chat".to_owned(),
        ..ListRunsRequest::default()
    };
    assert_eq!(list(&mut client, chats).await.0, [run.id]);
    world.end().await;
}

#[tokio::test]
async fn who_was_told_that_a_run_is_over_can_ask_for_the_next_in_its_thread() {
    let world = World::new(Offline).await;
    let ann = world.user("ann").await;
    for _ in 0..10 {
        let brief = Delegation::to(CORTEX)
            .capability("orchestrate")
            .context_id("t")
            .text("a thing that nobody here can make");
        let run = ann.client.delegate(brief).await.expect("the hub takes it");
        let outcome = within(run.outcome()).await.expect("an outcome");
        assert_ne!(outcome.state, TaskState::Rejected, "{}", outcome.error);
    }
    world.end().await;
}

//! What is seen of runs, by whoever looks and whenever.

use super::*;

/// spec: ORC-3.1, ORC-4
#[tokio::test]
async fn a_run_goes_on_by_itself_and_shows_the_same_to_whoever_watches_and_whenever() {
    let world = World::new(Scripted::from_fn(delegating)).await;
    let _agent = world
        .agent(worker("agent_a", async |_| Ok("done".to_owned())))
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

/// spec: ORC-4, ORC-11.3
#[tokio::test]
async fn a_run_that_did_nothing_says_so_wherever_it_is_shown() {
    let world = World::new(Offline).await;
    let mut client = serve(&world.cortex).await;
    let run = start(&mut client, chat("knit me a sweater")).await;
    frames(&mut client, &run.id, 0).await;
    let request = ListRunsRequest::default();
    let listed = within(client.list_runs(request)).await.expect("a page");
    let listed = listed.into_inner().runs.remove(0);
    for shown in [get(&mut client, &run.id).await, listed] {
        assert_eq!((&*shown.state, &*shown.undone), ("completed", "all"));
        let result = json::from_struct(&shown.result.expect("a result"));
        assert_eq!(
            (&result["partial"], &result["undone"]),
            (&true.into(), &"all".into())
        );
    }
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

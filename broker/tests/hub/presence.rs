//! Presence and its notifications.

use std::time::Duration;

use agenthub_broker::Settings;
use agenthub_proto::agenthub::{
    AgentState, EventKind, Filter, ListAgentsRequest, ListAgentsResponse, RegisterAgentRequest,
};
use axum::{Router, http::StatusCode, response::Redirect, routing::get};
use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};
use tokio::{net::TcpListener, task::JoinSet};

use crate::{
    harness::{TestHub, card, timed, within},
    peer::{agent, filtered, hello, of_instance},
};

fn short_lease() -> Settings {
    Settings {
        presence_lease: Duration::from_secs(1),
        ..Settings::default()
    }
}

async fn list(hub: &TestHub, request: ListAgentsRequest) -> ListAgentsResponse {
    let answer = hub.client.clone().list_agents(timed(request)).await;
    answer.expect("a page").into_inner()
}

/// spec: HUB-8
#[tokio::test]
async fn coming_and_going_is_told_once_each() {
    let hub = TestHub::with(short_lease()).await;
    let mut watcher = hub.agent_events("cortex", &["agent_card"]).await;
    let first = hub.connect(agent("echo", "a", 9)).await;
    assert_eq!(watcher.word().await, "registered echo online");
    let second = hub.connect(agent("echo", "b", 9)).await;
    let older = hub.messages("echo").await;
    first.say_goodbye().await;
    drop(second);
    drop(older);
    assert_eq!(watcher.word().await, "offline echo offline");
    let back = hub.connect(agent("echo", "a", 9)).await;
    assert_eq!(watcher.word().await, "online echo online");
    drop(back);
    let _back_in_time = hub.connect(agent("echo", "a", 9)).await;
    hub.register(card("mark"), &[]).await;
    assert_eq!(watcher.word().await, "registered mark offline");
}

/// spec: HUB-1
#[tokio::test]
async fn connecting_with_another_card_is_an_update() {
    let hub = TestHub::start().await;
    let mut watcher = hub.agent_events("cortex", &["agent_card"]).await;
    hub.connect(agent("echo", "a", 9)).await.say_goodbye().await;
    assert_eq!(watcher.word().await, "registered echo online");
    assert_eq!(watcher.word().await, "offline echo offline");
    let mut changed = agent("echo", "a", 9);
    if let Some(card) = &mut changed.agent_card {
        card.description = "changed".into();
    }
    let _peer = hub.connect(changed).await;
    assert_eq!(watcher.word().await, "updated echo online");
}

/// spec: HUB-4
#[tokio::test]
async fn a_connected_watcher_gets_the_snapshot_and_the_changes() {
    let hub = TestHub::start().await;
    hub.register(card("old"), &[]).await;
    let cards = Filter {
        kinds: vec![EventKind::AgentCard.into()],
        ..Default::default()
    };
    let watch = || {
        hello(
            "cortex",
            "i",
            vec![filtered(of_instance("directory", 99), cards.clone())],
        )
    };
    let mut watcher = hub.connect(watch()).await;
    assert_eq!(watcher.word().await, "registered old offline (snapshot)");
    let _peer = hub.connect(agent("echo", "a", 9)).await;
    assert_eq!(watcher.word().await, "registered echo online");
    drop(watcher);
    let mut again = hub.connect(watch()).await;
    assert_eq!(
        again.words_so_far().await,
        [
            "registered echo online (snapshot)",
            "registered old offline (snapshot)"
        ]
    );
}

/// promise 7
#[tokio::test]
async fn a_directory_that_is_larger_than_a_mailbox_can_be_watched() {
    let hub = TestHub::with(Settings {
        mailbox_events: 10,
        mailbox_bytes: 512 * 1024,
        ..Settings::default()
    })
    .await;
    for n in 0..40 {
        let mut card = card(&format!("agent {n:02}"));
        card.description = "long ".repeat(12_000);
        hub.register(card, &[]).await;
    }
    let shown = |n| format!("registered agent {n:02} offline (snapshot)");
    let mut older = hub.agent_events("cortex", &["agent_card"]).await;
    let cards = Filter {
        kinds: vec![EventKind::AgentCard.into()],
        ..Default::default()
    };
    let watch = filtered(of_instance("directory", 15), cards);
    let mut watcher = hub.connect(hello("cortex", "i", vec![watch])).await;
    for n in 0..15 {
        assert_eq!(watcher.word().await, shown(n));
    }
    assert_eq!(watcher.words_so_far().await, [""; 0], "it has no credit");
    hub.register(card("agent 00"), &[]).await;
    hub.register(card("agent 39"), &[]).await;
    watcher.give_credit(0, 99).await;
    for n in 15..40 {
        assert_eq!(watcher.word().await, shown(n));
    }
    assert_eq!(watcher.word().await, "updated agent 00 offline");
    assert_eq!(
        watcher.words_so_far().await,
        [""; 0],
        "one is in the snapshot"
    );

    for n in 0..40 {
        assert_eq!(older.word().await, shown(n));
    }
}

/// spec: HUB-8
#[tokio::test]
async fn agents_are_found_by_every_filter() {
    let hub = TestHub::start().await;
    let mut writer = card("writer");
    writer.description = "Writes Long texts".into();
    writer.skills[0].output_modes = vec!["text/markdown".into()];
    writer.skills[0].tags = vec!["prose".into()];
    writer.capabilities = Some(agenthub_proto::a2a::AgentCapabilities {
        streaming: true,
        ..Default::default()
    });
    hub.register(writer, &[]).await;
    hub.register(card("echo"), &[]).await;
    let _present = hub.messages("echo").await;
    let names = async |request: ListAgentsRequest| -> Vec<String> {
        let page = list(&hub, request).await;
        page.agents.into_iter().map(|a| a.agent_id).collect()
    };
    let any = ListAgentsRequest::default;
    assert_eq!(names(any()).await, ["echo", "writer"]);
    let one = ListAgentsRequest {
        page_size: 1,
        ..any()
    };
    let first = list(&hub, one).await;
    assert_eq!(first.agents.len(), 1);
    for (request, expected) in [
        (
            ListAgentsRequest {
                text: "long WRITES".into(),
                ..any()
            },
            "writer",
        ),
        (
            ListAgentsRequest {
                skill: "writer_skill".into(),
                ..any()
            },
            "writer",
        ),
        (
            ListAgentsRequest {
                tag: "prose".into(),
                ..any()
            },
            "writer",
        ),
        (
            ListAgentsRequest {
                mode: "text/markdown".into(),
                ..any()
            },
            "writer",
        ),
        (
            ListAgentsRequest {
                capability: "streaming".into(),
                ..any()
            },
            "writer",
        ),
        (
            ListAgentsRequest {
                state: AgentState::Offline.into(),
                ..any()
            },
            "writer",
        ),
        (
            ListAgentsRequest {
                state: AgentState::Online.into(),
                ..any()
            },
            "echo",
        ),
        (
            ListAgentsRequest {
                page_token: first.next_page_token,
                ..any()
            },
            "writer",
        ),
    ] {
        assert_eq!(names(request.clone()).await, [expected], "{request:?}");
    }
}

/// spec: HUB-8
#[tokio::test]
async fn an_agent_without_a_stream_is_probed() {
    let hub = TestHub::with(Settings {
        probe_interval: Duration::from_millis(30),
        ..Settings::default()
    })
    .await;
    let is_well = Arc::new(AtomicBool::new(true));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("bound");
    let state = is_well.clone();
    let router = Router::new().route(
        "/health",
        get(move || {
            let is_well = state.load(Ordering::Relaxed);
            async move {
                if is_well {
                    StatusCode::OK
                } else {
                    StatusCode::SERVICE_UNAVAILABLE
                }
            }
        }),
    );
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = asked.clone();
    let moved = get(move || {
        counted.fetch_add(1, Ordering::Relaxed);
        async { Redirect::temporary("/health") }
    });
    let router = router.route("/moved", moved);
    let mut tasks = JoinSet::new();
    tasks.spawn(async move { axum::serve(listener, router).await.expect("it serves") });

    let mut watcher = hub.agent_events("cortex", &["agent_card"]).await;
    let request = RegisterAgentRequest {
        agent_card: Some(card("http")),
        health_check_url: format!("http://{address}/health"),
        ..Default::default()
    };
    within(hub.client.clone().register_agent(request))
        .await
        .expect("registered");
    assert_eq!(watcher.word().await, "registered http offline");
    assert_eq!(watcher.word().await, "online http online");

    // A redirect does not make the hub probe another address: the agent that redirects is not healthy.
    let moved = RegisterAgentRequest {
        agent_card: Some(card("moved")),
        health_check_url: format!("http://{address}/moved"),
        ..Default::default()
    };
    within(hub.client.clone().register_agent(moved))
        .await
        .expect("registered");
    assert_eq!(watcher.word().await, "registered moved offline");
    crate::harness::until("it is probed twice", async || {
        (asked.load(Ordering::Relaxed) > 1).then_some(())
    })
    .await;
    is_well.store(false, Ordering::Relaxed);
    assert_eq!(watcher.word().await, "offline http offline");
}

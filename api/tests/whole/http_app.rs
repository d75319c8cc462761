//! A run that plans, over HTTP from its brief to its results.

use agenthub_sdk::model::Offline;
use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    harness::*,
    runs::steering,
    web::{Web, types},
};

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

/// Every answer and every frame is held against the document on the way.
///
/// spec: ORC-3.1, ORC-4, ORC-8, ORC-12.3
#[tokio::test]
async fn a_brief_becomes_a_plan_a_question_and_a_bundle() {
    let world = World::new(Offline).await;
    let _maker = world.agent(steering::maker()).await;
    let web = Web::of(&world.cortex).await;
    let brief = json!({
        "objective": "make a fine thing",
        "threadId": "t",
        "constraints": {"approvals": ["*"], "acceptanceCriteria": ["it is fine"]},
    });
    let id = web.start(&brief).await;
    let path = format!("/v1/runs/{id}");
    let mut events = web.watch(&id, None).await;
    let mut frames = Vec::new();
    while frames
        .last()
        .is_none_or(|frame| text(frame, "type") != "approval")
    {
        frames.push(events.next().await.expect("it is asked for"));
    }
    let asked = frames.last().expect("a frame").clone();
    assert_eq!(text(&asked, "message"), "asked");

    let run = web.get(&path).await.json();
    assert_eq!(text(&run, "state"), "awaiting-approval", "{run}");
    let approval = &run["approvals"][0];
    let listed = web
        .get("/v1/runs?state=awaiting-approval&mode=app")
        .await
        .json();
    assert_eq!(listed["runs"][0]["approvals"][0], *approval);
    assert_eq!(text(approval, "agent"), "maker");
    let plan = web.get(&format!("{path}/plan")).await.json();
    let step = text(approval, "step");
    assert_eq!(text(&plan["states"], step), "awaiting-approval", "{plan}");

    let decide = async |approval: &str, approved: bool| {
        let decision = json!({"approved": approved, "by": "ann", "comment": "go on"});
        web.post(&format!("{path}/approvals/{approval}"), &decision)
            .await
    };
    assert_eq!(decide("another", true).await.problem(), "wrong-state");
    let decided = decide(text(approval, "id"), true).await;
    assert_eq!(
        (decided.status, &decided.json()["approvals"]),
        (200, &json!([]))
    );
    assert_eq!(
        decide(text(approval, "id"), false).await.problem(),
        "wrong-state"
    );

    frames.extend(events.all().await);
    for kind in ["plan_update", "handoff", "phase", "metrics", "warning"] {
        assert!(types(&frames).contains(&kind), "{kind}: {frames:?}");
    }
    let last = frames.last().expect("a frame");
    assert_eq!(text(last, "type"), "complete", "{last}");
    for part in ["result", "quality", "acceptance-report"] {
        assert!(last["data"].get(part).is_some(), "{part}: {last}");
    }
    let run = web.get(&path).await.json();
    assert_eq!(
        (text(&run, "state"), &run["result"]),
        ("completed", &last["data"])
    );
    let graph = web.get(&format!("{path}/graph")).await.json();
    let edges = graph["edges"].as_array().expect("edges");
    assert!(
        edges.iter().any(|edge| text(edge, "to") == "maker"),
        "{graph}"
    );

    let results = json!({"metrics": {"clicks": 120, "rate": 0.5}});
    let recorded = web.post(&format!("{path}/results"), &results).await;
    assert_eq!(recorded.status, 200, "{recorded:?}");
    let wrong = json!({"metrics": {"clicks": "many"}});
    let wrong = web.post(&format!("{path}/results"), &wrong).await;
    assert_eq!(wrong.status, 422);

    let again = web.request(Method::POST, &format!("{path}/resume"));
    let resumed = web.send(again).await;
    assert_eq!(resumed.status, 201, "{resumed:?}");
    assert_eq!(resumed.json()["resumes"], *id);
    let place = resumed.header("location");
    assert_eq!(web.get(&place).await.json()["threadId"], "t");
    let cancelled = web.send(web.request(Method::POST, &format!("{place}/cancel")));
    assert!([202, 409].contains(&cancelled.await.status));
    world.end().await;
}

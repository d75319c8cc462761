//! Cards and the list of agents.

use serde_json::{Value, json};

use crate::harness::Stage;

const CARD: &str = "/agents/painter/.well-known/agent-card.json";

/// spec: A2A 1.0.1 §8.2, §8.3.1
#[tokio::test]
async fn every_agent_has_a_card_with_three_interfaces() {
    let stage = Stage::start().await;
    let card = stage.http("GET", CARD, &[], "").await;
    assert_eq!((card.status, &card.body["name"]), (200, &json!("painter")));
    assert_eq!(card.headers["content-type"], "application/json");
    let interfaces = card.body["supportedInterfaces"].as_array().expect("a list");
    let bindings: Vec<&Value> = interfaces.iter().map(|i| &i["protocolBinding"]).collect();
    assert_eq!(bindings, ["JSONRPC", "HTTP+JSON", "GRPC"]);
    assert!(
        interfaces
            .iter()
            .all(|i| i["protocolVersion"] == "1.0" && i["tenant"] == "painter")
    );
    assert_eq!(interfaces[0]["url"], "http://127.0.0.1:8080/agents/painter");
    let grpc = format!("127.0.0.1:{}", stage.hub.address().port());
    assert_eq!(interfaces[2]["url"], grpc.as_str());
    assert_eq!(card.body["capabilities"]["streaming"], true);

    let default = stage
        .http("GET", "/.well-known/agent-card.json", &[], "")
        .await;
    assert_eq!(
        (default.status, &default.body["name"]),
        (200, &json!("painter"))
    );
    assert_eq!(
        default.body["supportedInterfaces"][0]["url"],
        "http://127.0.0.1:8080"
    );
    let nobody = stage
        .http("GET", "/agents/nobody/.well-known/agent-card.json", &[], "")
        .await;
    assert_eq!(nobody.status, 404);
    let rebound = stage
        .http("GET", CARD, &[("host", "evil.example")], "")
        .await;
    assert_eq!(rebound.status, 421);
    stage.stop().await;
}

/// spec: A2A 1.0.1 §8.6.1, §8.6.2
#[tokio::test]
async fn a_card_that_is_known_is_not_sent_again() {
    let stage = Stage::start().await;
    let card = stage.http("GET", CARD, &[], "").await;
    let tag = card.headers["etag"].to_str().expect("text");
    assert!(
        card.headers["cache-control"]
            .to_str()
            .expect("text")
            .contains("max-age=")
    );
    assert!(card.headers.contains_key("last-modified"));
    let again = stage.http("GET", CARD, &[("if-none-match", tag)], "").await;
    assert_eq!((again.status, &again.body), (304, &Value::Null));
    assert_eq!(again.headers["etag"], tag);
    let other = stage
        .http("GET", CARD, &[("if-none-match", "\"x\"")], "")
        .await;
    assert_eq!(other.status, 200);
    stage.stop().await;
}

/// spec: HUB-8
#[tokio::test]
async fn agents_are_listed_and_searched() {
    let stage = Stage::start().await;
    let list = async |query: &str| {
        let page = stage
            .http("GET", &format!("/agents?{query}"), &[], "")
            .await;
        assert_eq!(page.status, 200, "{}", page.body);
        page.body
    };
    let all = list("").await;
    assert_eq!(all["agents"][0]["slug"], "painter");
    assert_eq!(all["agents"][0]["online"], true);
    assert_eq!(
        all["agents"][0]["cardUrl"],
        format!("http://127.0.0.1:8080{CARD}")
    );
    assert_eq!(all["agents"][0]["card"]["skills"][0]["id"], "paint");
    for (query, count) in [
        ("text=TOLD", 1),
        ("text=poet", 0),
        ("tag=art", 1),
        ("skill=paint", 1),
        ("skill=sing", 0),
    ] {
        assert_eq!(
            list(query).await["agents"].as_array().map(Vec::len),
            Some(count),
            "{query}"
        );
    }
    assert_eq!(
        stage
            .http("GET", "/agents?pageSize=0", &[], "")
            .await
            .status,
        400
    );
    stage.stop().await;
}

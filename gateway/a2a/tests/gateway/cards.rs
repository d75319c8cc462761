//! Cards and the list of agents.

use std::sync::Arc;

use agenthub_a2a::{CardKey, ExtendedCards};
use serde_json::{Value, json};

use crate::harness::{Stage, card, settings};

const CARD: &str = "/agents/painter/.well-known/agent-card.json";

/// spec: A2A 1.0.1 §8.1, §8.2, §8.3.1
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

/// spec: HUB-8
#[tokio::test]
async fn a_wrong_parameter_of_the_list_of_agents_is_named() {
    let stage = Stage::start().await;
    let long = format!("text={}", "x".repeat(300));
    for (query, field, says) in [
        ("pageToken=nonsense", "pageToken", "nextPageToken"),
        ("pageToken=painter", "pageToken", "nextPageToken"),
        ("pageSize=many", "pageSize", "from 1 to 1000"),
        (&long, "text", "256"),
    ] {
        let answer = stage
            .http("GET", &format!("/agents?{query}"), &[], "")
            .await;
        assert_eq!(answer.status, 400, "{query}");
        let wrong = &answer.body["error"]["details"][0]["fieldViolations"][0];
        assert_eq!(wrong["field"], field, "{wrong}");
        let said = wrong["description"].as_str().expect("words");
        assert!(said.contains(says), "{said}");
    }
    stage.stop().await;
}

/// The private key of RFC 8037, appendix A.
const KEY: &str = r#"{"kty":"OKP","crv":"Ed25519","d":"nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#;

/// spec: A2A 1.0.1 §8.4
#[tokio::test]
async fn cards_are_signed_for_the_public_address_alone() {
    let mut settings = settings();
    settings.card_key = CardKey::read(KEY).ok().map(Arc::new);
    settings.public_url = Some("https://hub.example".into());
    settings.local_only = false;
    let stage = Stage::set(card(), settings.clone()).await;
    let first = stage
        .http("GET", CARD, &[("host", "evil.example")], "")
        .await;
    assert!(!first.body.to_string().contains("evil.example"));
    let keys = stage.http("GET", "/.well-known/jwks.json", &[], "").await;
    assert_eq!(
        (keys.status, &keys.headers["content-type"]),
        (200, &"application/jwk-set+json".parse().expect("a value"))
    );
    assert_eq!(
        keys.body["keys"][0]["x"],
        "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"
    );
    let signatures = first.body["signatures"].as_array().expect("signatures");
    assert_eq!(signatures.len(), 2);
    let tag = first.headers["etag"].to_str().expect("text");
    let again = stage.http("GET", CARD, &[("if-none-match", tag)], "").await;
    assert_eq!(again.status, 304);
    stage.stop().await;

    settings.public_url = None;
    let stage = Stage::set(card(), settings).await;
    let unsigned = stage.http("GET", CARD, &[], "").await;
    assert_eq!(unsigned.body.get("signatures"), None);
    let keys = stage.http("GET", "/.well-known/jwks.json", &[], "").await;
    assert_eq!(keys.status, 404);
    stage.stop().await;
}

/// spec: A2A 1.0.1 §3.1.11, §3.3.4, §13.3
#[tokio::test]
async fn an_extended_card_is_for_callers_with_the_token() {
    let token = "0123456789abcdef";
    let more = json!({"description": "And more", "version": "2.0.0"});
    let cards = [("painter".to_owned(), more)];
    let mut settings = settings();
    settings.public_url = Some("http://127.0.0.1:8080".into());
    settings.extended = ExtendedCards::new(cards, token.to_owned()).ok();
    let stage = Stage::set(card(), settings).await;
    let public = stage.http("GET", CARD, &[], "").await.body;
    assert_eq!(public["capabilities"]["extendedAgentCard"], true);
    let scheme = &public["securitySchemes"]["extendedCard"]["httpAuthSecurityScheme"];
    assert_eq!(scheme["scheme"], "Bearer");
    let authorization = format!("Bearer {token}");
    let with = [
        ("a2a-version", "1.0"),
        ("authorization", authorization.as_str()),
    ];
    let path = "/agents/painter/extendedAgentCard";
    let card = stage.http("GET", path, &with, "").await;
    assert_eq!(
        (card.status, &card.body["description"]),
        (200, &json!("And more"))
    );
    assert_eq!(
        card.body["supportedInterfaces"],
        public["supportedInterfaces"]
    );
    let refused = stage.http("GET", path, &with[..1], "").await;
    assert_eq!(
        (refused.status, &refused.headers["www-authenticate"]),
        (401, &"Bearer".parse().expect("a value"))
    );
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "GetExtendedAgentCard"});
    let headers = [("a2a-version", "1.0"), ("content-type", "application/json")];
    let refused = stage.http("POST", "/", &headers, body.to_string()).await;
    assert_eq!(
        (refused.status, &refused.body["error"]["code"]),
        (401, &json!(-32000))
    );
    stage.stop().await;
}

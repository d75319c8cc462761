//! Extended cards are for callers that show one of the schemes that cards name.

use agenthub_a2a::v1::{
    AgentCard, GetExtendedAgentCardRequest, a2a_service_client::A2aServiceClient,
};
use agenthub_proto::tls::ClientTls;
use serde_json::{Value, json};
use tonic::{Code, Request};

use super::{CARDS, Scene, authorization, channel, https};

const CALL: &str = r#"{"jsonrpc": "2.0", "id": 1, "method": "GetExtendedAgentCard", "params": {"tenant": "agent_echo"}}"#;

/// The description in the answer of each binding, or how it is refused: JSON-RPC, HTTP+JSON, gRPC.
async fn ask(scene: &Scene, tls: &ClientTls, token: Option<&str>) -> [Result<String, String>; 3] {
    let headers = format!(
        "A2A-Version: 1.0\r\nContent-Type: application/json\r\n{}",
        authorization(token)
    );
    let described = |card: &Value| card["description"].as_str().unwrap_or_default().to_owned();
    let over_http = async |method: &str, path: &str, body: &str| {
        let at = (method, path);
        let answer = https(&scene.http, tls, at, &headers, body).await;
        match answer.status {
            200 => Ok(answer.json()),
            401 if answer
                .head
                .to_lowercase()
                .contains("www-authenticate: bearer") =>
            {
                Err("401".to_owned())
            }
            other => Err(format!("{other}: {answer:?}")),
        }
    };
    let json_rpc = over_http("POST", "/agents/agent_echo", CALL).await;
    let json_rpc = json_rpc.map(|answer| described(&answer["result"]));
    let rest = over_http("GET", "/agents/agent_echo/extendedAgentCard", "").await;
    let rest = rest.map(|card| described(&card));
    let channel = channel(&scene.url(), tls.clone()).await;
    let mut request = Request::new(GetExtendedAgentCardRequest {
        tenant: "agent_echo".to_owned(),
    });
    let metadata = request.metadata_mut();
    metadata.insert("a2a-version", "1.0".parse().expect("text"));
    if let Some(token) = token {
        let header = format!("Bearer {token}").parse().expect("text");
        metadata.insert("authorization", header);
    }
    let mut client = A2aServiceClient::new(channel);
    let grpc = match client.get_extended_agent_card(request).await {
        Ok(card) => Ok::<AgentCard, _>(card.into_inner()),
        Err(status) if status.code() == Code::Unauthenticated => Err("401".to_owned()),
        Err(status) => Err(status.to_string()),
    };
    [json_rpc, rest, grpc.map(|card| card.description)]
}

/// Issue 25: A2A cards name the security schemes, the extended card needs one of them. spec: A2A 1.0.1 §3.1.11, §4.5, §13.3
#[tokio::test(flavor = "multi_thread")]
async fn an_extended_card_needs_one_of_the_schemes_that_the_card_names() {
    let scene = Scene::start().await;
    let (token, _) = scene.issue("alice", "user");
    let jwt = scene.jwt();
    let (nobody, writer) = (scene.nobody(), scene.writer());
    let refused = || [(); 3].map(|()| Err("401".to_owned()));
    let given = || [(); 3].map(|()| Ok("More of it".to_owned()));
    assert_eq!(ask(&scene, &nobody, None).await, refused());
    assert_eq!(ask(&scene, &nobody, Some("ah_wrong")).await, refused());
    // Where there are identities, the token of cards is none.
    assert_eq!(ask(&scene, &nobody, Some(CARDS)).await, refused());
    assert_eq!(ask(&scene, &nobody, Some(&token)).await, given());
    assert_eq!(ask(&scene, &nobody, Some(&jwt)).await, given());
    assert_eq!(ask(&scene, &writer, None).await, given());
    // Who shows a token is meant by it, whatever the certificate.
    assert_eq!(ask(&scene, &writer, Some("ah_wrong")).await, refused());

    let at = ("GET", "/agents/agent_echo/.well-known/agent-card.json");
    let headers = authorization(Some(&token));
    let card = https(&scene.http, &nobody, at, &headers, "").await;
    let card = card.json();
    assert_eq!(card["capabilities"]["extendedAgentCard"], true, "{card}");
    let schemes = card["securitySchemes"].as_object().expect("schemes");
    let mut names: Vec<_> = schemes.keys().map(String::as_str).collect();
    names.sort_unstable();
    assert_eq!(names, ["bearer", "mtls", "oidc-corp"]);
    let discovery = &schemes["oidc-corp"]["openIdConnectSecurityScheme"]["openIdConnectUrl"];
    let issuer = scene.issuer.issuer().trim_end_matches('/');
    let document = format!("{issuer}/.well-known/openid-configuration");
    assert_eq!(*discovery, json!(document));
    let requirements = card["securityRequirements"].as_array().expect("a list");
    assert_eq!(requirements.len(), 3, "one of them is enough: {card}");
}

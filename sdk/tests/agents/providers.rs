//! Agents on the models of one provider.

use agenthub_sdk::{
    Agent, Card, Error, bedrock_agent, model::providers::ProviderAgent, openai_agent,
};

fn card() -> Card {
    Card::new("a", "An agent of a test")
}

fn refused(agent: Result<Agent, Error>) -> String {
    match agent {
        Err(Error::Invalid(why)) => why,
        other => panic!("{other:?}"),
    }
}

/// spec: AGT-11.1, AGT-11.2
#[test]
fn a_worker_needs_tools() {
    let bedrock = refused(bedrock_agent(ProviderAgent::worker(card(), "m")));
    let openai = refused(openai_agent(ProviderAgent::worker(card(), "m")));
    for why in [bedrock, openai] {
        assert!(why.contains("the worker a has no tools"), "{why}");
    }
}

#[cfg(not(feature = "genai"))]
#[test]
fn without_model_providers_it_is_said_so() {
    let options = ProviderAgent::supervisor(card(), "gpt-5");
    let why = refused(openai_agent(options));
    assert!(
        why.contains("openai/gpt-5") && why.contains("`genai`"),
        "{why}"
    );
}

#[cfg(feature = "genai")]
mod with_providers {
    use axum::{
        Json, Router,
        extract::State,
        http::{HeaderMap, StatusCode, Uri, header},
        response::IntoResponse,
        routing::post,
    };
    use serde_json::{Value, json};
    use tokio::sync::mpsc;

    use agenthub_sdk::{
        AgentType,
        model::ToolLoopSettings,
        model::{
            Secret,
            providers::{Bedrock, OpenAi},
        },
        runs::tool_loop::Limits,
    };

    use super::*;
    use crate::{
        harness::{ask, hub, soon, sum, url, user},
        team::shouter,
    };

    fn bedrock() -> Bedrock {
        Bedrock {
            region: Some("eu-central-1".into()),
            api_key: Some(Secret::new("k")),
            endpoint: Some("http://127.0.0.1:9".into()),
            timeout: None,
        }
    }

    fn openai(base_url: String) -> OpenAi {
        OpenAi {
            api_key: Some(Secret::new("k")),
            base_url: Some(base_url),
            timeout: None,
        }
    }

    fn config() -> ToolLoopSettings {
        ToolLoopSettings {
            instructions: "Be short.".into(),
            limits: Limits {
                turns: 3,
                ..Limits::default()
            },
            temperature: Some(0.5),
            max_output_tokens: Some(99),
            ..ToolLoopSettings::default()
        }
    }

    /// spec: AGT-6.1, AGT-6.2, AGT-6.5, AGT-10.1, AGT-10.2, AGT-10.3, AGT-10.4, AGT-10.5, AGT-12.1, AGT-12.2
    #[test]
    fn both_types_of_agent_are_made_by_the_same_call() {
        for agent_type in [AgentType::Worker, AgentType::Supervisor] {
            let tools = match agent_type {
                AgentType::Worker => vec![sum()],
                AgentType::Supervisor => Vec::new(),
            };
            let made: Result<Agent, Error> = bedrock_agent(ProviderAgent {
                agent_type,
                tools: tools.clone(),
                provider: bedrock(),
                config: config(),
                ..ProviderAgent::worker(card(), "amazon.nova-pro-v1:0")
            });
            assert_eq!(made.expect("it is made").agent_type(), agent_type);
            let made: Result<Agent, Error> = openai_agent(ProviderAgent {
                agent_type,
                tools,
                provider: openai("http://127.0.0.1:9/v1".into()),
                config: config(),
                ..ProviderAgent::worker(card(), "gpt-5")
            });
            assert_eq!(made.expect("it is made").agent_type(), agent_type);
        }
    }

    /// A server that speaks OpenAI's protocol: it calls the first tool with a request, and then tells what it gave.
    async fn provider() -> (String, mpsc::Receiver<Value>) {
        let (told, tells) = mpsc::channel(8);
        let app = Router::new()
            .route("/v1/chat/completions", post(complete))
            .with_state(told);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
            .await
            .expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        // It ends with the runtime of its test.
        tokio::spawn(async move { axum::serve(listener, app).await });
        (format!("http://{address}/v1"), tells)
    }

    async fn complete(
        State(told): State<mpsc::Sender<Value>>,
        Json(request): Json<Value>,
    ) -> impl IntoResponse {
        let messages = request["messages"].as_array().cloned().unwrap_or_default();
        let result = messages.iter().find(|m| m["role"] == "tool");
        let delta = match result {
            Some(result) => json!({"content": format!("It gave {}", result["content"])}),
            None => {
                let name = request["tools"][0]["function"]["name"].clone();
                let arguments = "{\"request\": \"hi\"}";
                json!({"tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": {"name": name, "arguments": arguments}}]})
            }
        };
        let reason = if result.is_some() {
            "stop"
        } else {
            "tool_calls"
        };
        told.send(request).await.expect("the test reads");
        let chunk = |delta: Value, reason: Value| {
            let choice = json!({"index": 0, "delta": delta, "finish_reason": reason});
            format!(
                "data: {}\n\n",
                json!({"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]})
            )
        };
        let body = [
            chunk(delta, Value::Null),
            chunk(json!({}), json!(reason)),
            "data: [DONE]\n\n".into(),
        ];
        ([(header::CONTENT_TYPE, "text/event-stream")], body.concat())
    }

    /// spec: AGT-6.4, AGT-12.3, AGT-13.3, AGT-13.4, AGT-13.5, AGT-14.1, AGT-14.2, AGT-14.3, AGT-14.4, AGT-14.5
    #[tokio::test]
    async fn a_supervisor_on_a_provider_asks_the_agents_of_the_hub() {
        let hub = hub().await;
        let _shouter = shouter(&hub, "shouter").await;
        let (base_url, mut tells) = provider().await;
        let options = ProviderAgent {
            provider: openai(base_url),
            config: config(),
            ..ProviderAgent::supervisor(card(), "gpt-4o-mini")
        };
        let agent = openai_agent(options).expect("it is made");
        let _lead = agent.start(url(&hub)).await.expect("it starts");
        let watched = ask(&user(&hub).await, "a", "greet").await;
        assert!(watched.outcome.text.contains("HI"), "{:?}", watched.outcome);
        assert_eq!(
            watched.lines(),
            [
                "Invoking tool: agent_shouter",
                "Tool agent_shouter completed successfully"
            ]
        );
        let asked = soon(tells.recv()).await.expect("it was asked");
        assert_eq!(asked["temperature"], 0.5);
        assert_eq!(asked["model"], "gpt-4o-mini");
        let most = asked
            .get("max_completion_tokens")
            .or(asked.get("max_tokens"));
        assert_eq!(most, Some(&json!(99)), "{asked}");
        let said = asked["messages"].to_string();
        assert!(
            said.contains("Be short.") && said.contains("greet"),
            "{said}"
        );
    }

    /// What a provider was asked: the path, the key and the body.
    type Asked = (String, String, Value);

    /// A provider that writes down what it is asked, and refuses it.
    async fn refusing() -> (String, mpsc::Receiver<Asked>) {
        let (told, tells) = mpsc::channel(8);
        let app = Router::new().fallback(
            async move |uri: Uri, headers: HeaderMap, Json(body): Json<Value>| {
                let key = headers.get(header::AUTHORIZATION);
                let key = key.and_then(|key| key.to_str().ok()).unwrap_or_default();
                let asked = (uri.path().to_owned(), key.to_owned(), body);
                told.send(asked).await.expect("the test reads");
                (StatusCode::BAD_REQUEST, "no")
            },
        );
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
            .await
            .expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        // It ends with the runtime of its test.
        tokio::spawn(async move { axum::serve(listener, app).await });
        (format!("http://{address}"), tells)
    }

    /// spec: AGT-13.1, AGT-13.2, AGT-13.5
    #[tokio::test]
    async fn what_bedrock_is_configured_with_arrives_there() {
        for agent_type in [AgentType::Worker, AgentType::Supervisor] {
            let hub = hub().await;
            let (endpoint, mut tells) = refusing().await;
            let made = bedrock_agent(ProviderAgent {
                agent_type,
                tools: vec![sum()],
                provider: Bedrock {
                    endpoint: Some(endpoint),
                    ..bedrock()
                },
                config: config(),
                ..ProviderAgent::worker(card(), "amazon.nova-pro-v1:0")
            });
            let _agent = made
                .expect("it is made")
                .start(url(&hub))
                .await
                .expect("it starts");
            let watched = ask(&user(&hub).await, "a", "add 1 and 2").await;
            assert!(!watched.outcome.is_completed(), "{:?}", watched.outcome);
            let (path, key, body) = soon(tells.recv()).await.expect("it was asked");
            assert!(path.contains("/model/amazon.nova-pro-v1"), "{path}");
            assert_eq!(key, "Bearer k");
            assert_eq!(
                body["inferenceConfig"],
                json!({"maxTokens": 99, "temperature": 0.5})
            );
            let told = body["system"][0]["text"].as_str().unwrap_or_default();
            assert!(told.starts_with("Be short."), "{told}");
            let tools = &body["toolConfig"]["tools"];
            assert_eq!(tools[0]["toolSpec"]["name"], "sum", "{body}");
        }
    }
}

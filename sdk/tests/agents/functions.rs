//! Tools made of functions by `#[tool]`.

// Conditions that always or never hold stand for those of a feature.
#![allow(clippy::non_minimal_cfg)]

use agenthub_sdk::{Agent, Card, Failure, ToolContext, tool};
use serde_json::json;

use crate::harness::{ask, calls, hub, results, says, script, url, user};

/// Tells the weather of a city.
///
/// Knows the next three days.
#[tool]
async fn weather(
    /// The city, in English.
    city: String,
    /// Days from today; today if not given.
    #[schemars(range(max = 3))]
    days: Option<u32>,
    #[serde(default)] mut units: Vec<String>,
) -> Result<String, Failure> {
    if city.is_empty() {
        return Err(Failure::failed("a city has a name"));
    }
    units.push("°C".to_owned());
    Ok(format!("{city}, {}: 12 {}", days.unwrap_or(0), units[0]))
}

/// Says who asks.
#[tool]
fn whoami(call: ToolContext) -> String {
    format!("{} in {}", call.requester(), call.context_id().is_empty())
}

/// There where the feature is.
#[tool]
#[cfg(any())]
fn absent(city: NoSuchType) -> NoSuchType {
    city
}

/// Is there in two ways, of which the compiler takes one.
#[tool]
#[cfg(all())]
fn absent(
    call: ToolContext,
    /// The city.
    #[cfg(all())]
    mut city: String,
    /// Its country.
    #[cfg(any())]
    country: NoSuchType,
) -> String {
    #[cfg(any())]
    city.push_str(country);
    city.push_str(call.requester());
    city
}

#[tokio::test]
async fn what_the_compiler_leaves_out_is_neither_in_the_schema_nor_in_the_call() {
    let tool = absent();
    let properties = tool.schema()["properties"].as_object().expect("some");
    assert_eq!(properties.keys().collect::<Vec<_>>(), ["city"]);
    let hub = hub().await;
    let model = script([
        calls([("absent", json!({"city": "Bern for "}))]),
        says("done"),
    ]);
    let agent = Agent::worker(Card::new("a", "")).model(model.clone());
    let _agent = agent.tool(tool).start(url(&hub)).await.expect("it starts");
    ask(&user(&hub).await, "a", "go").await;
    assert_eq!(results(&model.requests()[1])[0], "Bern for user");
}

#[test]
fn the_schema_is_that_of_the_arguments() {
    let tool = weather();
    assert_eq!(tool.name(), "weather");
    assert_eq!(
        tool.description(),
        "Tells the weather of a city.\n\nKnows the next three days."
    );
    let schema = tool.schema();
    assert_eq!(schema["title"], "weather");
    assert_eq!(schema["required"], json!(["city"]));
    let city = json!({"type": "string", "description": "The city, in English."});
    assert_eq!(schema["properties"]["city"], city);
    assert_eq!(schema["properties"]["days"]["maximum"], 3);
    assert_eq!(whoami().schema().get("required"), None);
}

#[tokio::test]
async fn a_function_is_called_with_what_the_model_wrote() {
    let hub = hub().await;
    let model = script([
        calls([
            (
                "weather",
                json!({"city": "Bern", "days": 2, "units": ["K"]}),
            ),
            ("weather", json!({"city": "Bern"})),
            ("weather", json!({"city": ""})),
            ("weather", json!({"days": 9})),
            ("whoami", json!({})),
        ]),
        says("done"),
    ]);
    let agent = Agent::worker(Card::new("forecaster", "Knows the weather"))
        .model(model.clone())
        .tools([weather(), whoami()]);
    let _agent = agent.start(url(&hub)).await.expect("it starts");
    ask(&user(&hub).await, "forecaster", "How is it in Bern?").await;
    let told = results(&model.requests()[1]);
    assert_eq!(told[0], "Bern, 2: 12 K");
    assert_eq!(told[1], "Bern, 0: 12 °C");
    assert_eq!(told[2], json!({"error": "a city has a name"}));
    let refused = told[3]["error"].as_str().unwrap_or_default();
    assert!(
        refused.contains("\"city\" is a required property") && refused.contains("at \"/days\""),
        "{refused}"
    );
    assert_eq!(told[4], "user in false");
}

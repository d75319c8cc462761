//! The attribute macro of `agenthub-sdk`, which re-exports it.

mod expand;
mod signature;

use proc_macro::TokenStream;

/// Makes a `Tool` of a function: the function's name is the tool's, its doc comment tells a model when to
/// call it, and its arguments become the input schema, their doc comments the descriptions of the properties.
///
/// ```
/// use agenthub_sdk::{prelude::*, tool};
///
/// /// Tells the weather of a city.
/// #[tool]
/// async fn weather(
///     /// The city, in English.
///     city: String,
///     /// Days from today; today if not given.
///     days: Option<u32>,
/// ) -> Result<String, Failure> {
///     match days.unwrap_or(0) {
///         0 => Ok(format!("It rains in {city}.")),
///         _ => Err(Failure::failed("only today's weather is known")),
///     }
/// }
///
/// let tool = weather();
/// assert_eq!(tool.name(), "weather");
/// assert_eq!(tool.description(), "Tells the weather of a city.");
/// let schema = tool.schema();
/// assert_eq!(schema["properties"]["city"]["description"], "The city, in English.");
/// assert_eq!(schema["required"], serde_json::json!(["city"]));
/// ```
///
/// `weather()` then gives the tool, to pass to `AgentBuilder::tool`. The function may be `async` or not, and returns what a tool may
/// return: a text, data, nothing, or a `Result` of one of these with `Failure`. A first argument of type `ToolContext` gets the context of
/// the call and is no part of the schema:
///
/// ```
/// # use agenthub_sdk::{ToolContext, tool};
/// /// Books a table.
/// #[tool]
/// async fn book(call: ToolContext, seats: u8) -> String {
///     format!("{seats} seats are booked, once, as {}", call.idempotency_key())
/// }
/// # assert_eq!(book().schema()["required"], serde_json::json!(["seats"]));
/// ```
///
/// Every other argument is owned, and its type implements `Deserialize` and `JsonSchema`; an `Option` may be left out by the model.
/// Attributes of `serde` and `schemars` on an argument hold for its property, such as `#[serde(default)]` or
/// `#[schemars(range(min = 1))]`.
///
/// Without a doc comment, a model could not know when to call it:
///
/// ```compile_fail
/// # use agenthub_sdk::tool;
/// #[tool]
/// async fn weather(city: String) -> String {
///     city
/// }
/// ```
#[proc_macro_attribute]
pub fn tool(attribute: TokenStream, function: TokenStream) -> TokenStream {
    expand::tool(attribute.into(), function.into())
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

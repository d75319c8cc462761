//! An acceptance criterion, as a payload has it.

use serde_json::{Map, Value, json};

use super::{forms, test::Test};
use crate::text::folded::{Folded, excerpt};

/// An acceptance criterion.
#[derive(Clone, Debug)]
pub(in crate::qa) struct Criterion {
    pub(in crate::qa) id: Option<String>,
    /// The criterion, word for word.
    pub(in crate::qa) text: String,
    /// The check that decides it, where its text says something else.
    pub(super) by: Option<String>,
    /// Test by which code decides it; else why it cannot, if there is more to say than that it is only words.
    pub(super) test: Result<Vec<Test>, Option<String>>,
}

impl Criterion {
    /// The criterion that a payload has; `None` where there is none to be seen.
    ///
    /// # Errors
    ///
    /// The reason why it is none, as the rest of a sentence that begins with its place.
    pub(in crate::qa) fn read(value: &Value) -> Result<Option<Self>, String> {
        let fields = match value {
            Value::Null => return Ok(None),
            Value::String(text) => return Ok(Self::of_words(text)),
            Value::Object(fields) => fields,
            _ => return Err(" is neither a text nor an object".to_owned()),
        };
        takes("", fields, &["id", "text", "check"])?;
        let text = fields.get("text").and_then(Value::as_str).map(str::trim);
        let text = text.filter(|text| !text.is_empty());
        let check = fields.get("check").filter(|check| !check.is_null());
        if let Some(Value::Object(check)) = check {
            takes(".check", check, &["kind", "value"])?;
            let value = check.get("value").and_then(Value::as_str);
            if value.is_some_and(|value| Folded::new(value).as_str().is_empty()) {
                return Err(".check.value has nothing that can be seen".to_owned());
            }
        }
        let (text, test) = match (text, check) {
            (None, None) => return Err(" has neither a `text` nor a `check`".to_owned()),
            (Some(text), None) => return Ok(Self::of_words(text).map(|c| c.called(fields))),
            (None, Some(check)) => (named(check), Test::read(check)),
            (Some(text), Some(check)) => {
                let test = Test::read(check).and_then(|test| agreeing(text, check, test));
                (text.to_owned(), test)
            }
        };
        let by = check.map(named);
        let by = by.filter(|by| *by != text && forms::read(&text).is_none());
        let test = test.map(|test| vec![test]).map_err(Some);
        let criterion = Self {
            id: None,
            text,
            by,
            test,
        };
        Ok(Some(criterion.called(fields)))
    }

    fn of_words(text: &str) -> Option<Self> {
        let text = text.trim().to_owned();
        let test = forms::read(&text).ok_or(None);
        (!text.is_empty()).then_some(Self {
            id: None,
            text,
            by: None,
            test,
        })
    }

    fn called(self, fields: &Map<String, Value>) -> Self {
        let id = fields.get("id").and_then(Value::as_str);
        let id = id.filter(|id| !id.is_empty()).map(str::to_owned);
        Self { id, ..self }
    }
}

/// A check in words: `check contains "seed"`.
fn named(check: &Value) -> String {
    let kind = check["kind"].as_str().unwrap_or_default();
    format!("check {kind} {}", check["value"])
}

/// # Errors
///
/// A field that nobody reads.
fn takes(at: &str, fields: &Map<String, Value>, known: &[&str]) -> Result<(), String> {
    let mut fields = fields.keys();
    let Some(unknown) = fields.find(|field| !known.contains(&field.as_str())) else {
        return Ok(());
    };
    let known: Vec<String> = known.iter().map(|field| format!("`{field}`")).collect();
    let unknown = excerpt(unknown);
    Err(format!(
        "{at} has no field `{unknown}`; it takes {}",
        known.join(", ")
    ))
}

/// A check, unless its text has a form and says something else.
///
/// # Errors
///
/// The text and the check say different things.
fn agreeing(text: &str, check: &Value, test: Test) -> Result<Test, String> {
    match forms::read(text) {
        Some(said) if format!("{said:?}") != format!("{:?}", [&test]) => Err(format!(
            "the text and the check contradict each other ({} and {}): make them say the same, or leave the check out",
            json!(excerpt(text)),
            excerpt(&check.to_string())
        )),
        _ => Ok(test),
    }
}

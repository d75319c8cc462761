//! The shape of an acceptance criterion: a text, or `{ id?, text?, check? }` with a text or a check.

use serde_json::{Map, Value};

use super::Fault;

/// # Errors
///
/// The fault of the criterion at this place.
pub(super) fn check(at: &str, criterion: &Value) -> Result<(), Fault> {
    let fields = match criterion {
        Value::String(words) if words.trim().is_empty() => return Err(Fault::new(at, "is empty")),
        Value::String(_) => return Ok(()),
        Value::Object(fields) => fields,
        _ => return Err(Fault::new(at, "is neither a text nor an object")),
    };
    let known = ["id", "text", "check"];
    takes(
        at,
        "a criterion",
        fields,
        &known,
        "`id`, `text` and `check`",
    )?;
    let given = |field: &str| fields.get(field).filter(|value| !value.is_null());
    for field in ["id", "text"] {
        let text = given(field).map(|value| value.as_str().unwrap_or_default());
        if text.is_some_and(|text| text.trim().is_empty()) {
            return Err(Fault::new(format!("{at}.{field}"), "is empty or no text"));
        }
    }
    match (given("text"), given("check")) {
        (None, None) => Err(Fault::new(at, "has neither a `text` nor a `check`")),
        (_, None) => Ok(()),
        (_, Some(check)) => {
            let at = format!("{at}.check");
            let wrong = || Fault::new(&at, "takes an object with `kind` and `value`");
            let fields = check.as_object().ok_or_else(wrong)?;
            takes(
                &at,
                "a check",
                fields,
                &["kind", "value"],
                "`kind` and `value`",
            )?;
            let kind = fields.get("kind").and_then(Value::as_str);
            kind.map(drop).ok_or_else(wrong)
        }
    }
}

/// # Errors
///
/// The first field that nobody reads.
fn takes(
    at: &str,
    what: &str,
    fields: &Map<String, Value>,
    known: &[&str],
    told: &str,
) -> Result<(), Fault> {
    let mut fields = fields.keys();
    match fields.find(|field| !known.contains(&field.as_str())) {
        None => Ok(()),
        Some(unknown) => Err(Fault::new(
            format!("{at}.{unknown}"),
            format!("is no field of {what}; it takes {told}"),
        )),
    }
}

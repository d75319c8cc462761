//! Values that people write into a box: words, or JSON, with its faults in words and their place.

mod faults;

use std::hash::{DefaultHasher, Hash, Hasher};

use agenthub_proto::{json, wkt};
use serde_json::{Map, Value};

use self::faults::faults;

/// The most rows of a box that is filled in already.
const MAX_ROWS: usize = 12;

/// The most bytes of a value that is put into a box.
const MAX_GIVEN: usize = 64 << 10;

/// A value as a box has it: words as they are, and other values as JSON. Empty for none, and for one that is too large.
pub(crate) fn given(value: Option<&wkt::Value>) -> String {
    let given = match value.map(json::from_value) {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(words)) => words,
        Some(value) => serde_json::to_string_pretty(&value).unwrap_or_default(),
    };
    match given.len() > MAX_GIVEN {
        true => String::new(),
        false => given,
    }
}

/// Digest of what a box has, which is the same however a browser sends its line breaks.
pub(crate) fn digest(given: &str) -> String {
    let mut hasher = DefaultHasher::new();
    given.trim().replace("\r\n", "\n").hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

/// The rows of a box with this in it.
pub(crate) fn rows(given: &str) -> usize {
    given.lines().count().clamp(3, MAX_ROWS)
}

/// The value of a box that takes both: JSON if it begins as an object or a list does, otherwise words. `None` of an empty one.
///
/// # Errors
///
/// The fault of the JSON and its place.
pub(crate) fn words_or_json(given: &str) -> Result<Option<Value>, String> {
    let words = given.trim();
    match words.chars().next() {
        None => Ok(None),
        Some('{' | '[') => parsed(given).map(Some),
        Some(_) => Ok(Some(words.into())),
    }
}

/// The object of a box. `None` of an empty one.
///
/// # Errors
///
/// The fault of the JSON and its place, or that it is another value.
pub(crate) fn object(given: &str) -> Result<Option<Map<String, Value>>, String> {
    if given.trim().is_empty() {
        return Ok(None);
    }
    let wanted = || "Names with values are wanted here, as JSON: {\"name\": \"value\"}.".to_owned();
    match words_or_json(given)? {
        Some(Value::Object(object)) => Ok(Some(object)),
        _ => Err(wanted()),
    }
}

/// JSON as somebody wrote it.
///
/// # Errors
///
/// All of its faults with their places.
pub(crate) fn parsed(given: &str) -> Result<Value, String> {
    serde_json::from_str(given).map_err(|error| {
        let place = |line, column| format!("in line {line} at character {column}");
        let found = faults(given).into_iter();
        let told =
            found.map(|fault| format!("{}, {}", fault.what, place(fault.line, fault.column)));
        let told: Vec<String> = told.collect();
        match told.is_empty() {
            false => format!("This is no JSON: {}.", told.join("; ")),
            // What the library alone takes for a fault.
            true => {
                let fault = error.to_string();
                let fault = fault.split(" at line ").next().unwrap_or(&fault);
                format!(
                    "This is no JSON: {fault}, {}.",
                    place(error.line(), error.column())
                )
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn words_are_words_and_json_is_json() {
        let read = |given: &str| words_or_json(given).expect("it can be read");
        assert_eq!(read("  \n"), None);
        assert_eq!(read(" two words "), Some(json!("two words")));
        assert_eq!(read("12 May"), Some(json!("12 May")));
        assert_eq!(read("{\"a\": [1]}"), Some(json!({"a": [1]})));
        assert_eq!(object(""), Ok(None));
        let fault = object("[1]").expect_err("no object");
        assert!(fault.contains("Names with values"), "{fault}");
    }

    /// Issue 26: whoever fills in a form learns of all that is wrong with it at once.
    #[test]
    fn all_faults_of_json_have_their_places() {
        let fault = words_or_json("\n{\"a\" 1,\n \"b\": two}").expect_err("two faults");
        assert_eq!(
            fault,
            "This is no JSON: expected `:`, in line 2 at character 6; `two` is no value: texts stand in double quotation marks, in line 3 at character 7."
        );
    }

    #[test]
    fn a_fault_of_json_has_its_place() {
        let fault = words_or_json("{\"a\": 1,\n \"b\" 2}").expect_err("a colon is missing");
        assert_eq!(
            fault,
            "This is no JSON: expected `:`, in line 2 at character 6."
        );
    }
}

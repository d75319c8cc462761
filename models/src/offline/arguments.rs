//! Arguments for a tool, made of words by its schema.

use std::collections::VecDeque;

use agenthub_runs::schema;
use serde_json::{Map, Number, Value, json};

use super::{
    stated,
    words::{mention, numbers},
};

/// Properties that want the words themselves, the likeliest first.
const FOR_WORDS: [&str; 6] = ["text", "input", "query", "message", "request", "task"];

/// Properties that take a sentence; others want a part of it, such as a name.
const FOR_SENTENCES: [&str; 4] = ["input", "message", "request", "task"];

/// Properties that may want a sentence, where nothing is told of their source.
const LENIENT: [&str; 2] = ["text", "query"];

/// Objects inside objects that are filled at most, and references that are followed at most.
const MAX_DEPTH: usize = 8;

/// Arguments that match `schema` as well as `words` allow, and the properties whose values are a guess.
///
/// Values that the words state go first: in a JSON object, as `name=value`, in quotation marks. One string gets the words, numbers in the words become numbers in their order, and of an enumeration the value that is
/// mentioned is taken. What is not required and not mentioned is left out; what is required and not mentioned is the schema's
/// default, or empty.
pub(super) fn arguments(schema: &Value, words: &str) -> (Value, Vec<String>) {
    let mut filler = Filler {
        root: schema,
        words,
        numbers: free_numbers(words),
        stated: stated::object(words).unwrap_or_default(),
        quoted: stated::quotations(words).into(),
        guessed: Vec::new(),
    };
    let empty = Map::new();
    let filled = match schema.is_object() {
        true => filler.value("", schema, Need::Required { words: true }, 0),
        false => Some(filler.object(&empty, 0)),
    };
    (filled.unwrap_or_else(|| json!({})), filler.guessed)
}

/// The numbers that are no part of a value that stands behind `name=`.
fn free_numbers(words: &str) -> Vec<(usize, Number)> {
    let is_free = |(at, _): &(usize, Number)| {
        let before = words[..*at].rsplit(char::is_whitespace).next();
        before.is_none_or(|before| !before.contains('='))
    };
    numbers(words).into_iter().filter(is_free).collect()
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Need {
    Optional,
    /// Needs something; where `words`, the words themselves.
    Required {
        words: bool,
    },
}

struct Filler<'a> {
    root: &'a Value,
    words: &'a str,
    /// Numbers that no property has taken yet.
    numbers: Vec<(usize, Number)>,
    /// The JSON object in the words.
    stated: Map<String, Value>,
    /// The quotations that no property has taken yet.
    quoted: VecDeque<&'a str>,
    /// The properties whose values are a guess.
    guessed: Vec<String>,
}

impl<'a> Filler<'a> {
    fn value(&mut self, name: &str, schema: &'a Value, need: Need, depth: usize) -> Option<Value> {
        let schema = self.resolve(schema);
        if let Some(value) = self.stated(name, schema) {
            return Some(value);
        }
        let required = need != Need::Optional;
        let fallback = || schema.get("default").cloned().filter(|_| required);
        if let Some(constant) = schema.get("const") {
            return required.then(|| constant.clone());
        }
        if let Some(values) = schema.get("enum").and_then(Value::as_array) {
            return self.named(values).or_else(fallback).or_else(|| {
                let first = values.first().filter(|_| required)?;
                self.guessed.push(name.to_owned());
                Some(first.clone())
            });
        }
        match kind(schema) {
            "object" => {
                let map = schema.as_object()?;
                let wanted = depth < MAX_DEPTH && (required || self.speaks_of(map, depth));
                wanted.then(|| self.object(map, depth + 1))
            }
            "array" => {
                let list = self.array(schema, need, depth);
                (!list.is_empty())
                    .then(|| Value::Array(list))
                    .or_else(fallback)
                    .or_else(|| required.then(|| json!([])))
            }
            "number" | "integer" => self
                .number(name, schema)
                .map(Value::Number)
                .or_else(fallback)
                .or_else(|| required.then(|| self.invent(name, schema))),
            "boolean" => {
                let said = self.affirms(name).map(Value::Bool);
                said.or_else(fallback)
                    .or_else(|| required.then(|| self.invent(name, schema)))
            }
            "null" => required.then_some(Value::Null),
            _ if FOR_SENTENCES.contains(&name) && required => Some(self.text(schema).into()),
            _ if need == (Need::Required { words: true }) => {
                let quoted = self.quoted.pop_front().map(Value::from);
                quoted.or_else(|| Some(self.guess(name, schema)))
            }
            _ if required => {
                let quoted = |filler: &mut Self| filler.quoted.pop_front().map(Value::from);
                let said = self.after(name).map(Value::from);
                said.or_else(|| quoted(self))
                    .or_else(fallback)
                    .or_else(|| Some(self.guess(name, schema)))
            }
            _ => None,
        }
    }

    /// The value that the words state of a property: in their JSON object, or as `name=value`.
    fn stated(&mut self, name: &str, schema: &Value) -> Option<Value> {
        let is_name = |key: &&String| key.eq_ignore_ascii_case(name);
        let key = self.stated.keys().find(is_name).cloned();
        let value = match key.and_then(|key| self.stated.remove(&key)) {
            Some(value) => value,
            None => {
                let text = stated::assigned(self.words, name)?;
                self.quoted.retain(|quoted| *quoted != text);
                match kind(schema) {
                    "string" => text.into(),
                    _ => serde_json::from_str(text).ok()?,
                }
            }
        };
        let fits = match kind(schema) {
            "string" => value.is_string(),
            "number" => value.is_number(),
            "integer" => value.is_i64() || value.is_u64(),
            "boolean" => value.is_boolean(),
            "array" => value.is_array(),
            "object" => value.is_object(),
            _ => true,
        };
        let values = schema.get("enum").and_then(Value::as_array);
        if !fits || values.is_some_and(|values| !values.contains(&value)) {
            return None;
        }
        if let Value::Number(number) = &value
            && let Some(at) = self.numbers.iter().position(|(_, known)| known == number)
        {
            self.numbers.remove(at);
        }
        Some(value)
    }

    /// A value that nobody named: the smallest.
    fn invent(&mut self, name: &str, schema: &Value) -> Value {
        self.guessed.push(name.to_owned());
        match (kind(schema), schema.get("minimum")) {
            ("boolean", _) => json!(false),
            (_, Some(least)) => least.clone(),
            _ => json!(0),
        }
    }

    /// The whole sentence, for want of anything better.
    fn guess(&mut self, name: &str, schema: &Value) -> Value {
        // One word is what is meant.
        if !LENIENT.contains(&name) && self.words.trim().contains(char::is_whitespace) {
            self.guessed.push(name.to_owned());
        }
        self.text(schema).into()
    }

    fn object(&mut self, schema: &'a Map<String, Value>, depth: usize) -> Value {
        let empty = Map::new();
        let properties = schema.get("properties").and_then(Value::as_object);
        let Some(properties) = properties.filter(|properties| !properties.is_empty()) else {
            let closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
            return match (closed, self.stated.is_empty()) {
                (true, _) => Value::Object(empty),
                (false, true) => json!({ "text": self.words }),
                (false, false) => Value::Object(std::mem::take(&mut self.stated)),
            };
        };
        let required = |name: &str| {
            let names = schema.get("required").and_then(Value::as_array);
            names.is_some_and(|names| names.iter().any(|one| one == name))
        };
        let for_words = self.for_words(properties, &required);
        let mut order: Vec<(&'a String, &'a Value)> = properties.iter().collect();
        // What is required takes its numbers first.
        order.sort_by_key(|(name, _)| !required(name));
        let mut filled = Map::new();
        for (name, schema) in order {
            let words = for_words == Some(name.as_str());
            let need = match required(name) || words {
                true => Need::Required { words },
                false => Need::Optional,
            };
            if let Some(value) = self.value(name, schema, need, depth) {
                filled.insert(name.clone(), value);
            }
        }
        Value::Object(filled)
    }

    /// True if the words hold a number or a value for all that the object requires.
    fn speaks_of(&mut self, schema: &'a Map<String, Value>, depth: usize) -> bool {
        let properties = schema.get("properties").and_then(Value::as_object);
        let required = schema.get("required").and_then(Value::as_array);
        let (Some(properties), Some(required)) = (properties, required) else {
            return false;
        };
        let before = (
            self.numbers.clone(),
            self.stated.clone(),
            self.quoted.clone(),
        );
        let mut names = required.iter().filter_map(Value::as_str).peekable();
        let speaks = names.peek().is_some()
            && names.all(|name| {
                let schema = properties.get(name);
                schema
                    .and_then(|schema| self.value(name, schema, Need::Optional, depth + 1))
                    .is_some()
            });
        (self.numbers, self.stated, self.quoted) = before;
        speaks
    }

    /// The property that gets the words: a free string that is required or has a telling name, or else the first where
    /// nothing is required.
    fn for_words(
        &self,
        properties: &'a Map<String, Value>,
        required: &dyn Fn(&str) -> bool,
    ) -> Option<&'a str> {
        let rank = |name: &str| {
            let telling = FOR_WORDS.iter().position(|wanted| *wanted == name);
            telling.unwrap_or(FOR_WORDS.len())
        };
        let nothing_required = !properties.keys().any(|name| required(name));
        properties
            .iter()
            .filter(|(_, schema)| {
                let schema = self.resolve(schema);
                let fixed = ["enum", "const", "format"]
                    .iter()
                    .any(|key| schema.get(key).is_some());
                !fixed && kind(schema) == "string"
            })
            .map(|(name, schema)| (name.as_str(), self.resolve(schema).get("type").is_none()))
            .filter(|(name, _)| required(name) || rank(name) < FOR_WORDS.len() || nothing_required)
            .min_by_key(|(name, untyped)| (!required(name), *untyped, rank(name)))
            .map(|(name, _)| name)
    }

    fn array(&mut self, schema: &'a Value, need: Need, depth: usize) -> Vec<Value> {
        let Some(items) = schema.get("items").map(|items| self.resolve(items)) else {
            return match need {
                Need::Required { .. } => vec![self.words.into()],
                Need::Optional => Vec::new(),
            };
        };
        if let Some(values) = items.get("enum").and_then(Value::as_array) {
            let mentioned = |value: &&Value| value.as_str().and_then(|v| mention(self.words, v));
            let mut named: Vec<&Value> = values.iter().filter(|v| mentioned(v).is_some()).collect();
            named.sort_by_key(mentioned);
            return named.into_iter().cloned().collect();
        }
        if let "number" | "integer" = kind(items) {
            let all = std::iter::from_fn(|| self.number("", items));
            return all.map(Value::Number).collect();
        }
        match need {
            Need::Optional => Vec::new(),
            need => self.value("", items, need, depth + 1).into_iter().collect(),
        }
    }

    /// The value that the words mention first.
    fn named(&mut self, values: &[Value]) -> Option<Value> {
        let texts = values.iter().filter_map(Value::as_str);
        let first = texts
            .filter_map(|text| Some((mention(self.words, text)?, text)))
            // Of two at one place the longer one is meant.
            .min_by_key(|(at, text)| (*at, std::cmp::Reverse(text.len())));
        if let Some((_, text)) = first {
            return Some(text.into());
        }
        let at = self
            .numbers
            .iter()
            .position(|(_, number)| values.contains(&Value::Number(number.clone())))?;
        Some(Value::Number(self.numbers.remove(at).1))
    }

    /// The number after the property's name, else the first that is left.
    fn number(&mut self, name: &str, schema: &Value) -> Option<Number> {
        let bound = |key: &str| schema.get(key).and_then(Value::as_f64);
        let (least, most) = (bound("minimum"), bound("maximum"));
        let fits = |number: &Number| {
            let whole = number.is_i64() || number.is_u64();
            let value = number.as_f64().unwrap_or(f64::NAN);
            (whole || kind(schema) != "integer")
                && least.is_none_or(|least| value >= least)
                && most.is_none_or(|most| value <= most)
        };
        let after = self
            .after(name)
            .and_then(|word| word.parse::<Number>().ok());
        let is_after = |number: &Number| after.as_ref() == Some(number);
        let at = self
            .numbers
            .iter()
            .position(|(_, number)| is_after(number) && fits(number))
            .or_else(|| self.numbers.iter().position(|(_, number)| fits(number)))?;
        Some(self.numbers.remove(at).1)
    }

    /// Tells whether the words say that it is so, or that it is not so; `None` where they don't speak of it.
    fn affirms(&self, name: &str) -> Option<bool> {
        mention(self.words, name)?;
        let denied = ["no", "not", "without"]
            .iter()
            .any(|word| mention(self.words, &format!("{word} {name}")).is_some());
        Some(!denied)
    }

    /// The word after the property's name.
    fn after(&self, name: &str) -> Option<&'a str> {
        let clean = |word: &'a str| word.trim_matches(|c: char| !c.is_alphanumeric() && c != '-');
        let mut words = self
            .words
            .split(|c: char| c.is_whitespace() || matches!(c, ':' | '='));
        words.find(|word| !name.is_empty() && clean(word).eq_ignore_ascii_case(name))?;
        let fillers = ["", "is", "of", "to"];
        words.map(clean).find(|word| !fillers.contains(word))
    }

    fn text(&self, schema: &Value) -> String {
        let longest = schema.get("maxLength").and_then(Value::as_u64);
        let longest = longest.and_then(|longest| usize::try_from(longest).ok());
        self.words
            .chars()
            .take(longest.unwrap_or(usize::MAX))
            .collect()
    }

    /// The schema behind references, and of alternatives the first that is not null.
    fn resolve(&self, schema: &'a Value) -> &'a Value {
        let mut schema = schema;
        for _ in 0..MAX_DEPTH {
            let referred = schema.get("$ref").and_then(Value::as_str);
            let referred = referred.and_then(|to| schema::referred(self.root, to));
            let one = || {
                let lists = ["anyOf", "oneOf", "allOf"];
                let list = lists.iter().find_map(|key| schema.get(key)?.as_array())?;
                list.iter().find(|one| kind(one) != "null")
            };
            match referred.or_else(|| one().filter(|_| schema.get("properties").is_none())) {
                Some(next) => schema = next,
                None => break,
            }
        }
        schema
    }
}

/// The type that the schema names first, null apart, or the one that its keywords speak of.
fn kind(schema: &Value) -> &str {
    match schema.get("type") {
        Some(Value::String(kind)) => kind,
        Some(Value::Array(kinds)) => {
            let mut kinds = kinds.iter().filter_map(Value::as_str);
            kinds.find(|kind| *kind != "null").unwrap_or("null")
        }
        _ if schema.get("properties").is_some() => "object",
        _ if schema.get("items").is_some() => "array",
        _ => "string",
    }
}

#[cfg(test)]
#[path = "arguments_tests.rs"]
mod tests;

//! Input of a workflow that is an agent, in the words and the data of a request; and the parts of the request that it has no use for.

use agenthub_sdk::{
    Failure, Message,
    model::offline::stated_input,
    proto::a2a::{Part, part::Part as Content},
};
use serde_json::{Map, Value};

use crate::{input_fields::InputFields, model::Workflow};

/// The longest part of a request that is repeated, in characters.
const MAX_REPEATED: usize = 200;

/// Parts of a request.
#[derive(Debug, Default)]
pub(super) struct Asked {
    words: String,
    data: Vec<Value>,
    /// Names of files.
    files: Vec<String>,
}

impl Asked {
    pub(super) fn of(message: &Message) -> Self {
        let name = |part: &Part| match &part.part {
            Some(Content::File(file)) if file.name.is_empty() => Some("without a name".to_owned()),
            Some(Content::File(file)) => Some(file.name.clone()),
            _ => None,
        };
        Self {
            words: message.text().trim().to_owned(),
            data: message.data().collect(),
            files: message.content.iter().filter_map(name).collect(),
        }
    }
}

/// Input of a run.
#[derive(Debug, PartialEq)]
pub(super) struct Taken {
    pub(super) input: Map<String, Value>,
    /// Parts of the request that nobody is handed, one sentence each.
    pub(super) unread: Vec<String>,
}

/// The input in a request: its data; of words alone, what they state outright, or else the one text that the workflow takes. Data without any field of the
/// workflow beside words, as orchestrators send them for purposes of their own, are left unread.
///
/// # Errors
///
/// The data is no object.
pub(super) fn taken(workflow: &Workflow, asked: Asked) -> Result<Taken, Failure> {
    let Asked {
        mut words,
        data,
        files,
    } = asked;
    let fields = InputFields::of(workflow);
    let stated = |words: &str| stated_input(&workflow.name, words, &workflow.input);
    let mut data = data.into_iter();
    let mut input = Map::new();
    let mut unread = Vec::new();
    let takes = || format!("the workflow {}", fields.in_words());
    let left = |what: &str, repeated: &str| {
        let repeated = cut(repeated);
        format!("nobody was handed the {what} {repeated}: {}", takes())
    };
    match data.next() {
        Some(Value::Object(given)) => {
            if words.is_empty() || given.is_empty() || fields.knows_any(&given) {
                input = given;
            } else {
                unread.push(left("data", &Value::Object(given).to_string()));
            }
        }
        Some(other) if words.is_empty() => {
            let why = format!(
                "the input is to be a JSON object; this is {}",
                cut(&other.to_string())
            );
            return Err(Failure::rejected(why));
        }
        Some(other) => unread.push(left("data", &other.to_string())),
        None => {
            let stated = stated(&words).or_else(|| serde_json::from_str(&words).ok());
            if let Some(given) = stated {
                input = given;
                words.clear();
            }
        }
    }
    if let Some(field) = only_text(&workflow.input).filter(|field| !input.contains_key(field))
        && !words.is_empty()
    {
        let names_it = words.split_whitespace().next();
        if words != workflow.name && names_it == Some(&workflow.name) {
            let words = cut(&words);
            unread.push(format!("nobody read the words “{words}”: they are `{field}` as they are, the workflow's name included"));
        }
        input.insert(field, std::mem::take(&mut words).into());
    }
    // Who gives data often says the same in words; the workflow's name asks for no more than the workflow.
    let has = |(field, value): (&String, &Value)| input.get(field) == Some(value);
    let is_said = input.values().any(|value| value.as_str() == Some(&words))
        || stated(&words).is_some_and(|stated| stated.iter().all(has));
    let is_name = words.eq_ignore_ascii_case(&workflow.name);
    if !(words.is_empty() || is_said || is_name) {
        unread.push(left("words", &format!("“{words}”")));
    }
    unread.extend(data.map(|further| left("data", &further.to_string())));
    unread.extend(files.iter().map(|file| left("file", file)));
    Ok(Taken { input, unread })
}

/// The text, shortened to what is repeated of it.
pub(super) fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_REPEATED) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The field that words alone are put into: the only one that is required, or else the only one that there is, if it is a text.
fn only_text(schema: &Value) -> Option<String> {
    let properties = schema["properties"].as_object()?;
    let required = schema["required"].as_array().map_or(&[][..], Vec::as_slice);
    let mut keys = properties.keys();
    let field = match (required, keys.next(), keys.next()) {
        ([one], ..) => one.as_str()?,
        ([], Some(one), None) => one,
        _ => return None,
    };
    (properties.get(field)?["type"] == "string").then(|| field.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::loading::read;

    fn of(schema: &Value, words: &str, data: &[Value]) -> (Value, Vec<String>) {
        let steps = json!({ "a": { "agent": "x", "text": "y" } });
        let workflow = read(&json!({ "input": schema, "steps": steps }), None);
        let asked = Asked {
            words: words.to_owned(),
            data: data.to_vec(),
            files: Vec::new(),
        };
        let taken = taken(&workflow.expect("it is right"), asked).expect("an input");
        (taken.input.into(), taken.unread)
    }

    fn schema(required: &[&str], properties: Value) -> Value {
        json!({ "type": "object", "required": required, "properties": properties })
    }

    #[test]
    fn words_alone_are_the_one_text_that_a_workflow_takes() {
        let text = json!({ "type": "string" });
        let number = json!({ "type": "integer" });
        let topic = schema(&["topic"], json!({ "topic": text, "words": number }));
        let whole = |input: Value| (input, Vec::new());
        assert_eq!(of(&topic, "Cats", &[]), whole(json!({"topic": "Cats"})));
        let dogs = json!({"topic": "Dogs"});
        assert_eq!(of(&topic, &dogs.to_string(), &[]), whole(dogs));
        let only = schema(&[], json!({ "topic": text }));
        assert_eq!(of(&only, "Cats", &[]), whole(json!({"topic": "Cats"})));
        let beside = of(&topic, "Cats", &[json!({"words": 5})]);
        assert_eq!(beside, whole(json!({"topic": "Cats", "words": 5})));
        let said = of(&topic, "Ants", &[json!({"topic": "Ants"})]);
        assert_eq!(said, whole(json!({"topic": "Ants"})));
        let wrong = of(&topic, "", &[json!({"topik": "x"})]);
        assert_eq!(wrong, whole(json!({"topik": "x"})));
    }

    #[test]
    fn words_that_nobody_is_handed_are_named() {
        let text = json!({ "type": "string" });
        for none in [
            schema(&["a", "b"], json!({ "a": text, "b": text })),
            schema(&[], json!({ "a": text, "b": text })),
            schema(&["n"], json!({ "n": { "type": "integer" } })),
            json!({}),
        ] {
            let (input, unread) = of(&none, "do this in French", &[]);
            assert_eq!(input, json!({}), "{none}");
            let [named] = unread.as_slice() else {
                panic!("{none}: {unread:?}");
            };
            assert!(named.contains("the words “do this in French”"), "{named}");
            assert!(named.contains("the workflow takes"), "{named}");
        }
        let topic = schema(&["topic"], json!({ "topic": text }));
        assert_eq!(
            of(&json!({}), "workflow", &[]),
            (json!({}), Vec::new()),
            "its name"
        );
        let (_, unread) = of(&topic, "Cats in red", &[json!({"topic": "Ants"})]);
        assert!(unread[0].contains("“Cats in red”"), "{unread:?}");
    }

    #[test]
    fn words_that_state_an_input_outright_are_that_input() {
        let properties = json!({ "topic": { "type": "string" }, "n": { "type": "integer" } });
        let topic = schema(&["topic"], properties);
        let ants = (json!({"topic": "Ants"}), Vec::new());
        for words in [
            "workflow \"Ants\"",
            "\"Ants\"",
            "workflow topic=Ants",
            "topic=Ants",
            "workflow {\"topic\": \"Ants\"}",
        ] {
            assert_eq!(of(&topic, words, &[]), ants, "{words}");
            let said = of(&topic, words, &[json!({"topic": "Ants"})]);
            assert_eq!(said, ants, "the same as data: {words}");
        }
        let both = (json!({"topic": "Ants", "n": 3}), Vec::new());
        assert_eq!(of(&topic, "topic=Ants n=3", &[]), both);
        let (_, unread) = of(&topic, "topic=Bees", &[json!({"topic": "Ants"})]);
        assert!(unread[0].contains("“topic=Bees”"), "{unread:?}");
    }

    #[test]
    fn words_that_begin_with_the_workflows_name_are_a_text_with_that_name_in_it() {
        let topic = schema(&["topic"], json!({ "topic": { "type": "string" } }));
        let (input, unread) = of(&topic, "workflow of Ants", &[]);
        assert_eq!(input, json!({"topic": "workflow of Ants"}));
        assert!(unread[0].contains("“workflow of Ants”"), "{unread:?}");
    }

    #[test]
    fn data_that_nobody_is_handed_are_named() {
        let topic = schema(&["topic"], json!({ "topic": { "type": "string" } }));
        let further = [json!({"purpose": "x"}), json!(["y"])];
        let (input, unread) = of(&topic, "Cats", &further);
        assert_eq!(input, json!({"topic": "Cats"}));
        let [purpose, list] = unread.as_slice() else {
            panic!("{unread:?}");
        };
        assert!(
            purpose.contains("purpose") && list.contains("y"),
            "{unread:?}"
        );
        let (input, unread) = of(&topic, "Cats", &[json!(["x"])]);
        assert_eq!(input, json!({"topic": "Cats"}));
        assert_eq!(unread.len(), 1, "{unread:?}");
        let asked = Asked {
            data: vec![json!(["x"])],
            ..Asked::default()
        };
        let steps = json!({ "steps": { "a": { "agent": "x", "text": "y" } } });
        let workflow = read(&steps, None).expect("it is right");
        assert!(taken(&workflow, asked).is_err(), "a list alone is no input");
    }
}

//! Fields of a workflow's input: those that its schema names, and those that its file reads. Only the latter reach anybody.

use std::collections::BTreeSet;

use agenthub_documents::meant;
use serde_json::{Map, Value};

use crate::{
    expression::Expression,
    input::InputFault,
    model::{Call, Step, Work, Workflow},
    reference::Source,
    template::{Insert, Template},
};

/// The deepest place of a schema in which names of fields are looked for.
const MAX_DEPTH: usize = 16;

/// Keywords of JSON Schema that say what further fields are.
const OF_OTHERS: [&str; 4] = [
    "additionalProperties",
    "patternProperties",
    "propertyNames",
    "unevaluatedProperties",
];

/// Fields that an input may have.
#[derive(Debug, PartialEq)]
pub(crate) struct InputFields {
    /// Those that the schema names.
    named: BTreeSet<String>,
    /// Those that the file reads.
    read: BTreeSet<String>,
    /// True if the file reads the input as a whole.
    is_read_whole: bool,
    /// True if the schema says itself what other fields there may be.
    is_open: bool,
}

impl InputFields {
    pub(crate) fn of(workflow: &Workflow) -> Self {
        let mut fields = Self {
            named: BTreeSet::new(),
            read: BTreeSet::new(),
            is_read_whole: false,
            is_open: false,
        };
        fields.of_schema(&workflow.input, &workflow.input, 0);
        for step in workflow.graph.all() {
            let (templates, expressions) = read_by(step);
            templates
                .into_iter()
                .for_each(|one| fields.of_template(one));
            expressions
                .into_iter()
                .for_each(|one| fields.of_expression(one));
        }
        workflow
            .output
            .iter()
            .for_each(|output| fields.of_template(output));
        fields
    }

    /// True if one of these fields, or any field at all, is known.
    pub(crate) fn knows_any(&self, input: &Map<String, Value>) -> bool {
        self.takes_any() || input.keys().any(|field| self.knows(field))
    }

    /// The fields that the schema names and the file does not read.
    pub(crate) fn unread(&self) -> impl Iterator<Item = &str> {
        let unread = self.named.difference(&self.read).map(String::as_str);
        unread.filter(|_| !self.is_read_whole)
    }

    /// Says of the fields of an input that reach nobody, each in one line.
    pub(crate) fn given_in_vain(&self, input: &Map<String, Value>) -> Vec<String> {
        let is_vain = |name: &&String| !self.is_read_whole && !self.read.contains(*name);
        let vain = input.keys().filter(is_vain);
        vain.map(|name| format!("no step reads `{name}` of the input"))
            .collect()
    }

    fn knows(&self, field: &str) -> bool {
        self.named.contains(field) || self.read.contains(field)
    }

    fn takes_any(&self) -> bool {
        self.is_open || self.is_read_whole
    }

    /// The fields in words: "takes `a` and `b`".
    pub(crate) fn in_words(&self) -> String {
        let known = self.named.union(&self.read);
        let known: Vec<String> = known.map(|name| format!("`{name}`")).collect();
        match (known.is_empty(), self.takes_any()) {
            (true, false) => "takes no input".to_owned(),
            (true, true) => "takes a JSON object".to_owned(),
            (false, _) => format!("takes {} as data", known.join(", ")),
        }
    }

    /// The fields that are neither named nor read.
    pub(crate) fn faults(&self, input: &Map<String, Value>) -> Vec<InputFault> {
        let unknown = input.keys().filter(|name| !self.knows(name));
        let fault = |name: &String| {
            let why = "no step reads it, and the workflow's `input` has no such field";
            let known = self.named.union(&self.read).map(String::as_str);
            let help = match meant(name, known) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!("the workflow {}", self.in_words()),
            };
            InputFault {
                at: vec![name.clone()],
                why: format!("{why}; {help}"),
            }
        };
        match self.takes_any() {
            true => Vec::new(),
            false => unknown.map(fault).collect(),
        }
    }

    fn of_schema(&mut self, root: &Value, schema: &Value, depth: usize) {
        if depth > MAX_DEPTH {
            self.is_open = true;
            return;
        }
        // `additionalProperties: false` has its own faults.
        let says = |word: &str| schema.get(word).is_some_and(|said| *said != false);
        self.is_open |= OF_OTHERS.into_iter().any(says);
        let properties = schema["properties"].as_object();
        self.named
            .extend(properties.into_iter().flat_map(Map::keys).cloned());
        let required = schema["required"].as_array().into_iter().flatten();
        let required = required.filter_map(Value::as_str).map(str::to_owned);
        self.named.extend(required);
        let named = schema["$ref"].as_str();
        let named = named.and_then(|name| root.pointer(name.strip_prefix('#')?));
        let lists = ["allOf", "anyOf", "oneOf"].into_iter();
        let lists = lists.filter_map(|word| schema[word].as_array()).flatten();
        let ways = ["if", "then", "else"].into_iter();
        let ways = ways.filter_map(|word| schema.get(word));
        let dependent = schema["dependentSchemas"].as_object();
        let dependent = dependent.into_iter().flat_map(Map::values);
        for part in named.into_iter().chain(lists).chain(ways).chain(dependent) {
            self.of_schema(root, part, depth + 1);
        }
    }

    fn of_template(&mut self, template: &Template) {
        for (_, insert) in template.inserts() {
            match insert {
                Insert::Reference(reference) if reference.source == Source::Input => {
                    self.read(reference.path.first().map(String::as_str));
                }
                Insert::Reference(_) => {}
                Insert::Expression(expression) => self.of_expression(expression),
            }
        }
    }

    fn of_expression(&mut self, expression: &Expression) {
        for path in expression.paths() {
            let mut parts = path.split('.');
            if parts.next() == Some("workflow") {
                // `workflow` and `workflow.input` are read as a whole.
                let field = parts.nth(1);
                self.read(field);
            }
        }
    }

    fn read(&mut self, field: Option<&str>) {
        match field {
            Some(field) => _ = self.read.insert(field.to_owned()),
            None => self.is_read_whole = true,
        }
    }
}

/// All that a step reads.
fn read_by(step: &Step) -> (Vec<&Template>, Vec<&Expression>) {
    fn of_call(call: &Call) -> impl Iterator<Item = &Template> {
        call.text.iter().chain(&call.input)
    }
    let mut templates: Vec<&Template> = step.each.iter().map(|each| &each.items).collect();
    templates.extend(step.compensate.iter().flat_map(of_call));
    let mut expressions: Vec<&Expression> = step.when.iter().collect();
    match &step.work {
        Work::Call(call) => templates.extend(of_call(call)),
        Work::Event { matching, .. } => templates.push(matching),
        Work::Approve { text, input, .. } => templates.extend([text, input]),
        Work::Decide { condition, .. } => expressions.push(condition),
        Work::Wait(_) | Work::Join(_) | Work::Steps(_) => {}
    }
    (templates, expressions)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::loading::read;

    fn told(document: Value, input: Value) -> Vec<String> {
        let workflow = read(&document, None).expect("it is right");
        let input = input.as_object().cloned().unwrap_or_default();
        let faults = InputFields::of(&workflow).faults(&input);
        faults.iter().map(InputFault::to_string).collect()
    }

    #[test]
    fn a_field_that_neither_the_schema_names_nor_a_step_reads_is_told() {
        let steps = json!({
            "a": { "agent": "x", "text": "of ${workflow.input.topic}", "when": "workflow.input.formal" },
            "b": { "for_each": "${workflow.input.people}", "agent": "x", "input": { "n": "${workflow.input.n + 1}" } },
            "c": { "if": "workflow.input.deep.er == 1", "then": ["d"] },
            "d": { "approve": "of ${workflow.input.question}?" },
        });
        let document = json!({ "steps": steps, "output": "${workflow.input.last}" });
        let known = ["topic", "formal", "people", "n", "deep", "question", "last"];
        let input = known.map(|name| (name.to_owned(), json!(1)));
        let input: Map<String, Value> = input.into_iter().collect();
        assert_eq!(told(document.clone(), input.into()), [""; 0]);
        let wrong = told(document, json!({"fromal": true, "zebra": 1}));
        let [near, far] = wrong.as_slice() else {
            panic!("{wrong:?}");
        };
        assert!(near.starts_with("`fromal`: no step reads it"), "{near}");
        assert!(near.ends_with("did you mean `formal`?"), "{near}");
        assert!(far.contains("`zebra`") && far.contains("takes"), "{far}");
    }

    #[test]
    fn a_field_that_the_schema_names_and_no_step_reads_is_given_in_vain() {
        let document = |text: &str| {
            json!({
                "input": { "required": ["who"], "properties": { "who": {}, "formal": {} }, "additionalProperties": true },
                "steps": { "a": { "agent": "x", "text": text } },
            })
        };
        let told = |text: &str| {
            let workflow = read(&document(text), None).expect("it is right");
            let fields = InputFields::of(&workflow);
            let input = json!({"who": "Mia", "formal": true, "other": 1});
            let input = input.as_object().cloned().expect("an object");
            let unread: Vec<String> = fields.unread().map(str::to_owned).collect();
            (unread, fields.given_in_vain(&input))
        };
        let (unread, vain) = told("Hello ${workflow.input.who}");
        assert_eq!(unread, ["formal"]);
        let of = |name| format!("no step reads `{name}` of the input");
        assert_eq!(vain, ["formal", "other"].map(of));
        assert_eq!(told("Hello ${workflow.input}"), Default::default());
    }

    #[test]
    fn a_field_of_the_schema_is_known_wherever_it_stands_in_it() {
        let far = json!({ "properties": { "far": {} } });
        let schema = json!({ "required": ["who"], "allOf": [{ "$ref": "#/$defs/A" }], "anyOf": [{ "properties": { "one": {} } }], "$defs": { "A": far } });
        let document =
            json!({ "input": schema, "steps": { "a": { "agent": "x", "text": "words" } } });
        let known = json!({"who": 1, "far": 1, "one": 1});
        assert_eq!(told(document.clone(), known), [""; 0]);
        assert_eq!(told(document, json!({"other": 1})).len(), 1);
    }

    #[test]
    fn an_input_that_is_read_as_a_whole_may_have_any_field() {
        let of = |text: &str| json!({ "steps": { "a": { "agent": "x", "text": text } } });
        for text in [
            "${workflow.input}",
            "${workflow.input | items | length}",
            "${workflow.input[workflow.input.key]}",
        ] {
            assert_eq!(told(of(text), json!({"any": 1})), [""; 0], "{text}");
        }
        assert_eq!(told(of("words"), json!({"any": 1})).len(), 1);
        let mut open = of("words");
        open["input"] = json!({ "additionalProperties": true });
        assert_eq!(told(open, json!({"any": 1})), [""; 0]);
    }
}

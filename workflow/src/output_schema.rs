//! The JSON Schema of a workflow's output, as far as it follows from the file. What agents give is known when they are asked, so it is left open.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::{
    connecting::{Offers, own_output},
    file::OnFailure,
    model::{Join, Need, Step, Workflow},
    reference::{Field, Reference, Source},
    template::{Insert, Template},
};

/// The schema of the output, if that is a mapping. Each output of a run that completes fits it.
pub(crate) fn output_schema(workflow: &Workflow) -> Option<Value> {
    let outputs = Outputs::of(workflow);
    let fields: Vec<(&str, Shape)> = match &workflow.output {
        Some(Template::Object(fields)) => fields
            .iter()
            .map(|(key, field)| (&**key, outputs.shape(field)))
            .collect(),
        Some(_) => return None,
        None => workflow
            .graph
            .steps
            .iter()
            .map(|step| {
                let reference = Reference {
                    source: Source::Step(step.name.clone(), Field::Output),
                    path: Vec::new(),
                };
                (&*step.name, outputs.referred(&reference))
            })
            .collect(),
    };
    Some(object(fields))
}

/// Schema of a value, and whether there always is one.
struct Shape {
    schema: Value,
    is_certain: bool,
}

impl Shape {
    fn certain(schema: Value) -> Self {
        Self {
            schema,
            is_certain: true,
        }
    }
}

struct Outputs<'w> {
    input: &'w Value,
    /// The steps, and whether each completes in all runs that do.
    steps: BTreeMap<&'w str, (&'w Step, bool)>,
}

impl<'w> Outputs<'w> {
    fn of(workflow: &'w Workflow) -> Self {
        let mut steps: BTreeMap<&str, (&Step, bool)> = BTreeMap::new();
        // A step stands behind those that it needs.
        for step in &workflow.graph.steps {
            let is_needed_certain = |need: &Need| {
                let needed = steps.get(need.step.as_str());
                needed.is_some_and(|(_, is_certain)| *is_certain)
            };
            let has_enough = match step.join {
                Join::Merge => step.needs.is_empty() || step.needs.iter().any(is_needed_certain),
                Join::All => step.needs.iter().all(is_needed_certain),
                Join::AtLeast(_) => false,
            };
            let is_certain = step.when.is_none()
                && step.on_failure == OnFailure::Fail
                && !step.is_contained
                && step.needs.iter().all(|need| need.branch.is_none())
                && has_enough;
            steps.insert(&step.name, (step, is_certain));
        }
        Self {
            input: &workflow.input,
            steps,
        }
    }

    fn shape(&self, template: &Template) -> Shape {
        match template {
            Template::Plain(value) => Shape::certain(kind(value)),
            Template::Text(_) => Shape::certain(json!({ "type": "string" })),
            Template::List(_) => Shape::certain(json!({ "type": "array" })),
            Template::Object(fields) => {
                let fields = fields.iter();
                let shapes = fields.map(|(key, field)| (&**key, self.shape(field)));
                Shape::certain(object(shapes))
            }
            Template::Whole(Insert::Expression(_)) => Shape::certain(json!({})),
            Template::Whole(Insert::Reference(reference)) => self.referred(reference),
        }
    }

    fn referred(&self, reference: &Reference) -> Shape {
        let unknown = Shape {
            schema: json!({}),
            is_certain: false,
        };
        match &reference.source {
            // A path that leads nowhere fails the run, here and in outputs.
            Source::Input => Shape::certain(at(self.input, &reference.path)),
            Source::Step(_, Field::State) => Shape::certain(json!({ "type": "string" })),
            Source::Step(_, Field::Error) => Shape::certain(json!({ "type": ["string", "null"] })),
            Source::Step(step, Field::Output) => match self.steps.get(step.as_str()) {
                Some((step, is_certain)) => Shape {
                    schema: own_output(step, &Offers::default())
                        .map_or(json!({}), |schema| at(&schema, &reference.path)),
                    is_certain: *is_certain,
                },
                None => unknown,
            },
            Source::Loop | Source::Secret(_) => unknown,
        }
    }
}

/// The schema at a path of a schema. One that refers to others is left open, as they stand elsewhere.
fn at(schema: &Value, path: &[String]) -> Value {
    let properties = |schema: &Value, part: &String| schema["properties"].get(part).cloned();
    let found = path
        .iter()
        .try_fold(schema.clone(), |schema, part| properties(&schema, part));
    let found = found.filter(|schema| !schema.to_string().contains("\"$ref\""));
    found.unwrap_or(json!({}))
}

fn kind(value: &Value) -> Value {
    let name = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    json!({ "type": name })
}

fn object<'k>(fields: impl IntoIterator<Item = (&'k str, Shape)>) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for (key, Shape { schema, is_certain }) in fields {
        properties.insert(key.to_owned(), schema);
        required.extend(is_certain.then(|| Value::from(key)));
    }
    let mut schema = json!({ "type": "object", "properties": properties });
    if !required.is_empty() {
        schema["required"] = required.into();
    }
    schema
}

#[cfg(test)]
mod tests {
    use agenthub_documents::yaml;

    use super::*;
    use crate::{
        loading::read,
        strategy::tests::{begun, done},
    };

    fn of(text: &str) -> Option<Value> {
        let document = yaml::read::<Value>(text).expect("it is YAML");
        output_schema(&read(&document, None).expect("a workflow"))
    }

    #[test]
    fn a_mapping_says_what_the_file_says_of_its_fields() {
        let schema = of("
input:
  type: object
  required: [topic]
  properties: { topic: { type: string }, words: { type: integer, default: 3 } }
steps:
  draft: { agent: a, text: x }
  may: { approve: 'Good?', depends_on: [draft] }
  extra: { when: may.output.approved, agent: a, text: x, depends_on: [may] }
  after: { depends_on: [extra], agent: a, text: x }
  all: { for_each: [1, 2], agent: a, text: x }
output:
  topic: '${workflow.input.topic}'
  words: '${workflow.input.words}'
  text: 'About ${draft.output.text}'
  draft: '${draft.output}'
  by: '${may.output.by}'
  extra: '${extra.output}'
  after: '${after.output.text}'
  sent: '${all.output.total_count}'
  long: '${workflow.input.words > 5}'
  state: '${extra.state}'
  inner: { one: 1, list: [1] }
");
        assert_eq!(
            schema,
            Some(json!({
                "type": "object",
                "properties": {
                    "topic": { "type": "string" },
                    "words": { "type": "integer", "default": 3 },
                    "text": { "type": "string" },
                    "draft": {},
                    "by": { "type": "string" },
                    "extra": {},
                    "after": {},
                    "sent": { "type": "integer" },
                    "long": {},
                    "state": { "type": "string" },
                    "inner": {
                        "type": "object",
                        "properties": { "one": { "type": "number" }, "list": { "type": "array" } },
                        "required": ["one", "list"],
                    },
                },
                "required": ["topic", "words", "text", "draft", "by", "sent", "long", "state", "inner"],
            }))
        );
    }

    #[test]
    fn without_an_output_there_are_the_steps_and_of_what_is_no_mapping_nothing_is_said() {
        let steps = "steps: { a: { agent: a, text: x }, b: { when: '1 > 2', agent: a, text: x } }";
        let schema =
            json!({ "type": "object", "properties": { "a": {}, "b": {} }, "required": ["a"] });
        assert_eq!(of(steps), Some(schema));
        for output in ["${a.output}", "about ${a.output}", "x"] {
            assert_eq!(
                of(&format!("{steps}\noutput: '{output}'")),
                None,
                "{output}"
            );
        }
    }

    /// Consumers refuse an answer that does not fit.
    #[test]
    fn each_output_of_a_run_fits() {
        let text = "
input: { type: object, required: [n], properties: { n: { type: integer } } }
steps:
  a: { agent: a, text: x }
  no: { when: 'false', agent: a, text: x }
  behind: { depends_on: [no], agent: a, text: x }
  lost: { agent: b, text: x, on_failure: continue }
  slow: { wait: 1h }
  first: { depends_on: [a, slow], join: any, agent: a, text: x }
  which: { if: 'true', then: [yes], else: [other] }
  yes: { agent: a, text: x }
  other: { agent: a, text: x }
  all: { for_each: [1], agent: a, text: x }
output:
  a: '${a.output.n}'
  no: '${no.output}'
  behind: '${behind.output}'
  lost: '${lost.output}'
  slow: '${slow.output}'
  first: '${first.output}'
  which: '${which.output.decision}'
  yes: '${yes.output}'
  other: '${other.output}'
  all: '${all.output}'
  n: '${workflow.input.n}'
  error: '${lost.error}'
  mixed: 'x${no.output}'
";
        for text in [text, text.split("output:\n").next().expect("steps")] {
            let schema = of(text).expect("a mapping");
            let mut play = begun(text, json!({ "n": 1 }));
            let outcome = play.play(|step, _| match step {
                "lost" => crate::strategy::tests::failed("broken"),
                _ => done(json!({ "n": 1 })),
            });
            let agenthub_sdk::runs::RunOutcome::Completed { data, .. } = &outcome else {
                panic!("{outcome:?}");
            };
            let validator = jsonschema::validator_for(&schema).expect("a schema");
            let faults: Vec<String> = validator
                .iter_errors(&data["output"])
                .map(|e| e.to_string())
                .collect();
            assert!(faults.is_empty(), "{faults:?}: {data}");
        }
    }
}

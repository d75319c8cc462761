//! Reads a workflow: a file, or a document that somebody sends.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File as Opened,
    io::{self, Read},
    path::Path,
    sync::Arc,
};

use agenthub_documents::{
    Fault, explain, json,
    yaml::{self, Node},
};
use agenthub_sdk::runs::breakers::Breaker;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{
    building::{self, Form},
    file::{self, File},
    finding::{At, Finding, within},
    graph, input_schema, linear,
    model::{Graph, Workflow},
    template::template,
    uses,
};

/// The largest file, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// A file that was read.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// The document, as JSON.
    pub(crate) document: Value,
    pub(crate) text: Arc<str>,
    pub(crate) tree: Node,
    /// Faults of fields that are there twice, of which the last one counts.
    pub(crate) repeated: Vec<Fault>,
}

impl Source {
    /// The same, with the first of the fields that are there twice, and the paths of those.
    pub(crate) fn with_first(&self, path: &Path) -> (Self, Vec<At>) {
        let (mut tree, mut hidden) = (self.tree.clone(), Vec::new());
        keep_first(&mut tree, &At::new(), &mut hidden);
        let source = Self {
            document: value(&tree, path, &self.text, &mut Vec::new()),
            text: Arc::clone(&self.text),
            tree,
            repeated: Vec::new(),
        };
        (source, hidden)
    }
}

/// Removes fields that stand behind others of their name. `hidden` has the paths of those that stay in their place.
fn keep_first(node: &mut Node, at: &At, hidden: &mut Vec<At>) {
    match &mut node.value {
        yaml::Value::Map(entries) => {
            let mut names = BTreeSet::new();
            entries.retain(|(key, _)| {
                let is_first = names.insert(key.name.clone());
                if !is_first {
                    hidden.push(within(at, &key.name));
                }
                is_first
            });
            for (key, node) in entries {
                keep_first(node, &within(at, &key.name), hidden);
            }
        }
        yaml::Value::List(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                keep_first(item, &within(at, index), hidden);
            }
        }
        _ => {}
    }
}

/// Reads a file of YAML or JSON.
///
/// # Errors
///
/// It cannot be read, is larger than 1 MiB, is no UTF-8, or no YAML.
pub(crate) fn source(path: &Path) -> Result<Source, Vec<Fault>> {
    let fault = |message: String, help: &str| vec![Fault::error(path, message).helped(help)];
    let read = || {
        let mut bytes = Vec::new();
        let file = Opened::open(path)?;
        file.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
        io::Result::Ok(bytes)
    };
    let bytes = read().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => fault(
            "there is no such file".to_owned(),
            "look at the spelling, and at the folder that you are in",
        ),
        io::ErrorKind::IsADirectory => fault(
            "this is a folder".to_owned(),
            "name its files, such as `DIR/*.yaml`; `workflow serve` takes a folder",
        ),
        _ => fault(
            format!("the file cannot be read: {error}"),
            "look at its permissions",
        ),
    })?;
    if bytes.len() as u64 > MAX_BYTES {
        let message = format!("the file is larger than {MAX_BYTES} bytes");
        return Err(fault(message, "divide the workflow"));
    }
    let text = String::from_utf8(bytes)
        .map_err(|_| fault("the file is no UTF-8".to_owned(), "save it as UTF-8"))?;
    let text: Arc<str> = text.trim_start_matches('\u{feff}').into();
    parsed(path, text, "workflow file")
}

/// Reads a text of YAML, or of JSON alone where the path says so. `what` is the kind of document, such as `workflow file`.
///
/// # Errors
///
/// It is no YAML, or no JSON.
pub(crate) fn parsed(path: &Path, text: Arc<str>, what: &str) -> Result<Source, Vec<Fault>> {
    let is_json = path
        .extension()
        .is_some_and(|end| end.eq_ignore_ascii_case("json"));
    if let Some((place, message, help)) = json::fault(&text).filter(|_| is_json) {
        let fault = Fault::error(path, message).placed(place, &text);
        return Err(vec![fault.helped(help)]);
    }
    let tree = yaml::tree(&text).map_err(|unread| {
        let (place, message, help) = explain(&unread, &text, what);
        let line = text.lines().nth((place.line as usize).saturating_sub(1));
        let help = match line.is_some_and(|line| line.contains("{{")) {
            true => "a value is put in with `${…}`, not with `{{ … }}`".to_owned(),
            false => help,
        };
        vec![
            Fault::error(path, message)
                .placed(place, &text)
                .helped(help),
        ]
    })?;
    let mut repeated = Vec::new();
    let document = value(&tree, path, &text, &mut repeated);
    Ok(Source {
        document,
        text,
        tree,
        repeated,
    })
}

/// The value of a node. Fields that are there twice are faults.
fn value(node: &Node, path: &Path, text: &Arc<str>, faults: &mut Vec<Fault>) -> Value {
    match &node.value {
        yaml::Value::Null => Value::Null,
        yaml::Value::Bool(value) => Value::Bool(*value),
        yaml::Value::Number(number) => Value::Number(number.clone()),
        yaml::Value::Text(value) => Value::String(value.clone()),
        yaml::Value::List(items) => {
            let items = items.iter().map(|item| value(item, path, text, faults));
            Value::Array(items.collect())
        }
        yaml::Value::Map(entries) => {
            let mut fields = Map::new();
            for (key, node) in entries {
                let value = value(node, path, text, faults);
                if fields.insert(key.name.clone(), value).is_some() {
                    let first = entries.iter().find(|(first, _)| first.name == key.name);
                    let line = first.map_or(0, |(first, _)| first.place.line);
                    let message = format!("`{}` is there twice", key.name);
                    let help = format!("the first one is in line {line}; keep one of them");
                    faults.push(
                        Fault::error(path, message)
                            .placed(key.place, text)
                            .helped(help),
                    );
                }
            }
            Value::Object(fields)
        }
    }
}

/// Makes a workflow of a document that has the form of one. `name` is what it is called if the document does not say.
///
/// Beside it is all that is wrong with it; there is no workflow where it cannot be made out at all.
pub(crate) fn made(document: &Value, name: &str) -> (Option<Workflow>, Vec<Finding>) {
    let document = linear::with_decided(document);
    let file = match File::deserialize(&document) {
        Ok(file) => file,
        Err(error) => {
            let message = format!("this is no workflow: {error}");
            let help = "compare it with the schema of the format";
            return (None, vec![Finding::at(At::new(), message, help)]);
        }
    };
    let mut findings = Vec::new();
    let form = match file.start_step {
        Some(_) => Form::Linear,
        None => Form::Graph,
    };
    let at: At = vec!["steps".to_owned()];
    let steps = match (&file.start_step, form) {
        (Some(first), Form::Linear) => linear::steps(&file, first, &mut findings),
        _ => graph::steps(&file.steps, &at, &mut BTreeSet::new(), &mut findings),
    };
    if steps.is_empty() && findings.is_empty() {
        let help = "add `steps:` with a step below it";
        findings.push(Finding::at(at, "a workflow has no steps", help));
    }
    let input = input_schema::schema(file.input.as_ref(), &mut findings);
    let graph = uses::settled(steps, &mut findings);
    let output = output(&file, &graph, &mut findings);
    let workflow = Workflow {
        name: file.name.unwrap_or_else(|| name.to_owned()),
        version: file.version.unwrap_or_default(),
        description: file.description.unwrap_or_default(),
        input,
        timeout_ms: building::timeout(file.timeout.as_ref(), &At::new(), &mut findings),
        graph,
        output,
    };
    (Some(workflow), findings)
}

/// The breakers of a workflow that was read before.
pub(crate) fn breakers_of(document: &Value) -> BTreeMap<String, Breaker> {
    let written = BTreeMap::<String, file::Breaker>::deserialize(&document["breakers"]);
    let breakers = written
        .unwrap_or_default()
        .into_iter()
        .map(|(agent, breaker)| {
            let breaker = Breaker {
                failures: breaker.failures,
                pause_ms: breaker.pause.ms(),
            };
            (agent, breaker)
        });
    breakers.collect()
}

fn output(
    file: &File,
    graph: &Graph,
    findings: &mut Vec<Finding>,
) -> Option<crate::template::Template> {
    let output = file.output.as_ref()?;
    let output = template(output, &vec!["output".to_owned()], findings);
    uses::check_output(&output, graph, findings);
    Some(output)
}

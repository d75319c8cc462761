//! Input that a step hands to a tool: its own words, those of the user, and what the steps before have given.

use serde_json::{Map, Value};

use super::arguments::arguments;
use super::turn::Turn;
use super::words::{mention, subject};
use crate::ToolSpec;
use crate::relevance::stems;

/// Inputs that take what is to be done, in words.
const TASKS: [&str; 2] = ["task", "request"];
/// Inputs that take what it is about.
pub(super) const TOPICS: [&str; 6] = ["topic", "subject", "title", "theme", "query", "question"];
/// The most files that are read for one step.
const MAX_FILES: usize = 4;

/// Result of a tool in one of the steps before.
pub(super) struct Made<'a> {
    /// The name of the tool.
    pub(super) tool: &'a str,
    pub(super) arguments: &'a Value,
    /// The part of the step that was for it.
    pub(super) step: String,
    /// Number of its round of calls.
    pub(super) round: usize,
    pub(super) value: &'a Value,
    /// Its text; nothing where it failed.
    pub(super) text: Option<String>,
}

impl Made<'_> {
    /// The tool that gave it.
    pub(super) fn name(&self) -> &str {
        let agent = self.value.get("agent").and_then(Value::as_str);
        agent.unwrap_or_else(|| self.tool.strip_prefix("agent_").unwrap_or(self.tool))
    }
}

/// The arguments of each call that `step` makes of a tool. It is one call, but of a tool that takes one of several paths, those that fit
/// the words are all asked for.
pub(super) fn calls(tool: &ToolSpec, step: &str, turn: &Turn<'_>, made: &[Made<'_>]) -> Vec<Value> {
    let handing = Handing { step, turn, made };
    let said = format!("{}\n{step}", turn.words);
    let (mut filled, _) = arguments(&tool.parameters, &said);
    let properties = tool.parameters.get("properties").and_then(Value::as_object);
    let (Some(properties), Some(fields)) = (properties, filled.as_object_mut()) else {
        return vec![filled];
    };
    let required = tool.parameters.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|r| r.iter().any(|one| one == name));
    handing.fill(properties, &is_required, &said, fields);
    let paths = properties.iter().find_map(|(name, schema)| {
        let paths = paths(schema)?;
        is_required(name).then(|| (name, handing.fitting(&paths)))
    });
    match paths {
        None => vec![filled],
        Some((name, paths)) => {
            let with = |path: &str| {
                let mut filled = filled.clone();
                filled[name] = path.into();
                filled
            };
            paths.into_iter().map(with).collect()
        }
    }
}

struct Handing<'a> {
    step: &'a str,
    turn: &'a Turn<'a>,
    made: &'a [Made<'a>],
}

impl Handing<'_> {
    fn fill(
        &self,
        properties: &Map<String, Value>,
        is_required: &dyn Fn(&str) -> bool,
        said: &str,
        fields: &mut Map<String, Value>,
    ) {
        let mut handed_on = false;
        for (name, schema) in properties {
            let given = self.turn.input.and_then(|input| input.get(name));
            if let Some(given) = given.filter(|_| !TASKS.contains(&name.as_str())) {
                fields.insert(name.clone(), given.clone());
            } else if is_number(schema) && !is_required(name) {
                let unit = name.rsplit(['_', '-']).next().unwrap_or(name);
                if mention(said, unit).is_none() {
                    fields.remove(name);
                }
            } else if is_free(schema) && !TASKS.contains(&name.as_str()) {
                let is_topic = TOPICS.contains(&name.as_str());
                let earlier = || {
                    self.fits(name, schema)
                        .or(self.latest().filter(|_| is_required(name)))
                };
                let text = match is_topic {
                    true => Some(self.topic()),
                    false => earlier().and_then(|made| made.text.clone()),
                };
                handed_on |= text.is_some() && !is_topic;
                let own = || is_required(name).then(|| self.own_text());
                match text.or_else(own) {
                    Some(text) => fields.insert(name.clone(), text.into()),
                    None => fields.remove(name),
                };
            }
        }
        if let Some(task) = TASKS.iter().find(|name| properties.contains_key(**name)) {
            let mut text = match self.step {
                "" => self.turn.words.clone(),
                step => format!("{step}: {}", self.turn.words),
            };
            if let Some(latest) = self.latest().filter(|_| !handed_on) {
                let said = latest.text.as_deref().unwrap_or_default();
                text.push_str(&format!("\n\n{said}"));
            }
            fields.insert((*task).to_owned(), text.into());
        }
    }

    /// The last result that says something.
    fn latest(&self) -> Option<&Made<'_>> {
        self.made.iter().rev().find(|made| made.text.is_some())
    }

    /// The result whose agent, or else whose step, shares most words with an input's name and description; of equal ones the latest.
    fn fits(&self, name: &str, schema: &Value) -> Option<&Made<'_>> {
        let described = schema.get("description").and_then(Value::as_str);
        let wanted = stems(&format!("{name} {}", described.unwrap_or_default()));
        let score = |made: &Made<'_>| {
            let shared = |words: &str| stems(words).intersection(&wanted).count();
            4 * shared(made.name()) + shared(&made.step)
        };
        let all = self.made.iter().filter(|made| made.text.is_some());
        let scored = all.map(|made| (score(made), made));
        let best = scored
            .filter(|(score, _)| *score > 0)
            .max_by_key(|(score, made)| (*score, made.round));
        best.map(|(_, made)| made)
    }

    fn topic(&self) -> String {
        topic(self.turn)
    }

    /// The material that the user gave: what stands behind a colon that ends a word, else all the words. Times and addresses have others.
    fn own_text(&self) -> String {
        let words = &self.turn.words;
        let mut colons = words.match_indices(':').map(|(at, _)| &words[at + 1..]);
        let behind = colons.find(|rest| rest.starts_with(char::is_whitespace));
        let behind = behind.map(str::trim);
        behind
            .filter(|rest| !rest.is_empty())
            .unwrap_or(words)
            .to_owned()
    }

    /// Finds the paths that share most words with what is wanted, else the first.
    fn fitting<'p>(&self, paths: &[&'p str]) -> Vec<&'p str> {
        let wanted = stems(&format!("{} {}", self.topic(), self.turn.words));
        let score = |path: &str| stems(path).intersection(&wanted).count();
        let mut fitting: Vec<&str> = paths
            .iter()
            .copied()
            .filter(|path| score(path) > 0)
            .collect();
        fitting.sort_by_key(|path| std::cmp::Reverse(score(path)));
        if fitting.is_empty() {
            fitting.extend(paths);
        }
        fitting.truncate(MAX_FILES);
        fitting
    }
}

/// The subject of a request: the input that says so, else what its words say.
pub(super) fn topic(turn: &Turn<'_>) -> String {
    let given = TOPICS
        .iter()
        .find_map(|name| turn.input?.get(name)?.as_str());
    given.map_or_else(|| subject(&turn.words).to_owned(), str::to_owned)
}

fn is_number(schema: &Value) -> bool {
    matches!(schema["type"].as_str(), Some("number" | "integer"))
}

/// True if it takes any text.
fn is_free(schema: &Value) -> bool {
    let fixed = ["enum", "const", "format"];
    schema["type"] == "string" && fixed.iter().all(|key| schema.get(key).is_none())
}

/// The values of an enumeration that look like paths of files.
fn paths(schema: &Value) -> Option<Vec<&str>> {
    let values: Vec<&str> = schema
        .get("enum")?
        .as_array()?
        .iter()
        .filter_map(Value::as_str)
        .collect();
    let looks_like_one = |value: &&str| value.contains(['.', '/']);
    (!values.is_empty() && values.iter().all(looks_like_one)).then_some(values)
}

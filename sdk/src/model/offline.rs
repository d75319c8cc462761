//! A stand-in that needs no network, no key and no model.
//!
//! It understands the one convention that the orchestrator uses. A request for JSON named `decision` holds the agents that may
//! be chosen as the data `agents`, the user's words as the last user message with text, and after them, once delegated
//! tasks have ended, the data `results`. The decision delegates to the agent whose card shares most words with the request,
//! or to every agent that the request names; with results it tells them; without a match it says what it is and whom it can
//! reach. The same request gets the same answer.

use async_trait::async_trait;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{Completion, DeltaSink, Error, LanguageModel, Output, Part, Request, Role, stand_in};
use crate::relevance::{self, Card, Skill};

/// What an agent is asked for of which neither skills nor task types are known.
const ANY_TASK: &str = "task";

/// Agents that are told about at most.
const MAX_LISTED: usize = 20;

/// Answers by matching words.
#[derive(Debug, Clone, Copy, Default)]
pub struct Offline;

#[async_trait]
impl LanguageModel for Offline {
    fn name(&self) -> &str {
        "offline"
    }

    async fn complete(&self, request: Request, deltas: DeltaSink) -> Result<Completion, Error> {
        request.check()?;
        let text = answer(&request)?;
        stand_in::stream(&text, &deltas).await;
        let usage = Some(stand_in::usage(&request, &text));
        Ok(Completion {
            text,
            tool_calls: Vec::new(),
            usage,
        })
    }
}

fn answer(request: &Request) -> Result<String, Error> {
    let words = request.last_user_text().unwrap_or_default();
    match &request.output {
        Output::Text => Ok(format!(
            "I am an offline stand-in, not a language model. You said: {}",
            cut(&words)
        )),
        Output::Json { name, .. } if name == "decision" => Ok(decide(request, &words).to_string()),
        Output::Json { name, .. } => Err(Error::Refused(format!(
            "the offline stand-in only matches words and cannot make a {name}; {HOW_TO_CONFIGURE}"
        ))),
    }
}

const HOW_TO_CONFIGURE: &str = "to use a real model, set AGENTHUB_MODEL to provider/model, for example openai/gpt-5 with \
    OPENAI_API_KEY, vertex/gemini-2.5-flash with GCP_PROJECT, or ollama/llama3.2";

fn cut(words: &str) -> String {
    const KEPT: usize = 200;
    match words.char_indices().nth(KEPT) {
        Some((end, _)) => format!("{}…", &words[..end]),
        None => words.to_owned(),
    }
}

fn decide(request: &Request, words: &str) -> Value {
    let results = results(request);
    if !results.is_empty() {
        return respond(
            &results
                .iter()
                .map(Outcome::told)
                .collect::<Vec<_>>()
                .join("\n"),
        );
    }
    let agents: Vec<Agent> = request.data("agents").map(list).unwrap_or_default();
    let cards: Vec<Card<'_>> = agents.iter().map(Agent::card).collect();
    let chosen = choose(words, &cards);
    if !chosen.is_empty() {
        let chosen = chosen
            .into_iter()
            .map(|index| (&agents[index], &cards[index]));
        return delegate(words, chosen);
    }
    if asks_who_it_is(words) {
        return respond(&introduction(&agents));
    }
    respond(&format!(
        "I found no agent for that. {}",
        introduction(&agents)
    ))
}

/// The agents that the request names, else the one that it matches best.
fn choose(words: &str, cards: &[Card<'_>]) -> Vec<usize> {
    let named = relevance::named(words, cards);
    if !named.is_empty() {
        return named;
    }
    if asks_who_it_is(words) {
        return Vec::new();
    }
    let best = relevance::rank(words, cards).into_iter().next();
    best.filter(|&(_, score)| score >= relevance::LIKELY)
        .map(|(index, _)| index)
        .into_iter()
        .collect()
}

fn delegate<'a>(words: &str, chosen: impl Iterator<Item = (&'a Agent, &'a Card<'a>)>) -> Value {
    let task = |(index, (agent, card)): (usize, (&Agent, &Card<'_>))| {
        let skill = relevance::best_skill(words, card).map(|index| card.skills[index].id);
        let topic = || agent.task_types.first().map(String::as_str);
        json!({
            "type": "task.request",
            "taskType": skill.or_else(topic).unwrap_or(ANY_TASK),
            "targetAgent": card.id,
            "payload": { "text": words },
            "correlationId": (index + 1).to_string(),
        })
    };
    json!({ "actions": chosen.enumerate().map(task).collect::<Vec<Value>>() })
}

fn respond(text: &str) -> Value {
    json!({ "actions": [{ "type": "chat.response", "text": text }] })
}

/// Whether the words ask for the one who answers, and for nothing else.
fn asks_who_it_is(words: &str) -> bool {
    const GREETINGS: [&str; 12] = [
        "hello",
        "hi",
        "hey",
        "good",
        "morning",
        "afternoon",
        "evening",
        "day",
        "there",
        "cortex",
        "help",
        "you",
    ];
    const QUESTIONS: [&str; 9] = [
        "who are you",
        "what are you",
        "what can you do",
        "what can i do",
        "what can i ask",
        "how can you help",
        "which agents",
        "what agents",
        "list agents",
    ];
    let words: Vec<String> = words
        .split(|c: char| !c.is_alphanumeric())
        .filter(|w| !w.is_empty())
        .map(str::to_lowercase)
        .collect();
    let plain = words.join(" ");
    let greets = !words.is_empty() && words.iter().all(|word| GREETINGS.contains(&word.as_str()));
    greets
        || QUESTIONS
            .iter()
            .any(|question| format!("{plain} ").starts_with(&format!("{question} ")))
}

fn introduction(agents: &[Agent]) -> String {
    let mut text = String::from(
        "I am an offline stand-in, not a language model: I match the words of a request with what agents say of themselves.",
    );
    if agents.is_empty() {
        text.push_str(" No agent is here at the moment.");
    } else {
        text.push_str(" I can reach:");
        for agent in agents.iter().take(MAX_LISTED) {
            text.push_str(&format!("\n- {}", agent.told()));
        }
        if agents.len() > MAX_LISTED {
            text.push_str(&format!("\n- and {} more", agents.len() - MAX_LISTED));
        }
    }
    let mut how = HOW_TO_CONFIGURE.to_owned();
    how.replace_range(..1, "T");
    format!("{text}\n{how}.")
}

/// The results that stand after the user's words.
fn results(request: &Request) -> Vec<Outcome> {
    let said = |message: &super::Message| message.role == Role::User && message.text().is_some();
    let start = request.messages.iter().rposition(said).unwrap_or(0);
    let parts = request.messages[start..]
        .iter()
        .enumerate()
        .flat_map(|(offset, message)| {
            let skip = if offset == 0 {
                message
                    .parts
                    .iter()
                    .rposition(is_text)
                    .map_or(0, |at| at + 1)
            } else {
                0
            };
            &message.parts[skip..]
        });
    parts
        .filter_map(|part| match part {
            Part::Data { label, value } if label == "results" => Some(list(value)),
            _ => None,
        })
        .flatten()
        .collect()
}

fn is_text(part: &Part) -> bool {
    matches!(part, Part::Text(_))
}

/// The elements of a JSON array that can be read.
fn list<T: DeserializeOwned>(value: &Value) -> Vec<T> {
    value
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|element| T::deserialize(element).ok())
        .collect()
}

#[derive(Debug, Deserialize)]
struct Agent {
    id: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    skills: Vec<AgentSkill>,
    /// What it registered for, where that is known.
    #[serde(default)]
    task_types: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct AgentSkill {
    id: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    tags: Vec<String>,
    #[serde(default)]
    examples: Vec<String>,
}

impl Agent {
    fn card(&self) -> Card<'_> {
        let skills = self.skills.iter().map(|skill| Skill {
            id: &skill.id,
            name: &skill.name,
            description: &skill.description,
            tags: skill.tags.iter().map(String::as_str).collect(),
            examples: skill.examples.iter().map(String::as_str).collect(),
        });
        Card {
            id: &self.id,
            name: &self.name,
            description: &self.description,
            skills: skills.collect(),
        }
    }

    fn told(&self) -> String {
        let what = [&self.description, &self.name]
            .into_iter()
            .find(|text| !text.is_empty());
        let what = what.map(|text| format!(": {text}")).unwrap_or_default();
        let example = self.skills.iter().flat_map(|skill| &skill.examples).next();
        let example = example
            .map(|example| format!(" (try \"{example}\")"))
            .unwrap_or_default();
        format!("{}{what}{example}", self.id)
    }
}

#[derive(Debug, Deserialize)]
struct Outcome {
    agent: String,
    #[serde(default)]
    state: String,
    #[serde(default)]
    text: Option<String>,
    /// Why it was not done, as a sentence that names the agent.
    #[serde(default)]
    error: Option<String>,
}

impl Outcome {
    fn told(&self) -> String {
        let agent = &self.agent;
        let text = self.text.as_deref().filter(|text| !text.is_empty());
        let error = self.error.as_deref().filter(|error| !error.is_empty());
        // It names the agent already.
        if let Some(error) = error {
            return error.to_owned();
        }
        let verb = match self.state.as_str() {
            "completed" => {
                return match text {
                    Some(text) => format!("{agent} says: {text}"),
                    None => format!("{agent} has done it and says nothing."),
                };
            }
            "rejected" => "does not take this task",
            "cancelled" => "was stopped before it was done",
            "timed-out" => "did not answer in time",
            "input-required" => "asks back",
            "away" => "went away before it was done",
            "lost" => "was asked, but the task was lost",
            _ => "could not do it",
        };
        match text {
            Some(text) => format!("{agent} {verb}: {text}"),
            None => format!("{agent} {verb}."),
        }
    }
}

#[cfg(test)]
#[path = "offline_tests.rs"]
mod tests;

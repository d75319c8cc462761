//! Decisions: which agents a request is delegated to, and what is said of their results.

use agenthub_runs::Shortfall;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::addressed::{nobody_called, unknown, unknown_part};
use super::agents_here::Agent;
use super::attached::Attached;
use super::handed::{ANY_TASK, Handed, advice, handed_outright, text};
use super::outright::behind_name;
use super::sums;
use super::told::is_cut_text;
use super::words::{FORBIDDING, asks_who_it_is, forbids, may_forbid};
use super::{MAX_LISTED, how_to_configure};
use crate::relevance::{self, Card};
use crate::{PromptMessage, PromptPart, PromptRole, Request, Undone};

/// The decision as JSON: what to delegate, or what to say. And how much of the request it leaves undone, beside what the
/// results of agents lack.
pub(super) fn decide(request: &Request, words: &str) -> (Value, Option<Undone>) {
    let results = results(request);
    let agents: Vec<Agent> = request.data("agents").map(list).unwrap_or_default();
    let cards: Vec<Card<'_>> = agents.iter().map(Agent::card).collect();
    let away = request.data("named").map(|named| list(&named["away"]));
    let away: Vec<String> = away.unwrap_or_default();
    let elsewhere = away
        .iter()
        .chain(results.iter().map(|result| &result.agent));
    let elsewhere = elsewhere.map(|id| Card {
        id,
        ..Card::default()
    });
    let known: Vec<Card<'_>> = cards.iter().cloned().chain(elsewhere).collect();
    let outright = handed_outright(request, words, &agents, &cards);
    let unknown = match outright {
        // What it quotes addresses nobody.
        Some(_) => Vec::new(),
        None => unknown(words, &known),
    };
    if !results.is_empty() {
        let told = results.iter().map(Outcome::told);
        let is_unchecked = unknown.is_empty() && !is_stated(&results, outright.as_ref());
        let advice = is_unchecked.then(|| advice(request, words, &agents, &cards));
        let open = open(request, advice);
        let left_out: Vec<String> = unknown_part(&unknown).into_iter().chain(open).collect();
        let is_in_part = !left_out.is_empty() || results.iter().any(Outcome::is_cut);
        let undone = is_in_part.then_some(Undone::Part);
        let mut told = told.collect::<Vec<String>>().join("\n");
        // An agent that was handed the same words may have said the same.
        for line in left_out.iter().flat_map(|left_out| left_out.lines()) {
            if !told.contains(line) {
                told.push_str(&format!("\n{line}"));
            }
        }
        return (respond(&told), undone);
    }
    if let Some(handed) = outright {
        return (json!({ "actions": [handed.task("1")] }), None);
    }
    let is_named = || !relevance::named(words, &cards).is_empty();
    if !away.is_empty() && !is_named() {
        let are = if away.len() == 1 { "is" } else { "are" };
        let (names, it) = (
            away.join(" and "),
            if away.len() == 1 { "it" } else { "they" },
        );
        return undone(format!(
            "{names} {are} away at the moment, so I have asked nobody. Ask again when {it} {} back, or leave the name out and I look for somebody else.",
            if away.len() == 1 { "is" } else { "are" }
        ));
    }
    if !unknown.is_empty() && !is_named() {
        return undone(format!(
            "{}, so I have asked nobody. {}",
            nobody_called(&unknown),
            introduction(&agents)
        ));
    }
    let is_named_so = |card: &Card<'_>, word: &str| {
        let skills = card.skills.iter().map(|skill| skill.id);
        let mut names = skills.chain([card.id, card.name]);
        names.any(|name| {
            name.to_lowercase()
                .split(['_', '-', '.', ' '])
                .any(|part| part == word)
        })
    };
    let is_known = |word: &str| cards.iter().any(|card| is_named_so(card, word));
    if may_forbid(words) || forbids(words, is_known) {
        return undone(format!("{FORBIDDING} {}", introduction(&agents)));
    }
    let chosen = choose(words, &cards);
    if !chosen.is_empty() {
        let chosen = chosen
            .into_iter()
            .map(|index| (&agents[index], &cards[index]));
        let is_left_out = !(away.is_empty() && unknown.is_empty());
        let undone = is_left_out.then_some(Undone::Part);
        return (
            delegate(words, Attached::of(request).handed, chosen, &away),
            undone,
        );
    }
    let own = || asks_who_it_is(words).then(|| (introduction(&agents), None));
    if let Some((answer, undone)) = sums::answer(words).or_else(own) {
        return match Attached::of(request).handed_to_nobody() {
            Some(left_out) => (
                respond(&format!("{answer}\n{left_out}")),
                undone.max(Some(Undone::Part)),
            ),
            None => (respond(&answer), undone),
        };
    }
    undone(format!(
        "I found no agent for that. {}",
        introduction(&agents)
    ))
}

/// True if the results hold nothing but that of the task that was stated outright, or nothing that was done.
fn is_stated(results: &[Outcome], outright: Option<&Handed<'_>>) -> bool {
    let is_any_completed = results.iter().any(|result| result.state == "completed");
    match results {
        [one] => !is_any_completed || outright.is_some_and(|handed| handed.agent == one.agent),
        _ => !is_any_completed,
    }
}

/// The sentences on what of the request nobody looked at: that on its words, if they are unchecked, and on the data that came with them.
fn open(request: &Request, of_words: Option<String>) -> Option<String> {
    let attached = Attached::of(request);
    let of_data = [
        attached.handed_on(),
        attached.left_out(),
        attached.files_handed_on(),
    ];
    let open = of_words.into_iter().chain(of_data.into_iter().flatten());
    let open: Vec<String> = open.collect();
    (!open.is_empty()).then(|| open.join("\n"))
}

/// Answer where nothing is done, with the reason.
fn undone(text: String) -> (Value, Option<Undone>) {
    (respond(&text), Some(Undone::All))
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

/// Asks those who are chosen, and says who was named as well and is away.
fn delegate<'a>(
    words: &str,
    attached: Option<&Map<String, Value>>,
    chosen: impl Iterator<Item = (&'a Agent, &'a Card<'a>)>,
    away: &[String],
) -> Value {
    let chosen: Vec<(&Agent, &Card<'_>)> = chosen.collect();
    // What is for several stays whole, as each may need to know for whom which part is.
    let meant_for = |card: &Card<'_>| match chosen.len() {
        1 => behind_name(words, card),
        _ => None,
    };
    let task = |(index, (agent, card)): (usize, (&Agent, &Card<'_>))| {
        let skill = relevance::best_skill(words, card).map(|index| card.skills[index].id);
        let topic = || agent.task_types.first().map(String::as_str);
        let meant = meant_for(card);
        let handed = Handed {
            agent: card.id,
            task_type: skill.or_else(topic).unwrap_or(ANY_TASK),
            words: meant,
            payload: attached
                .cloned()
                .unwrap_or_else(|| text(meant.unwrap_or(words))),
        };
        handed.task(&(index + 1).to_string())
    };
    let said = (!away.is_empty()).then(|| {
        let text = format!("Away at the moment, and not asked: {}.", away.join(", "));
        json!({ "type": "chat.response", "text": text })
    });
    let tasks = chosen.iter().copied().enumerate().map(task);
    json!({ "actions": said.into_iter().chain(tasks).collect::<Vec<Value>>() })
}

fn respond(text: &str) -> Value {
    json!({ "actions": [{ "type": "chat.response", "text": text }] })
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
    format!("{text}\n{}", how_to_configure())
}

/// The results that stand after the user's words.
fn results(request: &Request) -> Vec<Outcome> {
    let said =
        |message: &PromptMessage| message.role == PromptRole::User && message.text().is_some();
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
            PromptPart::Data { label, value } if label == "results" => Some(list(value)),
            _ => None,
        })
        .flatten()
        .collect()
}

fn is_text(part: &PromptPart) -> bool {
    matches!(part, PromptPart::Text(_))
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

/// Outcome of a delegated task.
#[derive(Debug, Deserialize)]
pub(super) struct Outcome {
    agent: String,
    #[serde(default)]
    state: String,
    #[serde(default)]
    text: Option<String>,
    /// Data that it gave beside the text.
    #[serde(default)]
    data: Vec<Value>,
    /// The reason why it was not done, as a sentence that names the agent.
    #[serde(default)]
    error: Option<String>,
}

impl Outcome {
    /// The text, else the data but for what says that a part is lacking.
    fn given(&self) -> Option<String> {
        let text = self.text.as_deref().map(str::trim);
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            return Some(text.to_owned());
        }
        let is_content = |data: &&Value| Shortfall::of([*data]).is_none();
        let data: Vec<&Value> = self.data.iter().filter(is_content).collect();
        (!data.is_empty()).then(|| json!(data).to_string())
    }

    /// True if a part of its text was left out because it is long.
    fn is_cut(&self) -> bool {
        self.text.as_deref().is_some_and(is_cut_text)
    }

    /// The outcome in a sentence that names the agent.
    pub(super) fn told(&self) -> String {
        let agent = &self.agent;
        let text = self.given();
        let error = self.error.as_deref().filter(|error| !error.is_empty());
        // It names the agent already.
        if let Some(error) = error {
            return error.to_owned();
        }
        let verb = match self.state.as_str() {
            "completed" => {
                return match text {
                    Some(text) => format!("{agent} says: {text}"),
                    None => format!("{agent} ended without an error and gave no text."),
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
#[path = "decision_tests/mod.rs"]
mod tests;

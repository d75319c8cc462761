//! Tools: which are called with what, and what is said of their results.

use agenthub_runs::tool_loop::FIND_AGENTS;
use serde::Deserialize;
use serde_json::Value;

use super::arguments::arguments;
use super::decision::Outcome;
use super::known::{Known, own_words};
use super::words::{asks_who_it_is, clauses, cut};
use super::{Answer, MAX_LISTED, how_to_configure};
use crate::model::{Part, Request, Role, Tool, ToolCall};

/// Whether there are tools, or results of tools that are gone.
pub(super) fn are_used(request: &Request) -> bool {
    !request.tools.is_empty() || !Turn::of(request).results.is_empty()
}

/// Calls of what the words want, or words about what came back.
///
/// Everything after the last words of the user counts as done: no call is made twice with the same arguments.
pub(super) fn answer(request: &Request) -> Answer {
    let turn = Turn::of(request);
    let told = || Answer::Text(turn.told());
    let only_found = turn.results.iter().all(|(name, _)| *name == FIND_AGENTS);
    if !turn.results.is_empty() && !only_found {
        return told();
    }
    let chosen = choose(&turn.words, &request.tools);
    let wanted = chosen
        .into_iter()
        .map(|(tool, words)| (tool.name.as_str(), arguments(&tool.parameters, words)));
    let made = |name: &str, arguments: &Value| {
        let mut calls = turn.calls.iter();
        calls.any(|call| call.name == name && call.arguments == *arguments)
    };
    let mut ids = free_ids(request);
    let calls: Vec<ToolCall> = wanted
        .filter(|(name, arguments)| !made(name, arguments))
        .map(|(name, arguments)| ToolCall {
            id: ids.next().unwrap_or_default(),
            name: name.to_owned(),
            arguments,
        })
        .collect();
    if !calls.is_empty() {
        return Answer::Calls(calls);
    }
    if !turn.calls.is_empty() {
        return told();
    }
    let introduction = introduction(&request.tools);
    Answer::Text(match asks_who_it_is(&turn.words) {
        true => introduction,
        false => format!("I found no tool for that. {introduction}"),
    })
}

/// What the user said last, and what was done since.
struct Turn<'a> {
    words: String,
    calls: Vec<&'a ToolCall>,
    results: Vec<(&'a str, &'a Value)>,
}

impl<'a> Turn<'a> {
    fn of(request: &'a Request) -> Self {
        let messages = &request.messages;
        let last = |speaks: &dyn Fn(&Part) -> bool| {
            let by_user = |m: &crate::model::Message| m.role == Role::User;
            messages
                .iter()
                .rposition(|m| by_user(m) && m.parts.iter().any(speaks))
        };
        // Where nobody says anything in words, what is handed over as data is what is asked.
        let start = last(&|part| matches!(part, Part::Text(_)))
            .or_else(|| last(&|part| matches!(part, Part::Data { .. })))
            .unwrap_or(0);
        let words = messages.get(start).map(|message| {
            let given = || message.parts.iter().find_map(data_text);
            message.text().or_else(given)
        });
        let since = || messages.iter().skip(start).flat_map(|m| &m.parts);
        Self {
            words: words.flatten().unwrap_or_default(),
            calls: since()
                .filter_map(|part| match part {
                    Part::ToolCall(call) => Some(call),
                    _ => None,
                })
                .collect(),
            results: since()
                .filter_map(|part| match part {
                    Part::ToolResult { name, value, .. } => Some((name.as_str(), value)),
                    _ => None,
                })
                .collect(),
        }
    }

    /// The results, a line each, and who has not answered.
    fn told(&self) -> String {
        if self.results.is_empty() {
            let names: Vec<&str> = self.calls.iter().map(|call| call.name.as_str()).collect();
            return format!("I have heard nothing from {}.", names.join(", "));
        }
        let lines = self.results.iter().map(|(name, value)| told(name, value));
        lines.collect::<Vec<_>>().join("\n")
    }
}

fn data_text(part: &Part) -> Option<String> {
    let Part::Data { value, .. } = part else {
        return None;
    };
    let text = value.as_str().or_else(|| value.get("text")?.as_str());
    Some(text.map_or_else(|| value.to_string(), str::to_owned))
}

/// The tools that the words name, with all the words; else those that the clauses of the words match, each with its own
/// clauses; else the one that the words match best.
fn choose<'a>(words: &'a str, tools: &'a [Tool]) -> Vec<(&'a Tool, &'a str)> {
    let known = Known::of(tools);
    let named = known.named(words);
    if !named.is_empty() {
        return named.into_iter().map(|at| (&tools[at], words)).collect();
    }
    if asks_who_it_is(words) {
        return Vec::new();
    }
    let best = |words: &str| known.best(words, FIND_AGENTS);
    let several = segments(words, best);
    if several.len() > 1 {
        let of = |(at, words)| (&tools[at], words);
        return several.into_iter().map(of).collect();
    }
    let find = || tools.iter().position(|tool| tool.name == FIND_AGENTS);
    let one = best(words).or_else(find);
    one.map(|at| (&tools[at], words)).into_iter().collect()
}

/// The clauses of the words, joined to stretches that one tool matches. A clause that none matches belongs to the stretch
/// before it.
fn segments(words: &str, best: impl Fn(&str) -> Option<usize>) -> Vec<(usize, &str)> {
    let offset = |piece: &str| piece.as_ptr() as usize - words.as_ptr() as usize;
    let mut segments: Vec<(usize, std::ops::Range<usize>)> = Vec::new();
    for clause in clauses(words) {
        let end = offset(clause) + clause.len();
        match (best(clause), segments.last_mut()) {
            (Some(tool), Some((current, range))) if tool == *current => range.end = end,
            (None, Some((_, range))) => range.end = end,
            (Some(tool), Some(_)) => segments.push((tool, offset(clause)..end)),
            (Some(tool), None) => segments.push((tool, 0..end)),
            (None, None) => {}
        }
    }
    segments
        .into_iter()
        .map(|(tool, range)| (tool, words[range].trim_start()))
        .collect()
}

/// Ids that no call in the conversation has.
fn free_ids(request: &Request) -> impl Iterator<Item = String> {
    let parts = request.messages.iter().flat_map(|m| &m.parts);
    let taken: Vec<&str> = parts
        .filter_map(|part| match part {
            Part::ToolCall(call) => Some(call.id.as_str()),
            Part::ToolResult { call_id, .. } => Some(call_id.as_str()),
            _ => None,
        })
        .collect();
    let ids = (1u64..).map(|n| format!("call_{n}"));
    ids.filter(move |id| !taken.contains(&id.as_str()))
}

/// A result in a sentence that names who gave it.
fn told(name: &str, value: &Value) -> String {
    let agent = value.get("agent").and_then(Value::as_str);
    let who = agent.unwrap_or(name);
    if let Some(error) = value
        .get("error")
        .map(|error| error.get("message").unwrap_or(error))
    {
        let error = plain(error);
        if error.contains(who) {
            return error;
        }
        if !error.is_empty() {
            return format!("{who} failed: {error}");
        }
    }
    if let Some(found) = value.get("agents").filter(|_| name == FIND_AGENTS) {
        let ids = found.as_array().into_iter().flatten();
        let ids: Vec<String> = ids
            .map(|agent| plain(agent.get("id").unwrap_or(agent)))
            .collect();
        return match ids.is_empty() {
            true => "I found no agent for that.".to_owned(),
            false => format!("I found {}.", ids.join(", ")),
        };
    }
    let said = value.get("text").map(plain).filter(|text| !text.is_empty());
    if agent.is_some()
        && let Ok(mut outcome) = Outcome::deserialize(value)
    {
        outcome.say(said.or_else(|| value.get("data").map(plain)));
        return outcome.told();
    }
    match said.unwrap_or_else(|| plain(value)) {
        text if text.is_empty() => format!("{name} has done it and says nothing."),
        text => format!("{name} says: {text}"),
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.trim().to_owned(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

fn introduction(tools: &[Tool]) -> String {
    let mut text = String::from(
        "I am an offline stand-in, not a language model: I match the words of a request with what tools say of themselves. I \
         can call:",
    );
    for tool in tools.iter().take(MAX_LISTED) {
        text.push_str(&format!("\n- {}", tool.name));
        let own = own_words(&tool.description);
        let first = own.lines().next().unwrap_or_default().trim();
        if !first.is_empty() {
            text.push_str(&format!(": {}", cut(first)));
        }
    }
    if tools.len() > MAX_LISTED {
        text.push_str(&format!("\n- and {} more", tools.len() - MAX_LISTED));
    }
    format!("{text}\n{}", how_to_configure())
}

#[cfg(test)]
#[path = "tools_tests.rs"]
mod tests;

//! Tools: which are called with what, and what is said of their results.

use agenthub_runs::tool_loop::FIND_AGENTS;
use serde_json::Value;

use super::addressed::{addressed, nobody_called, unknown, unknown_part};
use super::arguments::arguments;
use super::attached::MOST_OF_DATA;
use super::choosing::choose;
use super::fitting::{self, Fit, instructions};
use super::handing_on;
use super::known::Known;
use super::outright::{self, Outright, UNCHECKED};
use super::passages::short;
use super::procedure::{Next, Procedure};
use super::told::{is_error, left_undone, told};
use super::turn::Turn;
use super::words::{FORBIDDING, asks_who_it_is, cut, forbids, may_forbid};
use super::{Answer, MAX_LISTED, how_to_configure};
use super::{stated, sums};
use crate::relevance::{Card, Skill, goes_by};
use crate::{PromptPart, Request, ToolCall, ToolSpec, Undone};

/// The field of an agent's tool that says which of its skills is meant.
const SKILL: &str = "skill";

/// True if there are tools, or results of tools that are gone.
pub(super) fn are_used(request: &Request) -> bool {
    !request.tools.is_empty() || Turn::of(request).results().next().is_some()
}

/// The next step of the instructions' procedure; without one, calls of what the words want, or words about what came back. Who is
/// addressed and is nobody is named in the answer.
///
/// Everything after the last words of the user counts as done: no call is made twice with the same arguments.
pub(super) fn answer(request: &Request) -> Answer {
    let turn = Turn::of(request);
    let nobody = nobody(request, &turn);
    if !nobody.is_empty() && Known::of(&request.tools).named(&turn.words).is_empty() {
        return Answer::undone(format!(
            "{}, so I have asked nobody. {}",
            nobody_called(&nobody),
            introduction(&request.tools)
        ));
    }
    match (next(request, &turn), unknown_part(&nobody)) {
        (Answer::Text(text, undone), Some(left_out)) => Answer::Text(
            format!("{text}\n\n{left_out}"),
            undone.max(Some(Undone::Part)),
        ),
        (answer, _) => answer,
    }
}

/// The names that the words address and that are nobody's here. Words that address the agent itself were for others as well, who may know
/// whom they mean; where it is not known who that is, so were those that address somebody else first.
fn nobody<'t>(request: &Request, turn: &'t Turn<'_>) -> Vec<&'t str> {
    let known = Known::of(&request.tools);
    let cards = known.cards();
    let is_for_agents = request.tools.iter().any(|tool| tool.agent.is_some());
    let addressed = addressed(&turn.words);
    // Where it is not known who that is, the instructions speak of it.
    let instructions = instructions(request);
    let own = Card {
        id: request.asker_id(),
        description: match request.asker {
            Some(_) => "",
            None => &instructions,
        },
        ..Card::default()
    };
    let is_own = |name: &&str| goes_by(&own, name);
    let is_known = |name: &&str| cards.iter().any(|card| goes_by(card, name));
    let is_for_this = match request.asker {
        Some(_) => !addressed.iter().any(is_own),
        None => addressed.first().is_some_and(is_known),
    };
    let is_outright = stated_call(request, turn).is_some();
    match is_for_agents && is_for_this && !is_outright {
        true => unknown(&turn.words, &[&cards[..], &[own]].concat()),
        false => Vec::new(),
    }
}

fn next(request: &Request, turn: &Turn<'_>) -> Answer {
    if let Some(why) = not_called(request, turn) {
        return Answer::undone(why);
    }
    match procedure(request, turn) {
        Some(procedure) => followed(&procedure, request, turn),
        None => matched(request, turn).beside_instructions_of(request),
    }
}

/// The next step of a procedure.
fn followed(procedure: &Procedure<'_>, request: &Request, turn: &Turn<'_>) -> Answer {
    match (procedure.next(turn), fitting::fit(request, &turn.words)) {
        (_, Fit::No) => Answer::undone(format!(
            "I found nobody for that: nothing in it is what this team says that it does. {}",
            introduction(&request.tools)
        )),
        (Next::Calls(calls), _) => Answer::Calls(with_ids(request, calls)),
        (Next::Answer(text, undone), Fit::Yes) => Answer::Text(text, Some(undone)),
        (Next::Answer(text, undone), Fit::Unclear) => {
            Answer::Text(format!("{text}\n\n{}", fitting::UNCLEAR), Some(undone))
        }
    }
}

/// Calls of what the words want, or words about what came back.
fn matched(request: &Request, turn: &Turn<'_>) -> Answer {
    if let Some(call) = stated_call(request, turn) {
        return match turn.rounds.is_empty() {
            true => Answer::Calls(with_ids(request, vec![call])),
            false => words_on_results(request, turn),
        };
    }
    let is_forbidden = || may_forbid(errand(request, turn)) || is_left(request, turn);
    if turn.rounds.is_empty() && is_forbidden() {
        return Answer::undone(format!("{FORBIDDING} {}", introduction(&request.tools)));
    }
    let only_found = turn.results().all(|(name, _)| name == FIND_AGENTS);
    if !turn.rounds.is_empty() && !only_found {
        return words_on_results(request, turn);
    }
    let made = |name: &str, arguments: &Value| {
        turn.calls()
            .any(|call| call.name == name && call.arguments == *arguments)
    };
    if turn.is_data && request.tools.iter().all(|tool| tool.agent.is_none()) {
        return match data_call(request, turn) {
            Some(call) if turn.rounds.is_empty() => Answer::Calls(with_ids(request, vec![call])),
            _ => Answer::undone(format!(
                "Data came without words, and they are not the inputs of one tool alone, so I have called none. {}",
                introduction(&request.tools)
            )),
        };
    }
    let wanted = choose(&turn.words, &request.tools).into_iter();
    let wanted = wanted
        .flat_map(|(tool, words)| {
            let filled = filled(tool, words, turn).into_iter();
            filled.map(|arguments| (tool.name.clone(), arguments))
        })
        .filter(|(name, arguments)| !made(name, arguments));
    let wanted: Vec<(String, Value)> = wanted.collect();
    if let Some(why) = wanted.iter().find_map(|call| changed(request, turn, call)) {
        return Answer::undone(why);
    }
    let calls = with_ids(request, wanted);
    if !calls.is_empty() {
        return Answer::Calls(calls);
    }
    if !turn.rounds.is_empty() {
        return Answer::undone(summary(turn));
    }
    if let Some((counted, undone)) = sums::answer(&turn.words) {
        return Answer::Text(counted, undone);
    }
    let introduction = introduction(&request.tools);
    match asks_who_it_is(&turn.words) {
        true => Answer::text(introduction),
        false => Answer::undone(format!("I found no tool for that. {introduction}")),
    }
}

/// The call of the only tool whose inputs the data are that came without words.
fn data_call(request: &Request, turn: &Turn<'_>) -> Option<(String, Value)> {
    let data = turn.input?.as_object()?;
    let takers = request.tools.iter().filter_map(|tool| {
        let input = outright::of_data(data, &tool.parameters)?;
        Some((tool.name.clone(), Value::Object(input)))
    });
    let takers: Vec<_> = takers.collect();
    match takers.len() {
        1 => takers.into_iter().next(),
        _ => None,
    }
}

/// The sentence on a call of a tool that would get another value than the words give outright for one of its inputs.
fn changed(request: &Request, turn: &Turn<'_>, (name, made): &(String, Value)) -> Option<String> {
    let tool = request.tools.iter().find(|tool| tool.name == *name)?;
    let properties = tool.parameters["properties"].as_object()?;
    let is_changed = |input: &&String| {
        let stated = stated::assigned(&turn.words, input);
        let printed = match &made[&**input] {
            Value::String(text) => text.clone(),
            value => value.to_string(),
        };
        stated.is_some_and(|stated| printed != stated)
    };
    let input = properties
        .keys()
        .find(is_changed)
        .filter(|_| tool.agent.is_none())?;
    Some(format!(
        "I have not called {name}: it cannot be given `{input}` as it stands in the request, and with another value it would do what nobody asked for."
    ))
}

/// Words about what came back. What is made of a guess may not be what was meant.
fn words_on_results(request: &Request, turn: &Turn<'_>) -> Answer {
    let summary = summary(turn);
    if turn.results().next().is_none() {
        return Answer::undone(summary);
    }
    let summary_length = summary.len();
    let is_outright = stated_call(request, turn).is_some_and(|(name, arguments)| {
        let mut calls = turn.calls();
        let is_stated = |call: &ToolCall| call.name == name && call.arguments == arguments;
        calls.next().is_some_and(is_stated) && calls.next().is_none()
    });
    let is_any_done = turn.results().any(|(_, value)| !is_error(value));
    // Of names that are nobody's, it is said already.
    let is_open = is_any_done && !is_outright && nobody(request, turn).is_empty();
    let open = is_open.then(|| UNCHECKED.to_owned());
    let mut said = summary + &guesses(request, turn);
    let is_guessed = said.len() > summary_length;
    let left = [open, unread_data(request, turn)];
    let is_in_part = is_guessed || left.iter().any(Option::is_some);
    for sentence in left.into_iter().flatten() {
        // An agent that was handed the same words may have said the same.
        if !said.contains(&sentence) {
            said.push_str(&format!("\n{sentence}"));
        }
    }
    let undone = is_in_part.then_some(Undone::Part);
    Answer::Text(said, undone.max(failed(turn)))
}

/// Extent of the work that results leave undone.
fn failed(turn: &Turn<'_>) -> Option<Undone> {
    let ends: Vec<Option<Undone>> = turn
        .results()
        .map(|(_, value)| left_undone(value))
        .collect();
    match ends.iter().flatten().next() {
        None => None,
        Some(_) if ends.iter().all(|end| *end == Some(Undone::All)) => Some(Undone::All),
        Some(_) => Some(Undone::Part),
    }
}

/// The call that the words state outright, with nothing beside them.
fn stated_call(request: &Request, turn: &Turn<'_>) -> Option<(String, Value)> {
    let cards: Vec<Card<'_>> = request.tools.iter().map(by_name).collect();
    let outright = Outright::of(&turn.words, &cards, request.asker_id())?;
    let tool = &request.tools[outright.card];
    let mut arguments = outright.input(&tool.parameters)?;
    if let Some(skill) = outright.skill {
        let skill = Value::from(cards[outright.card].skills[skill].id);
        let stated = arguments.insert(SKILL.to_owned(), skill.clone());
        // Words that name one skill and state another leave open which is meant.
        stated.is_none_or(|stated| stated == skill).then_some(())?;
    }
    let is_all = turn.data_beside_words().is_none();
    is_all.then(|| (tool.name.clone(), Value::Object(arguments)))
}

/// The sentence on a tool that the words name, and that has no place for what they state: calling it with anything else would do what nobody
/// asked for. Agents make of words what they can.
fn not_called(request: &Request, turn: &Turn<'_>) -> Option<String> {
    let cards: Vec<Card<'_>> = request.tools.iter().map(by_name).collect();
    let outright = Outright::of(&turn.words, &cards, request.asker_id())?;
    let tool = &request.tools[outright.card];
    let is_taken = tool.agent.is_some() || outright.input(&tool.parameters).is_some();
    (!is_taken).then(|| {
        let why = outright.misfit(&tool.name, Some(&tool.parameters));
        format!("I have not called {}. {why}", tool.name)
    })
}

/// The names of a tool: its own, that of the agent behind it, and those of that agent's skills.
fn by_name(tool: &ToolSpec) -> Card<'_> {
    let skills = tool.parameters["properties"][SKILL]["enum"].as_array();
    let skills = skills
        .filter(|_| tool.agent.is_some())
        .into_iter()
        .flatten();
    let skill = |id| Skill {
        id,
        ..Skill::default()
    };
    Card {
        id: &tool.name,
        name: tool.agent.as_ref().map_or("", |agent| &*agent.id),
        skills: skills.filter_map(Value::as_str).map(skill).collect(),
        ..Card::default()
    }
}

/// The sentence on data beside the words, which only agents are handed; `None` if one was asked.
fn unread_data(request: &Request, turn: &Turn<'_>) -> Option<String> {
    let input = turn.data_beside_words()?.to_string();
    let is_agent = |name: &str| {
        let mut tools = request.tools.iter();
        tools.any(|tool| tool.name == name && tool.agent.is_some())
    };
    let is_unread = !turn.calls().any(|call| is_agent(&call.name));
    is_unread.then(|| {
        format!(
            "(Nobody looked at the data that came along: {}.)",
            short(&input, MOST_OF_DATA)
        )
    })
}

/// The words that are for the agent that asks: those in quotation marks, where its own name stands before them.
fn errand<'t>(request: &Request, turn: &'t Turn<'_>) -> &'t str {
    outright::quoted_for(request.asker_id(), &turn.words).unwrap_or(&turn.words)
}

/// True if the words begin by saying what is not to be done.
fn is_left(request: &Request, turn: &Turn<'_>) -> bool {
    let is_named_so = |name: &str, word: &str| name.split(['_', '-', '.']).any(|part| part == word);
    let mut names = Vec::new();
    for card in request.tools.iter().map(by_name) {
        names.extend([card.id, card.name].map(str::to_lowercase));
        names.extend(card.skills.iter().map(|skill| skill.id.to_lowercase()));
    }
    forbids(errand(request, turn), |word| {
        names.iter().any(|name| is_named_so(name, word))
    })
}

/// The procedure that the words want to be followed. Who states a call outright wants that one alone, and who begins with what is not to be
/// done nobody. Who asks who it is wants none, nor who has numbers added; whoever names one tool wants that one alone, and who names some
/// and may forbid something wants nobody to guess.
fn procedure<'a>(request: &'a Request, turn: &Turn<'_>) -> Option<Procedure<'a>> {
    let named = Known::of(&request.tools).named(&turn.words);
    let is_outright = stated_call(request, turn).is_some();
    let wants_none = is_outright
        || is_left(request, turn)
        || match named.as_slice() {
            [] => asks_who_it_is(&turn.words) || sums::answer(&turn.words).is_some(),
            named => named.len() == 1 || may_forbid(&turn.words),
        };
    match wants_none {
        true => None,
        false => Procedure::of(request, &named),
    }
}

/// The arguments of each call of a tool for these words.
fn filled(tool: &ToolSpec, words: &str, turn: &Turn<'_>) -> Vec<Value> {
    let takes_a_task = !tool.parameters["properties"]["task"].is_null();
    match takes_a_task && words == turn.words {
        true => handing_on::calls(tool, "", turn, &[]),
        false => vec![arguments(&tool.parameters, words).0],
    }
}

/// The guesses in the calls that were made; empty where there were none.
fn guesses(request: &Request, turn: &Turn<'_>) -> String {
    let mut lines = String::new();
    for (tool, words) in choose(&turn.words, &request.tools) {
        let (made, guessed) = arguments(&tool.parameters, words);
        let is_made = |call: &&ToolCall| call.name == tool.name && call.arguments == made;
        // An agent makes of a sentence what it can.
        let Some(first) = guessed.first().filter(|_| tool.agent.is_none()) else {
            continue;
        };
        if turn.calls().any(|call| is_made(&call)) {
            let (names, tool) = (guessed.join("`, `"), &tool.name);
            lines.push_str(&format!(
                "\nI am an offline stand-in, and could not tell what `{names}` of {tool} is to be: I gave it the whole sentence, or the \
                 first or smallest value. Put what you mean in quotation marks, or write {first}=…"
            ));
        }
    }
    lines
}

fn with_ids(request: &Request, calls: Vec<(String, Value)>) -> Vec<ToolCall> {
    let calls = calls.into_iter().zip(free_ids(request));
    let with_id = |((name, arguments), id)| ToolCall {
        id,
        name,
        arguments,
    };
    calls.map(with_id).collect()
}

/// The results, a line each, and who has not answered.
fn summary(turn: &Turn<'_>) -> String {
    let lines: Vec<String> = turn
        .results()
        .map(|(name, value)| told(name, value))
        .collect();
    if lines.is_empty() {
        let names: Vec<&str> = turn.calls().map(|call| call.name.as_str()).collect();
        return format!("I have heard nothing from {}.", names.join(", "));
    }
    lines.join("\n")
}

/// Ids that no call in the conversation has.
fn free_ids(request: &Request) -> impl Iterator<Item = String> {
    let parts = request.messages.iter().flat_map(|m| &m.parts);
    let taken: Vec<&str> = parts
        .filter_map(|part| match part {
            PromptPart::ToolCall(call) => Some(call.id.as_str()),
            PromptPart::ToolResult { call_id, .. } => Some(call_id.as_str()),
            _ => None,
        })
        .collect();
    let ids = (1u64..).map(|n| format!("call_{n}"));
    ids.filter(move |id| !taken.contains(&id.as_str()))
}

fn introduction(tools: &[ToolSpec]) -> String {
    let mut text = String::from(
        "I am an offline stand-in, not a language model: I match the words of a request with what tools say of themselves. I \
         can call:",
    );
    for tool in tools.iter().take(MAX_LISTED) {
        text.push_str(&format!("\n- {}", tool.name));
        let first = tool.own_words().lines().next().unwrap_or_default().trim();
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
#[path = "tools_tests/mod.rs"]
mod tests;

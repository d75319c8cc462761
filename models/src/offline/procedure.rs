//! Instructions that say what to do step by step: which step comes next, and what is said in the end.

use serde_json::Value;

use super::{
    handing_on::{self, Made},
    layout::{MARK, is_marked},
    naming::{Mention, mentions, sentences},
    passages,
    steps::steps,
    told::{content, told},
    turn::{Round, Turn},
    words::cut,
};
use crate::{PromptRole, Request, ToolCall, ToolSpec, Undone};

/// A last step that begins with one of these says what the answer is.
const ENDS: [&str; 10] = [
    "answer", "reply", "return", "respond", "deliver", "present", "report", "output", "finish",
    "end",
];
/// A step that begins with one of these is done under a condition.
const CONDITIONS: [&str; 3] = ["if", "when", "where"];
/// Whoever does one of these speaks about a text and makes none.
const REVIEWS: [&str; 6] = ["review", "check", "judg", "verif", "proofread", "assess"];
/// Tools of such names review too, but steps use the word for other things as well.
const CRITICS: &str = "criti";
/// Said with an answer of others than stand-ins.
pub(super) const FOLLOWED: &str = "(The offline stand-in asked whom the steps name. No language model read the steps, or looked whether they were done.)";
/// The most words of what was said about a text that go into the answer.
const MAX_REMARK: usize = 60;

/// The procedure of the instructions, for the tools that there are.
pub(super) struct Procedure<'a> {
    tools: &'a [ToolSpec],
    stages: Vec<Stage>,
    /// The last step's words on the answer.
    end: Option<String>,
    /// The steps that call nobody.
    idle: Vec<String>,
}

/// A step that calls tools.
#[derive(Debug)]
struct Stage {
    text: String,
    called: Vec<Mention>,
}

/// The next step.
pub(super) enum Next {
    /// Calls, by the names of tools and their arguments.
    Calls(Vec<(String, Value)>),
    /// The answer, and how much of the request it leaves undone: no language model read the steps.
    Answer(String, Undone),
}

impl<'a> Procedure<'a> {
    /// The procedure in the instructions of the request, if there is one that calls any of its tools. Where the words name some (`only`),
    /// the steps call those alone; there is no procedure for others.
    pub(super) fn of(request: &'a Request, only: &[usize]) -> Option<Self> {
        let by_system = request
            .messages
            .iter()
            .filter(|m| m.role == PromptRole::System);
        let mut texts: Vec<String> = by_system
            .filter_map(|message| message.text())
            .map(|text| steps(&text))
            .find(|steps| !steps.is_empty())?;
        let is_end = |step: &mut String| begins_with(step, &ENDS);
        let end = texts.pop_if(is_end);
        let mut stages: Vec<Stage> = Vec::new();
        for text in texts {
            let named = mentions(&text, &request.tools);
            let called = called(named, &stages);
            stages.push(Stage { text, called });
        }
        let idle = stages.iter().filter(|stage| stage.called.is_empty());
        let idle: Vec<String> = idle.map(|stage| stage.text.clone()).collect();
        let is_wanted = |mention: &Mention| only.is_empty() || only.contains(&mention.tool);
        for stage in &mut stages {
            stage.called.retain(is_wanted);
        }
        stages.retain(|stage| !stage.called.is_empty());
        let is_called = |tool: &usize| {
            let mut called = stages.iter().flat_map(|stage| &stage.called);
            called.any(|mention| mention.tool == *tool)
        };
        if !only.iter().all(is_called) {
            return None;
        }
        let tools = &request.tools;
        (!stages.is_empty()).then_some(Self {
            tools,
            stages,
            end,
            idle,
        })
    }

    /// The next step after what was done.
    pub(super) fn next(&self, turn: &Turn<'_>) -> Next {
        let mut rounds = turn.rounds.iter().enumerate();
        let mut made: Vec<Made<'_>> = Vec::new();
        for stage in &self.stages {
            if !stage.applies(&made, self.tools) {
                continue;
            }
            match rounds.next() {
                Some((number, round)) => made.extend(results(number, round, stage, self.tools)),
                None => return Next::Calls(self.calls(stage, turn, &made)),
            }
        }
        let text = self.answer(turn, &made);
        let undone = match made.iter().all(|one| one.text.is_none()) {
            true => Undone::All,
            false => Undone::Part,
        };
        Next::Answer(text, undone)
    }

    fn calls(&self, stage: &Stage, turn: &Turn<'_>, made: &[Made<'_>]) -> Vec<(String, Value)> {
        let mut calls = Vec::new();
        for mention in &stage.called {
            let step = stage.part(|one| one == mention);
            let tool = &self.tools[mention.tool];
            for arguments in handing_on::calls(tool, &step, turn, made) {
                calls.push((tool.name.clone(), arguments));
            }
        }
        calls
    }

    /// The results that the last step names, else the last result that is no review; of reviews the beginning, and what failed.
    fn answer(&self, turn: &Turn<'_>, made: &[Made<'_>]) -> String {
        let fine: Vec<&Made<'_>> = made.iter().filter(|one| one.text.is_some()).collect();
        let named = self.named_in_the_end(&fine);
        let is_review = |one: &Made<'_>| {
            one.tool.contains(CRITICS) || speaks_of_review(one.tool) || speaks_of_review(&one.step)
        };
        let main = named.first().copied().or_else(|| {
            let texts = fine.iter().rev().find(|one| !is_review(one));
            texts.or(fine.last()).copied()
        });
        let Some(main) = main else {
            let failed = made.iter().map(|one| told(one.tool, one.value));
            return failed.collect::<Vec<_>>().join("\n");
        };
        let with_main = |one: &&&Made<'_>| {
            one.round == main.round && (named.is_empty() || one.tool == main.tool)
        };
        let together: Vec<&Made<'_>> = fine.iter().filter(with_main).copied().collect();
        let body = passages::of(&together, turn);
        let others = fine.iter().filter(|one| match named.is_empty() {
            true => one.round > main.round,
            false => one.tool != main.tool && named.iter().any(|n| std::ptr::eq(*n, **one)),
        });
        let others = others.map(|one| match one.text.as_deref().unwrap_or_default() {
            text if is_review(one) => {
                format!("{} says: {}", one.name(), passages::short(text, MAX_REMARK))
            }
            text => text.to_owned(),
        });
        let failed = made.iter().filter(|one| one.text.is_none());
        let failed = failed.map(|one| told(one.tool, one.value));
        let mark = match is_marked(main.value) {
            true => MARK,
            false => FOLLOWED,
        };
        let pieces: Vec<String> = [body]
            .into_iter()
            .chain(others)
            .chain(failed)
            .chain(self.idle())
            .chain([mark.to_owned()])
            .collect();
        pieces.join("\n\n")
    }

    /// A sentence on the steps that call nobody.
    fn idle(&self) -> Option<String> {
        let steps = self.idle.iter().map(|step| {
            let line = step.lines().next().unwrap_or_default();
            format!("\"{}\"", cut(line))
        });
        let steps: Vec<String> = steps.collect();
        (!steps.is_empty()).then(|| format!("(Nobody did: {}.)", steps.join("; ")))
    }

    /// The latest result of each that the last step names, in its order.
    fn named_in_the_end<'m, 'v>(&self, fine: &[&'m Made<'v>]) -> Vec<&'m Made<'v>> {
        let mut found: Vec<&Made<'_>> = Vec::new();
        let end = self.end.as_deref().unwrap_or_default();
        for mention in mentions(end, self.tools) {
            let name = &self.tools[mention.tool].name;
            let latest = fine.iter().rev().find(|one| one.tool == *name);
            let is_known = |one: &&&Made<'_>| !found.iter().any(|f| f.tool == one.tool);
            found.extend(latest.filter(is_known).copied());
        }
        found
    }
}

/// The steps of instructions that name none of these agents and tools, but for a last one that says what the answer is. None of a procedure
/// that names nobody at all, which leaves to its model whom it asks.
pub fn steps_that_name_none(instructions: &str, names: &[&str]) -> Vec<String> {
    let tool = |name: &&str| ToolSpec {
        name: (*name).to_owned(),
        description: String::new(),
        parameters: Value::Null,
        agent: None,
    };
    let tools: Vec<ToolSpec> = names.iter().map(tool).collect();
    let mut steps = steps(instructions);
    steps.pop_if(|step| begins_with(step, &ENDS));
    // A server's tools begin with its name.
    let is_begun = |step: &str| names.iter().any(|name| step.contains(&format!("{name}_")));
    let all = steps.len();
    steps.retain(|step| mentions(step, &tools).is_empty() && !is_begun(step));
    match steps.len() == all {
        true => Vec::new(),
        false => steps,
    }
}

impl Stage {
    /// The part of the step that is for the one that it calls.
    fn part(&self, is_meant: impl Fn(&Mention) -> bool) -> String {
        let mut called = self.called.iter();
        let Some(mention) = called.find(|mention| is_meant(mention)) else {
            return self.text.clone();
        };
        part(&self.text, mention, called.next().map(|next| next.start))
    }

    /// True if its condition holds: one that quotes words wants them in the last results.
    fn applies(&self, made: &[Made<'_>], tools: &[ToolSpec]) -> bool {
        if !begins_with(&self.text, &CONDITIONS) {
            return true;
        }
        let condition = self.text.split([',', ':']).next().unwrap_or_default();
        let is_name = |word: &str| !mentions(word, tools).is_empty();
        let mut quoted = quotations(condition)
            .filter(|word| !is_name(word))
            .peekable();
        let last = made.iter().map(|one| one.round).max();
        let said = |word: &str| {
            let texts = made.iter().filter(|one| Some(one.round) == last);
            let mut texts = texts.filter_map(|one| one.text.as_deref());
            texts.any(|text| super::words::mention(text, word).is_some())
        };
        quoted.peek().is_none() || quoted.any(said)
    }
}

/// Of the tools that a step names, those that it calls: those that it addresses, and with them those that it joins by "and" and no step
/// before has called; where it addresses none, those that no step before has called, else all.
fn called(named: Vec<Mention>, before: &[Stage]) -> Vec<Mention> {
    let is_new = |mention: &Mention| {
        let mut called = before.iter().flat_map(|stage| &stage.called);
        !called.any(|other| other.tool == mention.tool)
    };
    let any_addressed = named.iter().any(|m| m.addressed);
    let any_new = named.iter().any(is_new);
    let mut kept: Vec<Mention> = Vec::new();
    for mention in named {
        let is_meant = match any_addressed {
            true => mention.addressed || (mention.joined && is_new(&mention)),
            false => !any_new || is_new(&mention),
        };
        if is_meant && !kept.iter().any(|other| other.tool == mention.tool) {
            kept.push(mention);
        }
    }
    kept
}

fn results<'v>(
    number: usize,
    round: &Round<'v>,
    stage: &Stage,
    tools: &[ToolSpec],
) -> Vec<Made<'v>> {
    let result = |(call, value): &(&'v ToolCall, Option<&'v Value>)| Made {
        tool: &call.name,
        arguments: &call.arguments,
        step: stage.part(|mention| tools[mention.tool].name == call.name),
        round: number,
        value: value.unwrap_or(&Value::Null),
        text: value.and_then(content),
    };
    round.0.iter().map(result).collect()
}

/// The part of a step that is for one of those that it names: the rest of the sentence, up to the next name; the whole step where that says nothing.
fn part(step: &str, mention: &Mention, until: Option<usize>) -> String {
    let mut all = sentences(step).into_iter();
    let sentence = all.find(|(from, to)| (*from..*to).contains(&mention.start));
    let end = sentence.map_or(step.len(), |(_, to)| to);
    let end = until
        .filter(|until| *until > mention.end)
        .map_or(end, |until| until.min(end));
    let noise = |c: char| c.is_whitespace() || matches!(c, '`' | '*' | ',' | '.' | ':' | ';');
    let mut rest = step[mention.end..end].trim_matches(noise);
    for (words, at_end) in [
        ("to ", false),
        ("for ", false),
        ("with ", false),
        (" and", true),
        (" or", true),
    ] {
        let shorter = match at_end {
            true => rest.strip_suffix(words),
            false => rest.strip_prefix(words),
        };
        rest = shorter.unwrap_or(rest).trim_matches(noise);
    }
    let said = if rest.is_empty() { step } else { rest };
    let said = said.replace(['`', '*'], "");
    let mut letters = said.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

fn begins_with(step: &str, words: &[&str]) -> bool {
    let mut said = step
        .split(|c: char| !c.is_alphanumeric())
        .filter(|w| !w.is_empty());
    said.next()
        .is_some_and(|first| words.iter().any(|w| first.eq_ignore_ascii_case(w)))
}

fn speaks_of_review(text: &str) -> bool {
    let text = text.to_lowercase();
    let mut words = text.split(|c: char| !c.is_alphanumeric());
    words.any(|word| REVIEWS.iter().any(|stem| word.starts_with(stem)))
}

/// Texts in quotation marks or backticks.
fn quotations(text: &str) -> impl Iterator<Item = &str> {
    let marks = |c: char| matches!(c, '"' | '“' | '”' | '`');
    // Every second piece between the marks was inside of them.
    text.split(marks)
        .skip(1)
        .step_by(2)
        .filter(|w| !w.trim().is_empty())
}

#[cfg(test)]
#[path = "procedure_tests.rs"]
mod tests;

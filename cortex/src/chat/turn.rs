//! The next effect of a chat turn: it asks the model, hands out what the model decides, and asks again with the results, until the model
//! only answers.
//!
//! Each round looks (who is here, what was said), asks, and has what was decided done. An answer in prose is an answer to the user; another
//! one that is no decision goes back to the model with the reason, at most twice.

mod kept;

use std::borrow::Cow;

use agenthub_sdk::{
    model::{Completion, Request, Undone},
    runs::{
        AgentEnd, Effect, Facts, Handoff, Next, RunOutcome, Shortfall, Step, StepResult, Strategy,
    },
};
use serde::Deserialize;
use serde_json::{Value, json};

pub(crate) use kept::{Input, Query, Question, TurnContext, undecided};

use super::{
    decision::{self, Action, Candidate, Decision, Refusal, TaskRequest},
    history::shorten,
    outcome::{End, TaskOutcome},
    prompt::{Prompt, Rejected},
};

/// Times that the model is asked in one round, at most.
const TRIES: u32 = 3;

/// The most tokens of a wrong answer that the model sees again.
const MAX_REJECTED_TOKENS: usize = 500;

/// Separator of several responses in one text.
pub(crate) const SEPARATOR: &str = "\n\n";

/// The decision's words to the user, in one text; empty if there are none.
pub(crate) fn said(decision: &Decision) -> String {
    let texts = decision.actions.iter().filter_map(|action| match action {
        Action::Respond(text) => Some(text.as_str()),
        Action::Delegate(_) => None,
    });
    texts.collect::<Vec<_>>().join(SEPARATOR)
}

/// The strategy.
#[derive(Clone, Copy, Debug, Default)]
pub struct ChatTurn;

impl Strategy for ChatTurn {
    fn name(&self) -> &'static str {
        "chat_turn"
    }

    fn next(&self, facts: &Facts) -> Next {
        let input = match Input::deserialize(facts.input()) {
            Ok(input) => input,
            Err(error) => {
                let error = format!("the run's input cannot be read: {error}");
                return Next::Finish(RunOutcome::failed(error));
            }
        };
        if let Some(refused) = input.refused {
            return Next::Finish(RunOutcome::failed(refused));
        }
        let mut rounds = Rounds {
            input,
            facts,
            answers: Vec::new(),
            results: Vec::new(),
            undone: None,
        };
        let next = (1..).find_map(|round| rounds.round(round).err());
        next.expect("there is a last round")
    }
}

/// The rounds so far.
struct Rounds<'a> {
    input: Input,
    facts: &'a Facts,
    /// Words before the answer.
    answers: Vec<String>,
    /// Results, in the order in which they were asked for.
    results: Vec<TaskOutcome>,
    /// The most that a decision so far declares undone.
    undone: Option<Undone>,
}

impl Rounds<'_> {
    /// Goes through a round that is over; otherwise the error is what is to be done.
    fn round(&mut self, round: u32) -> Result<(), Next> {
        let seen = self.look(round)?;
        let (decision, undone) = self.decide(round, &seen)?;
        self.undone = self.undone.max(undone);
        let text = said(&decision);
        let tasks: Vec<TaskRequest> = tasks(decision).collect();
        if tasks.is_empty() {
            let shortfall = self.shortfall(self.undone);
            let data = shortfall.map_or(Value::Null, |shortfall| shortfall.to_json());
            return Err(Next::Finish(RunOutcome::with_data(text, data)));
        }
        self.act(round, text, tasks)
    }

    fn look(&self, round: u32) -> Result<TurnContext, Next> {
        for attempt in 1.. {
            let of_attempt = |name: &str| match attempt {
                1 => format!("{name}-{round}"),
                attempt => format!("{name}-{round}/try-{attempt}"),
            };
            let query = Query {
                words: self.input.words.clone(),
                completed_by: (round > 1).then(|| self.completed_by()),
            };
            let step = Step::new(of_attempt("look"), Effect::Look(json!(query)));
            let Some(seen) = self.facts.observed(&step.id) else {
                return Err(Next::Steps(vec![step]));
            };
            let seen = TurnContext::deserialize(seen).unwrap_or_default();
            let Some(again_at_ms) = seen.again_at_ms else {
                return Ok(seen);
            };
            let pause = Step::new(of_attempt("pause"), Effect::Wait(again_at_ms));
            if self.facts.result(&pause).is_none() {
                return Err(Next::Steps(vec![pause]));
            }
        }
        unreachable!("a look that has not been is asked for")
    }

    /// The agents that completed tasks so far.
    fn completed_by(&self) -> Vec<String> {
        let completed = self.results.iter().filter(|r| r.end == End::Completed);
        completed.map(|result| result.agent.clone()).collect()
    }

    fn is_last(&self, round: u32) -> bool {
        round >= self.input.max_rounds.max(1)
    }

    /// The decision, and how much of the request the model declares undone with it.
    fn decide(&self, round: u32, seen: &TurnContext) -> Result<(Decision, Option<Undone>), Next> {
        let candidates = match self.is_last(round) {
            true => &[],
            false => seen.agents.candidates(),
        };
        let mut rejected = None;
        for attempt in 1..=TRIES {
            let step = Question { round, attempt }.step();
            let request = self.request(round, seen, rejected.as_ref());
            let step = Step::ask(step, request);
            let answer = match self.facts.result(&step) {
                None => return Err(Next::Steps(vec![step])),
                Some(StepResult::ModelAnswered(answer)) => answer,
                Some(StepResult::Failed(failure)) => {
                    let error = format!("I could not answer: {failure}.{}", self.so_far());
                    return Err(Next::Finish(RunOutcome::failed(error)));
                }
                Some(_) => {
                    let error = format!("I could not answer.{}", self.so_far());
                    return Err(Next::Finish(RunOutcome::failed(error)));
                }
            };
            match self.read(answer, candidates) {
                Ok(decision) => return Ok((decision, answer.undone)),
                Err(refusal) => {
                    rejected = Some(Rejected {
                        answer: shorten(&written(answer), MAX_REJECTED_TOKENS),
                        reason: refusal.to_string(),
                    });
                }
            }
        }
        Err(Next::Finish(self.undecided(rejected)))
    }

    fn read(&self, answer: &Completion, agents: &[Candidate]) -> Result<Decision, Refusal> {
        if self.input.calls_tools {
            return decision::called(answer, agents);
        }
        match decision::parse(&answer.text, agents) {
            Err(_) if self.input.takes_prose && decision::is_prose(&answer.text) => {
                Ok(Decision::words(&answer.text))
            }
            decided => decided,
        }
    }

    fn request(&self, round: u32, seen: &TurnContext, rejected: Option<&Rejected>) -> Request {
        let prompt = Prompt {
            agents: &seen.agents,
            named: &seen.named,
            history: &seen.history,
            words: &shorten(&self.input.words, self.input.longest),
            attached: &self.input.attached,
            files: &self.input.files,
            answers: &self.answers,
            results: &self.results,
            running: &seen.running,
            rejected,
            is_last_round: self.is_last(round),
            calls_tools: self.input.calls_tools,
        };
        prompt.request()
    }

    /// Has done what was decided; once everything is back, it stands in the results.
    fn act(&mut self, round: u32, text: String, tasks: Vec<TaskRequest>) -> Result<(), Next> {
        let mut out = Vec::new();
        if !text.is_empty() {
            let say = Step::new(format!("say-{round}"), Effect::Say(text.clone()));
            // That it could not be said ends nothing: the answer follows.
            if self.facts.result(&say).is_none() {
                out.push(say);
            }
            self.answers.push(text);
        }
        for (number, task) in (1..).zip(tasks) {
            let handoff = Effect::Delegate(self.handoff(&task));
            let step = Step::new(format!("round-{round}/task-{number}"), handoff)
                .timeout_ms(self.input.delegation_ms);
            match self.facts.result(&step) {
                None => out.push(step),
                Some(result) => self.results.push(self.outcome(&task, result)),
            }
        }
        match out.is_empty() {
            true => Ok(()),
            false => Err(Next::Steps(out)),
        }
    }

    fn handoff(&self, task: &TaskRequest) -> Handoff {
        let correlation_id = task.correlation_id.as_str().into();
        let all = &self.input.words;
        // Nobody is told that the user said what the user did not say.
        let part = task.words.as_ref().map(|part| part.trim());
        let part = part.filter(|part| !part.is_empty() && all.contains(part));
        Handoff {
            agent: task.target.clone(),
            capability: task.task_type.clone(),
            text: part.unwrap_or(all).to_owned(),
            payload: task.payload.clone().map(Value::Object),
            files: !self.input.files.is_empty(),
            metadata: [("correlation_id".to_owned(), correlation_id)]
                .into_iter()
                .collect(),
            tool: String::new(),
        }
    }

    fn outcome(&self, task: &TaskRequest, result: &StepResult) -> TaskOutcome {
        let limit_s = (self.input.delegation_ms / 1000).max(1);
        let end = match result {
            StepResult::DelegationEnded(delegated) => {
                return TaskOutcome::of(task, delegated, limit_s);
            }
            // Only its time being over may pass.
            StepResult::Failed(failure) if failure.is_retryable => End::TimedOut(limit_s),
            StepResult::Failed(failure) => End::Lost(failure.message.clone()),
            _ => End::Cancelled("it was called back".to_owned()),
        };
        TaskOutcome::without_result(task, end)
    }

    fn undecided(&self, rejected: Option<Rejected>) -> RunOutcome {
        let text = format!(
            "I am sorry: I could not work out what to do with this. Please try again, or put it in other words.{}",
            self.so_far()
        );
        let shortfall = self.shortfall(Some(Undone::All));
        let mut data = shortfall.map_or(Value::Null, |shortfall| shortfall.to_json());
        data["undecided"] = rejected.map(|r| r.reason).unwrap_or_default().into();
        RunOutcome::with_data(text, data)
    }

    /// Shortfall of an answer of which this much is declared undone: the results of agents that gave none.
    fn shortfall(&self, declared: Option<Undone>) -> Option<Shortfall> {
        let ends: Vec<AgentEnd<'_>> = self.results.iter().map(TaskOutcome::agent_end).collect();
        let has_nothing = !ends.is_empty() && ends.iter().all(AgentEnd::gave_nothing);
        let undone = match has_nothing {
            true => Some(Undone::All),
            false => declared,
        };
        let is_short = undone.is_some() || AgentEnd::is_any_missing(&ends);
        let results = self.results.iter().map(TaskOutcome::sketched);
        is_short.then(|| Shortfall::new(undone, results.collect()))
    }

    /// The results in words, for when no model puts them into better ones.
    fn so_far(&self) -> String {
        let lines: Vec<String> = self.results.iter().map(TaskOutcome::plain).collect();
        match lines.is_empty() {
            true => String::new(),
            false => format!("\n\nThis is what came back:\n{}", lines.join("\n")),
        }
    }
}

/// A model's answer, its calls as JSON.
fn written(answer: &Completion) -> Cow<'_, str> {
    match answer.tool_calls.is_empty() {
        true => (&*answer.text).into(),
        false => format!("{}{}", answer.text, json!(answer.tool_calls)).into(),
    }
}

fn tasks(decision: Decision) -> impl Iterator<Item = TaskRequest> {
    decision
        .actions
        .into_iter()
        .filter_map(|action| match action {
            Action::Delegate(task) => Some(task),
            Action::Respond(_) => None,
        })
}

#[cfg(test)]
mod tests;

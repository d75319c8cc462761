//! The turns of a tool loop.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    AvailableTool, ErrorMode, FIND_AGENTS, FormCheck, Input, ToolQuery, Verdict,
    consent::{self, Consent},
    failures::{self, Report, ToolEnd},
    form::{self, CORRECTIONS},
    model_results::{model_turn, result_for_model},
    shortened::{MAX_TOKENS, shortened},
};
use crate::{
    effect::{Effect, Step},
    event::{RunOutcome, StepResult},
    facts::Facts,
    id::StepId,
    model::{Completion, PromptMessage, PromptPart, PromptRole, Request, ToolCall},
    strategy::Next,
};

const LAST_TURN: &str =
    "This is your last turn: no tool can be called any more. Answer with what you have.";

/// State of the turns so far.
pub(super) struct Turns {
    /// The current turn, and the state at its beginning.
    turn: u32,
    checkpoint: Checkpoint,
    input: Input,
    words: String,
    found: Vec<String>,
    messages: Vec<PromptMessage>,
    /// Calls that were dispatched or refused as too many.
    calls: u32,
    /// Invalid answers.
    rejected: u32,
    /// True if the depth of delegation is used up.
    is_deepest: bool,
    /// Reports on the called agents, in the order of the calls.
    reports: Vec<Report>,
    /// Ends of the agent's own tools.
    tools: Vec<ToolEnd>,
    /// Reason why the run ends while agents are at work, if it does.
    cut_short: Option<String>,
}

/// Sizes at the beginning of a turn, for rolling back.
#[derive(Clone, Copy)]
struct Checkpoint {
    found: usize,
    messages: usize,
    calls: u32,
    rejected: u32,
    reports: usize,
    tools: usize,
}

impl Turns {
    pub(super) fn new(input: Input, earlier: Vec<PromptMessage>) -> Self {
        let mut messages = Vec::new();
        if !input.instructions.is_empty() {
            messages.push(PromptMessage::system(&*input.instructions));
        }
        messages.extend(earlier);
        messages.extend_from_slice(&input.messages);
        let asked = input
            .messages
            .iter()
            .rev()
            .find(|m| m.role == PromptRole::User);
        Self {
            turn: 1,
            checkpoint: Checkpoint {
                found: 0,
                messages: messages.len(),
                calls: 0,
                rejected: 0,
                reports: 0,
                tools: 0,
            },
            words: asked.and_then(PromptMessage::text).unwrap_or_default(),
            found: Vec::new(),
            messages,
            calls: 0,
            rejected: 0,
            is_deepest: false,
            reports: Vec::new(),
            tools: Vec::new(),
            cut_short: None,
            input,
        }
    }

    /// Decides, and collects the agents' reports. Completed turns are not processed again.
    pub(super) fn next(&mut self, facts: &Facts) -> Next {
        self.is_deepest = facts.account().budget().depth == Some(0);
        self.go_back();
        for turn in self.turn.. {
            self.begin_turn(turn);
            let look = StepId::new(format!("look-{turn}"));
            let Some(seen) = facts.observed(&look) else {
                return Next::Steps(vec![self.look(look)]);
            };
            let offered = Vec::<AvailableTool>::deserialize(seen).unwrap_or_default();
            let step = self.question(turn);
            let answer = match facts.result(&step) {
                None => return Next::Steps(vec![self.ask(step, turn, &offered)]),
                Some(StepResult::ModelAnswered(answer)) => answer.clone(),
                Some(StepResult::Failed(failure)) => {
                    let error = format!("the model did not answer: {failure}");
                    return Next::Finish(self.failed(&error));
                }
                Some(_) => {
                    let error = "the model was not asked to the end";
                    return Next::Finish(self.failed(error));
                }
            };
            if answer.tool_calls.is_empty() || self.is_last(turn) {
                match self.answered(turn, &answer, facts) {
                    Some(next) => return next,
                    None => continue,
                }
            }
            let out = self.calls(turn, &answer, &offered, facts);
            if self.input.on_failure == ErrorMode::FailFast
                && let Some(outcome) = failures::fail_fast(&self.reports)
            {
                return Next::Finish(outcome);
            }
            if !out.is_empty() {
                return Next::Steps(out);
            }
        }
        unreachable!("the last turn is an end")
    }

    fn begin_turn(&mut self, turn: u32) {
        self.turn = turn;
        self.checkpoint = Checkpoint {
            found: self.found.len(),
            messages: self.messages.len(),
            calls: self.calls,
            rejected: self.rejected,
            reports: self.reports.len(),
            tools: self.tools.len(),
        };
    }

    /// Rolls back to the beginning of the current turn.
    fn go_back(&mut self) {
        self.found.truncate(self.checkpoint.found);
        self.messages.truncate(self.checkpoint.messages);
        self.calls = self.checkpoint.calls;
        self.rejected = self.checkpoint.rejected;
        self.reports.truncate(self.checkpoint.reports);
        self.tools.truncate(self.checkpoint.tools);
    }

    /// Outcome of a run that ends early. Agents without a result are reported as recalled.
    pub(super) fn cut_short(mut self, facts: &Facts, error: &str) -> RunOutcome {
        self.cut_short = Some(error.to_owned());
        // Collects the results that have arrived.
        let _ = self.next(facts);
        self.failed(error)
    }

    /// Outcome without an answer.
    pub(super) fn failed(&self, error: &str) -> RunOutcome {
        match self.input.on_failure {
            ErrorMode::Tell | ErrorMode::FailFast => RunOutcome::failed(error),
            ErrorMode::Continue if self.input.form.is_some() => {
                failures::unusable(error, &self.reports)
            }
            ErrorMode::Continue => failures::unanswered(error, &self.reports),
        }
    }

    /// Outcome with an answer, and what the model declares undone of it.
    fn completed(&self, text: String, data: Value, answer: &Completion) -> RunOutcome {
        let shortfall = failures::shortfall(answer.undone, &self.tools, &self.reports);
        let shortfall = shortfall.map(|known| known.lacking(answer.lacks.clone()));
        match self.input.on_failure {
            ErrorMode::Tell | ErrorMode::FailFast => failures::with(text, data, shortfall),
            ErrorMode::Continue => failures::answered(text, data, shortfall, &self.reports),
        }
    }

    /// True if no tools are offered in this turn.
    fn is_last(&self, turn: u32) -> bool {
        turn >= self.input.limits.turns.max(1) || self.rejected > 0
    }

    /// Handles an answer; `None` if it is requested again.
    fn answered(&mut self, turn: u32, answer: &Completion, facts: &Facts) -> Option<Next> {
        if self.input.form.is_none() {
            return Some(Next::Finish(match answer.text.trim().is_empty() {
                true => self.failed("the model gave an empty answer"),
                false => self.completed(answer.text.clone(), Value::Null, answer),
            }));
        }
        let check = StepId::new(format!("check-{turn}"));
        let Some(seen) = facts.observed(&check) else {
            let look = json!(FormCheck {
                answer: answer.text.clone()
            });
            return Some(Next::Steps(vec![Step::new(
                check.as_str(),
                Effect::Look(look),
            )]));
        };
        let reason = match Verdict::deserialize(seen) {
            Ok(Verdict::Fits { text, data }) => {
                return Some(Next::Finish(self.completed(text, data, answer)));
            }
            Ok(Verdict::Rejected(reason)) => reason,
            Err(error) => error.to_string(),
        };
        if self.rejected >= CORRECTIONS {
            let error = format!("the answer could not be used: {reason}");
            return Some(Next::Finish(self.failed(&error)));
        }
        self.rejected += 1;
        self.messages.extend(form::rejected(&answer.text, &reason));
        None
    }

    fn look(&self, id: StepId) -> Step {
        let query = ToolQuery {
            words: self.words.clone(),
            found: self.found.clone(),
        };
        Step::new(id.as_str(), Effect::Look(json!(query)))
    }

    /// The question of a turn, without its result.
    fn question(&self, turn: u32) -> Step {
        let timeout_ms = self.input.limits.model_timeout_ms;
        Step::ask(format!("turn-{turn}"), Request::default()).timeout_ms(timeout_ms)
    }

    fn ask(&self, question: Step, turn: u32, offered: &[AvailableTool]) -> Step {
        let mut request = Request::new(shortened(self.messages.clone(), MAX_TOKENS));
        match self.is_last(turn) {
            true if turn > 1 && self.rejected == 0 => {
                request.messages.push(PromptMessage::system(LAST_TURN));
            }
            true => {}
            false => request.tools = offered.iter().map(|o| o.tool.clone()).collect(),
        }
        if let Some(form) = &self.input.form {
            form.ask_for(&mut request);
        }
        request.asker = self.input.asker.clone();
        request.temperature = self.input.temperature;
        request.max_output_tokens = self.input.max_output_tokens;
        Step {
            effect: Effect::Ask(Box::new(request)),
            ..question
        }
    }

    /// The calls of a turn that have not returned; if there are none, their results have been added to the
    /// conversation.
    fn calls(
        &mut self,
        turn: u32,
        answer: &Completion,
        offered: &[AvailableTool],
        facts: &Facts,
    ) -> Vec<Step> {
        let mut out = Vec::new();
        let mut results = Vec::new();
        for (number, call) in (1..).zip(&answer.tool_calls) {
            let id = format!("turn-{turn}/call-{number}");
            let value = match self.begin(id, call, offered, facts) {
                Err(refused) => json!({ "error": refused }),
                Ok(step) => match facts.result(&step) {
                    None => {
                        if let (Some(error), Effect::Delegate(handoff)) =
                            (&self.cut_short, &step.effect)
                        {
                            let is_out = facts.record(&step.id).is_some();
                            let report = Report::without_result(handoff, is_out, error);
                            self.reports.push(report);
                        }
                        out.push(step);
                        continue;
                    }
                    Some(result) => {
                        self.remember_found(call, result);
                        self.came_back(&step, result)
                    }
                },
            };
            results.push(PromptPart::ToolResult {
                call_id: call.id.clone(),
                name: call.name.clone(),
                value,
            });
        }
        if out.is_empty() {
            self.messages.push(model_turn(answer));
            self.messages
                .push(PromptMessage::new(PromptRole::Tool, results));
        }
        out
    }

    /// The step of a call, or the reason why it is refused.
    fn begin(
        &mut self,
        id: String,
        call: &ToolCall,
        offered: &[AvailableTool],
        facts: &Facts,
    ) -> Result<Step, String> {
        let limits = self.input.limits;
        let Some(offer) = offered.iter().find(|o| o.tool.name == call.name) else {
            let names: Vec<&str> = offered.iter().map(|o| &*o.tool.name).collect();
            let names = names.join(", ");
            return Err(format!(
                "there is no tool {}; there are: {names}",
                call.name
            ));
        };
        if self.calls >= limits.tool_calls {
            let most = limits.tool_calls;
            return Err(format!(
                "all {most} calls of tools are used up: answer without them"
            ));
        }
        self.calls += 1;
        Ok(match &offer.agent {
            None => {
                if offer.needs_approval {
                    let Input { run, agent, .. } = &self.input;
                    match consent::of_call(run, agent, &id, call, facts) {
                        Consent::Given => {}
                        Consent::Wanted(question) => return Ok(*question),
                        Consent::Refused(why) => return Err(why),
                    }
                }
                Step::new(id, Effect::Call(call.clone())).timeout_ms(limits.tool_timeout_ms)
            }
            Some(_) if self.is_deepest => {
                return Err(
                    "work is handed on as deep as it may be: answer without other agents".into(),
                );
            }
            Some(peer) => {
                let is_known = facts.record(&StepId::new(&*id)).is_some();
                let handoff = peer.handoff(call, &offer.tool.parameters, is_known)?;
                Step::new(id, Effect::Delegate(handoff)).timeout_ms(limits.agent_timeout_ms)
            }
        })
    }

    /// Tool result for a returned step.
    fn came_back(&mut self, step: &Step, result: &StepResult) -> Value {
        let handoff = match &step.effect {
            Effect::Delegate(handoff) => handoff,
            Effect::Call(call) if call.name != FIND_AGENTS => {
                self.tools.push(ToolEnd::of(call, result));
                return result_for_model(result);
            }
            _ => return result_for_model(result),
        };
        let report = Report::of(handoff, result);
        let value = match (self.input.on_failure, result) {
            (ErrorMode::Tell, _) | (_, StepResult::DelegationEnded(_)) => result_for_model(result),
            _ => report.for_model(),
        };
        self.reports.push(report);
        value
    }

    fn remember_found(&mut self, call: &ToolCall, result: &StepResult) {
        if call.name != FIND_AGENTS {
            return;
        }
        if let StepResult::ToolReturned(output) = result {
            let agents = output.value["agents"].as_array().into_iter().flatten();
            let ids = agents.filter_map(|agent| agent["id"].as_str());
            self.found.extend(ids.map(str::to_owned));
        }
    }
}

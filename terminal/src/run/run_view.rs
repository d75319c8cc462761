//! View of a run, folded from its frames.

use agenthub_proto::{cortex::Frame, json};
use serde_json::Value;

use super::{
    bundle::Verdict,
    question::{details, headline, own_question},
    steps::{self, Step},
    work::{InHand, Work},
    workflow_steps,
};
use crate::output::cut;

/// The longest line about something on the way, in characters.
const MAX_LINE: usize = 200;

/// The issues of a review that are shown.
const MAX_ISSUES: usize = 5;

/// The longest arguments of a tool's call in a line, in characters.
const MAX_ARGUMENTS: usize = 100;

/// The keys that answer a question, behind it.
const KEYS: &str = " [y/n]";

/// The end of a text that grows, in characters.
const MAX_TEXT: usize = 4_096;

/// Something to see.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Show {
    /// Something that happened.
    Line(String),
    /// A person is asked to allow this.
    Ask(Asked),
    /// The question is answered, or needs no answer any more.
    Answered(String),
}

/// An approval that a person is asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Asked {
    pub id: String,
    pub step: String,
    pub agent: String,
    pub capability: String,
    pub arguments: Value,
}

/// End of a run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum End {
    /// With this.
    Completed(Value),
    /// Without anything, for this reason.
    Failed(String),
}

/// State of a run, as its frames show it.
#[derive(Clone, Debug, Default)]
pub(crate) struct View {
    phase: String,
    steps: Vec<Step>,
    in_hand: InHand,
    /// The text that grows.
    text: String,
    tokens: u64,
    /// True if some of the tokens are an estimate.
    is_estimated: bool,
    calls: u64,
    score: Option<f64>,
    /// Approvals that wait, oldest first: the id, and the step.
    asked: Vec<(String, String)>,
    /// The text that came last, until it is known whether it is the result.
    said: Option<String>,
    /// True if its steps tell of themselves, as those of workflows do.
    is_workflow: bool,
    begun: workflow_steps::Begun,
    end: Option<End>,
}

impl View {
    /// Takes the next frame in.
    pub(crate) fn apply(&mut self, frame: &Frame) -> Vec<Show> {
        let data = frame.data.as_ref().map(json::from_struct);
        let data = data.unwrap_or(Value::Null);
        let said = frame.message.as_str();
        let mut shows = self.held_back(frame, &data);
        shows.extend(match frame.r#type.as_str() {
            "phase" => self.phase(&frame.phase, said),
            "plan_update" => self.plan(said, &data),
            "handoff" => self.handoff(said, &data),
            "delta" => {
                self.grow(said, data["append"] != false);
                Vec::new()
            }
            "tool_call" => {
                let arguments = cut(&short(&data["args"]), MAX_ARGUMENTS);
                line(format!("  {}: {said}({arguments})", agent_of(&data)))
            }
            "tool_result" => match data["error"].as_str() {
                Some(error) => line(format!("  {}: {said} failed: {error}", agent_of(&data))),
                None => Vec::new(),
            },
            "message" if data["review"].is_object() => self.review(said, &data["review"]),
            "message" => {
                self.said = Some(said.to_owned());
                Vec::new()
            }
            "step" => {
                self.is_workflow = true;
                let text = workflow_steps::apply(&mut self.steps, &mut self.begun, said, &data);
                line(text)
            }
            "warning" => {
                if let (Some(step), Some(state)) = (data["step"].as_str(), data["state"].as_str()) {
                    self.came_to_nothing(step, state);
                }
                line(format!("warning: {said}"))
            }
            "approval" => self.approval(said, &data),
            "metrics" => {
                self.metrics(&data);
                Vec::new()
            }
            "complete" => self.ended(End::Completed(data)),
            "error" => self.ended(End::Failed(said.to_owned())),
            _ => Vec::new(),
        });
        shows
    }

    /// Findings of a review.
    fn review(&mut self, said: &str, review: &Value) -> Vec<Show> {
        self.score = review["score"].as_f64().or(self.score);
        let mut shows = line(said.to_owned());
        let issues = review["issues"].as_array().into_iter().flatten();
        let issues = issues.filter_map(Value::as_str).take(MAX_ISSUES);
        shows.extend(issues.flat_map(|issue| line(format!("  {issue}"))));
        shows
    }

    /// The text from before this frame, unless it comes as the result.
    fn held_back(&mut self, frame: &Frame, data: &Value) -> Vec<Show> {
        if frame.r#type == "metrics" {
            return Vec::new();
        }
        let said = self.said.take();
        let is_result = |said: &String| data["message"].as_str() == Some(said);
        let said = said.filter(|said| frame.r#type != "complete" || !is_result(said));
        said.map(line).unwrap_or_default()
    }

    /// The steps of the plan, each behind those that it waits for.
    pub(crate) fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The end of the text that is being written; empty while none is.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The work in hand, in one line, at a time in milliseconds since 1970.
    pub(crate) fn status(&self, now_ms: u64) -> String {
        let at_work: Vec<&str> = match self.is_workflow {
            true => {
                let open = self.steps.iter().filter(|step| step.open > 0);
                open.map(|step| step.name.as_str()).collect()
            }
            false => self.in_hand.agents(),
        };
        let doing = match (self.asked.is_empty(), at_work.as_slice()) {
            (true, []) if self.is_workflow => self
                .retrying(now_ms)
                .unwrap_or_else(|| "the workflow goes on".to_owned()),
            (false, _) => "waiting for your answer".to_owned(),
            (true, []) => "Cortex decides what is next".to_owned(),
            (true, [agent]) => format!("{agent} is at work"),
            (true, agents) => format!("{} are at work", agents.join(" and ")),
        };
        let mut parts = vec![doing];
        if !self.phase.is_empty() {
            parts.insert(0, self.phase.clone());
        }
        parts.extend(self.score.map(|score| format!("score {score:.2}")));
        parts.extend(self.cost());
        parts.join(" · ")
    }

    /// Text on the next attempt, where a step waits for one.
    fn retrying(&self, now_ms: u64) -> Option<String> {
        let waits = |step: &&Step| step.retried_ms.is_some();
        let next = self.steps.iter().filter(waits);
        let next = next.min_by_key(|step| step.retried_ms)?;
        let left_ms = next.retried_ms?.saturating_sub(now_ms);
        let (name, attempt, left) = (&next.name, next.attempt, left_ms.div_ceil(1_000));
        Some(format!("{name}: attempt {attempt} follows in {left} s"))
    }

    /// The usage so far, if anything is known of it.
    pub(crate) fn cost(&self) -> Option<String> {
        let tokens = match (self.tokens, self.is_estimated) {
            (tokens @ 1.., true) => format!("about {tokens} tokens (an estimate)"),
            (tokens, _) => format!("{tokens} tokens"),
        };
        match (self.tokens, self.calls) {
            (0, 0) => None,
            (_, 0) => Some(tokens),
            (_, 1) => Some(format!("{tokens}, 1 call")),
            (_, calls) => Some(format!("{tokens}, {calls} calls")),
        }
    }

    /// The end, if there is one.
    pub(crate) fn end(&self) -> Option<&End> {
        self.end.as_ref()
    }

    fn phase(&mut self, phase: &str, said: &str) -> Vec<Show> {
        if self.phase == phase {
            return Vec::new();
        }
        phase.clone_into(&mut self.phase);
        line(match said.is_empty() {
            true => phase.to_owned(),
            false => format!("{phase}: {said}"),
        })
    }

    fn plan(&mut self, note: &str, data: &Value) -> Vec<Show> {
        let before = std::mem::take(&mut self.steps);
        self.steps = steps::of(&data["plan"]);
        for step in &mut self.steps {
            if let Some(known) = before.iter().find(|s| s.name == step.name) {
                step.state.clone_from(&known.state);
            }
        }
        let added = self
            .steps
            .iter()
            .filter(|s| before.iter().all(|b| b.name != s.name));
        let added: Vec<&str> = added.map(|step| step.name.as_str()).collect();
        let mut text = match data["version"].as_u64() {
            Some(version) => format!("plan {version}"),
            None => "plan".to_owned(),
        };
        if !added.is_empty() {
            text += &format!(": {}", added.join(", "));
        }
        if !note.is_empty() {
            text += &format!(" ({note})");
        }
        line(text)
    }

    fn handoff(&mut self, stage: &str, data: &Value) -> Vec<Show> {
        match stage {
            "requested" => {
                let work = Work::read(data, "to");
                self.state(&work.step, "working");
                self.text.clear();
                let text = format!("→ {}", work.named());
                self.in_hand.requested(work);
                line(text)
            }
            "occurred" => {
                self.in_hand.occurred(Work::read(data, "to"));
                Vec::new()
            }
            "returned" => {
                let state = data["state"].as_str().unwrap_or("completed");
                let work = self.in_hand.returned(Work::read(data, "from"));
                self.text.clear();
                self.state(&work.step, state);
                line(match (state, data["undone"].as_str()) {
                    ("completed", None) => format!("✓ {} is done", work.named()),
                    ("completed", Some("all")) => {
                        format!("◐ {} did nothing of it", work.named())
                    }
                    ("completed", Some(_)) => format!("◐ {} has done a part of it", work.named()),
                    (state, _) => format!("✗ {} {state}", work.named()),
                })
            }
            // What it says on its way.
            _ => match (data["from"].as_str(), data["text"].as_str()) {
                (Some(agent), Some(said)) => line(format!("  {agent}: {said}")),
                _ => Vec::new(),
            },
        }
    }

    fn grow(&mut self, piece: &str, append: bool) {
        if !append {
            self.text.clear();
        }
        self.text.push_str(piece);
        let excess = self.text.char_indices().rev().nth(MAX_TEXT - 1);
        if let Some((start, _)) = excess {
            self.text.drain(..start);
        }
    }

    fn approval(&mut self, stage: &str, data: &Value) -> Vec<Show> {
        let of = |field: &str| data[field].as_str().unwrap_or_default().to_owned();
        if stage == "asked" {
            let asked = Asked {
                id: of("id"),
                step: of("subject"),
                agent: of("agent"),
                capability: of("capability"),
                arguments: data["arguments"].clone(),
            };
            self.state(&asked.step, "awaiting-approval");
            self.asked.push((asked.id.clone(), asked.step.clone()));
            return vec![Show::Ask(asked)];
        }
        let known = self.asked.iter().position(|(id, _)| *id == of("id"));
        let Some(at) = known.or_else(|| (!self.asked.is_empty()).then_some(0)) else {
            return Vec::new();
        };
        let (id, step) = self.asked.remove(at);
        let state = match stage {
            "approved" => "ready",
            _ => {
                self.begun.refused(&step);
                "refused"
            }
        };
        self.state(&step, state);
        let mut text = format!("{stage}: {step}");
        for (word, field) in [("by", "by"), ("because", "comment")] {
            let said = of(field);
            if !said.is_empty() {
                text += &format!(", {word} {said}");
            }
        }
        let mut shows = line(text);
        shows.push(Show::Answered(id));
        shows
    }

    /// Usage of one decision or handoff, or the sum at the end.
    fn metrics(&mut self, data: &Value) {
        let number = |field: &str| data[field].as_u64().unwrap_or_default();
        let before = match data["total"] == true {
            true => (0, 0),
            false => (self.tokens, self.calls),
        };
        self.is_estimated |= data["estimated"] == true;
        self.tokens = before.0 + number("tokens");
        self.calls = before.1 + number("calls");
    }

    fn ended(&mut self, end: End) -> Vec<Show> {
        self.in_hand.clear();
        self.text.clear();
        if self.is_workflow && matches!(end, End::Completed(_)) {
            workflow_steps::over(&mut self.steps);
        }
        for step in &mut self.steps {
            if matches!(step.state.as_str(), "waiting" | "ready") {
                "not-reached".clone_into(&mut step.state);
            }
        }
        self.end = Some(end);
        let asked = std::mem::take(&mut self.asked).into_iter();
        asked.map(|(id, _)| Show::Answered(id)).collect()
    }

    /// A step has ended without an output. One that a person did not allow stays refused: this is its reason.
    fn came_to_nothing(&mut self, step: &str, state: &str) {
        let is_it = |known: &Step| known.name == step && known.state == "refused";
        if !self.steps.iter().any(is_it) {
            self.state(step, state);
        }
    }

    fn state(&mut self, step: &str, state: &str) {
        if let Some(step) = self.steps.iter_mut().find(|s| s.name == step) {
            state.clone_into(&mut step.state);
        }
    }
}

impl End {
    /// Meaning of the exit code.
    pub(crate) fn verdict(&self) -> Verdict {
        match self {
            Self::Completed(result) => Verdict::of(result),
            Self::Failed(_) => Verdict::Failed,
        }
    }
}

impl Asked {
    /// The question in one line.
    pub(crate) fn headline(&self) -> String {
        headline(&self.agent, &self.capability, &self.step, &self.arguments)
    }

    /// The prompt for the answer, in at most `width` characters.
    pub(crate) fn prompt(&self, width: usize) -> String {
        let question = match own_question(&self.agent, &self.arguments) {
            Some(question) => format!("{}: {question}", self.step),
            None => format!("Allow {} to do {}?", self.agent, self.capability),
        };
        let room = width.saturating_sub(KEYS.chars().count());
        format!("{}{KEYS}", cut(&question, room))
    }

    /// The lines to read before one allows it.
    pub(crate) fn lines(&self) -> String {
        let headline = self.headline();
        let details = details(&self.agent, &self.arguments, 2);
        let lines = format!("? {headline}. {details}");
        lines.trim_end().to_owned()
    }
}

fn line(text: String) -> Vec<Show> {
    vec![Show::Line(cut_end(&text))]
}

/// Like `cut`, but keeps what the line is indented by.
fn cut_end(text: &str) -> String {
    let indent = text.len() - text.trim_start().len();
    format!("{}{}", &text[..indent], cut(text, MAX_LINE))
}

fn agent_of(data: &Value) -> &str {
    data["agent"].as_str().unwrap_or("an agent")
}

/// A value in one line; texts without quotes.
fn short(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(k, v)| format!("{k}: {}", short(v)));
            fields.collect::<Vec<_>>().join(", ")
        }
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
#[path = "run_view_tests.rs"]
pub(super) mod tests;

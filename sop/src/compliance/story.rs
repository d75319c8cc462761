//! Made-up journals.

use agenthub_sdk::{
    model::{Completion, PromptMessage, PromptPart, ToolCall, ToolSpec},
    runs::{
        Budget, DelegationResult, EffectFailure, Handoff, RunEvent, RunOutcome, SentHandoff, Spent,
        StepId, StepRequest, StepResult, ToolOutput,
        event::RunStarted,
        tool_loop::{AvailableTool, Input},
    },
};
use serde_json::{Value, json};

use super::{Procedure, Transcript};
use crate::{Level, Rule};

/// A run that is told step by step. Each step takes a second.
pub(super) struct Story {
    pub(super) events: Vec<RunEvent>,
    turn: u32,
    now: u64,
}

/// The rules of a body, one a line, all under one heading.
pub(super) fn rules(texts: &[&str]) -> Vec<Rule> {
    let rule = |(number, text): (u32, &&str)| Rule {
        id: format!("R{number}"),
        level: match *text {
            text if text.contains("MUST NOT") || text.contains("SHALL NOT") => Level::MustNot,
            text if text.contains("SHOULD NOT") => Level::ShouldNot,
            text if text.contains("SHOULD") => Level::Should,
            text if text.contains("MAY") => Level::May,
            _ => Level::Must,
        },
        text: (*text).to_owned(),
        section: "Work".to_owned(),
        above: Vec::new(),
        line: 10 + number,
    };
    (1..).zip(texts).map(rule).collect()
}

impl Story {
    /// An editor with these rules is asked to write about bees. It can ask a researcher, who takes a topic, and a critic, and search the web.
    pub(super) fn new(texts: &[&str]) -> Self {
        let about = json!({ "sop": {
            "name": "editor", "version": "1.2", "file": "sops/editor.md", "digest": "abc", "rules": rules(texts),
        } });
        Self::about(about)
    }

    pub(super) fn about(about: Value) -> Self {
        let input = Input {
            instructions: "Never shown.".into(),
            messages: vec![PromptMessage::user("Write about bees.")],
            about,
            ..Input::default()
        };
        let started = RunEvent::Started(RunStarted {
            strategy: "tool_loop".into(),
            input: json!(input),
            thread: String::new(),
            origin: Value::Null,
            budget: Budget::default(),
            deadline_ms: None,
            at_ms: 1_800_000_000_000,
        });
        let mut story = Self {
            events: vec![started],
            turn: 0,
            now: 1_800_000_000_000,
        };
        let offered = ["researcher", "critic"].map(agent).into_iter();
        let search = json!([{ "tool": ToolSpec {
            name: "web_search".into(), description: String::new(), parameters: json!({}), agent: None,
        } }]);
        let mut offered: Vec<Value> = offered.collect();
        offered.extend(search.as_array().cloned().unwrap_or_default());
        let offered: Vec<AvailableTool> =
            serde_json::from_value(offered.into()).expect("they can be read");
        let at_ms = story.later();
        story.events.push(RunEvent::Observed {
            step: StepId::new("look-1"),
            value: Some(json!(offered)),
            same_as: None,
            at_ms,
        });
        story
    }

    /// The words of the request.
    pub(super) fn asks(&mut self, words: &str) {
        if let Some(RunEvent::Started(started)) = self.events.first_mut() {
            started.input["messages"] = json!([PromptMessage::user(words)]);
        }
    }

    /// Data that goes with the request.
    pub(super) fn input(&mut self, value: Value) {
        let Some(RunEvent::Started(started)) = self.events.first_mut() else {
            return;
        };
        let parts = &mut started.input["messages"][0]["parts"];
        let data = |label: &str, value: Value| {
            json!(PromptPart::Data {
                label: label.to_owned(),
                value
            })
        };
        let parts = parts.as_array_mut().expect("they are a list");
        parts.extend([
            data("input", value),
            data("asked_for", json!({ "skill": "editor" })),
        ]);
    }

    fn later(&mut self) -> u64 {
        self.now += 1_000;
        self.now
    }

    fn begin(&mut self, step: &str, what: StepRequest) {
        let at_ms = self.later();
        self.events.push(RunEvent::StepBegun {
            step: StepId::new(step),
            attempt: 1,
            what,
            grant: Budget::default(),
            deadline_ms: None,
            at_ms,
        });
    }

    fn end(&mut self, step: &str, result: StepResult) {
        let at_ms = self.later();
        self.events.push(RunEvent::StepEnded {
            step: StepId::new(step),
            attempt: 1,
            result,
            spent: None,
            at_ms,
        });
    }

    /// The model calls these at the same time: agents by id with a task, tools with an input.
    pub(super) fn calls(mut self, calls: &[(&str, &str)]) -> Self {
        let turn = self.ask(calls, "");
        for (n, (name, task)) in (1..).zip(calls) {
            let what = match *name {
                "web_search" => StepRequest::ToolCalled(call(name, task)),
                agent => StepRequest::Delegated(SentHandoff {
                    handoff: Handoff {
                        agent: agent.to_owned(),
                        text: (*task).to_owned(),
                        payload: (agent == "researcher").then(|| json!({ "topic": "bees" })),
                        tool: format!("agent_{agent}"),
                        ..Handoff::default()
                    },
                    task_id: format!("task-{turn}-{n}"),
                    message_id: format!("message-{turn}-{n}"),
                    deadline_ms: 0,
                    budget: Budget::default(),
                }),
            };
            self.begin(&format!("turn-{turn}/call-{n}"), what);
        }
        for (n, (name, _)) in (1..).zip(calls) {
            let result = match *name {
                "web_search" => StepResult::ToolReturned(ToolOutput::from("three pages")),
                agent => StepResult::DelegationEnded(DelegationResult {
                    agent: agent.to_owned(),
                    state: "completed".into(),
                    text: format!("This is what {agent} found."),
                    ..DelegationResult::default()
                }),
            };
            self.end(&format!("turn-{turn}/call-{n}"), result);
        }
        self
    }

    /// The model calls an agent, which gives this text.
    pub(super) fn gives(self, agent: &str, task: &str, text: &str) -> Self {
        let mut story = self.calls(&[(agent, task)]);
        if let Some(RunEvent::StepEnded {
            result: StepResult::DelegationEnded(ended),
            ..
        }) = story.events.last_mut()
        {
            ended.text = text.to_owned();
        }
        story
    }

    /// The model calls an agent, which fails.
    pub(super) fn fails_of(self, agent: &str, task: &str) -> Self {
        let mut story = self.calls(&[(agent, task)]);
        if let Some(RunEvent::StepEnded {
            result: StepResult::DelegationEnded(ended),
            ..
        }) = story.events.last_mut()
        {
            "failed".clone_into(&mut ended.state);
        }
        story
    }

    /// The model calls an agent, which says that it did nothing.
    pub(super) fn does_nothing_of(self, agent: &str, task: &str) -> Self {
        let mut story = self.calls(&[(agent, task)]);
        if let Some(RunEvent::StepEnded {
            result: StepResult::DelegationEnded(ended),
            ..
        }) = story.events.last_mut()
        {
            ended.data = vec![json!({"partial": true, "undone": "all", "results": []})];
        }
        story
    }

    /// The model wants to call something, and it does not go out.
    pub(super) fn refused(mut self, tool: &str) -> Self {
        self.ask(&[(tool, "please")], "");
        self
    }

    fn ask(&mut self, calls: &[(&str, &str)], text: &str) -> u32 {
        self.turn += 1;
        let step = format!("turn-{}", self.turn);
        let asked = StepRequest::ModelAsked {
            prompt: String::new(),
            tools: String::new(),
            max_output_tokens: None,
        };
        self.begin(&step, asked);
        let named = |name: &str| match name {
            "web_search" => name.to_owned(),
            agent => format!("agent_{agent}"),
        };
        let tool_calls = calls.iter().map(|(name, task)| call(&named(name), task));
        let answer = Completion {
            text: text.to_owned(),
            tool_calls: tool_calls.collect(),
            usage: None,
            undone: None,
            lacks: Vec::new(),
        };
        self.end(&step, StepResult::ModelAnswered(answer));
        self.turn
    }

    /// The model answers, and the run is over.
    pub(super) fn answers(mut self, text: &str) -> Self {
        self.ask(&[], text);
        self.ends(RunOutcome::completed(text))
    }

    /// The model cannot be reached, and the run is over.
    pub(super) fn fails(mut self, error: &str) -> Self {
        self.end("turn-9", StepResult::Failed(EffectFailure::lasting(error)));
        self.ends(RunOutcome::failed(format!(
            "the model did not answer: {error}"
        )))
    }

    /// The run is over.
    pub(super) fn ends(mut self, outcome: RunOutcome) -> Self {
        let at_ms = self.later();
        self.events.push(RunEvent::Ended {
            outcome,
            spent: Spent::default(),
            at_ms,
        });
        self
    }

    pub(super) fn transcript(&self) -> Transcript {
        Transcript::of(&self.events)
    }

    pub(super) fn procedure(&self) -> Procedure {
        Procedure::of(&self.events).expect("it has rules")
    }
}

fn agent(id: &str) -> Value {
    let mut parameters = json!({ "properties": { "task": {} } });
    if id == "researcher" {
        parameters["properties"]["topic"] = json!({ "type": "string" });
    }
    let tool = ToolSpec {
        name: format!("agent_{id}"),
        description: String::new(),
        parameters,
        agent: None,
    };
    json!({ "tool": tool, "agent": { "id": id, "skills": [id] } })
}

fn call(name: &str, task: &str) -> ToolCall {
    ToolCall {
        id: "c".into(),
        name: name.to_owned(),
        arguments: json!({ "task": task }),
    }
}

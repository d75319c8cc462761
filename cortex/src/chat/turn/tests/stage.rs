//! A run whose world is the test.

use super::*;

/// A run whose world is this test. What goes out is noted; what comes back is told.
pub(super) struct Run {
    pub(super) events: Vec<RunEvent>,
}

impl Run {
    pub(super) fn new(change: impl FnOnce(&mut Input)) -> Self {
        let mut input = Input {
            words: "dig and sing".to_owned(),
            longest: 1_000,
            max_rounds: 3,
            delegation_ms: 120_000,
            ..Input::default()
        };
        change(&mut input);
        let started = RunStarted {
            strategy: ChatTurn.name().to_owned(),
            input: json!(input),
            thread: String::new(),
            origin: Value::Null,
            budget: Budget::default(),
            deadline_ms: None,
            at_ms: 0,
        };
        Self {
            events: vec![RunEvent::Started(started)],
        }
    }

    /// A run that has looked, with two agents here.
    pub(super) fn looked() -> Self {
        let mut run = Self::new(|_| {});
        run.sees("look-1", &seen());
        run
    }

    pub(super) fn next(&self) -> Next {
        ChatTurn.next(&Facts::of(&self.events))
    }

    /// The names of the steps that are wanted, those that are out among them.
    pub(super) fn wanted(&self) -> Vec<String> {
        let names = |step: &Step| step.id.to_string();
        self.steps().iter().map(names).collect()
    }

    pub(super) fn steps(&self) -> Vec<Step> {
        match self.next() {
            Next::Steps(steps) => steps,
            Next::Finish(outcome) => panic!("{outcome:?}"),
        }
    }

    pub(super) fn outcome(&self) -> RunOutcome {
        match self.next() {
            Next::Finish(outcome) => outcome,
            Next::Steps(steps) => panic!("{steps:?}"),
        }
    }

    /// The question that goes out.
    pub(super) fn question(&self) -> Request {
        match self.steps().remove(0).effect {
            Effect::Ask(request) => *request,
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn sees(&mut self, step: &str, seen: &TurnContext) {
        self.events.push(RunEvent::Observed {
            step: StepId::new(step),
            value: Some(json!(seen)),
            same_as: None,
            at_ms: 0,
        });
    }

    /// Sends out what is wanted, as the driver does.
    pub(super) fn send_out(&mut self) {
        let run = agenthub_sdk::runs::RunId::new("r");
        let facts = Facts::of(&self.events);
        for action in agenthub_sdk::runs::run::next(&run, &facts, &ChatTurn, 0, 32) {
            if let Action::Begin(event, work) = action {
                assert!(!matches!(work.what, Outgoing::Call(_)));
                self.events.push(event);
            }
        }
    }

    pub(super) fn comes_back(&mut self, step: &str, result: StepResult) {
        self.send_out();
        self.events.push(RunEvent::StepEnded {
            step: StepId::new(step),
            attempt: 1,
            result,
            spent: None,
            at_ms: 0,
        });
    }

    pub(super) fn answers(&mut self, step: &str, text: impl ToString) {
        self.calls(step, text, &[]);
    }

    /// The model answers with these calls.
    pub(super) fn calls(&mut self, step: &str, text: impl ToString, calls: &[(&str, Value)]) {
        let calls = calls
            .iter()
            .zip(1..)
            .map(|((name, arguments), id)| ToolCall {
                id: format!("call_{id}"),
                name: (*name).to_owned(),
                arguments: arguments.clone(),
            });
        let answer = Completion {
            text: text.to_string(),
            tool_calls: calls.collect(),
            ..Completion::default()
        };
        self.comes_back(step, StepResult::ModelAnswered(answer));
    }

    pub(super) fn works(&mut self, step: &str, state: &str, text: &str, error: &str) {
        let delegated = DelegationResult {
            agent: "agent".to_owned(),
            state: state.to_owned(),
            text: text.to_owned(),
            error: error.to_owned(),
            ..DelegationResult::default()
        };
        self.comes_back(step, StepResult::DelegationEnded(delegated));
    }

    pub(super) fn sent(&self) -> Vec<SentHandoff> {
        let sent = self.events.iter().filter_map(|event| match event {
            RunEvent::StepBegun {
                what: StepRequest::Delegated(sent),
                ..
            } => Some(sent.clone()),
            _ => None,
        });
        sent.collect()
    }
}

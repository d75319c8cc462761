//! Tool loops with structured answers.

use agenthub_runs::{
    Effect, Next, RunOutcome, StepResult, Strategy, ToolOutput,
    model::{Completion, Output, PromptMessage, Request, ToolCall, ToolSpec},
    tool_loop::{AnswerForm, AvailableTool, Input, ToolLoop, Verdict},
};
use serde_json::{Value, json};

use crate::support::{begins, simulation::Simulation};

/// A run with a form, optionally with a tool.
fn begun(has_tool: bool) -> Simulation {
    let form = AnswerForm {
        name: "report".into(),
        schema: json!({"type": "object"}),
    };
    let input = Input {
        messages: vec![PromptMessage::user("report")],
        form: Some(form),
        ..Input::default()
    };
    let mut run = Simulation::new(begins("tool_loop", json!(input)));
    let tool = AvailableTool {
        needs_approval: false,
        tool: ToolSpec {
            name: "count".into(),
            description: String::new(),
            parameters: json!({}),
            agent: None,
        },
        agent: None,
    };
    run.looks = json!(has_tool.then_some(tool).into_iter().collect::<Vec<_>>());
    run
}

fn question(run: &mut Simulation) -> Request {
    run.settle(&ToolLoop);
    let Next::Steps(steps) = ToolLoop.next(&run.facts) else {
        panic!("it is over: {:?}", run.ended());
    };
    match &steps[..] {
        [step] => match &step.effect {
            Effect::Ask(request) => (**request).clone(),
            other => panic!("{other:?}"),
        },
        steps => panic!("{steps:?}"),
    }
}

/// The model answers, and the validation returns this verdict.
fn answers(run: &mut Simulation, turn: u32, text: &str, verdict: &Verdict) {
    let completion = Completion {
        text: text.to_owned(),
        ..Completion::default()
    };
    let answered = StepResult::ModelAnswered(completion);
    run.ends(&format!("turn-{turn}"), answered, None);
    run.looks = json!(verdict);
}

fn rejected(why: &str) -> Verdict {
    Verdict::Rejected(why.to_owned())
}

fn fits(text: &str, data: Value) -> Verdict {
    Verdict::Fits {
        text: text.to_owned(),
        data,
    }
}

#[test]
fn an_answer_that_fits_is_the_result_in_words_and_as_data() {
    let mut run = begun(false);
    let asked = question(&mut run);
    let Output::Json { name, schema } = &asked.output else {
        panic!("it is asked for words");
    };
    assert_eq!((&**name, schema), ("report", &json!({"type": "object"})));
    let fits = fits("ten", json!({"n": 10}));
    answers(&mut run, 1, "{\"n\":10}", &fits);
    run.settle(&ToolLoop);
    let expected = RunOutcome::with_data("ten", json!({"n": 10}));
    assert_eq!(run.ended(), Some(&expected));
}

/// spec: SOP-8.7
#[test]
fn what_an_answer_in_a_form_lacks_stands_beside_its_data() {
    let mut run = begun(true);
    question(&mut run);
    let call = ToolCall {
        id: "c1".into(),
        name: "count".into(),
        arguments: json!({}),
    };
    let calls = StepResult::ModelAnswered(Completion {
        tool_calls: vec![call],
        ..Completion::default()
    });
    run.ends("turn-1", calls, None);
    run.settle(&ToolLoop);
    let failed = StepResult::ToolReturned(ToolOutput::error("it is locked"));
    run.ends("turn-1/call-1", failed, None);
    run.settle(&ToolLoop);
    let fits = fits("ten", json!({"n": 10}));
    answers(&mut run, 2, "{\"n\":10}", &fits);
    run.settle(&ToolLoop);
    let ended = run.ended().expect("it is over");
    assert!(matches!(ended, RunOutcome::Completed { data, .. } if *data == json!({"n": 10})));
    let lacks = ended.shortfall().expect("the tool gave nothing");
    assert_eq!(lacks.missing()[0].why, "it is locked");
}

#[test]
fn with_tools_on_offer_the_form_is_asked_for_in_words() {
    let asked = question(&mut begun(true));
    assert_eq!((asked.output, asked.tools.len()), (Output::Text, 1));
    let told = asked.messages.last().and_then(PromptMessage::text);
    let told = told.expect("an instruction");
    assert!(told.ends_with("{\"type\":\"object\"}"), "{told}");
}

/// spec: ORC-9
#[test]
fn what_does_not_fit_is_asked_for_again_with_the_reason_at_most_twice() {
    let mut run = begun(true);
    question(&mut run);
    answers(&mut run, 1, "nonsense", &rejected("no JSON"));
    let again = question(&mut run);
    assert!(
        again.tools.is_empty() && again.output != Output::Text,
        "{again:?}"
    );
    let [.., said, reason, told] = &again.messages[..] else {
        panic!("{again:?}");
    };
    assert_eq!(said, &PromptMessage::assistant("nonsense"));
    let why = PromptMessage::data("rejected", json!({"reason": "no JSON"}));
    assert_eq!(reason, &why);
    assert!(told.text().is_some_and(|t| t.contains("`rejected`")));

    answers(&mut run, 2, "", &rejected("empty"));
    assert_eq!(question(&mut run).messages.len(), again.messages.len() + 2);
    answers(&mut run, 3, "[]", &rejected("no object"));
    run.settle(&ToolLoop);
    let error = "the answer could not be used: no object";
    assert_eq!(run.ended(), Some(&RunOutcome::failed(error)));
}

#[test]
fn a_mended_answer_is_taken() {
    let mut run = begun(false);
    question(&mut run);
    answers(&mut run, 1, "{}", &rejected("n is missing"));
    question(&mut run);
    answers(&mut run, 2, "{\"n\":1}", &fits("one", json!({"n": 1})));
    run.settle(&ToolLoop);
    assert!(matches!(run.ended(), Some(RunOutcome::Completed { text, .. }) if text == "one"));
}

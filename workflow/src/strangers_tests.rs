//! Files of other systems in the linear form: they load, and run against scripted agents.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use agenthub_sdk::runs::{DelegationResult, RunOutcome};
use serde_json::{Map, Value, json};

use crate::{
    loading::read,
    strategy::tests::{Play, begun, done, failed},
};

const BRANCHES: &str = include_str!("strangers/branches.json");
const LOOPS: &str = include_str!("strangers/loops.json");

/// Plays a run. An agent gives what the function says for the name of its step in the run.
fn played(
    workflow: &str,
    input: Value,
    agent: impl Fn(&str) -> DelegationResult,
) -> (Play, RunOutcome) {
    let mut play = begun(workflow, input);
    let outcome = play.play(|step, _| agent(step));
    (play, outcome)
}

/// The line of a step: what its agent was asked.
fn asked<'p>(play: &'p Play, step: &str) -> &'p str {
    let begin = format!("{step}: ");
    let line = play.told.iter().find(|line| line.starts_with(&begin));
    line.unwrap_or_else(|| panic!("{step} was not asked: {:#?}", play.told))
}

#[test]
fn a_fork_waits_for_its_branches_and_gives_their_outputs_under_their_names() {
    let input = json!({ "score": 0.9, "ready": true });
    let (play, outcome) = played(BRANCHES, input, |step| match step {
        "good" => done(json!({ "words": "well done" })),
        "ask-two" => failed("no"),
        step => done(json!({ "id": step })),
    });
    assert!(
        matches!(outcome, RunOutcome::Completed { .. }),
        "{outcome:?}"
    );
    let report = asked(&play, "report");
    let expected = json!({
        "praise": "well done",
        "way": "then",
        "one": { "id": "verify-one" },
        "all": { "one": { "id": "verify-one" }, "two": null, "three": { "id": "ask-three" } },
    });
    let (_, payload) = report.split_at(report.find('{').expect("it has an input"));
    let payload: Value = serde_json::from_str(payload).expect("it is JSON");
    assert_eq!(payload, expected);
}

#[test]
fn a_fork_of_which_too_few_branches_complete_fails_when_all_have_ended() {
    let input = json!({ "score": 0.1, "ready": true });
    let (play, outcome) = played(BRANCHES, input, |step| match step {
        "ask-two" | "ask-one" => failed("no"),
        step => done(json!({ "id": step })),
    });
    let RunOutcome::Failed { error } = outcome else {
        panic!("{outcome:?}");
    };
    assert!(error.contains("only 1 of 3"), "{error}");
    let is_praised = play.told.iter().any(|line| line.starts_with("good"));
    assert!(!is_praised, "{:#?}", play.told);
}

#[test]
fn a_fork_that_has_enough_waits_for_the_rest() {
    let mut play = begun(BRANCHES, json!({ "score": 0.1, "ready": true }));
    play.decide();
    play.give_agent("ask-two", done(json!({})));
    play.give_agent("ask-three", done(json!({})));
    play.decide();
    assert_eq!(play.names(), ["ask-one"]);
    play.give_agent("ask-one", failed("no"));
    play.decide();
    assert_eq!(play.names(), ["report"]);
}

#[test]
fn the_steps_of_a_branch_share_its_time() {
    let mut play = begun(BRANCHES, json!({ "score": 0.1, "ready": true }));
    play.decide();
    assert_eq!(play.deadlines["ask-one"], Some(61_000), "its own time");
    assert_eq!(play.deadlines["ask-two"], Some(601_000), "that of all");
    play.now_ms += 20_000;
    play.give_agent("ask-one", done(json!({ "id": 1 })));
    play.decide();
    assert_eq!(play.deadlines["verify-one"], Some(61_000), "what is left");
    let mut play = begun(BRANCHES, json!({ "score": 0.1, "ready": true }));
    play.decide();
    play.now_ms += 70_000;
    play.give_agent("ask-one", done(json!({ "id": 1 })));
    play.decide();
    assert_eq!(play.names(), ["ask-two", "ask-three"], "its time is over");
}

#[test]
fn a_loop_does_the_first_items_and_gives_the_output_of_its_last_step() {
    let input = json!({ "items": ["x", "y", "z"] });
    let (play, outcome) = played(LOOPS, input.clone(), |step| done(json!({ "n": step })));
    assert!(
        matches!(outcome, RunOutcome::Completed { .. }),
        "{outcome:?}"
    );
    assert_eq!(
        asked(&play, "each/1/read"),
        r#"each/1/read: Reader   {"item":"y","of":2}"#
    );
    assert_eq!(
        asked(&play, "a"),
        r#"a: A   {"all":[{"n":"each/0/write"},{"n":"each/1/write"}]}"#
    );
    assert_eq!(asked(&play, "b"), r#"b: B   {"count":2}"#);
    assert_eq!(asked(&play, "end"), r#"end: End   {"a":"a","b":"b"}"#);
    let (play, outcome) = played(LOOPS, input, |step| match step {
        "each/0/read" => failed("no"),
        step => done(json!({ "n": step })),
    });
    let RunOutcome::Failed { error } = outcome else {
        panic!("{outcome:?}");
    };
    assert!(error.contains("1 of 2 items: item 0"), "{error}");
    asked(&play, "each/1/write");
}

/// All workflows of a folder with the sources of lumiq-quantum/litecone-studio, which `AGENTHUB_TEST_LITECONE` names: JSON files, and JSON in
/// Markdown. Skipped without it.
#[test]
fn workflows_of_litecone_studio_load_and_run() {
    let Some(folder) = env::var_os("AGENTHUB_TEST_LITECONE") else {
        return;
    };
    let mut files = Vec::new();
    gather(Path::new(&folder), &mut files);
    let (mut count, mut refused) = (0, 0);
    for file in files {
        let text = fs::read_to_string(&file).unwrap_or_default();
        for document in documents(&file, &text) {
            count += 1;
            refused += usize::from(!runs(&document, &file));
        }
    }
    assert!(count > 10, "only {count} workflows were found");
    assert!(refused < count / 10, "{refused} of {count} were refused");
}

fn gather(folder: &Path, files: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).expect("the folder is there");
    for path in entries.flatten().map(|entry| entry.path()) {
        let kind = path.extension().and_then(|kind| kind.to_str());
        match kind {
            _ if path.is_dir() => gather(&path, files),
            Some("json" | "md") => files.push(path),
            _ => {}
        }
    }
}

/// The workflows of a file. Parts that are no JSON show a form, or mistakes.
fn documents(file: &Path, text: &str) -> Vec<Value> {
    let parts: Vec<&str> = match file.extension().is_some_and(|kind| kind == "json") {
        true => vec![text],
        false => {
            let blocks = text.split("```json").skip(1);
            blocks.filter_map(|rest| rest.split("```").next()).collect()
        }
    };
    let documents = parts.into_iter().flat_map(serde_json::from_str::<Value>);
    documents
        .filter(|document| document["start_step"].is_string() && document["steps"].is_object())
        .collect()
}

/// Runs a workflow: agents and input give what is read of them. False if it was refused, for the one reason that is known: references
/// between `{{` and `}}`, which are texts there as well.
fn runs(document: &Value, file: &Path) -> bool {
    let file = file.display();
    if let Err(faults) = read(document, None) {
        let is_known = faults
            .iter()
            .all(|fault| fault.contains("}}` stays as it is"));
        assert!(is_known, "{file}: {faults:#?}");
        return false;
    }
    let text = document.to_string();
    let (_, outcome) = played(&text, values_read(&text, "workflow.input"), |step| {
        let step = step.rsplit('/').next().unwrap_or_default();
        let mut output = values_read(&text, &format!("{step}.output"));
        // It may be the item of a loop that comes later.
        if let (Some(output), Value::Object(item)) =
            (output.as_object_mut(), values_read(&text, "loop.item"))
        {
            output.extend(item);
        }
        done(output)
    });
    let is_completed = matches!(outcome, RunOutcome::Completed { .. });
    assert!(is_completed, "{file}: {outcome:?}");
    true
}

/// A value with all that is read of it: lists where loops go through them, mappings where they are indexed, texts elsewhere.
fn values_read(text: &str, of: &str) -> Value {
    let mut made = Value::Object(Map::new());
    let begin = format!("{of}.");
    let is_part = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    for (at, _) in text.match_indices(&begin) {
        if text[..at].ends_with(|c: char| c.is_ascii_alphanumeric() || "_-".contains(c)) {
            continue;
        }
        let rest = &text[at + begin.len()..];
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let (path, behind) = rest.split_at(end);
        let is_list = text[..at].ends_with("\"collection\":\"${") && of != "loop.item";
        let value = match is_list {
            true => {
                let item = values_read(text, "loop.item");
                json!([item, item])
            }
            false if behind.starts_with('[') => json!({ "a": "x" }),
            false => json!("a"),
        };
        let read = path.split('.').fold(&mut made, |holder, part| {
            if !holder.is_object() {
                *holder = json!({});
            }
            &mut holder[part]
        });
        if read.is_null() || read.is_string() {
            *read = value;
        }
    }
    made
}

//! Wishes of the person that a result passes over: parts of the payload that reach nobody or are replaced, and what agents say that they left
//! aside.

use agenthub_sdk::runs::{RunOutcome, UNREAD};
use serde_json::{Value, json};

use super::stage::*;

fn stage(payload: Value, answers: Agents) -> Stage {
    let mut stage = Stage::new(Model::Offline, answers);
    stage.brief.payload = payload.as_object().cloned().expect("an object");
    stage
}

fn ended(stage: &mut Stage) -> (String, Value) {
    match stage.play() {
        RunOutcome::Completed { text, data, .. } => (text, data["bundle"]["quality"].clone()),
        other => panic!("{other:?}"),
    }
}

/// Lets pass whatever was made; what is made comes with these data beside or in it.
fn made(thing: Value, beside: Vec<Value>) -> Agents {
    let mut passing = passing_in_round(1);
    Box::new(move |handoff| {
        let mut ended = passing(handoff);
        if &*handoff.capability == "make" {
            ended.data = vec![thing.clone()];
            ended.data.extend(beside.clone());
        }
        ended
    })
}

fn thing() -> Value {
    json!({"thing": {"text": "a blue thing"}})
}

/// spec: ORC-2.3, ORC-2.4
#[test]
fn what_a_step_says_that_it_left_aside_makes_the_run_one_in_part() {
    let part = |more: Value| {
        let mut mark = json!({"partial": true, "undone": "part", "results": []});
        let fields = mark.as_object_mut().expect("an object");
        fields.extend(more.as_object().cloned().unwrap_or_default());
        mark
    };
    let noted =
        json!({"thing": {"text": "a thing", "metadata": {"notes": ["not acted on: warmer"]}}});
    for (thing, beside, said) in [
        (noted, vec![], "not acted on: warmer"),
        (
            json!({"thing": {"text": "a thing"}, "lacks": "the size"}),
            vec![],
            "the size",
        ),
        (
            json!({"thing": {"text": "a thing", "partial": true}}),
            vec![],
            "in part",
        ),
        (
            thing(),
            vec![part(json!({}))],
            "it did it in part, and does not say which",
        ),
        (
            thing(),
            vec![part(json!({"lacks": ["the size"]}))],
            "the size",
        ),
        (
            thing(),
            vec![part(
                json!({"results": [{"tool": "table", "state": "failed", "error": "locked"}]}),
            )],
            "table: locked",
        ),
    ] {
        let mut stage = stage(json!({"brief": "b"}), made(thing.clone(), beside));
        let (text, quality) = ended(&mut stage);
        assert_eq!(stage.handoffs.len(), 2, "nothing is made again");
        assert_eq!(quality["met"], false, "{thing}: {quality:#}");
        let first = text.lines().next().unwrap_or_default();
        assert!(first.starts_with("maker says of make: "), "{first}");
        assert!(first.contains(said), "{first}");
        assert_eq!(quality["leftAside"][0], first);
    }
}

/// spec: ORC-2.3
#[test]
fn that_no_language_model_read_the_request_is_told_once() {
    let mark = json!({"partial": true, "undone": "part", "lacks": [UNREAD], "results": []});
    let brief = json!({"brief": "b"});
    let (_, quality) = ended(&mut stage(brief.clone(), made(thing(), vec![])));
    assert_eq!(quality["met"], true, "{quality:#}");
    let (text, quality) = ended(&mut stage(brief, made(thing(), vec![mark])));
    assert_eq!(quality["met"], false, "{quality:#}");
    assert_eq!(quality["leftAside"], json!([UNREAD]));
    assert!(text.starts_with(UNREAD), "{text}");
}

/// spec: ORC-2.3
#[test]
fn an_account_of_an_earlier_round_is_not_told_of_a_later_one() {
    let mut round = 0;
    let mut passing = passing_in_round(2);
    let agents: Agents = Box::new(move |handoff| {
        let mut ended = passing(handoff);
        if &*handoff.capability == "make" {
            round += 1;
            let notes = if round == 1 {
                json!(["too long"])
            } else {
                json!([])
            };
            ended.data = vec![
                json!({"thing": {"text": format!("thing {round}"), "metadata": {"notes": notes}}}),
            ];
        }
        ended
    });
    let (_, quality) = ended(&mut stage(json!({"brief": "b"}), agents));
    assert_eq!(quality["depth"], 2, "{quality:#}");
    assert_eq!(quality["leftAside"], json!([]));
    assert_eq!(quality["met"], true);
}

/// spec: ORC-2.3
#[test]
fn a_part_of_the_payload_that_reaches_nobody_is_named_and_not_met() {
    let answers = |maker: Value| {
        let mut steps = make_and_check();
        steps["planPatch"][0]["value"]["payload"] = maker.clone();
        steps["planPatch"][1]["value"]["payload"] = json!({"thing": "${thing.output.thing}", "acceptanceCriteria": "${input.acceptanceCriteria}"});
        let names: Vec<&str> = steps["planPatch"]
            .as_array()
            .expect("a patch")
            .iter()
            .filter_map(|op| op["path"].as_str())
            .collect();
        assert_eq!(names[0], "/steps/thing");
        [
            steps,
            handoff("maker", "make"),
            handoff("checker", "check"),
            the_end(),
        ]
    };
    let payload = json!({"brief": "b", "size": "small", "revisionNotes": ["be warm", "be brief"], "previousThing": {"text": ""}});
    for (maker, open) in [
        (
            json!({"brief": "${input.brief}"}),
            json!(["size", "revisionNotes"]),
        ),
        (
            json!({"brief": "${input.brief}, ${input.size}", "revisionNotes": ["${input.revisionNotes.0}"]}),
            json!(["revisionNotes[1]"]),
        ),
        (
            json!({"brief": "${input.brief}", "size": "small", "revisionNotes": "${input.revisionNotes}"}),
            json!([]),
        ),
    ] {
        let mut stage = Stage::says(answers(maker.clone()), passing_in_round(1));
        stage.brief.payload = payload.as_object().cloned().expect("an object");
        let (text, quality) = ended(&mut stage);
        assert_eq!(quality["notHandedOn"], open, "{maker}: {quality:#}");
        let is_open = open.as_array().is_some_and(|open| !open.is_empty());
        assert_eq!(quality["met"], !is_open, "{maker}");
        let first = text.lines().next().unwrap_or_default();
        assert_eq!(first.starts_with("nobody was handed `"), is_open, "{first}");
    }
}

/// spec: ORC-2.3
#[test]
fn a_part_of_the_payload_that_a_step_puts_something_else_for_is_named() {
    let thing = json!({"thing": {"text": "a thing", "size": "large"}});
    let payload = json!({"brief": "b", "size": "small"});
    let (text, quality) = ended(&mut stage(payload, made(thing, vec![])));
    assert_eq!(
        quality["replaced"],
        json!(["size (by \"large\")"]),
        "{quality:#}"
    );
    assert_eq!(quality["met"], false);
    assert!(
        text.starts_with("replaced: `size (by \"large\")`"),
        "{text}"
    );
}

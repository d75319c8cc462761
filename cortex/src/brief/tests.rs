use serde_json::json;

use super::*;

fn check(brief: Value) -> Result<(), String> {
    let brief: Brief = serde_json::from_value(brief).map_err(|e| e.to_string())?;
    brief.check().map_err(|fault| fault.to_string())
}

/// spec: ORC-2.3
#[test]
fn an_objective_suffices() {
    assert_eq!(check(json!({"objective": "a post"})), Ok(()));
    let brief: Brief =
        serde_json::from_value(json!({"objective": "a post"})).expect("it is a brief");
    assert_eq!(brief.mode, Mode::App);
    assert_eq!(brief.constraints.quality_threshold(), 0.7);
    assert_eq!(
        json!(brief),
        json!({"objective": "a post", "mode": "app"}),
        "what was not given is not written"
    );
}

/// spec: ORC-2.3
#[test]
fn everything_has_bounds_and_a_fault_names_its_field() {
    let long = "x".repeat(MAX_OBJECTIVE_BYTES + 1);
    let mut deep = json!({});
    for _ in 0..MAX_PAYLOAD_DEPTH {
        deep = json!({ "more": deep });
    }
    let cases = [
        (json!({"objective": " "}), "`objective` is empty"),
        (json!({"objective": long}), "`objective` has 65537 bytes"),
        (
            json!({"objective": "o", "payload": {"t": "x".repeat(MAX_PAYLOAD_BYTES)}}),
            "`payload` has 524296 bytes",
        ),
        (
            json!({"objective": "o", "payload": {"deep": deep}}),
            "`payload` is nested",
        ),
        (
            json!({"objective": "o", "agent": "a"}),
            "`agent` names who to talk with",
        ),
        (
            json!({"objective": "o", "mode": "chat", "agent": ""}),
            "`agent` is empty",
        ),
        (
            json!({"objective": "o", "mode": "chat", "agent": "cortex"}),
            "`agent` is cortex, who would wait for itself",
        ),
        (
            json!({"objective": "o", "mode": "chat", "agent": "qa", "payload": {"acceptanceCriteria": [""]}}),
            "`payload.acceptanceCriteria[0]` is empty",
        ),
        (
            json!({"objective": "o", "mode": "chat", "payload": {"acceptanceCriteria": [{"txet": "a"}]}}),
            "`payload.acceptanceCriteria[0].txet` is no field",
        ),
        (
            json!({"objective": "o", "threadId": "a\nb"}),
            "`threadId` has control characters",
        ),
        (
            json!({"objective": "o", "constraints": {"qualityThreshold": 1.1}}),
            "`constraints.qualityThreshold` is 1.1",
        ),
        (
            json!({"objective": "o", "constraints": {"executionDepth": 0}}),
            "`constraints.executionDepth` is 0",
        ),
        (
            json!({"objective": "o", "constraints": {"maxTurns": 201}}),
            "`constraints.maxTurns` is 201",
        ),
        (
            json!({"objective": "o", "constraints": {"acceptanceCriteria": ["a", 3]}}),
            "`constraints.acceptanceCriteria[1]` is neither",
        ),
        (
            json!({"objective": "o", "constraints": {"acceptanceCriteria": vec!["a"; 65]}}),
            "`constraints.acceptanceCriteria` has 65 entries",
        ),
        (
            json!({"objective": "o", "budget": {"calls": 0}}),
            "`budget.calls` is 0",
        ),
        (json!({"objective": "o", "colour": "red"}), "unknown field"),
    ];
    for (brief, fault) in cases {
        let said = check(brief).expect_err(fault);
        assert!(said.starts_with(fault), "{said} is not {fault}");
    }
    let threshold = Constraints {
        quality_threshold: Some(f64::NAN),
        ..Constraints::default()
    };
    Brief {
        objective: "o".to_owned(),
        constraints: threshold,
        ..Brief::default()
    }
    .check()
    .expect_err("no number");
}

/// spec: ORC-2.3
#[test]
fn all_faults_of_a_brief_are_told_at_once() {
    let brief = json!({
        "objective": " ",
        "threadId": "a\nb",
        "payload": {"qualityThreshold": "high"},
        "constraints": {"executionDepth": 0, "acceptanceCriteria": ["a", 3, {"id": "x"}]},
        "budget": {"calls": 0, "tokens": 0},
    });
    let said = check(brief).expect_err("it has eight faults");
    let fields: Vec<_> = said.lines().filter_map(|l| l.split('`').nth(1)).collect();
    let expected = [
        "objective",
        "threadId",
        "constraints.executionDepth",
        "constraints.acceptanceCriteria[1]",
        "constraints.acceptanceCriteria[2]",
        "payload.qualityThreshold",
        "budget.tokens",
        "budget.calls",
    ];
    assert_eq!(fields, expected, "{said}");
}

/// spec: ORC-2.1, ORC-2.3
#[test]
fn criteria_and_a_threshold_in_the_payload_are_held_to_beside_those_of_the_constraints() {
    let brief = json!({
        "objective": "o",
        "payload": {"acceptanceCriteria": ["It rhymes.", "is red"], "qualityThreshold": 0.9, "tone": "warm"},
        "constraints": {"acceptanceCriteria": ["is red"], "qualityThreshold": 0.5},
    });
    assert_eq!(check(brief.clone()), Ok(()));
    let brief: Brief = serde_json::from_value(brief).expect("it is a brief");
    let brief = brief.with_payload_held_to();
    let constraints = &brief.constraints;
    assert_eq!(constraints.acceptance_criteria, ["is red", "It rhymes."]);
    assert_eq!(constraints.quality_threshold(), 0.9);
    assert_eq!(Value::from(brief.payload), json!({"tone": "warm"}));
    for (payload, fault) in [
        (
            json!({"acceptanceCriteria": "It rhymes."}),
            "`payload.acceptanceCriteria` takes a list of texts and checks",
        ),
        (
            json!({"acceptanceCriteria": ["a", 3]}),
            "`payload.acceptanceCriteria[1]` is neither a text nor an object",
        ),
        (
            json!({"qualityThreshold": "high"}),
            "`payload.qualityThreshold` is \"high\"; it is a number from 0 to 1",
        ),
    ] {
        let said = check(json!({"objective": "o", "payload": payload}));
        assert_eq!(said, Err(fault.to_owned()));
    }
    let many = |name: &str| (0..40).map(|n| format!("{name} {n}")).collect::<Vec<_>>();
    let said = check(json!({
        "objective": "o",
        "payload": {"acceptanceCriteria": many("a")},
        "constraints": {"acceptanceCriteria": many("b")},
    }));
    let said = said.expect_err("they are 80");
    assert!(
        said.starts_with("`payload.acceptanceCriteria` makes 80"),
        "{said}"
    );
}

#[test]
fn what_is_given_stands_before_what_was_given() {
    let given = Constraints {
        execution_depth: Some(5),
        ..Constraints::default()
    };
    let before = Constraints {
        execution_depth: Some(2),
        acceptance_criteria: vec![json!("short")],
        ..Constraints::default()
    };
    let both = given.over(before);
    assert_eq!(both.execution_depth(), 5);
    assert_eq!(both.acceptance_criteria, [json!("short")]);
}

/// What only a reviewed run keeps to is not taken by one that nobody reviews.
///
/// spec: ORC-2.3
#[test]
fn a_chat_turn_takes_no_constraints_that_nobody_would_look_at() {
    for (field, value) in [
        ("acceptanceCriteria", json!(["short"])),
        ("approvals", json!(["*"])),
        ("qualityThreshold", json!(0.9)),
        ("executionDepth", json!(2)),
    ] {
        let brief = json!({"objective": "o", "mode": "chat", "constraints": {field: value}});
        let fault = format!(
            "`constraints.{field}` needs the mode `app`: nobody reviews a chat turn or asks a person about it; take the mode `app`, or leave this out"
        );
        assert_eq!(check(brief), Err(fault));
    }
    let brief = json!({"objective": "o", "mode": "chat", "constraints": {"maxTurns": 3}});
    assert_eq!(check(brief), Ok(()));
}

/// spec: ORC-2.3
#[test]
fn a_criterion_has_a_text_or_a_check_and_no_other_fields() {
    let at = "constraints.acceptanceCriteria[0]";
    for (criterion, fault) in [
        (
            json!({"mentions": "soup"}),
            ".mentions` is no field of a criterion; it takes `id`, `text` and `check`",
        ),
        (
            json!({"text": "x", "chekc": {}}),
            ".chekc` is no field of a criterion; it takes `id`, `text` and `check`",
        ),
        (
            json!({"text": "x", "check": {"kind": "contains", "valeu": "x"}}),
            ".check.valeu` is no field of a check; it takes `kind` and `value`",
        ),
        (json!({"id": "x"}), "` has neither a `text` nor a `check`"),
        (json!({"text": " "}), ".text` is empty or no text"),
        (json!({"text": 5}), ".text` is empty or no text"),
        (
            json!({"text": "x", "check": "contains"}),
            ".check` takes an object with `kind` and `value`",
        ),
        (
            json!({"text": "x", "check": {"value": "x"}}),
            ".check` takes an object with `kind` and `value`",
        ),
    ] {
        let brief = json!({"objective": "o", "constraints": {"acceptanceCriteria": [criterion]}});
        assert_eq!(check(brief), Err(format!("`{at}{fault}")));
    }
    let brief = json!({"objective": "o", "constraints": {"acceptanceCriteria": [
        "short", {"text": "short"}, {"id": "a", "check": {"kind": "max_words", "value": 3}},
    ]}});
    assert_eq!(check(brief), Ok(()));
}

/// spec: ORC-12.3
#[test]
fn an_approval_names_a_capability_that_somebody_offers() {
    let fault = |approvals: &[&str]| {
        let constraints = Constraints {
            approvals: approvals.iter().map(|&name| name.to_owned()).collect(),
            ..Constraints::default()
        };
        let offered = ["content.brief", "content.write", "qa.review"];
        let checked = constraints.names_offered(offered.into_iter());
        checked.err().map(|fault| fault.to_string())
    };
    assert_eq!(fault(&["*", "content.write"]), None);
    assert_eq!(fault(&[]), None);
    assert_eq!(
        fault(&["*", "content.writ"]).as_deref(),
        Some(
            "`constraints.approvals[1]` names content.writ, which no agent that is known offers; did you mean content.write?"
        )
    );
    assert_eq!(
        fault(&["zzz"]).as_deref(),
        Some(
            "`constraints.approvals[0]` names zzz, which no agent that is known offers; offered: content.brief, content.write, qa.review; `*` stands for all"
        )
    );
}

/// spec: ORC-2.3
#[test]
fn files_come_with_a_chat_and_fit_into_a_message() {
    let with = |mode: &str, files: Value, payload: Value| {
        check(json!({"objective": "o", "mode": mode, "files": files, "payload": payload}))
    };
    let chat = |files: Value| with("chat", files, json!({}));
    let file = json!({"name": "a.txt", "mimeType": "text/plain", "bytes": "aGk="});
    assert_eq!(chat(json!([file])), Ok(()));
    let half = File {
        name: "half".to_owned(),
        bytes: vec![0; MAX_FILE_BYTES / 2],
        ..File::default()
    };
    assert_eq!(chat(json!([half, half])), Ok(()));
    for (answer, fault) in [
        (
            with("app", json!([file]), json!({})),
            "`files` come with what is said in the mode `chat`",
        ),
        (
            chat(json!(vec![&file; 9])),
            "`files` has 9; at most 8 are taken",
        ),
        (
            chat(json!([half, half, file])),
            "`files` has 655362 bytes; at most 655360",
        ),
        (
            chat(json!([{"name": " ", "bytes": ""}])),
            "`files[0].name` is empty",
        ),
        (
            chat(json!([{"name": "a", "bytes": "no base64"}])),
            "Invalid symbol",
        ),
        (
            with(
                "chat",
                json!([file]),
                json!({"t": "x".repeat(MAX_PAYLOAD_BESIDE_FILES)}),
            ),
            "`payload` has 131080 bytes; at most 131072",
        ),
    ] {
        let told = answer.expect_err(fault);
        assert!(told.contains(fault), "{told}");
    }
}

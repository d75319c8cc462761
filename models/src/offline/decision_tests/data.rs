//! Data that comes with a request.

use super::*;

fn attach(request: &mut Request, data: &[Value]) {
    let said = request.messages.last_mut().expect("the words");
    said.parts.extend(data.iter().map(|value| PromptPart::Data {
        label: "attached".to_owned(),
        value: value.clone(),
    }));
}

/// spec: ORC-2.3
#[test]
fn data_that_comes_with_a_request_is_handed_on_and_counts_as_looked_at_by_nobody() {
    let words = "please proofread this";
    let mut request = request(words);
    let draft = json!({"draft": "It rains.", "title": "Rain"});
    let said = request.messages.last_mut().expect("the words");
    said.parts.push(PromptPart::Data {
        label: "attached".to_owned(),
        value: draft.clone(),
    });
    assert_eq!(actions(&request)[0]["payload"], draft);
    let results = json!([{"agent": "writer", "state": "completed", "text": "Fine."}]);
    request
        .messages
        .push(PromptMessage::data("results", results));
    assert!(response(&request).contains("draft, title"));
    assert_eq!(decide(&request, words).1, Some(Undone::Part));
}

/// spec: ORC-2.3
#[test]
fn data_beside_the_object_that_is_handed_on_is_told_to_be_left_out() {
    let (first, second, mark) = (
        json!({"draft": "It rains."}),
        json!({"title": "Rain"}),
        json!("[20000 bytes of JSON left out]"),
    );
    let words = "please proofread this";
    for (data, handed, left) in [
        (
            vec![first.clone(), second.clone()],
            &first,
            vec!["{\"title\":\"Rain\"}"],
        ),
        (
            vec![mark.clone(), second.clone(), first.clone()],
            &second,
            vec!["20000 bytes", "It rains."],
        ),
        (vec![mark], &json!({"text": words}), vec!["20000 bytes"]),
    ] {
        let mut request = request(words);
        attach(&mut request, &data);
        assert_eq!(&actions(&request)[0]["payload"], handed);
        let results = json!([{"agent": "writer", "state": "completed", "text": "Fine."}]);
        request
            .messages
            .push(PromptMessage::data("results", results));
        let said = response(&request);
        for part in left
            .into_iter()
            .chain(["Nobody was handed what else came along"])
        {
            assert!(said.contains(part), "{part}: {said}");
        }
        assert_eq!(decide(&request, words).1, Some(Undone::Part), "{data:?}");
    }
}

/// spec: ORC-2.3
#[test]
fn data_with_words_for_nobody_is_told_to_be_looked_at_by_nobody() {
    for words in ["hello", "what is 7 times 6?"] {
        let mut request = request(words);
        attach(
            &mut request,
            &[json!({"draft": "It rains."}), json!("note")],
        );
        let said = response(&request);
        for part in ["Nobody looked at the data", "It rains.", "\"note\""] {
            assert!(said.contains(part), "{part}: {said}");
        }
        assert_eq!(decide(&request, words).1, Some(Undone::Part), "{words}");
    }
}

/// spec: ORC-2.3
#[test]
fn a_file_goes_with_the_request_and_its_name_is_told() {
    let file = |request: &mut Request| {
        let said = request.messages.last_mut().expect("the words");
        said.parts.push(PromptPart::Data {
            label: "file".to_owned(),
            value: json!({"name": "plan.pdf", "bytes": 6}),
        });
    };
    let mut asked = request("please proofread this");
    file(&mut asked);
    assert_eq!(actions(&asked)[0]["type"], "task.request");
    let results = json!([{"agent": "writer", "state": "completed", "text": "Fine."}]);
    asked.messages.push(PromptMessage::data("results", results));
    let told = response(&asked);
    assert!(
        told.contains("These files went with the request: plan.pdf"),
        "{told}"
    );
    let mut counted = request("what is 2 + 3?");
    file(&mut counted);
    let told = response(&counted);
    assert!(told.contains("came along: the file plan.pdf"), "{told}");
}

/// Inputs as cards of agents have them, such as names in camel case.
fn with_inputs(words: &str) -> Request {
    let skill = |id: &str, required: &str| {
        json!({"id": id, "input_schema": {
            "type": "object",
            "required": [required],
            "properties": {
                required: {"type": ["object", "string"]},
                "platform": {"type": ["string", "null"]},
            },
        }})
    };
    let writer = json!({"id": "writer", "skills": [
        skill("content.brief", "clientBrief"), skill("content.write", "writerBrief"),
    ]});
    let mut request = request(words);
    request.messages[1] = PromptMessage::data("agents", json!([writer]));
    request
}

/// Issue 26, chat: what the advice says is understood, by the name of the agent as well where only one of its skills takes it.
///
/// spec: ORC-2.1
#[test]
fn inputs_are_stated_as_the_advice_says() {
    let brief = json!({"writerBrief": "Coffee is good", "platform": "blog"});
    for words in [
        "content.write writerBrief=\"Coffee is good\" platform=blog",
        "ask writer to content.write writerBrief='Coffee is good' platform=blog",
        "writer writerBrief=\"Coffee is good\" platform=blog",
        "ask writer writerBrief=\"Coffee is good\" platform=blog",
        "ask writer {\"writerBrief\": \"Coffee is good\", \"platform\": \"blog\"}",
    ] {
        let actions = actions(&with_inputs(words));
        assert_eq!(actions[0]["taskType"], "content.write", "{words}");
        assert_eq!(actions[0]["payload"], brief, "{words}");
    }
    let told = |words: &str| {
        let mut request = with_inputs(words);
        let results = json!([{"agent": "writer", "state": "completed", "text": "Hm."}]);
        let results = PromptMessage::data("results", results);
        request.messages.push(results);
        response(&request)
    };
    let several = told("ask writer \"Coffee is good\"");
    assert!(
        several.contains("several skills") && several.contains("content.brief or content.write"),
        "{several}"
    );
    let misfit = told("content.write brief=Coffee");
    assert!(misfit.contains("writerBrief"), "{misfit}");
}

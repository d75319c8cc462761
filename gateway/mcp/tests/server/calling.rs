//! What a call gives.

use std::{sync::Arc, time::Duration};

use agenthub_mcp::server::Settings;
use agenthub_sdk::{
    ArtifactUpdate, Failure, Reply, TaskContext,
    proto::a2a::{Artifact, FilePart, Message, Part, Role, file_part, part},
};
use rmcp::{
    model::{ClientRequest, ContentBlock, CustomRequest, ErrorCode, ResourceContents},
    service::ServiceError,
};
use serde_json::json;

use crate::harness::{Hub, McpClient, lifecycles, params, serving, soon, texts};

#[tokio::test]
async fn an_agent_is_asked_and_its_words_are_the_result() {
    let hub = Hub::start().await;
    let shout = async |task: TaskContext| {
        let times = task
            .data()
            .map_or(1, |data| data["times"].as_u64().unwrap_or(0));
        Ok(task
            .text()
            .to_uppercase()
            .repeat(times.try_into().unwrap_or(0)))
    };
    let _agent = hub.agent("shouter", shout).await;
    let server = Arc::new(hub.served().await);
    for lifecycle in lifecycles() {
        let client = McpClient::piped_as(&server, lifecycle).await;
        let arguments = json!({"request": "hey ", "skill": "work", "input": {"times": 2}});
        let result = client
            .call("agent_shouter", arguments)
            .await
            .expect("a result");
        assert_eq!(texts(&result), ["HEY HEY "]);
        assert_eq!(result.is_error, Some(false));
        assert_eq!(result.structured_content, None);
        let meta = result.meta.as_ref().expect("where it is from");
        assert_eq!(meta["agenthub/agent"], "shouter");
        assert_eq!(meta["agenthub/state"], "completed");
        assert!(meta.contains_key("agenthub/taskId") && meta.contains_key("agenthub/contextId"));
        client.leave().await;
    }
}

#[tokio::test]
async fn data_come_structured_and_as_text() {
    let hub = Hub::start().await;
    let _agent = hub
        .agent("counter", async |_: TaskContext| Ok(json!({"count": 3})))
        .await;
    let server = Arc::new(hub.served().await);
    let client = McpClient::piped(&server).await;
    let result = client
        .call("agent_counter", json!({"request": "count"}))
        .await;
    let result = result.expect("a result");
    assert_eq!(result.structured_content, Some(json!({"count": 3})));
    assert_eq!(texts(&result), [r#"{"count":3}"#]);
}

#[tokio::test]
async fn files_come_as_links_or_as_what_they_are() {
    let file = |name: &str, mime: &str, file: file_part::File| Part {
        part: Some(part::Part::File(FilePart {
            name: name.to_owned(),
            mime_type: mime.to_owned(),
            file: Some(file),
        })),
        ..Part::default()
    };
    let bytes = |bytes: &[u8]| file_part::File::FileWithBytes(bytes.to_vec());
    let uri = file_part::File::FileWithUri("https://example.com/a.pdf".to_owned());
    let parts = vec![
        file("a.pdf", "application/pdf", uri),
        file("dot.png", "image/png", bytes(&[1, 2, 3])),
        file("notes.md", "text/markdown", bytes(b"# Notes")),
        file("", "", bytes(&[0xff, 0xfe])),
    ];
    let artifact = Artifact {
        artifact_id: "files".to_owned(),
        parts,
        ..Default::default()
    };
    let hub = Hub::start().await;
    let _agent = hub
        .agent("filer", move |_: TaskContext| {
            let reply = Reply::text("There you are.").artifact(artifact.clone());
            async move { Ok(reply) }
        })
        .await;
    let server = Arc::new(hub.served().await);
    let client = McpClient::piped(&server).await;
    let result = client.call("agent_filer", json!({"request": "all"})).await;
    let result = result.expect("a result");
    let [
        ContentBlock::Text(text),
        ContentBlock::ResourceLink(link),
        ContentBlock::Image(image),
        ContentBlock::Resource(notes),
        ContentBlock::Resource(raw),
    ] = &*result.content
    else {
        panic!("{:?}", result.content);
    };
    assert_eq!(text.text, "There you are.");
    assert_eq!(
        (&*link.uri, &*link.name),
        ("https://example.com/a.pdf", "a.pdf")
    );
    assert_eq!((&*image.mime_type, &*image.data), ("image/png", "AQID"));
    assert_eq!(notes.get_text(), "# Notes");
    assert!(
        matches!(&raw.resource, ResourceContents::BlobResourceContents { blob, .. } if blob == "//4=")
    );
}

#[tokio::test]
async fn an_agent_that_fails_or_refuses_says_why() {
    let hub = Hub::start().await;
    let fail = async |task: TaskContext| match &*task.text() {
        "fail" => Err::<(), _>(Failure::failed("the disk is full")),
        _ => Err(Failure::rejected("not on Sundays")),
    };
    let _agent = hub.agent("moody", fail).await;
    let server = Arc::new(hub.served().await);
    let client = McpClient::piped(&server).await;
    for (request, said) in [
        ("fail", "moody failed: the disk is full"),
        ("dance", "moody does not do this: not on Sundays"),
    ] {
        let result = client
            .call("agent_moody", json!({"request": request}))
            .await;
        let result = result.expect("a result");
        assert_eq!(result.is_error, Some(true));
        assert_eq!(texts(&result), [said]);
    }
}

/// spec: SOP-8.7
#[tokio::test]
async fn an_agent_that_did_nothing_gives_an_error_and_one_that_did_a_part_says_so() {
    let hub = Hub::start().await;
    let half = async |task: TaskContext| {
        let undone = task.text();
        let mut reply = Message::new(Role::Agent, "I am sorry");
        let own = (undone == "part").then(|| Part::data(&json!({"count": 3})));
        let marks = json!({"partial": true, "undone": undone, "results": []});
        reply.content.extend(own);
        reply.content.push(Part::data(&marks));
        Ok(reply)
    };
    let _agent = hub.agent("idle", half).await;
    let server = Arc::new(hub.served().await);
    let client = McpClient::piped(&server).await;
    for (undone, is_error) in [("all", true), ("part", false)] {
        let result = client.call("agent_idle", json!({"request": undone})).await;
        let result = result.expect("a result");
        assert_eq!(result.is_error, Some(is_error), "{result:?}");
        assert_eq!(texts(&result)[0], "I am sorry");
        let meta = result.meta.as_ref().expect("where it is from");
        assert_eq!(meta["agenthub/undone"], undone);
        if undone == "part" {
            assert_eq!(result.structured_content, Some(json!({"count": 3})));
        }
    }
}

#[tokio::test]
async fn what_does_not_fit_is_told_to_the_model_and_an_unknown_tool_to_the_client() {
    let hub = Hub::start().await;
    let _agent = hub.agent("a", async |_: TaskContext| Ok("done")).await;
    let away = hub.agent("b", async |_: TaskContext| Ok("done")).await;
    let server = Arc::new(hub.served().await);
    let mut client = McpClient::piped(&server).await;
    let unfit = client
        .call("agent_a", json!({"skill": "fly"}))
        .await
        .expect("a result");
    assert_eq!(unfit.is_error, Some(true));
    let told = texts(&unfit).concat();
    assert!(
        told.contains("/skill") && told.contains("\"request\" is a required property"),
        "{told}"
    );

    let unknown = client.call("agent_x", json!({"request": "go"})).await;
    let Err(ServiceError::McpError(error)) = unknown else {
        panic!("{unknown:?}");
    };
    assert_eq!(error.code, ErrorCode::INVALID_PARAMS);
    assert!(error.message.contains("agent_a"), "{}", error.message);

    away.stop().await;
    client.sees(&["agent_a"]).await;
    let result = client
        .call("agent_b", json!({"request": "go"}))
        .await
        .expect("a result");
    assert_eq!(result.is_error, Some(true));
    assert!(texts(&result)[0].starts_with("b is not here"), "{result:?}");
}

#[tokio::test]
async fn a_question_of_an_agent_is_answered_in_its_conversation() {
    let hub = Hub::start().await;
    let ask = async |task: TaskContext| match &*task.text() {
        "book a flight" => Ok(Reply::input_required("Where to?")),
        city => Ok(Reply::text(format!(
            "Booked to {city} in {}.",
            task.task_id()
        ))),
    };
    let _agent = hub.agent("travel", ask).await;
    let server = Arc::new(hub.served().await);
    let client = McpClient::piped(&server).await;
    let asked = client
        .call("agent_travel", json!({"request": "book a flight"}))
        .await;
    let asked = asked.expect("a result");
    assert_eq!(asked.is_error, Some(false));
    let [question, how] = texts(&asked)[..] else {
        panic!("{asked:?}");
    };
    assert_eq!(question, "Where to?");
    let meta = asked.meta.as_ref().expect("where it is from");
    let context = meta["agenthub/contextId"].as_str().expect("an id");
    assert!(
        how.contains(context) && how.contains("agent_travel"),
        "{how}"
    );
    assert_eq!(meta["agenthub/state"], "input-required");

    let answer = json!({"request": "Rome", "context_id": context});
    let booked = client.call("agent_travel", answer).await.expect("a result");
    let task = meta["agenthub/taskId"].as_str().expect("an id");
    assert_eq!(texts(&booked), [format!("Booked to Rome in {task}.")]);

    // Nothing waits any more: the conversation goes on with another task.
    let more = json!({"request": "Oslo", "context_id": context});
    let booked = client.call("agent_travel", more).await.expect("a result");
    let meta = booked.meta.expect("where it is from");
    assert_eq!(meta["agenthub/contextId"], context);
    assert_ne!(meta["agenthub/taskId"], task);
}

#[tokio::test]
async fn a_call_too_many_is_refused_and_one_that_takes_too_long_is_called_off() {
    let hub = Hub::start().await;
    let (_agent, mut heard) = hub.stubborn().await;
    let settings = Settings {
        timeout: Duration::from_secs(2),
        max_calls: 1,
        ..Settings::new(hub.url())
    };
    let server = Arc::new(serving(settings).await);
    let client = McpClient::piped(&server).await;
    let first = client.call("agent_stubborn", json!({"request": "one"}));
    let second = async {
        assert_eq!(soon(heard.recv()).await.as_deref(), Some("began one"));
        client
            .call("agent_stubborn", json!({"request": "two"}))
            .await
    };
    let (first, second) = tokio::join!(first, second);
    let second = second.expect("a result");
    assert_eq!(second.is_error, Some(true));
    assert!(
        texts(&second)[0].starts_with("1 calls are under way"),
        "{second:?}"
    );
    let first = first.expect("a result");
    assert_eq!(first.is_error, Some(true));
    assert!(!texts(&first).is_empty());
    assert_eq!(soon(heard.recv()).await.as_deref(), Some("ended one"));
    // There is room again.
    let third = client
        .service
        .call_tool(params("agent_stubborn", json!({"request": "three"})));
    let (third, _) = tokio::join!(soon(third), soon(heard.recv()));
    assert!(!texts(&third.expect("a result"))[0].contains("under way"));
}

#[tokio::test]
async fn a_call_with_parameters_of_another_shape_is_refused_with_the_reason() {
    let hub = Hub::start().await;
    let server = Arc::new(hub.served().await);
    let client = McpClient::piped(&server).await;
    let refused = async |method: &str, params| {
        let request = ClientRequest::CustomRequest(CustomRequest::new(method, params));
        match client.service.send_request(request).await {
            Err(ServiceError::McpError(error)) => error,
            other => panic!("{other:?}"),
        }
    };
    for (params, part) in [
        (None, "missing field `name`"),
        (Some(json!({"name": "agent_a", "arguments": "x"})), "\"x\""),
        (Some(json!({"arguments": {}})), "missing field `name`"),
    ] {
        let error = refused("tools/call", params).await;
        assert_eq!(error.code, ErrorCode::INVALID_PARAMS, "{error:?}");
        assert!(error.message.contains(part), "{error:?}");
    }
    let error = refused("tools/dance", None).await;
    assert_eq!(error.code, ErrorCode::METHOD_NOT_FOUND, "{error:?}");
}

#[tokio::test]
async fn parts_of_an_answer_are_one_and_messages_on_the_way_are_not_lost() {
    let hub = Hub::start().await;
    let write = async |task: TaskContext| {
        let piece = |text: &str| Artifact {
            artifact_id: "answer".to_owned(),
            parts: vec![Part::text(text)],
            ..Default::default()
        };
        task.publish_artifact(piece("Once upon")).await?;
        let more = ArtifactUpdate::new(piece(" a time")).append().last_chunk();
        task.publish_artifact(more).await?;
        Ok(Message::new(Role::Agent, "That is all."))
    };
    let _agent = hub.agent("teller", write).await;
    let server = Arc::new(hub.served().await);
    let client = McpClient::piped(&server).await;
    let told = client
        .call("agent_teller", json!({"request": "a story"}))
        .await;
    assert_eq!(texts(&told.expect("a result")), ["Once upon a time"]);
}

//! The behaviours that A2A's conformance kit asks an agent for, and some that tests with other clients do.
//!
//! A message chooses one by the beginning of its id, as the kit's `scenarios/*.feature` name them, or of its text, for clients that make up
//! ids of their own.

use std::time::Duration;

use agenthub_sdk::{
    Agent, AgentBuilder, Artifact, ArtifactUpdate, Card, Failure, Part, Reply, Skill, TaskContext,
    proto::a2a::{AgentCard, AgentExtension, FilePart, file_part::File, part},
};
use serde_json::json;

/// Time that a task for subscribers lasts: twice the kit's `TCK_STREAMING_TIMEOUT`.
const LONG: Duration = Duration::from_secs(4);

/// The agent. With an extension, its card requires that.
pub(crate) fn agent(extension: Option<String>) -> AgentBuilder {
    Agent::worker(card(extension)).on_task_type("conformance", work)
}

fn card(extension: Option<String>) -> AgentCard {
    let skill = Skill::new(
        "conformance",
        "Conformance",
        "Does what A2A's conformance kit asks for",
    );
    let card = Card::new("conformance", "Shows the behaviours that A2A's kit tests")
        .skill(skill.tags(["tck"]).examples(["tck-complete-task"]));
    let mut card = AgentCard::from(card);
    card.default_input_modes = vec!["text/plain".to_owned()];
    card.default_output_modes = vec!["text/plain".to_owned(), "application/json".to_owned()];
    let required = extension.map(|uri| AgentExtension {
        uri,
        description: "Required by the kit's test of required extensions".to_owned(),
        required: true,
        ..Default::default()
    });
    let capabilities = card.capabilities.get_or_insert_default();
    capabilities.extensions.extend(required);
    card
}

/// The first of these that a message begins with is its behaviour.
const BEHAVIOURS: [&str; 19] = [
    "tck-complete-task",
    "tck-artifact-text",
    "tck-artifact-file-url",
    "tck-artifact-file",
    "tck-artifact-data",
    "tck-message-response",
    "tck-input-required",
    "tck-auth-required",
    "tck-reject-task",
    "tck-stream-001",
    "tck-stream-002",
    "tck-stream-003",
    "tck-stream-ordering-001",
    "tck-stream-artifact-text",
    "tck-stream-artifact-file",
    "tck-stream-artifact-chunked",
    "test-resubscribe-message-id",
    "ask",
    "wait",
];

async fn work(task: TaskContext) -> Result<Reply, Failure> {
    let text = task.text();
    let begins = |behaviour: &&&str| {
        task.message().message_id.starts_with(**behaviour) || text.starts_with(**behaviour)
    };
    let behaviour = BEHAVIOURS.iter().find(begins).copied();
    Ok(match behaviour.unwrap_or_default() {
        "tck-complete-task" => Reply::text("Hello from TCK"),
        "tck-artifact-text" => one(Part::text("Generated text content")).into(),
        "tck-artifact-file" => one(file(File::FileWithBytes(b"tck".to_vec()))).into(),
        "tck-artifact-file-url" => {
            let url = "https://example.com/output.txt".to_owned();
            one(file(File::FileWithUri(url))).into()
        }
        "tck-artifact-data" => one(Part::data(&json!({"key": "value", "count": 42}))).into(),
        "tck-message-response" => Reply::text("Direct message response").message_only(),
        "tck-input-required" => Reply::input_required("Which input?"),
        "tck-auth-required" => Reply::auth_required("Sign in at https://example.com/sign-in"),
        "tck-reject-task" => return Err(Failure::rejected("rejected")),
        "tck-stream-002" => Reply::none(),
        "tck-stream-artifact-chunked" => {
            let first = ArtifactUpdate::new(one(Part::text("chunk-1 ")));
            task.publish_artifact(first).await?;
            let last = ArtifactUpdate::new(one(Part::text("chunk-2")));
            task.publish_artifact(last.append().last_chunk()).await?;
            Reply::none()
        }
        "tck-stream-artifact-file" => {
            let artifact = one(file(File::FileWithBytes(b"tck".to_vec())));
            shown(&task, artifact).await?
        }
        "tck-stream-001" => shown(&task, one(Part::text("Stream hello from TCK"))).await?,
        "tck-stream-003" => shown(&task, one(Part::text("Stream task lifecycle"))).await?,
        "tck-stream-ordering-001" => shown(&task, one(Part::text("Ordered output"))).await?,
        "tck-stream-artifact-text" => {
            shown(&task, one(Part::text("Streamed text content"))).await?
        }
        "test-resubscribe-message-id" => {
            tokio::select! {
                () = tokio::time::sleep(LONG) => Reply::none(),
                () = task.cancelled() => return Err(Failure::cancelled("cancelled")),
            }
        }
        "ask" => {
            let colour = task.ask_requester("Which colour?").await?.text();
            let size = task.ask_requester("Which size?").await?.text();
            Reply::text(format!("a {size} {colour} cat"))
        }
        "wait" => {
            task.cancelled().await;
            return Err(Failure::cancelled("cancelled"));
        }
        _ => Reply::text(format!("Received: {text}")),
    })
}

/// Shows an artifact before the end.
async fn shown(task: &TaskContext, artifact: Artifact) -> Result<Reply, Failure> {
    task.publish_artifact(ArtifactUpdate::new(artifact).last_chunk())
        .await?;
    Ok(Reply::none())
}

fn one(part: Part) -> Artifact {
    Artifact {
        artifact_id: "output".to_owned(),
        name: "output".to_owned(),
        parts: vec![part],
        ..Default::default()
    }
}

fn file(file: File) -> Part {
    let file = FilePart {
        file: Some(file),
        mime_type: "text/plain".to_owned(),
        name: "output.txt".to_owned(),
    };
    Part {
        part: Some(part::Part::File(file)),
        metadata: None,
    }
}

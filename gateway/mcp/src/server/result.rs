//! Result of a call, as a client is told it.

use agenthub_sdk::{
    Outcome,
    internal::AgentTool,
    proto::a2a::{FilePart, Part, TaskState, file_part, part},
    runs::Shortfall,
};
use base64::{Engine, prelude::BASE64_STANDARD};
use rmcp::model::{
    Annotations, CallToolResult, ContentBlock, EmbeddedResource, MetaObject, Resource,
    ResourceContents, Role, TextContent,
};
use serde_json::{Value, json};

use super::tools::CONTEXT;

/// The keys of `_meta` under which a result tells where it comes from.
const META: &str = "agenthub";

/// A call that came to nothing, in words that the client's model is shown and can act upon.
pub(super) fn refused(why: impl Into<String>) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(why)])
}

/// Outcome of a task in this conversation. One that was completed, but of which the agent says that it did nothing, is an error.
pub(super) fn of(tool: &AgentTool, context: &str, outcome: &Outcome) -> CallToolResult {
    let parts = parts(outcome);
    let data: Vec<Value> = distinct(parts.iter().filter_map(|part| part.as_data()));
    let mut content: Vec<ContentBlock> = Vec::new();
    let shortfall = Shortfall::of(&data);
    let is_failed = !(outcome.is_completed() || outcome.state.is_interrupted());
    let is_error = is_failed || shortfall.as_ref().is_some_and(Shortfall::is_nothing);
    if is_failed {
        content.push(ContentBlock::text(failure(tool, outcome)));
    }
    let is_said = is_failed && outcome.error.contains(&outcome.text);
    if !outcome.text.is_empty() && !is_said {
        content.push(ContentBlock::text(&outcome.text));
    }
    content.extend(data.iter().map(|data| ContentBlock::text(data.to_string())));
    let files = parts.iter().filter_map(|part| match &part.part {
        Some(part::Part::File(file)) => file_block(file, &outcome.task_id),
        _ => None,
    });
    content.extend(files);
    if outcome.state.is_interrupted() {
        content.push(how_to_answer(tool, context));
    }
    if content.is_empty() {
        let done = format!("{} ended without an error and gave no output.", tool.agent);
        content.push(ContentBlock::text(done));
    }
    let mut result = match is_error {
        true => CallToolResult::error(content),
        false => CallToolResult::success(content),
    };
    result.structured_content = structured(data);
    let mut meta = meta(tool, context, outcome);
    if let Some(shortfall) = shortfall {
        meta.insert(format!("{META}/undone"), json!(shortfall.extent()));
    }
    result.meta = Some(meta);
    result
}

/// All that the agent gave: its artifacts, and the message that came with the state.
fn parts(outcome: &Outcome) -> Vec<&Part> {
    let artifacts = outcome.artifacts.iter().flat_map(|a| &a.parts);
    let message = outcome.message.iter().flat_map(|m| &m.content);
    artifacts.chain(message).collect()
}

fn distinct(values: impl Iterator<Item = Value>) -> Vec<Value> {
    let mut distinct: Vec<Value> = Vec::new();
    for value in values {
        if !distinct.contains(&value) {
            distinct.push(value);
        }
    }
    distinct
}

/// Structured content is an object: the agent's own, or several under `results`. What an answer lacks stands beside it in words.
fn structured(mut data: Vec<Value>) -> Option<Value> {
    let is_mark = |data: &Value| Shortfall::of([data]).is_some();
    if !data.iter().all(is_mark) {
        data.retain(|data| !is_mark(data));
    }
    match data.len() {
        0 => None,
        1 => data.pop(),
        _ => Some(json!({ "results": data })),
    }
}

fn failure(tool: &AgentTool, outcome: &Outcome) -> String {
    let (agent, error) = (&tool.agent, &outcome.error);
    match outcome.state {
        TaskState::Rejected => format!("{agent} does not do this: {error}"),
        TaskState::Cancelled => format!("{agent} was called back: {error}"),
        _ => format!("{agent} failed: {error}"),
    }
}

/// For the model alone: the person reads the question.
fn how_to_answer(tool: &AgentTool, context: &str) -> ContentBlock {
    let text = format!(
        "{} waits for an answer to this. To give it, call {} again with the answer as `request` and with `{CONTEXT}`: \"{context}\".",
        tool.agent, tool.name
    );
    let annotations = Annotations::default().with_audience(vec![Role::Assistant]);
    ContentBlock::Text(TextContent::new(text).with_annotations(annotations))
}

/// A file by its address as a link; one that came along as what it is.
fn file_block(file: &FilePart, task_id: &str) -> Option<ContentBlock> {
    let name = match file.name.is_empty() {
        true => "file",
        false => &*file.name,
    };
    let mime = Some(file.mime_type.clone()).filter(|mime| !mime.is_empty());
    let bytes = match file.file.as_ref()? {
        file_part::File::FileWithUri(uri) => {
            let mut link = Resource::new(uri, name);
            link.mime_type = mime;
            return Some(ContentBlock::ResourceLink(link));
        }
        file_part::File::FileWithBytes(bytes) => bytes,
    };
    let kind = mime.as_deref().unwrap_or_default();
    if kind.starts_with("image/") {
        return Some(ContentBlock::image(BASE64_STANDARD.encode(bytes), kind));
    }
    if kind.starts_with("audio/") {
        return Some(ContentBlock::audio(BASE64_STANDARD.encode(bytes), kind));
    }
    let uri = format!("agenthub:task/{task_id}/{name}");
    let contents = match String::from_utf8(bytes.to_vec()) {
        Ok(text) => ResourceContents::text(text, uri),
        Err(_) => ResourceContents::blob(BASE64_STANDARD.encode(bytes), uri),
    };
    let contents = match mime {
        Some(mime) => contents.with_mime_type(mime),
        None => contents,
    };
    Some(ContentBlock::Resource(EmbeddedResource::new(contents)))
}

fn meta(tool: &AgentTool, context: &str, outcome: &Outcome) -> MetaObject {
    let mut meta = MetaObject::new();
    for (key, value) in [
        ("agent", &*tool.agent),
        ("contextId", context),
        ("state", outcome.state.label()),
        ("taskId", &outcome.task_id),
    ] {
        meta.insert(format!("{META}/{key}"), value.into());
    }
    meta
}

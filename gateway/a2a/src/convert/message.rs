//! Messages, artifacts and their parts.

use agenthub_sdk::proto::a2a::{self, DataPart, FilePart, file_part::File};
use prost_types::{Struct, Value, value::Kind};

use crate::v1;

/// The field of a wrapped value.
const WRAPPED: &str = "value";

/// Metadata of a part: its file name.
const FILENAME: &str = "urn:agenthub:filename";

/// Metadata of a part: its media type.
const MEDIA_TYPE: &str = "urn:agenthub:media-type";

/// A message for an agent of the hub.
pub fn message_to_hub(message: v1::Message) -> a2a::Message {
    a2a::Message {
        message_id: message.message_id,
        context_id: message.context_id,
        task_id: message.task_id,
        role: message.role,
        content: message.parts.into_iter().map(part_to_hub).collect(),
        metadata: message.metadata,
        extensions: message.extensions,
        reference_task_ids: message.reference_task_ids,
    }
}

/// A message of an agent of the hub.
pub fn message_from_hub(message: a2a::Message) -> v1::Message {
    v1::Message {
        message_id: message.message_id,
        context_id: message.context_id,
        task_id: message.task_id,
        role: message.role,
        parts: message.content.into_iter().map(part_from_hub).collect(),
        metadata: message.metadata,
        extensions: message.extensions,
        reference_task_ids: message.reference_task_ids,
    }
}

/// An artifact for an agent of the hub.
pub fn artifact_to_hub(artifact: v1::Artifact) -> a2a::Artifact {
    a2a::Artifact {
        artifact_id: artifact.artifact_id,
        name: artifact.name,
        description: artifact.description,
        parts: artifact.parts.into_iter().map(part_to_hub).collect(),
        metadata: artifact.metadata,
        extensions: artifact.extensions,
    }
}

/// An artifact of an agent of the hub.
pub fn artifact_from_hub(artifact: a2a::Artifact) -> v1::Artifact {
    v1::Artifact {
        artifact_id: artifact.artifact_id,
        name: artifact.name,
        description: artifact.description,
        parts: artifact.parts.into_iter().map(part_from_hub).collect(),
        metadata: artifact.metadata,
        extensions: artifact.extensions,
    }
}

pub(super) fn part_to_hub(part: v1::Part) -> a2a::Part {
    use v1::part::Content;
    let v1::Part {
        content,
        metadata,
        filename,
        media_type,
    } = part;
    let file = |file, filename, media_type| a2a::Part {
        part: Some(a2a::part::Part::File(FilePart {
            file: Some(file),
            mime_type: media_type,
            name: filename,
        })),
        metadata: metadata.clone(),
    };
    let part = match content {
        Some(Content::Raw(bytes)) => return file(File::FileWithBytes(bytes), filename, media_type),
        Some(Content::Url(url)) => return file(File::FileWithUri(url), filename, media_type),
        Some(Content::Text(text)) => Some(a2a::part::Part::Text(text)),
        Some(Content::Data(value)) => Some(a2a::part::Part::Data(data_to_hub(value))),
        None => None,
    };
    let metadata = labelled(metadata, filename, media_type);
    a2a::Part { part, metadata }
}

pub(super) fn part_from_hub(part: a2a::Part) -> v1::Part {
    use v1::part::Content;
    let a2a::Part { part, metadata } = part;
    let content = match part {
        Some(a2a::part::Part::Text(text)) => Some(Content::Text(text)),
        Some(a2a::part::Part::Data(data)) => Some(Content::Data(data_from_hub(data))),
        Some(a2a::part::Part::File(file)) => {
            let content = file.file.map(|file| match file {
                File::FileWithUri(url) => Content::Url(url),
                File::FileWithBytes(bytes) => Content::Raw(bytes),
            });
            return v1::Part {
                content,
                metadata,
                filename: file.name,
                media_type: file.mime_type,
            };
        }
        None => None,
    };
    let (metadata, filename, media_type) = unlabelled(metadata);
    v1::Part {
        content,
        metadata,
        filename,
        media_type,
    }
}

/// The metadata of a text or data part, with its file name and media type: on the hub only file parts have fields for them. Fields of
/// their own would make each part of each message larger by half.
fn labelled(metadata: Option<Struct>, filename: String, media_type: String) -> Option<Struct> {
    let labels = [(FILENAME, filename), (MEDIA_TYPE, media_type)];
    let labels = labels.into_iter().filter(|(_, label)| !label.is_empty());
    let labels = labels.map(|(key, label)| {
        let kind = Some(Kind::StringValue(label));
        (key.to_owned(), Value { kind })
    });
    let mut labels = labels.peekable();
    if labels.peek().is_none() {
        return metadata;
    }
    let mut metadata = metadata.unwrap_or_default();
    metadata.fields.extend(labels);
    Some(metadata)
}

/// The metadata without the labels, the file name and the media type. Metadata that held nothing else are none.
fn unlabelled(metadata: Option<Struct>) -> (Option<Struct>, String, String) {
    let Some(mut metadata) = metadata else {
        return Default::default();
    };
    let mut take = |key| match metadata.fields.remove(key)?.kind {
        Some(Kind::StringValue(label)) => Some(label),
        _ => None,
    };
    let (filename, media_type) = (take(FILENAME), take(MEDIA_TYPE));
    let is_labelled = filename.is_some() || media_type.is_some();
    let metadata = (!is_labelled || !metadata.fields.is_empty()).then_some(metadata);
    let [filename, media_type] = [filename, media_type].map(Option::unwrap_or_default);
    (metadata, filename, media_type)
}

fn data_to_hub(value: Value) -> DataPart {
    match value.kind {
        Some(Kind::StructValue(object)) => DataPart {
            data: Some(object),
            is_wrapped: false,
        },
        kind => DataPart {
            data: Some(Struct {
                fields: [(WRAPPED.to_owned(), Value { kind })].into(),
            }),
            is_wrapped: true,
        },
    }
}

fn data_from_hub(data: DataPart) -> Value {
    let mut object = data.data.unwrap_or_default();
    match object.fields.remove(WRAPPED) {
        Some(value) if data.is_wrapped && object.fields.is_empty() => value,
        Some(value) => {
            object.fields.insert(WRAPPED.to_owned(), value);
            Kind::StructValue(object).into()
        }
        None => Kind::StructValue(object).into(),
    }
}

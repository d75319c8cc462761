//! Messages, artifacts and their parts.

use agenthub_sdk::proto::a2a::{self, DataPart, FilePart, file_part::File};
use prost_types::{Struct, Value, value::Kind};

use crate::v1;

/// The field of a wrapped value.
const WRAPPED: &str = "value";

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
        ..Default::default()
    };
    let part = match content {
        Some(Content::Raw(bytes)) => return file(File::FileWithBytes(bytes), filename, media_type),
        Some(Content::Url(url)) => return file(File::FileWithUri(url), filename, media_type),
        Some(Content::Text(text)) => Some(a2a::part::Part::Text(text)),
        Some(Content::Data(value)) => Some(a2a::part::Part::Data(data_to_hub(value))),
        None => None,
    };
    a2a::Part {
        part,
        metadata,
        filename,
        media_type,
    }
}

pub(super) fn part_from_hub(part: a2a::Part) -> v1::Part {
    use v1::part::Content;
    let a2a::Part {
        part,
        metadata,
        filename,
        media_type,
    } = part;
    let (content, filename, media_type) = match part {
        Some(a2a::part::Part::Text(text)) => (Some(Content::Text(text)), filename, media_type),
        Some(a2a::part::Part::Data(data)) => (
            Some(Content::Data(data_from_hub(data))),
            filename,
            media_type,
        ),
        Some(a2a::part::Part::File(file)) => {
            let content = file.file.map(|file| match file {
                File::FileWithUri(url) => Content::Url(url),
                File::FileWithBytes(bytes) => Content::Raw(bytes),
            });
            (content, file.name, file.mime_type)
        }
        None => (None, filename, media_type),
    };
    v1::Part {
        content,
        metadata,
        filename,
        media_type,
    }
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

//! Methods on messages, parts and artifacts.

use prost_types::{Struct, value::Kind};
use uuid::Uuid;

use crate::{
    a2a::{Artifact, DataPart, FilePart, Message, Part, Role, file_part::File, part},
    json,
};

impl Message {
    /// Metadata of an answer that requesters may take without its task.
    pub const MESSAGE_ONLY: &str = "urn:agenthub:message-only";

    /// A message of one text part with a new id.
    pub fn new(role: Role, text: impl Into<String>) -> Self {
        Self {
            message_id: format!("msg_{}", Uuid::now_v7().simple()),
            role: role.into(),
            content: vec![Part::text(text)],
            ..Default::default()
        }
    }

    /// The text parts, one per line.
    pub fn text(&self) -> String {
        text_of(&self.content)
    }

    /// The structured parts.
    pub fn data(&self) -> impl Iterator<Item = serde_json::Value> + '_ {
        self.content.iter().filter_map(Part::as_data)
    }

    /// The files, each as a part.
    pub fn files(&self) -> impl Iterator<Item = &Part> {
        self.content.iter().filter(|part| part.as_file().is_some())
    }

    /// The metadata field `task_type`; may be empty.
    pub fn task_type(&self) -> &str {
        self.metadata_str("task_type")
    }

    /// A text field of the metadata; may be empty.
    pub fn metadata_str(&self, key: &str) -> &str {
        self.metadata.as_ref().map_or("", |m| str_field(m, key))
    }

    /// Sets a field of the metadata.
    #[must_use]
    pub fn with_metadata(mut self, key: &str, value: impl Into<serde_json::Value>) -> Self {
        self.metadata
            .get_or_insert_default()
            .fields
            .insert(key.to_owned(), json::to_value(&value.into()));
        self
    }
}

impl Artifact {
    /// The text parts, one per line.
    pub fn text(&self) -> String {
        text_of(&self.parts)
    }
}

impl Part {
    /// A text part.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            part: Some(part::Part::Text(text.into())),
            ..Self::default()
        }
    }

    /// A structured part.
    pub fn data(data: &serde_json::Value) -> Self {
        Self {
            part: Some(part::Part::Data(DataPart {
                data: Some(json::to_struct(data)),
                is_wrapped: !data.is_object(),
            })),
            ..Self::default()
        }
    }

    /// The text of a text part.
    pub fn as_text(&self) -> Option<&str> {
        match &self.part {
            Some(part::Part::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// The file of a part that is one.
    pub fn as_file(&self) -> Option<&FilePart> {
        match &self.part {
            Some(part::Part::File(file)) => Some(file),
            _ => None,
        }
    }

    /// The content of a structured part.
    pub fn as_data(&self) -> Option<serde_json::Value> {
        match &self.part {
            Some(part::Part::Data(DataPart {
                data: Some(data), ..
            })) => Some(json::from_struct(data)),
            _ => None,
        }
    }
}

impl FilePart {
    /// Name, type, and size or place, for who is told of the file and does not read it.
    pub fn described(&self) -> serde_json::Value {
        let mut told = serde_json::json!({ "name": self.name, "mimeType": self.mime_type });
        match &self.file {
            Some(File::FileWithUri(uri)) => told["uri"] = uri.as_str().into(),
            Some(File::FileWithBytes(bytes)) => told["bytes"] = bytes.len().into(),
            None => {}
        }
        told
    }
}

/// A text field of a `Struct`; may be empty.
pub(crate) fn str_field<'a>(s: &'a Struct, key: &str) -> &'a str {
    match s.fields.get(key).and_then(|v| v.kind.as_ref()) {
        Some(Kind::StringValue(text)) => text,
        _ => "",
    }
}

fn text_of(parts: &[Part]) -> String {
    let texts: Vec<&str> = parts.iter().filter_map(Part::as_text).collect();
    texts.join("\n")
}

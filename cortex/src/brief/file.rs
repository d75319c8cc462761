//! Files that come with what is said in a chat.

use agenthub_sdk::proto::a2a::{FilePart, Part, file_part, part};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{
    Brief, Fault, MAX_FILE_BYTES, MAX_FILES, MAX_MIME_BYTES, MAX_NAME_BYTES, Mode, is_name,
    is_short,
};

/// A file, as it came.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct File {
    /// Name. 1 to 256 bytes.
    pub name: String,
    /// Media type, such as `image/png`; empty if it is not known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub mime_type: String,
    /// Content, in Base64.
    #[serde(with = "base64")]
    #[schema(value_type = String, content_encoding = "base64")]
    pub bytes: Vec<u8>,
}

impl File {
    /// The file as a part of a message.
    pub(crate) fn to_part(&self) -> Part {
        let file = FilePart {
            name: self.name.clone(),
            mime_type: self.mime_type.clone(),
            file: Some(file_part::File::FileWithBytes(self.bytes.clone())),
        };
        Part {
            part: Some(part::Part::File(file)),
            ..Part::default()
        }
    }

    /// The file that a part is; `None` for any other, and for one that is elsewhere.
    pub(crate) fn of(part: &Part) -> Option<Self> {
        let FilePart {
            name,
            mime_type,
            file: Some(file_part::File::FileWithBytes(bytes)),
        } = part.as_file()?
        else {
            return None;
        };
        Some(Self {
            name: name.clone(),
            mime_type: mime_type.clone(),
            bytes: bytes.clone(),
        })
    }
}

impl Brief {
    /// The checks of its files: how many there are and how large, so that all of it fits into one message of the hub.
    pub(super) fn files_fit(&self) -> Vec<Result<(), Fault>> {
        if self.files.is_empty() {
            return Vec::new();
        }
        if self.mode == Mode::App {
            let why = "come with what is said in the mode `chat`; take it, or put what is in them into the payload";
            return vec![Err(Fault::new("files", why))];
        }
        if self.files.len() > MAX_FILES {
            let why = format!("has {}; at most {MAX_FILES} are taken", self.files.len());
            return vec![Err(Fault::new("files", why))];
        }
        let bytes = self.files.iter().map(|file| file.bytes.len()).sum();
        let named = self.files.iter().enumerate().flat_map(|(at, file)| {
            let at = |field: &str| format!("files[{at}].{field}");
            [
                is_name(&at("name"), &file.name, MAX_NAME_BYTES),
                is_short(&at("mimeType"), file.mime_type.len(), MAX_MIME_BYTES),
            ]
        });
        named
            .chain([is_short("files", bytes, MAX_FILE_BYTES)])
            .collect()
    }
}

/// Content as Base64 (RFC 4648 §4).
mod base64 {
    use base64::{Engine as _, prelude::BASE64_STANDARD};
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&BASE64_STANDARD.encode(bytes))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(deserializer)?;
        BASE64_STANDARD.decode(text).map_err(D::Error::custom)
    }
}

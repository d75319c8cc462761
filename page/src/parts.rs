//! Parts of messages and artifacts, as they are shown: words, data, and files that can be saved.

use agenthub_proto::a2a::{Artifact, Message, Part, file_part::File, part::Part as Content};
use maud::{Markup, html};

use crate::{
    elements::{MAX_SHOWN, data, segment, text},
    preview::Preview,
};

/// The message, status or artifact of a task that parts belong to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Source<'a> {
    Message { task: &'a str, message: &'a str },
    Status { task: &'a str },
    Artifact { task: &'a str, artifact: &'a str },
}

impl Source<'_> {
    /// The address at which the part with this number, from 0, is saved.
    fn address(self, part: usize) -> String {
        let (task, of, id) = match self {
            Self::Message { task, message } => (task, "message", message),
            Self::Status { task } => (task, "status", ""),
            Self::Artifact { task, artifact } => (task, "artifact", artifact),
        };
        let (task, id) = (segment(task), segment(id));
        format!("/ui/tasks/{task}/file?of={of}&id={id}&part={part}")
    }
}

/// All parts.
pub(crate) fn parts(parts: &[Part], source: Source<'_>) -> Markup {
    parts_that(parts, source, |_| true)
}

/// All parts, words and files first, and the data folded behind them.
fn folded(all: &[Part], source: Source<'_>) -> Markup {
    let is_data = |part: &Part| part.as_data().is_some();
    html! {
        (parts_that(all, source, |part| !is_data(part)))
        @if all.iter().any(is_data) {
            details { summary { "Data" } (parts_that(all, source, is_data)) }
        }
    }
}

/// Files and data, without the words.
pub(crate) fn parts_but_words(parts: &[Part], source: Source<'_>) -> Markup {
    parts_that(parts, source, |part| part.as_text().is_none())
}

/// The parts that are to be shown.
pub(crate) fn parts_that(
    parts: &[Part],
    source: Source<'_>,
    is_shown: impl Fn(&Part) -> bool,
) -> Markup {
    html! {
        @for (number, part) in parts.iter().enumerate().filter(|(_, part)| is_shown(part)) {
            (drawn(part, &source.address(number)))
        }
    }
}

fn drawn(part: &Part, address: &str) -> Markup {
    match &part.part {
        Some(Content::Text(words)) => html! {
            (text(words))
            @if words.len() > MAX_SHOWN { (save(address, "the whole text")) }
        },
        Some(Content::Data(_)) => {
            let value = part.as_data().unwrap_or_default();
            html! { (data(&value)) (save(address, "these data")) }
        }
        Some(Content::File(file)) => html! {
            p.file {
                "File " b { (if file.name.is_empty() { "without a name" } else { &file.name }) }
                @if !file.mime_type.is_empty() { " (" (file.mime_type) ")" }
                @match &file.file {
                    Some(File::FileWithBytes(bytes)) => {
                        ", " (size(bytes.len() as u64)) " " a href=(address) download { "Save it" }
                        @if let Some(preview) = Preview::of(bytes) { (shown(preview, &file.name, address)) }
                    },
                    Some(File::FileWithUri(uri)) if is_page(uri) => {
                        ", at " a rel="noopener noreferrer nofollow" href=(uri) { (uri) }
                    },
                    Some(File::FileWithUri(uri)) => { ", at " (uri) },
                    None => ", without content",
                }
            }
        },
        None => html! {},
    }
}

/// A picture in a file, as the browser shows it.
fn shown(preview: Preview, name: &str, address: &str) -> Markup {
    html! {
        br;
        img.preview src={ (address) "&show=1" } alt={ "Preview of " (name) } width=(preview.width) height=(preview.height) loading="lazy";
    }
}

fn save(address: &str, what: &str) -> Markup {
    html! { p.about { a href=(address) download { "Save " (what) } } }
}

/// True for an address that a browser opens as a page.
fn is_page(uri: &str) -> bool {
    uri.starts_with("https://") || uri.starts_with("http://")
}

/// A size in words.
pub(crate) fn size(bytes: u64) -> String {
    match bytes {
        1 => "1 byte".to_owned(),
        ..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{}.{} kB", bytes / 1_000, bytes % 1_000 / 100),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes % 1_000_000 / 100_000),
    }
}

/// A message: who says it, and its parts.
pub(crate) fn message(message: &Message, from: &Markup, source: Source<'_>) -> Markup {
    html! {
        div.message {
            p.from { (from) }
            (folded(&message.content, source))
        }
    }
}

/// An artifact of a task: its name and its parts.
pub(crate) fn artifact(artifact: &Artifact, task: &str) -> Markup {
    let source = Source::Artifact {
        task,
        artifact: &artifact.artifact_id,
    };
    let name = if artifact.name.is_empty() {
        &artifact.artifact_id
    } else {
        &artifact.name
    };
    html! {
        div.message {
            p.from { (name) }
            @if !artifact.description.is_empty() { p { (artifact.description) } }
            (folded(&artifact.parts, source))
        }
    }
}

#[cfg(test)]
mod tests {
    use agenthub_proto::a2a::FilePart;
    use serde_json::json;

    use super::*;
    use crate::preview;

    fn file(file: File) -> Part {
        let part = FilePart {
            file: Some(file),
            mime_type: "text/html".into(),
            name: "<b>.html".into(),
        };
        Part {
            part: Some(Content::File(part)),
            ..Part::default()
        }
    }

    #[test]
    fn files_and_data_are_named_and_can_be_saved_and_are_no_markup() {
        let all = [
            Part::text("<i>words</i>"),
            Part::data(&json!({"a": "<script>"})),
            file(File::FileWithBytes(b"<script>".to_vec())),
            file(File::FileWithUri("javascript:alert(1)".into())),
        ];
        let source = Source::Artifact {
            task: "t/1",
            artifact: "a&b",
        };
        let shown = parts(&all, source).into_string();
        for part in [
            "&lt;i&gt;words",
            "href=\"/ui/tasks/t%2F1/file?of=artifact&amp;id=a%26b&amp;part=1\" download",
            "href=\"/ui/tasks/t%2F1/file?of=artifact&amp;id=a%26b&amp;part=2\" download",
            "File <b>&lt;b&gt;.html</b> (text/html), 8 bytes",
            ", at javascript:alert(1)",
        ] {
            assert!(shown.contains(part), "{part} in {shown}");
        }
        assert!(
            !shown.contains("<script>") && !shown.contains("href=\"javascript"),
            "{shown}"
        );
        let without_words = parts_but_words(&all, source).into_string();
        assert!(
            !without_words.contains("words") && without_words.contains("part=2"),
            "{without_words}"
        );
    }

    /// Issue 26: files are shown as such, pictures where that is safe.
    #[test]
    fn a_picture_is_shown_by_what_is_in_it_and_a_page_that_calls_itself_one_is_not() {
        let source = Source::Message {
            task: "t",
            message: "m",
        };
        let drawn =
            |content: Vec<u8>| parts(&[file(File::FileWithBytes(content))], source).into_string();
        let picture = drawn(preview::tests::png(3, 2));
        assert!(
            picture.contains("src=\"/ui/tasks/t/file?of=message&amp;id=m&amp;part=0&amp;show=1\" alt=\"Preview of &lt;b&gt;.html\" width=\"3\" height=\"2\""),
            "{picture}"
        );
        assert!(!drawn(b"<svg onload=\"x()\"/>".to_vec()).contains("<img"));
    }

    #[test]
    fn sizes_are_in_words() {
        assert_eq!(size(1), "1 byte");
        assert_eq!(size(999), "999 bytes");
        assert_eq!(size(1_250), "1.2 kB");
        assert_eq!(size(3_400_000), "3.4 MB");
    }
}

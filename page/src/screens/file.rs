//! A part of a task as a file to save. Its content is of agents and of people elsewhere: a browser shows nothing of it but pictures of a few kinds.

use agenthub_proto::{
    a2a::{Part, Task, file_part::File, part::Part as Content},
    direction::is_direction,
};
use axum::{
    http::{HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};

use crate::{backend::Backend, place::Place, preview::Preview, trouble::Trouble};

/// Largest file that is given, in bytes.
const MAX_BYTES: usize = 32 * 1024 * 1024;

/// The longest name of a file, in characters.
const MAX_NAME: usize = 120;

pub(super) async fn save(backend: Backend, place: Place) -> Result<Response, Trouble> {
    let task = backend.hub().task(place.path("task"), 0).await?;
    let parts = parts_of(&task, place.query("of"), place.query("id"));
    let part = place
        .query("part")
        .parse()
        .ok()
        .and_then(|number: usize| parts?.get(number));
    let (name, content) = part.and_then(content).ok_or_else(|| {
        Trouble::new(
            StatusCode::NOT_FOUND,
            "The task has no such file: its page shows those that it has.",
        )
    })?;
    if content.len() > MAX_BYTES {
        return Err(Trouble::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            format!(
                "Files of more than {MAX_BYTES} bytes are not given here: ask for the task over gRPC."
            ),
        ));
    }
    if !place.query("show").is_empty() {
        return picture(content);
    }
    let headers = [
        // Whatever the part says of itself: nothing is made of it but a file.
        (
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/octet-stream"),
        ),
        (header::CONTENT_DISPOSITION, disposition(&name)),
    ];
    Ok((headers, content).into_response())
}

/// The content for a page to show, if it is a picture by what is in it.
fn picture(content: Vec<u8>) -> Result<Response, Trouble> {
    let preview = Preview::of(&content).ok_or_else(|| {
        let why = "The file is no picture that is shown here: it can be saved.";
        Trouble::new(StatusCode::NOT_FOUND, why)
    })?;
    let headers = [
        (header::CONTENT_TYPE, preview.media_type),
        (header::CONTENT_DISPOSITION, "inline"),
        // For pages of this hub, and no other.
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
    ];
    Ok((headers, content).into_response())
}

/// The parts of a message, of the status or of an artifact of the task.
fn parts_of<'a>(task: &'a Task, of: &str, id: &str) -> Option<&'a [Part]> {
    match of {
        "message" => {
            let message = task
                .history
                .iter()
                .find(|message| message.message_id == id)?;
            Some(&message.content)
        }
        "status" => Some(&task.status.as_ref()?.update.as_ref()?.content),
        "artifact" => {
            let artifact = task.artifacts.iter().find(|made| made.artifact_id == id)?;
            Some(&artifact.parts)
        }
        _ => None,
    }
}

/// The name and the content of a part.
fn content(part: &Part) -> Option<(String, Vec<u8>)> {
    match part.part.as_ref()? {
        Content::Text(words) => Some(("text.txt".to_owned(), words.clone().into_bytes())),
        Content::Data(_) => {
            let laid_out = serde_json::to_vec_pretty(&part.as_data()?).ok()?;
            Some(("data.json".to_owned(), laid_out))
        }
        Content::File(file) => match file.file.as_ref()? {
            File::FileWithBytes(bytes) => Some((named(&file.name), bytes.to_vec())),
            File::FileWithUri(_) => None,
        },
    }
}

/// A name without what means something in a path or a header.
fn named(name: &str) -> String {
    let plain = |c: char| match c {
        '/' | '\\' | '"' | '%' | ':' | '*' | '?' | '<' | '>' | '|' => '_',
        c if c.is_control() => '_',
        // Marks of direction: with one, a name ends as something else than it seems.
        c if is_direction(c) => '_',
        c => c,
    };
    let name: String = name.chars().take(MAX_NAME).map(plain).collect();
    match name.trim_matches(['.', ' ']) {
        "" => "file".to_owned(),
        name => name.to_owned(),
    }
}

/// RFC 6266: a name in ASCII, and the name itself.
fn disposition(name: &str) -> HeaderValue {
    let ascii: String = name
        .chars()
        .map(|c| {
            if c.is_ascii_graphic() || c == ' ' {
                c
            } else {
                '_'
            }
        })
        .collect();
    let itself = crate::elements::segment(name);
    HeaderValue::try_from(format!(
        "attachment; filename=\"{ascii}\"; filename*=UTF-8''{itself}"
    ))
    .unwrap_or_else(|_| HeaderValue::from_static("attachment"))
}

#[cfg(test)]
mod tests {
    use agenthub_proto::a2a::{Artifact, FilePart, Message, Role, TaskStatus};

    use super::*;
    use crate::preview::tests::png;

    fn file(name: &str, file: File) -> Part {
        let part = FilePart {
            file: Some(file),
            mime_type: "text/html".into(),
            name: name.into(),
        };
        Part {
            part: Some(Content::File(part)),
            ..Part::default()
        }
    }

    #[test]
    fn parts_are_found_where_they_belong() {
        let artifact = Artifact {
            artifact_id: "a".into(),
            parts: vec![
                Part::text("x"),
                file("f", File::FileWithBytes(b"1".to_vec())),
            ],
            ..Artifact::default()
        };
        let task = Task {
            history: vec![Message {
                message_id: "m".into(),
                ..Message::new(Role::User, "hi")
            }],
            status: Some(TaskStatus {
                update: Some(Message::new(Role::Agent, "done")),
                ..TaskStatus::default()
            }),
            artifacts: vec![artifact],
            ..Task::default()
        };
        let count = |of: &str, id: &str| parts_of(&task, of, id).map(<[Part]>::len);
        assert_eq!(count("message", "m"), Some(1));
        assert_eq!(count("status", ""), Some(1));
        assert_eq!(count("artifact", "a"), Some(2));
        assert_eq!(count("artifact", "b"), None);
        assert_eq!(count("", "a"), None);
        let (name, bytes) = content(&task.artifacts[0].parts[1]).expect("a file");
        assert_eq!((name.as_str(), bytes.as_slice()), ("f", b"1".as_slice()));
    }

    #[test]
    fn a_file_at_another_address_is_not_fetched() {
        let there = file("f", File::FileWithUri("http://169.254.169.254/".into()));
        assert_eq!(content(&there), None);
    }

    #[test]
    fn nothing_is_shown_but_what_is_a_picture() {
        let shown = picture(png(1, 1)).expect("a picture");
        assert_eq!(shown.headers()["content-type"], "image/png");
        for other in ["<html>", "<svg/>", ""] {
            let refused = picture(other.into()).expect_err("it is none");
            assert!(refused.is_not_found(), "{other}");
        }
    }

    #[test]
    fn names_are_neither_paths_nor_headers() {
        for (name, expected) in [
            ("report.pdf", "report.pdf"),
            ("../../etc/passwd", "_.._etc_passwd"),
            ("a\"; filename=\"b.html", "a_; filename=_b.html"),
            ("a\r\nSet-Cookie: x", "a__Set-Cookie_ x"),
            ("gnp\u{202e}exe", "gnp_exe"),
            ("", "file"),
            ("..", "file"),
        ] {
            assert_eq!(named(name), expected);
        }
        let header = disposition("Bericht für Åse.html");
        assert_eq!(
            header.to_str().expect("it is ASCII"),
            "attachment; filename=\"Bericht f_r _se.html\"; filename*=UTF-8''Bericht%20f%C3%BCr%20%C3%85se.html"
        );
    }
}

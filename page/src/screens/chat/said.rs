//! Words and files that somebody sends with the form of the chat. Of a form with files, what is more than may come is read and not kept, so that its
//! sender gets an answer instead of a connection that breaks off; a form of words alone is read as far as words may come.

use std::{collections::HashMap, time::Duration};

use agenthub_proto::{
    cortex::File,
    files::{MAX_FILE_BYTES, MAX_FILES, bounds},
};
use axum::{
    body::Body,
    extract::{
        Form, FromRequest, Multipart, Request,
        multipart::{Field, MultipartError},
    },
    http::{HeaderMap, StatusCode, header},
};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use tokio::time::timeout;

use crate::{form_key, parts::size, trouble::Trouble};

/// Maximum size of a form that is read to its end.
pub(in crate::screens) const MAX_READ: usize = 8 * 1024 * 1024;

/// Longest text, in bytes: as for an objective of a run.
const MAX_TEXT: usize = 64 * 1024;

/// Maximum size of a form without files: a byte of its text takes up to three.
const MAX_PLAIN: usize = 4 * MAX_TEXT;

/// Bytes of a form's key that count.
const MAX_KEY: usize = 64;

/// Time for a form to come.
const PATIENCE: Duration = Duration::from_secs(30);

/// Names of the form's fields.
pub(super) const TEXT: &str = "text";
pub(super) const FILES: &str = "files";

/// Media type of a form that has no files.
const PLAIN: &str = "application/x-www-form-urlencoded";

/// Name of a file that came without one.
const NAMELESS: &str = "file";

/// Words, and the files that go with them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::screens) struct Said {
    pub(super) text: String,
    pub(super) files: Vec<File>,
    /// Key of the form; empty if it has none.
    pub(super) key: String,
}

/// A form as far as it has come.
#[derive(Debug, Default)]
struct Coming {
    text: Vec<u8>,
    is_text_too_long: bool,
    files: Vec<File>,
    key: Vec<u8>,
    /// Bytes of all files, those that are not kept included.
    bytes: usize,
    /// Files that have come, those that are not kept included.
    count: usize,
}

impl Coming {
    fn takes_text(&mut self, piece: &[u8]) {
        self.is_text_too_long |= self.text.len() + piece.len() > MAX_TEXT;
        if !self.is_text_too_long {
            self.text.extend_from_slice(piece);
        }
    }

    fn takes_key(&mut self, piece: &[u8]) {
        let room = MAX_KEY - self.key.len();
        self.key.extend_from_slice(&piece[..piece.len().min(room)]);
    }

    fn begins_file(&mut self, name: &str, mime_type: &str) {
        self.count += 1;
        if self.is_within() {
            self.files.push(File {
                name: base_name(name),
                mime_type: mime_type.to_owned(),
                content: Vec::new(),
            });
        }
    }

    fn takes_of_file(&mut self, piece: &[u8]) {
        self.bytes = self.bytes.saturating_add(piece.len());
        if !self.is_within() {
            self.files.clear();
        } else if let Some(file) = self.files.last_mut() {
            file.content.extend_from_slice(piece);
        }
    }

    fn is_within(&self) -> bool {
        self.count <= MAX_FILES && self.bytes <= MAX_FILE_BYTES
    }

    fn ended(self) -> Result<Said, Trouble> {
        if !self.is_within() {
            let more = format!("{} Choose fewer or smaller ones.", bounds());
            return Err(Trouble::with_field(FILES, more));
        }
        let text = String::from_utf8_lossy(&self.text).trim().to_owned();
        if self.is_text_too_long {
            return Err(text_too_long());
        }
        if text.is_empty() {
            let why = "There is nothing to say: fill in the words.";
            return Err(Trouble::with_field(TEXT, why));
        }
        Ok(Said {
            text,
            files: self.files,
            key: String::from_utf8_lossy(&self.key).into_owned(),
        })
    }
}

fn text_too_long() -> Trouble {
    let most = size(MAX_TEXT as u64);
    let why = format!("At most {most} can be said at once: send more of it as a file.");
    Trouble::with_field(TEXT, why)
}

/// A name without folders, and without characters that nobody sees. Browsers write a quotation mark in it as `%22` (HTML, multipart/form-data).
fn base_name(name: &str) -> String {
    let name = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let name = name.replace("%22", "\"");
    let name: String = name.chars().filter(|c| !c.is_control()).collect();
    match name.trim() {
        "" => NAMELESS.to_owned(),
        name => name.to_owned(),
    }
}

impl<S: Send + Sync> FromRequest<S> for Said {
    type Rejection = Trouble;

    async fn from_request(request: Request, state: &S) -> Result<Self, Trouble> {
        let late = |_| {
            let why = format!(
                "It did not come within {} s: send less at once.",
                PATIENCE.as_secs()
            );
            Trouble::new(StatusCode::REQUEST_TIMEOUT, why)
        };
        let read = async {
            if is_plain(request.headers()) {
                return read_plain(request).await;
            }
            let form = Multipart::from_request(request, state).await;
            let form =
                form.map_err(|error| Trouble::new(StatusCode::BAD_REQUEST, error.body_text()))?;
            read(form).await
        };
        timeout(PATIENCE, read).await.map_err(late)?
    }
}

/// True for the media type of a form without files, whatever its parameters.
fn is_plain(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let media_type = kind.split(';').next().unwrap_or_default().trim();
    media_type.eq_ignore_ascii_case(PLAIN)
}

async fn read_plain(request: Request) -> Result<Said, Trouble> {
    let (head, body) = request.into_parts();
    let body = Limited::new(body, MAX_PLAIN).collect().await;
    let body = body.map_err(|error| match error.is::<LengthLimitError>() {
        true => text_too_long(),
        false => Trouble::new(
            StatusCode::BAD_REQUEST,
            format!("The form broke off: {error}"),
        ),
    })?;
    let body = body.to_bytes();
    let request = Request::from_parts(head, Body::from(body));
    let form = Form::<HashMap<String, String>>::from_request(request, &()).await;
    let form = form.map_err(|error| Trouble::new(error.status(), error.body_text()))?;
    let given = |name: &str| form.get(name).map_or(&[][..], |given| given.as_bytes());
    let mut coming = Coming::default();
    coming.takes_text(given(TEXT));
    coming.takes_key(given(form_key::FIELD));
    coming.ended()
}

async fn read(mut form: Multipart) -> Result<Said, Trouble> {
    let mut coming = Coming::default();
    while let Some(mut field) = form.next_field().await.map_err(|error| broken(&error))? {
        match field.name() {
            Some(TEXT) => {
                while let Some(piece) = piece(&mut field).await? {
                    coming.takes_text(&piece);
                }
            }
            Some(form_key::FIELD) => {
                while let Some(piece) = piece(&mut field).await? {
                    coming.takes_key(&piece);
                }
            }
            Some(FILES) => {
                // A box without a file sends one without a name and without content.
                let name = field.file_name().unwrap_or_default().to_owned();
                let mime_type = field.content_type().unwrap_or_default().to_owned();
                let mut first = piece(&mut field).await?;
                if name.is_empty() && first.is_none() {
                    continue;
                }
                coming.begins_file(&name, &mime_type);
                while let Some(next) = first {
                    coming.takes_of_file(&next);
                    first = piece(&mut field).await?;
                }
            }
            _ => {}
        }
    }
    coming.ended()
}

/// The next piece that is not empty.
async fn piece(field: &mut Field<'_>) -> Result<Option<bytes::Bytes>, Trouble> {
    loop {
        match field.chunk().await.map_err(|error| broken(&error))? {
            Some(piece) if piece.is_empty() => {}
            piece => return Ok(piece),
        }
    }
}

fn broken(error: &MultipartError) -> Trouble {
    match error.status() {
        StatusCode::PAYLOAD_TOO_LARGE => {
            Trouble::new(StatusCode::PAYLOAD_TOO_LARGE, bounds()).at(FILES)
        }
        status => Trouble::new(status, format!("The form broke off: {}", error.body_text())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORM: &str = "multipart/form-data; boundary=x";

    fn file(name: &str, content: &str) -> String {
        format!(
            "--x\r\nContent-Disposition: form-data; name=\"files\"; filename=\"{name}\"\r\nContent-Type: text/plain\r\n\r\n{content}\r\n"
        )
    }

    fn text(text: &str) -> String {
        format!("--x\r\nContent-Disposition: form-data; name=\"text\"\r\n\r\n{text}\r\n")
    }

    fn key(key: &str) -> String {
        format!("--x\r\nContent-Disposition: form-data; name=\"key\"\r\n\r\n{key}\r\n")
    }

    async fn said(parts: &[String]) -> Result<Said, Trouble> {
        let body = format!("{}--x--\r\n", parts.concat());
        let request = Request::builder().header("content-type", FORM);
        let request = request.body(Body::from(body)).expect("a request");
        Said::from_request(request, &()).await
    }

    async fn refusal(parts: &[String]) -> String {
        let refused = said(parts).await.expect_err("it is refused");
        refused.notice().into_string()
    }

    #[tokio::test]
    async fn files_come_with_the_words_under_the_last_part_of_their_names() {
        let sent = said(&[
            text(" look \n"),
            file("C:\\notes\\a.txt", "hi"),
            file("b", ""),
        ])
        .await;
        let sent = sent.expect("it is taken");
        assert_eq!(sent.text, "look");
        let files: Vec<(&str, &str, &[u8])> = sent
            .files
            .iter()
            .map(|file| (&*file.name, &*file.mime_type, &*file.content))
            .collect();
        assert_eq!(
            files,
            [
                ("a.txt", "text/plain", &b"hi"[..]),
                ("b", "text/plain", b"")
            ]
        );
        let alone = said(&[text("look"), file("", "")])
            .await
            .expect("it is taken");
        assert_eq!(alone.files, [], "a box without a file sends an empty one");
    }

    /// Issue 26: a file is called as its owner calls it.
    #[tokio::test]
    async fn a_file_has_the_quotation_marks_of_its_name() {
        let names = ["the %22heron%22.txt", "50%2.txt", "a%41"];
        let files = names.map(|name| file(name, "x"));
        let sent = said(&[vec![text("look")], files.to_vec()].concat()).await;
        let sent = sent.expect("it is taken").files;
        let names: Vec<&str> = sent.iter().map(|file| &*file.name).collect();
        assert_eq!(names, ["the \"heron\".txt", "50%2.txt", "a%41"]);
    }

    #[tokio::test]
    async fn a_form_brings_its_key_as_far_as_it_counts() {
        async fn keyed(form: &[String]) -> String {
            said(form).await.expect("it is taken").key
        }
        assert_eq!(keyed(&[key("k-1"), text("look")]).await, "k-1");
        assert_eq!(keyed(&[text("look")]).await, "");
        let long = "k".repeat(MAX_KEY + 1);
        assert_eq!(keyed(&[text("look"), key(&long)]).await, long[1..]);
    }

    #[tokio::test]
    async fn a_form_without_files_may_be_plain() {
        let plain = async |kind: &str, body: String| {
            let request = Request::post("/").header("content-type", kind);
            let request = request.body(Body::from(body)).expect("a request");
            Said::from_request(request, &()).await
        };
        for kind in [PLAIN, "application/x-www-form-urlencoded;charset=UTF-8"] {
            let said = plain(kind, "text=a+b&more=c&key=k".to_owned()).await;
            let said = said.expect("it is taken");
            assert_eq!(
                (&*said.text, said.files, &*said.key),
                ("a b", Vec::new(), "k")
            );
        }
        let encoded = "%41".repeat(MAX_TEXT);
        let said = plain(PLAIN, format!("text={encoded}")).await;
        assert_eq!(said.expect("it is taken").text.len(), MAX_TEXT);
        let unread = format!("text=a&more={}", "x".repeat(MAX_PLAIN));
        let refused = plain(PLAIN, unread).await.expect_err("it is not read");
        let refused = refused.notice().into_string();
        assert!(refused.contains("data-field=\"text\""), "{refused}");
        let broken = Body::from_stream(futures_util::stream::iter([
            Ok(bytes::Bytes::from_static(b"text=a")),
            Err(std::io::Error::other("it is gone")),
        ]));
        let request = Request::post("/").header("content-type", PLAIN);
        let request = request.body(broken).expect("a request");
        let refused = Said::from_request(request, &()).await;
        let refused = refused.expect_err("it broke off").notice().into_string();
        assert!(
            refused.contains("broke off") && !refused.contains("KiB"),
            "{refused}"
        );
    }

    #[tokio::test]
    async fn what_is_too_much_is_refused_at_its_field() {
        let large = file("large", &"x".repeat(MAX_FILE_BYTES));
        assert!(said(&[text("look"), large.clone()]).await.is_ok());
        let refused = refusal(&[text("look"), large, file("more", "y")]).await;
        assert!(
            refused.contains("data-field=\"files\"") && refused.contains("640 KiB"),
            "{refused}"
        );
        let many = vec![file("a", "x"); MAX_FILES + 1];
        let refused = refusal(&[vec![text("look")], many].concat()).await;
        assert!(
            refused.contains("data-field=\"files\"") && refused.contains("At most 8 files"),
            "{refused}"
        );
        let refused = refusal(&[text(&"x".repeat(MAX_TEXT + 1))]).await;
        assert!(refused.contains("data-field=\"text\""), "{refused}");
        let refused = refusal(&[text(" "), file("a", "x")]).await;
        assert!(refused.contains("data-field=\"text\""), "{refused}");
    }
}

//! Conversations with Cortex: what can be asked, what was said, who was asked, and the answer as it grows.

mod conversation;
mod conversations;
mod hints;
mod said;
mod turn;

use agenthub_proto::{
    cortex::StartRunRequest,
    files::{MAX_FILE_BYTES, MAX_FILES, bounds},
    reason::Reason,
};
use axum::{
    extract::State,
    response::{IntoResponse, Redirect, Response},
};
use maud::{Markup, html};
use uuid::Uuid;

pub(super) use self::conversation::Conversation;
pub(super) use self::hints::model;
pub(super) use self::said::MAX_READ;
use self::{conversations::conversations, hints::hints, said::Said};
use crate::{
    Pages,
    backend::Backend,
    elements::segment,
    form_key,
    place::Place,
    shell::{self, Section},
    trouble::{Fault, Trouble},
};

/// The conversations there are, and a beginning of another. It is as it is when the page is opened.
pub(super) async fn begin(
    State(pages): State<Pages>,
    backend: Backend,
    place: Place,
) -> Result<Response, Trouble> {
    let thread = Uuid::now_v7().to_string();
    let content = html! {
        h1 { "Chat" }
        (hints(&backend, pages.files().model.as_ref()).await)
        (form(&thread, place.query("say")))
        (conversations(&backend, "").await?)
    };
    let viewer = Some(backend.viewer());
    Ok(shell::page(Section::Chat, "Chat", &content, viewer).into_response())
}

fn form(thread: &str, said: &str) -> Markup {
    html! {
        form.say method="post" enctype="multipart/form-data" action={ "/ui/chat/" (segment(thread)) } {
            (form_key::field("say"))
            label {
                span { "Say to Cortex" }
                textarea name=(said::TEXT) rows="2" required autofocus { (said) }
                small { "Enter sends it, Shift and Enter begin another line." }
            }
            label {
                span { "Files for the agents that are asked" }
                input type="file" name=(said::FILES) multiple data-most=(MAX_FILES) data-bytes=(MAX_FILE_BYTES) data-bounds=(bounds());
                small { (bounds()) }
            }
            button { "Send" }
        }
    }
}

/// A refusal to say something, at the field that it is about; in the words of this page where another turn is at work.
fn refused(trouble: Trouble) -> Trouble {
    if trouble.reason() == Some(Reason::ThreadBusy) {
        let why = "Cortex is still at work on what was said before: wait for its answer, or press “Stop” below what was said.";
        return trouble.saying(why).at(said::TEXT);
    }
    let is_of_files = |fault: &Fault| fault.field.starts_with("files");
    match trouble.invalid().iter().any(is_of_files) {
        true => trouble.at(said::FILES),
        false => trouble.at(said::TEXT),
    }
}

/// Stops a turn that is at work, and leads back to the conversation.
pub(super) async fn stop(backend: Backend, place: Place) -> Result<Redirect, Trouble> {
    backend.cancel_run(place.path("run")).await?;
    let thread = segment(place.path("thread"));
    Ok(Redirect::to(&format!("/ui/chat/{thread}")))
}

/// Sends words and files to Cortex, and redirects to the conversation. A form that is sent once more, as nobody answered in time, says nothing twice.
pub(super) async fn say(backend: Backend, place: Place, said: Said) -> Result<Redirect, Trouble> {
    let thread = match place.path("thread") {
        "" => Uuid::now_v7().to_string(),
        thread => thread.to_owned(),
    };
    let started = backend.start_run(request(said, &thread)).await;
    started.map_err(refused)?;
    Ok(Redirect::to(&format!("/ui/chat/{}", segment(&thread))))
}

fn request(said: Said, thread: &str) -> StartRunRequest {
    let request = StartRunRequest {
        objective: said.text,
        files: said.files,
        mode: "chat".into(),
        thread_id: thread.to_owned(),
        ..Default::default()
    };
    StartRunRequest {
        idempotency_key: form_key::of_request(&said.key, &request),
        ..request
    }
}

#[cfg(test)]
mod tests {
    use agenthub_proto::cortex::File;

    use super::*;
    use crate::trouble::{refused_at, refused_for};

    #[test]
    fn while_a_turn_is_at_work_the_refusal_names_the_button_and_no_ids() {
        let busy = refused(refused_for(Reason::ThreadBusy, &[]));
        assert!(busy.words().contains("“Stop”"), "{}", busy.words());
        assert!(!busy.words().contains("d7f98c7b"));
        let other = refused(Trouble::refused("the agents are away"));
        assert_eq!(other.words(), "the agents are away");
    }

    /// Issue 26, chat: what can be sent, and how, is said before somebody tries.
    #[test]
    fn the_form_says_which_key_sends_and_how_many_files() {
        let shown = form("t", "").into_string();
        for part in ["Enter sends it", "<small>At most 8 files, 640 KiB together"] {
            assert!(shown.contains(part), "{part}: {shown}");
        }
    }

    #[test]
    fn a_form_that_is_sent_again_says_nothing_twice() {
        assert!(form("t", "").into_string().contains("id=\"key-say\""));
        let said = |key: &str, text: &str, content: &[u8]| {
            let file = File {
                content: content.to_vec(),
                ..File::default()
            };
            let (key, text) = (key.to_owned(), text.to_owned());
            let files = vec![file];
            request(Said { text, files, key }, "t").idempotency_key
        };
        let first = said("k", "look", b"x");
        assert_eq!(first, said("k", "look", b"x"));
        for other in [
            said("l", "look", b"x"),
            said("k", "again", b"x"),
            said("k", "look", b"y"),
        ] {
            assert_ne!(first, other);
        }
        assert_eq!(said("", "look", b"x"), "");
    }

    #[test]
    fn a_refusal_stands_at_the_field_that_it_is_about() {
        let field = |field: &str| {
            refused(refused_at(field, "is wrong"))
                .notice()
                .into_string()
        };
        assert!(field("files[0].name").contains("data-field=\"files\""));
        assert!(field("objective").contains("data-field=\"text\""));
    }
}

//! What goes wrong at a provider, shown with OpenAI's wire format.

use std::{
    io,
    sync::{Arc, Mutex},
    time::Duration,
};

use agenthub_models::providers::{Genai, Settings};
use agenthub_models::{LanguageModel, ModelError, deltas};
use serde_json::json;

use crate::openai::{answer, chunk, settings, text, usage};
use crate::provider::{
    KEY, Provider, Reply, ask, events, events_done, frames, gated, question, status, streamed,
};

#[tokio::test]
async fn nothing_is_repeated_once_a_piece_was_handed_out() {
    let provider = Provider::start([events(&[text("Hel"), text("lo")]), answer()]).await;
    let (sink, mut reader) = deltas();
    let model = Genai::new(settings(&provider)).expect("complete settings");
    let completion = model.complete(question(), sink).await;
    assert_eq!(
        completion,
        Err(ModelError::Unavailable("the answer broke off".into()))
    );
    assert_eq!(provider.asked().len(), 1);
    assert_eq!(reader.next().await.as_deref(), Some("Hel"));
}

#[tokio::test]
async fn transient_failures_are_asked_again() {
    let busy = || {
        status(
            429,
            &[("retry-after", "0")],
            json!({"error": {"message": "slow down"}}),
        )
    };
    let broken = || status(503, &[], "upstream");
    let provider = Provider::start([busy(), broken(), answer()]).await;
    let completion = ask(settings(&provider), question())
        .await
        .expect("the third attempt answers");
    assert_eq!(completion.text, "Hello");
    assert_eq!(provider.asked().len(), 3);
}

/// What was logged.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut lines = self.0.lock().expect("nobody panics");
        lines.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// However often it is asked meanwhile.
#[tokio::test]
async fn an_outage_is_logged_once_and_the_next_one_again() {
    let broken = || status(503, &[("retry-after", "0")], "upstream");
    let replies = [broken(), broken(), answer(), broken(), answer()];
    let provider = Provider::start(replies).await;
    let lines = Lines::default();
    let writer = lines.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::WARN)
        .with_writer(move || writer.clone())
        .finish();
    let _default = tracing::subscriber::set_default(subscriber);
    let model = Genai::new(settings(&provider)).expect("complete settings");
    let logged = || {
        let lines = lines.0.lock().expect("nobody panics");
        let lines = String::from_utf8_lossy(&lines).into_owned();
        lines.matches("asked again").count()
    };
    for outages in [1, 2] {
        let completion = model.complete(question(), deltas().0).await;
        assert_eq!(completion.expect("an answer").text, "Hello");
        assert_eq!(logged(), outages);
    }
}

#[tokio::test]
async fn retries_end() {
    let provider =
        Provider::always(|| status(500, &[], json!({"error": {"message": "oh no"}}))).await;
    let settings = Settings {
        max_retries: 2,
        ..settings(&provider)
    };
    let error = ask(settings, question())
        .await
        .expect_err("it never answers");
    assert_eq!(error, ModelError::Unavailable("oh no (HTTP 500)".into()));
    assert!(error.is_retryable());
    assert_eq!(provider.asked().len(), 3);
}

#[tokio::test]
async fn a_wait_beyond_the_deadline_is_left_to_the_caller() {
    for wait in ["3600", "1e19"] {
        let busy = move || {
            status(
                429,
                &[("retry-after", wait)],
                json!({"error": {"message": "quota"}}),
            )
        };
        let provider = Provider::always(busy).await;
        let error = ask(settings(&provider), question())
            .await
            .expect_err("the quota is used up");
        let seconds = wait.parse().expect("a number");
        let retry_after = Some(Duration::from_secs_f64(seconds));
        assert_eq!(
            error,
            ModelError::RateLimited {
                message: "quota (HTTP 429)".into(),
                retry_after
            }
        );
        assert_eq!(provider.asked().len(), 1);
    }
}

#[tokio::test]
async fn what_cannot_succeed_is_not_asked_again_and_keys_stay_secret() {
    let wrong_key = json!({"error": {"message": format!("Incorrect API key provided: {KEY}.")}});
    let missing = json!({"error": {"message": format!("no model for {KEY}")}});
    for (code, body, expected) in [
        (
            401,
            &wrong_key,
            ModelError::Unauthorized("the provider refused the key (HTTP 401)".into()),
        ),
        (
            404,
            &missing,
            ModelError::InvalidRequest("no model for … (HTTP 404)".into()),
        ),
        (
            307,
            &json!({}),
            ModelError::InvalidRequest("HTTP 307".into()),
        ),
    ] {
        let body = body.clone();
        let provider =
            Provider::always(move || status(code, &[("location", "http://127.0.0.1:1/")], &body))
                .await;
        let error = ask(settings(&provider), question())
            .await
            .expect_err("it is refused");
        assert_eq!(error, expected);
        assert_eq!(provider.asked().len(), 1);
    }
    let provider = Provider::start([]).await;
    let shown = format!(
        "{:?}",
        Genai::new(settings(&provider)).expect("complete settings")
    );
    assert!(!shown.contains(KEY), "{shown}");
}

#[tokio::test]
async fn a_body_that_is_no_answer_is_malformed() {
    for reply in [
        streamed(
            "text/event-stream",
            vec!["data: {\"choices\": [\n\n".into()],
        ),
        streamed(
            "text/html",
            vec!["<html>welcome to the captive portal</html>".into()],
        ),
        streamed("text/event-stream", vec![]),
        streamed("text/event-stream", vec!["data: [DONE]\n\n".into()]),
        events_done(&[chunk(json!({}), Some("stop"))]),
    ] {
        let provider = Provider::start([reply]).await;
        let error = ask(settings(&provider), question())
            .await
            .expect_err("there is no answer");
        assert!(matches!(error, ModelError::Malformed(_)), "{error:?}");
        assert_eq!(provider.asked().len(), 1);
    }
}

#[tokio::test]
async fn filters_and_limits_are_told() {
    let provider = Provider::start([events_done(&[
        text("I"),
        chunk(json!({}), Some("content_filter")),
    ])])
    .await;
    let error = ask(settings(&provider), question())
        .await
        .expect_err("it is filtered");
    assert!(matches!(error, ModelError::Refused(_)), "{error:?}");

    let cut = || events_done(&[text("{\"a\":"), chunk(json!({}), Some("length")), usage()]);
    let provider = Provider::start([cut(), cut()]).await;
    let whole = ask(settings(&provider), question())
        .await
        .expect("a text may be cut");
    assert_eq!(whole.text, "{\"a\":");
    let error = ask(settings(&provider), question().json("a", json!({})))
        .await
        .expect_err("JSON may not");
    assert!(matches!(error, ModelError::Malformed(_)), "{error:?}");
}

#[tokio::test]
async fn errors_in_the_stream_are_told() {
    let overloaded = json!({"error": {"message": "overloaded", "type": "server_error"}});
    let provider = Provider::start([events(&[overloaded]), answer()]).await;
    let completion = ask(settings(&provider), question())
        .await
        .expect("nothing was handed out, so it is asked again");
    assert_eq!(completion.text, "Hello");
}

#[tokio::test]
async fn a_stalled_provider_is_given_up() {
    let (halfway, _never_opened) = gated(&frames(&[text("Hel")]), String::new());
    for reply in [Reply::Silence, halfway] {
        let provider = Provider::start([reply]).await;
        let timeout = Duration::from_millis(300);
        let settings = Settings {
            timeout,
            ..settings(&provider)
        };
        assert_eq!(
            ask(settings, question()).await,
            Err(ModelError::Timeout(timeout))
        );
        assert_eq!(provider.asked().len(), 1);
    }
}

#[tokio::test]
async fn nobody_at_the_endpoint_is_said_plainly() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = free
        .local_addr()
        .expect("a bound port has an address")
        .port();
    drop(free);
    let mut settings = Settings::new("openai/gpt-test");
    settings.endpoint = Some(format!("http://127.0.0.1:{port}/v1"));
    settings.max_retries = 0;
    let error = ask(settings, question())
        .await
        .expect_err("nobody is there");
    assert_eq!(
        error.to_string(),
        "the model is unavailable: cannot connect to its endpoint"
    );
}

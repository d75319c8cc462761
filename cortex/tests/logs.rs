//! What is logged by default. Alone in its process, as the subscriber is the whole process's.

use std::{
    io,
    net::Ipv4Addr,
    sync::{Arc, Mutex},
    time::Duration,
};

use agenthub_broker::Server;
use agenthub_cortex::{CORTEX, Cortex, Settings};
use agenthub_sdk::{Client, model::Scripted};
use tokio::time::timeout;
use tracing_subscriber::fmt::MakeWriter;

/// The lines that were logged.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut lines = self.0.lock().expect("no panic while it is locked");
        lines.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

#[tokio::test]
async fn a_model_that_does_not_decide_is_told_of_without_its_words_or_the_users() {
    let lines = Lines::default();
    tracing_subscriber::fmt()
        .with_max_level(tracing::Level::INFO)
        .with_writer(lines.clone())
        .init();
    let any_port = (Ipv4Addr::LOCALHOST, 0).into();
    let routes = tonic::service::Routes::default();
    let hub = Server::start(agenthub_broker::Settings::default(), any_port, routes).await;
    let hub = hub.expect("a free port");
    let url = format!("http://{}", hub.address());
    // The reasons against these quote them.
    let answers = [
        r#"{"actions": [{"type": "task.request", "taskType": "t", "targetAgent": "sesame"}]}"#,
        r#"{"actions": [{"type": "sesame"}]}"#,
        r#"{"actions": [{"type": "chat.response", "text": {"sesame": 1}}]}"#,
    ];
    let model = Arc::new(Scripted::texts(answers));
    let cortex = Cortex::start(Settings::new(url.clone(), model)).await;
    let cortex = cortex.expect("the hub runs");
    let client = Client::builder(url).connect().await.expect("the hub runs");

    let outcome = timeout(Duration::from_secs(20), client.ask(CORTEX, "open sesame")).await;
    let outcome = outcome.expect("it came in time").expect("an outcome");
    assert!(outcome.text.contains("I am sorry"), "{}", outcome.text);
    cortex.stop().await;

    let logged = lines.0.lock().expect("no panic while it is locked").clone();
    let logged = String::from_utf8_lossy(&logged);
    let count = |what: &str| logged.matches(what).count();
    assert_eq!(count("the model's answer is no decision"), 2, "{logged}");
    assert_eq!(count("the model did not decide"), 1, "{logged}");
    assert_eq!(count("sesame"), 0, "{logged}");
    for reason in [
        "there is no agent …; nobody is here",
        "must be \"chat.response\" or",
        "… is not of type …",
    ] {
        // tracing writes quotation marks in texts with a backslash.
        assert!(
            logged.replace('\\', "").contains(reason),
            "{reason}: {logged}"
        );
    }
}

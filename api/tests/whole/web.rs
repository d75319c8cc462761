//! Runs over HTTP, for tests: a server on a socket of its own, and a client that holds every answer against the OpenAPI document.

use std::net::Ipv4Addr;

use agenthub_api::{Hosts, Http, Runs};
use agenthub_cortex::Running;
use reqwest::{Client, Method, RequestBuilder, Response};
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinSet};

use crate::harness::within;

/// A server of runs.
pub(crate) struct Web {
    pub(crate) http: Http,
    pub(crate) base: String,
    pub(crate) document: Value,
    client: Client,
    _serving: JoinSet<()>,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: reqwest::header::HeaderMap,
    pub(crate) text: String,
}

impl Web {
    /// A server without a Cortex.
    pub(crate) async fn closed() -> Self {
        let http = Http::default();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .await
            .expect("a free port");
        let base = format!("http://{}", listener.local_addr().expect("it is bound"));
        let router = http.router(Hosts::Local);
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            axum::serve(listener, router).await.expect("it serves");
        });
        // The client wants it even where there is no TLS; another test may have it already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::new();
        let document = client.get(format!("{base}/v1/openapi.json")).send();
        let document = document.await.expect("an answer").text().await;
        let document = serde_json::from_str(&document.expect("text")).expect("JSON");
        Self {
            http,
            base,
            document,
            client,
            _serving: serving,
        }
    }

    /// A server of this Cortex's runs.
    pub(crate) async fn of(cortex: &Running) -> Self {
        let web = Self::closed().await;
        web.http.open(&Runs::of(cortex.handle()));
        web
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("{}{path}", self.base))
    }

    /// Sends a request, and holds its answer against the document.
    pub(crate) async fn send(&self, request: RequestBuilder) -> Answer {
        let request = request.build().expect("a request");
        let method = request.method().as_str().to_lowercase();
        let path = request.url().path().to_owned();
        let response = within(self.client.execute(request)).await;
        let response = response.expect("an answer");
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let text = within(response.text()).await.expect("text");
        let answer = Answer {
            status,
            headers,
            text,
        };
        self.check(&method, &path, &answer);
        answer
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send(self.request(Method::GET, path)).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answer {
        self.send(self.posted(path, body)).await
    }

    /// A request with a body.
    pub(crate) fn posted(&self, path: &str, body: &Value) -> RequestBuilder {
        self.request(Method::POST, path)
            .header("content-type", "application/json")
            .body(body.to_string())
    }

    /// Starts a run, and returns its id.
    pub(crate) async fn start(&self, brief: &Value) -> String {
        let answer = self.post("/v1/runs", brief).await;
        assert_eq!(answer.status, 201, "{answer:?}");
        let run = answer.json();
        let id = run["id"].as_str().expect("an id").to_owned();
        assert_eq!(answer.header("location"), format!("/v1/runs/{id}"));
        id
    }

    /// Watches a run behind a frame.
    pub(crate) async fn watch(&self, id: &str, after: Option<u64>) -> Events<'_> {
        let mut request = self.request(Method::GET, &format!("/v1/runs/{id}/events"));
        if let Some(after) = after {
            request = request.header("last-event-id", after.to_string());
        }
        self.events(request).await
    }

    /// The events that a request is answered with.
    pub(crate) async fn events(&self, request: RequestBuilder) -> Events<'_> {
        let request = request.header("accept", "text/event-stream").send();
        let response = within(request).await.expect("an answer");
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Events {
            web: self,
            response,
            read: String::new(),
        }
    }

    /// Checks whether this value fits a schema of the document.
    pub(crate) fn fits(&self, schema: &Value, value: &Value) {
        let mut whole = schema.clone();
        whole["components"] = self.document["components"].clone();
        let validator = jsonschema::options()
            .with_draft(jsonschema::Draft::Draft202012)
            .should_validate_formats(true)
            .build(&whole)
            .expect("a schema");
        let errors: Vec<String> = validator
            .iter_errors(value)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{value} does not fit: {errors:?}");
    }

    fn check(&self, method: &str, path: &str, answer: &Answer) {
        if method == "head" {
            return;
        }
        let media = answer.header("content-type");
        let media = media.split(';').next().unwrap_or_default();
        let operation = self.operation(method, path);
        let Some(operation) = operation else {
            assert_eq!(
                media, "application/problem+json",
                "{method} {path}: {answer:?}"
            );
            self.fits(
                &json!({"$ref": "#/components/schemas/Problem"}),
                &answer.json(),
            );
            return;
        };
        let responses = &operation["responses"];
        let response = match responses.get(answer.status.to_string()) {
            Some(response) => response,
            None => {
                assert!(
                    answer.status >= 400,
                    "{method} {path}: {answer:?} is not in the document"
                );
                &responses["default"]
            }
        };
        let Some(content) = response.get("content") else {
            assert_eq!(answer.text, "", "{method} {path}");
            return;
        };
        let content = content.get(media);
        let content =
            content.unwrap_or_else(|| panic!("{method} {path}: {media} is not in the document"));
        if media.ends_with("json") {
            self.fits(&content["schema"], &answer.json());
        }
        if answer.status >= 400 {
            let problem = answer.json();
            assert_eq!(problem["status"], answer.status, "{problem}");
            assert_eq!(problem["instance"], path, "{problem}");
        }
    }

    /// What the document says of a request.
    fn operation(&self, method: &str, path: &str) -> Option<&Value> {
        let paths = self.document["paths"].as_object().expect("paths");
        let fits = |template: &str| {
            let (template, path) = (template.split('/'), path.split('/'));
            template.clone().count() == path.clone().count()
                && template
                    .zip(path)
                    .all(|(t, p)| t.starts_with('{') || t == p)
        };
        let (_, item) = paths.iter().find(|(template, _)| fits(template))?;
        item.get(method)
    }
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|e| panic!("{}: {e}", self.text))
    }

    pub(crate) fn header(&self, name: &str) -> String {
        let value = self.headers.get(name);
        value
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
            .to_owned()
    }

    /// The name of the problem.
    pub(crate) fn problem(&self) -> String {
        let kind = self.json()["type"].as_str().unwrap_or_default().to_owned();
        kind.replace("urn:agenthub:problem:", "")
    }
}

/// Events as a browser reads them.
pub(crate) struct Events<'a> {
    web: &'a Web,
    pub(crate) response: Response,
    read: String,
}

impl Events<'_> {
    /// The next frame; none when the stream has ended.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        loop {
            while let Some((event, rest)) = self.read.split_once("\n\n") {
                let event = event.to_owned();
                self.read = rest.to_owned();
                if let Some(frame) = self.frame(&event) {
                    return Some(frame);
                }
            }
            let more = within(self.response.chunk())
                .await
                .expect("it is not cut off")?;
            self.read
                .push_str(std::str::from_utf8(&more).expect("UTF-8"));
        }
    }

    /// All that still come.
    pub(crate) async fn all(mut self) -> Vec<Value> {
        let mut frames = Vec::new();
        while let Some(frame) = self.next().await {
            frames.push(frame);
        }
        frames
    }

    fn frame(&self, event: &str) -> Option<Value> {
        let field = |name: &str| {
            let mut lines = event.lines();
            lines.find_map(|line| line.strip_prefix(&format!("{name}: ")))
        };
        let frame: Value = serde_json::from_str(field("data")?).expect("JSON in one line");
        self.web
            .fits(&json!({"$ref": "#/components/schemas/Frame"}), &frame);
        assert_eq!(field("event"), frame["type"].as_str());
        assert_eq!(
            field("id").map(str::to_owned),
            Some(frame["sequence"].to_string())
        );
        Some(frame)
    }
}

/// The types of frames.
pub(crate) fn types(frames: &[Value]) -> Vec<&str> {
    frames
        .iter()
        .filter_map(|frame| frame["type"].as_str())
        .collect()
}

//! A hub, a folder of files, and a model for each agent.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use agenthub_broker::{Server, Settings};
use agenthub_sdk::{
    Client, Delegation, Outcome,
    model::{self, Completion, LanguageModel, PromptPart, PromptRole, Request, Scripted, ToolCall},
};
use agenthub_sop::{
    Definition, Fault, Fit, Named, News, Origin, Roster, StartError, Team, agent, peers,
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::{sleep, timeout};

/// Nothing here takes that long unless it is broken.
const PATIENCE: Duration = Duration::from_secs(30);

/// An agent that works like this is never made.
pub(crate) const NEVER: &str = "Wait for a server that never starts.";

pub(crate) struct World {
    pub(crate) hub: Server,
    pub(crate) client: Client,
    folder: TempDir,
    models: Arc<Mutex<BTreeMap<String, Arc<dyn LanguageModel>>>>,
    news: Arc<Mutex<Vec<News>>>,
}

impl World {
    pub(crate) async fn new(files: &[(&str, &str)]) -> Self {
        let server = Server::start(
            Settings::default(),
            ([127, 0, 0, 1], 0).into(),
            tonic::service::Routes::default(),
        );
        let hub = server.await.expect("the address is free");
        let url = format!("http://{}", hub.address());
        let client = Client::builder(url).agent_id("user").connect().await;
        let world = Self {
            hub,
            client: client.expect("the hub is there"),
            folder: tempfile::tempdir().expect("a temporary folder"),
            models: Arc::default(),
            news: Arc::default(),
        };
        for (name, text) in files {
            world.write(name, text);
        }
        world
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.hub.address())
    }

    pub(crate) fn dir(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file as most editors do: beside it, then over it.
    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        let beside = self.path(&format!(".{name}.swp"));
        fs::write(&beside, text).expect("the folder is there");
        fs::rename(beside, path).expect("the folder is there");
    }

    pub(crate) fn remove(&self, name: &str) {
        fs::remove_file(self.path(name)).expect("it is there");
    }

    /// The model that an agent of this name gets from here on.
    pub(crate) fn model(&self, name: &str, model: Scripted) -> Scripted {
        self.model_of(name, Arc::new(model.clone()));
        model
    }

    pub(crate) fn model_of(&self, name: &str, model: Arc<dyn LanguageModel>) {
        lock(&self.models).insert(name.to_owned(), model);
    }

    pub(crate) async fn start(&self) -> Team {
        self.try_start(false).await.expect("it starts")
    }

    pub(crate) async fn try_start(&self, default_orchestrator: bool) -> Result<Team, StartError> {
        self.start_in(self.dir(), default_orchestrator).await
    }

    pub(crate) async fn start_in(
        &self,
        dir: &Path,
        default_orchestrator: bool,
    ) -> Result<Team, StartError> {
        let news = Arc::clone(&self.news);
        let origin = Origin {
            dir: dir.to_owned(),
            default_orchestrator,
            fit: self.fit(),
            drain: Duration::from_secs(5),
            tell: Arc::new(move |news_of: &News| lock(&news).push(news_of.clone())),
        };
        soon(Team::start(&self.url(), origin)).await
    }

    /// What happened since the last time, in short.
    pub(crate) fn news(&self) -> Vec<String> {
        let news = std::mem::take(&mut *lock(&self.news));
        news.iter().map(short).collect()
    }

    /// Waits for news in which this is found.
    pub(crate) async fn news_of(&self, part: &str) -> Vec<String> {
        let mut all = Vec::new();
        eventually(part, || {
            all.extend(self.news());
            let is_there = all.iter().any(|line: &String| line.contains(part));
            async move { is_there }
        })
        .await;
        all
    }

    pub(crate) async fn ask(&self, agent: &str, text: &str) -> Outcome {
        self.delegate(Delegation::to(agent).text(text)).await
    }

    pub(crate) async fn delegate(&self, delegation: Delegation) -> Outcome {
        let pending = self.client.delegate(delegation).await;
        let pending = pending.expect("it is taken");
        soon(pending.outcome()).await.expect("an outcome")
    }

    /// Agents have the models of this world, and their tools name agents.
    fn fit(&self) -> Fit {
        let models = Arc::clone(&self.models);
        Arc::new(move |definition: Arc<Definition>, roster: Roster| {
            let model = lock(&models).get(&definition.name).cloned();
            let model = model.unwrap_or_else(|| Arc::new(says(&definition.name)));
            Box::pin(async move {
                if definition.body.contains(NEVER) {
                    std::future::pending::<()>().await;
                }
                let written = roster.written();
                let unknown = definition.tools.iter().find(|t| !written.contains(&t.name));
                if let Some(tool) = unknown {
                    let message = format!("there is no tool `{}`", tool.name);
                    return Err(vec![definition.fault_at(tool.place, message)]);
                }
                let named = definition.tools.iter().map(|t| t.name.clone()).collect();
                let peers = peers(&definition, &roster, named);
                Ok(agent(
                    &definition,
                    model,
                    Vec::new(),
                    peers,
                    &Named::default(),
                ))
            })
        })
    }
}

fn short(news: &News) -> String {
    match news {
        News::Started(member) => format!("+{}", member.name),
        News::Replaced(member) => format!("~{}", member.name),
        News::Stopped {
            member,
            called: None,
        } => format!("-{}", member.name),
        News::Stopped {
            member,
            called: Some(called),
        } => format!("-{} (called {called})", member.name),
        News::Wrong { fault, kept } => wrong(fault, kept.as_deref()),
        other => format!("{other:?}"),
    }
}

fn wrong(fault: &Fault, kept: Option<&str>) -> String {
    let file = fault.path.file_name().unwrap_or_default().to_string_lossy();
    let line = fault.place.map(|place| place.line).unwrap_or_default();
    let kept = kept
        .map(|kept| format!(" (kept {kept})"))
        .unwrap_or_default();
    format!("!{file}:{line} {}{kept}", fault.message)
}

/// A file of an agent.
pub(crate) fn sop(name: &str, more: &str, body: &str) -> String {
    format!("---\nname: {name}\ndescription: Does what {name} does\n{more}---\n\n{body}\n")
}

pub(crate) fn lead(body: &str) -> String {
    sop("lead", "type: orchestrator\n", body)
}

/// A model that always says this.
pub(crate) fn says(text: &str) -> Scripted {
    let text = text.to_owned();
    Scripted::from_fn(move |_| Ok(text.clone()))
}

/// A model that calls each of its agents once, all in one turn, and then says what came of it.
pub(crate) fn asks_everyone() -> Scripted {
    Scripted::from_completion_fn(|request| {
        let told = results(request);
        if !told.is_empty() || request.tools.is_empty() {
            let texts: Vec<String> = told
                .iter()
                .map(|told| match told.get("error") {
                    Some(_) => format!("without {}", told["agent"].as_str().unwrap_or_default()),
                    None => told["text"].as_str().unwrap_or_default().to_owned(),
                })
                .collect();
            return text(&format!("[{}]", texts.join(" | ")));
        }
        calls(request.tools.iter().map(|tool| tool.name.as_str()))
    })
}

/// Calls of these agents in one turn.
pub(crate) fn calls<'a>(
    names: impl IntoIterator<Item = &'a str>,
) -> Result<Completion, model::ModelError> {
    let calls = names.into_iter().zip(1..).map(|(name, n)| ToolCall {
        id: format!("call_{n}"),
        name: name.to_owned(),
        arguments: json!({"task": format!("work on {name}")}),
    });
    Ok(Completion {
        tool_calls: calls.collect(),
        ..Completion::default()
    })
}

pub(crate) fn text(text: &str) -> Result<Completion, model::ModelError> {
    Ok(Completion {
        text: text.to_owned(),
        ..Completion::default()
    })
}

/// What the model was told of its calls.
pub(crate) fn results(request: &Request) -> Vec<Value> {
    let told = request
        .messages
        .iter()
        .filter(|m| m.role == PromptRole::Tool);
    told.flat_map(|m| &m.parts)
        .filter_map(|part| match part {
            PromptPart::ToolResult { value, .. } => Some(value.clone()),
            _ => None,
        })
        .collect()
}

/// Everything that the model was told in words, from the first message to the last.
pub(crate) fn told(request: &Request) -> String {
    let texts = request.messages.iter().filter_map(|m| m.text());
    texts.collect::<Vec<_>>().join("\n")
}

/// The names of the tools, sorted.
pub(crate) fn offered(request: &Request) -> Vec<&str> {
    let mut names: Vec<&str> = request.tools.iter().map(|t| t.name.as_str()).collect();
    names.sort_unstable();
    names
}

/// Waits for something that must come.
pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    timeout(PATIENCE, future).await.expect("it came in time")
}

/// Waits until the condition holds.
pub(crate) async fn eventually<F: Future<Output = bool>>(what: &str, mut holds: impl FnMut() -> F) {
    let waiting = async {
        while !holds().await {
            sleep(Duration::from_millis(5)).await;
        }
    };
    assert!(timeout(PATIENCE, waiting).await.is_ok(), "never: {what}");
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

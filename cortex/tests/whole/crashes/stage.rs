//! A Cortex that can be ended anywhere, and those it works with.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use agenthub_broker::Server;
use agenthub_cortex::Running;
use agenthub_sdk::{
    model::{LanguageModel, Request},
    runs::{
        Journal, RunEvent, RunId,
        journal::{JournalDecorator, JournalError, MemoryJournal},
    },
};
use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc};

use crate::harness::*;

/// The hub and the journal, which outlive a Cortex.
pub(crate) struct System {
    pub(crate) hub: Server,
    pub(crate) journal: Arc<MemoryJournal>,
}

/// A journal that survives its Cortex. It is silent once so many appends are made, as if the process had stopped there.
#[derive(Debug)]
pub(crate) struct Lasting {
    pub(crate) inner: Arc<MemoryJournal>,
    pub(crate) left: AtomicUsize,
    /// True if the last append is written.
    pub(crate) writes_last: bool,
    pub(crate) tell: mpsc::Sender<()>,
}

#[tonic::async_trait]
impl JournalDecorator for Lasting {
    fn inner(&self) -> &dyn Journal {
        &*self.inner
    }

    fn is_durable(&self) -> bool {
        true
    }

    async fn append(
        &self,
        run: &RunId,
        epoch: u64,
        after: u64,
        events: &[RunEvent],
    ) -> Result<(), JournalError> {
        let is_last = self.left.fetch_sub(1, Ordering::SeqCst) == 1;
        if !is_last || self.writes_last {
            self.inner.append(run, epoch, after, events).await?;
        }
        if is_last {
            self.tell.send(()).await.expect("the test listens");
            std::future::pending::<()>().await;
        }
        Ok(())
    }
}

impl System {
    pub(crate) async fn new() -> Self {
        Self {
            hub: hub().await,
            journal: Arc::default(),
        }
    }

    /// True if no turn is left to be finished.
    pub(crate) async fn is_over(&self) -> bool {
        let left = self.journal.adoptable("cortex", "the-one", 1).await;
        left.expect("it is in memory").is_empty()
    }

    pub(crate) async fn cortex(&self, model: impl LanguageModel + 'static) -> Running {
        let (tell, _) = mpsc::channel(1);
        let journal = Lasting {
            inner: self.journal.clone(),
            left: AtomicUsize::new(usize::MAX),
            writes_last: true,
            tell,
        };
        self.cortex_on(Arc::new(journal), model).await
    }

    pub(crate) async fn cortex_on(
        &self,
        journal: Arc<dyn Journal>,
        model: impl LanguageModel + 'static,
    ) -> Running {
        cortex(&self.hub, model, |settings| {
            settings.journal = Some(journal);
            settings.instance_id = Some("the-one".to_owned());
            settings.returning = PATIENCE;
        })
        .await
    }
}

/// Everything that was asked, by whichever Cortex. What is asked while it holds its breath is never answered.
#[derive(Clone)]
pub(crate) struct Mind {
    pub(crate) asked: Arc<Mutex<Vec<Request>>>,
    pub(crate) holds_breath: Arc<dyn Fn(&Request) -> bool + Send + Sync>,
    pub(crate) tell: mpsc::Sender<()>,
    pub(crate) answer: Arc<dyn Fn(&Request) -> String + Send + Sync>,
}

impl Mind {
    /// Hears every question, and tells of those that it does not answer.
    pub(crate) fn new(
        holds_breath: impl Fn(&Request) -> bool + Send + Sync + 'static,
    ) -> (Self, mpsc::Receiver<()>) {
        let (tell, told) = mpsc::channel(8);
        let mind = Self {
            asked: Arc::default(),
            holds_breath: Arc::new(holds_breath),
            tell,
            answer: Arc::new(|request| delegating(request).expect("it always decides")),
        };
        (mind, told)
    }

    pub(crate) fn answering(
        mut self,
        answer: impl Fn(&Request) -> String + Send + Sync + 'static,
    ) -> Self {
        self.answer = Arc::new(answer);
        self
    }

    /// The same one, which answers everything.
    pub(crate) fn awake(&self) -> Self {
        Self {
            holds_breath: Arc::new(|_| false),
            ..self.clone()
        }
    }

    pub(crate) fn model(&self) -> impl LanguageModel + 'static {
        let mind = self.clone();
        Thinking(move |request: Request| {
            let mind = mind.clone();
            async move {
                mind.asked.lock().expect("no panic").push(request.clone());
                if (mind.holds_breath)(&request) {
                    mind.tell.send(()).await.expect("the test listens");
                    std::future::pending::<()>().await;
                }
                (mind.answer)(&request)
            }
        })
    }

    /// The words of each question, and whether results were there.
    pub(crate) fn questions(&self) -> Vec<(String, bool)> {
        let asked = self.asked.lock().expect("no panic");
        let question = |r: &Request| (words(r), r.data("results").is_some());
        asked.iter().map(question).collect()
    }
}

/// Says something before it has an agent work.
pub(crate) fn talkative() -> Mind {
    let (mind, _) = Mind::new(|_| false);
    mind.answering(|request| {
        let decision = delegating(request).expect("it always decides");
        let mut decision: Value = serde_json::from_str(&decision).expect("JSON");
        if words(request).contains("agent_dig") && results(request).is_none() {
            let actions = decision["actions"].as_array_mut().expect("actions");
            actions.insert(0, json!({"type": "chat.response", "text": "One moment."}));
        }
        decision.to_string()
    })
}

/// An agent that works when it is told to, and how often it was asked.
pub(crate) struct Digger {
    pub(crate) agent: agenthub_sdk::RunningAgent,
    pub(crate) started: mpsc::Receiver<()>,
    pub(crate) release: Arc<Notify>,
    pub(crate) asked: Arc<AtomicUsize>,
}

impl Digger {
    pub(crate) async fn start(hub: &Server, cortex: &Running) -> Self {
        let (at_work, started) = mpsc::channel(8);
        let (release, asked) = (Arc::new(Notify::new()), Arc::new(AtomicUsize::new(0)));
        let (wait, count) = (release.clone(), asked.clone());
        let agent = worker("agent_dig", move |_| {
            let (at_work, wait) = (at_work.clone(), wait.clone());
            count.fetch_add(1, Ordering::SeqCst);
            async move {
                at_work.send(()).await?;
                wait.notified().await;
                Ok("a hole".to_owned())
            }
        });
        let agent = agent.start(url(hub)).await.expect("the hub runs");
        knows(cortex, "agent_dig").await;
        Self {
            agent,
            started,
            release,
            asked,
        }
    }
}

/// The next things that the user hears are these, and nothing else.
pub(crate) async fn hears(user: &User, messages: &mut Messages, expected: &[&str]) {
    user.ask("c", "that is all").await;
    let mut heard = Vec::new();
    loop {
        let text = messages.from("cortex").await.text();
        if text == "you said: that is all" {
            break;
        }
        heard.push(text);
    }
    assert_eq!(heard, expected);
}

/// Waits until the tasks of the agent are over.
pub(crate) async fn has_nothing_left(user: &User, agent: &str) {
    let of_the_agent = agenthub_sdk::proto::agenthub::ListTasksRequest {
        agent_id: agent.to_owned(),
        ..Default::default()
    };
    within(async {
        loop {
            let page = user.client.tasks(of_the_agent.clone()).await;
            let tasks = page.expect("the hub runs").tasks;
            if tasks.iter().all(|t| t.state().is_terminal()) {
                return;
            }
            tokio::task::yield_now().await;
        }
    })
    .await;
}

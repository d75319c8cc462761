//! A Cortex that dies in the middle of a turn, and comes back.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use agenthub_broker::Server;
use agenthub_cortex::{
    Asked, Running,
    brief::{Brief, Mode},
};
use agenthub_sdk::{
    Outcome,
    model::{LanguageModel, Request},
    proto::a2a::{Message, Role},
    runs::{
        Journal, RunEvent, RunId,
        journal::{Error, JournalDecorator, MemoryJournal},
    },
};
use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc};

use crate::harness::*;

/// What outlives a Cortex.
struct System {
    hub: Server,
    journal: Arc<MemoryJournal>,
}

/// A journal that survives its Cortex. It is silent from its so-manieth append on, as if the process had stopped there.
#[derive(Debug)]
struct Lasting {
    inner: Arc<MemoryJournal>,
    left: AtomicUsize,
    /// True if the last append is written.
    writes_last: bool,
    tell: mpsc::Sender<()>,
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
    ) -> Result<(), Error> {
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
    async fn new() -> Self {
        Self {
            hub: hub().await,
            journal: Arc::default(),
        }
    }

    /// True if no turn is left to be finished.
    async fn is_over(&self) -> bool {
        let left = self.journal.adoptable("cortex", "the-one", 1).await;
        left.expect("it is in memory").is_empty()
    }

    async fn cortex(&self, model: impl LanguageModel + 'static) -> Running {
        let (tell, _) = mpsc::channel(1);
        let journal = Lasting {
            inner: self.journal.clone(),
            left: AtomicUsize::new(usize::MAX),
            writes_last: true,
            tell,
        };
        self.cortex_on(Arc::new(journal), model).await
    }

    async fn cortex_on(
        &self,
        journal: Arc<dyn Journal>,
        model: impl LanguageModel + 'static,
    ) -> Running {
        cortex(&self.hub, model, |settings| {
            settings.journal = Some(journal);
            settings.instance_id = Some("the-one".to_owned());
        })
        .await
    }
}

/// Everything that was asked, by whichever Cortex. What is asked while it holds its breath is never answered.
#[derive(Clone)]
struct Mind {
    asked: Arc<Mutex<Vec<Request>>>,
    holds_breath: Arc<dyn Fn(&Request) -> bool + Send + Sync>,
    tell: mpsc::Sender<()>,
    answer: Arc<dyn Fn(&Request) -> String + Send + Sync>,
}

impl Mind {
    /// Hears every question, and tells of those that it does not answer.
    fn new(
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

    fn answering(mut self, answer: impl Fn(&Request) -> String + Send + Sync + 'static) -> Self {
        self.answer = Arc::new(answer);
        self
    }

    /// The same one, which answers everything.
    fn awake(&self) -> Self {
        Self {
            holds_breath: Arc::new(|_| false),
            ..self.clone()
        }
    }

    fn model(&self) -> impl LanguageModel + 'static {
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
    fn questions(&self) -> Vec<(String, bool)> {
        let asked = self.asked.lock().expect("no panic");
        let question = |r: &Request| (words(r), r.data("results").is_some());
        asked.iter().map(question).collect()
    }
}

/// Says something before it has an agent work.
fn talkative() -> Mind {
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
struct Digger {
    _agent: agenthub_sdk::RunningAgent,
    started: mpsc::Receiver<()>,
    release: Arc<Notify>,
    asked: Arc<AtomicUsize>,
}

impl Digger {
    async fn start(hub: &Server, cortex: &Running) -> Self {
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
            _agent: agent,
            started,
            release,
            asked,
        }
    }
}

/// The next things that the user hears are these, and nothing else.
async fn hears(user: &User, messages: &mut Messages, expected: &[&str]) {
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

/// spec: HUB-7
#[tokio::test]
async fn before_the_model_has_answered() {
    let system = System::new().await;
    let (mind, mut told) = Mind::new(|_| true);
    let first = system.cortex(mind.model()).await;
    let ann = User::new(&system.hub, "ann").await;
    let mut messages = ann.messages().await;
    let pending = ann.send("c", "hello").await;
    within(told.recv()).await.expect("it is asked");
    drop(first);

    let second = system.cortex(mind.awake().model()).await;
    let outcome = within(pending.outcome()).await.expect("an outcome");
    assert_eq!(said(&outcome), "you said: hello");
    let hello = ("hello".to_owned(), false);
    assert_eq!(mind.questions(), [hello.clone(), hello]);
    hears(&ann, &mut messages, &["you said: hello"]).await;
    second.stop().await;
}

/// The hub knows the task of a run that Cortex began by itself, and the journal has nothing but its beginning.
///
/// spec: ORC-8
#[tokio::test]
async fn before_anything_was_done_for_a_run_of_its_own() {
    let system = System::new().await;
    let (mind, _) = Mind::new(|_| false);
    let (tell, mut told) = mpsc::channel(1);
    let silent = Lasting {
        inner: system.journal.clone(),
        left: AtomicUsize::new(1),
        writes_last: false,
        tell,
    };
    let first = system.cortex_on(Arc::new(silent), mind.model()).await;
    let asked = Asked {
        brief: Brief {
            objective: "hello".to_owned(),
            mode: Mode::Chat,
            ..Brief::default()
        },
        key: None,
        resumes: None,
        trace: None,
    };
    let (message, routing) = asked.message(asked.task_id());
    let task_id = message.task_id.clone();
    let starter = first.handle().starter().clone();
    let began = within(starter.begin(message.clone(), routing.clone())).await;
    assert_eq!(began, Ok(true));
    within(told.recv()).await.expect("it goes on");
    let again = within(starter.begin(message.clone(), routing.clone())).await;
    assert_eq!(again, Ok(false), "it is in hand");
    drop(first);

    let second = system.cortex(mind.model()).await;
    let ann = User::new(&system.hub, "ann").await;
    let task = within(async {
        loop {
            let task = ann
                .client
                .task(&task_id, 10)
                .await
                .expect("the hub knows it");
            if task.state().is_terminal() {
                return task;
            }
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(said(&Outcome::of(&task)), "you said: hello");
    assert_eq!((task.requester(), task.assignee()), ("cortex", "cortex"));
    assert_eq!(mind.questions(), [("hello".to_owned(), false)]);
    let starter = second.handle().starter().clone();
    let again = within(starter.begin(message, routing)).await;
    assert_eq!(again, Ok(false), "it is over");
    second.stop().await;
}

/// spec: HUB-7
#[tokio::test]
async fn while_an_agent_works() {
    let system = System::new().await;
    let mind = talkative();
    let first = system.cortex(mind.model()).await;
    let mut digger = Digger::start(&system.hub, &first).await;
    let ann = User::new(&system.hub, "ann").await;
    let mut messages = ann.messages().await;
    let pending = ann.send("c", "agent_dig deep").await;
    within(digger.started.recv()).await.expect("it is at work");
    drop(first);

    let second = system.cortex(mind.model()).await;
    digger.release.notify_one();
    let outcome = within(pending.outcome()).await.expect("an outcome");
    assert_eq!(said(&outcome), "a hole");
    assert_eq!(digger.asked.load(Ordering::SeqCst), 1);
    let question = |has_results| ("agent_dig deep".to_owned(), has_results);
    assert_eq!(mind.questions(), [question(false), question(true)]);
    hears(&ann, &mut messages, &["One moment.", "a hole"]).await;
    second.stop().await;
}

/// The agent ends while there is no Cortex.
///
/// spec: HUB-7
#[tokio::test]
async fn while_an_agent_ends() {
    let system = System::new().await;
    let (mind, _told) = Mind::new(|_| false);
    let first = system.cortex(mind.model()).await;
    let mut digger = Digger::start(&system.hub, &first).await;
    let ann = User::new(&system.hub, "ann").await;
    let mut messages = ann.messages().await;
    let pending = ann.send("c", "agent_dig deep").await;
    within(digger.started.recv()).await.expect("it is at work");
    drop(first);
    digger.release.notify_one();
    within(async {
        let of_the_agent = agenthub_sdk::proto::agenthub::ListTasksRequest {
            agent_id: "agent_dig".to_owned(),
            ..Default::default()
        };
        loop {
            let page = ann.client.tasks(of_the_agent.clone()).await;
            let tasks = page.expect("the hub runs").tasks;
            if tasks.iter().all(|t| t.state().is_terminal()) {
                return;
            }
            tokio::task::yield_now().await;
        }
    })
    .await;

    let second = system.cortex(mind.model()).await;
    let outcome = within(pending.outcome()).await.expect("an outcome");
    assert_eq!(said(&outcome), "a hole");
    assert_eq!(digger.asked.load(Ordering::SeqCst), 1);
    assert_eq!(mind.questions().len(), 2);
    hears(&ann, &mut messages, &["a hole"]).await;
    second.stop().await;
}

/// spec: HUB-7
#[tokio::test]
async fn after_the_result_has_come() {
    let system = System::new().await;
    let (mind, mut told) = Mind::new(|request| results(request).is_some());
    let first = system.cortex(mind.model()).await;
    let digger = Digger::start(&system.hub, &first).await;
    digger.release.notify_one();
    let ann = User::new(&system.hub, "ann").await;
    let mut messages = ann.messages().await;
    let pending = ann.send("c", "agent_dig deep").await;
    within(told.recv())
        .await
        .expect("it is asked about the result");
    drop(first);

    let second = system.cortex(mind.awake().model()).await;
    let outcome = within(pending.outcome()).await.expect("an outcome");
    assert_eq!(said(&outcome), "a hole");
    assert_eq!(digger.asked.load(Ordering::SeqCst), 1);
    let question = |has_results| ("agent_dig deep".to_owned(), has_results);
    assert_eq!(
        mind.questions(),
        [question(false), question(true), question(true)]
    );
    hears(&ann, &mut messages, &["a hole"]).await;
    second.stop().await;
}

/// What waits for its turn is not lost either.
#[tokio::test]
async fn with_a_conversation_that_waits() {
    let system = System::new().await;
    let (mind, mut told) = Mind::new(|_| true);
    let first = system.cortex(mind.model()).await;
    let ann = User::new(&system.hub, "ann").await;
    let mut pending = vec![ann.send("c", "0").await];
    within(told.recv()).await.expect("it is asked");
    for n in 1..4 {
        pending.push(ann.send("c", &n.to_string()).await);
    }
    drop(first);

    let second = system.cortex(mind.awake().model()).await;
    for (n, pending) in pending.into_iter().enumerate() {
        let outcome = within(pending.outcome()).await.expect("an outcome");
        assert_eq!(said(&outcome), format!("you said: {n}"));
    }
    assert_eq!(mind.questions().len(), 5, "one of them was asked twice");
    second.stop().await;
}

/// A Cortex that is told to stop leaves its turns to the next one.
#[tokio::test]
async fn a_turn_goes_on_after_an_orderly_restart() {
    let system = System::new().await;
    let (mind, mut told) = Mind::new(|_| true);
    let first = system.cortex(mind.model()).await;
    let ann = User::new(&system.hub, "ann").await;
    let pending = ann.send("c", "hello").await;
    let waits = ann.send("c", "again").await;
    within(told.recv()).await.expect("it is asked");
    within(first.stop()).await;

    let second = system.cortex(mind.awake().model()).await;
    for (pending, words) in [(pending, "hello"), (waits, "again")] {
        let outcome = within(pending.outcome()).await.expect("an outcome");
        assert_eq!(said(&outcome), format!("you said: {words}"));
    }
    second.stop().await;
}

/// Older clients make the ids of their messages from the time, so that several may have the same.
///
/// spec: HUB-5.3
#[tokio::test]
async fn messages_whose_ids_repeat_are_all_answered() {
    let system = System::new().await;
    let cortex = system.cortex(talkative().model()).await;
    for name in ["ann", "bob"] {
        let user = User::new(&system.hub, name).await;
        let mut messages = user.messages().await;
        for context in ["one", "two"] {
            let question = Message {
                message_id: "msg_1700000000".to_owned(),
                ..message(context, Role::User, name)
            };
            user.publish("cortex", question).await;
            let answer = messages.from("cortex").await;
            assert_eq!(answer.text(), format!("you said: {name}"));
            assert_eq!(answer.context_id, context);
        }
    }
    cortex.stop().await;
}

/// The turn's journal ends anywhere, with what was to be written or without it.
///
/// spec: HUB-7
#[tokio::test]
async fn wherever_the_journal_ends() {
    for boundary in 1.. {
        let mut has_died = false;
        for writes_last in [false, true] {
            has_died = end_at(boundary, writes_last).await;
        }
        if !has_died {
            assert!(boundary > 8, "a turn has more events than {boundary}");
            return;
        }
    }
}

/// Returns whether the turn came that far.
async fn end_at(boundary: usize, writes_last: bool) -> bool {
    let system = System::new().await;
    let (tell, mut died) = mpsc::channel(1);
    let dying = Lasting {
        inner: system.journal.clone(),
        left: AtomicUsize::new(boundary),
        writes_last,
        tell,
    };
    let mind = talkative();
    let first = system.cortex_on(Arc::new(dying), mind.model()).await;
    let digger = Digger::start(&system.hub, &first).await;
    digger.release.notify_one();
    let ann = User::new(&system.hub, "ann").await;
    let mut messages = ann.messages().await;
    let pending = ann.send("c", "agent_dig deep").await;
    let task_id = pending.task_id().to_owned();
    let outcome = pending.outcome();
    let ended = async {
        let _ = outcome.await;
        // The last event comes after the user was told.
        while !system.is_over().await {
            tokio::task::yield_now().await;
        }
    };
    let has_died = tokio::select! {
        Some(()) = died.recv() => true,
        () = within(ended) => false,
    };
    drop(first);

    let second = system.cortex(mind.model()).await;
    within(async {
        while !ann
            .client
            .task(&task_id, 0)
            .await
            .expect("it is known")
            .state()
            .is_terminal()
        {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let place = format!("boundary {boundary}, written: {writes_last}");
    hears(&ann, &mut messages, &["One moment.", "a hole"]).await;
    assert_eq!(digger.asked.load(Ordering::SeqCst), 1, "{place}");
    let asked = mind.questions().len() - 1;
    assert!((2..=3).contains(&asked), "{place}: asked {asked} times");
    second.stop().await;
    has_died
}

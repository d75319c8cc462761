//! A model that answers what a test told it to.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;

use super::{Completion, DeltaSink, LanguageModel, ModelError, Request, stand_in};

type Answer = Result<Completion, ModelError>;
type Closure = dyn Fn(&Request) -> Answer + Send + Sync;

enum Script {
    Queue(Mutex<VecDeque<Answer>>),
    Closure(Box<Closure>),
}

/// A model for tests. It answers from a queue or a closure, remembers what it was asked, and streams its text in pieces.
///
/// Clones share the script and the memory, so that a test keeps one and gives the other away.
#[derive(Clone)]
pub struct Scripted {
    script: Arc<Script>,
    requests: Arc<Mutex<Vec<Request>>>,
    calls: Arc<Calls>,
    delay: Duration,
}

impl Scripted {
    /// Answers with these texts, one per call, then fails as [`ModelError::Unavailable`].
    pub fn texts<T: Into<String>>(texts: impl IntoIterator<Item = T>) -> Self {
        Self::answers(texts.into_iter().map(|text| {
            Ok(Completion {
                text: text.into(),
                ..Completion::default()
            })
        }))
    }

    /// Gives these answers and failures, one per call, then fails as [`ModelError::Unavailable`].
    pub fn answers(answers: impl IntoIterator<Item = Result<Completion, ModelError>>) -> Self {
        Self::new(Script::Queue(Mutex::new(answers.into_iter().collect())))
    }

    /// Answers every call with the text that `answer` makes of the request.
    pub fn from_fn(
        answer: impl Fn(&Request) -> Result<String, ModelError> + Send + Sync + 'static,
    ) -> Self {
        Self::from_completion_fn(move |request| {
            answer(request).map(|text| Completion {
                text,
                ..Completion::default()
            })
        })
    }

    /// Answers every call with what `answer` makes of the request.
    pub fn from_completion_fn(
        answer: impl Fn(&Request) -> Result<Completion, ModelError> + Send + Sync + 'static,
    ) -> Self {
        Self::new(Script::Closure(Box::new(answer)))
    }

    fn new(script: Script) -> Self {
        Self {
            script: Arc::new(script),
            requests: Arc::default(),
            calls: Arc::default(),
            delay: Duration::ZERO,
        }
    }

    /// Takes this long, on tokio's clock, before every answer.
    pub fn delay(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// The requests so far, in the order in which they came.
    pub fn requests(&self) -> Vec<Request> {
        lock(&self.requests).clone()
    }

    /// The most calls that were being answered at the same time.
    pub fn most_at_once(&self) -> usize {
        self.calls.most.load(Ordering::SeqCst)
    }

    fn answer(&self, request: &Request) -> Answer {
        match &*self.script {
            Script::Closure(answer) => answer(request),
            Script::Queue(queue) => lock(queue)
                .pop_front()
                .unwrap_or_else(|| Err(ModelError::Unavailable("the script is at its end".into()))),
        }
    }
}

#[derive(Default)]
struct Calls {
    current: AtomicUsize,
    most: AtomicUsize,
}

/// A call that is being answered. It counts until it is dropped, since calls can be dropped halfway.
struct Call<'a>(&'a Calls);

impl<'a> Call<'a> {
    fn begin(calls: &'a Calls) -> Self {
        let current = calls.current.fetch_add(1, Ordering::SeqCst) + 1;
        calls.most.fetch_max(current, Ordering::SeqCst);
        Self(calls)
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        self.0.current.fetch_sub(1, Ordering::SeqCst);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for Scripted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scripted")
            .field("requests", &lock(&self.requests).len())
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl LanguageModel for Scripted {
    fn name(&self) -> &str {
        "scripted"
    }

    async fn complete(
        &self,
        request: Request,
        deltas: DeltaSink,
    ) -> Result<Completion, ModelError> {
        request.check()?;
        let _call = Call::begin(&self.calls);
        lock(&self.requests).push(request.clone());
        if !self.delay.is_zero() {
            tokio::time::sleep(self.delay).await;
        }
        let mut completion = self.answer(&request)?;
        stand_in::stream(&completion.text, &deltas).await;
        let (text, calls) = (&completion.text, &completion.tool_calls);
        completion
            .usage
            .get_or_insert_with(|| stand_in::usage(&request, text, calls));
        Ok(completion)
    }
}

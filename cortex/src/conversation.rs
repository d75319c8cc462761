//! One user's conversation: its requests one after the other, while what they delegated runs on.

use std::{collections::BTreeMap, collections::HashMap, sync::Arc};

use tokio::{
    sync::mpsc,
    task::{Id, JoinError, JoinSet},
};
use tracing::Instrument;

use crate::{
    decision::{Action, Decision, TaskRequest},
    delegate::DelegatedTask,
    exchange::{Ask, Ended, Exchange},
    frame::{Frame, Phase},
    history::{History, shorten},
    origin::response,
    outcome::{End, TaskOutcome},
    prompt::{Prompt, Running},
    recall,
    shared::Shared,
    turn::{self, DecideError},
};

/// Whose conversation it is. The same context of two users is two conversations.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) user: String,
    pub(crate) context_id: String,
}

/// The conversation. Requests are decided about one at a time and in their order; a request that waits for tasks gives way to
/// the next.
pub(crate) struct Conversation {
    shared: Arc<Shared>,
    key: Key,
    history: History,
    turns: u64,
    /// The requests that wait for tasks, by turn.
    open: BTreeMap<u64, Exchange>,
    delegated: JoinSet<TaskOutcome>,
    /// The turn and number of each task.
    places: HashMap<Id, (u64, usize)>,
}

impl Conversation {
    pub(crate) fn new(shared: Arc<Shared>, key: Key) -> Self {
        Self {
            history: History::new(shared.settings.history_tokens),
            shared,
            key,
            turns: 0,
            open: BTreeMap::new(),
            delegated: JoinSet::new(),
            places: HashMap::new(),
        }
    }

    /// Goes on until no request can come and none is open. Dropping the future drops what is open, and with it the delegated
    /// tasks' watchers.
    pub(crate) async fn run(mut self, mut asks: mpsc::Receiver<Ask>) {
        let mut closed = false;
        while !(closed && self.delegated.is_empty()) {
            tokio::select! {
                ask = asks.recv(), if !closed => match ask {
                    Some(ask) => self.begin(ask).await,
                    None => closed = true,
                },
                Some(returned) = self.delegated.join_next_with_id() => self.returned(returned).await,
            }
        }
    }

    async fn begin(&mut self, ask: Ask) {
        if self.turns == 0 {
            let client = ask.origin.client();
            recall::recall(client, &self.key, &mut self.history).await;
        }
        self.turns += 1;
        let turn = self.turns;
        self.history.heard(turn, &ask.words);
        ask.view.show(Frame::Start).await;
        self.advance(turn, Exchange::new(ask)).await;
    }

    async fn returned(&mut self, returned: Result<(Id, TaskOutcome), JoinError>) {
        let (id, outcome) = match returned {
            Ok((id, outcome)) => (id, Some(outcome)),
            Err(error) => (error.id(), None),
        };
        let Some((turn, number)) = self.places.remove(&id) else {
            return;
        };
        let Some(mut exchange) = self.open.remove(&turn) else {
            return;
        };
        let outcome = outcome.unwrap_or_else(|| broken(exchange.task(number)));
        if exchange.returned(number, outcome) {
            self.advance(turn, exchange).await;
        } else {
            self.open.insert(turn, exchange);
        }
    }

    /// Decides what to do next about a request that waits for nothing.
    async fn advance(&mut self, turn: u64, mut exchange: Exchange) {
        exchange.rounds += 1;
        let trace = exchange.ask.origin.trace();
        let span = tracing::info_span!(
            "turn",
            context_id = self.key.context_id,
            turn,
            round = exchange.rounds,
            trace_id = %trace.trace_id(),
        );
        let cancel = exchange.ask.cancel.clone();
        let decided = tokio::select! {
            // Once cancelled, no call of the model begins.
            biased;
            () = cancel.cancelled() => None,
            decided = self.decide(turn, &mut exchange).instrument(span) => Some(decided),
        };
        match decided {
            None => self.end(turn, exchange, Ended::Cancelled).await,
            Some(Ok(decision)) => self.act(turn, exchange, decision).await,
            Some(Err(error)) => {
                let ended = given_up(error, &exchange);
                self.end(turn, exchange, ended).await;
            }
        }
    }

    async fn decide(&self, turn: u64, exchange: &mut Exchange) -> Result<Decision, DecideError> {
        let settings = &self.shared.settings;
        let results = exchange.results();
        let phase = match results.is_empty() {
            true => Phase::Analysis,
            false => Phase::Finalization,
        };
        exchange.ask.view.show(Frame::Phase(phase)).await;
        let agents = self.shared.present(exchange.ask.origin.client());
        let others = self.open.values().flat_map(Exchange::running);
        let prompt = Prompt {
            agents: &agents,
            history: &self.history.before(turn),
            words: &shorten(&exchange.ask.words, self.history.longest()),
            attached: &exchange.ask.attached,
            answers: &exchange.answers,
            results: &results,
            running: &others.cloned().collect::<Vec<_>>(),
            rejected: None,
            is_last_round: exchange.rounds >= settings.max_rounds,
        };
        turn::decide(
            &*settings.model,
            settings.model_timeout,
            prompt,
            &exchange.ask.view,
            &mut exchange.usage,
        )
        .await
    }

    async fn act(&mut self, turn: u64, mut exchange: Exchange, decision: Decision) {
        let text = turn::said(&decision);
        if !text.is_empty() {
            exchange.ask.view.show(Frame::Message(text.clone())).await;
        }
        let tasks: Vec<TaskRequest> = decision
            .actions
            .into_iter()
            .filter_map(|action| match action {
                Action::Delegate(task) => Some(task),
                Action::Respond(_) => None,
            })
            .collect();
        if tasks.is_empty() {
            return self.end(turn, exchange, Ended::Answered(text)).await;
        }
        if !text.is_empty() {
            let message = response(&text, &self.key.context_id, &exchange.ask.message_id);
            exchange.ask.origin.say(message).await;
            self.history.said(turn, &text);
            exchange.answers.push(text);
        }
        for task in tasks {
            self.delegate(turn, &mut exchange, task);
        }
        self.open.insert(turn, exchange);
    }

    fn delegate(&mut self, turn: u64, exchange: &mut Exchange, request: TaskRequest) {
        let number = exchange.handed_over(Running {
            agent: request.target.clone(),
            task_type: request.task_type.clone(),
        });
        let settings = &self.shared.settings;
        let task = DelegatedTask {
            request,
            words: exchange.ask.words.clone(),
            context_id: self.key.context_id.clone(),
            limit: settings.delegation_timeout,
            away_grace: settings.away_grace,
            origin: exchange.ask.origin.clone(),
            view: exchange.ask.view.clone(),
            cancel: exchange.ask.cancel.clone(),
        };
        let span = tracing::info_span!(
            "delegated_task",
            context_id = self.key.context_id,
            turn,
            agent = task.request.target,
            trace_id = %task.origin.trace().trace_id(),
        );
        let handle = self.delegated.spawn(task.run().instrument(span));
        self.places.insert(handle.id(), (turn, number));
    }

    async fn end(&mut self, turn: u64, exchange: Exchange, ended: Ended) {
        let Exchange { ask, usage, .. } = exchange;
        match &ended {
            Ended::Answered(text) | Ended::Failed(text) => self.history.said(turn, text),
            Ended::Cancelled => self.history.said(turn, "[cancelled by the user]"),
        }
        ask.view.show(Frame::Metrics(usage)).await;
        match &ended {
            Ended::Answered(text) => ask.view.show(Frame::Complete(text.clone())).await,
            Ended::Failed(text) => ask.view.show(Frame::Error(text.clone())).await,
            Ended::Cancelled => {}
        }
        tracing::info!(
            context_id = self.key.context_id,
            turn,
            trace_id = %ask.origin.trace().trace_id(),
            ended = ended.label(),
            "turn ended"
        );
        // Who asked may be gone; then nobody needs to know.
        let _ = ask.done.send(ended);
    }
}

impl Ended {
    fn label(&self) -> &'static str {
        match self {
            Self::Answered(_) => "answered",
            Self::Failed(_) => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

/// How a request ends that the model could not decide about.
fn given_up(error: DecideError, exchange: &Exchange) -> Ended {
    let results = exchange.plain_results();
    let so_far = match results.is_empty() {
        true => String::new(),
        false => format!("\n\nThis is what came back:\n{results}"),
    };
    match error {
        DecideError::Model(error) => {
            tracing::warn!(%error, "the model did not answer");
            Ended::Failed(format!("I could not answer: {error}.{so_far}"))
        }
        DecideError::Undecided(reason) => {
            tracing::warn!("the model did not decide");
            tracing::debug!(reason, "why the last answer is no decision");
            Ended::Answered(format!(
                "I am sorry: I could not work out what to do with this. Please try again, or put it in other words.{so_far}"
            ))
        }
    }
}

/// What is told of a task whose watcher broke.
fn broken(task: Option<&Running>) -> TaskOutcome {
    let (agent, task_type) = task.map_or(("", ""), |t| (&*t.agent, &*t.task_type));
    let end = End::Lost("Cortex lost track of it".to_owned());
    TaskOutcome::without_result(agent, task_type, "", end)
}

//! Builder of an agent.

use std::{
    future::ready,
    io,
    sync::Arc,
    time::{Duration, SystemTime},
};

use agenthub_proto::{a2a::AgentCard, bearer::Bearer, tls::ClientTls};
use agenthub_runs::{Journal, RunId};
use futures_util::FutureExt;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::mpsc,
};

use super::{Agent, AgentType, Handler, RunningAgent, duty::Duty, runs::Keep};
use crate::{
    Conductor, Error, IntoOutput, Reply, Skill, SpanSink, TaskContext,
    card::{declare, undeclared},
    connection::Connector,
    deadline::Clock,
    tool_loop::ModelSettings,
};

/// Builder of an agent.
#[derive(Clone)]
pub struct AgentBuilder {
    pub(super) agent_type: AgentType,
    pub(super) card: AgentCard,
    pub(super) handlers: Vec<(String, Handler)>,
    pub(super) any: Option<Handler>,
    pub(super) concurrency: u32,
    pub(super) instance_id: Option<String>,
    pub(super) topics: Vec<String>,
    pub(super) health_check_url: String,
    pub(super) watch_agents: bool,
    pub(super) drain_timeout: Duration,
    pub(super) keep: Keep,
    pub(super) duty: Duty,
    pub(super) connect_timeout: Option<Duration>,
    pub(super) connector: Connector,
    pub(super) tls: Option<ClientTls>,
    pub(super) bearer: Option<Bearer>,
    pub(super) clock: Clock,
    pub(super) journal: Option<Arc<dyn Journal>>,
    pub(super) spans: Option<Arc<dyn SpanSink>>,
    pub(super) thinking: ModelSettings,
}

impl AgentBuilder {
    pub(super) fn new(agent_type: AgentType, card: AgentCard) -> Self {
        Self {
            agent_type,
            card,
            handlers: Vec::new(),
            any: None,
            concurrency: 64,
            instance_id: None,
            topics: Vec::new(),
            health_check_url: String::new(),
            watch_agents: false,
            drain_timeout: Duration::from_secs(10),
            keep: Keep::default(),
            duty: Duty::default(),
            connect_timeout: None,
            connector: Connector::default(),
            tls: None,
            bearer: None,
            clock: SystemTime::now,
            journal: None,
            spans: None,
            thinking: ModelSettings::default(),
        }
    }

    /// Gives the agent another name, which is its id, than its card has.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.card.name = name.into();
        self
    }

    /// Does what a skill is: the handler gets what the skill takes and returns what it gives, see [`Skill`]. The skill is put on the card if
    /// none of its id is there. Handlers are called in the order in which messages come and then run at the same time, but for messages of
    /// one task, which wait for each other. A message to this agent without a task type goes to the first handler, unless there is one for
    /// [any](Self::on_any).
    #[must_use]
    pub fn on<I, O, H, F, R>(mut self, skill: &Skill<I, O>, handler: H) -> Self
    where
        I: 'static,
        O: 'static,
        H: Fn(TaskContext, I) -> F + Send + Sync + 'static,
        F: Future<Output = R> + Send + 'static,
        R: IntoOutput<O>,
    {
        let id = skill.id().to_owned();
        if self.card.skills.iter().all(|known| known.id != id) {
            declare(&mut self.card, skill.into());
        }
        let (read, answer) = (skill.read, skill.answer);
        let handler = Handler::Call(Arc::new(move |context| match read(&context) {
            Ok(input) => {
                let working = handler(context, input);
                async move { working.await.into_output().and_then(answer) }.boxed()
            }
            Err(failure) => ready(Err(failure)).boxed(),
        }));
        self.handlers.push((id, handler));
        self
    }

    /// Handles the messages of this task type, or for the skill with this id or name, as [`on`](Self::on) does. The agent registers for it.
    #[must_use]
    pub fn on_task_type<H, F, R>(mut self, task_type: impl Into<String>, handler: H) -> Self
    where
        H: Fn(TaskContext) -> F + Send + Sync + 'static,
        F: Future<Output = R> + Send + 'static,
        R: IntoOutput<Reply>,
    {
        self.handlers.push((task_type.into(), boxed(handler)));
        self
    }

    /// Handles the messages that no other handler is for, broadcasts and answers without a task among them.
    #[must_use]
    pub fn on_any<H, F, R>(mut self, handler: H) -> Self
    where
        H: Fn(TaskContext) -> F + Send + Sync + 'static,
        F: Future<Output = R> + Send + 'static,
        R: IntoOutput<Reply>,
    {
        self.any = Some(boxed(handler));
        self
    }

    /// Makes a run of each message of this task type, as [`on_task_type`](Self::on_task_type) calls a handler for it.
    #[must_use]
    pub fn conduct(mut self, task_type: impl Into<String>, conductor: Arc<dyn Conductor>) -> Self {
        self.handlers
            .push((task_type.into(), Handler::Conduct(conductor)));
        self
    }

    /// Makes a run of each message that nothing else is for, as [`on_any`](Self::on_any) calls a handler for it.
    #[must_use]
    pub fn conduct_any(mut self, conductor: Arc<dyn Conductor>) -> Self {
        self.any = Some(Handler::Conduct(conductor));
        self
    }

    /// Keeps runs in this journal, so that they survive the process: a message is acknowledged once its run is written down, and
    /// an agent of the same id that starts with the journal takes up what is not over. Without one, a message whose agent died
    /// is delivered again and its run starts again.
    #[must_use]
    pub fn journal(mut self, journal: Arc<dyn Journal>) -> Self {
        self.journal = Some(journal);
        self
    }

    /// The [journal](Self::journal) of its runs, if it has one.
    pub fn journal_of_runs(&self) -> Option<&Arc<dyn Journal>> {
        self.journal.as_ref()
    }

    /// Writes the runs of messages down in the [journal](Self::journal), which must survive the process, and leaves them to executors
    /// ([`Agent::execute`]). `recorded` is told of each run; those that find no room in it are in the journal alone.
    #[must_use]
    pub fn record_runs(mut self, recorded: mpsc::Sender<RunId>) -> Self {
        self.duty = Duty::Record(recorded);
        self
    }

    /// Tells of the runs of this agent here, as spans; nobody is told if not given.
    #[must_use]
    pub fn spans(mut self, spans: Arc<dyn SpanSink>) -> Self {
        self.spans = Some(spans);
        self
    }

    /// Messages that are handled at the same time; 64 if not given. A handler that waits for an agent which it asked does not
    /// count (up to as many again, at least 16), so that agents can ask each other.
    #[must_use]
    pub fn concurrency(mut self, concurrency: u32) -> Self {
        self.concurrency = concurrency.max(1);
        self
    }

    /// The id of this process; made up if not given. Two running processes must not share one.
    #[must_use]
    pub fn instance_id(mut self, instance_id: impl Into<String>) -> Self {
        self.instance_id = Some(instance_id.into());
        self
    }

    /// Further task types to register for.
    #[must_use]
    pub fn topics<S: Into<String>>(mut self, topics: impl IntoIterator<Item = S>) -> Self {
        self.topics.extend(topics.into_iter().map(Into::into));
        self
    }

    /// URL at which the hub may ask with GET whether the agent is well while it has no connection.
    #[must_use]
    pub fn health_check_url(mut self, url: impl Into<String>) -> Self {
        self.health_check_url = url.into();
        self
    }

    /// Keeps [`Client::directory`](crate::Client::directory) up to date.
    #[must_use]
    pub fn watch_agents(mut self, watch: bool) -> Self {
        self.watch_agents = watch;
        self
    }

    /// Time for handlers to end after [`RunningAgent::stop`], and for the tools and models of runs; 10 s if not given. A run in a journal that
    /// survives begins nothing more meanwhile. What is at work when the time is over is told to stop, and dropped a moment later.
    #[must_use]
    pub fn drain_timeout(mut self, timeout: Duration) -> Self {
        self.drain_timeout = timeout;
        self
    }

    /// Retention of runs in the agent's [journal](Self::journal) once they are over; 30 days if not given. Older ones of this agent are
    /// forgotten every hour; those of others that share the journal are left alone.
    #[must_use]
    pub fn keep_runs(mut self, keep: Duration) -> Self {
        self.keep.runs = keep;
        self
    }

    /// Retention of the beginning and the end of a run once it is over, if that is longer than the [whole run](Self::keep_runs): what was asked
    /// for, and what came of it. No longer than the run if not given.
    #[must_use]
    pub fn keep_outcomes(mut self, keep: Duration) -> Self {
        self.keep.outcomes = keep;
        self
    }

    /// Deadline of one try to connect; 5 s if not given.
    #[must_use]
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = Some(timeout);
        self
    }

    /// The certificates of connections to `https://…`, see [`ClientBuilder::tls`](crate::hub::ClientBuilder::tls).
    #[must_use]
    pub fn tls(mut self, tls: ClientTls) -> Self {
        self.tls = Some(tls);
        self
    }

    /// The token that says who the agent is, see [`ClientBuilder::token`](crate::hub::ClientBuilder::token).
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] if it cannot be one.
    pub fn token(mut self, token: &str) -> Result<Self, Error> {
        let bearer = Bearer::new(token).map_err(|error| Error::Invalid(error.to_string()))?;
        self.bearer = Some(bearer);
        Ok(self)
    }

    /// Opens connections in another way than over TCP, see [`ClientBuilder::connector`](crate::hub::ClientBuilder::connector).
    #[must_use]
    pub fn connector<O, F, S>(mut self, open: O) -> Self
    where
        O: Fn(String) -> F + Send + Sync + 'static,
        F: Future<Output = io::Result<S>> + Send + 'static,
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        self.connector = Connector::streams(open);
        self
    }

    /// The clock that deadlines are told by, see [`ClientBuilder::clock`](crate::hub::ClientBuilder::clock).
    #[must_use]
    pub fn clock(mut self, clock: fn() -> SystemTime) -> Self {
        self.clock = clock;
        self
    }

    /// The agent's card.
    pub fn card(&self) -> &AgentCard {
        &self.card
    }

    /// The agent, which does not change any more.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] for an agent without a name, without anything that handles its messages, with a schema for a skill that its card
    /// does not have, or with a model or tools that cannot be used. It says what to do about it.
    pub fn build(self) -> Result<Agent, Error> {
        if self.card.name.is_empty() {
            return Err(Error::Invalid("the agent's card has no name".to_owned()));
        }
        if let Some(id) = undeclared(&self.card).first() {
            return Err(Error::Invalid(format!(
                "the card of {} has a schema or a phase for the skill {id:?}, which is not on it: add the skill, or correct the id",
                self.card.name
            )));
        }
        let mut parts = self.think()?;
        parts.agent_type.declare(&mut parts.card);
        if parts.handlers.is_empty() && parts.any.is_none() {
            return Err(Error::Invalid(format!(
                "the {} {} has no handler and no model: add .on(&skill, handler) or .model(\"provider/model\")",
                parts.agent_type.as_str(),
                parts.card.name
            )));
        }
        let is_durable = parts.journal.as_ref().is_some_and(|j| j.is_durable());
        if parts.duty.recorder().is_some() && !is_durable {
            return Err(Error::Invalid(format!(
                "{} leaves its runs to executors, which needs a journal that survives the process: add .journal(...)",
                parts.card.name
            )));
        }
        Ok(Agent { parts })
    }

    /// [Builds](Self::build) the agent and [runs](Agent::run) it.
    ///
    /// # Errors
    ///
    /// Those of both.
    pub async fn run(self, hub_url: impl Into<String>) -> Result<(), Error> {
        self.build()?.run(hub_url).await
    }

    /// [Builds](Self::build) the agent and [runs](Agent::run_until) it until `shutdown` is ready.
    ///
    /// # Errors
    ///
    /// Those of both.
    pub async fn run_until(
        self,
        hub_url: impl Into<String>,
        shutdown: impl Future,
    ) -> Result<(), Error> {
        self.build()?.run_until(hub_url, shutdown).await
    }

    /// [Builds](Self::build) the agent and [starts](Agent::start) it.
    ///
    /// # Errors
    ///
    /// Those of both.
    pub async fn start(self, hub_url: impl Into<String>) -> Result<RunningAgent, Error> {
        self.build()?.start(hub_url).await
    }
}

impl std::fmt::Debug for AgentBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgentBuilder")
            .field("card", &self.card.name)
            .finish_non_exhaustive()
    }
}

fn boxed<H, F, R>(handler: H) -> Handler
where
    H: Fn(TaskContext) -> F + Send + Sync + 'static,
    F: Future<Output = R> + Send + 'static,
    R: IntoOutput<Reply>,
{
    Handler::Call(Arc::new(move |context| {
        let working = handler(context);
        async move { working.await.into_output() }.boxed()
    }))
}

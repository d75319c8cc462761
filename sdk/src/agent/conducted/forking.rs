//! The beginning of a run that is forked from another run of the agent.

use agenthub_runs::{
    RunEvent, RunId, RunStarted,
    fork::{Fork, ForkError},
    journal::{Entry, JournalError},
};
use tokio::time::timeout;

use super::{
    super::{origin::Origin, runs::ANSWER},
    Beginning, Conducted,
};
use crate::{Agent, Failure, ForkRequest, model};

/// The agent through which people look after runs.
const CORTEX: &str = "cortex";

/// Events that are read at one time.
const PAGE: usize = 256;

/// The refusal of a fork that cannot go on from what is recorded.
fn refused(error: &ForkError) -> Failure {
    let field = match error {
        ForkError::Asked { .. } => "input",
        _ => "at",
    };
    Failure::rejected(error.to_string()).at(field)
}

impl Conducted {
    /// The beginning of a run whose message asks for a fork: what was recorded by then, in place of the run's first event alone.
    ///
    /// # Errors
    ///
    /// There is no run.
    pub(in crate::agent) async fn forked(
        &self,
        beginning: Beginning,
    ) -> Result<Beginning, Failure> {
        let Some(request) = self.context.fork() else {
            return Ok(beginning);
        };
        let sender = self.context.sender();
        if sender != CORTEX && sender != self.context.client().agent_id() {
            let why = "a run is forked by Cortex: ask there, as `agenthub runs fork` does";
            return Err(Failure::rejected(why));
        }
        if let Some(name) = &request.changes.model {
            model::named(name).map_err(|error| Failure::rejected(error.to_string()).at("model"))?;
        }
        let entries = self.recorded(&request).await.map_err(Failure::rejected)?;
        let source = self.source(&request.run, &entries);
        let source = source.map_err(Failure::rejected)?;
        let [RunEvent::Started(begun)] = &*beginning.first else {
            unreachable!("it begins so");
        };
        let changes = &request.changes;
        let mut input = self.conductor.fork(source.input.clone(), changes)?;
        if input["run"] == *request.run.as_str() {
            input["run"] = self.held.run().as_str().into();
        }
        let started = RunStarted {
            input,
            budget: source.budget.within(begun.budget),
            ..begun.clone()
        };
        let fork = Fork::at(&entries, request.at, self.held.run(), started);
        let fork = fork.map_err(|error| refused(&error))?;
        fork.check(self.conductor.strategy(), changes.input.is_some())
            .map_err(|error| refused(&error))?;
        Ok(Beginning {
            first: fork.events,
            ..beginning
        })
    }

    /// The run's events without progress, at least up to that of the fork if there are so many.
    async fn recorded(&self, request: &ForkRequest) -> Result<Vec<Entry>, String> {
        let Some(journal) = self.runs.journal() else {
            return Err("this agent keeps no journal".to_owned());
        };
        let (mut entries, mut last) = (Vec::new(), 0);
        while last < request.at {
            let page = match timeout(ANSWER, journal.read(&request.run, last, PAGE)).await {
                Ok(Ok(page)) => page,
                Ok(Err(JournalError::NotFound(_))) => Vec::new(),
                Ok(Err(error)) => return Err(error.to_string()),
                Err(_) => return Err("the journal does not answer".to_owned()),
            };
            let Some(end) = page.last().map(|entry| entry.seq) else {
                break;
            };
            last = end;
            // The last event counts, whatever it is: it says how many there are.
            let is_wanted = |entry: &Entry| {
                entry.seq == end || !matches!(entry.event, RunEvent::Progressed { .. })
            };
            entries.extend(page.into_iter().filter(is_wanted));
        }
        Ok(entries)
    }

    /// The beginning of the run that is forked, which is one of this agent by the same strategy.
    fn source<'e>(&self, run: &RunId, entries: &'e [Entry]) -> Result<&'e RunStarted, String> {
        let owner = self.context.client().agent_id();
        let Some(RunEvent::Started(source)) = entries.first().map(|entry| &entry.event) else {
            return Err(format!("{owner} has no such run in its journal"));
        };
        let is_own = Origin::read(&source.origin).is_some_and(|origin| {
            let message = &origin.message;
            Agent::run_of(owner, &message.task_id, &message.message_id) == *run
        });
        let strategy = self.conductor.strategy().name();
        match is_own && source.strategy == strategy {
            true => Ok(source),
            false => Err(format!(
                "it is no run of {owner} by the strategy {strategy}"
            )),
        }
    }
}

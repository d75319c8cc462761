//! The agent of one workflow: each request to it is a run with the request's data as input.

use std::{path::PathBuf, sync::Arc};

use agenthub_sdk::{
    Agent, AgentBuilder, Card, Failure, Reply, Skill, TaskContext,
    durable::{Beginning, Conductor, ForkChanges, Identity, Journal},
    proto::a2a::AgentCard,
    runs::{RunId, RunOutcome, Strategy, World, breakers::Breakers, journal::MemoryJournal},
};
use agenthub_terminal::file_agent::{FileAgent, sha256, unnumbered};
use serde_json::{Map, Value};

use super::{
    agent::{CONCURRENCY, beginning, of_fork, reply},
    monitor::Monitor,
    request::RunRequest,
    secrets::SecretSource,
    taking::{Asked, Taken, taken},
    world::RunWorld,
};
use crate::{model::Workflow, output_schema::output_schema, strategy::WorkflowRun};

/// Tag of the agents of workflows.
const TAG: &str = "workflow";

/// A workflow of a file, as an agent.
#[derive(Clone, Debug)]
pub(crate) struct Served {
    /// The agent's id: the workflow's name.
    pub(crate) id: String,
    pub(crate) path: PathBuf,
    pub(crate) workflow: Workflow,
    /// The workflow, as its file has it, with its name.
    pub(crate) document: Map<String, Value>,
    /// Digest of the document.
    digest: String,
}

impl Served {
    /// The agent of a workflow that was read of a file.
    pub(crate) fn new(path: PathBuf, workflow: Workflow, document: Value) -> Self {
        let mut document = match document {
            Value::Object(fields) => fields,
            _ => Map::new(),
        };
        let name = document.entry("name");
        name.or_insert_with(|| workflow.name.clone().into());
        let digest = sha256(Value::Object(document.clone()).to_string().as_bytes());
        Self {
            id: workflow.name.clone(),
            path,
            workflow,
            document,
            digest,
        }
    }

    /// True if both are the same workflow of the same file.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.digest == other.digest && self.path == other.path
    }

    /// The file, as the card names it.
    pub(crate) fn file(&self) -> FileAgent<'_> {
        FileAgent {
            extension: "urn:agenthub:workflow/v1",
            digest: &self.digest,
            path: &self.path,
        }
    }

    /// The agent: its card has one skill of the same name, which takes the workflow's input. `lasting` gives it the journal of its runs; one in
    /// memory, if it gives none.
    ///
    /// # Errors
    ///
    /// That of `lasting`.
    pub(crate) async fn agent<E>(
        self: &Arc<Self>,
        lasting: impl AsyncFnOnce(AgentBuilder) -> Result<AgentBuilder, E>,
    ) -> Result<AgentBuilder, E> {
        let agent = lasting(Agent::worker(self.card())).await?;
        let journal = agent.journal_of_runs().cloned();
        let journal = journal.unwrap_or_else(|| Arc::new(MemoryJournal::default()));
        Ok(agent
            .watch_agents(true)
            .concurrency(CONCURRENCY)
            .journal(Arc::clone(&journal))
            .conduct_any(Arc::new(OneWorkflow {
                served: Arc::clone(self),
                breakers: Arc::default(),
                journal,
            })))
    }

    fn card(&self) -> AgentCard {
        let id = &*self.id;
        let description = match &*self.workflow.description {
            "" => format!("Carries out the workflow {id}"),
            given => given.to_owned(),
        };
        let modes = ["text/plain", "application/json"];
        let skill = Skill::new(id, id, &*description)
            .tags([TAG])
            .modes(modes, modes);
        let version = match &*self.workflow.version {
            "" => unnumbered(&self.digest),
            given => given.to_owned(),
        };
        let card = Card::new(id, description)
            .version(version)
            .skill(skill)
            .input_schema(id, self.workflow.input.clone());
        let card = match output_schema(&self.workflow) {
            Some(schema) => card.output_schema(id, schema),
            None => card,
        };
        let mut card = AgentCard::from(card);
        self.file().mark(&mut card);
        card
    }
}

/// Makes a run of the workflow of each request.
#[derive(Debug)]
struct OneWorkflow {
    served: Arc<Served>,
    breakers: Arc<Breakers>,
    journal: Arc<dyn Journal>,
}

impl Conductor for OneWorkflow {
    fn strategy(&self) -> &dyn Strategy {
        &WorkflowRun
    }

    /// spec: EXE-1.2, EXE-1.3
    fn begin(&self, task: &TaskContext) -> Result<Beginning, Failure> {
        let (wanted, own) = (task.task_type(), &self.served.id);
        if !(wanted.is_empty() || wanted == own) {
            let why = format!("{own} has no skill {wanted:?}; it has {own}");
            return Err(Failure::rejected(why));
        }
        let asked = Asked::of(task.message());
        let Taken { input, unread } = taken(&self.served.workflow, asked)?;
        let workflow = self.served.document.clone();
        let request = RunRequest {
            workflow,
            input,
            ..RunRequest::default()
        };
        beginning(task, request, unread, &SecretSource::Variables)
    }

    fn fork(&self, recorded: Value, changes: &ForkChanges) -> Result<Value, Failure> {
        of_fork(recorded, changes)
    }

    fn world(&self, task: &TaskContext, run: &RunId) -> Arc<dyn World> {
        let workflow = Value::Object(self.served.document.clone());
        let monitor = Monitor::of(task, run, &self.journal, None);
        let breakers = Arc::clone(&self.breakers);
        Arc::new(RunWorld::shown(task.clone(), &workflow, monitor, breakers))
    }

    fn identity(&self) -> Identity {
        Identity {
            workflow: self.served.id.clone(),
            ..Identity::default()
        }
    }

    fn reply(&self, _: &TaskContext, outcome: &RunOutcome) -> Result<Reply, Failure> {
        reply(outcome, Value::clone)
    }
}

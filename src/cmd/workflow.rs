//! `agenthub workflow`

use std::{path::Path, process::ExitCode, sync::Arc};

use agenthub_proto::{cortex::StartRunRequest, json};
use agenthub_sop::cli::Workplace;
use agenthub_terminal::{faults, run::Line, usage::WrongUsage};
use agenthub_workflow::{
    Lasting, News, Origin, Serving,
    cli::{self as workflow, Checked},
};
use serde_json::Value;

use super::{CLIENT_LEVEL, asking::Asking, run as runs_of_briefs, sop::Files};
use crate::{
    cli::{Workflow, WorkflowRun, WorkflowServe},
    logging::{self, Target},
    metrics::Metrics,
    settings::Settings,
};

/// Carries out a workflow, or does something with its file.
pub(super) async fn run(args: Workflow, settings: &Settings) -> anyhow::Result<ExitCode> {
    match args {
        Workflow::Run(args) => carry_out(&args, settings).await,
        Workflow::Serve(args) => {
            logging::start(settings.log.as_deref(), CLIENT_LEVEL, &Target::Stderr)?;
            serve(&args, settings).await
        }
        Workflow::Files(command) => {
            logging::start(settings.log.as_deref(), CLIENT_LEVEL, &Target::Stderr)?;
            workflow::run(command, &settings.hub).await
        }
    }
}

async fn serve(args: &WorkflowServe, settings: &Settings) -> anyhow::Result<ExitCode> {
    let files: Arc<dyn Workplace> = Arc::new(Files::new(settings, settings.data())?);
    let metrics = Metrics::serve(settings, Arc::new(|_| ())).await?;
    let served = workflow::serve(&args.serve, &settings.hub, lasting(&files)).await;
    files.close().await;
    Metrics::close(metrics).await;
    served
}

fn lasting(files: &Arc<dyn Workplace>) -> Lasting {
    let files = Arc::clone(files);
    Arc::new(move |id, agent| {
        let files = Arc::clone(&files);
        Box::pin(async move { files.lasting(&id, agent).await })
    })
}

/// Workflows of a folder as agents in the process of the hub. What happens to them is logged.
pub(super) struct Served {
    serving: Serving,
    files: Arc<dyn Workplace>,
}

impl Served {
    /// Starts the agents on the hub at this address.
    ///
    /// # Errors
    ///
    /// The folder cannot be read.
    pub(super) async fn start(dir: &Path, hub: &str, settings: &Settings) -> anyhow::Result<Self> {
        let files: Arc<dyn Workplace> = Arc::new(Files::new(settings, settings.data())?);
        let origin = Origin {
            dir: dir.to_owned(),
            lasting: lasting(&files),
            tell: Arc::new(|news| match (news, news.line()) {
                (News::Wrong { fault, .. }, line) => {
                    tracing::warn!(kept = line, "{fault}");
                }
                (_, line) => tracing::info!("{}", line.unwrap_or_default()),
            }),
        };
        let serving = Serving::start(hub, origin).await?;
        Ok(Self { serving, files })
    }

    /// Ids of the agents that were started at the beginning.
    pub(super) fn names(&self) -> impl Iterator<Item = String> {
        self.serving
            .members()
            .iter()
            .map(|member| member.id.clone())
    }

    /// Stops the agents. Their runs go on when the folder is served again.
    pub(super) async fn stop(self) {
        self.serving.stop().await;
        self.files.close().await;
    }
}

async fn carry_out(args: &WorkflowRun, settings: &Settings) -> anyhow::Result<ExitCode> {
    let asking = Asking {
        at: &args.at,
        shown: &args.shown,
        detach: args.detach,
        here: args.here,
        model: args.model.model.as_deref(),
    };
    let start = async |line: &Line| {
        let hub = match args.at.cortex {
            Some(_) => &settings.hub,
            None => line.url(),
        };
        let Checked { workflow, input } =
            match workflow::checked(hub, &args.file, args.input.as_deref()).await? {
                Ok(checked) => checked,
                Err(found) => {
                    found.iter().for_each(faults::show);
                    return Err(WrongUsage("nothing was started".to_owned()).into());
                }
            };
        let fields = |fields| Some(json::to_struct(&Value::Object(fields)));
        let request = StartRunRequest {
            workflow: fields(workflow),
            input: fields(input),
            idempotency_key: args.key.of_call(),
            ..StartRunRequest::default()
        };
        runs_of_briefs::start(line, request, None).await
    };
    asking.show(settings, start).await
}

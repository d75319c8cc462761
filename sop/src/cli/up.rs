//! `agenthub sop up`

use std::{
    process::ExitCode,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use agenthub_sdk::Client;
use agenthub_terminal::{calls, connect::until_there, faults, output, stop::Signals};
use anyhow::bail;
use serde_json::{Value, json};

use super::{
    args::{DEFAULT_DIR, Up},
    leaving::leave,
    news,
    place::Place,
    program::{Hosted, Hosting, Program, Settings},
    team_folder::{TeamFolder, find, nobody_to_lead, start_error},
    workshop::Workshop,
};
use crate::{Origin, Team};

/// Time for agents to go on with what they do at the end.
const DRAIN: Duration = Duration::from_secs(3);

/// Runs a team until it is told to stop.
pub(super) async fn run(
    args: Up,
    settings: &Settings,
    program: &Arc<dyn Program>,
) -> anyhow::Result<ExitCode> {
    let serve = &args.serve;
    if args.hub.hub.is_some() && (serve.grpc.is_some() || serve.http.is_some()) {
        bail!(
            "--grpc and --http are for a hub of this process: leave them away, or leave --hub away"
        );
    }
    // Where a hub is to listen was said, so one is to be here.
    let here = args.here || serve.grpc.is_some() || serve.http.is_some();
    // What is wrong with the folder is said before anything is started.
    let Some(found) = find(&args.dir, settings)? else {
        return Ok(ExitCode::FAILURE);
    };
    let alone = nobody_to_lead(&args.dir, &found.leads, &found.discovered);
    alone.iter().for_each(faults::show);
    let mut signals = Signals::new()?;
    let place = Place::find(&args.hub, here, settings).await;
    let workshop = Workshop::new(program, &settings.tools, settings.data.as_deref())?;
    let starting = async {
        match place {
            Place::There => {
                let hub = settings.hub.clone();
                let probe = until_there(|| Client::builder(&*hub).connect()).await?;
                probe.close().await;
                anyhow::Ok((hub, None))
            }
            Place::Own | Place::Here => {
                let hosted = program.host(Hosting::WithCortex).await?;
                Ok((hosted.url(), Some(hosted)))
            }
        }
    };
    let started = tokio::select! {
        started = starting => started.map(Some),
        _ = signals.next() => Ok(None),
    };
    let (hub, mut hosted) = match started {
        Ok(Some(started)) => started,
        ended => {
            workshop.close().await;
            return ended.map(|_| ExitCode::SUCCESS);
        }
    };
    let is_up = Arc::new(AtomicBool::new(false));
    let (tell, tell_faults) = (news::tell(), news::tell_faults());
    let told = Arc::clone(&is_up);
    let origin = Origin {
        dir: args.dir.clone(),
        default_orchestrator: settings.default_orchestrator,
        fit: workshop.fit(),
        drain: DRAIN,
        // Who is there at the beginning, the banner says.
        tell: Arc::new(move |news| match told.load(Ordering::Relaxed) {
            true => tell(news),
            false => tell_faults(news),
        }),
    };
    let started = tokio::select! {
        started = Team::start(&hub, origin) => Some(started),
        _ = signals.next() => None,
    };
    let mut stopped = None;
    let result = match started {
        None => Ok(ExitCode::SUCCESS),
        // Its faults were told.
        Some(Err(error)) => start_error(error).map(|()| ExitCode::FAILURE),
        Some(Ok(team)) => {
            let banner = Banner {
                args: &args,
                settings,
                program: &**program,
                found: &found,
                hub: &hub,
                hosted: hosted.as_deref(),
                members: team.members().await.into_iter().map(|m| m.name).collect(),
            };
            let said = match args.serve.json {
                true => output::line(banner.json().to_string()),
                false => output::line(output::plain(&banner.text())),
            };
            is_up.store(true, Ordering::Relaxed);
            team.watch().await;
            let served = async {
                match &mut hosted {
                    Some(hosted) => hosted.failed().await,
                    None => std::future::pending().await,
                }
            };
            let ended = tokio::select! {
                _ = signals.next() => Ok(ExitCode::SUCCESS),
                () = team.ended() => Err(anyhow::anyhow!("the hub has sent all agents of the team away")),
                error = served => Err(error),
            };
            stopped = Some(team);
            said.map_err(Into::into).and(ended)
        }
    };
    let team = async {
        if let Some(team) = stopped {
            team.stop().await;
        }
    };
    let hub = async {
        if let Some(hosted) = hosted {
            hosted.stop().await;
        }
    };
    let left = signals.leave(leave(team, workshop.close(), hub)).await;
    let code = result?;
    left?;
    Ok(code)
}

/// Text that is printed when the team is up.
struct Banner<'a> {
    args: &'a Up,
    settings: &'a Settings,
    program: &'a dyn Program,
    found: &'a TeamFolder,
    hub: &'a str,
    hosted: Option<&'a dyn Hosted>,
    /// The agents at work.
    members: Vec<String>,
}

impl Banner<'_> {
    fn text(&self) -> String {
        let dir = self.args.dir.display();
        let whose = match self.hosted {
            None => "",
            Some(_) => "   (in this process, with Cortex)",
        };
        let mut lines = vec![
            format!(
                "AgentHub {}: the team of {dir} is up",
                env!("CARGO_PKG_VERSION")
            ),
            String::new(),
            format!("  hub     {}{whose}", self.hub),
        ];
        if let Some(hosted) = self.hosted {
            lines.push(format!("  HTTP    http://{}", hosted.addresses()[1]));
        }
        let mut label = "model";
        for line in self.program.model_described() {
            lines.push(format!("  {label:<6}  {line}"));
            label = "";
        }
        lines.push(format!("  leads   {}", self.line(&self.found.leads.name)));
        let mut label = "agents";
        for name in &self.members {
            if *name != self.found.leads.name {
                lines.push(format!("  {label:<6}  {}", self.line(name)));
                label = "";
            }
        }
        if label == "agents" {
            lines.push(format!(
                "  agents  none yet: {} sop new researcher{} begins one",
                calls::program(),
                self.flag("--dir ")
            ));
        }
        let (program, hub) = (calls::program(), calls::hub_flag(self.hub));
        lines.extend([
            String::new(),
            "Ask it in another terminal:".to_owned(),
            format!("  {program} sop ask{} \"…\"{hub}", self.flag("")),
            format!("  {program} agents list{hub}"),
            String::new(),
            format!("When a file in {dir} changes, its agent does. Ctrl-C stops hosted."),
        ]);
        lines.join("\n")
    }

    fn json(&self) -> Value {
        let agents = self
            .members
            .iter()
            .filter(|name| **name != self.found.leads.name);
        let mut value = json!({
            "hub": self.hub,
            "dir": self.args.dir,
            "orchestrator": self.found.leads.name,
            "agents": agents.collect::<Vec<_>>(),
            "model": self.program.model_name(None),
            "data": self.settings.data,
        });
        if let Some(hosted) = self.hosted {
            let [grpc, http] = hosted.addresses();
            value["grpc"] = grpc.to_string().into();
            value["http"] = http.to_string().into();
        }
        value
    }

    /// The agent's name and what it is for.
    fn line(&self, name: &str) -> String {
        let description = match self.found.discovered.agents.get(name) {
            Some(definition) => &definition.description,
            None => &self.found.leads.description,
        };
        output::cut(&format!("{name:<16} {}", description.trim()), 100)
    }

    /// The folder as an argument, if it has to be named.
    fn flag(&self, name: &str) -> String {
        folder_argument(&self.args.dir, name)
    }
}

/// The folder as an argument, with a space before it; empty where it need not be named.
pub(super) fn folder_argument(dir: &std::path::Path, flag: &str) -> String {
    match dir == std::path::Path::new(DEFAULT_DIR) {
        true => String::new(),
        false => format!(" {flag}{}", dir.display()),
    }
}

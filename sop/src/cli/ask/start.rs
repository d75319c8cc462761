//! Finds the team that is to be asked, or starts it.

use std::{path::Path, time::Duration};

use agenthub_sdk::{
    Client, Error,
    proto::{
        a2a::AgentCard,
        agenthub::{AgentState, ListAgentsRequest},
    },
};
use agenthub_terminal::{calls::DEFAULT_DATA, output};
use anyhow::bail;

use super::{
    super::{
        leaving::leave,
        place::{Place, unreachable},
        program::{HostError, Hosted, Hosting, Settings},
        team_folder::{TeamFolder, nobody_to_lead, start_error},
        workshop::Workshop,
    },
    Question,
    absent::{Absent, absent, absent_elsewhere},
    recording::record,
    turns::Turn,
};
use crate::{Fault, Origin, Team, is_same, team::identity::EXTENSION};

/// Time for agents to go on with what they do once the answer is there.
const DRAIN: Duration = Duration::from_secs(1);

/// Parts that run in this process for the request.
#[derive(Default)]
pub(super) struct Here {
    pub(super) hosted: Option<Box<dyn Hosted>>,
    pub(super) team: Option<Team>,
    /// Makes the team's work available for later look-up.
    pub(super) is_kept: bool,
    /// Not waited for at the end.
    pub(super) is_left: bool,
    /// Another process with the same data folder has the team.
    pub(super) is_shared: bool,
    /// Agents that the team is without.
    pub(super) absent: Absent,
    pub(super) workshop: Option<Workshop>,
}

impl Question<'_> {
    /// A client of the hub on which the team is, which is started if it is nowhere. `None` where it cannot be; then it was shown why.
    pub(super) async fn client(
        &self,
        found: &TeamFolder,
        settings: &Settings,
        here: &mut Here,
    ) -> anyhow::Result<Option<Client>> {
        let place = Place::find(&self.args.hub, self.args.here, settings).await;
        let mut own = settings.clone();
        let hub = match place {
            Place::There => settings.hub.clone(),
            Place::Own | Place::Here => {
                // Nobody else is to find a hub that goes with the request.
                let hosting = Hosting::Alone {
                    files: own.data.is_some(),
                };
                let hosted = match self.program.host(hosting).await {
                    Err(HostError::InUse(_)) if self.args.folder.data.is_none() => {
                        let data = own.data.as_deref().unwrap_or(Path::new(DEFAULT_DATA));
                        let data = data.display();
                        output::aside(format!(
                            "{data} is in use, so this request keeps no files (--data DIR gives it a folder of its own)"
                        ));
                        own.data = None;
                        let hosting = Hosting::Alone { files: false };
                        self.program.host(hosting).await?
                    }
                    hosted => hosted?,
                };
                let hub = hosted.url();
                here.hosted = Some(hosted);
                hub
            }
        };
        let settings = &own;
        let client = match Client::builder(&*hub).watch_agents(true).connect().await {
            Ok(client) => client,
            Err(error) => return unreachable(error),
        };
        if place == Place::There && self.is_elsewhere(&client, &hub).await? {
            return Ok(Some(client));
        }
        let turn = self.turn(&client, &hub, found, settings, here).await?;
        let Turn::Own(own) = turn else {
            return Ok(Some(client));
        };
        if !self.args.json {
            let where_to = match place {
                Place::There => {
                    format!("the team is not on the hub at {hub}: it is here for this request")
                }
                Place::Own => format!(
                    "no hub listens at {}: the team and a hub are here for this request",
                    settings.hub
                ),
                Place::Here => "the team and a hub are here for this request".to_owned(),
            };
            output::aside(where_to);
        }
        let is_here = self.host(&hub, found, &own, here).await?;
        Ok(is_here.then_some(client))
    }

    /// Starts the team in this process, on this hub, with the files that were claimed for it. `false` where it cannot be; then it was shown why.
    pub(super) async fn host(
        &self,
        hub: &str,
        found: &TeamFolder,
        settings: &Settings,
        here: &mut Here,
    ) -> anyhow::Result<bool> {
        let workshop = self.workshop(settings, here)?;
        let origin = Origin {
            dir: self.args.dir(),
            default_orchestrator: settings.default_orchestrator,
            fit: workshop.fit(),
            drain: DRAIN,
            tell: self.told.tell(),
        };
        match Team::start(hub, origin).await {
            Ok(team) => {
                let members = team.members().await;
                here.absent = absent(&found.discovered, &members, &self.told.faults());
                here.team = Some(team);
                here.is_kept = settings.data.is_some();
            }
            Err(error) => {
                self.record(here, &error.to_string()).await;
                start_error(error)?;
                return Ok(false);
            }
        }
        if let Some(why) = here.absent.refusal().filter(|_| self.is_fail_fast()) {
            self.record(here, &why).await;
            bail!("{why}");
        }
        let alone = nobody_to_lead(&self.args.dir(), self.leads, &found.discovered);
        self.told.show(alone.into_iter().collect());
        Ok(true)
    }

    /// Keeps the request as one that failed for this reason, where files are kept.
    async fn record(&self, here: &Here, why: &str) {
        let Some(workshop) = &here.workshop else {
            return;
        };
        let recorded = async {
            let journal = workshop.journal(&self.leads.name).await?;
            if let Some(journal) = journal {
                record(&*journal, self.leads, &self.request, why).await?;
            }
            anyhow::Ok(())
        };
        if let Err(error) = recorded.await {
            output::aside(format!(
                "warning: there is no report on this request: {error:#}"
            ));
        }
    }

    /// The workshop of a team here.
    pub(super) fn workshop(
        &self,
        settings: &Settings,
        here: &mut Here,
    ) -> anyhow::Result<Workshop> {
        if let Some(workshop) = &here.workshop {
            return Ok(workshop.clone());
        }
        let workshop = Workshop::new(self.program, &settings.tools, settings.data.as_deref())?;
        Ok(here.workshop.insert(workshop).clone())
    }

    /// Tells whether the team is on the hub and can be asked there. What this process would have done otherwise is warned of.
    pub(super) async fn is_elsewhere(&self, client: &Client, hub: &str) -> anyhow::Result<bool> {
        if !self.is_there(client, hub).await? {
            return Ok(false);
        }
        let elsewhere = format!("the team at {hub}");
        self.program.refuse_elsewhere(&elsewhere)?;
        if self.args.model.model.is_some() {
            output::aside(format!(
                "warning: {elsewhere} has its own model, so --model changes nothing (with --here, a team of this process is asked)"
            ));
        }
        Ok(true)
    }

    /// Files of the folder without which a team elsewhere on the hub is.
    pub(super) async fn absent_there(
        &self,
        client: &Client,
        found: &TeamFolder,
    ) -> anyhow::Result<Absent> {
        if !found.discovered.faults.iter().any(Fault::is_error) {
            return Ok(Absent::default());
        }
        let sops = ListAgentsRequest {
            capability: EXTENSION.to_owned(),
            ..ListAgentsRequest::default()
        };
        let entries = client.all_agents(sops).await?.into_iter();
        let online = entries.filter(|entry| entry.state() == AgentState::Online);
        let cards: Vec<AgentCard> = online.filter_map(|entry| entry.agent_card).collect();
        Ok(absent_elsewhere(&found.discovered, &cards))
    }

    /// Tells whether the orchestrator is on the hub.
    async fn is_there(&self, client: &Client, hub: &str) -> anyhow::Result<bool> {
        let name = &self.leads.name;
        let entry = match client.agent(&**name).await {
            Ok(entry) if entry.state() == AgentState::Online => entry,
            Ok(_) | Err(Error::NotFound(_)) => return Ok(false),
            Err(error) => return Err(error.into()),
        };
        let card = entry.agent_card.unwrap_or_default();
        if !is_same(&card, self.leads) {
            bail!(
                "the hub at {hub} has an agent called {name} that is not the one of {}: give the orchestrator another `name:`, name another hub, or ask with --here",
                self.leads.path.display()
            );
        }
        Ok(true)
    }
}

impl Here {
    /// Ends what runs in this process: agents first, so that they can still tell the hub.
    pub(super) async fn leave(self) {
        let team = async {
            if let Some(team) = self.team {
                team.disband().await;
            }
        };
        let workshop = async {
            if let Some(workshop) = self.workshop {
                workshop.close().await;
            }
        };
        let hub = async {
            if let Some(hosted) = self.hosted {
                hosted.stop().await;
            }
        };
        leave(team, workshop, hub).await;
    }
}

//! Has the hub know agents, and forget them.

use std::{path::Path, sync::Arc, time::Duration};

use agenthub_sdk::{
    AgentBuilder, Error, RunningAgent,
    proto::{
        a2a::TaskState,
        agenthub::{AgentState, ListTasksRequest},
    },
};
use tokio::time::timeout;

use super::{identity, keeper::Keeper};
use crate::{Definition, Fault};

impl Keeper {
    /// Starts an agent. Says whether the hub knew its id.
    pub(super) async fn start(
        &self,
        definition: &Arc<Definition>,
    ) -> Result<(RunningAgent, bool), Vec<Fault>> {
        let cannot = |error: Error| vec![cannot_start(definition, &error)];
        let was_known = match self.client.agent(&*definition.name).await {
            Ok(entry) => {
                let is_online = entry.state() == AgentState::Online;
                if let Some(card) = entry.agent_card.filter(|_| is_online)
                    && !identity::is_same(&card, definition)
                {
                    return Err(vec![taken(
                        definition,
                        identity::file_of(definition).is_such(&card),
                        &self.hub,
                    )]);
                }
                true
            }
            Err(Error::NotFound(_)) => false,
            Err(error) => return Err(cannot(error)),
        };
        let agent = self.fitted(definition).await?;
        let agent = agent.start(&*self.hub).await.map_err(cannot)?;
        Ok((agent, was_known))
    }

    pub(super) async fn replace(&self, definition: &Arc<Definition>) -> Result<(), Vec<Fault>> {
        let cannot = |error: Error| vec![cannot_start(definition, &error)];
        let Some(running) = self.at_work.agent(&definition.name) else {
            return Ok(());
        };
        let agent = self.fitted(definition).await?.build().map_err(cannot)?;
        running.replace(agent).await.map_err(cannot)
    }

    async fn fitted(&self, definition: &Arc<Definition>) -> Result<AgentBuilder, Vec<Fault>> {
        let fitting = (self.origin.fit)(Arc::clone(definition), self.roster.clone());
        let agent = tokio::select! {
            agent = in_time(fitting, self.limit, definition) => agent?,
            // Nobody waits for it any more.
            () = self.leaving.cancelled() => return Err(Vec::new()),
        };
        Ok(agent.drain_timeout(self.origin.drain))
    }

    /// True if the hub has open work for an agent, or does not say.
    pub(super) async fn has_work(&self, name: &str) -> bool {
        let open = [
            TaskState::Submitted,
            TaskState::Working,
            TaskState::InputRequired,
            TaskState::AuthRequired,
        ];
        let request = ListTasksRequest {
            agent_id: name.to_owned(),
            states: open.map(i32::from).into(),
            ..Default::default()
        };
        match self.client.all_tasks(request).await {
            Ok(tasks) => tasks.iter().any(|task| task.assignee() == name),
            Err(_) => true,
        }
    }
}

/// An agent, if it is made within the limit.
async fn in_time<T>(
    fitting: impl Future<Output = Result<T, Vec<Fault>>>,
    limit: Option<Duration>,
    definition: &Definition,
) -> Result<T, Vec<Fault>> {
    let Some(limit) = limit else {
        return fitting.await;
    };
    timeout(limit, fitting).await.unwrap_or_else(|_| {
        let message = format!(
            "{} cannot work yet: its tools and its model are not there after {} s",
            definition.name,
            limit.as_secs()
        );
        let fault = Fault::error(&definition.path, message);
        Err(vec![fault.helped(
            "it is tried again; a server of tools that is slow to start may be there by then",
        )])
    })
}

fn cannot_start(definition: &Definition, error: &Error) -> Fault {
    Fault::error(
        &definition.path,
        format!("{} cannot be an agent of the hub: {error}", definition.name),
    )
}

fn taken(definition: &Definition, is_sop: bool, hub: &str) -> Fault {
    let name = &definition.name;
    let whose = match is_sop {
        true => "the SOP of another folder",
        false => "another program",
    };
    Fault::error(
        &definition.path,
        format!("the hub at {hub} has an agent called {name} already, and it is {whose}"),
    )
    .helped(format!(
        "give this one another `name:` in {}, or stop the other one",
        short(&definition.path)
    ))
}

fn short(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;
    use crate::parse;

    #[tokio::test(start_paused = true)]
    async fn what_takes_too_long_to_be_made_is_given_up_unless_it_may_take_as_long_as_it_takes() {
        let text = "---\nname: slow\ndescription: d\n---\nDo it.\n";
        let definition = parse(Path::new("slow.md"), text, Vec::new()).expect("it is right");
        let definition = &definition.definition;
        let limit = Duration::from_secs(10);
        let late = in_time::<()>(pending(), Some(limit), definition).await;
        let faults = late.expect_err("it never comes");
        assert!(
            faults[0].message.starts_with("slow cannot work yet"),
            "{faults:?}"
        );
        let whole = in_time::<()>(pending(), None, definition);
        assert!(timeout(limit * 10, whole).await.is_err(), "it is awaited");
    }
}

//! Configurations of push notifications.

use uuid::Uuid;

use super::{Call, NONE, Operations};
use crate::{
    error::{Error, Kind, UNKNOWN_TOKEN},
    hub::Target,
    push::{Config, StartPoint},
    rights::on_behalf_of,
    v1::{
        DeleteTaskPushNotificationConfigRequest, GetTaskPushNotificationConfigRequest,
        ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse,
        TaskPushNotificationConfig,
    },
};

impl Operations {
    /// §3.1.7. One with the id of another takes its place.
    pub(crate) async fn create_push_config(
        &self,
        call: &Call,
        request: TaskPushNotificationConfig,
    ) -> Result<TaskPushNotificationConfig, Error> {
        let agent = self
            .agent_with(call, &request.tenant, &request.task_id)
            .await?;
        let config = Config::read(&request, "", self.push.allowed())?;
        let mut config = config.of(on_behalf_of(&call.caller));
        if config.id.is_empty() {
            config.id = Uuid::now_v7().to_string();
        }
        self.add_push_config(call, &agent, &request.task_id, config.clone())
            .await?;
        Ok(config.shown(&request.tenant, &request.task_id))
    }

    /// Adds a configuration of a task that is there.
    pub(super) async fn add_push_config(
        &self,
        call: &Call,
        agent: &Target,
        task_id: &str,
        config: Config,
    ) -> Result<(), Error> {
        let gate = self.push.gate().await?;
        let (task, after) = self.task_of(call, agent, task_id, NONE).await?;
        let begin = StartPoint {
            after,
            state: Some(task.state() as i32),
            is_over: task.state().is_terminal(),
            is_old: call.is_old,
        };
        call.act(task_id).await?;
        gate.add(task_id, config, begin).await
    }

    /// §3.1.8
    pub(crate) async fn get_push_config(
        &self,
        call: &Call,
        request: GetTaskPushNotificationConfigRequest,
    ) -> Result<TaskPushNotificationConfig, Error> {
        let GetTaskPushNotificationConfigRequest {
            tenant,
            task_id,
            id,
        } = request;
        self.agent_with(call, &tenant, &task_id).await?;
        if id.is_empty() && !call.is_old {
            return Err(Error::field("id", "id is required"));
        }
        let found = self.push.get(&task_id, &id).await?;
        let config = found.ok_or_else(|| {
            let fault =
                format!("task \"{task_id}\" has no push notification configuration \"{id}\"");
            Kind::TaskNotFound.with(fault).about("taskId", &task_id)
        })?;
        Ok(config.shown(&tenant, &task_id))
    }

    /// §3.1.9
    pub(crate) async fn list_push_configs(
        &self,
        call: &Call,
        request: ListTaskPushNotificationConfigsRequest,
    ) -> Result<ListTaskPushNotificationConfigsResponse, Error> {
        let ListTaskPushNotificationConfigsRequest {
            tenant,
            task_id,
            page_size,
            page_token,
        } = request;
        self.agent_with(call, &tenant, &task_id).await?;
        let limit = match page_size {
            0 => 50,
            1..=100 => page_size.unsigned_abs(),
            n => {
                let fault = format!("pageSize is {n}; it is from 1 to 100");
                return Err(Error::field("pageSize", fault));
            }
        };
        let after = match page_token.as_str() {
            "" => 0,
            token => token
                .parse()
                .map_err(|_| Error::field("pageToken", UNKNOWN_TOKEN))?,
        };
        let page = self.push.list(&task_id, after, limit).await?;
        let configs = page.configs.into_iter();
        Ok(ListTaskPushNotificationConfigsResponse {
            configs: configs.map(|c| c.shown(&tenant, &task_id)).collect(),
            next_page_token: page.next.map(|key| key.to_string()).unwrap_or_default(),
        })
    }

    /// §3.1.10. That there is none is no error.
    pub(crate) async fn delete_push_config(
        &self,
        call: &Call,
        request: DeleteTaskPushNotificationConfigRequest,
    ) -> Result<(), Error> {
        self.agent_with(call, &request.tenant, &request.task_id)
            .await?;
        if request.id.is_empty() {
            return Err(Error::field("id", "id is required"));
        }
        call.act(&request.task_id).await?;
        self.push.remove(&request.task_id, &request.id).await
    }

    /// The agent that a request is for, which has this task.
    async fn agent_with(&self, call: &Call, tenant: &str, task_id: &str) -> Result<Target, Error> {
        let agent = self.agent(call, tenant).await?;
        self.push.is_offered()?;
        if task_id.is_empty() {
            return Err(Error::field("taskId", "taskId is required"));
        }
        self.task_of(call, &agent, task_id, NONE).await?;
        Ok(agent)
    }
}

//! A call: a task of an agent, watched until it ends, and called back when it is not wanted any more.

use std::time::{Duration, Instant};

use agenthub_sdk::{
    Client, Delegation, Error, Outcome, TraceContext, Updates,
    internal::AgentTool,
    proto::{a2a::TaskState, agenthub::ListTasksRequest},
};
use rmcp::{
    ErrorData, RoleServer,
    model::{CallToolRequestParams, CallToolResult, ProgressNotificationParam, ProgressToken},
    service::RequestContext,
};
use tokio::time::timeout;
use uuid::Uuid;

use super::{caller::Caller, elicitation, hub, progress, result, tools};

/// Time for an agent's last progress to reach the client, once the result is there.
const LAST_PROGRESS: Duration = Duration::from_secs(1);

/// Calls a tool.
///
/// # Errors
///
/// There is no such tool. Whatever else goes wrong is a result, so that the client's model reads it.
pub(super) async fn call(
    caller: &Caller,
    params: CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResult, ErrorData> {
    let begun = Instant::now();
    let client = match caller.hub.client(Client::CALL_DEADLINE).await {
        Ok(client) => client,
        Err(why) => return Ok(result::refused(why)),
    };
    let all = client.agent_tools().await;
    let tool = tools::named(&all, &params.name)?;
    if !tool.online {
        return Ok(result::refused(format!(
            "{} is not here at present: start it, or ask another agent",
            tool.agent
        )));
    }
    let delegation = match tools::asked(tool, params.arguments.unwrap_or_default()) {
        Ok(delegation) => delegation.timeout(caller.timeout),
        Err(why) => return Ok(result::refused(why)),
    };
    let Ok(_permit) = caller.room.try_acquire() else {
        return Ok(result::refused(format!(
            "{} calls are under way, which is the most at a time: call again when one of them has ended",
            caller.max_calls
        )));
    };
    let call = Call {
        caller,
        client,
        tool,
        context,
    };
    let ended = call.answered(delegation, caller.timeout).await;
    let state = ended.as_ref().map_or("given up", |(_, o)| o.state.label());
    tracing::info!(
        agent = tool.agent,
        state,
        ms = begun.elapsed().as_millis(),
        "a call has ended"
    );
    Ok(match ended {
        Ok((conversation, outcome)) => result::of(tool, &conversation, &outcome),
        Err(why) => result::refused(why),
    })
}

struct Call<'a> {
    caller: &'a Caller,
    client: Client,
    tool: &'a AgentTool,
    context: &'a RequestContext<RoleServer>,
}

impl Call<'_> {
    /// Does the same as [`run`](Self::run), and puts what the agent asks to the person at the client, if there is one. A question that
    /// nobody answers is the outcome.
    async fn answered(
        &self,
        delegation: Delegation,
        timeout: Duration,
    ) -> Result<(String, Outcome), String> {
        let (mut conversation, mut outcome) = self.run(delegation).await?;
        for _ in 0..elicitation::MOST_QUESTIONS {
            if !outcome.state.is_interrupted() {
                break;
            }
            let agent = &self.tool.agent;
            let asked = elicitation::ask(&self.context.peer, agent, &outcome, timeout);
            let answer = tokio::select! {
                biased;
                why = self.unwanted() => {
                    self.call_back(&outcome.task_id, why).await;
                    return Err(format!("the call of {agent} was cancelled"));
                }
                answer = asked => answer,
            };
            let Some(answer) = answer else { break };
            let answer = Delegation::to(agent.clone())
                .context_id(conversation)
                .text(answer)
                .timeout(timeout);
            (conversation, outcome) = self.run(answer).await?;
        }
        Ok((conversation, outcome))
    }

    /// The conversation, and what became of the task.
    ///
    /// # Errors
    ///
    /// The reason of a failure, in words.
    async fn run(&self, delegation: Delegation) -> Result<(String, Outcome), String> {
        let (client, delegation) = self.placed(delegation).await?;
        let ended = self.watched(&client, delegation).await;
        if client.agent_id() != self.client.agent_id() {
            client.close().await;
        }
        ended
    }

    async fn watched(
        &self,
        client: &Client,
        delegation: Delegation,
    ) -> Result<(String, Outcome), String> {
        let agent = &*self.tool.agent;
        let within = delegation.timeout;
        let conversation = delegation.context_id.clone();
        // Not broken off: what may have reached the hub is to be known, so that it can be called back.
        let delegated = client.delegate(delegation).await;
        let mut pending = delegated.map_err(|error| format!("{agent} was not asked: {error}"))?;
        let task_id = pending.task_id().to_owned();
        let token = self.context.meta.get_progress_token();
        let updates = token.map(|token| (token, pending.updates()));
        let mut showing = std::pin::pin!(self.show(updates));
        let mut outcome = std::pin::pin!(pending.outcome());
        let mut is_shown = false;
        let ended = loop {
            tokio::select! {
                biased;
                why = self.unwanted() => {
                    self.call_back(&task_id, why).await;
                    return Err(format!("the call of {agent} was cancelled"));
                }
                ended = &mut outcome => break ended,
                () = &mut showing, if !is_shown => is_shown = true,
                () = self.gone() => {
                    self.call_back(&task_id, "its agent has gone away").await;
                    return Err(format!("{agent} has gone away, and its task was called off"));
                }
            }
        };
        if !is_shown && timeout(LAST_PROGRESS, showing).await.is_err() {
            tracing::debug!(task_id, "the client was too slow for the last progress");
        }
        match ended {
            Ok(outcome) => Ok((conversation, outcome)),
            Err(Error::DeadlineExceeded { .. }) => Err(format!(
                "{agent} was not done within {} s, and its task was called off",
                within.as_secs()
            )),
            Err(error) => Err(format!("it is not known what became of this: {error}")),
        }
    }

    /// The delegation in its conversation and trace. Where the agent waits for an answer of ours in that conversation, it is the answer, given
    /// by the client that asked: this one, or that of an MCP server which is gone.
    async fn placed(&self, delegation: Delegation) -> Result<(Client, Delegation), String> {
        let trace = self.context.meta.get_traceparent();
        let mut delegation = Delegation {
            trace: trace.and_then(|trace| trace.parse::<TraceContext>().ok()),
            ..delegation
        };
        let client = self.client.clone();
        if delegation.context_id.is_empty() {
            let delegation = delegation.context_id(Uuid::now_v7().to_string());
            return Ok((client, delegation));
        }
        let waiting = ListTasksRequest {
            agent_id: self.tool.agent.clone(),
            assigned: true,
            context_id: delegation.context_id.clone(),
            states: vec![
                TaskState::InputRequired.into(),
                TaskState::AuthRequired.into(),
            ],
            ..Default::default()
        };
        let not_found = |error: Error| format!("the conversation was not found: {error}");
        let waiting = client.tasks(waiting).await.map_err(not_found)?.tasks;
        let of = |is_its: &dyn Fn(&str) -> bool| {
            let mut waiting = waiting.iter();
            waiting.find(|task| is_its(task.requester()))
        };
        let own = of(&|requester| requester == client.agent_id());
        if let Some(task) = own.or_else(|| of(&hub::is_server)) {
            delegation.task_id = Some(task.id.clone());
            if task.requester() != client.agent_id() {
                let adopted = self.caller.hub.client_as(task.requester()).await;
                return Ok((adopted.map_err(not_found)?, delegation));
            }
        }
        Ok((client, delegation))
    }

    /// Hands on what the agent shows, if the client wants it.
    async fn show(&self, updates: Option<(ProgressToken, Updates)>) {
        let Some((token, mut updates)) = updates else {
            return;
        };
        let mut count = 0_u32;
        while let Some(update) = updates.next().await {
            let Some(words) = progress::words(&update) else {
                continue;
            };
            count += 1;
            let progress = ProgressNotificationParam::new(token.clone(), count.into());
            let progress = progress.with_message(words);
            if let Err(error) = self.context.peer.notify_progress(progress).await {
                tracing::debug!(%error, "the client takes no progress");
                return;
            }
        }
    }

    /// Waits until nobody waits for the result, and says why.
    async fn unwanted(&self) -> &'static str {
        tokio::select! {
            () = self.context.ct.cancelled() => "the MCP client cancelled the call",
            () = self.caller.ended() => "the MCP client is not served any more",
        }
    }

    async fn gone(&self) {
        self.client.directory().gone(&self.tool.agent).await;
    }

    async fn call_back(&self, task_id: &str, reason: &str) {
        match self.client.cancel_task(task_id, reason).await {
            // A conflict: it has ended meanwhile.
            Ok(_) | Err(Error::Conflict(_)) => {}
            Err(error) => tracing::warn!(%error, task_id, "a task was not called back"),
        }
    }
}

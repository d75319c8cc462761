//! Notices of the chat itself.

use std::time::SystemTime;

use agenthub_proto::{
    agenthub::{ListAgentsRequest, ListTasksRequest},
    cortex::ListRunsRequest,
};
use agenthub_sdk::runs::{Decision, RunId};
use agenthub_terminal::{
    listing,
    output::plain,
    run::{Answer, answer, user, width},
};
use anyhow::bail;

use super::{elsewhere::Asked, session::Session};

/// The runs that are listed.
const RUNS: usize = 20;

/// Notice on a command that there is not.
pub(super) fn unknown(name: &str) -> String {
    format!("there is no command /{name}; /help lists them")
}

/// The agents of the hub, fresh.
pub(super) async fn agents(session: &Session) -> anyhow::Result<String> {
    let page = session.client.agents(ListAgentsRequest::default()).await?;
    let mut text = listing::agents(&page.agents);
    if !page.next_page_token.is_empty() {
        text.push_str("\nand more: see `agenthub agents list`");
    }
    Ok(text)
}

/// The latest tasks of the conversation.
pub(super) async fn tasks(session: &Session) -> anyhow::Result<String> {
    let request = ListTasksRequest {
        context_id: session.context.clone(),
        ..Default::default()
    };
    let page = session.client.tasks(request).await?;
    if page.tasks.is_empty() {
        return Ok(
            "no tasks in this conversation; `agenthub tasks list` has those of all".to_owned(),
        );
    }
    let mut text = listing::tasks(&page.tasks, SystemTime::now(), Some(width()));
    if !page.next_page_token.is_empty() {
        text.push_str("\nand more: see `agenthub tasks list`");
    }
    Ok(text)
}

/// The latest runs.
pub(super) async fn runs(session: &Session) -> anyhow::Result<String> {
    let runs = session
        .line()?
        .list(ListRunsRequest::default(), RUNS)
        .await?;
    Ok(listing::runs::runs(&runs))
}

/// Notice on the approvals that wait.
pub(super) async fn approvals(session: &Session) -> anyhow::Result<String> {
    let waiting = session.line()?.pending().await?;
    let elsewhere = session.elsewhere.all();
    let told = elsewhere.iter().map(Asked::told);
    let lines: Vec<String> = match waiting.is_empty() && !elsewhere.is_empty() {
        true => told.collect(),
        false => [listing::runs::approvals(&waiting)]
            .into_iter()
            .chain(told)
            .collect(),
    };
    Ok(lines.join("\n"))
}

/// Gives the answer to what waits for a yes.
pub(super) async fn answered(
    session: &Session,
    approved: bool,
    id: &str,
    why: &str,
) -> anyhow::Result<String> {
    if id.is_empty() {
        bail!("say which: /approvals lists what waits for a yes");
    }
    if let Some(asked) = session.elsewhere.find(id)? {
        let decision = Decision {
            approved,
            by: user(),
            comment: why.to_owned(),
        };
        let run = RunId::new(&*asked.run);
        let operator = session.client.operator();
        operator
            .decide(&asked.agent, &run, &asked.id, decision)
            .await?;
        session.elsewhere.forget(std::slice::from_ref(&asked));
        let word = match approved {
            true => "yes",
            false => "no",
        };
        return Ok(format!(
            "{} is sent the {word}: {}",
            plain(&asked.agent),
            asked.told()
        ));
    }
    let given = Answer {
        run: id,
        approval: None,
        approved,
        by: user(),
        comment: why.to_owned(),
    };
    let (asked, _) = answer(&session.line()?, given).await?;
    Ok(listing::runs::answered(&asked, approved))
}

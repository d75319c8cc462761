//! `agenthub mailboxes`

use agenthub_proto::agenthub::{
    DropDeadLetterResponse, GetMailboxRequest, ListDeadLettersRequest, ListMailboxesRequest,
    Mailbox, PurgeMailboxRequest, SeekMailboxRequest, seek_mailbox_request::To,
};
use agenthub_sdk::Client;

use super::args::{LetterAction, Mailboxes};
use crate::{connect, flags::Json, listing::mail, output};

/// The mailboxes or letters of one page.
const PAGE: i32 = 1000;

/// Shows and moves mailboxes.
pub async fn run(args: Mailboxes, hub: &str) -> anyhow::Result<()> {
    let client = connect::client(hub, None).await?;
    match args {
        Mailboxes::List { agent, query } => {
            let all = list(&client, agent).await?;
            match query.json.json {
                true => all.iter().try_for_each(output::json)?,
                false => output::line(mail::mailboxes(&all))?,
            }
        }
        Mailboxes::Show {
            agent,
            name,
            first,
            query,
        } => show(&client, agent, name, first, query.json).await?,
        Mailboxes::Seek {
            agent,
            name,
            to,
            query,
        } => {
            let to = to.after.map_or(To::Latest(true), To::After);
            let request = SeekMailboxRequest {
                agent_id: agent,
                name,
                to: Some(to),
            };
            let done = client.operator().seek_mailbox(request).await?;
            let (skipped, reread) = (done.skipped, done.reread);
            match query.json.json {
                true => output::json(&done)?,
                false => {
                    output::line(format!("{skipped} skipped, {reread} to be delivered again"))?
                }
            }
        }
        Mailboxes::Purge { agent, name, query } => {
            let request = PurgeMailboxRequest {
                agent_id: agent,
                name: name.unwrap_or_default(),
            };
            let done = client.operator().purge_mailbox(request).await?;
            match query.json.json {
                true => output::json(&done)?,
                false => output::line(format!("{} purged", done.purged))?,
            }
        }
        Mailboxes::DeadLetters {
            action,
            agent,
            query,
        } => match action {
            None => letters(&client, agent, query.json).await?,
            Some(action) => settle(&client, action).await?,
        },
    }
    client.close().await;
    Ok(())
}

async fn list(client: &Client, agent: Option<String>) -> anyhow::Result<Vec<Mailbox>> {
    let mut all = Vec::new();
    let mut request = ListMailboxesRequest {
        agent_id: agent.unwrap_or_default(),
        page_size: PAGE,
        page_token: String::new(),
    };
    loop {
        let page = client.operator().mailboxes(request.clone()).await?;
        all.extend(page.mailboxes);
        if page.next_page_token.is_empty() {
            return Ok(all);
        }
        request.page_token = page.next_page_token;
    }
}

async fn show(
    client: &Client,
    agent: String,
    name: Option<String>,
    first: u32,
    json: Json,
) -> anyhow::Result<()> {
    let names = match name {
        Some(name) => vec![name],
        None => {
            let all = list(client, Some(agent.clone())).await?;
            all.into_iter().map(|m| m.name).collect()
        }
    };
    anyhow::ensure!(
        !names.is_empty(),
        "agent \"{agent}\" has no durable mailbox"
    );
    for name in names {
        let request = GetMailboxRequest {
            agent_id: agent.clone(),
            name,
            peek: first,
        };
        let mailbox = client.operator().mailbox(request).await?;
        match json.json {
            true => output::json(&mailbox)?,
            false => output::line(mail::mailbox(&mailbox))?,
        }
    }
    Ok(())
}

async fn letters(client: &Client, agent: Option<String>, json: Json) -> anyhow::Result<()> {
    let mut all = Vec::new();
    let mut request = ListDeadLettersRequest {
        agent_id: agent.unwrap_or_default(),
        page_size: PAGE,
        page_token: String::new(),
        ..ListDeadLettersRequest::default()
    };
    loop {
        let page = client.operator().dead_letters(request.clone()).await?;
        all.extend(page.dead_letters);
        if page.next_page_token.is_empty() {
            break;
        }
        request.page_token = page.next_page_token;
    }
    match json.json {
        true => all.iter().try_for_each(output::json)?,
        false => output::line(mail::dead_letters(&all))?,
    }
    Ok(())
}

async fn settle(client: &Client, action: LetterAction) -> anyhow::Result<()> {
    match action {
        LetterAction::Retry { id, query } => {
            let done = client.operator().retry_dead_letter(id).await?;
            match (query.json.json, done.task_id.as_str()) {
                (true, _) => output::json(&done)?,
                (false, "") => output::line("it is in its mailbox again")?,
                (false, task) => output::line(format!("its task has ended; it makes task {task}"))?,
            }
        }
        LetterAction::Drop { id, query } => {
            client.operator().drop_dead_letter(id).await?;
            match query.json.json {
                true => output::json(&DropDeadLetterResponse {})?,
                false => output::line("it is dropped")?,
            }
        }
    }
    Ok(())
}

//! Mailboxes and dead letters as people read them.

use agenthub_proto::agenthub::{DeadLetter, GetMailboxResponse, Mailbox};

use super::event;
use crate::output::{plain, table};

/// The mailboxes as a table.
pub fn mailboxes(mailboxes: &[Mailbox]) -> String {
    if mailboxes.is_empty() {
        return "no mailboxes".to_owned();
    }
    let rows = mailboxes.iter().map(|mailbox| {
        [
            mailbox.agent_id.clone(),
            name(&mailbox.name).to_owned(),
            mailbox.waiting.to_string(),
            mailbox.leased.to_string(),
            mailbox.bytes.to_string(),
            mailbox.oldest.map(|t| t.to_string()).unwrap_or_default(),
        ]
    });
    table(
        ["AGENT", "MAILBOX", "WAITING", "OUT", "BYTES", "OLDEST"],
        rows,
    )
}

/// One mailbox and what waits in it first.
pub fn mailbox(found: &GetMailboxResponse) -> String {
    let mailbox = found.mailbox.clone().unwrap_or_default();
    let (agent, name) = (&mailbox.agent_id, name(&mailbox.name));
    let (waiting, out, bytes) = (mailbox.waiting, mailbox.leased, mailbox.bytes);
    let mut lines = vec![format!(
        "{agent} {name}: {waiting} waiting, {out} out, {bytes} bytes"
    )];
    let shown = found.events.iter().filter_map(|e| Some((e, event(e)?)));
    lines.extend(shown.map(|(e, line)| format!("  {}  {line}", e.position)));
    plain(&lines.join("\n")).into_owned()
}

/// The dead letters as a table.
pub fn dead_letters(letters: &[DeadLetter]) -> String {
    if letters.is_empty() {
        return "no dead letters".to_owned();
    }
    let rows = letters.iter().map(|letter| {
        [
            letter.id.clone(),
            letter
                .given_up_at
                .map(|t| t.to_string())
                .unwrap_or_default(),
            letter.agent_id.clone(),
            name(&letter.mailbox).to_owned(),
            letter.attempts.to_string(),
            letter.reason.clone(),
            letter.event.as_ref().and_then(event).unwrap_or_default(),
        ]
    });
    let headings = [
        "LETTER", "GIVEN UP", "AGENT", "MAILBOX", "TRIES", "REASON", "EVENT",
    ];
    table(headings, rows)
}

fn name(name: &str) -> &str {
    match name {
        "" => "(no subscription yet)",
        name => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mailboxes_and_letters_are_tables() {
        let found = GetMailboxResponse {
            mailbox: Some(Mailbox {
                agent_id: "echo".into(),
                name: "inbox".into(),
                waiting: 2,
                leased: 1,
                bytes: 300,
                ..Default::default()
            }),
            ..Default::default()
        };
        assert_eq!(mailbox(&found), "echo inbox: 2 waiting, 1 out, 300 bytes");
        let all = mailboxes(found.mailbox.as_slice());
        assert!(
            all.lines()
                .last()
                .is_some_and(|l| l.starts_with("echo   inbox")),
            "{all}"
        );
        let letter = DeadLetter {
            id: "log-7".into(),
            agent_id: "echo".into(),
            attempts: 5,
            reason: "given up".into(),
            ..Default::default()
        };
        let all = dead_letters(&[letter]);
        assert!(
            all.contains("log-7") && all.contains("(no subscription yet)"),
            "{all}"
        );
        assert_eq!(mailboxes(&[]), "no mailboxes");
        assert_eq!(dead_letters(&[]), "no dead letters");
    }
}

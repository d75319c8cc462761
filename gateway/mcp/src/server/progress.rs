//! Progress of an agent at work, as a client is told it.

use agenthub_sdk::{Update, proto::a2a::Role};

/// The longest message, in characters.
const MAX_CHARS: usize = 4_000;

/// The text of an update; nothing if it is the end, which the result tells, or our own.
pub(super) fn words(update: &Update) -> Option<String> {
    let text = match update {
        Update::Status(event) => {
            let status = event.status.as_ref()?;
            let state = status.state();
            if state.is_terminal() || state.is_interrupted() {
                return None;
            }
            let said = status.update.as_ref().map(|message| message.text());
            said.filter(|text| !text.is_empty())
                .unwrap_or_else(|| state.label().to_owned())
        }
        Update::Artifact(event) => {
            let artifact = event.artifact.as_ref()?;
            let text = artifact.text();
            match (text.is_empty(), artifact.name.is_empty()) {
                (false, _) => text,
                (true, false) => format!("artifact: {}", artifact.name),
                (true, true) if artifact.parts.is_empty() => return None,
                (true, true) => "an artifact".to_owned(),
            }
        }
        Update::Message(message) if message.role() == Role::Agent => message.text(),
        Update::Missed(count) => format!("{count} updates were left out"),
        _ => return None,
    };
    Some(cut(text)).filter(|text| !text.is_empty())
}

fn cut(mut text: String) -> String {
    if let Some((end, _)) = text.char_indices().nth(MAX_CHARS) {
        text.truncate(end);
        text.push('…');
    }
    text
}

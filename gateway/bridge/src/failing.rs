//! Words of a failed result.

use agenthub_a2a::client::Failure;

/// Longest text, in characters: what agents say may be long.
const LONGEST: usize = 500;

/// The text for the failure of a call: the status code, if the agent answered with one, and the agent's words (EXE-9.2).
pub(crate) fn message_of(failure: &Failure) -> String {
    let text = match failure {
        Failure::Refused { code, message, .. } => format!("{}: {message}", status(*code)),
        other => other.to_string(),
    };
    shortened(text)
}

/// The text, cut where it is too long.
pub(crate) fn shortened(text: String) -> String {
    match text.char_indices().nth(LONGEST) {
        None => text,
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// The code of an error by the protocol that has codes of this size.
fn status(code: i32) -> String {
    match code {
        100..600 => format!("HTTP {code}"),
        0..100 => format!("gRPC status {code}"),
        _ => format!("JSON-RPC error {code}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(code: i32, message: &str) -> Failure {
        Failure::Refused {
            kind: None,
            code,
            message: message.into(),
            is_transient: false,
            retry_after: None,
        }
    }

    /// spec: EXE-9.2
    #[test]
    fn a_failure_has_the_status_code_and_the_agents_words() {
        for (code, expected) in [
            (500, "HTTP 500: no"),
            (13, "gRPC status 13: no"),
            (-32603, "JSON-RPC error -32603: no"),
        ] {
            assert_eq!(message_of(&refused(code, "no")), expected);
        }
        assert_eq!(
            message_of(&Failure::Deadline(3)),
            "the agent did not answer within 3 s"
        );
        let long = message_of(&refused(500, &"ü".repeat(1_000)));
        assert_eq!(long.chars().count(), LONGEST + 1);
    }
}

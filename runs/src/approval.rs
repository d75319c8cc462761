//! Approvals: requests for a person's permission, and the person's decision.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

/// A request for permission to perform a step with exactly these arguments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Approval {
    /// The first 12 hexadecimal digits of the digest: the id that a person types.
    pub id: String,
    /// SHA-256, hexadecimal, of run, subject, agent, capability and arguments as JSON with sorted keys. Changes with
    /// any of them.
    pub digest: String,
    /// Name of the plan's step.
    pub subject: String,
    /// Agent that would perform the step.
    pub agent: String,
    /// Capability that would be used.
    pub capability: String,
    /// Arguments that would be sent.
    pub arguments: Value,
}

impl Approval {
    /// Creates a request and computes the digest of its fields.
    pub fn new(
        run: &str,
        subject: impl Into<String>,
        agent: impl Into<String>,
        capability: impl Into<String>,
        arguments: Value,
    ) -> Self {
        let (subject, agent, capability) = (subject.into(), agent.into(), capability.into());
        let shown = json!([run, subject, agent, capability, sorted(&arguments)]);
        let hash = Sha256::digest(shown.to_string());
        let digest: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
        Self {
            id: digest[..12].to_owned(),
            digest,
            subject,
            agent,
            capability,
            arguments,
        }
    }
}

/// A person's decision on an [`Approval`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// True if permission is granted.
    pub approved: bool,
    /// The person who decided.
    pub by: String,
    /// Comment of the person; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub comment: String,
}

/// The value with all object keys sorted, so that equal values serialize equally.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Array(values) => values.iter().map(sorted).collect(),
        Value::Object(members) => {
            let mut members: Vec<(&String, &Value)> = members.iter().collect();
            members.sort_unstable_by_key(|(key, _)| *key);
            let members = members.into_iter().map(|(k, v)| (k.clone(), sorted(v)));
            Value::Object(members.collect::<Map<_, _>>())
        }
        value => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(run: &str, subject: &str, agent: &str, capability: &str, arguments: Value) -> String {
        Approval::new(run, subject, agent, capability, arguments).digest
    }

    /// spec: ORC-12.3
    #[test]
    fn a_digest_is_that_of_all_that_was_shown_and_of_nothing_else() {
        let shown = || json!({ "to": "everyone", "how": { "often": 1, "long": [2, 3] } });
        let one = digest("r", "send", "writer", "send", shown());
        let reordered = json!({ "how": { "long": [2, 3], "often": 1 }, "to": "everyone" });
        assert_eq!(digest("r", "send", "writer", "send", reordered), one);
        let mut others = vec![
            digest("q", "send", "writer", "send", shown()),
            digest("r", "post", "writer", "send", shown()),
            digest("r", "send", "editor", "send", shown()),
            digest("r", "send", "writer", "post", shown()),
            digest("r", "sendw", "riter", "send", shown()),
        ];
        for (pointer, changed) in [
            ("/to", json!("nobody")),
            ("/how/often", json!("1")),
            ("/how/long", json!([3, 2])),
        ] {
            let mut arguments = shown();
            *arguments.pointer_mut(pointer).expect("it is there") = changed;
            others.push(digest("r", "send", "writer", "send", arguments));
        }
        assert!(!others.contains(&one), "{others:?}");
    }

    #[test]
    fn ids_follow_from_what_is_shown_and_never_change() {
        let approval = Approval::new("r", "s", "a", "c", json!({ "b": 1.5, "a": "ü" }));
        assert_eq!(approval.digest.len(), 64);
        assert!(approval.digest.starts_with(&approval.id));
        assert_eq!(approval.id, "83c7da1de774");
    }
}

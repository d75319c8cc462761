//! What a person is asked to allow, and what they said.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

/// Something that a person is to allow: a step with exactly these arguments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Approval {
    /// The beginning of the digest, 12 hexadecimal digits: by what a person names it.
    pub id: String,
    /// SHA-256, hexadecimal, of run, subject, agent, capability and arguments as JSON with sorted keys. Other arguments have another one.
    pub digest: String,
    /// The step of the plan.
    pub subject: String,
    /// Who would do it.
    pub agent: String,
    /// What for.
    pub capability: String,
    /// With what.
    pub arguments: Value,
}

impl Approval {
    /// What is to be allowed, with the digest of what is shown.
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

/// What a person said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// Whether it may be done.
    pub approved: bool,
    /// Who said so.
    pub by: String,
    /// What they said about it; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub comment: String,
}

/// The same value, whatever the order in which its keys were written.
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

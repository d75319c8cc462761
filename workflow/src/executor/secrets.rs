//! Secrets by reference: journals have a placeholder, and the value is put in when a request goes out. It comes from the process that carries the
//! workflow out.
//!
//! A placeholder counts only in a request whose step names the secret, so an agent cannot have one revealed to it by answering with a
//! placeholder.

use std::{cmp::Reverse, collections::BTreeMap, env, fs, path::PathBuf};

use agenthub_sdk::runs::{DelegationResult, SentHandoff};
use serde_json::Value;

use crate::{scope::placeholder, strategy::SECRETS};

/// Beginning of the variables that secrets are read from, as for agents elsewhere.
pub(super) const VARIABLES: &str = "AGENTHUB_SECRET_";

/// Values shorter than this are not looked for in answers, in bytes.
const MIN_HIDDEN: usize = 6;

/// The place of the secrets that workflows name.
#[derive(Clone, Debug)]
pub enum SecretSource {
    /// Variables `AGENTHUB_SECRET_NAME` of the process.
    Variables,
    /// Files of that name in a folder, of at most 64 KiB.
    Folder(PathBuf),
    /// There are none.
    Nowhere,
}

impl SecretSource {
    /// The secret of this name, which is one of letters, digits, `_` and `-`.
    pub(super) fn read(&self, name: &str) -> Result<String, String> {
        let (value, mend) = match self {
            Self::Variables => {
                let variable = format!("{VARIABLES}{name}");
                let mend = format!("set {variable} where the workflow is carried out");
                (env::var(variable).ok(), mend)
            }
            Self::Folder(folder) => {
                let path = folder.join(name);
                let value = fs::read_to_string(&path).ok();
                let mend = format!("write it into the file {name} of the folder of secrets");
                (value.map(|text| text.trim().to_owned()), mend)
            }
            Self::Nowhere => (None, "there is no data folder to have it in".to_owned()),
        };
        value
            .filter(|value| !value.is_empty())
            .ok_or_else(|| format!("there is no secret `{name}`: {mend}"))
    }
}

/// Secrets of a request, by their names.
#[derive(Debug)]
pub(super) struct Secrets(BTreeMap<String, String>);

impl Secrets {
    /// The secrets that a request names.
    ///
    /// # Errors
    ///
    /// One of them is not there; in one line.
    pub(super) fn of(
        sent: &SentHandoff,
        find: impl Fn(&str) -> Result<String, String>,
    ) -> Result<Self, String> {
        let names = sent.handoff.metadata.get(SECRETS);
        let names = names.and_then(Value::as_array).into_iter().flatten();
        let names = names.filter_map(Value::as_str);
        let found = names.map(|name| Ok((name.to_owned(), find(name)?)));
        Ok(Self(found.collect::<Result<_, String>>()?))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The request with its secrets in it.
    pub(super) fn put_into(&self, sent: &SentHandoff) -> SentHandoff {
        let mut sent = sent.clone();
        sent.handoff.metadata.remove(SECRETS);
        sent.handoff.text = self.revealed(&sent.handoff.text);
        if let Some(payload) = &mut sent.handoff.payload {
            texts(payload, &|text| self.revealed(text));
        }
        sent
    }

    /// The answer without the secrets.
    pub(super) fn hidden_in(&self, mut ended: DelegationResult) -> DelegationResult {
        ended.text = self.hidden(&ended.text);
        ended.error = self.hidden(&ended.error);
        for data in &mut ended.data {
            texts(data, &|text| self.hidden(text));
        }
        ended
    }

    fn revealed(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, (name, value)| {
            text.replace(&placeholder(name), value)
        })
    }

    fn hidden(&self, text: &str) -> String {
        let mut long: Vec<_> = self.0.iter().collect();
        long.retain(|(_, value)| value.len() >= MIN_HIDDEN);
        // One may be a part of another, of which nothing would be left to be found.
        long.sort_by_key(|(_, value)| Reverse(value.len()));
        long.into_iter()
            .fold(text.to_owned(), |text, (name, value)| {
                text.replace(value, &format!("[secret {name}]"))
            })
    }
}

/// Replaces the texts of a value, names of fields included.
fn texts(value: &mut Value, replace: &impl Fn(&str) -> String) {
    match value {
        Value::String(text) => *text = replace(text),
        Value::Array(items) => items.iter_mut().for_each(|item| texts(item, replace)),
        Value::Object(fields) => {
            let named = std::mem::take(fields).into_iter().map(|(name, mut value)| {
                texts(&mut value, replace);
                (replace(&name), value)
            });
            *fields = named.collect();
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use agenthub_sdk::runs::{Budget, Handoff};
    use serde_json::json;

    use super::*;

    fn sent(names: Value) -> SentHandoff {
        let metadata = json!({ SECRETS: names });
        let (key, other) = (placeholder("KEY"), placeholder("OTHER"));
        SentHandoff {
            handoff: Handoff {
                text: format!("with {key}"),
                payload: Some(json!({ "token": format!("Bearer {key}"), "more": [other] })),
                metadata: metadata.as_object().cloned().unwrap_or_default(),
                ..Handoff::default()
            },
            task_id: String::new(),
            message_id: String::new(),
            deadline_ms: 0,
            budget: Budget::default(),
        }
    }

    fn find(name: &str) -> Result<String, String> {
        match name {
            "KEY" => Ok("s3cr3t".to_owned()),
            name => SecretSource::Variables.read(&format!("NOWHERE_{name}")),
        }
    }

    #[test]
    fn a_secret_is_put_in_where_its_step_names_it_and_hidden_in_the_answer() {
        let secrets = Secrets::of(&sent(json!(["KEY"])), find).expect("it is there");
        let out = secrets.put_into(&sent(json!(["KEY"]))).handoff;
        assert_eq!(out.text, "with s3cr3t");
        let payload = out.payload.expect("there is one");
        assert_eq!(payload["token"], "Bearer s3cr3t");
        assert_eq!(payload["more"][0], placeholder("OTHER"), "not named");
        assert!(out.metadata.is_empty());
        let answer = DelegationResult {
            text: "I have s3cr3t".to_owned(),
            data: vec![json!({ "echo": ["s3cr3t!"] })],
            ..DelegationResult::default()
        };
        let hidden = secrets.hidden_in(answer);
        assert_eq!(hidden.text, "I have [secret KEY]");
        assert_eq!(hidden.data[0]["echo"][0], "[secret KEY]!");
        let missing = Secrets::of(&sent(json!(["OTHER"])), find).expect_err("it is not there");
        assert!(missing.contains("AGENTHUB_SECRET_"), "{missing}");
    }

    #[test]
    fn nothing_is_left_of_a_secret_that_another_is_a_part_of() {
        let find = |name: &str| match name {
            "A" => Ok("s3cr3t".to_owned()),
            _ => Ok("s3cr3t-and-more".to_owned()),
        };
        let secrets = Secrets::of(&sent(json!(["A", "B"])), find).expect("they are there");
        let hidden = secrets.hidden_in(DelegationResult {
            text: "s3cr3t-and-more, s3cr3t".to_owned(),
            data: vec![json!({ "s3cr3t-and-more": "s3cr3t" })],
            ..DelegationResult::default()
        });
        assert_eq!(hidden.text, "[secret B], [secret A]");
        assert_eq!(hidden.data, [json!({ "[secret B]": "[secret A]" })]);
    }
}
